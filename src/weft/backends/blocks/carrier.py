"""The interface of a carrier, which brings blocks and state together and sweeps them."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from weft.backends.blocks.stages import ArcPart
from weft.config import Config
from weft.ir.ops import Program
from weft.ir.request import Data, RunOptions
from weft.plan.prepare import Form
from weft.topology.topology import Adjacency, Direction, Topology

Array = np.ndarray[Any, Any]


@dataclass
class Work:
    """The state that a sweep reads, and how it runs.

    Attributes
    ----------
    data
        All fields, hidden ones included; a sweep changes hidden fields and scalars only, unless it
        is direct.
    options
        The checked configuration; its direction is "push".
    wanted
        The requested direction: "push", "pull" or "auto".
    shares
        Of 1024 arcs of accepting vertices, the number that the last pull of a part visited.
    pulling
        The parts that pulled last.
    accepting
        The vertices with arcs that accepted messages of a lasting part when it was last pulled.
    lasting
        Whether a proof that messages close vertices for good holds in all supersteps.
    forms
        The compiled forms of direct sweeps that were proven so, by part and direction.
    """

    data: Data
    options: RunOptions
    wanted: str = "push"
    shares: dict[ArcPart, int] = field(default_factory=dict)
    pulling: set[ArcPart] = field(default_factory=set)
    accepting: dict[ArcPart, Any] = field(default_factory=dict)
    lasting: bool = False
    forms: dict[tuple[ArcPart, Any], Form] = field(default_factory=dict)

    @property
    def config(self) -> Config:
        """The configuration."""
        return self.options.config

    @functools.cached_property
    def pull_options(self) -> RunOptions:
        """The configuration of sweeps that pull."""
        return replace(self.options, config=replace(self.config, direction="pull"))


class Swept(NamedTuple):
    """The result of a sweep: its output, sorted, and whether it wrote to the fields directly."""

    output: Array
    direct: bool = False
    pulled: bool = False


class Resumed(NamedTuple):
    """The checkpoint of a run: its frontier, and whether and how it had ended."""

    frontier: Array | None
    ended: bool = False
    converged: bool = False


class Carrier(Protocol):
    """Runs sweeps over the blocks of one graph, wherever they are stored."""

    @property
    def folder(self) -> Path | None:
        """Where large arrays of runs may be kept; None for the system's temporary files."""

    @property
    def shares_state(self) -> bool:
        """Whether all blocks are swept in one memory, so that each sees the updates of others."""

    @property
    def vertices(self) -> Topology:
        """A topology without arcs, with the degrees of the graph, for vertex functions."""

    def sweep(self, part: ArcPart, work: Work, frontier: Array | None) -> Swept:
        """Sweep the rows of a frontier (None for all).

        The hidden fields of the part start with their neutral values; afterwards they hold what the
        blocks wrote, and the reduced scalars hold their totals.
        """

    def check(self, part: ArcPart) -> None:
        """Raise ConfigError if a sweep is not possible on this carrier."""

    def begin(self, program: Program, work: Work) -> Resumed | None:
        """Restore and return the checkpoint of an earlier run of a program, or None."""

    def settle(self, work: Work) -> None:
        """Called after a vertex function: make several states, if there are, agree."""

    def end(self, work: Work, resumed: Resumed) -> None:
        """Record how a run ended."""

    def superstep(self, number: int, work: Work, frontier: Array | None) -> None:
        """Called after a superstep: a carrier may save a checkpoint."""

    def adjacency(self, direction: Direction) -> Adjacency:
        """Return all arcs of a direction, in memory."""

    def column(self, name: str) -> Array:
        """Return an edge column by edge id, in memory."""

    @property
    def counters(self) -> dict[str, int]:
        """Statistics: bytes read, blocks swept, blocks skipped."""
