"""Config: how a program is carried out, every field optional."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from numbers import Integral, Real
from typing import Any

from weft.errors import ConfigError, listed, unknown

DIRECTION_RULES = ("beamer", "ligra", "gunrock", "graphblast", "simdx")
PASSES = (
    "constant_folding",
    "equal_expressions",
    "gather_folding",
    "dead_fields",
    "source_hoisting",
    "constant_lifting",
    "write_once",
    "async_relaxation",
    "early_exit",
    "index_proofs",
)
MAX_ITEMS = 64
MAX_BIN = 1024
WARP, MAX_BLOCK = 32, 1024

# Values of the fields that have a fixed list of them; None stands for the engine's own choice.
CHOICES: dict[str, tuple[Any, ...]] = {
    "lanes": (None, 2, 4, 8, 16, 32, "block"),
    "width": ("auto", "block", "cluster", "grid"),
    "direction": ("auto", "push", "pull", *DIRECTION_RULES),
    "frontier_in": (None, "queue", "bitmap", "bytemap", "reverse_queue"),
    "frontier_out": (None, "queue", "bitmap", "bytemap"),
    "compaction": (None, "online", "ballot", "batch", "atomic", "jit"),
    "dedup": (None, "none", "bitmask", "history", "warp", "exact"),
    "combine": (None, "atomic", "sort"),
    "ordering": (True, False, "near_far", "buckets"),
    "fuse": (None, "none", "direction", "all"),
    "deterministic": (True, False),
}
# Fields that hold an integer, with the least and the greatest, and what it must be a multiple of.
RANGES: dict[str, tuple[int, int | None, int]] = {
    "items_per_thread": (1, MAX_ITEMS, 1),
    "block_size": (WARP, MAX_BLOCK, WARP),
    "bin_size": (1, MAX_BIN, 1),
    "threads": (1, None, 1),
}
GPU_ONLY = (
    "format",
    "lanes",
    "items_per_thread",
    "block_size",
    "width",
    "frontier_in",
    "frontier_out",
    "compaction",
    "bin_size",
    "dedup",
    "combine",
    "fuse",
)
"""Fields that mean nothing on a CPU, which ignores them."""


@dataclass(frozen=True)
class Config:
    """Choices about execution that never change a result beyond rule and rounding.

    A field left out is chosen by the engine. Those marked GPU mean nothing on a CPU and are ignored
    there; `threads` means nothing on a GPU. Names of formats and schedules are looked up when a
    program runs: what was registered by then is known.

    Parameters
    ----------
    format
        How the topology lies in memory: ``"csr"`` or ``"coo"``. GPU.
    schedule
        Who takes which edge: ``"vertex"``, ``"edge"``, ``"warp"``, ``"block"``, ``"twc"``,
        ``"twce"``, ``"strict"``, ``"merge"`` or ``"row"``. A CPU has ``"vertex"``, ``"edge"`` and
        ``"merge"``, and says why it lacks the others.
    lanes
        Lanes that share a row under the schedule ``"row"``: 2, 4, 8, 16, 32, or ``"block"``. GPU.
    items_per_thread
        Rows and edges that a thread takes in a stretch under ``"merge"``: 1 to 64. GPU.
    block_size
        Threads of a block: a multiple of 32 from 32 to 1024. GPU.
    width
        Who runs a superstep with a narrow frontier: one ``"block"``, one ``"cluster"``, always the
        whole ``"grid"``, or as the device allows (``"auto"``). GPU.
    direction
        ``"push"``, ``"pull"`` or ``"auto"``: whichever looks at fewer edges, step by step. Or a
        published rule that decides step by step: ``"beamer"``, ``"ligra"``, ``"gunrock"``,
        ``"graphblast"``, ``"simdx"``.
    frontier_in
        What a sweep starts from: ``"queue"``, ``"bitmap"``, ``"bytemap"``, or ``"reverse_queue"``
        (of a pull: the accepting vertices in a list). GPU.
    frontier_out
        What a sweep leaves: ``"queue"``, ``"bitmap"`` or ``"bytemap"``. The maps of a run are of
        one kind: bytes, if either field asks for them. GPU.
    compaction
        How a queue is assembled: ``"online"``, ``"ballot"``, ``"batch"`` (needs the most memory),
        ``"atomic"`` or ``"jit"``. GPU.
    bin_size
        Entries of the bins of ``"online"`` and ``"jit"`` for every sixteen threads: 1 to 1024, 64
        if not given. GPU.
    dedup
        What keeps a vertex from being queued twice: ``"none"``, ``"bitmask"``, ``"history"``,
        ``"warp"`` or ``"exact"``. It is exact anyway where duplicates could be seen. GPU.
    combine
        How pushed messages to one vertex meet: ``"atomic"``, or ``"sort"`` and a segmented
        reduction. GPU.
    ordering
        Whether a step with a priority may be processed in its order: ``True``, ``False``, or how:
        ``"near_far"`` or ``"buckets"``. A CPU has one way.
    delta
        Width of a bucket of ordered processing; chosen from the weights if not given.
    fuse
        Launches of a run: ``"none"`` (one per phase), ``"direction"`` (a persistent kernel per
        direction) or ``"all"`` (one for everything). GPU.
    threads
        Number of threads; by default those of the machine, or ``WEFT_NUM_THREADS``.
    passes_off
        Names of rewrites to leave out.
    deterministic
        Bit-equal results run after run, whatever the number of threads.

    Examples
    --------
    >>> import weft
    >>> weft.Config(direction="push").direction
    'push'
    >>> weft.Config(direction="sideways")
    Traceback (most recent call last):
    ...
    weft.errors.ConfigError: direction='sideways' is not known. Expected one of ...
    """

    format: str | None = None
    schedule: str | None = None
    lanes: int | str | None = None
    items_per_thread: int | None = None
    block_size: int | None = None
    width: str = "auto"
    direction: str = "auto"
    frontier_in: str | None = None
    frontier_out: str | None = None
    compaction: str | None = None
    bin_size: int | None = None
    dedup: str | None = None
    combine: str | None = None
    ordering: bool | str = True
    delta: float | None = None
    fuse: str | None = None
    threads: int | None = None
    passes_off: frozenset[str] | str = field(default_factory=frozenset)
    deterministic: bool = False

    def __post_init__(self) -> None:
        for name in ("format", "schedule"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise ConfigError(f"{name}={value!r} is not a name. Expected a string, or None.")
        for name in ("lanes", *RANGES):
            value = getattr(self, name)
            if type(value) is not bool and isinstance(value, Integral):
                object.__setattr__(self, name, int(value))  # NumPy's integers too
        for name, choices in CHOICES.items():
            _check_choice(name, getattr(self, name), choices)
        for name, (least, most, step) in RANGES.items():
            _check_range(name, getattr(self, name), least, most, step)
        _check_delta(self.delta)
        off = (self.passes_off,) if isinstance(self.passes_off, str) else self.passes_off
        object.__setattr__(self, "passes_off", frozenset(off))
        for name in frozenset(off):
            if name not in PASSES:
                raise ConfigError(unknown("passes_off", name, PASSES))

    def options(self) -> dict[str, Any]:
        """Return the fields as a dictionary."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def given(self) -> dict[str, Any]:
        """Return the fields that are not left to the engine, as a dictionary."""
        return {f.name: v for f in fields(self) if (v := getattr(self, f.name)) != _default(f)}


def _default(field_: Any) -> Any:
    return frozenset() if field_.name == "passes_off" else field_.default


def _check_choice(name: str, value: object, choices: Sequence[object]) -> None:
    # True is 1 and 2.0 is 2 to Python, but not to a reader.
    if not any(type(value) is type(choice) and value == choice for choice in choices):
        raise ConfigError(unknown(name, value, choices))


def _check_range(name: str, value: object, least: int, most: int | None, step: int) -> None:
    if value is None:
        return
    if type(value) is int and value in range(least, (most or 2**62) + 1, step):
        return
    kind = "an integer" if step == 1 else f"a multiple of {step}"
    upto = "on" if most is None else f"to {most}"
    raise ConfigError(f"{name}={value!r} is not possible. Expected {kind} from {least} {upto}.")


def _check_delta(delta: object) -> None:
    if delta is None:
        return
    if type(delta) is bool or not isinstance(delta, Real) or not float(delta) > 0:
        raise ConfigError(f"delta={delta!r} is not possible. Expected a number above 0, or None.")


def check_config(config: object) -> Config:
    """Return a Config, the default one for None."""
    if config is None:
        return _DEFAULT
    if not isinstance(config, Config):
        names = listed(f.name for f in fields(Config))
        raise ConfigError(f"config={config!r} is not a weft.Config. Its fields are {names}.")
    return config


_DEFAULT = Config()
