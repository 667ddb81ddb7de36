"""Config: options that control how a program is executed."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from numbers import Integral
from typing import Any

from weft.arrays.checks import real_of
from weft.errors import ConfigError, listed, shortened, unknown

DIRECTION_RULES = ("beamer", "ligra", "gunrock", "graphblast", "simdx")
THRESHOLDS = {
    "beamer": ("alpha", "beta"), "ligra": ("share of the edges",), "gunrock": ("do_a", "do_b"),
    "graphblast": ("share of the vertices",), "simdx": ("share of the edges",),
}  # fmt: skip
"""What the thresholds of a rule are, in their order."""
PASSES = (
    "constant_folding",
    "equal_expressions",
    "gather_folding",
    "dead_fields",
    "step_folding",
    "source_hoisting",
    "constant_lifting",
    "write_once",
    "async_relaxation",
    "early_exit",
    "operand_reuse",
    "degree_classes",
    "index_proofs",
    "row_bits",
    "horizon",
)
ORDERS = ("community", "degree", "gorder", "hub", "llp", "random", "rcm")
MAX_ITEMS = 64
MAX_BIN = 1024
MAX_ENTRIES = 1 << 16
WARP, MAX_BLOCK = 32, 1024

# Allowed values of enumerated fields; None leaves the choice to the engine.
CHOICES: dict[str, tuple[Any, ...]] = {
    "reorder": (None, "none", *ORDERS),
    "lanes": (None, 1, 2, 4, 8, 16, 32, "block"),
    "width": ("auto", "block", "cluster", "grid"),
    "direction": ("auto", "push", "pull", *DIRECTION_RULES),
    "frontier_in": (None, "queue", "bitmap", "bytemap", "reverse_queue", "state"),
    "frontier_out": (None, "queue", "bitmap", "bytemap", "counter"),
    "compaction": (None, "online", "ballot", "batch", "atomic", "jit"),
    "dedup": (None, "none", "bitmask", "history", "warp", "exact"),
    "combine": (None, "atomic", "in_place", "by_target", "radix"),
    "ordering": (True, False, "near_far", "buckets", "horizon"),
    "fuse": (None, "none", "direction", "all"),
    "best_neighbor": (None, True, False),
    "hub_table": (None, True, False, "places"),
    "fold": (True, False),
    "change_driven": (False, True, "auto"),
    "deterministic": (True, False),
    "compiled": (None, True, False),
}
# Integer fields: minimum, maximum, and the number that the value must be a multiple of.
RANGES: dict[str, tuple[int, int | None, int]] = {
    "items_per_thread": (1, MAX_ITEMS, 1),
    "block_size": (WARP, MAX_BLOCK, WARP),
    "bin_size": (1, MAX_BIN, 1),
    "threads": (1, None, 1),
}
GPU_ONLY = (
    "lanes",
    "items_per_thread",
    "block_size",
    "width",
    "frontier_out",
    "compaction",
    "bin_size",
    "dedup",
    "best_neighbor",
    "hub_table",
    "fuse",
)
"""Fields that have no effect on a program that runs on a CPU."""
SIDES = ("push", "pull", "gather")
"""Kinds of sweep: a push, a pull that stops at the first message, a sweep over whole rows."""
BY_SIDE = ("format", "schedule", "frontier_in", "frontier_out")
"""Fields that accept a separate choice for each side."""
OF_PULLS = ("bitmap", "bytemap", "reverse_queue", "state")
INPUTS = {"push": ("queue", "bitmap", "bytemap"), "pull": OF_PULLS, "gather": OF_PULLS}
"""Frontier kinds that each side can read."""
NARROW = "narrow"
"""An extra side of `schedule`: a push from a frontier so narrow that one cluster runs it."""


@dataclass(frozen=True)
class WeaverTable:
    """The table in which the schedule ``"weaver"`` registers rows; `Config` takes a mapping too.

    Parameters
    ----------
    entries
        Rows of a round: a multiple of 32 up to 65536. A block of a GPU registers at most one row
        per thread, so more entries than threads have no effect. A thread of a CPU registers 4096.
    table
        Where the table lies; only ``"shared"``: memory that a block's or all threads share.

    Examples
    --------
    >>> import weft
    >>> weft.Config(weaver={"entries": 512}).weaver
    WeaverTable(entries=512, table='shared')
    """

    entries: int | None = None
    table: str = "shared"

    def __post_init__(self) -> None:
        _check_range("entries", self.entries, WARP, MAX_ENTRIES, WARP)
        _check_choice("table", self.table, ("shared",))


class BySide(Mapping[str, Any]):
    """Choices for some or all sides; immutable, so that it can be a dictionary key.

    Examples
    --------
    >>> choice = BySide({"pull": "vertex", "push": "twc"})
    >>> choice, choice["push"], choice == {"push": "twc", "pull": "vertex"}
    ({'push': 'twc', 'pull': 'vertex'}, 'twc', True)
    """

    def __init__(self, choices: Mapping[str, Any]) -> None:
        self._choices = {side: choices[side] for side in (*SIDES, NARROW) if side in choices}

    def __getitem__(self, side: str) -> Any:
        return self._choices[side]

    def __iter__(self) -> Iterator[str]:
        return iter(self._choices)

    def __len__(self) -> int:
        return len(self._choices)

    def __hash__(self) -> int:
        return hash(tuple(self._choices.items()))

    def __repr__(self) -> str:
        return repr(self._choices)


def of_side(value: Any, side: str) -> Any:
    """Return the choice of a field for one side; None leaves it to the engine.

    Examples
    --------
    >>> of_side("warp", "pull"), of_side(BySide({"push": "twc"}), "pull")
    ('warp', None)
    """
    return value.get(side) if isinstance(value, BySide) else value


def entries_of(config: Config) -> int | None:
    """Return how many rows the schedule ``"weaver"`` registers at once; None for its default."""
    return config.weaver.entries if isinstance(config.weaver, WeaverTable) else None


def each_choice(value: Any) -> tuple[Any, ...]:
    """Return all choices of a field: one, or one per side given."""
    return tuple(value.values()) if isinstance(value, BySide) else (value,)


@dataclass(frozen=True)
class Config:
    """Execution options; they never change a result beyond what the rules and rounding allow.

    The engine chooses every field that is left out; a run without a `Config` uses the configuration
    that `weft.tune` stored for it, if any. Fields marked GPU are ignored on a CPU; `threads` is
    ignored on a GPU. Formats and schedules are looked up by name when a program runs, so they may
    be registered after the `Config` was made.

    `format`, `schedule`, `frontier_in` and `frontier_out` also accept a separate choice for each
    side of a program that switches direction: ``schedule={"push": "twc", "pull": "vertex"}``. The
    sides are ``"push"``, ``"pull"`` (an edge function that stops at the first decisive message, as
    under `any`) and ``"gather"`` (a vertex function and every other pull, which scan whole rows).
    The engine chooses for a side that is left out. `schedule` also accepts ``"narrow"``: the
    supersteps that push from so few vertices that one block or cluster runs them (see `width`); by
    default they use the push schedule.

    Parameters
    ----------
    format
        Memory layout of the topology: ``"csr"``, ``"csr32"``, ``"coo"``, ``"ell"``, ``"dia"``,
        ``"tigr"``, ``"block_csr"``, ``"block_coo"``, ``"gshard"``, ``"cr2"`` or ``"cr2_bare"``.
        Parameters follow in parentheses: ``"tigr(16)"``, ``"ell(slice=32,rest=coo)"``,
        ``"block_coo(axis=dest,tiles=8)"``. ``weft info --formats`` lists them. A format that would
        waste memory on a graph is rejected. Runs with ``deterministic=True`` use csr in place of a
        format that splits the arcs of a vertex.
    reorder
        Order of the vertices in memory during a run: ``"community"``, ``"degree"``, ``"gorder"``,
        ``"hub"``, ``"llp"``, ``"random"``, ``"rcm"`` (see `Graph.reorder`), or ``"none"`` for the
        user's order. Defaults to the graph's order. Results are always in the user's order.
    schedule
        How edges are assigned to threads: ``"vertex"``, ``"edge"``, ``"warp"``, ``"block"``,
        ``"twc"``, ``"twce"``, ``"strict"``, ``"merge"``, ``"row"`` or ``"weaver"``. A CPU
        supports ``"vertex"``, ``"edge"``, ``"merge"`` and ``"weaver"``, and rejects the others with
        a reason.
    lanes
        Maximum number of threads that share the features of one edge or vertex, or one row under
        the schedule ``"row"``: 1, 2, 4, 8, 16, 32, or ``"block"``. With 1, each thread processes
        whole vectors and matrices, one feature at a time. With ``"block"``, a whole block takes an
        edge or vertex with vectors of more than 32 features (matrices stay with a warp). By
        default, each thread takes 32 bytes of a vector. GPU.
    items_per_thread
        Consecutive rows and edges per thread under ``"merge"``: 1 to 64. GPU.
    block_size
        Threads per block: a multiple of 32 from 32 to 1024. GPU.
    width
        What runs a superstep with a narrow frontier: one ``"block"``, one ``"cluster"``, always the
        whole ``"grid"``, or whatever the device allows (``"auto"``). ``"auto"`` also runs small
        graphs entirely in one cluster. GPU.
    direction
        ``"push"``, ``"pull"`` or ``"auto"``, which picks the one that visits fewer edges in each
        superstep. Or a published rule that decides in each superstep: ``"beamer"``, ``"ligra"``,
        ``"gunrock"``, ``"graphblast"``, ``"simdx"``. A tuple gives thresholds too, as the papers
        state them: ``("beamer", 14, 24)``, ``("ligra", 1 / 20)``, ``("gunrock", 1 / 1000, 1 / 5)``,
        ``("graphblast", 1 / 10)``, ``("simdx", 0.3)``. Or a function ``fn(stats)``, which is traced
        and decides on the device: true is a pull. ``stats.frontier`` and ``stats.edges`` are the
        vertices of the frontier and their out-edges, ``stats.unexplored`` the edges of vertices
        that no frontier has held yet, ``stats.n`` and ``stats.m`` all vertices and edges;
        ``stats.growing`` and ``stats.shrinking`` compare the frontier with that of the previous
        decision, and ``stats.pulling`` is true if that decision was a pull.
    frontier_in
        Frontier that a sweep reads: ``"queue"``, ``"bitmap"``, ``"bytemap"``, ``"reverse_queue"``
        (pull: a list of the accepting vertices), or ``"state"`` (pull: test a field that marks the
        frontier, where there is one). A CPU ignores all but ``"state"``.
    frontier_out
        Frontier that a sweep writes: ``"queue"``, ``"bitmap"``, ``"bytemap"`` or ``"counter"``. All
        maps of a run are of one kind: bytes if either field requests them. A counter holds only the
        number of vertices; it is rejected, on every device, where a program reads the members. All
        vertices run next if it is not zero, or a pull finds its frontier in the state. GPU.
    compaction
        How a queue is assembled: ``"online"``, ``"ballot"``, ``"batch"`` (needs the most memory),
        ``"atomic"`` or ``"jit"``. GPU.
    bin_size
        Size of the shared-memory bin that a block fills under ``"online"`` and ``"jit"``, in
        entries per sixteen threads: a block of 256 has room for sixteen times as many. Where queues
        are split by degree, the classes share the bin. 1 to 1024; 64 by default. GPU.
    dedup
        How duplicates are kept out of a queue: ``"none"``, ``"bitmask"``, ``"history"``,
        ``"warp"`` or ``"exact"``. Always exact where duplicates could affect a result. GPU.
    combine
        How pushed messages to one vertex are combined. ``"atomic"``: as they arrive.
        ``"in_place"``: the same, but a sum of one constant whose vertices become active at a
        threshold is added to the field itself; the default on a GPU, except in deterministic runs.
        ``"by_target"``: they are stored by arc, and afterwards each vertex reduces all arcs into
        it, in every superstep; the default of deterministic runs on a GPU that cannot pull; ignored
        on a CPU. ``"radix"``: the frontier's arcs are laid out by a scan of the lengths of its
        rows, their messages are sorted by target, and the run of each target is reduced: no
        atomics, work in the arcs of the frontier, and the same bits in every run. No update is made
        in place then. Not for a fold of edge functions, nor for a push over a format that splits
        rows.
    ordering
        Whether a step with a priority may be processed in priority order: ``True``, ``False``, or a
        method: ``"near_far"`` or ``"buckets"``, of which a CPU has only one; or ``"horizon"``,
        which first settles all vertices within a horizon wherever messages allow it, not only on
        graphs that profit (see docs/design/horizon.md).
    delta
        Bucket width of ordered processing; derived from the weights by default.
    best_neighbor
        Whether a pull that stops at the first message tries each vertex's neighbor of highest
        degree before its row, where messages do not depend on the edge: ``True``, ``False``, or
        where graph and device suit. The neighbors take an id per vertex and are kept with the
        graph. Not in deterministic runs. GPU; `connected_components` also on a CPU.
    hub_table
        How an `iterate` whose gathers read scalars of other vertices alone stores these.
        ``"places"``: by how many arcs name a vertex, so that what is read most often lies together.
        ``True``: so, and each block keeps the first of them in shared memory. ``False``: by vertex.
        By default whichever suits graph and device. Takes an id per arc, kept with the graph. GPU.
    fuse
        Kernel launches of a run: ``"none"`` (one per phase), ``"direction"`` (a persistent kernel
        per direction) or ``"all"`` (one for everything). GPU.
    fold
        Whether consecutive vertex functions, in a `weft.fold` or in a list, run back to back at
        each vertex where that cannot change a result; ``False`` runs step by step.
    change_driven
        Whether an `iterate` of a vertex function keeps its gathered values and sends only the
        differences of changed vertices: ``False``, ``True`` (an error where impossible) or
        ``"auto"``.
    threads
        Number of threads; by default ``WEFT_NUM_THREADS``, or one per processor.
    passes_off
        Names of compiler passes to skip.
    deterministic
        Whether results are bit-identical from run to run, for any number of threads.
    compiled
        ``True`` always runs a compiled kernel. By default, work on small graphs is evaluated with
        NumPy until compiling pays (``WEFT_EVALUATE=off`` switches that off). ``False`` evaluates
        always, an error where that is impossible. CPU.
    weaver
        The table of the schedule ``"weaver"``: ``{"entries": 512}``, or a `WeaverTable`.

    Examples
    --------
    >>> import weft
    >>> weft.Config(direction="push").direction
    'push'
    >>> def wide(stats):
    ...     return (stats.edges * 14 > stats.unexplored) & (stats.frontier > 100)
    >>> g = weft.generators.rmat(8, seed=1)
    >>> found = weft.bfs(g, 0, config=weft.Config(direction=wide))
    >>> bool((found.level == weft.bfs(g, 0).level).all())
    True
    >>> weft.Config(direction="sideways")
    Traceback (most recent call last):
    ...
    weft.errors.ConfigError: direction='sideways' is not known. Expected one of ...
    """

    format: str | Mapping[str, str] | None = None
    reorder: str | None = None
    schedule: str | Mapping[str, str] | None = None
    lanes: int | str | None = None
    items_per_thread: int | None = None
    block_size: int | None = None
    width: str = "auto"
    direction: str | tuple[Any, ...] | Callable[[Any], Any] = "auto"
    frontier_in: str | Mapping[str, str] | None = None
    frontier_out: str | Mapping[str, str] | None = None
    compaction: str | None = None
    bin_size: int | None = None
    dedup: str | None = None
    combine: str | None = None
    ordering: bool | str = True
    delta: float | None = None
    best_neighbor: bool | None = None
    hub_table: bool | str | None = None
    fuse: str | None = None
    fold: bool = True
    change_driven: bool | str = False
    threads: int | None = None
    passes_off: frozenset[str] | str = field(default_factory=frozenset)
    deterministic: bool = False
    compiled: bool | None = None
    weaver: WeaverTable | Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        for name in BY_SIDE:
            value = getattr(self, name)
            if isinstance(value, Mapping):
                _check_sides(name, value)
                object.__setattr__(self, name, BySide(value))
        for name in ("format", "schedule"):
            for value in each_choice(getattr(self, name)):
                if value is not None and not isinstance(value, str):
                    raise ConfigError(
                        f"{name}={shortened(value)} is not a name. Expected a string, or None."
                    )
        for name in ("lanes", *RANGES):
            value = getattr(self, name)
            if type(value) is not bool and isinstance(value, Integral):
                object.__setattr__(self, name, int(value))  # accepts NumPy integers
        object.__setattr__(self, "weaver", _checked_table(self.weaver))
        object.__setattr__(self, "direction", _checked_direction(self.direction))
        for name, choices in CHOICES.items():
            if name == "direction" and not isinstance(self.direction, str):
                continue
            for value in each_choice(getattr(self, name)):
                _check_choice(name, value, choices)
        _check_inputs(self.frontier_in)
        for name, (least, most, step) in RANGES.items():
            _check_range(name, getattr(self, name), least, most, step)
        object.__setattr__(self, "delta", _checked_delta(self.delta))
        off = (self.passes_off,) if isinstance(self.passes_off, str) else self.passes_off
        object.__setattr__(self, "passes_off", _check_passes(off))

    def options(self) -> dict[str, Any]:
        """Return the fields as a dictionary."""
        return dict(vars(self))

    def given(self) -> dict[str, Any]:
        """Return the fields that differ from their defaults, as a dictionary."""
        return {f.name: v for f in fields(self) if (v := getattr(self, f.name)) != _default(f)}


def _default(field_: Any) -> Any:
    return frozenset() if field_.name == "passes_off" else field_.default


def _check_sides(name: str, value: Mapping[Any, Any]) -> None:
    known = (*SIDES, NARROW) if name == "schedule" else SIDES
    for side in value:
        if side not in known:
            raise ConfigError(unknown(f"side of {name}", side, known))
    if not value:
        raise ConfigError(f"{name}={{}} chooses nothing. Expected some of {listed(known)}.")


def _check_choice(name: str, value: object, choices: Sequence[object]) -> None:
    # True == 1 and 2.0 == 2 in Python, but here they are mistakes.
    if not any(type(value) is type(choice) and value == choice for choice in choices):
        raise ConfigError(unknown(name, value, choices))


def _checked_direction(value: Any) -> Any:
    """Return a direction; a rule with thresholds becomes a tuple of its name and floats."""
    if isinstance(value, str) or callable(value):
        return value
    if not isinstance(value, tuple | list):
        raise ConfigError(
            f"direction={shortened(value)} is not possible. Expected a name, a tuple of a rule and "
            "its thresholds, or a function of stats."
        )
    name = value[0] if len(value) else None
    if name not in DIRECTION_RULES:
        raise ConfigError(unknown("the rule of direction", name, DIRECTION_RULES))
    wanted = THRESHOLDS[name]
    numbers = [real_of(number) for number in value[1:]]
    if len(numbers) != len(wanted) or not all(0 < x < float("inf") for x in numbers):
        raise ConfigError(
            f"direction={shortened(tuple(value))} is not possible. Expected after {name!r} "
            f"{len(wanted)} number(s) above 0: {', '.join(wanted)}."
        )
    return (name, *numbers)


def _checked_table(value: Any) -> WeaverTable | None:
    if value is None or isinstance(value, WeaverTable):
        return value
    known = [f.name for f in fields(WeaverTable)]
    if not isinstance(value, Mapping):
        raise ConfigError(
            f"weaver={shortened(value)} is not possible. Expected a mapping with some of "
            f"{listed(known)}, or None."
        )
    for name in value:
        if name not in known:
            raise ConfigError(unknown("setting of weaver", name, known))
    try:
        return WeaverTable(**value)
    except ConfigError as error:
        raise ConfigError(f"weaver={shortened(dict(value))}: {error}") from None


def _check_inputs(chosen: object) -> None:
    for side, kind in chosen.items() if isinstance(chosen, BySide) else ():
        if kind is not None and kind not in INPUTS[side]:
            raise ConfigError(
                f"frontier_in={{{side!r}: {kind!r}}} is not possible. "
                f"Expected for a {side} one of {listed(INPUTS[side])}."
            )


def _check_passes(off: object) -> frozenset[str]:
    if not isinstance(off, Iterable):
        raise ConfigError(
            f"passes_off={shortened(off)} is not a list. Expected some of {listed(PASSES)}."
        )
    for name in (names := tuple(off)):
        if name not in PASSES:
            raise ConfigError(unknown("passes_off", name, PASSES))
    return frozenset(names)


def _check_range(name: str, value: object, least: int, most: int | None, step: int) -> None:
    if value is None:
        return
    if type(value) is int and value in range(least, (most or 2**62) + 1, step):
        return
    kind = "an integer" if step == 1 else f"a multiple of {step}"
    upto = "on" if most is None else f"to {most}"
    raise ConfigError(
        f"{name}={shortened(value)} is not possible. Expected {kind} from {least} {upto}."
    )


def _checked_delta(delta: Any) -> float | None:
    if delta is None:
        return None
    width = real_of(delta)
    if not 0 < width < float("inf"):
        raise ConfigError(
            f"delta={shortened(delta)} is not possible. Expected a number above 0, or None"
            f"{'; ordering=False drops the order' if width > 0 else ''}."
        )
    return width


def check_config(config: object) -> Config:
    """Return the given Config, or the default one for None."""
    if config is None:
        return _DEFAULT
    if not isinstance(config, Config):
        names = listed(f.name for f in fields(Config))
        raise ConfigError(f"config={config!r} is not a weft.Config. Its fields are {names}.")
    return config


def _told(given: Callable[..., None]) -> Callable[..., None]:
    """Return the initializer of `Config`, which names the nearest field to one that is unknown."""

    @functools.wraps(given)
    def initialize(self: Config, *arguments: Any, **chosen: Any) -> None:
        for name in chosen:
            if name not in _FIELDS:
                raise ConfigError(unknown("the field of weft.Config", name, _FIELDS))
        given(self, *arguments, **chosen)

    return initialize


_FIELDS = tuple(field_.name for field_ in fields(Config))
Config.__init__ = _told(Config.__init__)  # type: ignore[method-assign]
_DEFAULT = Config()
