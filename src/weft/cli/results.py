"""Results of algorithms: columns, a summary, the largest values, files."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from weft.arrays.device import to_host
from weft.errors import ConfigError, WeftError

Array = np.ndarray[Any, Any]

GROUPS = ("component", "label")  # columns that group vertices
VERTICES = ("parent",)  # columns that hold vertices
SUFFIXES = (".csv", ".parquet", ".npy", ".npz")


@dataclass(frozen=True)
class Result:
    """The result of an algorithm, in host memory.

    Attributes
    ----------
    algorithm
        Its name.
    columns
        One array per column with one value per vertex; a single value if `per_vertex` is False.
    vertices
        The names of the vertices: their labels, or their numbers.
    per_vertex
        Whether there is a value for each vertex.
    """

    algorithm: str
    columns: dict[str, Array]
    vertices: Array
    per_vertex: bool

    @property
    def main(self) -> str:
        """The column that is summarised, sorted and drawn."""
        return next(iter(self.columns))

    @property
    def grouped(self) -> bool:
        """Whether the result groups vertices."""
        return self.main in GROUPS

    def reached(self) -> Array:
        """Return the values of the vertices that have one."""
        values = self.columns[self.main]
        if "parent" in self.columns:
            return values[self.columns["parent"] >= 0]
        return values[np.isfinite(values)] if values.dtype.kind == "f" else values


def result_of(algorithm: str, returned: Any, g: Any) -> Result:
    """Return what an algorithm returned as a `Result`."""
    from weft.algorithms.registry import algorithms

    known = algorithms().get(algorithm)
    named = hasattr(returned, "_asdict")
    parts = returned._asdict() if named else {known.column if known else algorithm: returned}
    columns: dict[str, Array] = {}
    for name, value in parts.items():
        columns |= _columns_of(name, value)
    per_vertex = known is None or known.per == "vertex"
    per_vertex = per_vertex and all(v.shape == (g.num_vertices,) for v in columns.values())
    labels = g.labels
    vertices = np.arange(g.num_vertices) if labels is None else np.asarray(labels)
    return Result(algorithm, columns, vertices, per_vertex)


def _columns_of(name: str, value: Any) -> dict[str, Array]:
    """Return one part of a result as columns: an array, or the sizes of a graph or list."""
    if hasattr(value, "num_vertices"):
        return {"vertices": np.asarray(value.num_vertices), "edges": np.asarray(value.num_edges)}
    if isinstance(value, list):
        return {name: np.asarray(len(value))}
    array = np.asarray(to_host(value))
    if array.ndim == 2:
        return {f"{name}_{k}": array[:, k] for k in range(array.shape[1])}
    return {name: array}


def summary(result: Result) -> dict[str, Any]:
    """Return a summary of a result in a few numbers."""
    name = result.main
    if not result.per_vertex:
        return {
            name: values.item() if values.ndim == 0 else f"{values.size:,} values"
            for name, values in result.columns.items()
        }
    if result.grouped:
        sizes = group_sizes(result)[1]
        return {
            f"{name}s": len(sizes),
            "largest": int(sizes[0]) if len(sizes) else 0,
            "with one vertex": int((sizes == 1).sum()),
        }
    values = result.reached()
    told: dict[str, Any] = {}
    if "parent" in result.columns:
        told["vertices reached"] = len(values)
    elif len(values) < len(result.vertices):
        told["vertices with a value"] = len(values)
    if len(values):
        told |= {
            f"smallest {name}": values.min().item(),
            f"mean {name}": float(values.mean(dtype=np.float64)),
            f"largest {name}": values.max().item(),
        }
    return told


def group_sizes(result: Result) -> tuple[Array, Array]:
    """Return the groups of a result and their sizes, the largest first."""
    groups, sizes = np.unique(result.columns[result.main], return_counts=True)
    order = np.argsort(-sizes, kind="stable")
    return groups[order], sizes[order]


def top(result: Result, count: int) -> list[dict[str, Any]]:
    """Return the rows of the largest groups, or of the vertices with the largest values."""
    if not result.per_vertex or count <= 0:
        return []
    if result.grouped:
        groups, sizes = group_sizes(result)
        told = zip(result.vertices[groups[:count]], sizes[:count], strict=True)
        n = max(len(result.vertices), 1)
        return [
            {result.main: _item(group), "vertices": int(size), "share": int(size) / n}
            for group, size in told
        ]
    values = result.columns[result.main]
    key = values.astype(np.float64)
    missing = ~np.isfinite(key)
    if "parent" in result.columns:
        missing |= result.columns["parent"] < 0
    key[missing] = -np.inf
    count = min(count, int(len(key) - missing.sum()))
    picked = np.arange(len(key))
    if 0 < count < len(key):
        least = np.partition(key, len(key) - count)[len(key) - count]
        picked = np.flatnonzero(key >= least)
    picked = picked[np.lexsort((picked, -key[picked]))][:count]
    return [
        {"vertex": _item(result.vertices[v])}
        | {name: _shown(result, name, values[v]) for name, values in result.columns.items()}
        for v in picked.tolist()
    ]


def _shown(result: Result, name: str, value: Any) -> Any:
    return _item(result.vertices[value]) if name in VERTICES and value >= 0 else _item(value)


def _item(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def jsonable(value: Any) -> Any:
    """Return a value for JSON, in which infinity and NaN become null."""
    if isinstance(value, dict):
        return {key: jsonable(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [jsonable(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | type(None)) else str(value)


def check_output(path: Path) -> None:
    """Raise if a result cannot be written, before it is computed."""
    if path.suffix not in SUFFIXES:
        raise ConfigError(
            f"a result cannot be written to {str(path)!r}: its suffix is {path.suffix!r}. Expected "
            f"one of {', '.join(SUFFIXES)}."
        )
    if not path.absolute().parent.is_dir():
        raise ConfigError(
            f"{str(path)!r} cannot be written: the folder {str(path.parent)!r} does not exist."
        )
    if path.suffix == ".parquet":
        _arrow()


def write_result(result: Result, path: Path) -> None:
    """Write a result to a file: a row per vertex, or its single value."""
    columns = dict(result.columns)
    if not result.per_vertex:
        columns = {name: np.atleast_1d(values) for name, values in columns.items()}
        if path.suffix != ".npz" and len({values.size for values in columns.values()}) > 1:
            raise ConfigError(
                f"the columns of {result.algorithm} ({', '.join(columns)}) differ in length, and "
                f"{path.suffix} holds one table. Use .npz."
            )
    if path.suffix == ".npy":
        if len(columns) > 1:
            raise ConfigError(
                f"{result.algorithm} gives {len(columns)} columns ({', '.join(columns)}), and .npy "
                "holds one. Use .npz, .csv or .parquet."
            )
        np.save(path, columns[result.main], allow_pickle=False)
        return
    for name in (*VERTICES, *GROUPS):
        if name in columns and path.suffix != ".npz":
            columns[name] = _as_vertices(columns[name], result.vertices)
    if result.per_vertex:
        columns = {"vertex": result.vertices, **columns}
    if path.suffix == ".npz":
        if columns.get("vertex", np.empty(0)).dtype.kind == "O":
            columns["vertex"] = columns["vertex"].astype(str)
        np.savez(path, **columns)  # type: ignore[arg-type]
    elif path.suffix == ".parquet":
        arrow = _arrow()
        from pyarrow import parquet

        parquet.write_table(arrow.table(columns), path)
    else:
        _write_csv(columns, path)


def _as_vertices(values: Array, vertices: Array) -> Array:
    """Return the labels of vertices; -1 (no vertex) stays if labels are numbers."""
    if vertices.dtype.kind in "iu" and np.array_equal(vertices, np.arange(len(vertices))):
        return values
    named = np.full(len(values), "" if vertices.dtype.kind in "OUST" else -1, dtype=vertices.dtype)
    known = values >= 0
    named[known] = vertices[values[known]]
    return named


def _write_csv(columns: dict[str, Array], path: Path) -> None:
    import csv

    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        size = len(next(iter(columns.values())))
        for start in range(0, size, 1 << 16):
            part = [values[start : start + (1 << 16)].tolist() for values in columns.values()]
            writer.writerows(zip(*part, strict=True))


def _arrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise WeftError(
            "Parquet files need PyArrow, which is not installed. Install it with pip install "
            "pyarrow, or write .csv or .npz."
        ) from error
    return pyarrow
