"""Versions of a graph: which one a state belongs to, and the edges added since."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from weft.arrays.checks import integer_of
from weft.errors import GraphError, shortened
from weft.topology.adjacency import Array

_MOST_CHANGES: Final = 1000


class Version:
    """One version of a graph; superseded when the graph is changed in place.

    Attributes
    ----------
    number : int
        Number of changes before it.
    num_vertices : int
        Number of vertices in this version.
    current : bool
        Whether the graph is still at this version.
    """

    __slots__ = ("__weakref__", "current", "num_vertices", "number")

    def __init__(self, num_vertices: int, number: int = 0) -> None:
        self.number, self.num_vertices = number, num_vertices
        self.current = True

    def __deepcopy__(self, memo: dict[int, Any]) -> Version:
        return self  # a copied state belongs to the same version


@dataclass(frozen=True, eq=False)
class Past:
    """An earlier version, and the change that led to the next one."""

    version: Version
    src: Array
    dst: Array
    num_removed: int


class History:
    """The current version of a graph, and earlier ones from which results can be updated.

    Old changes are dropped beyond a thousand, or once they contain more edges than the graph: a
    fresh computation is cheaper then.

    Parameters
    ----------
    version : Version
        The current version.
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
            Number of vertices after the change.
        added : tuple of ndarray
            The ends of the added edges.
        num_removed : int
            Number of removed edges.
        num_edges : int
            Number of edges after the change.
        """
        past = (*self.past, Past(self.version, *added, num_removed))
        total = sum(int(change.src.size) for change in past)
        while past and (len(past) > _MOST_CHANGES or total > num_edges):
            total -= int(past[0].src.size)
            past = past[1:]
        return History(Version(num_vertices, self.version.number + 1), past)

    def copied(self) -> History:
        """Return the history of a copy of the graph, which changes independently from now on."""
        now, none = self.version, np.empty(0, np.int32)
        return History(
            Version(now.num_vertices, now.number), (*self.past, Past(now, none, none, 0))
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> History:
        return self.copied()

    def since(self, earlier: Version | int) -> tuple[Past, ...]:
        """Return the changes since an earlier version, oldest first.

        Raises
        ------
        GraphError
            If the version is unknown, or edges were removed since.
        """
        now = self.version
        if not isinstance(earlier, Version) and integer_of(earlier) is None:
            raise GraphError(
                f"{shortened(earlier)} is not a version. Expected an earlier graph, or an earlier "
                "value of g.version."
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
                f"The changes since {what} are not known: this graph (version {now.number}) was "
                "not derived from it by add_edges, remove_edges, update and to, or too much has "
                "changed since. Expected a graph that this one was derived from, or an earlier "
                "value of g.version; otherwise omit warm_start to start from scratch."
            )
        changes = self.past[first:]
        removed = sum(change.num_removed for change in changes)
        if removed:
            raise GraphError(
                f"{removed} edge(s) were removed since then. Earlier results can be updated only "
                "if edges were added; omit warm_start to start from scratch."
            )
        return changes
