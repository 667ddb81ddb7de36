"""Named columns: data on the vertices and edges of a graph."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from weft.arrays.device import CPU, Device, as_array, move, read_only
from weft.arrays.reduce import any_true
from weft.errors import FieldError, GraphError, listed, nearest
from weft.graph.build import check_weight, native
from weft.topology.adjacency import Array
from weft.topology.topology import Direction, Topology


class ColumnError(FieldError, KeyError):
    """A column does not exist: a `FieldError` that is also a `KeyError`, as mappings expect."""

    __str__ = Exception.__str__


class Columns(MutableMapping[str, Array]):
    """Columns by name; the base of `VertexColumns` and `EdgeColumns`.

    Assignment checks the values and copies them to the graph's device. Reading gives a read-only
    view: a column changes only by assignment as a whole. (CuPy has no read-only arrays; do not
    write to a column on a GPU either.)
    """

    _item: ClassVar[str]
    _reserved: ClassVar[frozenset[str]]

    def __init__(
        self, length: int, columns: Mapping[str, Array] | None = None, device: Device = CPU
    ) -> None:
        self._length = length
        self.changes = 0  # number of assignments and deletions so far
        self._device = device
        self._columns: dict[str, Array] = dict(columns or {})
        # Copies on other devices, for as long as they are in use: the stored array and its copy.
        self._moved: dict[tuple[str, Device], tuple[weakref.ref[Array], weakref.ref[Array]]] = {}
        self._extents: dict[str, tuple[weakref.ref[Array], tuple[Any, Any]]] = {}

    def __getitem__(self, name: str) -> Array:
        return read_only(self.storage(name))

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __setitem__(self, name: str, values: ArrayLike) -> None:
        self.check_name(name)
        checked = self._checked(name, values)
        with self._device.current():
            # An array moved to a GPU is already a copy.
            shared = self._device.on_host or checked is values
            self._columns[name] = checked.copy() if shared else checked
        self.changes += 1

    def adopt(self, name: str, values: Array) -> None:
        """Assign a column without copying it, such as one that is mapped from a file.

        Checks the name and the values like any assignment. The array must not change later.
        """
        self.check_name(name)
        self._columns[name] = self._checked(name, values)

    def __delitem__(self, name: str) -> None:
        self.storage(name)
        del self._columns[name]
        self.changes += 1

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        parts = [
            f"{name}: {column.dtype}{list(column.shape[1:]) or ''}"
            for name, column in self._columns.items()
        ]
        return f"{type(self).__name__}({', '.join(parts)})"

    def storage(self, name: str) -> Array:
        """Return the stored array itself, for the engine; do not write to it."""
        if name not in self._columns:
            has = f"There are {listed(self._columns)}" if self._columns else "There are none yet"
            raise ColumnError(
                f"{self._item} column {name!r} does not exist. {has}; "
                f"assign g.{self._item}[{name!r}] = ... first."
                + (nearest(name, self._columns) if isinstance(name, str) else "")
            )
        return self._columns[name]

    def stored(self) -> dict[str, Array]:
        """Return the stored arrays themselves by name; change neither the arrays nor the mapping.

        Unlike item access, this creates no views, which matters where only dtypes are needed.
        """
        return self._columns

    def described(self) -> Mapping[str, Any]:
        """Return the dtype and shape of each column, without reading its values."""
        return self._columns

    def moved(self, device: Device) -> dict[str, Array]:
        """Return the stored arrays on another device; reuses existing copies."""
        result = {}
        for name, column in self._columns.items():
            source, copy = self._moved.get((name, device), (None, None))
            there = copy() if source is not None and copy is not None else None
            if there is None or source is None or source() is not column:
                there = move(column, device)
                self._moved[name, device] = weakref.ref(column), weakref.ref(there)
            result[name] = there
        return result

    def extent(self, name: str) -> tuple[Any, Any]:
        """Return the minimum and maximum of a non-empty column, as Python numbers.

        Both are NaN if any value is. Computed once per assigned array.
        """
        column = self.storage(name)
        known = self._extents.get(name)
        if known is None or known[0]() is not column:
            with self._device.current():
                ends = (column.min().item(), column.max().item())
                if column.dtype.kind == "f" and any_true(column != column):
                    ends = (float("nan"), float("nan"))
            known = self._extents[name] = (weakref.ref(column), ends)
        return known[1]

    @property
    def memory_bytes(self) -> int:
        """Bytes held by the columns and their copies in other orders."""
        return sum(column.nbytes for column in self._columns.values())

    def __getstate__(self) -> dict[str, Any]:
        unsaved = ("_moved", "_extents")
        return {name: value for name, value in self.__dict__.items() if name not in unsaved}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._moved, self._extents = {}, {}

    @classmethod
    def can_name(cls, name: object) -> bool:
        """Whether a name is allowed for a column."""
        if not isinstance(name, str) or name in cls._reserved:
            return False
        return name.isidentifier() and not name.startswith("_")

    @classmethod
    def check_name(cls, name: object) -> None:
        """Raise `FieldError` unless a name is allowed for a column."""
        if cls.can_name(name):
            return
        if not isinstance(name, str) or name not in cls._reserved:
            raise FieldError(
                f"{name!r} cannot name a column, which functions read as an attribute. Expected a "
                "Python identifier that does not begin with an underscore."
            )
        raise FieldError(
            f"{name!r} cannot name a column: it is a built-in attribute of every {cls._item}. "
            "Choose another name."
        )

    def _checked(self, name: str, values: ArrayLike) -> Array:
        array = as_array(values)
        feature = array.shape[1:]
        expected = f"({self._length},), ({self._length}, k) or ({self._length}, k, k)"
        if array.ndim == 0:
            raise GraphError(
                f"{self._item} column {name!r} was assigned the single value {values!r}. Expected "
                f"shape {expected}; use np.full({self._length}, value)."
            )
        if array.shape[0] != self._length:
            raise GraphError(
                f"{self._item} column {name!r} has {array.shape[0]} entries. "
                f"Expected {self._length}, one per {self._item}."
            )
        square = len(feature) < 2 or (len(feature) == 2 and feature[0] == feature[1])
        if not square or 0 in feature:
            raise GraphError(
                f"{self._item} column {name!r} has shape {array.shape}. Expected {expected}: "
                f"a number, a vector or a square matrix per {self._item}."
            )
        return native(array, f"{self._item} column {name!r}", self._device)


class VertexColumns(Columns):
    """The columns of the vertices, as `g.vertex`.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges([0, 1], [1, 2])
    >>> g.vertex["age"] = [31, 25, 47]
    >>> g.vertex["age"]
    array([31, 25, 47])
    >>> "name" in g.vertex
    False
    """

    _item = "vertex"
    _reserved = frozenset(
        {"id", "in_degree", "out_degree", "old", "gather", "gather_by", "changed"}
    )


class EdgeColumns(Columns):
    """The columns of the edges, as `g.edge`: one value per edge, in the order of `g.to_edges()`.

    The weights are the column `"weight"`.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges([1, 0], [2, 1], weight=[0.5, 2.0])
    >>> g.edge["weight"]
    array([2. , 0.5])
    >>> g.edge["road"] = [True, False]
    >>> g.edge
    EdgeColumns(weight: float64, road: bool)
    """

    _item = "edge"
    _reserved = frozenset({"id", "rank", "reverse"})

    def __init__(self, topology: Topology, columns: Mapping[str, Array] | None = None) -> None:
        super().__init__(topology.num_edges, columns, topology.device)
        self._topology = topology
        self._slots: dict[tuple[str, Direction], Array] = {}
        # The same for reordered topologies.
        self._arranged: weakref.WeakKeyDictionary[Topology, dict[Any, Array]]
        self._arranged = weakref.WeakKeyDictionary()
        self._lock = threading.RLock()

    def __setitem__(self, name: str, values: ArrayLike) -> None:
        with self._lock:
            super().__setitem__(name, values)
            self._forget(name)

    def adopt(self, name: str, values: Array) -> None:
        """Assign a column without a copy; see `Columns.adopt`."""
        with self._lock:
            super().adopt(name, values)
            self._forget(name)

    def __delitem__(self, name: str) -> None:
        with self._lock:
            super().__delitem__(name)
            self._forget(name)

    def in_slots(self, name: str, direction: Direction, arranged: Topology | None = None) -> Array:
        """Return a column in the slot order of a direction.

        The result is cached until the column is assigned again. If slots are in edge-id order, it
        is the stored column itself, so do not write to it.

        Parameters
        ----------
        name : str
            The column.
        direction : {"out", "in"}
            The direction of the adjacency.
        arranged : Topology, optional
            A reordered topology of the same edges, whose slots to use instead.

        Returns
        -------
        ndarray
            One value per slot. Both arcs of an undirected edge have the edge's value.

        Examples
        --------
        >>> import weft
        >>> g = weft.Graph.from_edges([0, 0, 1], [1, 2, 2], weight=[5, 6, 7], directed=False)
        >>> g.edge.in_slots("weight", "out")
        array([5, 6, 5, 7, 6, 7])
        """
        with self._lock:
            column = self.storage(name)
            topology = self._topology if arranged is None else arranged
            topology.check_stored(direction)
            known = self._slots
            if topology is not self._topology:
                known = self._arranged.setdefault(topology, {})
            # An undirected graph uses one adjacency for both directions.
            key = (name, direction if topology.directed else "out")
            if key not in known:
                slots = topology.slot_values(column, direction)
                if slots is column:
                    return column
                known[key] = slots
            return known[key]

    def has_slots(self, name: str, direction: Direction) -> bool:
        """Whether `in_slots` has cached a column for a direction."""
        return (name, direction if self._topology.directed else "out") in self._slots

    @property
    def memory_bytes(self) -> int:
        """Bytes held by the columns and their copies in slot order."""
        held = [self._slots, *self._arranged.values()]
        return super().memory_bytes + sum(s.nbytes for known in held for s in known.values())

    def _forget(self, name: str) -> None:
        for known in (self._slots, *self._arranged.values()):
            for direction in ("out", "in"):
                known.pop((name, direction), None)

    def _checked(self, name: str, values: ArrayLike) -> Array:
        if name == "weight":
            return check_weight(values, self._length, self._device)
        return super()._checked(name, values)

    def __getstate__(self) -> dict[str, Any]:
        unsaved = ("_lock", "_arranged")
        return {k: value for k, value in super().__getstate__().items() if k not in unsaved}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._arranged = weakref.WeakKeyDictionary()
        self._lock = threading.RLock()
