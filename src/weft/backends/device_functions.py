"""Traced functions of numbers as CUDA C++, for kernels that a front end writes itself.

The counterpart of `host_functions`: loops over the arcs of several graphs are written once in a
`.cuh` file, and the user's functions are put in front as text made here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from weft.arrays.device import Device
from weft.backends.cuda.codegen.expressions import literal
from weft.backends.cuda.codegen.text import c_type, stored_type
from weft.backends.cuda.drivers.base import Geometry
from weft.backends.host_functions import function_block
from weft.errors import TraceError
from weft.ir.ops import Value

__all__ = [
    "BLOCK",
    "Kernels",
    "c_type",
    "function_text",
    "literal",
    "load",
    "load_on",
    "stored_type",
]

BLOCK = 256
# Blocks that are started for each multiprocessor, at most, and blocks of any grid.
BLOCKS_EACH, MOST_BLOCKS = 32, 2**31 - 1
# What the text of functions includes.
HEADERS = ("device", "sweep", "numbers")


def function_text(
    name: str, function: Callable[..., Any], types: tuple[np.dtype[Any], ...], result: np.dtype[Any]
) -> str:
    """Return a function of numbers, traced for types, as a device function.

    Parameters
    ----------
    name
        Its name in the text.
    function
        A Python function of as many numbers as there are types.
    types, result
        The types of the numbers and of what is returned.

    Raises
    ------
    TraceError
        The function cannot be traced, or reads more than its numbers.
    """
    from weft.backends.cuda.codegen.blocks import BlockRenderer, Scope
    from weft.backends.cuda.codegen.text import Arguments, Emitter

    block = function_block(name, function, types, result)
    out, args = Emitter(), Arguments()
    renderer = BlockRenderer(out, args, Scope(_no_load))
    names = [f"x{i}" for i in range(len(types))]
    given = ", ".join(f"{c_type(t)} {n}" for t, n in zip(types, names, strict=True))
    with out.block(f"WEFT_DEVICE {c_type(result)} {name}({given})"):
        for each, text in zip(block.params, names, strict=True):
            renderer.known[id(each)] = text
        (found,) = renderer.block(block)
        out.line(f"return {found};")
    if args.bindings:
        raise TraceError(f"{name} needs {sorted(args.bindings)}, which numbers do not have.")
    return out.text()


def _no_load(value: Value) -> str:
    raise TraceError(f"{value!r} reads a graph; a function of numbers sees those alone.")


def load(device: str, source: str, names: Sequence[str], texts: Mapping[str, str]) -> Kernels:
    """Return the kernels of a source on a device; they are compiled, or taken from the cache.

    Parameters
    ----------
    device
        ``"cuda"`` or ``"emulated"``.
    source
        The text. It may include what `headers` returns, and `texts` by their names.
    names
        The kernels in it.
    texts
        Included files of the caller's own.
    """
    from weft.backends.cuda.drivers import driver_of

    driver = driver_of(device)
    return Kernels(driver, driver.compile(source, names, {**headers(), **texts}), names)


def load_on(device: Device, source: str, names: Sequence[str], texts: Mapping[str, str]) -> Kernels:
    """Return what `load` does, for the device that some arrays are on."""
    return load(device.kind, source, names, texts)


class Kernels:
    """Compiled kernels of a device, which have as many parameters as they declare."""

    def __init__(self, driver: Any, module: Any, names: Sequence[str]) -> None:
        self.driver = driver
        self._kernels = {name: module.kernel(name) for name in names}
        # Room for the arguments of each kernel, by thread: making it takes as long as a launch.
        self._own = threading.local()

    def launch(
        self, name: str, arguments: tuple[Any, ...], blocks: int, *, block: int = BLOCK,
        shared_bytes: int = 0, in_order: bool = False,
    ) -> None:  # fmt: skip
        """Start a kernel in as many blocks, or fewer: it has to go on until nothing is left.

        Arrays of the device are passed by address, NumPy scalars by value, ints as 64 bits. With
        `in_order` a GPU gets all blocks and starts them one after another: what lies close together
        is worked on at the same time, while its cache has it.
        """
        most = MOST_BLOCKS if in_order else BLOCKS_EACH * self.driver.limits.multiprocessors
        grid = max(1, min(blocks, most))
        packed = getattr(self._own, name, None)
        if packed is None:
            packed = self.driver.pack([None] * len(arguments))
            setattr(self._own, name, packed)
        geometry = Geometry(grid, block, shared_bytes)
        self.driver.launch(self._kernels[name], geometry, packed, arguments)


def headers() -> dict[str, str]:
    """Return the texts of the headers that the text of functions includes."""
    from weft.backends.cuda.host.headers import read_header

    package = "weft.backends.cuda.runtime"
    return {f"{name}.cuh": read_header(package, f"{name}.cuh") for name in HEADERS}
