"""The definition of a format, and the registry of formats.

A format holds the arcs of one direction in one or several *parts*. A part is a list of rows with
their slots, as arrays and as a CUDA class template over the type of a vertex that reads them; its
`Kind` says which. The class has the arrays of `Kind.arrays` as its first members, then ``i64 rows``
and ``i64 slots``, then ``i64`` members for `Kind.numbers`; ``sweep.cuh`` says what it answers.
docs/design/formats.md tells how to write one.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from weft.config import BySide
from weft.errors import ConfigError, listed, unknown

DEFAULT_FORMAT = "csr"
HERE = Path(__file__).parent
KEPT_ARCS = 1 << 24  # on a host: what has more arcs is kept on disk
FEW = (1, 2, 4)  # rows of a vertex, for which no list of them is made
VERTEX = "vertex"  # the dtype of arrays that hold vertices: that of the graph's targets

_formats: dict[str, Format] = {}


@dataclass(frozen=True)
class Array:
    """An array of a part: its name, and a dtype by name or ``"vertex"``.

    A `shared` one is an array of the adjacency (offsets, targets or owners), which is there anyway.
    """

    name: str
    dtype: str = VERTEX
    shared: bool = False


@dataclass(frozen=True)
class Kind:
    """A kind of parts: what is known of them when code is generated.

    Parameters
    ----------
    struct
        The CUDA class template.
    arrays, numbers
        Its members, in order.
    virtual
        Whether a row is something else than the vertex of its number. Then an array ``vertices``
        has the vertex of each row.
    expands
        Whether the class can list the rows of a vertex (only asked where rows are virtual).
    copies
        How many parts of this kind there are; they are swept one after another by one code.
    joins
        Whether the rows of a vertex are found by a load or two, and are walked one after another by
        one group where that suits the degrees of a graph.
    wholes
        Whether the class can tell which vertices have all their arcs in one row of it. Only the
        first kind of a format is asked.
    loops
        What the CPU's generated code puts in place of the answers of the class: Python expressions
        of unsigned numbers by ``begin``, ``end``, ``place`` (the slot, if left out), ``target`` and
        ``valid`` (true, if left out). In braces stand members, and ``{v}`` (the vertex), ``{r}``
        (its row), ``{s}`` (a slot) and ``{p}`` (its place); 1 is ``ONE``.
    """

    struct: str
    arrays: tuple[Array, ...]
    numbers: tuple[str, ...] = ()
    virtual: bool = False
    expands: bool = False
    copies: int = 1
    joins: bool = False
    wholes: bool = False
    loops: tuple[tuple[str, str], ...] = ()


def few_rows(most: int) -> int:
    """Return the constant `few` of a class whose parts can list the rows of a vertex.

    Examples
    --------
    >>> [few_rows(most) for most in (0, 1, 2, 3, 4, 5)]
    [1, 1, 2, 4, 4, 0]
    """
    return next((few for few in FEW if most <= few), 0)


@dataclass
class Part:
    """One part of a built format."""

    rows: int
    slots: int
    arrays: dict[str, Any] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)


@dataclass(eq=False)
class Layout:
    """The arcs of one direction, built in a format.

    Parameters
    ----------
    parts
        In the order of the format's kinds, copies one after another.
    places
        The slot of the adjacency at each position, -1 where there is no arc; None if positions are
        slots of the adjacency. The parts have one numbering of positions together. A function, so
        that it is made only where columns or arcs of a program need it.
    facts
        What else is worth telling, by name: numbers.
    """

    format: Format
    parts: list[Part]
    places: Callable[[], Any] | None = None
    facts: Mapping[str, float] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        """The memory that its arrays take, with those that are shared with the adjacency."""
        arrays = {id(array): array for part in self.parts for array in part.arrays.values()}
        return sum(int(array.nbytes) for array in arrays.values())

    @property
    def rows(self) -> int:
        """The most rows that a part has."""
        return max(part.rows for part in self.parts)

    @property
    def few(self) -> int:
        """The most places for rows that a vertex of a queue has, where no list of rows is made."""
        return max(part.numbers.get("few", 0) for part in self.parts)

    @property
    def slots(self) -> int:
        """The most slots that a part has."""
        return max(part.slots for part in self.parts)


@dataclass(frozen=True)
class Parameter:
    """A number or a choice that shapes a format, given in parentheses after its name.

    `choices` are the values that are tried by a tuner; if they are words, no others are possible.
    `least` is the smallest number and `most` the largest, where there is one.
    """

    name: str
    default: int | str
    choices: tuple[int, ...] | tuple[str, ...] = ()
    least: int = 1
    most: int | None = None

    def parse(self, text: str, whole: str) -> int | str:
        """Return the value that a text stands for."""
        if isinstance(self.default, str):
            if text not in self.choices:
                raise ConfigError(f"format={whole!r}: {unknown(self.name, text, self.choices)}")
            return text
        value = int(text) if re.fullmatch(r"-?\d+", text) else self.least - 1
        if value < self.least or (self.most is not None and value > self.most):
            beyond = "at least" if self.most is None else f"to {self.most}"
            raise ConfigError(
                f"format={whole!r}: {self.name}={text!r} is not possible. Expected an integer, "
                f"{self.least} {beyond}."
            )
        return value


@dataclass(frozen=True, eq=False)
class Format:
    """One way to hold the arcs of a graph; equal to itself alone, so that it is a cheap key.

    Parameters
    ----------
    name, title
        What users call it, and one line about it.
    kinds
        The kinds of its parts, in the order in which they are swept.
    build
        Makes a layout: ``build(offsets, targets, xp, incoming, **parameters)`` from an adjacency
        with the module `xp`, NumPy or CuPy. Rows of `offsets` are destinations if `incoming`. It
        raises `ConfigError` where the format would waste memory.
    to_coo
        Gives sources and targets of all arcs back, in any order:
        ``to_coo(layout, offsets, targets, xp)``; the last ones for what is shared.
    edit
        Makes the layout of a graph that changed, by less work than `build`:
        ``edit(layout, offsets, targets, changed, xp)`` from the one before, the adjacency as it is
        now and the rows that differ, each at least once. Without it the format is rebuilt.
    formula
        The memory that it is said to take, in words of a vertex: text over E, V and facts.
    turns
        Whether rows of destinations are laid out otherwise than rows of sources: whether `build`
        looks at `incoming`. If not, an undirected graph is built once for both directions.
    own_order
        Whether positions are others than the slots of the adjacency.
    gathers
        Whether the messages of a gather are computed ahead, into a buffer by position.
    refuses
        Whether `build` refuses some graphs whatever is said in parentheses: a tuner asks once.
    parameters
        What can be said in parentheses: ``tigr(8)`` or ``tigr(degree=8)``.
    header
        The CUDA header, if it is not called like the format.
    schedule
        The schedule that suits its rows, whatever the degrees of the graph are, on a GPU; for all
        sides, or by side (see `weft.Config`).
    order
        The order of the vertices that it is made for, see `weft.topology.orders`; runs over it use
        that order unless another one is asked for.
    variant
        Gives the format that values of the parameters stand for, where they decide about its kinds:
        one of the same name, the same object for equal kinds.
    """

    name: str
    title: str
    kinds: tuple[Kind, ...]
    build: Callable[..., Layout]
    to_coo: Callable[[Layout, Any, Any, Any], tuple[Any, Any]]
    edit: Callable[..., Layout] | None = None
    formula: str = ""
    turns: bool = True
    own_order: bool = False
    gathers: bool = False
    refuses: bool = False
    parameters: tuple[Parameter, ...] = ()
    header: str = ""
    schedule: str | BySide = ""
    order: str = ""
    variant: Callable[[Mapping[str, int | str]], Format] | None = None

    @property
    def splits(self) -> bool:
        """Whether the arcs of a vertex may lie in several rows."""
        return len(self.kinds) > 1 or any(kind.virtual or kind.copies > 1 for kind in self.kinds)

    @property
    def joins(self) -> bool:
        """Whether one group may walk through all rows of a vertex."""
        return len(self.kinds) == 1 and self.kinds[0].joins

    @property
    def wholes(self) -> bool:
        """Whether it can identify vertices with all their arcs in one row."""
        return self.kinds[0].wholes

    @property
    def virtual(self) -> bool:
        """Whether some rows are something else than vertices."""
        return any(kind.virtual for kind in self.kinds)

    @property
    def headers(self) -> dict[str, str]:
        """The texts of the CUDA headers of this folder that it needs, by name."""
        found: dict[str, str] = {}
        wanted = [self.header or f"{self.name}.cuh"]
        while wanted:
            name = wanted.pop()
            if name not in found and (HERE / name).is_file():
                text = (HERE / name).read_text(encoding="utf-8")
                wanted += re.findall(r'#include "([^"]+)"', text)
                found = {name: text, **found}
        return found


@dataclass(frozen=True)
class Chosen:
    """A format with values for its parameters."""

    format: Format
    values: tuple[tuple[str, int | str], ...] = ()

    def build(self, offsets: Any, targets: Any, xp: Any, *, incoming: bool = False) -> Layout:
        """Return the arcs of an adjacency in this format; large ones may be found on disk."""
        own = any(not array.shared for kind in self.format.kinds for array in kind.arrays)
        if own and xp.__name__ == "numpy" and targets.size >= KEPT_ARCS:
            from weft.formats.kept import kept_build

            return kept_build(self, offsets, targets, incoming)
        return self.make(offsets, targets, xp, incoming)

    def make(self, offsets: Any, targets: Any, xp: Any, incoming: bool) -> Layout:
        """Build the arcs of an adjacency in this format."""
        return self.format.build(offsets, targets, xp, incoming, **dict(self.values))

    def __str__(self) -> str:
        inside = ", ".join(f"{name}={value}" for name, value in self.values)
        return f"{self.format.name}({inside})" if inside else self.format.name


def register(format: Format) -> Format:
    """Make a format known under its name."""
    _formats[format.name] = format
    return format


@functools.cache
def _load_folder() -> None:
    """Import every module of this folder; each registers its own."""
    for module in pkgutil.iter_modules([str(HERE)]):
        importlib.import_module(f"{__package__}.{module.name}")


def formats() -> dict[str, Format]:
    """Return all formats by name."""
    _load_folder()
    return dict(sorted(_formats.items()))


def format(text: str) -> Format:
    """Return the format that a text names, with or without parameters.

    Raises
    ------
    ConfigError
        If there is none.
    """
    return choose(text).format


def choose(text: str) -> Chosen:
    """Return the format that a text names, with its parameters.

    Examples
    --------
    >>> choose("coo").format.name
    'coo'

    Raises
    ------
    ConfigError
        If there is none, or a parameter is not one of its.
    """
    _load_folder()
    name = text.partition("(")[0]
    if name not in _formats:
        raise ConfigError(unknown("format", name, formats()))
    return _chosen(_formats[name], text)


@functools.lru_cache(maxsize=256)
def _chosen(found: Format, text: str) -> Chosen:
    """Return a format with the parameters of a text; runs ask for the same ones again and again."""
    name, opened, inside = text.partition("(")
    if not opened:
        return _of_values(found, tuple((p.name, p.default) for p in found.parameters))
    if not inside.endswith(")"):
        raise ConfigError(f"format={text!r} has no closing parenthesis. Expected {name}(...).")
    given = _given(text, inside[:-1], {p.name: p for p in found.parameters})
    values = tuple((p.name, given.get(p.name, p.default)) for p in found.parameters)
    return _of_values(found, values)


def _of_values(found: Format, values: tuple[tuple[str, int | str], ...]) -> Chosen:
    """Return a format with values, as the variant that they ask for."""
    return Chosen(found if found.variant is None else found.variant(dict(values)), values)


def _given(text: str, inside: str, known: Mapping[str, Parameter]) -> dict[str, int | str]:
    """Return the parameters that a text gives; those without a name are taken in order."""
    given: dict[str, int | str] = {}
    for position, item in enumerate(part for part in inside.split(",") if part.strip()):
        name, named, value = (word.strip() for word in item.partition("="))
        if not named:
            if position >= len(known):
                raise ConfigError(
                    f"format={text!r} has too many parameters. Expected {listed(known) or 'none'}."
                )
            name, value = list(known)[position], name
        if name not in known:
            raise ConfigError(f"format={text!r}: {unknown('parameter', name, known)}")
        if name in given:
            raise ConfigError(f"format={text!r} gives {name!r} twice. Expected one value for it.")
        given[name] = known[name].parse(value, text)
    return given
