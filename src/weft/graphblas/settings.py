"""Settings that apply to the whole process, and the modes of execution."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from weft.errors import unknown
from weft.graphblas.exceptions import GraphblasException


class Config:
    """Settings by name; `set` changes them for good, or inside a ``with`` block.

    ``autocompute`` computes expressions where a value is needed; ``mapnumpy`` lets operators of
    the ``numpy`` namespaces stand for the equal built-in ones; ``small`` is the number of entries
    below which operations run on the host without compiled kernels; ``merge_below`` the mean number
    of entries in a row below which products with dense matrices on a GPU share entries out evenly.

    Examples
    --------
    >>> import weft.graphblas as gb
    >>> with gb.config.set(autocompute=False):
    ...     gb.config["autocompute"]
    False
    """

    def __init__(self, **defaults: Any) -> None:
        self._values = dict(defaults)

    def get(self, name: str, default: Any = None) -> Any:
        """Return a setting, or `default` where there is none of that name."""
        return self._values.get(name, default)

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def set(self, **changes: Any) -> _Restore:
        """Change settings; used in a ``with`` statement, restore them at its end."""
        for name in changes:
            if name not in self._values:
                raise ValueError(unknown("config", name, sorted(self._values)))
        old = {name: self._values[name] for name in changes}
        self._values.update(changes)
        return _Restore(self._values, old)


class _Restore:
    """Restores settings when a ``with`` block ends."""

    def __init__(self, values: dict[str, Any], old: dict[str, Any]) -> None:
        self._values, self._old = values, old

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc_info: object) -> None:
        self._values.update(self._old)


config = Config(autocompute=True, mapnumpy=True, small=20_000, merge_below=9.35)


class _Mode:
    """Whether assignments are computed at once."""

    def __init__(self) -> None:
        self.blocking = False
        self.chosen: bool | None = None


mode = _Mode()


def init(backend: str = "weft", blocking: bool = False) -> None:
    """Choose the mode of execution, once.

    Parameters
    ----------
    backend
        ``"weft"``; the names of python-graphblas's backends are accepted, so that its programs
        run.
    blocking
        True computes every assignment at once. False, the default, records assignments and
        computes them when a value is needed, several in one kernel where that is possible.

    Raises
    ------
    GraphblasException
        The mode was chosen before, and differs.

    Examples
    --------
    >>> import weft.graphblas as gb
    >>> gb.init(blocking=False)  # doctest: +SKIP
    """
    if backend not in {"weft", "suitesparse", "suitesparse-vanilla"}:
        raise ValueError(unknown("backend", backend, ["weft"]))
    if mode.chosen is not None and mode.chosen != blocking:
        raise GraphblasException(
            f"weft.graphblas already runs with blocking={mode.chosen}. "
            "Call init once, before other functions."
        )
    mode.chosen = mode.blocking = blocking


@contextmanager
def execution(blocking: bool) -> Iterator[None]:
    """Choose the mode of execution within a ``with`` block."""
    old = mode.blocking
    mode.blocking = blocking
    try:
        yield
    finally:
        mode.blocking = old
