"""Settings of the backend: the device, and from which size on a graph is worth converting."""

from __future__ import annotations

import functools
import warnings
from typing import Any, Final

from weft.networkx.metadata import DEFAULTS, default_config

DEVICES: Final = ("auto", "cpu", "cuda")


def setting(name: str) -> Any:
    """Return a setting from `nx.config.backends.weft`, or its default if NetworkX has none."""
    import networkx as nx

    known = getattr(nx.config.backends, "weft", None)
    if known is None:
        return default_config()[name]
    return getattr(known, name, DEFAULTS[name])


def device_for(entries: int) -> str:
    """Return the device to run on; a GPU that cannot be used is replaced by the CPU."""
    wanted = str(setting("device"))
    if wanted == "cpu":
        return "cpu"
    if wanted == "auto" and entries < setting("gpu_entries"):
        return "cpu"
    return _usable(wanted)


@functools.cache
def _usable(wanted: str) -> str:
    """Return the device that takes the place of a wanted one; warns once if it is another."""
    from weft.arrays.device import cuda_problem, open_device
    from weft.errors import WeftError

    if wanted == "auto":
        return "cpu" if cuda_problem() else "cuda"
    try:
        return str(open_device(wanted))
    except WeftError as error:
        warnings.warn(
            f"weft cannot use the device {wanted!r} of WEFT_NETWORKX_DEVICE and runs on the CPU. "
            f"{error}",
            RuntimeWarning,
            stacklevel=2,
        )
        return "cpu"
