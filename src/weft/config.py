"""Config: how a program is carried out, every field optional."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from numbers import Integral
from typing import Any

from weft.arrays.checks import real_of
from weft.errors import ConfigError, listed, shortened, unknown

DIRECTION_RULES = ("beamer", "ligra", "gunrock", "graphblast", "simdx")
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
)
ORDERS = ("community", "degree", "hub", "random", "rcm")
MAX_ITEMS = 64
MAX_BIN = 1024
WARP, MAX_BLOCK = 32, 1024

# Values of the fields that have a fixed list of them; None stands for the engine's own choice.
CHOICES: dict[str, tuple[Any, ...]] = {
    "reorder": (None, "none", *ORDERS),
    "lanes": (None, 1, 2, 4, 8, 16, 32, "block"),
    "width": ("auto", "block", "cluster", "grid"),
    "direction": ("auto", "push", "pull", *DIRECTION_RULES),
    "frontier_in": (None, "queue", "bitmap", "bytemap", "reverse_queue", "state"),
    "frontier_out": (None, "queue", "bitmap", "bytemap"),
    "compaction": (None, "online", "ballot", "batch", "atomic", "jit"),
    "dedup": (None, "none", "bitmask", "history", "warp", "exact"),
    "combine": (None, "atomic", "sort"),
    "ordering": (True, False, "near_far", "buckets"),
    "fuse": (None, "none", "direction", "all"),
    "fold": (True, False),
    "change_driven": (False, True, "auto"),
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
    "lanes",
    "items_per_thread",
    "block_size",
    "width",
    "frontier_out",
    "compaction",
    "bin_size",
    "dedup",
    "combine",
    "fuse",
)
"""Fields that mean nothing on a CPU, which ignores them."""
SIDES = ("push", "pull", "gather")
"""How a sweep goes: a push, a pull that stops at the first message, a sweep over whole rows."""
BY_SIDE = ("format", "schedule", "frontier_in", "frontier_out")
"""Fields that may be chosen apart for each side."""
OF_PULLS = ("bitmap", "bytemap", "reverse_queue", "state")
INPUTS = {"push": ("queue", "bitmap", "bytemap"), "pull": OF_PULLS, "gather": OF_PULLS}
"""What each side can start from."""
NARROW = "narrow"
"""Beside the sides of `schedule`: a push from a frontier so narrow that one cluster runs it."""


class BySide(Mapping[str, Any]):
    """A choice for each side, or for some of them; cannot be changed, so that it can be a key.

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
    """Return what a field says about one side; None where that is left to the engine.

    Examples
    --------
    >>> of_side("warp", "pull"), of_side(BySide({"push": "twc"}), "pull")
    ('warp', None)
    """
    return value.get(side) if isinstance(value, BySide) else value


def each_choice(value: Any) -> tuple[Any, ...]:
    """Return the choices that a field holds, those of the sides one after another."""
    return tuple(value.values()) if isinstance(value, BySide) else (value,)


@dataclass(frozen=True)
class Config:
    """Choices about execution that never change a result beyond rule and rounding.

    A field left out is chosen by the engine; a run without any `Config` uses what `weft.tune` found
    for it. Fields marked GPU mean nothing on a CPU and are ignored there; `threads` means nothing
    on a GPU. Names of formats and schedules are looked up when a
    program runs: what was registered by then is known.

    `format`, `schedule`, `frontier_in` and `frontier_out` may also be chosen apart for the sides of
    a program that changes its direction: ``schedule={"push": "twc", "pull": "vertex"}``. The sides
    are ``"push"``, ``"pull"`` (of an edge function that stops at the first message that decides, as
    under `any`) and ``"gather"`` (of a vertex function, and every other pull: they go through whole
    rows); one that is left out is the engine's choice. A schedule may also be given for
    ``"narrow"``: the supersteps of a run that push from so few vertices that a block or a cluster
    runs them alone (see `width`); by default they have that of a push.

    Parameters
    ----------
    format
        How the topology lies in memory: ``"csr"``, ``"coo"``, ``"ell"``, ``"dia"``, ``"tigr"``,
        ``"block_csr"``, ``"block_coo"``, ``"gshard"``, ``"cr2"`` or ``"cr2_bare"``. Parameters
        follow in parentheses: ``"tigr(16)"``, ``"block_coo(axis=dest,tiles=8)"``. ``weft info
        --formats`` shows what each takes. A format that would waste memory on a graph is refused.
        Runs with ``deterministic=True`` use csr where a format splits the arcs of a vertex.
    reorder
        In which order the vertices lie in memory while a program runs: ``"community"``,
        ``"degree"``, ``"hub"``, ``"random"``, ``"rcm"`` (see `Graph.reorder`), or ``"none"``: the
        user's order. By default the graph's own. Results are in the user's order anyway.
    schedule
        Who takes which edge: ``"vertex"``, ``"edge"``, ``"warp"``, ``"block"``, ``"twc"``,
        ``"twce"``, ``"strict"``, ``"merge"`` or ``"row"``. A CPU has ``"vertex"``, ``"edge"`` and
        ``"merge"``, and says why it lacks the others.
    lanes
        Threads that work together: on the features of one edge or vertex, as many as there are
        features up to this number, and under the schedule ``"row"`` on one row. 1, 2, 4, 8, 16, 32,
        or ``"block"``, which is about rows alone. With 1 each thread takes whole vectors and
        matrices, one feature at a time: the feature-blind way. By default a thread takes 32 bytes
        of a vector. GPU.
    items_per_thread
        Rows and edges that a thread takes in a stretch under ``"merge"``: 1 to 64. GPU.
    block_size
        Threads of a block: a multiple of 32 from 32 to 1024. GPU.
    width
        Who runs a superstep with a narrow frontier: one ``"block"``, one ``"cluster"``, always the
        whole ``"grid"``, or as the device allows (``"auto"``), which leaves a graph of few vertices
        and edges to one cluster altogether. GPU.
    direction
        ``"push"``, ``"pull"`` or ``"auto"``: whichever looks at fewer edges, step by step. Or a
        published rule that decides step by step: ``"beamer"``, ``"ligra"``, ``"gunrock"``,
        ``"graphblast"``, ``"simdx"``.
    frontier_in
        What a sweep starts from: ``"queue"``, ``"bitmap"``, ``"bytemap"``, ``"reverse_queue"`` (of
        a pull: the accepting vertices in a list), or ``"state"`` (of a pull: a field that tells who
        is in the frontier is tested in its place, where there is one). A CPU heeds the last alone.
    frontier_out
        What a sweep leaves: ``"queue"``, ``"bitmap"`` or ``"bytemap"``. The maps of a run are of
        one kind: bytes, if either field asks for them. GPU.
    compaction
        How a queue is assembled: ``"online"``, ``"ballot"``, ``"batch"`` (needs the most memory),
        ``"atomic"`` or ``"jit"``. GPU.
    bin_size
        Room of the bin in shared memory in which a block gathers what ``"online"`` and ``"jit"``
        find: entries for every sixteen threads of the block, so that a block of 256 has sixteen
        times as many; where queues lie by degree, the bins of the classes share it. 1 to 1024, 64
        if not given. GPU.
    dedup
        What keeps a vertex from being queued twice: ``"none"``, ``"bitmask"``, ``"history"``,
        ``"warp"`` or ``"exact"``. It is exact anyway where duplicates could be seen. GPU.
    combine
        How pushed messages to one vertex meet: ``"atomic"``, or ``"sort"`` and a segmented
        reduction, which a deterministic run chooses where it cannot pull. GPU.
    ordering
        Whether a step with a priority may be processed in its order: ``True``, ``False``, or how:
        ``"near_far"`` or ``"buckets"``. A CPU has one way.
    delta
        Width of a bucket of ordered processing; chosen from the weights if not given.
    fuse
        Launches of a run: ``"none"`` (one per phase), ``"direction"`` (a persistent kernel per
        direction) or ``"all"`` (one for everything). GPU.
    fold
        Whether vertex functions that follow each other, in a `weft.fold` or in a list, run at each
        vertex one after another where nobody can see the difference; ``False`` runs step by step.
    change_driven
        Whether an `iterate` of a vertex function keeps what it gathers and sends the differences of
        what changed alone: ``False``, ``True`` (an error where that is not possible) or ``"auto"``.
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

    format: str | Mapping[str, str] | None = None
    reorder: str | None = None
    schedule: str | Mapping[str, str] | None = None
    lanes: int | str | None = None
    items_per_thread: int | None = None
    block_size: int | None = None
    width: str = "auto"
    direction: str = "auto"
    frontier_in: str | Mapping[str, str] | None = None
    frontier_out: str | Mapping[str, str] | None = None
    compaction: str | None = None
    bin_size: int | None = None
    dedup: str | None = None
    combine: str | None = None
    ordering: bool | str = True
    delta: float | None = None
    fuse: str | None = None
    fold: bool = True
    change_driven: bool | str = False
    threads: int | None = None
    passes_off: frozenset[str] | str = field(default_factory=frozenset)
    deterministic: bool = False

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
                object.__setattr__(self, name, int(value))  # NumPy's integers too
        for name, choices in CHOICES.items():
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
        """Return the fields that are not left to the engine, as a dictionary."""
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
    # True is 1 and 2.0 is 2 to Python, but not to a reader.
    if not any(type(value) is type(choice) and value == choice for choice in choices):
        raise ConfigError(unknown(name, value, choices))


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
    """Return a Config, the default one for None."""
    if config is None:
        return _DEFAULT
    if not isinstance(config, Config):
        names = listed(f.name for f in fields(Config))
        raise ConfigError(f"config={config!r} is not a weft.Config. Its fields are {names}.")
    return config


_DEFAULT = Config()
