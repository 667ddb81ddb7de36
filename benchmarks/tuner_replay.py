"""Sub-spaces of configurations, and searches replayed on a table of known times."""

from __future__ import annotations

import itertools
import random
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from weft.config import NARROW, Config
from weft.tuning.search import coordinate_search, likely
from weft.tuning.space import Axis, Space

LEAST, MOST = 200, 400
NEAR = 1.1
SEEDS = 40
FEW_SEEDS = 5  # of a sampler that takes its time
PATIENCE = 4  # times as many suggestions as configurations: some are not possible, or come again
USUAL = {"format": "csr", "schedule": "warp", "block_size": 256}  # the engine's choice, about
# Tried in this order beside formats and schedules, for as long as the product stays below `MOST`.
FURTHER: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("block_size", (128, 256)),
    ("width", ("auto", "grid")),
    ("compaction", ("online", "jit")),
    ("fuse", ("all", "direction")),
    ("threads", (1, 2)),
    ("direction", ("auto", "push", "pull")),
    ("passes_off.source_hoisting", ("on", "off")),
    ("passes_off.early_exit", ("on", "off")),
    ("passes_off.index_proofs", ("on", "off")),
    ("bin_size", (64, 256)),
)


def sub_space(space: Space, further: bool = True) -> Space:
    """Return the sub-space for the exhaustive search: 200 to 400 configurations.

    It has all formats and schedules, the same for all sides of a program, and with `further` two
    values of each axis of `FURTHER`.
    """
    axes = [axis for field in ("format", "schedule") if (axis := _joined(space, field))]
    size = 1
    for axis in axes:
        size *= len(axis.values)
    without_frontier = all(axis.side == "gather" for axis in space.of_field("schedule"))
    for name, values in FURTHER if further else ():
        if name == "compaction" and without_frontier:
            continue
        known = next((a for a in space.axes if a.name == name), None)
        kept = () if known is None else tuple(v for v in values if v in known.values)
        if len(kept) > 1 and size < LEAST and size * len(kept) <= MOST:
            assert known is not None
            axes.append(Axis(known.field, kept, known.side))
            size *= len(kept)
    return Space(tuple(axes), _joined_reasons(space), space.fixed)


def _joined(space: Space, field: str) -> Axis | None:
    """Return one axis for all sides of a field."""
    axes = [axis for axis in space.of_field(field) if axis.side != NARROW]
    if not axes:
        return None
    shared = [v for v in axes[0].values if all(v in axis.values for axis in axes)]
    return Axis(field, tuple(shared)) if len(shared) > 1 else None


def _joined_reasons(space: Space) -> tuple[tuple[Mapping[str, Any], str], ...]:
    found = {}
    for excluded, reason in space.invalid:
        joined = {name.partition(".")[0]: value for name, value in excluded.items()}
        found[tuple(sorted(joined.items()))] = (joined, reason)
    return tuple(found.values())


def every_config(space: Space) -> list[Config]:
    """Return all valid configurations of a space."""
    found = []
    for values in itertools.product(*(axis.values for axis in space.axes)):
        config = Config()
        for axis, value in zip(space.axes, values, strict=True):
            config = axis.set(config, value)
        if not space.why_not(config):
            found.append(config)
    return found


@dataclass(frozen=True)
class Replayed:
    """A search's result: configurations until it came close to the best, and its final time."""

    name: str
    until_near: float | None
    tried: float
    ratio: float


def replay(space: Space, times: Mapping[Config, float]) -> list[Replayed]:
    """Replay the tuner's search and others on known times.

    The others are random search, successive halving and, where Optuna is installed, its sampler by
    Parzen estimators (TPE), which may try as many configurations as the tuner did.
    """
    best = min(times.values())
    ours = _coordinate(space, times, best)
    runs = [_random(times, best, seed) for seed in range(SEEDS)]
    halved = [_halving(times, best, seed) for seed in range(SEEDS)]
    found = [ours, _mean("random order", runs), _mean("successive halving", halved)]
    if find_spec("optuna") is not None:
        sampled = [_sampled(space, times, best, int(ours.tried), seed) for seed in range(FEW_SEEDS)]
        found.append(_mean("Optuna's TPE", sampled))
    return found


def _coordinate(space: Space, times: Mapping[Config, float], best: float) -> Replayed:
    search = coordinate_search(space, likely(space))
    tried: dict[Config, float] = {}
    batch = next(search)
    while True:
        found = {config: completed(space, config) for config in batch}
        tried |= {whole: times[whole] for whole in found.values() if whole in times}
        known = {c: times.get(whole, float("inf")) for c, whole in found.items()}
        try:
            batch = search.send(known)
        except StopIteration:
            return _replayed("the tuner's", list(tried.values()), best)


def completed(space: Space, config: Config) -> Config:
    """Return a configuration with a value on every axis, as in a table."""
    for axis in space.axes:
        if axis.get(config) not in axis.values:
            usual = USUAL.get(axis.field)
            config = axis.set(config, usual if usual in axis.values else axis.values[0])
    return config


def _random(times: Mapping[Config, float], best: float, seed: int) -> Replayed:
    order = list(times.values())
    random.Random(seed).shuffle(order)
    return _replayed("random order", order, best)


def _halving(times: Mapping[Config, float], best: float, seed: int) -> Replayed:
    """Time a random quarter once, the faster half of it again, and so on.

    Only the first quarter is compiled: later rungs remove noise, of which a table has none.
    """
    order = list(times.values())
    random.Random(seed).shuffle(order)
    return _replayed("successive halving", order[: max(1, len(order) // 4)], best)


def _sampled(
    space: Space, times: Mapping[Config, float], best: float, count: int, seed: int
) -> Replayed:
    """Let Optuna choose `count` different configurations, one after another.

    Invalid configurations report twice the worst time; repeated ones their known time.
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    missing = 2 * max(times.values())
    tried: dict[Config, float] = {}
    for _ in range(PATIENCE * count):
        trial = study.ask()
        config = Config()
        for axis in space.axes:
            number = trial.suggest_categorical(axis.name, list(range(len(axis.values))))
            config = axis.set(config, axis.values[number])
        if config in times:
            tried[config] = times[config]
        study.tell(trial, times.get(config, missing))
        if len(tried) >= count:
            break
    return _replayed("Optuna's TPE", list(tried.values()), best)


def _replayed(name: str, order: Sequence[float], best: float) -> Replayed:
    near = next((k + 1 for k, ms in enumerate(order) if ms <= NEAR * best), None)
    return Replayed(name, near, len(order), min(order, default=float("inf")) / best)


def _mean(name: str, runs: Sequence[Replayed]) -> Replayed:
    reached = [run.until_near for run in runs if run.until_near is not None]
    return Replayed(
        name,
        statistics.fmean(reached) if len(reached) == len(runs) else None,
        statistics.fmean(run.tried for run in runs),
        statistics.fmean(run.ratio for run in runs),
    )
