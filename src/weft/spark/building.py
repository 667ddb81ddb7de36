"""`weft.spark.graph`: a graph from Spark DataFrames; `weft.spark.frame`: results as one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from weft.blocks.manifest import Column, Manifest
from weft.blocks.topology import PartitionedTopology
from weft.errors import ConfigError, GraphError, expected
from weft.graph import Graph
from weft.graph.labels import Labels, label_array
from weft.graph.partitioned import partitioned_graph
from weft.topology.adjacency import index_dtype_for

Array = np.ndarray[Any, Any]

BLOCKS_PER_CORE = 2
_NUMBERS = {"byte": "int8", "short": "int16", "integer": "int32", "long": "int64",
            "float": "float32", "double": "float64", "boolean": "bool"}  # fmt: skip


def graph(  # noqa: PLR0913
    session: Any,
    edges: Any,
    *,
    src: str = "src",
    dst: str = "dst",
    weight: str | None = None,
    columns: Sequence[str] = (),
    vertices: Any = None,
    key: str = "id",
    directed: bool = True,
    blocks: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    every: int = 5,
    resume: bool = False,
) -> Graph:
    """Return a graph whose arcs are in the tasks of a Spark cluster.

    Spark numbers the vertices, sorts the arcs into blocks and caches them on its executors. Sweeps
    run there, compiled as on any machine; the fields of the vertices stay in the driver, which must
    have memory for them, and are broadcast. The workers need weft too, and the same Python: set
    ``PYSPARK_PYTHON``.

    Parameters
    ----------
    session : SparkSession
        The session.
    edges : DataFrame
        One row per edge.
    src, dst : str
        The columns with the ends of each edge: numbers or text.
    weight : str, optional
        The column with the weights, a number.
    columns : sequence of str
        Further columns of numbers, read as e.name.
    vertices : DataFrame, optional
        One row per vertex, if some have no edges.
    key : str
        The column of `vertices` with the vertices, as in `src` and `dst`.
    directed : bool
        If False, every edge runs both ways.
    blocks : int, optional
        The number of blocks; by default two for each core of the cluster.
    checkpoint : path, optional
        A folder that the driver can write to, for the state of runs.
    every : int
        After how many supersteps the state is written there.
    resume : bool
        Whether runs continue from what an earlier driver left in `checkpoint`, given the same edges
        and the same calls.

    Returns
    -------
    Graph
        Its labels are the keys.

    Raises
    ------
    GraphError
        If a column does not exist, or holds nulls or no numbers.
    """
    if resume and checkpoint is None:
        raise ConfigError("resume=True needs checkpoint=, the folder of the earlier run.")
    if every < 1:
        raise ConfigError(f"every={every} is not possible. Expected 1 or more supersteps.")
    from weft.spark.carrier import SparkCarrier
    from weft.spark.checkpoints import Checkpoints

    kinds = _checked(edges, src, dst, weight, columns)
    if vertices is not None and key not in vertices.columns:
        raise GraphError(f"vertices has no column {key!r}. {expected(vertices.columns)}.")
    keys = _keys(edges, src, dst, vertices, key)
    numbered = bool(keys.dtype.kind in "iu" and np.array_equal(keys, np.arange(keys.size)))
    held = None if numbered else session.sparkContext.broadcast(keys.tolist())
    count = blocks or BLOCKS_PER_CORE * session.sparkContext.defaultParallelism
    frame_, manifest, degrees = _built(
        edges.select(
            edges[src].alias("__src"), edges[dst].alias("__dst"),
            *([edges[weight].alias("weight")] if weight else []), *(edges[c] for c in columns),
        ),
        keys, held, kinds, count, directed,
    )  # fmt: skip
    folder = None if checkpoint is None else Path(checkpoint)
    carrier = SparkCarrier(frame_, manifest, degrees, Checkpoints(folder, every, resume))
    topology = PartitionedTopology(manifest, degrees, carrier)
    labels = None if numbered else Labels(label_array(keys.tolist())).check()
    return partitioned_graph(topology, labels=labels)


def frame(g: Graph, **columns: Any) -> Any:
    """Return values of the vertices as a DataFrame with the column `id` and one for each array.

    Parameters
    ----------
    g : Graph
        A graph made by `weft.spark.graph`.
    columns
        One value per vertex, by name, such as ``rank=weft.pagerank(g)``.
    """
    import pyarrow

    session = g.topology.carrier.blocks.sparkSession
    ids = np.arange(g.num_vertices) if g.labels is None else list(g.labels)
    for name, values in columns.items():
        if len(values) != g.num_vertices:
            raise GraphError(
                f"{name} has {len(values)} values. Expected one for each of the {g.num_vertices} "
                "vertices; pass the result of an algorithm or a field."
            )
    table = pyarrow.table({"id": ids, **{name: np.asarray(v) for name, v in columns.items()}})
    return session.createDataFrame(table)


def _checked(
    edges: Any, src: str, dst: str, weight: str | None, columns: Sequence[str]
) -> dict[str, str]:
    """Return the dtypes of the edge columns; raise if one does not exist or is no number."""
    known = {field.name: field.dataType.typeName() for field in edges.schema.fields}
    for name in (src, dst, *([weight] if weight else []), *columns):
        if name not in known:
            raise GraphError(f"edges has no column {name!r}. {expected(known)}.")
    wanted = ({"weight": weight} if weight else {}) | {name: name for name in columns}
    for own in wanted.values():
        if known[own] not in _NUMBERS:
            raise GraphError(
                f"column {own!r} of edges holds {known[own]}. Expected numbers; cast it first."
            )
    return {name: _NUMBERS[known[own]] for name, own in wanted.items()}


def _keys(edges: Any, src: str, dst: str, vertices: Any, key: str) -> Array:
    """Return the distinct keys of the vertices, sorted, in the driver."""
    found = edges.select(edges[src].alias("key")).union(edges.select(edges[dst].alias("key")))
    if vertices is not None:
        found = found.union(vertices.select(vertices[key].alias("key")))
    column = found.distinct().toArrow().column("key")
    if column.null_count:
        raise GraphError("an end of an edge is null. Expected a key for every end; drop such rows.")
    return np.sort(np.asarray(column.to_numpy()))


def _built(
    edges: Any, keys: Array, held: Any, kinds: dict[str, str], count: int, directed: bool
) -> tuple[Any, Manifest, dict[str, Array]]:
    """Return the cached blocks, the manifest and the degrees."""
    from pyspark import StorageLevel

    from weft.spark import tasks

    n, names = int(keys.size), list(kinds)
    degrees = {way: _counted(edges, f"__{end}", keys) for way, end in
               (("out", "src"), ("in", "dst"))}  # fmt: skip
    num_edges = int(degrees["out"].sum())
    loops = edges.filter(edges["__src"] == edges["__dst"]).count()
    if not directed:
        both = degrees["out"] + degrees["in"]
        own = _counted(edges.filter(edges["__src"] == edges["__dst"]), "__src", keys)
        degrees = {"out": both - own}
    ways = ("out", "in") if directed else ("out",)
    work = np.cumsum(sum(degrees.values()) + 1)
    marks = np.linspace(0, work[-1] if n else 0, min(count, max(n, 1)) + 1)[1:-1]
    cuts = (
        np.unique([0, *(np.searchsorted(work, marks) + 1).tolist(), n]) if n else np.zeros(2, int)
    )
    dtype = index_dtype_for(n)
    placed = _placed(edges.sparkSession, len(cuts) - 1)
    arcs_schema = "place long, out boolean, row long, target long" + "".join(
        f", {name} {kind}" for name, kind in zip(names, _spark_types(kinds), strict=True)
    )
    ends = ("__src", "__dst")
    arcs = edges.mapInArrow(tasks.arcs_of_edges(ends, names, cuts, ways, placed, held), arcs_schema)
    build = tasks.build_blocks(tuple(cuts.tolist()), dtype.name, names, ways, placed)
    arcs = arcs.union(_marks(edges.sparkSession, placed, arcs.schema))
    blocks = arcs.repartition(len(cuts) - 1, "place").groupBy("place")
    blocks = blocks.applyInArrow(build, "number int, blocks binary")
    blocks = blocks.persist(StorageLevel.DISK_ONLY)  # tasks map files of their own
    manifest = Manifest(
        num_vertices=n,
        num_edges=num_edges,
        num_arcs=int(sum(degrees["out"].tolist())),
        directed=directed,
        keep="both",
        index_dtype=dtype.name,
        cuts=tuple(cuts.tolist()),
        columns=_ranges(edges, kinds),
        blocks=dict.fromkeys(ways, ()),
        loops=loops,
        parallel=num_edges - edges.select(*_pair(edges, directed)).distinct().count(),
    )
    return blocks, manifest, {way: d.astype(dtype) for way, d in degrees.items()}


def _pair(edges: Any, directed: bool) -> list[Any]:
    """Return the two ends of an edge, the lower one first if it is undirected."""
    from pyspark.sql import functions

    if directed:
        return [edges["__src"], edges["__dst"]]
    low = functions.least("__src", "__dst").alias("low")
    return [low, functions.greatest("__src", "__dst").alias("high")]


def _placed(session: Any, count: int) -> list[int]:
    """Return one value for each of some partitions that Spark puts there, in order.

    So every partition gets one block. Where Spark put block numbers themselves, some partitions
    would have several, and others none.
    """
    from pyspark.sql import functions

    place = functions.pmod(functions.hash("id"), functions.lit(count)).alias("place")
    tried = session.range(count * (int(count).bit_length() + 16)).select("id", place)
    found = tried.groupBy("place").agg(functions.min("id").alias("id")).collect()
    return [row["id"] for row in sorted(found, key=lambda row: row["place"])]


def _marks(session: Any, placed: list[int], schema: Any) -> Any:
    """Return a row for every block that stands for no arc: blocks without arcs are there too."""
    from pyspark.sql import functions

    frame = session.createDataFrame([(place,) for place in placed], "place long")
    values = {"out": True, "row": -1, "target": -1}
    return frame.select("place", *(
        functions.lit(values.get(field.name, 0)).cast(field.dataType).alias(field.name)
        for field in schema.fields[1:]
    ))  # fmt: skip


def _spark_types(kinds: dict[str, str]) -> list[str]:
    names = {kind: name for name, kind in _NUMBERS.items()}
    return [{"integer": "int"}.get(names[kind], names[kind]) for kind in kinds.values()]


def _counted(edges: Any, end: str, keys: Array) -> Array:
    """Return how many edges have each vertex at one end."""
    table = edges.groupBy(end).count().toArrow()
    degree = np.zeros(keys.size, np.int64)
    places = np.searchsorted(keys, np.asarray(table.column(end).to_numpy()))
    degree[places] = np.asarray(table.column("count").to_numpy())
    return degree


def _ranges(edges: Any, kinds: dict[str, str]) -> dict[str, Column]:
    """Return the edge columns with the range of their values."""
    from pyspark.sql import functions

    found = {}
    for name, kind in kinds.items():
        low, high, nulls = edges.select(
            functions.min(name), functions.max(name),
            functions.sum(functions.isnull(name).cast("long")),
        ).first()  # fmt: skip
        if nulls:
            raise GraphError(
                f"column {name!r} of edges has {nulls} nulls. Expected a number for every edge; "
                "fill or drop them."
            )
        high_is_nan = high is not None and high != high  # NaN is the largest to Spark
        low, high = (float("nan"),) * 2 if high_is_nan else (low or 0, high or 0)
        found[name] = Column(kind, (), low, high)
    return found
