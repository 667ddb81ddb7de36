"""Shared by all loops over messages: grouping of messages, and the end of a row.

A running result has `take`, `end_slot` and `end_row`, and the renderer that it writes with.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from weft.ir.ops import Reduction, Value

Groups = Sequence[tuple[Reduction, int, bool]]  # reductions, their messages, whether on a condition


def split(groups: Groups, kinds: Sequence[Any]) -> Iterator[tuple[Reduction, list[Any]]]:
    """Yield the reduction of each group with the types of its results."""
    at = 0
    for reduction, count, _ in groups:
        yield reduction, list(kinds[at : at + count])
        at += count


def stops_at_first(value: Value) -> bool:
    """Whether a gather is done with its first message."""
    return [reduction.name for reduction, _, _ in value.attr[1]] == ["any"]


def running_results(
    value: Value, renderer: Any, deterministic: bool, one: Any, several: Any
) -> list[Any]:
    """Return the running result of each group of a gather: `one`, or `several` for `weft.mode`."""
    direction, groups = value.attr
    found: list[Any] = []
    for reduction, kinds in split(groups, value.results):
        if reduction.name == "mode":
            found.append(several(renderer, kinds, len(found)))
            continue
        found.append(one(renderer, reduction, kinds))
        # The slots of one direction come in the order of their edge ids: the first one is enough.
        later = direction == "both" or (reduction.name == "any" and not stops_at_first(value))
        if deterministic and later and reduction.selecting:
            found[-1].count_edges()
    return found


def handed_out(
    renderer: Any, results: Sequence[Any], groups: Groups, accumulators: Iterable[Any]
) -> Iterator[tuple[Any, list[Any]]]:
    """Yield each running result with its messages, inside the test of its condition if any."""
    at = 0
    for accumulator, (_, count, conditional) in zip(accumulators, groups, strict=True):
        accumulator.renderer = renderer
        with renderer.only_if(results[at + count] if conditional else None):
            yield accumulator, list(results[at : at + count])
        at += count + conditional


def ended(renderer: Any, accumulators: Iterable[Any]) -> list[Any]:
    """End a row; return the operands of all results."""
    parts = []
    for accumulator in accumulators:
        accumulator.renderer = renderer
        accumulator.end_row()
        parts += accumulator.parts
    return parts
