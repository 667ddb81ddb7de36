"""Small graphs of awkward kinds, and configurations, drawn from a generator of random numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import weft
from small_formats import FORMATS
from weft.config import ORDERS, PASSES
from weft.schedules import schedules

from .cases import chance, pick

Rng = np.random.Generator


@dataclass(frozen=True)
class Drawn:
    """What a graph is built from; oracles read it in place of the graph."""

    n: int
    src: np.ndarray
    dst: np.ndarray
    weight: np.ndarray | None
    directed: bool
    keep: str = "both"
    wide: bool = False
    labels: tuple[Any, ...] | None = None
    order: Any = None

    def build(self, *, edges: int | None = None) -> weft.Graph:
        """Return the graph, or that of its first edges."""
        part = slice(edges)
        g = weft.Graph.from_edges(
            self.src[part],
            self.dst[part],
            None if self.weight is None else self.weight[part],
            num_vertices=self.n,
            directed=self.directed,
            keep=self.keep,
            index_dtype=np.int64 if self.wide else None,
            labels=None if self.labels is None else np.array(self.labels),
        )
        return g if self.order is None else g.reorder(self.order)

    def part(self, kept: Any) -> Drawn:
        """Return the same vertices with some of the edges."""
        at = np.asarray(kept, np.int64)
        weight = None if self.weight is None else self.weight[at]
        return replace(self, src=self.src[at], dst=self.dst[at], weight=weight)

    def arcs(self) -> list[tuple[int, int, Any]]:
        """Return (u, v, weight) of every arc; both ways of an undirected edge."""
        weight = np.ones(len(self.src), np.int64) if self.weight is None else self.weight
        arcs = list(zip(self.src.tolist(), self.dst.tolist(), weight.tolist(), strict=True))
        if self.directed:
            return arcs
        return arcs + [(v, u, w) for u, v, w in arcs if u != v]

    def pairs(self) -> list[tuple[int, int]]:
        """Return the ends of every edge."""
        return list(zip(self.src.tolist(), self.dst.tolist(), strict=True))

    def __str__(self) -> str:
        parts = [f"n={self.n}", f"src={self.src.tolist()}", f"dst={self.dst.tolist()}"]
        if self.weight is not None:
            parts.append(f"weight=np.array({self.weight.tolist()}, '{self.weight.dtype}')")
        parts += [f"directed={self.directed}"]
        for name in ("keep", "wide", "labels", "order"):
            if getattr(self, name) not in ("both", False, None):
                parts.append(f"{name}={getattr(self, name)}")
        return ", ".join(parts)


@dataclass(frozen=True)
class Style:
    """What compiled kernels depend on, and so the graphs of a group share."""

    weights: str | None
    keep: str
    wide: bool
    ordered: bool


def drawn_style(rng: Rng, *, sound: bool = False) -> Style:
    """Draw the dtype of weights and ids, which arcs are kept, and whether vertices are reordered.

    `sound` leaves out narrow integers.
    """
    dtypes = (None, None, "float32", "float64", "float64", "int64", "int32")
    narrow = () if sound else ("int8", "uint8", "int16", "uint32")
    return Style(
        pick(rng, (*dtypes, *narrow)),
        pick(rng, ("both",) * 8 + ("out", "in")),
        chance(rng, 0.15),
        chance(rng, 0.2),
    )


def drawn_graph(rng: Rng, style: Style, *, sound: bool = False) -> Drawn:
    """Draw a graph; `sound` asks for weights that are finite, moderate and not negative."""
    n, src, dst = drawn_ends(rng)
    weight = None if style.weights is None else _weights(rng, len(src), style.weights, sound)
    directed = chance(rng, 0.6) or style.keep != "both"
    order = labels = None
    if style.ordered:
        order = pick(rng, ORDERS) if chance(rng, 0.7) else tuple(rng.permutation(n).tolist())
    if chance(rng, 0.2):
        form = int(rng.integers(3))
        names = {0: [f"v{k}" for k in range(n)], 1: [7 * k + 1_000_000_007 for k in range(n)]}
        labels = tuple(names.get(form, [str(n - k) for k in range(n)]))
    return Drawn(n, src, dst, weight, directed, style.keep, style.wide, labels, order)


def drawn_ends(rng: Rng, most: int | None = None) -> tuple[int, np.ndarray, np.ndarray]:
    """Draw the number of vertices, perhaps bounded, and the ends of the edges."""
    form = int(rng.integers(14 if most is None else 13))
    n = min(int(pick(rng, (1, 2, 3, 5, 8, 12, 12, 20, 33, 65))), most or 65)
    k = np.arange(max(n - 1, 0))
    hub = int(rng.integers(n))
    shapes: dict[int, tuple[Any, Any]] = {
        0: ([], []),
        1: (k, k + 1),
        2: (np.arange(n), (np.arange(n) + 1) % n),
        3: (np.full(n, hub), np.arange(n)),
        4: (np.arange(n), np.full(n, hub)),
        5: np.nonzero(np.triu(np.ones((min(n, 12),) * 2), 1)),
        6: (k + 1, (rng.random(k.size) * (k + 1)).astype(int)),
        7: (rng.integers(0, n, 5), np.full(5, hub)),
        8: (np.arange(n), np.arange(n)),
    }
    if form == 0 and chance(rng, 0.3):
        n = 0
    if form == 13 and chance(rng, 0.2):  # large enough to be shared among threads
        n = int(rng.integers(300, 2500))
        ends = rng.integers(0, n, (2, 4 * n))
        return n, np.minimum(*rng.integers(0, n, (2, 4 * n))), ends[1]
    if form in shapes:
        src, dst = (np.asarray(x, np.int64) for x in shapes[form])
    else:
        src, dst = rng.integers(0, n, (2, int(rng.integers(0, 4 * n + 2))))
    if src.size and chance(rng, 0.3):  # parallel edges, turned round as well
        again = rng.integers(0, src.size, 3)
        src, dst = np.append(src, dst[again]), np.append(dst, src[again])
    if n and chance(rng, 0.3):
        loops = rng.integers(0, n, 2)
        src, dst = np.append(src, loops), np.append(dst, loops)
    extra = int(rng.integers(0, 3)) if chance(rng, 0.3) else 0  # isolated vertices at the end
    return n + extra, src, dst


FLOATS = {
    "huge": (1e308, 1.7e308, 1e300, 3e38),
    "tiny": (5e-324, 1e-320, 2e-308, 1e-300),
    "special": (np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0, -1.0),
    "infinite": (np.inf, 1.0, 2.5, 0.0),
    "mixed": (1e-300, 1.0, 1e300, 0.0, 1e16, 1.0),
    "negative": (-1.0, 0.5, 2.0, 3.0, -0.25, 4.0),
}
SOUND = ("zero", "quarters", "random")


def _weights(rng: Rng, count: int, dtype: str, sound: bool) -> np.ndarray:
    """Draw weights of a dtype."""
    if np.dtype(dtype).kind != "f":
        return _integers(rng, count, np.dtype(dtype), sound)
    kind = pick(rng, SOUND if sound else (*SOUND, *SOUND, *FLOATS))
    if kind == "zero":
        return np.zeros(count, dtype)
    if kind == "quarters":
        return (rng.integers(0, 33, count) / 4).astype(dtype)
    if kind == "random":
        return rng.random(count).astype(dtype)
    with np.errstate(over="ignore"):
        return np.array(FLOATS[kind])[rng.integers(0, len(FLOATS[kind]), count)].astype(dtype)


def _integers(rng: Rng, count: int, dtype: np.dtype, sound: bool) -> np.ndarray:
    """Draw integer weights: small ones, negative ones, or the largest."""
    kind = 0 if sound else int(rng.integers(5))
    if kind == 3 and dtype.kind == "i":
        return rng.integers(-3, 30, count).astype(dtype)
    if kind == 4:
        values = np.array([np.iinfo(dtype).max // k for k in (1, 2, 200)] + [1], dtype)
        return values[rng.integers(0, 4, count)]
    return rng.integers(0, 100, count).astype(dtype)


def drawn_config(rng: Rng, device: str, **fixed: Any) -> weft.Config:
    """Draw a configuration that is valid, though not every program can run under it."""
    chosen: dict[str, Any] = {
        "direction": pick(rng, ("auto", "auto", "push", "pull", "beamer", "ligra", "simdx")),
        "schedule": pick(rng, (None, "vertex", "edge", "merge", "weaver")),
        "format": pick(rng, (None, None, *FORMATS.values())),
        "deterministic": chance(rng, 0.2),
        "fold": chance(rng, 0.8),
        "reorder": pick(rng, ORDERS) if chance(rng, 0.2) else None,
        "ordering": pick(rng, (True, True, False)),
        "change_driven": pick(rng, (False, False, False, "auto", "auto", True)),
        "frontier_in": pick(rng, (None, None, "queue", "bitmap", "state")),
    }
    if chance(rng, 0.2):
        chosen["passes_off"] = frozenset(
            name for name in PASSES if chance(rng, pick(rng, (0.1, 0.5, 1.0)))
        )
    if chance(rng, 0.1):
        chosen["schedule"] = {"push": "merge", "pull": "vertex", "gather": "edge"}
    if chance(rng, 0.2):
        chosen["delta"] = float(pick(rng, (1e-3, 1.0, 8.0, 1e9)))
    if device != "cpu":
        chosen |= _of_device(rng)
    return weft.Config(**(chosen | fixed))


def with_threads(config: weft.Config, rng: Rng) -> weft.Config:
    """Return a configuration with a drawn number of threads, which needs no kernel of its own."""
    return replace(config, threads=int(rng.integers(1, 4)))


def _of_device(rng: Rng) -> dict[str, Any]:
    """Draw the choices that mean something on a GPU."""
    return {
        "schedule": pick(rng, (None, *schedules())),
        "fuse": pick(rng, ("all", "all", "direction", "none")),
        "frontier_in": pick(rng, (None, "queue", "bitmap", "bytemap", "reverse_queue", "state")),
        "frontier_out": pick(rng, (None, "queue", "bitmap", "bytemap")),
        "compaction": pick(rng, ("online", "ballot", "batch", "atomic", "jit")),
        "dedup": pick(rng, ("exact", "none", "bitmask", "history", "warp")),
        "combine": pick(rng, ("atomic", "by_target", "radix")),
        "block_size": pick(rng, (32, 64, 96)),
        "bin_size": pick(rng, (1, 64)),
        "width": pick(rng, ("auto", "block", "grid")),
    }
