"""The registry of vertex orders, and the orders based on degrees.

An order is a permutation of the vertices: the first one is stored first. It is computed on the
device of the topology; "rcm", "llp", "gorder", and "community" on small graphs, are computed on the
host from a copy of the arcs.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

import numpy as np

from weft.arrays.device import as_array, move, to_host
from weft.arrays.reduce import total
from weft.config import ORDERS
from weft.errors import ConfigError, GraphError, unknown
from weft.storage.graph_cache import content_hash, stored
from weft.topology.edit import EdgeChange, carriers
from weft.topology.renumbering import Numbering
from weft.topology.topology import Topology

Array = Any

_SEED: Final = 0x5EED
_SCIPY_ARCS: Final = 2**31
_DRIFT: Final = 0.1  # fraction of the edges that may change before a slow order is recomputed
_SLOW: Final = ("community", "gorder", "llp", "rcm")
_KEPT_ARCS: Final = 1 << 20  # below this size, computing an order is faster than a cache look-up
_DEVICE_ARCS: Final = 1 << 20  # below this size, the host is faster than launching GPU sorts


class _Arrangements:
    """The named orders of one topology that have been used."""

    def __init__(self) -> None:
        self.orders: dict[str, Array] = {}
        self.changed = 0  # edges added and removed since the slow orders were computed
        # Reordered topologies for as long as they are in use, and the latest one.
        self.topologies: weakref.WeakValueDictionary[str, Topology]
        self.topologies = weakref.WeakValueDictionary()
        self.latest: Topology | None = None


_known: weakref.WeakKeyDictionary[Topology, _Arrangements] = weakref.WeakKeyDictionary()
# For a reordered topology: the changed topology in the user's order, and in the same order.
_followed: weakref.WeakKeyDictionary[Topology, tuple[Any, Any]] = weakref.WeakKeyDictionary()
_lock = threading.RLock()


def arranged(topology: Topology, name: str) -> Topology:
    """Return the topology reordered by the order with this name.

    Orders are cached; of the reordered topologies, only the latest and those in use elsewhere.
    """
    with _lock:
        known = _known.get(topology)
        if known is None:
            known = _known[topology] = _Arrangements()
        found = known.topologies.get(name)
        if found is None:
            known.latest = None  # free its memory before building another one
            if name not in known.orders:
                known.orders[name] = order_of(topology, name)
            found = topology.arranged(known.orders[name])
            known.topologies[name] = found
        known.latest = found
        return found


def _carry(before: Topology, after: Topology, change: EdgeChange) -> None:
    """Reuse the slow orders of a graph that has changed only a little.

    They remain about as good; new vertices come last.
    """
    with _lock:
        known = _known.get(before)
        slow = {} if known is None else {k: o for k, o in known.orders.items() if k in _SLOW}
        if known is None or not slow or after is before:
            return
        changed = known.changed + int(change.added[0].size) + int(change.removed[0].size)
        if changed > _DRIFT * after.num_edges:
            return
        carried = _known.setdefault(after, _Arrangements())
        carried.changed = changed
        with after.device.current():
            more = after.xp.arange(before.num_vertices, after.num_vertices)
            for name, order in slow.items():
                longer = after.xp.concatenate((order, more)).astype(after.index_dtype)
                carried.orders[name] = longer
                held = known.topologies.get(name)
                if held is not None:
                    carried.latest = rearranged(held, after, longer, change)
                    carried.topologies[name] = carried.latest


def rearranged(held: Topology, after: Topology, order: Array, change: EdgeChange) -> Topology:
    """Update a reordered topology after a change of the graph.

    Merges the changed arcs without sorting, and carries over data derived from `held`.

    Parameters
    ----------
    held
        The reordered topology before the change.
    after
        The topology after the change, in the user's order.
    order
        The order of `held`, followed by new vertices.
    change
        The changed edges, in the user's numbering.
    """
    known = _followed.get(held)
    if known is not None and known[0]() is after and known[1]() is not None:
        return known[1]()  # already done: the graph's own order is also a named one
    with after.device.current():
        numbering = Numbering(order, after.adjacency(after.primary_direction), after.directed)

        def placed(ends: tuple[Array, Array]) -> tuple[Array, Array]:
            return numbering.place[ends[0]], numbering.place[ends[1]]

        there = EdgeChange(placed(change.added), placed(change.removed))
        found = held.without_edges(*there.removed).with_edges(*there.added, after.num_vertices)
    if found is held:
        return after.arranged(order)
    found.numbering = numbering
    _followed[held] = weakref.ref(after), weakref.ref(found)
    for carrier in carriers:
        carrier(held, found, there)
    return found


carriers.append(_carry)


def kept(topology: Topology) -> tuple[int, Topology | None]:
    """Return the bytes of the cached orders of a topology, and its latest reordered copy."""
    known = _known.get(topology)
    if known is None:
        return 0, None
    return sum(int(order.nbytes) for order in known.orders.values()), known.latest


def order_of(topology: Topology, name: str) -> Array:
    """Compute the order with this name, on the topology's device.

    Raises
    ------
    ConfigError
        If there is no such order.
    """
    if name not in _MAKERS:
        raise ConfigError(unknown("reorder", name, ORDERS))
    with topology.device.current():
        if name in _SLOW and topology.num_arcs >= _KEPT_ARCS:
            order = _kept_on_disk(topology, name)
        else:
            order = _MAKERS[name](topology)
        return topology.xp.ascontiguousarray(order.astype(topology.index_dtype, copy=False))


def _kept_on_disk(topology: Topology, name: str) -> Array:
    """Return a slow order from the disk cache, computing it if necessary."""
    rows = topology.adjacency(topology.primary_direction)
    kind = "directed" if topology.directed else "undirected"
    sizes = f"{topology.num_vertices} vertices, {topology.num_arcs} arcs, {kind}"
    content = content_hash(rows.offsets, rows.targets)

    def check(arrays: dict[str, Array]) -> None:
        if arrays["order"].shape != (topology.num_vertices,):
            raise ValueError("not an order of this graph")

    made = stored(
        f"{name} order of {sizes}",
        content,
        lambda: {"order": to_host(_MAKERS[name](topology))},
        check,
    )
    return move(np.array(made["order"]), topology.device)


def check_order(topology: Topology, order: Any) -> Array:
    """Return a user's order as an array on the topology's device.

    Raises
    ------
    GraphError
        Unless it is a permutation of the vertices.
    """
    n = topology.num_vertices
    array = as_array(order)
    if array.ndim != 1 or array.size != n or (n and array.dtype.kind not in "iu"):
        raise GraphError(
            f"The order is an array of {array.dtype} with shape {array.shape}. Expected integers "
            f"of shape ({n},): every vertex number once."
        )
    host = to_host(array).astype(np.int64)
    if n and (int(host.min()) < 0 or int(host.max()) >= n or int(np.bincount(host).max()) > 1):
        raise GraphError(
            f"The order is not a permutation. Expected each number from 0 to {n - 1} once."
        )
    return move(host.astype(topology.index_dtype), topology.device)


def total_degree(topology: Topology) -> Array:
    """Return the number of arcs that leave or enter each vertex."""
    if not topology.directed:
        return topology.out_degree
    return topology.out_degree.astype(np.int64) + topology.in_degree


def _by_degree(topology: Topology) -> Array:
    """Sort by decreasing degree; the sort is stable."""
    return topology.xp.argsort(-total_degree(topology), kind="stable")


def _hubs_first(topology: Topology) -> Array:
    """Move vertices above the mean degree first; both groups keep their order."""
    xp, degree = topology.xp, total_degree(topology)
    n = topology.num_vertices
    # Compare integers, since the mean would be rounded.
    hub = degree.astype(np.int64) * n > total(degree)
    return xp.concatenate((xp.flatnonzero(hub), xp.flatnonzero(~hub)))


def _random(topology: Topology) -> Array:
    """Shuffle with a fixed seed: graphs of equal size get the same order."""
    order = np.random.default_rng(_SEED).permutation(topology.num_vertices)
    return move(order, topology.device)


def _reverse_cuthill_mckee(topology: Topology) -> Array:
    """Place neighbours close together by SciPy's reverse Cuthill-McKee, ignoring directions."""
    if topology.num_arcs >= _SCIPY_ARCS:
        raise GraphError(
            f"reorder='rcm' is not possible for {topology.num_arcs} arcs: SciPy supports fewer "
            "than 2**31. Choose 'community' or 'degree'."
        )
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    rows = topology.adjacency(topology.primary_direction)
    n = topology.num_vertices
    if n == 0:
        return topology.xp.zeros(0, topology.index_dtype)
    offsets, targets = to_host(rows.offsets), to_host(rows.targets)
    ones = np.ones(targets.size, np.int8)
    arcs = csr_array((ones, targets.astype(np.int32), offsets.astype(np.int32)), shape=(n, n))
    if topology.directed:
        arcs = csr_array(arcs + arcs.T)
    return move(reverse_cuthill_mckee(arcs, symmetric_mode=True), topology.device)


def _communities(topology: Topology) -> Array:
    """Place the vertices of a community together, at every level of the hierarchy."""
    rows = topology.adjacency(topology.primary_direction)
    if topology.device.on_host or topology.num_arcs < _DEVICE_ARCS:
        maker = import_module("weft.topology.orders.community")
        order = maker.community_order(
            to_host(rows.offsets), to_host(rows.targets), topology.directed
        )
        return move(order, topology.device)
    maker = import_module("weft.topology.orders.device_community")
    return maker.community_order(rows.offsets, rows.targets, topology.directed)


def _on_host(module: str, function: str) -> Callable[[Topology], Array]:
    """Return the maker of an order that is computed on the host by a function of this package."""

    def make(topology: Topology) -> Array:
        rows = topology.adjacency(topology.primary_direction)
        maker = getattr(import_module(f"weft.topology.orders.{module}"), function)
        order = maker(to_host(rows.offsets), to_host(rows.targets), topology.directed)
        return move(order, topology.device)

    return make


_MAKERS: Final[dict[str, Callable[[Topology], Array]]] = {
    "community": _communities,
    "degree": _by_degree,
    "gorder": _on_host("gorder", "gorder"),
    "hub": _hubs_first,
    "llp": _on_host("llp", "llp_order"),
    "random": _random,
    "rcm": _reverse_cuthill_mckee,
}
