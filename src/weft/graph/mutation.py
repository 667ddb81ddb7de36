"""Graph methods that add and remove edges, and track versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeAlias

from numpy.typing import ArrayLike

from weft.arrays.device import move
from weft.errors import ConfigError, listed, unknown
from weft.graph.columns import EdgeColumns, VertexColumns
from weft.graph.edge_batch import Parts
from weft.graph.labels import Labels
from weft.graph.version import History
from weft.topology.adjacency import Array
from weft.topology.edit import EdgeChange, carriers
from weft.topology.orders import rearranged
from weft.topology.topology import Topology

Missing: TypeAlias = Literal["raise", "ignore"]
Batch: TypeAlias = Sequence[Any] | Mapping[str, Any]

MISSING: Final = ("raise", "ignore")
_ADDED: Final = ("src", "dst", "weight", "columns", "num_vertices")
_REMOVED: Final = ("src", "dst", "weight")


class Changing:
    """The mutation methods of a graph."""

    _topology: Topology
    _vertex: VertexColumns
    _edge: EdgeColumns
    _labels: Labels | None
    _order: Array | None
    _arrangement: tuple[Topology, Topology] | None
    _history: History

    if TYPE_CHECKING:

        def __init__(self, topology: Topology, **parts: Any) -> None: ...

    @property
    def version(self) -> int:
        """Number of changes made to the graph so far; `update` adds one."""
        return self._history.version.number

    def add_edges(
        self,
        src: ArrayLike,
        dst: ArrayLike,
        weight: ArrayLike | None = None,
        *,
        columns: Mapping[str, ArrayLike] | None = None,
        num_vertices: int | None = None,
    ) -> Self:
        """Return a graph with additional edges; this graph is unchanged.

        Takes time linear in the vertices and edges, and sorts only the new edges. Both graphs share
        what did not change. Adding an existing edge creates a parallel one.

        Parameters
        ----------
        src, dst : array_like
            The ends of the new edges, by number, or by label if the graph has labels. An unknown
            label creates a new vertex after the existing ones.
        weight : array_like, optional
            The weights of the new edges, or one for all: required if the graph has weights.
        columns : mapping of str to array_like, optional
            Values for every other edge column of the graph, per edge or one for all.
        num_vertices : int, optional
            The number of vertices afterwards, to add vertices to a graph without labels.

        Returns
        -------
        Graph
            Edges are renumbered in the order of `to_edges`; a new edge comes after those parallel
            to it. Vertex columns of new vertices hold 0, False or NaN.

        Raises
        ------
        GraphError
            If a vertex does not exist, or values for an edge column are missing.

        Examples
        --------
        >>> import weft
        >>> g = weft.Graph.from_edges([0, 1], [1, 2], weight=[1.0, 2.0])
        >>> more = g.add_edges([0, 2], [2, 0], weight=[5.0, 6.0])
        >>> more.to_edges().dst, more.edge["weight"], g.num_edges
        (array([1, 2, 2, 0], dtype=int32), array([1., 5., 2., 6.]), 2)

        >>> g = weft.Graph.from_edges(["Ada"], ["Bob"]).add_edges(["Bob"], ["Eve"])
        >>> g.labels.tolist()
        ['Ada', 'Bob', 'Eve']
        """
        added = {
            "src": src,
            "dst": dst,
            "weight": weight,
            "columns": columns,
            "num_vertices": num_vertices,
        }
        return self._edited(added, None, "raise")[0]

    def remove_edges(
        self,
        src: ArrayLike,
        dst: ArrayLike,
        weight: ArrayLike | None = None,
        *,
        missing: Missing = "raise",
    ) -> Self:
        """Return a graph without the edges between some pairs of vertices; this one is unchanged.

        Takes time linear in the vertices and edges. All vertices are kept.

        Parameters
        ----------
        src, dst : array_like
            The ends of the edges, by number, or by label if the graph has labels. All parallel
            edges of a pair are removed; in an undirected graph, (a, b) and (b, a) are the same.
        weight : array_like, optional
            Remove only edges of this weight: one number per pair, or one for all.
        missing : {"raise", "ignore"}
            Whether to raise an error for pairs without such an edge.

        Returns
        -------
        Graph
            Edges are renumbered in the order of `to_edges`.

        Raises
        ------
        GraphError
            If edges do not exist; the message says how many and which.

        Examples
        --------
        >>> import weft
        >>> g = weft.Graph.from_edges([0, 0, 1], [1, 1, 2], weight=[1, 2, 3])
        >>> g.remove_edges([0], [1]).num_edges, g.remove_edges([0], [1], weight=2).num_edges
        (1, 2)
        >>> g.remove_edges([2], [0], missing="ignore").num_edges
        3
        """
        removed = {"src": src, "dst": dst, "weight": weight}
        return self._edited(None, removed, missing)[0]

    def update(
        self, add: Batch | None = None, remove: Batch | None = None, *, missing: Missing = "raise"
    ) -> None:
        """Remove some edges, then add others, in place.

        Increases `version` by one. States made before belong to the old version, and using one
        raises an error. Graphs derived from this one, such as copies on a device, are unchanged.

        Parameters
        ----------
        add : tuple or mapping, optional
            ``(src, dst)``, ``(src, dst, weight)``, or the arguments of `add_edges` by name.
        remove : tuple or mapping, optional
            The same for `remove_edges`.
        missing : {"raise", "ignore"}
            Whether to raise an error if an edge to remove does not exist.

        Raises
        ------
        GraphError
            As in `add_edges` and `remove_edges`; the graph is then unchanged.

        Examples
        --------
        >>> import weft
        >>> g = weft.Graph.from_edges([0, 1], [1, 2])
        >>> g.update(add=([2], [0]), remove=([0], [1]))
        >>> g.to_edges().src.tolist(), g.version
        ([1, 2], 1)
        """
        before, arrangement = self._topology, self._arrangement
        after, change = self._edited(
            _named("add", add, _ADDED), _named("remove", remove, _REMOVED), missing
        )
        self._history.version.current = False
        self.__dict__.clear()
        self.__dict__.update(after.__dict__)
        for carrier in carriers:
            carrier(before, self._topology, change)
        if arrangement is not None and arrangement[0] is before and self._order is not None:
            held = rearranged(arrangement[1], self._topology, self._order, change)
            self._arrangement = self._topology, held

    def added_since(self, earlier: Self | int) -> tuple[Array, Array]:
        """Return the ends of all edges added since an earlier version.

        Parameters
        ----------
        earlier : Graph or int
            A graph from which this one was derived by `add_edges` (and `to`), or the value of
            `version` before `update`.

        Returns
        -------
        src, dst : ndarray
            Vertex numbers, in the order of insertion.

        Raises
        ------
        GraphError
            If edges were removed since, or this graph is not derived from the earlier one.

        Examples
        --------
        >>> import weft
        >>> g = weft.generators.path(4)
        >>> g.add_edges([3], [0]).add_edges([1], [3]).added_since(g)
        (array([3, 1], dtype=int32), array([0, 3], dtype=int32))
        """
        return self._added_since(earlier)[:2]

    def _added_since(self, earlier: Self | int) -> tuple[Array, Array, int]:
        """Like `added_since`; also return the number of vertices at that time."""
        changes = self._history.since(
            earlier._history.version if isinstance(earlier, Changing) else earlier
        )
        device, xp = self._topology.device, self._topology.xp
        with device.current():
            none = xp.empty(0, self._topology.index_dtype)
            src, dst = (
                xp.concatenate([none, *(move(getattr(c, end), device) for c in changes)])
                for end in ("src", "dst")
            )
        first = changes[0].version if changes else self._history.version
        return src, dst, first.num_vertices

    def __copy__(self) -> Self:
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__, _history=self._history.copied())
        return twin

    def _edited(
        self, add: Mapping[str, Any] | None, remove: Mapping[str, Any] | None, missing: str
    ) -> tuple[Self, EdgeChange]:
        """Return the graph after a change, described by the arguments of the public methods."""
        if missing not in MISSING:
            raise ConfigError(unknown("missing", missing, MISSING))
        parts = Parts(
            self._topology,
            {name: self._vertex.storage(name) for name in self._vertex},
            {name: self._edge.storage(name) for name in self._edge},
            self._labels,
            self._order,
        )
        with self._topology.device.current():
            none = self._topology.xp.empty(0, self._topology.index_dtype)
            removed = (none, none) if remove is None else parts.remove(**remove, missing=missing)
            added = (none, none) if add is None else parts.add(**add)
            after = type(self)(
                parts.topology,
                vertex=parts.vertex,
                edge=parts.edge,
                labels=parts.labels,
                order=parts.order,
            )
        after._history = self._history.changed(
            after._topology.num_vertices, added, int(removed[0].size), after._topology.num_edges
        )
        return after, EdgeChange(added, removed)


def _named(option: str, batch: Batch | None, names: tuple[str, ...]) -> dict[str, Any] | None:
    """Return a batch of edges as keyword arguments."""
    if batch is None:
        return None
    given = dict(batch) if isinstance(batch, Mapping) else None
    if given is None and not isinstance(batch, str) and len(batch) in (2, 3):
        given = dict(zip(names, batch, strict=False))
    if given is None or not {"src", "dst"} <= set(given) <= set(names):
        got = f"the names {listed(given)}" if given is not None else f"{batch!r}"
        raise ConfigError(
            f"{option}= got {got}. Expected (src, dst), (src, dst, weight), or a dictionary with "
            f"'src', 'dst' and optionally {listed(names[2:])}."
        )
    return given
