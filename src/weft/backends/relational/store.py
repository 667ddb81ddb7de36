"""The tables that a topology lies in, made once and kept while it is in use."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from weft.backends.relational.connections import engine_of
from weft.backends.relational.engines import Engine
from weft.backends.relational.tables import ARC_PARTS, Field, make_field
from weft.ir.ops import Signature
from weft.topology.topology import Topology

Array = np.ndarray[Any, Any]


class Store:
    """The arcs of a topology in tables, with the edge columns that programs read.

    Parameters
    ----------
    engine
        Where the tables are.
    arcs
        The name of the table of arcs.
    columns
        The edge columns in it.
    """

    def __init__(self, engine: Engine, arcs: str, columns: dict[str, Field]) -> None:
        self.engine, self.arcs, self.columns = engine, arcs, columns
        self._lists: dict[str, str] = {}
        self._temporary: list[str] = []

    def own_columns(self) -> list[str]:
        """Return the names of the columns that hold edge columns."""
        return [column for held in self.columns.values() for column in held.columns]

    def lists(self, near: str) -> str:
        """Return the table of adjacency lists by one end, made when it is first needed."""
        if near not in self._lists:
            name = f"{self.arcs}_{near}_lists"
            if not self.engine.exists(name):
                far = "dst" if near == "src" else "src"
                columns = [*ARC_PARTS[2:], *self.own_columns()]
                self.engine.lists(name, near, far, self.engine.dialect.quote(self.arcs), columns)
                self._temporary.append(name)
            self._lists[near] = name
        return self._lists[near]

    def read(self, signature: Signature, column: Any) -> None:
        """Do nothing: the table already has all columns."""


class Uploaded(Store):
    """The tables of a topology that lies in memory."""

    def __init__(self, engine: Engine, topology: Topology) -> None:
        super().__init__(engine, "", {})
        self._parts = _arc_parts(topology)
        self._held: dict[str, Array] = {}
        self._tables: list[str] = []
        self._write()

    def read(self, signature: Signature, column: Any) -> None:
        """Write the current edge columns of a program to the table."""
        wanted = {name: column(name, "edge") for name, _, _ in signature.columns}
        if any(self._held.get(name) is not values for name, values in wanted.items()):
            self._held.update(wanted)
            self._write()

    def _write(self) -> None:
        for name in [*self._tables, *self._temporary]:
            self.engine.drop(name)
        self._lists, self._temporary, self.columns = {}, [], {}
        columns = dict(self._parts)
        for number, (name, values) in enumerate(self._held.items()):
            held = make_field(name, number, "e", values.dtype, values.shape[1:])
            self.columns[name] = held
            flat = values.reshape(len(values), len(held.columns))
            for k, own in enumerate(held.columns):
                columns[own] = flat[self._parts["edge"], k]
        self.arcs = self.engine.name("arcs")
        self._tables = [self.arcs]
        loose = self.engine.name("loose")
        self.engine.upload(loose, columns)
        order = self.engine.dialect.arc_order(self.engine.block)
        self.engine.create(self.arcs, f"SELECT * FROM {loose}", True, order)
        self.engine.drop(loose)

    def close(self) -> None:
        """Have the tables dropped, when the next run begins: a query may be under way now."""
        self.engine.garbage += [*self._tables, *self._temporary]


def _arc_parts(topology: Topology) -> dict[str, Array]:
    """Return the ends of the arcs, their edges, and their positions in rows."""
    src, dst = (np.asarray(part).astype(np.int64) for part in topology.endpoints())
    count, n = src.size, topology.num_vertices
    side = topology.primary_direction
    edges = topology.edges(side)
    numbers = np.arange(count)
    near, far = (src, dst) if side == "out" else (dst, src)
    order = np.lexsort((numbers, far, near))
    start = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(near, minlength=n), out=start[1:])
    rank = np.empty(count, np.int64)
    rank[order] = numbers - start[near[order]]
    par = np.empty(count, np.int64)
    if count:
        new = np.r_[
            True, (near[order][1:] != near[order][:-1]) | (far[order][1:] != far[order][:-1])
        ]
        firsts = np.maximum.accumulate(np.where(new, numbers, 0))
        par[order] = numbers - firsts
    edge = numbers if edges is None else np.asarray(edges).astype(np.int64)
    kind = topology.index_dtype
    src, dst = src.astype(kind), dst.astype(kind)
    return {"src": src, "dst": dst, "arc": numbers, "edge": edge, "rank": rank, "par": par}


_stores: weakref.WeakKeyDictionary[Topology, Store] = weakref.WeakKeyDictionary()


def store_of(topology: Topology) -> Store:
    """Return the tables of a topology, made when it first runs on a connection."""
    held: Store | None = getattr(topology, "store", None)
    if held is not None:
        return held
    if topology not in _stores:
        made = Uploaded(engine_of(topology.device), topology)
        _stores[topology] = made
        weakref.finalize(topology, made.close).atexit = False
    return _stores[topology]
