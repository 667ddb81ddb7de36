"""Loops of the IR: a fold over their rounds, or each by itself where rounds look things up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from weft.backends.relational.aggregates import Inline
from weft.backends.relational.blocks import Parts, Scope, both, each, held_cells, one, shaped
from weft.backends.relational.refusals import Refused
from weft.backends.relational.rows import Cell
from weft.ir.ops import EFFECT, INT64, Block, Value

_MOST_ROUNDS = 1 << 10
_LONGEST = 20_000  # characters of a round


class Round(Scope):
    """One round of a loop as a single expression over its state and the columns around it."""

    def __init__(self, outer: Scope) -> None:
        super().__init__(outer.writer, Inline(), {}, outer)

    def imported(self, cell: Cell) -> Cell:
        """Return a cell of the rows around the loop as a column."""
        assert self.outer is not None
        if cell.constant or isinstance(self.outer, Round):
            return cell
        bound = self.outer.rows.bind(cell)
        self.reached = max(self.reached, bound.stage)
        return bound


def while_loop(scope: Scope, value: Value, state: Sequence[Parts]) -> list[Parts]:
    """Return the state after the last round of a loop with a bound."""
    condition, body = value.blocks
    if _simple(condition) and _simple(body) and value.attr <= _MOST_ROUNDS:

        def round_of(inner: Round, names: list[Parts], _: Cell) -> tuple[Cell | None, list[Any]]:
            test = inner.run(condition, names)[0][()]
            return test, inner.run(body, names)

        rounds = scope.writer.dialect.rounds("0", str(value.attr))
        last = _folded(scope, value, state, (rounds, []), round_of)
    else:
        last = _unrolled(scope, value, state)
    held = scope.rows.bind(scope.run(condition, last)[0][()])
    scope.fail(held.text, held, f"loop bound: more than {value.attr} rounds")
    return last


def for_range(scope: Scope, value: Value, args: Sequence[Parts]) -> list[Parts]:
    """Return the state after a loop over a range of numbers."""
    start, stop = (scope.rows.bind(part[()]) for part in args[:2])
    body, state = value.blocks[0], args[2:]
    if _simple(body):

        def round_of(inner: Round, names: list[Parts], i: Cell) -> tuple[Cell | None, list[Any]]:
            return None, inner.run(body, [one(i), *names])

        text = scope.writer.dialect.rounds(start.text, stop.text)
        return _folded(scope, value, state, (text, [start, stop]), round_of)
    first, last = known(value.args[0]), known(value.args[1])
    most = scope.writer.dialect.most_rounds
    if first is None or last is None or last - first > most:
        raise Refused(
            "weft.for_range",
            f"it looks things up, and its bounds are computed or more than {most} apart",
            "give it constant bounds, or run it in memory with g.to('cpu')",
        )
    now: list[Any] = list(state)
    for i in range(first, last):
        number = one(scope.writer.literal(i, INT64))
        now = [each(scope.rows.bind, part) for part in scope.run(body, [number, *now])]
    return now


def _simple(block: Block) -> bool:
    """Whether a block only computes: it looks nothing up and has no effect."""
    looks = {"at_load", "degree", "neighbor", "neighbor_edge", "find_edge", "has_edge",
             "column_at", "gather", "gather_by", "common", "index", "take", "scatter",
             "random_bits", "random_unit", "solve", "inverse"}  # fmt: skip
    return not any(value.op in looks or value.op in EFFECT for value in block.walk())


def _folded(
    scope: Scope,
    value: Value,
    state: Sequence[Parts],
    rounds: tuple[str, list[Cell]],
    round_of: Callable[[Round, list[Parts], Cell], tuple[Cell | None, list[Any]]],
) -> list[Parts]:
    """Return a loop as a fold over the list of its rounds, its state in a struct."""
    d, number = scope.writer.dialect, next(scope.writer.names)
    acc, x = f"acc{number}", f"x{number}"
    cells = [scope.rows.bind(cell) for cell in held_cells(state)]
    kinds = [kind for part, (kind, _) in zip(state, value.results, strict=True) for _ in part.flat]
    names, position = [], 0
    for part in state:
        own = [Cell(d.part(acc, position + k)) for k in range(part.size)]
        names.append(shaped(own, part.shape))
        position += part.size
    inner = Round(scope)
    test, made = round_of(inner, names, Cell(d.cast(x, INT64)))
    after = held_cells(made)
    texts = [d.cast(cell.text, kind) for cell, kind in zip(after, kinds, strict=True)]
    text = d.row(texts)
    if test is not None:
        text = f"CASE WHEN {test.text} THEN {text} ELSE {acc} END"
    if len(text) > _LONGEST:
        raise Refused("a long loop", "a round of it would be too long an expression")
    start = d.row([d.cast(cell.text, kind) for cell, kind in zip(cells, kinds, strict=True)])
    stage = max([inner.reached, *(cell.stage for cell in [*cells, *rounds[1]])])
    result = scope.rows.bind(Cell(d.loop(rounds[0], text, start, (acc, x)), stage, False))
    final = [
        scope.rows.bind(Cell(d.part(result.text, k), result.stage, False))
        for k in range(len(cells))
    ]
    parts, position = [], 0
    for part in state:
        parts.append(shaped(final[position : position + part.size], part.shape))
        position += part.size
    return parts


def _unrolled(scope: Scope, value: Value, state: Sequence[Parts]) -> list[Parts]:
    """Return a loop as its rounds, one after another."""
    condition, body = value.blocks
    most = scope.writer.dialect.most_rounds
    if value.attr > most:
        raise Refused(
            "weft.while_loop",
            f"it looks things up, its bound of {value.attr} rounds exceeds {most}, and a query "
            "repeats each of them", "give it a lower bound, or run it in memory with g.to('cpu')",
        )  # fmt: skip
    held, now = scope.branch, list(state)
    running: Cell | None = None
    for _ in range(value.attr):
        test = scope.rows.bind(scope.run(condition, now)[0][()])
        running = both(running, test)
        assert running is not None
        running = scope.rows.bind(running)
        scope.branch = both(held, running)
        made = scope.run(body, now)
        now = [scope.chosen(new, old, running) for new, old in zip(made, now, strict=True)]
    scope.branch = held
    return now


def known(value: Value) -> int | None:
    """Return the number that a value always is, if it is a constant."""
    while value.op == "cast":
        value = value.args[0]
    return int(value.attr) if value.op == "const" else None
