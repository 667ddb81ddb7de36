"""Formats as they were built for a topology, and its columns and arcs in their order.

When a graph changes in place, formats that can be edited follow it; others are rebuilt when they
are needed.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from weft.arrays.device import bytes_text, free_bytes
from weft.errors import ConfigError, DeviceMemoryError
from weft.topology.adjacency import Adjacency, count_keys
from weft.topology.adjacency_gpu import offsets_of
from weft.topology.edit import EdgeChange, carriers
from weft.topology.topology import Direction, Topology

MANY: Final = 0.1  # share of the edges

_lock = threading.RLock()
_built: weakref.WeakKeyDictionary[Topology, dict[Any, Ordered]] = weakref.WeakKeyDictionary()
# Why formats do not suit a topology; to find that out again would take as long as to build them.
_refused: weakref.WeakKeyDictionary[Topology, dict[Any, str]] = weakref.WeakKeyDictionary()


def out_of_entries(topology: Topology, needed: int) -> DeviceMemoryError:
    """Return the error for a gather by key whose entries do not fit in memory."""
    return DeviceMemoryError(
        f"Out of memory on {str(topology.device)!r}: v.gather_by needed {bytes_text(needed)} for "
        "the entries of its longest rows. "
        "Follow one hop in place of two, use the ids of vertices as keys, of which there are few, "
        "or run the function over parts of the vertices.",
        needed_bytes=needed,
        free_bytes=free_bytes(topology.device),
    )


def out_of_messages(topology: Topology, needed: int) -> DeviceMemoryError:
    """Return the error for pushed messages that do not fit in memory by arc."""
    return DeviceMemoryError(
        f"Out of memory on {str(topology.device)!r}: combine='radix' needed {bytes_text(needed)} "
        "for the messages of all arcs. Use combine='atomic', which keeps one message for each "
        "vertex.",
        needed_bytes=needed,
        free_bytes=free_bytes(topology.device),
    )


def too_many_arcs(vertices: int, arcs: int) -> ConfigError:
    """Return the error for a graph whose targets and arcs do not fit in one key."""
    return ConfigError(
        f"combine='radix' is not possible on a graph of {vertices} vertices and {arcs} arcs: a key "
        "of 64 bits has no room for both. Expected another combine, or None for the engine's "
        "choice."
    )


class Ordered:
    """A built format of one direction, and arrays by slot in the order of its positions.

    Parameters
    ----------
    topology
        What it was built for.
    layout
        The parts (see `weft.formats`).
    """

    def __init__(self, topology: Topology, layout: Any) -> None:
        self._xp = topology.xp
        self._number = np.dtype(np.int32 if topology.num_arcs < 2**31 else np.int64)
        self.layout = layout
        self._slots: Any = None
        self._rows: dict[str, Any] | None = None
        self._ordered: dict[str, tuple[Callable[[], Any], Any]] = {}

    @property
    def slots(self) -> Any:
        """The slot of the adjacency at each position; some slot where there is no arc."""
        if self._slots is None:
            self._slots = self._xp.maximum(self.layout.places(), 0)
        return self._slots

    def rows_of_vertices(self, n: int) -> dict[str, Any]:
        """Return the rows of each vertex: numbers of rows and parts, and where they start."""
        if self._rows is None:
            xp, kinds = self._xp, self.layout.format.kinds
            kinds = [kind for kind in kinds for _ in range(kind.copies)]
            pairs = list(zip(self.layout.parts, kinds, strict=True))
            vertices = xp.concatenate(
                [p.arrays["vertices"] if k.virtual else xp.arange(p.rows) for p, k in pairs]
            )
            rows = xp.concatenate([xp.arange(part.rows, dtype=np.int64) for part, _ in pairs])
            numbers = [xp.full(part.rows, k, np.uint8) for k, (part, _) in enumerate(pairs)]
            order = xp.argsort(vertices, kind="stable")
            starts = offsets_of(count_keys(vertices, n))
            parts = xp.concatenate(numbers)[order]
            self._rows = {"starts": starts, "rows": rows[order], "parts": parts}
        return self._rows

    def column(self, name: str, column: Any) -> Any:
        """Return a column by slot in the order of the positions; made once for each column."""
        known = self._ordered.get(name)
        if known is None or known[0]() is not column:
            taken = column[self.slots] if column.shape[0] else column
            known = self._ordered[name] = (weakref.ref(column), taken)
        return known[1]

    def numbers(self, name: str, numbers: Any | None) -> Any:
        """Return arcs or edge ids by slot in the order of the positions; None: slots themselves."""
        if name not in self._ordered:
            # Without arcs there is nothing to take, though a format may have places.
            taken = self.slots
            if numbers is not None and numbers.size:
                taken = numbers[self.slots]
            self._ordered[name] = (lambda: None, taken.astype(self._number, copy=False))
        return self._ordered[name][1]


def ordered(topology: Topology, chosen: Any, direction: Direction) -> Ordered:
    """Return a format built for a direction of a topology; built once.

    Raises
    ------
    ConfigError
        If the format would waste memory, or its parameters are not possible here.
    """
    with _lock:
        known = _built.setdefault(topology, {})
        reason = _refused.get(topology, {}).get((chosen, direction))
        if reason is not None:
            raise ConfigError(reason)
        if (chosen, direction) not in known:
            arcs = topology.adjacency(direction)
            twin = known.get((chosen, "out" if direction == "in" else "in"))
            with topology.device.current():
                if twin is not None and not (topology.directed or chosen.format.turns):
                    layout = twin.layout
                else:
                    layout = _built_of(chosen, arcs, topology, direction)
                known[chosen, direction] = Ordered(topology, layout)
        return known[chosen, direction]


def _built_of(chosen: Any, arcs: Adjacency, topology: Topology, direction: Direction) -> Any:
    """Build a format; on a host, NumPy's own out-of-memory error names only an array."""
    try:
        return chosen.build(arcs.offsets, arcs.targets, topology.xp, incoming=direction == "in")
    except ConfigError as error:
        _refused.setdefault(topology, {})[chosen, direction] = str(error)
        raise
    except MemoryError as error:
        if not topology.device.on_host:
            raise  # reported by the device
        raise DeviceMemoryError(
            f"format='{chosen}' does not fit into memory together with the graph, whose "
            f"{topology.num_arcs} arcs it was built of: {error}. Use format='csr', which takes "
            "nothing more, or delete graphs and states that are no longer used."
        ) from error


def _carry(before: Topology, after: Topology, change: EdgeChange) -> None:
    """Update editable formats after a change of the graph."""
    with _lock:
        built = dict(_built.get(before, {}))
        if after is before or after.index_dtype != before.index_dtype:
            return
        changed = int(change.added[0].size) + int(change.removed[0].size)
        if changed > MANY * after.num_edges:  # to build it is no more work
            return
        edited: dict[Any, Any] = {}  # directions of an undirected graph may share a layout
        for (chosen, direction), held in built.items():
            if chosen.format.edit is not None:
                arcs = after.adjacency(direction)
                known = _built.setdefault(after, {})
                with after.device.current():
                    if held.layout not in edited:
                        edited[held.layout] = chosen.format.edit(
                            held.layout, arcs.offsets, arcs.targets,
                            _rows_of(change, direction, after), after.xp,
                        )  # fmt: skip
                    known[chosen, direction] = Ordered(after, edited[held.layout])


def _rows_of(change: EdgeChange, direction: Direction, topology: Topology) -> Any:
    """Return the rows of a direction that hold arcs of the edges of a change."""
    ends = (0, 1) if not topology.directed else (0,) if direction == "out" else (1,)
    return topology.xp.concatenate(
        [pair[k] for pair in (change.added, change.removed) for k in ends]
    )


carriers.append(_carry)
