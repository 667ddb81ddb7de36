"""Labels: the names of vertices, how ids become vertex numbers, and how names are found again.

Vertices are numbered from 0 inside weft. Ids that are no such numbers (names, keys of a database)
are kept beside the structure as labels, in the order in which they first appear.
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

# Ids above this that are further apart than this many per edge are keys, and not numbers.
_DENSE_BELOW: Final = 1 << 24
_SPARSEST: Final = 64

_NATIVE: Final = "iuf"  # kinds of dtypes that labels are kept in; all others become objects
_SUGGEST_BELOW: Final = 10_000
_SHOWN: Final = 3


class Labels:
    """The names of the vertices: one hashable value for each, all different.

    Parameters
    ----------
    values : ndarray
        As `label_array` makes it.

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
        """Bytes of the array; of objects, those of the references."""
        return int(self.values.nbytes)

    @property
    def numeric(self) -> bool:
        """Whether some label is a number, so that an integer has to be taken for a label."""
        if self._numeric is None:
            kind = self.values.dtype.kind
            self._numeric = kind in "iuf" or (
                kind == "O" and any(isinstance(x, int | float | np.number) for x in self.values)
            )
        return self._numeric

    def find(self, wanted: Any) -> Array:
        """Return the vertex of each label, -1 for those that no vertex has."""
        if self.values.dtype.kind == "O":
            return self._looked_up(wanted.tolist() if isinstance(wanted, np.ndarray) else wanted)
        asked = label_array(wanted)
        if asked.dtype.kind == "O":
            return self._looked_up(asked.tolist())
        return self._searched(asked)

    def take(self, vertices: Array) -> Labels:
        """Return the labels of some vertices."""
        return Labels(self.values[to_host(vertices)])

    def extended(self, more: Array) -> Labels:
        """Return these labels and some more after them."""
        if self.values.dtype == more.dtype and more.dtype.kind in _NATIVE:
            return Labels(np.concatenate((self.values, more)))
        return Labels(label_array(np.concatenate((_as_objects(self.values), _as_objects(more)))))

    def check(self, what: str = "labels") -> Labels:
        """Return these labels; raises unless all are different, hashable and there."""
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
                    f"{what} cannot be told apart: {error}. Expected values that can be hashed, "
                    "such as strings, integers or tuples of them."
                ) from error
        else:
            ordered, _ = self._by_order()
            repeated = bool((ordered[1:] == ordered[:-1]).any())
        if repeated:
            second = _first_repeated(values.tolist())
            raise GraphError(
                f"{what}[{second}] = {_shown(values[second])} was there before. "
                "Expected a different label for each vertex."
            )
        return self

    def missing_message(self, label: object) -> str:
        """Return what is to be said about a label that no vertex has."""
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
                f"A label cannot be looked up: {error}. Expected one label, or a list of labels "
                "that can be hashed."
            ) from error

    def _searched(self, wanted: Array) -> Array:
        """Find numbers by binary search; a value that the dtype cannot hold is not there.

        Dtypes of different kinds meet here (an int64 key and uint64 labels), so that equality is
        asked of the values themselves and not of what a conversion made of them.
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
    """Return values as a one-dimensional array in which each is one label.

    Integers and floats have a dtype of their own; everything else is kept as objects, since
    NumPy would make strings of the numbers among strings, and a matrix of equally long tuples.

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
            "per vertex; a label of several parts is a tuple."
        )
    if values.dtype.kind in _NATIVE:
        return values.astype(values.dtype.newbyteorder("="))
    return _narrowed(_as_objects(values))


def number_ends(
    src: Any, dst: Any, num_vertices: int | None, labels: LabelsLike
) -> tuple[Any, Any, int | None, Labels | None]:
    """Return both ends as vertex numbers, the number of vertices if it is known, and the labels.

    Parameters
    ----------
    src, dst : array_like
        Vertex numbers, or any ids that can be hashed.
    num_vertices : int, optional
        What the user said.
    labels : array_like, True or None
        A label per vertex, which ends that are no integers are looked up in; True to make labels of
        all ids; None to make labels of ids that cannot be vertex numbers.

    Raises
    ------
    GraphError
        If an id is missing or has no label, or labels and number of vertices do not fit.
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
            "vertex; leave num_vertices out."
        )
    ends = end_array("src", src), end_array("dst", dst)
    if all(end.dtype.kind in "iu" or not end.size for end in ends):
        return *ends, count, known
    return _placed(known, "src", ends[0]), _placed(known, "dst", ends[1]), count, known


def encode(values: Array) -> tuple[Array, Array]:
    """Return a number for each value and the different values, in the order of their appearance.

    A missing value has the number -1.
    """
    pandas = sys.modules.get("pandas")  # it is the fastest where it is there, and slow to import
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
        # None and NaN, which differs from itself, are missing.
        found = (
            -1 if x is None or x != x else table.setdefault(x, len(table)) for x in values.tolist()
        )
        codes = np.fromiter(found, np.int64, values.size)
    except TypeError as error:
        raise _unhashable(error) from error
    return codes, _objects(table)


def vertex_numbers(labels: Labels | None, num_vertices: int, wanted: Any) -> Any:
    """Return the vertex of one label (as an int) or of several (as an array).

    A tuple is one label. Without labels, and in a graph none of whose labels is a number, integers
    are vertex numbers.

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
    asked = label_array(wanted)
    if not labels.numeric and asked.dtype.kind in "iu":
        return _checked_numbers(asked, num_vertices)
    vertices = labels.find(asked)
    if (vertices < 0).any():
        raise GraphError(labels.missing_message(asked[int(np.argmin(vertices))]))
    return vertices


def labels_at(labels: Labels | None, num_vertices: int, vertices: Any) -> Any:
    """Return the label of a vertex number or of several; None for -1, which stands for no vertex.

    Raises
    ------
    GraphError
        If there is no such vertex.
    """
    numbers = to_host(vertices)
    if numbers.size and numbers.dtype.kind not in "iu":
        raise GraphError(f"{vertices!r} are not vertex numbers. Expected integers.")
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
    """Whether labels are the integers 0, 1, ..., each once, in whatever order."""
    if values.dtype.kind not in "iu":
        return not values.size
    n = values.size
    if n == 0 or (int(values.min()) == 0 and int(values.max()) == n - 1):
        return bool(np.bincount(values.astype(np.int64), minlength=n).all()) if n else True
    return False


def _named(
    src: Array, dst: Array, num_vertices: int | None, *, keep_integers: bool
) -> tuple[Array, Array, int | None, Labels | None]:
    """Return ends numbered by the order in which their ids appear, first in src, then in dst."""
    src, dst = to_host(src), to_host(dst)
    if src.dtype.kind in "iu" and dst.dtype.kind in "iu":
        together = np.concatenate((src, dst))
        if together.dtype.kind == "f":  # what int64 and uint64 have in common
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
    """Return what `number_ends` does, of ends that are positions in the `different` ids.

    With `keep_integers`, integers that were objects are vertex numbers all the same where they
    could have been.
    """
    for name, codes in zip(names, (src, dst), strict=True):
        if codes.size and int(codes.min()) < 0:
            raise GraphError(
                f"{name}[{int(codes.argmin())}] is missing. Expected an id at both ends of every "
                "edge; drop the edges without one."
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
            f"num_vertices={num_vertices} was given, but the edges have {len(labels)} different "
            "ids. Expected a label for every vertex; pass labels= with those of all vertices, "
            "isolated ones included."
        )
    return src, dst, len(labels), labels


def _placed(known: Labels, name: str, end: Any) -> Array:
    """Return the vertices of ends that are labels."""
    ids = label_array(end)
    vertices = known.find(ids)
    if (vertices < 0).any():
        at = int(np.argmin(vertices))
        raise GraphError(f"{name}[{at}] = {known.missing_message(ids[at])}")
    return vertices


def end_array(name: str, values: Any) -> Any:
    """Return one end of all edges as an array in which an id is an element."""
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
    """Whether ids are such that they cannot have been meant as numbers."""
    kinds = [end.dtype.kind for end in ends if end.size and end.ndim == 1]
    return any(kind in "OUSTMm" for kind in kinds)


def _are_sparse(*ends: Any) -> bool:
    """Whether integers are too far apart to be vertex numbers."""
    if any(end.dtype.kind not in "iu" or end.ndim != 1 for end in ends):
        return False
    sizes = [end for end in ends if end.size]
    largest = max((int(end.max()) for end in sizes), default=0)
    if largest < _DENSE_BELOW or largest <= _SPARSEST * ends[0].size:
        return False
    return min(int(end.min()) for end in sizes) >= 0


def _checked_numbers(wanted: Any, num_vertices: int) -> Any:
    """Return vertex numbers as they are, or say which of them does not exist."""
    array = as_array(wanted)
    if array.dtype.kind not in "iu" and array.size:
        raise GraphError(
            f"{wanted!r} is not a vertex. Expected integers, since the graph has no such labels."
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
    """Return an array of objects, tuples among them as they are."""
    listed = list(values)
    array = np.empty(len(listed), object)
    for i, value in enumerate(listed):
        array[i] = value
    return array


def _as_objects(values: Array) -> Array:
    """Return an array as one of Python objects; times do not become numbers, as NumPy would."""
    if values.dtype.kind in "Mm" and np.datetime_data(values.dtype)[0] in ("ns", "ps", "fs", "as"):
        rounded = values.astype(f"{values.dtype.kind}8[us]")
        return rounded.astype(object) if np.array_equal(rounded, values) else _objects(values)
    return values.astype(object)


def _narrowed(values: Array) -> Array:
    """Return objects that are all integers (or all floats) as numbers, others as they are."""
    kinds = set(map(type, values.tolist()))
    try:
        if kinds and all(issubclass(kind, int | np.integer) and kind is not bool for kind in kinds):
            numbers = [operator.index(x) for x in values.tolist()]
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
    """Return a label as it would be written in a program."""
    return repr(label.item() if isinstance(label, np.number) else label)


def _unhashable(error: TypeError) -> GraphError:
    return GraphError(
        f"The ids of the edges cannot be told apart: {error}. Expected values that can be hashed, "
        "such as strings, integers or tuples of them."
    )
