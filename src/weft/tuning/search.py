"""The order in which configurations are tried: likely ones first, then one axis after another.

A search is a generator: it yields a batch of configurations and is sent the time of each, infinite
for those that failed or were stopped. It depends on the times only, so equal times give equal
searches.

Method. The starting points (the default, winners on similar graphs, usually good choices) are
raced. From the fastest one, formats and schedules are searched together for each side, because
neither can be chosen without the other; then each axis that needs no new code in turn; then all
other axes in one batch, so that everything is compiled in parallel: first every value of every axis
alone, then the improvements together, the largest first. Rounds repeat until one brings no
improvement. The search then restarts from the best point of a different format or schedule, while
time remains.
"""

from __future__ import annotations

import itertools
from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import TypeAlias

from weft.config import NARROW, Config
from weft.tuning.space import Axis, Space

Times: TypeAlias = dict[Config, float]
Search: TypeAlias = Generator[list[Config], Times, None]

GAIN = 0.98  # relative to the previous time: a smaller gain is noise
KEPT = 3  # formats and schedules to combine if there are many of both
WHOLE_GRID = 120  # up to this many pairs of a format and a schedule are all tried
FAST_ORDERS = ("degree",)  # which take no time to compute
STARTS = 3  # starting points of a search
LAUNCH = (
    "parameter",
    "threads",
    "block_size",
    "lanes",
    "items_per_thread",
    "width",
    "delta",
    "bin_size",
)
"""Axes that need no new code, by how much they usually matter."""
ORDER = (
    "direction", "reorder", "ordering", "compaction", "fuse", "frontier_in", "frontier_out",
    "dedup", "combine",
)  # fmt: skip
"""The others; those not named here come next, passes last."""


def coordinate_search(space: Space, starts: Sequence[Config]) -> Search:
    """Search a space from some starting points, the first of which is the default."""
    times: Times = {}
    fresh = _fresh(space, starts, times)
    times.update((yield fresh))
    expanded: set[tuple[object, ...]] = set()
    for _ in range(STARTS):
        left = [c for c in times if _place(space, c) not in expanded]
        if not left:
            return
        best = min(left, key=lambda c: times[c])
        if times[best] == float("inf"):
            return
        expanded.add(_place(space, best))
        best = yield from _descend(space, best, times)
        expanded.add(_place(space, best))


def likely(space: Space) -> list[Config]:
    """Return usually good choices: each schedule for all sides, a single direction, the hub order.

    Orders are tried here because they matter more than most axes, yet would come after all formats.
    """
    axes = space.of_field("schedule")
    found = [Config()]
    for name in axes[0].values if axes else ():
        config = Config()
        for axis in axes:
            if name in axis.values and axis.side != NARROW:  # whose default is that of a push
                config = axis.set(config, name)
        found.append(config)
    for axis in space.of_field("direction"):
        found += [axis.set(Config(), way) for way in ("push", "pull") if way in axis.values]
    for axis in space.of_field("reorder"):
        found += [axis.set(Config(), order) for order in FAST_ORDERS if order in axis.values]
    return [config for config in dict.fromkeys(found) if not space.why_not(config)]


def _place(space: Space, config: Config) -> tuple[object, ...]:
    """Return the part of a configuration that distinguishes starting points."""
    axes = (*space.of_field("format"), *space.of_field("schedule"))
    return tuple(axis.get(config) for axis in axes)


def _descend(space: Space, start: Config, times: Times) -> Generator[list[Config], Times, Config]:
    """Improve a configuration until a round over all axes brings no gain."""
    best = start
    while True:
        before = times[best]
        for schedules in space.of_field("schedule"):
            if space.applies(schedules, best):
                best = yield from _grid(space, schedules, best, times)
        for name in LAUNCH:
            for axis in space.of_field(name):
                if space.applies(axis, best):
                    moves = [axis.set(best, value) for value in axis.values]
                    best = yield from _try(space, moves, best, times)
        best = yield from _all_at_once(space, best, times)
        if times[best] > GAIN * before:
            return best


def _all_at_once(
    space: Space, best: Config, times: Times
) -> Generator[list[Config], Times, Config]:
    """Try every value of every axis that needs new code, then several improvements together."""
    axes = [axis for axis in _ordered(space) if space.applies(axis, best)]
    moves = {axis: [axis.set(best, value) for value in axis.values] for axis in axes}
    chosen = yield from _try(space, [c for each in moves.values() for c in each], best, times)
    gains: list[tuple[float, int, Config]] = []
    for place, axis in enumerate(axes):
        fastest = min(moves[axis], key=lambda c: times.get(c, float("inf")))
        if times.get(fastest, float("inf")) < GAIN * times[best]:
            gains.append((times[fastest], place, fastest))
    together, joined = best, []
    for _, place, config in sorted(gains, key=lambda gain: gain[:2]):
        together = axes[place].set(together, axes[place].get(config))
        joined.append(together)
    return (yield from _try(space, joined, chosen, times))


def _grid(
    space: Space, schedules: Axis, best: Config, times: Times
) -> Generator[list[Config], Times, Config]:
    """Try formats and schedules of one side together."""
    formats = next((a for a in space.of_field("format") if a.side == schedules.side), None)
    if formats is None:
        moves = [schedules.set(best, value) for value in schedules.values]
        return (yield from _try(space, moves, best, times))
    if len(schedules.values) * len(formats.values) <= WHOLE_GRID:
        order = _ranked(formats, times, space.expected)
        pairs = itertools.product(_ranked(schedules, times), order)
        moves = [formats.set(schedules.set(best, s), f) for s, f in pairs]
        return (yield from _try(space, moves, best, times))
    fast = []
    for axis in (schedules, formats):
        moves = [axis.set(best, value) for value in axis.values]
        chosen = yield from _try(space, moves, best, times)
        ranked = sorted(moves, key=lambda c: times.get(c, float("inf")))
        fast.append([axis.get(config) for config in ranked[:KEPT]])
        best = chosen
    moves = [formats.set(schedules.set(best, s), f) for s, f in itertools.product(*fast)]
    return (yield from _try(space, moves, best, times))


def _ranked(axis: Axis, times: Times, expected: Mapping[str, float] | None = None) -> list[object]:
    """Return the values of an axis: those of fast configurations first, then as expected."""
    least: dict[object, float] = {}
    for config, ms in times.items():
        value = axis.get(config)
        least[value] = min(ms, least.get(value, float("inf")))
    beyond, guesses = float("inf"), expected or {}
    return sorted(axis.values, key=lambda v: (least.get(v, beyond), guesses.get(v, beyond)))


def _try(
    space: Space, moves: Iterable[Config], best: Config, times: Times
) -> Generator[list[Config], Times, Config]:
    """Time new configurations; return the fastest, or the current best if none clearly wins."""
    fresh = _fresh(space, moves, times)
    if fresh:
        times.update((yield fresh))
    fastest = min((c for c in fresh if c in times), key=lambda c: times[c], default=best)
    return fastest if times[fastest] < GAIN * times[best] else best


def _fresh(space: Space, configs: Iterable[Config], times: Times) -> list[Config]:
    return [c for c in dict.fromkeys(configs) if c not in times and not space.why_not(c)]


def _ordered(space: Space) -> list[Axis]:
    """Return the axes that need new code, the most important first."""
    places = {name: place for place, name in enumerate(ORDER)}

    def rank(axis: Axis) -> int:
        return len(ORDER) + 1 if axis.field == "passes_off" else places.get(axis.field, len(ORDER))

    rest = [axis for axis in space.axes if axis.field not in ("format", "schedule", *LAUNCH)]
    return sorted(rest, key=rank)
