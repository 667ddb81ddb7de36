"""The search space of a program on a graph: axes, their values, and impossible combinations.

The space is derived: formats and schedules come from their registries, fixed lists and ranges from
`weft.config`. A new format, schedule, pass or field of `Config` extends the space without an edit
here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from weft.arrays.device import parse_device
from weft.backends import backend_of
from weft.backends.base import Backend
from weft.config import (
    BY_SIDE,
    CHOICES,
    GPU_ONLY,
    INPUTS,
    NARROW,
    PASSES,
    RANGES,
    BySide,
    Config,
    of_side,
)

SINGLE = ""  # the side of a field that has no sides
PARAMETER = "parameter"  # stands in for a field on axes of format parameters
FIXED = {
    "change_driven": "its results are the same within a tolerance of the program's own only",
    "deterministic": "a promise about results, not a way to be fast",
    "passes_off": "each pass is an axis of its own",
}
SAMPLED = {  # values of fields with a range
    "items_per_thread": (2, 4, 8, 16, 32),
    "block_size": (64, 128, 256, 512, 1024),
    "bin_size": (16, 64, 256, 1024),
}
# Fields that only apply with one choice of another: field -> (other field, its value).
ONLY_WITH = {"lanes": ("schedule", "row"), "items_per_thread": ("schedule", "merge")}
# The values that a CPU distinguishes, of fields with more values on a GPU.
ON_A_CPU = {
    "ordering": (True, False), "frontier_in": ("queue", "state"), "combine": ("atomic", "radix"),
}  # fmt: skip
DELTAS = (0.25, 1.0, 4.0, 16.0, 64.0)  # multiples of the average weight
DEFAULT_FORMAT = "csr"
# The choices of GRAssembler (PACT 2022) under our names, and the size that it reports.
GRASSEMBLER = {
    "schedule": ("vertex", "edge", "warp", "block", "twc", "twce", "strict"),
    "format": ("coo", "csr", "ell", "dia", "gshard", "block_coo"),
    "direction": ("push", "pull", "auto"),
    "frontier_in": ("queue", "reverse_queue", "bitmap", "bytemap"),
    "frontier_out": ("queue", "bitmap", "bytemap", "counter"),
}
GRASSEMBLER_SIZE = 4480
# Orders that take long to compute for more arcs than this, and would dominate a search.
SLOW_ORDERS = {"community": 1 << 25, "gorder": 1 << 22, "llp": 1 << 23, "rcm": 1 << 25}
SLOW_ON_A_GPU = {**SLOW_ORDERS, "community": 1 << 27}


@dataclass(frozen=True)
class Axis:
    """One choice.

    Attributes
    ----------
    field
        The field of `Config`.
    values
        Its values; None, which leaves the choice to the engine, is always possible too.
    side
        ``"push"``, ``"pull"``, ``"gather"``, ``"narrow"`` (of a schedule), the name of a pass, or
        nothing.
    """

    field: str
    values: tuple[Any, ...]
    side: str = SINGLE

    @property
    def name(self) -> str:
        """The name of the field and of the side, if it has one."""
        return f"{self.field}.{self.side}" if self.side else self.field

    def get(self, config: Config) -> Any:
        """Return what a configuration chooses on this axis; of a format, its name."""
        value = getattr(config, self.field)
        if self.field == "passes_off":
            return "off" if self.side in value else "on"
        chosen = of_side(value, self.side) if self.side else value
        return _name(chosen) if self.field == "format" else chosen

    def set(self, config: Config, value: Any) -> Config:
        """Return the configuration with another choice on this axis.

        An unchanged format keeps its parameters.
        """
        if self.field == "format" and value == self.get(config):
            return config
        if self.field == "passes_off":
            others = frozenset(config.passes_off) - {self.side}
            off = others | {self.side} if value == "off" else others
            return replace(config, passes_off=off)
        if not self.side:
            return _with(config, self.field, value)
        held = getattr(config, self.field)
        sides = dict(held) if isinstance(held, BySide) else {}
        sides = {**sides, self.side: value}
        chosen = {side: name for side, name in sides.items() if name is not None}
        return _with(config, self.field, chosen or None)

    def unset(self, config: Config) -> Config:
        """Return the configuration with this axis left to the engine."""
        if self.field == "passes_off":
            return self.set(config, "on")
        return self.set(config, None if self.side else getattr(Config(), self.field))


@dataclass(frozen=True)
class ParameterAxis(Axis):
    """A parameter of a format: a choice if that format is chosen.

    Attributes
    ----------
    format, parameter
        The names of the format and of its parameter.
    """

    format: str = ""
    parameter: str = ""

    @property
    def name(self) -> str:
        """The format with its parameter, and the side, if it has one."""
        return ".".join(filter(None, (self.format, self.parameter, self.side)))

    def get(self, config: Config) -> Any:
        """Return the value of the parameter; None under another format."""
        chosen = _chosen_format(config, self.side)
        return dict(chosen.values)[self.parameter] if chosen.format.name == self.format else None

    def set(self, config: Config, value: Any) -> Config:
        """Return the configuration with another value; itself under another format."""
        chosen = _chosen_format(config, self.side)
        if chosen.format.name != self.format:
            return config
        usual = {p.name: p.default for p in chosen.format.parameters}
        values = {**dict(chosen.values), self.parameter: value}
        given = ", ".join(f"{k}={v}" for k, v in values.items() if v != usual[k])
        axis = Axis("format", (), self.side)
        return axis.set(axis.set(config, None), f"{self.format}({given})" if given else self.format)

    def unset(self, config: Config) -> Config:
        """Return the configuration with the default value of the format."""
        from weft.formats import formats

        usual = {p.name: p.default for p in formats()[self.format].parameters}
        return self.set(config, usual[self.parameter])


def _chosen_format(config: Config, side: str) -> Any:
    from weft.formats import choose

    return choose(of_side(config.format, side) or DEFAULT_FORMAT)


def _name(format_: str | None) -> str | None:
    """Return the name of a format without its parameters."""
    return None if format_ is None else format_.partition("(")[0]


def _with(config: Config, name: str, value: Any) -> Config:
    changed: dict[str, Any] = {name: value}
    return replace(config, **changed)


@dataclass(frozen=True)
class Traits:
    """The properties of a program and a graph that determine the search space.

    Attributes
    ----------
    device
        The name of the device.
    sides
        How the program sweeps: some of ``"push"``, ``"pull"``, ``"gather"``.
    refused
        Directions that are not possible, with the reason.
    ordered
        Whether a step has a priority.
    weight
        The average weight, if there are weights.
    threads
        Threads of a CPU.
    arcs, vertices
        How many the graph has.
    features
        Whether fields hold vectors or matrices, which several lanes can share.
    arranged
        Whether the graph has its own vertex order, in which formats are built.
    unsuited
        Formats that reject the graph in its current order, by side and name, with the reason.
    read
        The readers of the frontier that each side writes, if a count is not enough.
    """

    device: str
    sides: tuple[str, ...]
    refused: Mapping[str, str] = field(default_factory=dict)
    ordered: bool = False
    weight: float | None = None
    threads: int = 1
    arcs: int = 0
    features: bool = False
    arranged: bool = False
    vertices: int = 0
    unsuited: Mapping[tuple[str, str], str] = field(default_factory=dict)
    read: Mapping[str, str] = field(default_factory=dict)

    @property
    def backend(self) -> Backend:
        """The backend of the device."""
        return backend_of(parse_device(self.device))


@dataclass(frozen=True)
class Space:
    """All axes, and the impossible choices.

    Attributes
    ----------
    axes
        The choices.
    invalid
        Impossible choices, alone or in combination, each with the reason.
    fixed
        Fields that are not tuned, each with the reason.
    only_with
        Fields that only apply with one value of another field.
    expected
        The approximate number of words of each format, to guess which are worth trying first.

    Examples
    --------
    >>> space = make_space(Traits("cpu", ("push", "pull"), threads=2))
    >>> space.axis("schedule").values
    ('vertex', 'edge', 'merge', 'weaver')
    >>> space.size == math.prod(len(axis.values) for axis in space.axes)
    True
    >>> space.why_not(Config(schedule="warp"))[:51]
    "schedule='warp': its groups are lanes of a GPU's wa"
    """

    axes: tuple[Axis, ...]
    invalid: tuple[tuple[Mapping[str, Any], str], ...]
    fixed: Mapping[str, str]
    only_with: Mapping[str, tuple[str, Any]] = field(default_factory=lambda: ONLY_WITH)
    expected: Mapping[str, float] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """The number of combinations, including invalid ones.

        The product of the sizes of all axes; a format counts once per setting of its parameters.
        """
        plain = [axis for axis in self.axes if not isinstance(axis, ParameterAxis)]
        return math.prod(self._ways(axis) for axis in plain)

    @property
    def published(self) -> int:
        """The number of combinations of GRAssembler's choices only.

        A format counts once for all its parameters, and narrow frontiers have no separate schedule.
        """
        return math.prod(
            len(set(GRASSEMBLER[axis.field]) & set(axis.values))
            for axis in self.axes
            if axis.field in GRASSEMBLER and axis.side != NARROW
        )

    def _ways(self, axis: Axis) -> int:
        if axis.field != "format":
            return len(axis.values)
        parameters = [a for a in self.axes if isinstance(a, ParameterAxis) and a.side == axis.side]
        return sum(
            math.prod(len(a.values) for a in parameters if a.format == name) for name in axis.values
        )

    def axis(self, name: str) -> Axis:
        """Return an axis by its name."""
        return next(axis for axis in self.axes if axis.name == name)

    def of_field(self, name: str) -> tuple[Axis, ...]:
        """Return the axes of a field, one for each side."""
        return tuple(axis for axis in self.axes if axis.field == name)

    def applies(self, axis: Axis, config: Config) -> bool:
        """Whether an axis has an effect given the other choices."""
        way = "push" if axis.side == NARROW else axis.side
        one_way = way in ("push", "pull") and config.direction in ("push", "pull")
        if one_way and way != config.direction:
            return False
        if axis.side == NARROW and (config.width == "grid" or config.fuse not in (None, "all")):
            return False
        if isinstance(axis, ParameterAxis):
            return axis.get(config) is not None
        if axis.field not in self.only_with:
            return True
        other, value = self.only_with[axis.field]
        return any(a.get(config) == value and self.applies(a, config) for a in self.of_field(other))

    def why_not(self, config: Config) -> str:
        """Return why a configuration is not possible, or an empty string."""
        for excluded, reason in self.invalid:
            if all(_chosen(config, name) == value for name, value in excluded.items()):
                told = ", ".join(f"{name}={value!r}" for name, value in excluded.items())
                return f"{told}: {reason}"
        return ""

    def rows(self) -> list[tuple[str, int, str]]:
        """Return name, number of values and values of every axis, as text."""
        return [(a.name, len(a.values), ", ".join(map(str, a.values))) for a in self.axes]

    def __str__(self) -> str:
        width = max((len(name) for name, _, _ in self.rows()), default=0)
        lines = [f"{name:<{width}} {count:>3}  {values}" for name, count, values in self.rows()]
        lines.append(f"{self.size:,} combinations")
        if self.of_field("format"):  # there are none on a CPU
            share = f"{self.published:,} of them" if self.published < self.size else "all"
            lines.append(
                f"{share} from the choices of GRAssembler, which reports {GRASSEMBLER_SIZE:,}"
            )
        if self.invalid:
            lines.append("not possible:")
            for excluded, reason in self.invalid:
                told = ", ".join(f"{name}={value!r}" for name, value in excluded.items())
                lines.append(f"  {told}: {reason}")
        lines += [f"not tuned: {name}, {reason}" for name, reason in self.fixed.items()]
        return "\n".join(lines)


def _chosen(config: Config, name: str) -> Any:
    field_, _, side = name.partition(".")
    value = getattr(config, field_)
    chosen = of_side(value, side) if side else value
    return _name(chosen or DEFAULT_FORMAT) if field_ == "format" else chosen


def make_space(traits: Traits) -> Space:
    """Return the search space of a program on a graph and a device."""
    axes: list[Axis] = []
    fixed = dict(FIXED)
    on_cpu = traits.backend.runs_on_threads
    for each in fields(Config):
        name = each.name
        if name in FIXED:
            continue
        if on_cpu and name in GPU_ONLY:
            fixed[name] = "means nothing on a CPU"
            continue
        if on_cpu and name == "format":
            fixed[name] = "on a CPU a vertex is walked through all of its rows, whatever the format"
            continue
        values = _values(name, traits)
        if isinstance(values, str):
            fixed[name] = values
        elif name in BY_SIDE and not on_cpu:
            axes += [
                Axis(name, kept, side)
                for side in traits.sides
                if len(kept := _of_side(name, side, values)) > 1
            ]
            if name == "schedule" and "push" in traits.sides:
                axes.append(Axis(name, values, NARROW))
        elif len(values) > 1:
            axes.append(Axis(name, values))
    axes += _parameters([axis for axis in axes if axis.field == "format"])
    axes += [Axis("passes_off", ("on", "off"), name) for name in PASSES]
    from weft.formats.formulas import guessed_words

    only_with = {name: pair for name, pair in ONLY_WITH.items() if name != "lanes"}
    return Space(
        tuple(axes),
        tuple(_invalid(traits)),
        fixed,
        only_with if traits.features else ONLY_WITH,
        guessed_words(traits.arcs, traits.vertices),
    )


def _values(name: str, traits: Traits) -> tuple[Any, ...] | str:
    """Return the values of a field, or why it is not tuned."""
    if name == "schedule":
        from weft.schedules import schedules

        backend = traits.backend
        names = [name for name in schedules() if not backend.refuse_schedule(name)]
        if backend.runs_on_threads:
            names.sort(key=lambda name: name != "vertex")  # the default first
        return tuple(names)
    if name == "format":
        from weft.formats import formats

        return tuple(formats())
    if name == "threads":
        return (
            _doubling(traits.threads)
            if traits.backend.runs_on_threads
            else "means nothing on a GPU"
        )
    if name in ("ordering", "delta") and not traits.ordered:
        return "no step has a priority"
    if name == "delta":
        if traits.weight is None:
            return "there are no weights"
        return tuple(traits.weight * times for times in DELTAS)
    if traits.backend.runs_on_threads and name in ON_A_CPU:
        return ON_A_CPU[name]
    if name == "direction":
        possible = [v for v in CHOICES[name] if v not in traits.refused]
        one_way = {"push", "pull"} & set(traits.refused) or not _turns(traits)
        return tuple(possible[:1]) if one_way else tuple(possible)
    if name in CHOICES:
        return tuple(value for value in CHOICES[name] if value is not None)
    if name in RANGES:
        return SAMPLED.get(name) or _doubling(RANGES[name][1] or 1)
    return "it takes no fixed list of values"


def _parameters(axes: Sequence[Axis]) -> list[Axis]:
    """Return an axis for each parameter with several values of each format, on each side."""
    from weft.formats import formats

    return [
        ParameterAxis(PARAMETER, parameter.choices, axis.side, name, parameter.name)
        for axis in axes
        for name in axis.values
        for parameter in formats()[name].parameters
        if len(parameter.choices) > 1
    ]


def _turns(traits: Traits) -> bool:
    return "push" in traits.sides and len(traits.sides) > 1


def _of_side(name: str, side: str, values: Sequence[Any]) -> tuple[Any, ...]:
    """Return the values that are possible on a side."""
    if name == "frontier_in":
        return tuple(value for value in values if value is None or value in INPUTS[side])
    return tuple(values)


def _doubling(most: int) -> tuple[int, ...]:
    """Return 1, 2, 4, ... and the maximum.

    Examples
    --------
    >>> _doubling(6)
    (1, 2, 4, 6)
    """
    return tuple(sorted({2**k for k in range(most.bit_length())} | {most}))


def _invalid(traits: Traits) -> list[tuple[dict[str, Any], str]]:
    from weft.schedules import schedules

    found: list[tuple[dict[str, Any], str]] = [
        ({"direction": direction}, reason) for direction, reason in traits.refused.items()
    ]
    reason = f"it takes long to make for {traits.arcs:,} arcs; tune g.reorder(...) instead"
    limits = SLOW_ORDERS if traits.backend.runs_on_threads else SLOW_ON_A_GPU
    slow = [order for order, most in limits.items() if traits.arcs > most]
    found += [({"reorder": order}, reason) for order in slow]
    refuse = traits.backend.refuse_schedule
    found += [({"schedule": name}, why) for name in schedules() if (why := refuse(name))]
    if traits.backend.runs_on_threads:
        return found
    from weft.formats import formats
    from weft.schedules import SCALAR_LANES

    if "push" in traits.sides:
        split = [name for name, format_ in formats().items() if format_.splits]
        why = "sorting lays out the rows of vertices, which this format splits"
        found += [({"format.push": name, "combine": "radix"}, why) for name in split]

    for side in traits.sides:
        for name, format_ in formats().items():
            if format_.order in slow and not traits.arranged:
                why = f"it is made for the {format_.order} order, which takes long to make here"
                found.append(({f"format.{side}": name}, f"{why}; tune g.reorder(...) instead"))
    for side, reason in traits.read.items():
        found.append(({f"frontier_out.{side}": "counter"}, f"it has no members, but {reason}"))
    for (side, name), reason in traits.unsuited.items():
        for order in (None,) if traits.arranged else (None, "none"):  # another order may suit it
            found.append(({f"format.{side}": name, "reorder": order}, reason))
    for side in (*traits.sides, *([NARROW] if "push" in traits.sides else [])):
        swept = "push" if side == NARROW else side
        for name, schedule in schedules().items():
            for other, format_ in formats().items():
                reason = schedule.refuse(format_, SCALAR_LANES)
                if reason:
                    pair = {f"schedule.{side}": name, f"format.{swept}": other}
                    found.append((pair, reason))
    return found
