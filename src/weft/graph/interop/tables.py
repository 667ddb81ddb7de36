"""Read pandas and Arrow tables: ids become vertex numbers or labels, numbers become columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any, Final, NamedTuple, Protocol

import numpy as np

from weft.arrays.device import is_device_array, to_host
from weft.engine.state import State
from weft.errors import GraphError, WeftError, listed, nearest
from weft.graph.columns import Columns
from weft.graph.interop.left_out import warn_left_out
from weft.graph.labels import (
    Labels,
    encode,
    label_array,
    number_codes,
    number_ends,
    numbered_from_zero,
)
from weft.topology.adjacency import Array

# Names of the parts of a vector or matrix, as made by `spread`: x[0], x[1]; m[0,0], m[0,1], ...
_PART: Final = re.compile(r"(\w+)\[(\d+)(?:,(\d+))?\]")


class Codes(NamedTuple):
    """Dictionary-encoded ids of both ends: positions (-1 if missing) in the distinct ids."""

    src: Array
    dst: Array
    different: Array


class TableLike(Protocol):
    """Interface of a table of any library."""

    @property
    def names(self) -> list[Any]:
        """Names of the columns, in order."""

    def numbers(self, name: Any) -> Array | None:
        """Return a numeric or boolean column, with NaN for missing values; None for other types."""

    def ids(self, name: Any) -> Array:
        """Return a column as labels; raise if one is missing."""

    def ends(self, source: Any, target: Any) -> Codes | tuple[Array, Array]:
        """Return the ids in two columns: integers unchanged, all others as codes."""


class PandasTable:
    """A `pandas.DataFrame`."""

    def __init__(self, frame: Any, what: str) -> None:
        self._pandas = optional("pandas", "pandas", "Data frames")
        if not isinstance(frame, self._pandas.DataFrame):
            raise GraphError(
                f"{what} is a {type(frame).__name__}. Expected a pandas.DataFrame; for tables of "
                "other libraries, use Graph.from_arrow."
            )
        self._frame = frame
        _check_unique(self.names, what)

    @property
    def names(self) -> list[Any]:
        """Names of the columns, in order."""
        return list(self._frame.columns)

    def numbers(self, name: Any) -> Array | None:
        """Return a numeric or boolean column, with NaN for missing values; None for other types."""
        series = self._frame[name]
        kind = getattr(series.dtype, "numpy_dtype", series.dtype)
        if not isinstance(kind, np.dtype) or not _is_number(kind):
            return None
        if kind.kind != "f" and bool(series.isna().any()):
            return np.asarray(series.to_numpy(np.float64, na_value=np.nan))
        if kind is not series.dtype and kind.kind == "f":
            return np.asarray(series.to_numpy(kind, na_value=np.nan))
        return np.asarray(series.to_numpy(kind))

    def ids(self, name: Any) -> Array:
        """Return a column as labels; raise if one is missing."""
        series = self._frame[name]
        gaps = np.flatnonzero(np.asarray(series.isna(), np.bool_))
        if gaps.size:
            raise GraphError(
                f"Row {gaps[0]} of column {name!r} has no id. Expected one for each vertex."
            )
        return label_array(_numpy_of(series))

    def ends(self, source: Any, target: Any) -> Codes | tuple[Array, Array]:
        """Return the ids in two columns: integers unchanged, all others as codes."""
        both = [self._frame[source], self._frame[target]]
        if all(isinstance(s.dtype, np.dtype) and s.dtype.kind in "iu" for s in both):
            return both[0].to_numpy(), both[1].to_numpy()
        if all(getattr(s.dtype, "storage", "") == "pyarrow" for s in both):
            arrow = import_module("pyarrow")
            return arrow_codes(arrow, *(_decoded(arrow, arrow.chunked_array(s)) for s in both))
        try:
            codes, different = self._pandas.factorize(self._pandas.concat(both, ignore_index=True))
        except TypeError as error:
            raise GraphError(
                f"The ids in {source!r} and {target!r} cannot be compared: {error}. Expected "
                "hashable values, such as strings, integers or tuples of them."
            ) from error
        half = len(both[0])
        return Codes(codes[:half], codes[half:], _numpy_of(different))


class ArrowTable:
    """Anything with the Arrow PyCapsule interface: tables of PyArrow, Polars, DuckDB, ..."""

    def __init__(self, value: Any, what: str) -> None:
        arrow = self._arrow = optional("pyarrow", "arrow", "Arrow tables")
        if not (hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__")):
            raise GraphError(
                f"{what} is a {type(value).__name__} without the Arrow PyCapsule interface. "
                "Expected an object with __arrow_c_stream__, such as a PyArrow or Polars table."
            )
        try:
            self._table = arrow.table(value)
        except (TypeError, ValueError) as error:
            raise GraphError(
                f"{what} is not a table: {error}. Expected an object whose __arrow_c_stream__ "
                "yields named columns."
            ) from error
        _check_unique(self.names, what)

    @property
    def names(self) -> list[Any]:
        """Names of the columns, in order."""
        return list(self._table.column_names)

    def numbers(self, name: Any) -> Array | None:
        """Return a numeric or boolean column, with NaN for missing values; None for other types."""
        column, types = self._table[name], self._arrow.types
        kind = column.type
        if not (types.is_integer(kind) or types.is_boolean(kind) or types.is_floating(kind)):
            return None
        if types.is_float16(kind):
            return None
        if column.null_count and not types.is_floating(kind):
            if types.is_boolean(kind):
                column = column.cast(self._arrow.int8())
            column = column.cast(self._arrow.float64(), safe=False)
        return np.asarray(column.to_numpy())

    def ids(self, name: Any) -> Array:
        """Return a column as labels; raise if one is missing."""
        column = _decoded(self._arrow, self._table[name])
        if column.null_count:
            gap = column.is_null().index(True).as_py()
            raise GraphError(
                f"Row {gap} of column {name!r} has no id. Expected one for each vertex."
            )
        return label_array(_numpy_of_arrow(self._arrow, column))

    def ends(self, source: Any, target: Any) -> Codes | tuple[Array, Array]:
        """Return the ids in two columns: integers unchanged, all others as codes."""
        both = [_decoded(self._arrow, self._table[name]) for name in (source, target)]
        if all(self._arrow.types.is_integer(c.type) and not c.null_count for c in both):
            return both[0].to_numpy(), both[1].to_numpy()
        if both[0].type == both[1].type:
            return arrow_codes(self._arrow, *both)
        codes, different = encode(np.array([x for c in both for x in c.to_pylist()], object))
        half = len(both[0])
        return Codes(codes[:half], codes[half:], different)


def arrow_codes(arrow: Any, src: Any, dst: Any) -> Codes:
    """Encode two Arrow columns of the same type with one dictionary, in parallel."""
    with ThreadPoolExecutor(2) as pool:
        encoded = list(pool.map(lambda column: column.dictionary_encode(), (src, dst)))
    chunks = [chunk for column in encoded for chunk in column.chunks]
    if not chunks:
        return Codes(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64))
    unified = arrow.chunked_array(chunks).unify_dictionaries()
    codes = [chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False) for chunk in unified.chunks]
    together = np.concatenate(codes)
    different = _numpy_of_arrow(arrow, unified.chunk(0).dictionary)
    return Codes(together[: len(src)], together[len(src) :], different)


def numbered_edges(
    edges: TableLike,
    source: Any,
    target: Any,
    labels: bool | None,
    vertices: TableLike | None,
    vertex: Any,
) -> tuple[tuple[Any, Any, int | None, Labels | None], Array | None]:
    """Return the edges of a table as `number_ends` does, and the row of each vertex in `vertices`.

    The rows are None if they are already in vertex order.
    """
    for name in (source, target):
        check_there(edges.names, name, "edges")
    ends = edges.ends(source, target)
    if vertices is not None:
        return _placed_edges(ends, (source, target), vertices.ids(vertex), labels)
    if isinstance(ends, Codes):
        names = (str(source), str(target))
        return number_codes(*ends, keep_integers=labels is None, names=names), None
    if labels is None and any(end.size and int(end.min()) < 0 for end in ends):
        labels = True
    return number_ends(*ends, None, labels), None


def _placed_edges(
    ends: Codes | tuple[Array, Array], names: tuple[Any, Any], ids: Array, labels: bool | None
) -> tuple[tuple[Array, Array, int, Labels | None], Array | None]:
    """Return the edges between vertices with the given ids."""
    known = Labels(ids).check("vertices")
    if isinstance(ends, Codes):
        number_codes(*ends, names=(str(names[0]), str(names[1])))  # raises if an id is missing
        different = label_array(ends.different)
        place = known.find(different)
        codes = [ends.src, ends.dst]
        found = [place[code] for code in codes]
    else:
        found, different, codes = [known.find(end) for end in ends], None, []
    for at, (name, vertex) in enumerate(zip(names, found, strict=True)):
        if vertex.size and int(vertex.min()) < 0:
            row = int(vertex.argmin())
            wrong = ends[at][row] if different is None else different[codes[at][row]]
            raise GraphError(
                f"{name}[{row}] is not listed in vertices: {known.missing_message(wrong)}"
            )
    if not labels and numbered_from_zero(ids):
        ids = ids.astype(np.int64, copy=False)
        return (ids[found[0]], ids[found[1]], ids.size, None), np.argsort(ids)
    return (found[0], found[1], ids.size, known), None


def read_columns(
    table: TableLike,
    wanted: Iterable[str] | None,
    leave: Iterable[Any],
    kind: type[Columns],
    option: str,
) -> dict[str, Array]:
    """Return the columns of a table that become columns of the graph.

    Columns selected by name must be numeric. By default, all numeric columns with a valid name are
    selected, and numbered parts (`x[0]`, `x[1]`) are joined; a warning names the others.
    """
    names = table.names
    if wanted is not None:
        columns = {}
        for name in [wanted] if isinstance(wanted, str) else wanted:
            check_there(names, name, option)
            values = table.numbers(name)
            if values is None:
                raise GraphError(
                    f"{option}: the column {name!r} is not numeric. Expected bool, "
                    "integers, float32 or float64; convert it first, or leave it out."
                )
            kind.check_name(name)
            columns[name] = values
        return columns
    skipped = set(leave)
    found = {}
    for name in names:
        usable = isinstance(name, str) and (kind.can_name(name) or _PART.fullmatch(name))
        if usable and name not in skipped and (values := table.numbers(name)) is not None:
            found[name] = values
    columns = {k: v for k, v in gathered(found).items() if kind.can_name(k)}
    left = [x for x in names if x not in skipped and x not in found]
    warn_left_out(option.removesuffix("_columns"), left, option, stacklevel=4)
    return columns


def check_there(names: list[Any], name: Any, what: str) -> None:
    """Raise unless a table has a column of that name."""
    if name not in names:
        hint = nearest(name, [x for x in names if isinstance(x, str)]) if name else ""
        raise GraphError(
            f"{what} has no column {name!r}. Its columns are {listed(names) or 'none'}."
            f"{hint if isinstance(name, str) else ''}"
        )


def spread(columns: Mapping[str, Any]) -> dict[str, Array]:
    """Return columns in host memory, split into scalars: a vector x becomes x[0], x[1], ...

    Examples
    --------
    >>> list(spread({"x": np.zeros((4, 2)), "m": np.zeros((4, 2, 2)), "n": np.zeros(4)}))
    ['x[0]', 'x[1]', 'm[0,0]', 'm[0,1]', 'm[1,0]', 'm[1,1]', 'n']
    """
    found: dict[str, Array] = {}
    for name, column in columns.items():
        host = to_host(column)
        for place in np.ndindex(host.shape[1:]):
            part = f"{name}[{','.join(map(str, place))}]" if place else name
            found[part] = host[(slice(None), *place)].copy()
    return found


def gathered(parts: Mapping[str, Array]) -> dict[str, Array]:
    """Join numbered parts into vectors and square matrices; the inverse of `spread`."""
    whole: dict[str, Array] = {}
    places: dict[str, dict[tuple[int, ...], Array]] = {}
    for name, values in parts.items():
        match = _PART.fullmatch(name)
        if match is None:
            whole[name] = values
        else:
            place = tuple(int(x) for x in match.groups()[1:] if x is not None)
            places.setdefault(match[1], {})[place] = values
    for name, held in places.items():
        shape = tuple(max(axis) + 1 for axis in zip(*held, strict=False))
        complete = len({len(p) for p in held}) == 1 and set(held) == set(np.ndindex(shape))
        if complete and name not in whole and len(set(shape)) == 1:
            stacked = np.stack([held[place] for place in np.ndindex(shape)], axis=1)
            whole[name] = stacked.reshape(-1, *shape)
    return whole


def fields_of(result: Any) -> dict[str, Any]:
    """Return the arrays of a result by name."""
    if result is None:
        return {}
    if isinstance(result, State):
        return dict(result.fields)
    if hasattr(result, "_asdict"):
        result = result._asdict()
    if isinstance(result, Mapping):
        # Scalars describe the result as a whole: iterations, an error, ...
        return {str(k): v for k, v in result.items() if np.ndim(_plain(v)) > 0}
    return {"value": result}


def per_vertex(name: str, values: Any, n: int) -> Array:
    """Return values in host memory; raise unless there is one row per vertex."""
    array = to_host(values)
    if array.ndim == 0 or array.shape[0] != n:
        got = "is a single value" if array.ndim == 0 else f"has {array.shape[0]} rows"
        raise GraphError(
            f"{name!r} {got}. Expected one row for each of the {n} vertices, as in the results of "
            "algorithms and in g.state(...)."
        )
    return array


def _plain(value: Any) -> Any:
    return to_host(value) if is_device_array(value) else value


def check_free(name: str, columns: Mapping[str, Any], remedy: str) -> None:
    """Raise if a table already has a column of that name; `remedy` is the option to rename it."""
    if name in columns:
        raise GraphError(
            f"There already is a column {name!r}. Pass another name for the ids: {remedy}."
        )


def optional(module: str, extra: str, what: str) -> Any:
    """Import an optional library, or raise an error that says how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise WeftError(
            f"{what} need {module}, which is not installed. Install it with the extra {extra!r}: "
            f"pip install 'weft[{extra}]'."
        ) from error


def _check_unique(names: list[Any], what: str) -> None:
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise GraphError(
            f"{what} has several columns {twice!r}. Expected unique names; rename or drop some."
        )


def _decoded(arrow: Any, column: Any) -> Any:
    """Return a column with dictionaries decoded and all text types unified."""
    types = arrow.types
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    text: tuple[Callable[[Any], bool], ...] = (types.is_string, types.is_string_view)
    return column.cast(arrow.large_string()) if any(is_(column.type) for is_ in text) else column


def _numpy_of_arrow(arrow: Any, column: Any) -> Array:
    """Return a column as an array: numbers and text unchanged, all else as Python objects."""
    types, kind = arrow.types, column.type
    if types.is_integer(kind) or types.is_floating(kind) or types.is_large_string(kind):
        if isinstance(column, arrow.ChunkedArray):
            return np.asarray(column.to_numpy())
        return np.asarray(column.to_numpy(zero_copy_only=False))
    array = np.empty(len(column), object)
    array[:] = column.to_pylist()
    return array


def _is_number(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "biuf" and dtype.itemsize <= 8 and dtype != np.dtype(np.float16)


def _numpy_of(values: Any) -> Array:
    """Return a series or index as an array: integers unchanged, all else as objects."""
    kind = getattr(values.dtype, "numpy_dtype", values.dtype)
    if isinstance(kind, np.dtype) and kind.kind in "iu":
        return np.asarray(values.to_numpy(kind))
    array = np.empty(len(values), object)
    array[:] = values.to_list()
    return array
