"""The warning about attributes that do not become columns."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

_SHOWN = 8


def warn_left_out(
    kind: str, names: Iterable[object], option: str = "", stacklevel: int = 2
) -> None:
    """Warn that attributes of vertices or edges are not numeric, and so are left out.

    Parameters
    ----------
    kind : {"vertex", "edge"}
        Whose attributes they are.
    names : iterable
        Their names; without one there is no warning.
    option : str, optional
        The option that chooses columns.
    stacklevel : int
        As for `warnings.warn`, counted from the caller.
    """
    listed = [repr(name) for name in names]
    if not listed:
        return
    more = f", and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
    choose = f", or choose columns with {option}=" if option else ""
    warnings.warn(
        f"{kind} attributes left out: {', '.join(listed[:_SHOWN])}{more}. Columns hold "
        f"numbers, under names that are identifiers; convert or rename these{choose}.",
        stacklevel=stacklevel + 1,
    )
