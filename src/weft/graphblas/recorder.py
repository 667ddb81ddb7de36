"""Recording what is assigned."""

from __future__ import annotations

from typing import Any

_active: list[Recorder] = []


class Recorder:
    """Keeps the assignments made while it is started, as text.

    Parameters
    ----------
    max_rows
        How many of the last assignments to keep; all if not given.
    explain
        Whether to keep in ``explanations`` how each expression was going to be computed. Its
        operands are then computed at once.

    Examples
    --------
    >>> import weft.graphblas as gb
    >>> v = gb.Vector.from_coo([0, 1], [1, 2], name="v")
    >>> w = gb.Vector(int, 2, name="w")
    >>> with gb.Recorder() as record:
    ...     w << v.apply(gb.unary.ainv)
    >>> record.data
    ['w << v.apply(unary.ainv[INT64])']
    """

    def __init__(
        self,
        *,
        record: Any = None,
        start: bool = True,
        max_rows: int | None = None,
        explain: bool = False,
    ):
        self.data: list[str] = []
        self.explanations: list[Any] = []
        self.explains = explain
        self.max_rows = max_rows
        self._start = start

    def start(self) -> None:
        """Begin to record."""
        if self not in _active:
            _active.append(self)

    def stop(self) -> None:
        """Stop recording."""
        if self in _active:
            _active.remove(self)

    def clear(self) -> None:
        """Forget what was recorded."""
        self.data.clear()

    @property
    def is_recording(self) -> bool:
        """Whether it records."""
        return self in _active

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Any:
        return iter(self.data)

    def __getitem__(self, index: Any) -> Any:
        return self.data[index]

    def __enter__(self) -> Recorder:
        self.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        state = "recording" if self.is_recording else "stopped"
        return f"<Recorder: {len(self.data)} assignments, {state}>"

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__


def recording() -> bool:
    """Return whether any recorder is active."""
    return bool(_active)


def record(target: Any, mask: Any, accum: Any, replace: bool, expr: Any) -> None:
    """Report an assignment to all active recorders."""
    if not _active:
        return
    how = [repr(mask)] if mask is not None else []
    if accum is not None:
        how.append(f"accum={accum!r}")
    if replace:
        how.append("replace=True")
    text = expr if isinstance(expr, str) else expr._format_expr()
    line = f"{target.name}{'(' + ', '.join(how) + ')' if how else ''} << {text}"
    for each in _active:
        each.data.append(line)
        if each.explains and not isinstance(expr, str):
            from weft.graphblas.explain import explain

            each.explanations.append(explain(expr, mask, accum))
        if each.max_rows is not None:
            del each.data[: -each.max_rows]
