"""Rows of a NetworkX graph as arrays, and attributes of its edges and nodes as columns.

Rows keep NetworkX's own order: nodes as the graph lists them, neighbours as they were added. An
*entry* is a neighbour in a row; in a multigraph there is one per key. An undirected edge has two
entries (a self-loop one) and belongs to the first.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

import numpy as np

from weft.graph.interop import dictionaries as kernels
from weft.topology.adjacency import Array

_UNSORTED: Final = 4096  # up to this many dictionaries are read in any order
_MOST_NAMES: Final = 64
_KINDS: Final = np.array([id(float), id(np.float64), id(int), id(bool)], np.intp)


@dataclass(slots=True)
class Rows:
    """The structure of a NetworkX graph.

    Attributes
    ----------
    nodes
        The nodes; row `i` belongs to `nodes[i]`.
    offsets, targets
        Where each row begins, and the row of the far end of each entry.
    partner
        Undirected: the first entry of the same edge, -1 where this is the first. Directed: the
        entry of each edge in the order of `network.pred`, None if that was not read.
    directed, multigraph
        The kind of graph.
    """

    nodes: list[Any]
    offsets: Array
    targets: Array
    partner: Array | None
    directed: bool
    multigraph: bool

    @property
    def first(self) -> Array | None:
        """Which entries are the first of their edge; None for all."""
        return None if self.directed else self.sources <= self.targets

    @property
    def sources(self) -> Array:
        """The row of each entry."""
        numbers = np.arange(len(self.nodes), dtype=self.targets.dtype)
        return np.repeat(numbers, np.diff(self.offsets))


def read_rows(network: Any) -> Rows:
    """Return the structure of a NetworkX graph or of a view of one."""
    found = _paired(network) if kernels.can_read() else None
    return found if found is not None else _iterated(network)


def _paired(network: Any) -> Rows | None:
    """Return the rows by pairing the dictionaries of edges; None if they are not plain ones."""
    adjacency = network._adj
    if type(adjacency) is not dict or not is_plain(type(network)):
        return None
    nodes = list(network._node)
    if nodes != list(adjacency):
        return None
    directed, count = network.is_directed(), sum(map(len, adjacency.values()))
    incoming = network._pred if directed else None
    if directed and type(incoming) is not dict:
        return None
    offsets = np.zeros(len(nodes) + 1, np.int64)
    targets, partner = np.empty(count, np.int32), np.empty(count, np.int32)
    edges = count if directed else count // 2 + len(nodes)
    table = np.zeros(4 << min(edges, count).bit_length(), np.int64)
    alone = kernels.pair_entries(
        id(adjacency), 0 if incoming is None else id(incoming), table, offsets, targets, partner
    )
    if alone < 0 or (alone and not _loops(nodes, adjacency, offsets, targets, partner)):
        return None
    rows = Rows(nodes, offsets, targets, partner, directed, network.is_multigraph())
    return _expanded(rows, adjacency) if rows.multigraph else rows


_plain: dict[type[Any], bool] = {}


def is_plain(kind: type[Any]) -> bool:
    """Whether a graph class stores its rows in plain dictionaries."""
    if kind not in _plain:
        _plain[kind] = _own_rows(kind)
    return _plain[kind]


def _own_rows(kind: type[Any]) -> bool:
    for name in ("adj", "adjacency", "neighbors", "nodes", "__getitem__", "__iter__"):
        owner = next((c for c in kind.__mro__ if name in vars(c)), object)
        if not owner.__module__.startswith("networkx.classes."):
            return False
    return True


def _loops(
    nodes: list[Any], adjacency: Any, offsets: Array, targets: Array, partner: Array
) -> bool:
    """Whether every entry without a partner is a self-loop."""
    met = np.bincount(partner[partner >= 0], minlength=targets.size)
    alone = np.flatnonzero((partner < 0) & (met == 0))
    rows = (np.searchsorted(offsets, alone, side="right") - 1).tolist()
    return all(nodes[row] in adjacency[nodes[row]] for row in rows)


def _expanded(rows: Rows, adjacency: Any) -> Rows | None:
    """Return the rows of a multigraph with one entry per key."""
    addresses = np.empty(rows.targets.size, np.intp)
    lengths = np.empty(rows.targets.size, np.int64)
    count = kernels.entry_addresses(id(adjacency), rows.targets, False, addresses)
    if count != addresses.size or not kernels.sizes(addresses, lengths):
        return None
    start = np.zeros(lengths.size + 1, np.int64)
    np.cumsum(lengths, out=start[1:])
    inner = np.arange(start[-1]) - np.repeat(start[:-1], lengths)
    partner = rows.partner
    if partner is not None and rows.directed:
        # Entries in the order of `pred`: each followed by those of its other keys.
        widths = lengths[partner]
        begin = np.repeat(np.cumsum(widths) - widths, widths)
        partner = np.repeat(start[partner], widths) + np.arange(begin.size) - begin
    elif partner is not None:
        spread = np.repeat(partner, lengths)
        partner = np.where(spread < 0, -1, start[spread] + inner)
    return Rows(
        rows.nodes,
        start[rows.offsets],
        np.repeat(rows.targets, lengths),
        None if partner is None else partner.astype(np.int32),
        rows.directed,
        True,
    )


def _iterated(network: Any) -> Rows:
    """Return the rows of any graph that has NetworkX's methods, such as a view."""
    nodes = list(network)
    place = dict(zip(nodes, range(len(nodes)), strict=True))
    adjacency = network.adj
    rows = [adjacency[node] for node in nodes]
    if network.is_multigraph():
        rows = [[v for v, keys in row.items() for _ in keys] for row in rows]
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    offsets = np.zeros(len(nodes) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    targets = np.fromiter(
        map(place.__getitem__, chain.from_iterable(rows)), np.int32, int(offsets[-1])
    )
    return Rows(nodes, offsets, targets, None, network.is_directed(), network.is_multigraph())


class EdgeValues:
    """The attributes of the edges of a graph, in the order of the first entries of `Rows`."""

    def __init__(self, network: Any, rows: Rows) -> None:
        self._network, self._rows = network, rows
        first = rows.first
        self.count = rows.targets.size if first is None else int(np.count_nonzero(first))
        self._held: list[Any] | None = None
        self.addresses = self._addresses()

    def _addresses(self) -> Array:
        """Return the address of the dictionary of each edge."""
        rows, adjacency = self._rows, self._network._adj
        if kernels.can_read() and type(adjacency) is dict and is_plain(type(self._network)):
            found = np.empty(self.count, np.intp)
            if not rows.multigraph:
                if self._collected(adjacency, rows, found) == found.size:
                    return found
            else:
                simple = np.empty(self.count, np.intp)
                ends = _without_repeats(rows)
                if (number := self._collected(adjacency, ends, simple)) >= 0:
                    count = kernels.value_addresses(simple[:number], found)
                    if count == found.size:
                        return found
        return np.fromiter(map(id, self.dictionaries), np.intp, self.count)

    def _collected(self, adjacency: Any, rows: Rows, found: Array) -> int:
        return int(kernels.entry_addresses(id(adjacency), rows.targets, not rows.directed, found))

    @property
    def dictionaries(self) -> list[Any]:
        """The dictionaries themselves."""
        if self._held is None:
            network, nodes = self._network, self._rows.nodes
            per_row: Iterable[Any] = (network.adj[node].values() for node in nodes)
            if self._rows.multigraph:
                per_row = (chain.from_iterable(k.values() for k in row) for row in per_row)
            held = list(chain.from_iterable(per_row))
            first = self._rows.first
            if first is not None:
                held = [held[i] for i in np.flatnonzero(first).tolist()]
            self._held = held
        return self._held


def _without_repeats(rows: Rows) -> Rows:
    """Return the rows of a multigraph with one entry per neighbour."""
    sources = rows.sources
    fresh = np.ones(sources.size, np.bool_)
    fresh[1:] = (rows.targets[1:] != rows.targets[:-1]) | (sources[1:] != sources[:-1])
    counts = np.concatenate(([0], np.cumsum(fresh)))[rows.offsets]
    return Rows(rows.nodes, counts, rows.targets[fresh], None, rows.directed, False)


class NodeValues:
    """The attributes of the nodes of a graph."""

    def __init__(self, network: Any) -> None:
        held: Any = getattr(network, "_node", None)
        plain = type(held) is dict and is_plain(type(network))
        self.dictionaries: list[Any] = (
            list(held.values()) if plain else [network.nodes[node] for node in network]
        )
        self.count = len(self.dictionaries)
        self.addresses = np.fromiter(map(id, self.dictionaries), np.intp, self.count)


Values = EdgeValues | NodeValues


def names_of(values: Values) -> list[Any]:
    """Return the names of all attributes, in the order in which they first appear."""
    if kernels.can_read():
        found = np.empty(_MOST_NAMES, np.intp)
        count = kernels.attribute_names(values.addresses, found)
        if count >= 0:
            named = (ctypes.cast(int(at), ctypes.py_object).value for at in found[:count])
            return list(dict.fromkeys(named))
    return list(dict.fromkeys(chain.from_iterable(values.dictionaries)))


def read_column(
    values: Values,
    name: Any,
    convert: Callable[[list[Any]], Array | None],
    *,
    exact: bool = False,
) -> tuple[Array | None, Array | None]:
    """Return an attribute as an array, and which items have it (None for all).

    The array is None where the present values are not numbers; `convert` turns a list of unusual
    ones into an array or None. Items without the attribute have NaN, or 0 among integers. With
    `exact`, numbers of different types are not made one type but count as unusual.
    """
    if values.count and kernels.can_read() and type(name) is str:
        at = values.addresses
        order = np.argsort(at) if at.size > _UNSORTED else np.arange(at.size)
        floats, integers = np.empty(at.size), np.empty(at.size, np.int64)
        met = kernels.read_values(at, order, id(name), _KINDS, floats, integers)
        kinds = met & (kernels.FLOAT | kernels.INTEGER | kernels.BOOLEAN)
        if not met & kernels.OTHER and not (exact and kinds & (kinds - 1)):
            return _typed(met, floats, integers)
    present = [name in item for item in values.dictionaries]
    found = convert([item[name] for item in values.dictionaries if name in item])
    if all(present):
        return found, None
    mask = np.array(present)
    if found is None or found.ndim != 1:
        return None, mask
    column = np.full(values.count, np.nan if found.dtype.kind == "f" else 0, found.dtype)
    column[mask] = found
    return column, mask


def _typed(met: int, floats: Array, integers: Array) -> tuple[Array, Array | None]:
    """Return the values in their own dtype, and which items had one."""
    mask = None
    if met & kernels.MISSING:
        # An integer at a missing place is 0 where the float is NaN; a NaN that was given is kept.
        mask = ~(np.isnan(floats) & (integers == 0))
    if met & kernels.FLOAT or not met & ~kernels.MISSING:
        return floats, mask
    if met & kernels.INTEGER:
        return integers, mask
    return integers.astype(np.bool_), mask
