"""Labels: the names of vertices, and their translation to vertex numbers and back.

Vertices are numbered from 0 inside weft. Other ids (names, database keys) are stored beside the
structure as labels, in order of first appearance.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Iterable
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from weft.arrays.device import as_array, is_device_array, to_host
from weft.errors import GraphError, nearest
from weft.graph.build import check_count
from weft.topology.adjacency import Array

LabelsLike: TypeAlias = ArrayLike | bool | None

# Integer ids above the first limit and sparser than the second, per edge, are keys, not numbers.
_DENSE_BELOW: Final = 1 << 24
_SPARSEST: Final = 64

_NATIVE: Final = "iuf"  # dtype kinds that labels are stored in; all others become objects
_SUGGEST_BELOW: Final = 10_000
_SHOWN: Final = 3


class Labels:
    """The names of the vertices: one unique, hashable value for each.

    Parameters
    ----------
    values : ndarray
        Made by `label_array`.

    Examples
    --------
    >>> labels = Labels(label_array(["Ada", "Bob"]))
    >>> labels.find(["Bob", "Eve"]).tolist()
    [1, -1]
    """

    def __init__(self, values: Array) -> None:
        self.values = values.view()
        self.values.flags.writeable = False
        self._numeric: bool | None = None
        self._table: dict[Any, int] | None = None
        self._sorted: tuple[Array, Array] | None = None

    def __len__(self) -> int:
        return int(self.values.size)

    @property
    def nbytes(self) -> int:
        """Bytes of the array; for objects, of the references."""
        return int(self.values.nbytes)

    @property
    def numeric(self) -> bool:
        """Whether any label is a number, so that integers are treated as labels."""
        if self._numeric is None:
            kind = self.values.dtype.kind
            self._numeric = kind in "iuf" or (
                kind == "O" and any(isinstance(x, int | float | np.number) for x in self.values)
            )
        return self._numeric

    def find(self, wanted: Any) -> Array:
        """Return the vertex of each label; -1 for unknown labels."""
        if self.values.dtype.kind == "O":
            return self._looked_up(wanted.tolist() if isinstance(wanted, np.ndarray) else wanted)
        keys = label_array(wanted)
        if keys.dtype.kind == "O":
            return self._looked_up(keys.tolist())
        return self._searched(keys)

    def take(self, vertices: Array) -> Labels:
        """Return the labels of some vertices."""
        return Labels(self.values[to_host(vertices)])

    def extended(self, more: Array) -> Labels:
        """Return these labels followed by more."""
        if self.values.dtype == more.dtype and more.dtype.kind in _NATIVE:
            return Labels(np.concatenate((self.values, more)))
        return Labels(label_array(np.concatenate((_as_objects(self.values), _as_objects(more)))))

    def check(self, what: str = "labels") -> Labels:
        """Return these labels; raise unless all are present, hashable and unique."""
        values = self.values
        gap = _first_missing(values)
        if gap is not None:
            raise GraphError(
                f"{what}[{gap}] = {_shown(values[gap])} is missing. "
                "Expected a label for every vertex."
            )
        if values.dtype.kind == "O":
            try:
                repeated = len(self._by_value()) < values.size
            except TypeError as error:
                raise GraphError(
                    f"{what} cannot be compared: {error}. Expected hashable values, such as "
                    "strings, integers or tuples of them."
                ) from error
        else:
            ordered, _ = self._by_order()
            repeated = bool((ordered[1:] == ordered[:-1]).any())
        if repeated:
            second = _first_repeated(values.tolist())
            raise GraphError(
                f"{what}[{second}] = {_shown(values[second])} is a duplicate. "
                "Expected a unique label for each vertex."
            )
        return self

    def missing_message(self, label: object) -> str:
        """Return the error message for an unknown label."""
        shown = ", ".join(repr(x) for x in self.values[:_SHOWN].tolist())
        more = ", ..." if len(self) > _SHOWN else ""
        hint = ""
        if isinstance(label, str) and len(self) < _SUGGEST_BELOW:
            hint = nearest(label, [x for x in self.values.tolist() if isinstance(x, str)])
        expected = f"Expected one of g.labels ({shown}{more})." if len(self) else "There are none."
        return f"{_shown(label)} is not the label of a vertex. {expected}{hint}"

    def _by_value(self) -> dict[Any, int]:
        if self._table is None:
            self._table = dict(zip(self.values.tolist(), range(len(self)), strict=True))
        return self._table

    def _by_order(self) -> tuple[Array, Array]:
        if self._sorted is None:
            order = np.argsort(self.values, kind="stable")
            self._sorted = self.values[order], order
        return self._sorted

    def _looked_up(self, wanted: Iterable[Any]) -> Array:
        table = self._by_value()
        try:
            return np.array([table.get(label, -1) for label in wanted], np.int64)
        except TypeError as error:
            raise GraphError(
                f"A label cannot be looked up: {error}. Expected a hashable label, or a list of "
                "hashable labels."
            ) from error

    def _searched(self, wanted: Array) -> Array:
        """Find numeric labels by binary search; a value that the dtype cannot hold is unknown.

        Keys and labels may differ in dtype (int64 and uint64, say), so the original values are
        compared as well, not only the converted ones.
        """
        ordered, order = self._by_order()
        if not ordered.size:
            return np.full(wanted.size, -1, np.int64)
        with np.errstate(invalid="ignore", over="ignore"):
            alike = wanted.astype(ordered.dtype)
        place = np.minimum(np.searchsorted(ordered, alike), ordered.size - 1)
        found = (ordered[place] == alike) & (alike == wanted)
        return np.where(found, order[place], -1)

    def __getstate__(self) -> dict[str, Any]:
        return {"values": self.values}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["values"])  # type: ignore[misc]


def label_array(values: Any) -> Array:
    """Return values as a one-dimensional array with one label per element.

    Integers and floats keep a numeric dtype; everything else is stored as objects, since NumPy
    would turn numbers among strings into strings, and tuples of equal length into a matrix.

    Examples
    --------
    >>> label_array(["a", 1]).tolist(), label_array([(0, 1), (2, 3)]).shape
    (['a', 1], (2,))
    >>> label_array([7, 5]).dtype
    dtype('int64')
    """
    if is_device_array(values):
        values = to_host(values)
    if not isinstance(values, np.ndarray):
        given = getattr(values, "__array__", None)
        values = np.asarray(values) if given is not None else _objects(values)
    if values.ndim != 1:
        raise GraphError(
            f"The labels have {values.ndim} dimensions. Expected a list or array with one label "
            "per vertex; for labels of several parts, use tuples."
        )
    if values.dtype.kind in _NATIVE:
        return values.astype(values.dtype.newbyteorder("="))
    return _narrowed(_as_objects(values))


def number_ends(
    src: Any, dst: Any, num_vertices: int | None, labels: LabelsLike
) -> tuple[Any, Any, int | None, Labels | None]:
    """Return both ends as vertex numbers, the number of vertices if known, and the labels.

    Parameters
    ----------
    src, dst : array_like
        Vertex numbers, or any hashable ids.
    num_vertices : int, optional
        The number of vertices, if given by the user.
    labels : array_like, bool or None
        A label per vertex, in which non-integer ends are looked up; True turns all ids into labels,
        False none, and None only ids that cannot be vertex numbers.

    Raises
    ------
    GraphError
        If an id is missing or unknown, or the number of labels differs from `num_vertices`.
    """
    if labels is None or isinstance(labels, bool | np.bool_):
        ends = end_array("src", src), end_array("dst", dst)
        named = bool(labels) or (_are_names(*ends) if labels is None else False)
        if not named:
            named = labels is None and num_vertices is None and _are_sparse(*ends)
        if not named:
            return *ends, num_vertices, None
        return _named(*ends, num_vertices, keep_integers=labels is None)
    known = Labels(label_array(labels)).check()
    count = len(known)
    if num_vertices is not None and check_count("num_vertices", num_vertices) != count:
        raise GraphError(
            f"num_vertices={num_vertices} was given with {count} labels. Expected one label per "
            "vertex; omit num_vertices."
        )
    ends = end_array("src", src), end_array("dst", dst)
    if all(end.dtype.kind in "iu" or not end.size for end in ends):
        return *ends, count, known
    return _placed(known, "src", ends[0]), _placed(known, "dst", ends[1]), count, known


def encode(values: Array) -> tuple[Array, Array]:
    """Return a code for each value, and the distinct values in order of appearance.

    A missing value has the code -1.
    """
    pandas = sys.modules.get("pandas")  # fastest, but slow to import: used only if already loaded
    if pandas is not None:
        try:
            codes, different = pandas.factorize(values)
        except TypeError as error:
            raise _unhashable(error) from error
        return codes, np.asarray(different)
    if values.dtype.kind in _NATIVE:
        different, first, codes = np.unique(values, return_index=True, return_inverse=True)
        order = np.argsort(first)
        place = np.empty(order.size, np.int64)
        place[order] = np.arange(order.size)
        different = different[order]
        place[different != different] = -1
        return place[codes], different[different == different]
    table: dict[Any, int] = {}
    try:
        # None and NaN (which is not equal to itself) count as missing.
        found = (
            -1 if x is None or x != x else table.setdefault(x, len(table)) for x in values.tolist()
        )
        codes = np.fromiter(found, np.int64, values.size)
    except TypeError as error:
        raise _unhashable(error) from error
    return codes, _objects(table)


def vertex_numbers(labels: Labels | None, num_vertices: int, wanted: Any) -> Any:
    """Return the vertex of one label (as an int) or of several (as an array).

    A tuple is one label. Integers are vertex numbers if there are no labels, or no numeric ones.

    Raises
    ------
    GraphError
        If a label does not exist.
    """
    if labels is None:
        return _checked_numbers(wanted, num_vertices)
    single = isinstance(wanted, tuple | str | bytes) or not hasattr(wanted, "__len__")
    if getattr(wanted, "ndim", None) == 0:
        wanted, single = to_host(wanted)[()], True
    if single:
        vertex = int(labels.find(_objects([wanted]))[0])
        if vertex < 0 and not labels.numeric and _is_integer(wanted):
            return _checked_numbers(wanted, num_vertices)
        if vertex < 0:
            raise GraphError(labels.missing_message(wanted))
        return vertex
    keys = label_array(wanted)
    if not labels.numeric and keys.dtype.kind in "iu":
        return _checked_numbers(keys, num_vertices)
    vertices = labels.find(keys)
    if (vertices < 0).any():
        raise GraphError(labels.missing_message(keys[int(np.argmin(vertices))]))
    return vertices


def labels_of(labels: Labels | Any, n: int) -> Labels:
    """Return the labels of n vertices; raise if there are more or fewer of them."""
    found = labels if isinstance(labels, Labels) else Labels(label_array(labels)).check()
    if len(found) != n:
        raise GraphError(
            f"Got {len(found)} labels for {n} vertices. Expected one label per vertex."
        )
    return found


def labels_at(labels: Labels | None, num_vertices: int, vertices: Any) -> Any:
    """Return the label of one vertex or of several; None for -1, which means no vertex.

    Raises
    ------
    GraphError
        If a vertex does not exist.
    """
    numbers = to_host(vertices)
    if numbers.size and numbers.dtype.kind not in "iu":
        raise GraphError(f"{vertices!r} is not a vertex number. Expected one or more integers.")
    if numbers.size and (int(numbers.min()) < -1 or int(numbers.max()) >= num_vertices):
        bad = int(numbers.min()) if int(numbers.min()) < -1 else int(numbers.max())
        raise GraphError(
            f"Vertex {bad} does not exist. Expected 0 to {num_vertices - 1}, or -1 for none."
        )
    values = np.arange(num_vertices) if labels is None else labels.values
    if numbers.size == 0:
        return values[:0]
    absent = numbers < 0
    if not absent.any():
        return values[numbers]
    if numbers.ndim == 0:
        return None
    found = np.full(numbers.shape, None, object)
    found[~absent] = values[numbers[~absent]]
    return found


def numbered_from_zero(values: Array) -> bool:
    """Whether labels are the integers 0 to n - 1, each once, in any order."""
    if values.dtype.kind not in "iu":
        return not values.size
    n = values.size
    if n == 0 or (int(values.min()) == 0 and int(values.max()) == n - 1):
        return bool(np.bincount(values.astype(np.int64), minlength=n).all()) if n else True
    return False


def _named(
    src: Array, dst: Array, num_vertices: int | None, *, keep_integers: bool
) -> tuple[Array, Array, int | None, Labels | None]:
    """Number ids in order of appearance, first in src, then in dst; see `number_ends`."""
    src, dst = to_host(src), to_host(dst)
    if src.dtype.kind in "iu" and dst.dtype.kind in "iu":
        together = np.concatenate((src, dst))
        if together.dtype.kind == "f":  # NumPy promotes int64 and uint64 to float64
            together = np.concatenate((_as_objects(src), _as_objects(dst)))
    elif src.dtype.kind == dst.dtype.kind and src.dtype.kind in _NATIVE:
        together = np.concatenate((src, dst))
    else:
        together = np.concatenate((_as_objects(src), _as_objects(dst)))
    codes, different = encode(together)
    return number_codes(
        codes[: src.size],
        codes[src.size :],
        different,
        num_vertices,
        keep_integers=keep_integers,
    )


def number_codes(
    src: Array,
    dst: Array,
    different: Array,
    num_vertices: int | None = None,
    *,
    keep_integers: bool = True,
    names: tuple[str, str] = ("src", "dst"),
) -> tuple[Array, Array, int | None, Labels | None]:
    """Like `number_ends`, for ends that are positions in the `different` ids.

    With `keep_integers`, integers stored as objects are vertex numbers wherever plain integers
    would be.
    """
    for name, codes in zip(names, (src, dst), strict=True):
        if codes.size and int(codes.min()) < 0:
            raise GraphError(
                f"{name}[{int(codes.argmin())}] is missing. Expected an id at both ends of every "
                "edge; drop incomplete edges."
            )
    labels = Labels(label_array(different))
    values = labels.values
    if keep_integers and not values.size:
        return src, dst, num_vertices, None
    if keep_integers and values.dtype.kind in "iu" and values.size and int(values.min()) >= 0:
        src_ids, dst_ids = values[src], values[dst]
        if num_vertices is not None or not _are_sparse(src_ids, dst_ids):
            return src_ids, dst_ids, num_vertices, None
    if num_vertices is not None and check_count("num_vertices", num_vertices) != len(labels):
        raise GraphError(
            f"num_vertices={num_vertices} was given, but the edges have {len(labels)} distinct "
            "ids. Expected a label for every vertex; pass labels= for all vertices, including "
            "isolated ones."
        )
    return src, dst, len(labels), labels


def _placed(known: Labels, name: str, end: Any) -> Array:
    """Return the vertex numbers of ends given as labels."""
    ids = label_array(end)
    vertices = known.find(ids)
    if (vertices < 0).any():
        at = int(np.argmin(vertices))
        raise GraphError(f"{name}[{at}] = {known.missing_message(ids[at])}")
    return vertices


def end_array(name: str, values: Any) -> Any:
    """Return one end of all edges as an array with one id per element."""
    if isinstance(values, list | tuple):
        try:
            array = np.asarray(values)
        except ValueError:  # rows of different lengths
            array = None
        names = array is None or array.dtype.kind not in "iufb"
        if names or (array is not None and array.ndim > 1 and isinstance(values[0], tuple)):
            return _objects(values)
        return array
    return as_array(values)


def _are_names(*ends: Any) -> bool:
    """Whether the dtype of any end rules out vertex numbers."""
    kinds = [end.dtype.kind for end in ends if end.size and end.ndim == 1]
    return any(kind in "OUSTMm" for kind in kinds)


def _are_sparse(*ends: Any) -> bool:
    """Whether integers are too sparse to be vertex numbers."""
    if any(end.dtype.kind not in "iu" or end.ndim != 1 for end in ends):
        return False
    sizes = [end for end in ends if end.size]
    largest = max((int(end.max()) for end in sizes), default=0)
    if largest < _DENSE_BELOW or largest <= _SPARSEST * ends[0].size:
        return False
    return min(int(end.min()) for end in sizes) >= 0


def _checked_numbers(wanted: Any, num_vertices: int) -> Any:
    """Return vertex numbers unchanged; raise if one does not exist."""
    array = as_array(wanted)
    if array.dtype.kind not in "iu" and array.size:
        raise GraphError(
            f"{wanted!r} is not a vertex. Expected integers, since the graph has no labels of "
            "this kind."
        )
    if array.size:
        low, high = int(array.min()), int(array.max())
        if low < 0 or high >= num_vertices:
            expected = (
                f"Expected 0 to {num_vertices - 1}."
                if num_vertices
                else "The graph has no vertices."
            )
            raise GraphError(f"Vertex {low if low < 0 else high} does not exist. {expected}")
    if array.ndim == 0:
        return int(array)
    return array if array.size else array.astype(np.int64)


def _is_integer(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _objects(values: Iterable[Any]) -> Array:
    """Return an object array, with tuples as single elements."""
    listed = list(values)
    return np.fromiter(listed, object, len(listed))


def _as_objects(values: Array) -> Array:
    """Return an array of Python objects; unlike in NumPy, times do not become integers."""
    if values.dtype.kind in "Mm" and np.datetime_data(values.dtype)[0] in ("ns", "ps", "fs", "as"):
        rounded = values.astype(f"{values.dtype.kind}8[us]")
        return rounded.astype(object) if np.array_equal(rounded, values) else _objects(values)
    return values.astype(object)


def _narrowed(values: Array) -> Array:
    """Return objects as a numeric array if all are integers or all floats, else unchanged."""
    kinds = set(map(type, values.tolist()))
    try:
        if kinds and all(issubclass(kind, int | np.integer) and kind is not bool for kind in kinds):
            numbers = values.tolist()
            if kinds != {int}:
                numbers = [operator.index(x) for x in numbers]
            wide = max(numbers) >= 2**63 and min(numbers) >= 0
            return np.array(numbers, np.uint64 if wide else np.int64)
        if kinds and all(issubclass(kind, float) for kind in kinds):
            return values.astype(np.float64)
    except OverflowError:
        return values
    return values


def _first_missing(values: Array) -> int | None:
    if values.dtype.kind == "f":
        gaps = np.flatnonzero(values != values)
        return int(gaps[0]) if gaps.size else None
    if values.dtype.kind != "O":
        return None
    return next(
        (
            i
            for i, x in enumerate(values.tolist())
            if x is None or (isinstance(x, float) and x != x)
        ),
        None,
    )


def _first_repeated(values: list[Any]) -> int:
    seen = set()
    for i, value in enumerate(values):
        if value in seen:
            return i
        seen.add(value)
    return 0


def _shown(label: Any) -> str:
    """Return a label as Python source."""
    return repr(label.item() if isinstance(label, np.number) else label)


def _unhashable(error: TypeError) -> GraphError:
    return GraphError(
        f"The ids of the edges cannot be compared: {error}. Expected hashable values, such as "
        "strings, integers or tuples of them."
    )
