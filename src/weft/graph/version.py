"""Versions of a graph: which one a state belongs to, and what was added since an earlier one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from weft.arrays.checks import integer_of
from weft.errors import GraphError, shortened
from weft.topology.adjacency import Array

_MOST_CHANGES: Final = 1000


class Version:
    """One version of one graph; ends when that graph is changed in place.

    Attributes
    ----------
    number : int
        How many changes led to it.
    num_vertices : int
        How many vertices the graph has in it.
    current : bool
        Whether the graph is still that.
    """

    __slots__ = ("__weakref__", "current", "num_vertices", "number")

    def __init__(self, num_vertices: int, number: int = 0) -> None:
        self.number, self.num_vertices = number, num_vertices
        self.current = True

    def __deepcopy__(self, memo: dict[int, Any]) -> Version:
        return self  # the copy of a state belongs to the same version


@dataclass(frozen=True, eq=False)
class Past:
    """An earlier version, and how the next one differs from it."""

    version: Version
    src: Array
    dst: Array
    num_removed: int


class History:
    """The version that a graph is, and those before it from which results can be carried over.

    Changes are forgotten when there are more than a thousand, or more edges in them than in the
    graph: a fresh result is cheaper then.

    Parameters
    ----------
    version : Version
        That of the graph.
    past : tuple of Past
        Oldest first.
    """

    def __init__(self, version: Version, past: tuple[Past, ...] = ()) -> None:
        self.version = version
        self.past = past

    def changed(
        self, num_vertices: int, added: tuple[Array, Array], num_removed: int, num_edges: int
    ) -> History:
        """Return the history of the graph after a change.

        Parameters
        ----------
        num_vertices : int
            How many there are now.
        added : tuple of ndarray
            The ends of the edges that were added.
        num_removed : int
        num_edges : int
            How many there are now.
        """
        past = (*self.past, Past(self.version, *added, num_removed))
        total = sum(int(change.src.size) for change in past)
        while past and (len(past) > _MOST_CHANGES or total > num_edges):
            total -= int(past[0].src.size)
            past = past[1:]
        return History(Version(num_vertices, self.version.number + 1), past)

    def copied(self) -> History:
        """Return the history of an equal graph, which changes by itself from now on."""
        now, none = self.version, np.empty(0, np.int32)
        return History(
            Version(now.num_vertices, now.number), (*self.past, Past(now, none, none, 0))
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> History:
        return self.copied()

    def since(self, earlier: Version | int) -> tuple[Past, ...]:
        """Return the changes that followed an earlier version, oldest first.

        Raises
        ------
        GraphError
            If the version is not known, or edges were removed since.
        """
        now = self.version
        if not isinstance(earlier, Version) and integer_of(earlier) is None:
            raise GraphError(
                f"{shortened(earlier)} is not a version. Expected an earlier graph, or the number "
                "that g.version was then."
            )
        if earlier is now or earlier == now.number:
            return ()
        places = (
            place
            for place, change in enumerate(self.past)
            if earlier is change.version or earlier == change.version.number
        )
        first = next(places, None)
        if first is None:
            number = None if isinstance(earlier, Version) else integer_of(earlier)
            what = "the other graph" if number is None else f"version {shortened(number)}"
            raise GraphError(
                f"What happened since {what} is not known: this graph (version {now.number}) was "
                "not made from it by add_edges, remove_edges, update and to, or too much changed "
                "since then. Expected a graph that this one was made from, or the number that "
                "g.version was then; without that, compute afresh: leave warm_start out."
            )
        changes = self.past[first:]
        removed = sum(change.num_removed for change in changes)
        if removed:
            raise GraphError(
                f"{removed} edge(s) were removed since then. Earlier results can be carried on "
                "where edges were added alone; compute afresh: leave warm_start out."
            )
        return changes
