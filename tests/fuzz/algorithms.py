"""Every built-in algorithm on awkward graphs under drawn configurations, against an oracle."""

from __future__ import annotations

import random
from typing import Any

import networkx as nx
import numpy as np

import weft

from . import learning, oracles
from .calls import Call, judge, near, on_host, same
from .cases import GROUP, Difference, chance, pick, random_of
from .drawing import Drawn, Rng, drawn_config, drawn_graph, drawn_style, with_threads
from .shrinking import fewest


def run(seed: int, device: str) -> str:
    """Run one case. Seeds of one group share the algorithm, its dtypes and the configuration."""
    group, rng = random_of("algorithms", seed // GROUP), random_of("algorithms of", seed)
    name = pick(group, sorted(ALGORITHMS))
    config = drawn_config(group, device) if chance(group, 0.8) else weft.Config()
    sound = name in learning.ALGORITHMS
    drawn = drawn_graph(rng, drawn_style(group, sound=sound), sound=sound)
    if name in learning.SHAPED:
        drawn = learning.SHAPED[name](drawn, rng)
    config = with_threads(config, rng)
    states = group.bit_generator.state, rng.bit_generator.state

    def attempt(drawn: Drawn) -> tuple[Call, Any]:
        """Draw the options of the call, the same for every graph, and make it."""
        group.bit_generator.state, rng.bit_generator.state = states
        call = ALGORITHMS[name](group, rng, drawn)
        try:
            return call, judge(call, drawn.build().to(device), config)
        except Exception as error:
            return call, error

    call, result = attempt(drawn)
    if isinstance(result, str):
        return result
    kept = range(len(drawn.src))
    if len(kept) < 300:
        kept = fewest(kept, lambda kept: not isinstance(attempt(drawn.part(kept))[1], str))
    drawn = drawn.part(kept)
    call, result = attempt(drawn)
    raw = "" if isinstance(result, Difference) else f"raw {type(result).__name__}: "
    raise Difference(f"{call.text}\n{drawn}\n{config.given()}\n{raw}{result}")


def _source(drawn: Drawn, rng: Rng) -> tuple[int, Any]:
    """Draw a vertex; returns its number and what it is called."""
    if not drawn.n:
        return 0, 0
    v = int(rng.integers(drawn.n))
    return v, v if drawn.labels is None else drawn.labels[v]


def _grown(drawn: Drawn, rng: Rng):
    """Return a function that calls an algorithm on some edges, adds the rest, and calls it again.

    None where that is not drawn, or the edges have names.
    """
    if drawn.labels is not None or not len(drawn.src) or not chance(rng, 0.25):
        return None
    kept = int(rng.integers(len(drawn.src)))

    def grown(g: weft.Graph, algorithm: Any) -> Any:
        before = drawn.build(edges=kept).to(g.device)
        result = algorithm(before)
        more = {} if drawn.weight is None else {"weight": drawn.weight[kept:]}
        after = before.add_edges(drawn.src[kept:], drawn.dst[kept:], **more)
        return algorithm(after, warm_start=result, since=before)

    return grown


def bfs(group: Rng, rng: Rng, drawn: Drawn) -> Call:
    """Levels and parents of a breadth-first search."""
    source, name = _source(drawn, rng)
    grown = _grown(drawn, rng)

    def call(g, config):
        def search(h, **more):
            return weft.bfs(h, name, config=config, **more)

        return search(g) if grown is None else grown(g, search)

    def check(found):
        want = oracles.levels(drawn, source)
        same(found.level, want, "levels")
        reached = [float(x) if x >= 0 else np.inf for x in want]
        hops = Drawn(drawn.n, drawn.src, drawn.dst, None, drawn.directed)
        oracles.check_parents(hops, source, reached, on_host(found.parent).tolist())

    text = f"weft.bfs(g, {name!r})" + (" grown" if grown else "")
    return Call(text, call, check, refuses=drawn.n == 0)


def acc_bfs(group: Rng, rng: Rng, drawn: Drawn) -> Call:
    """Levels in the Active-Compute-Combine model."""
    source, name = _source(drawn, rng)
    return Call(
        f"weft.acc.bfs(g, {name!r})",
        lambda g, config: weft.acc.bfs(g, name, config=config),
        lambda found: same(found, oracles.levels(drawn, source), "levels"),
        refuses=drawn.n == 0,
    )


def _checked_distances(drawn: Drawn, source: int, dtype: Any, found: Any, missing: float) -> list:
    want = oracles.distances(drawn, source, np.dtype(dtype))
    assert want is not None
    shown = [missing if x == np.inf else x for x in want]
    negative = drawn.weight is not None and bool((drawn.weight < 0).any())
    if negative and np.dtype(dtype).kind == "f":  # rounding may depend on the order then
        near(found, shown, "distances", rtol=1e-5)
        return [float(x) for x in want]
    same(found, np.array(shown, dtype), "distances")
    return want


def _overflows(drawn: Drawn) -> bool:
    """Whether integer distances may exceed 64 bits, so that weft may refuse the graph."""
    weight = drawn.weight
    if weight is None or weight.dtype.kind == "f" or not weight.size:
        return False
    return max(abs(int(weight.min())), abs(int(weight.max()))) * drawn.n >= 2**61


def sssp(group: Rng, rng: Rng, drawn: Drawn) -> Call:
    """Distances and parents of shortest paths."""
    source, name = _source(drawn, rng)
    weight = drawn.weight
    floats = weight is not None and weight.dtype.kind == "f"
    dtype = weight.dtype if floats else np.dtype(np.int64)
    grown = _grown(drawn, rng)

    def call(g, config):
        def search(h, **more):
            return weft.sssp(h, name, config=config, **more)

        return search(g) if grown is None else grown(g, search)

    def check(found):
        want = _checked_distances(drawn, source, dtype, found.dist, np.inf if floats else -1)
        if not floats or not (weight < 0).any():
            oracles.check_parents(drawn, source, want, on_host(found.parent).tolist())

    text = f"weft.sssp(g, {name!r})" + (" grown" if grown else "")
    odd = floats and bool(np.isnan(weight).any() or (weight == -np.inf).any())
    if drawn.n and (odd or _overflows(drawn)):
        return Call(text, call, None if odd else check, refuses=None)
    negative = drawn.n == 0 or oracles.distances(drawn, source, dtype) is None
    return Call(text, call, check, refuses=negative)


def acc_sssp(group: Rng, rng: Rng, drawn: Drawn) -> Call:
    """Distances in the Active-Compute-Combine model, in float64."""
    source, name = _source(drawn, rng)
    bad = drawn.n == 0 or (drawn.weight is not None and not (drawn.weight >= 0).all())
    return Call(
        f"weft.acc.sssp(g, {name!r})",
        lambda g, config: weft.acc.sssp(g, name, config=config),
        lambda found: _checked_distances(drawn, source, np.float64, found, np.inf),
        refuses=bad,
    )


def connected_components(group: Rng, rng: Rng, drawn: Drawn) -> Call:
    """Weak components."""
    grown = _grown(drawn, rng)

    def call(g, config):
        def label(h, **more):
            return weft.connected_components(h, config=config, **more)

        return label(g) if grown is None else grown(g, label)

    return Call(
        "weft.connected_components(g)" + (" grown" if grown else ""),
        call,
        lambda found: same(found, oracles.components(drawn), "labels"),
    )


def acc_components(group: Rng, rng: Rng, drawn: Drawn) -> Call:
    """Weak components in the Active-Compute-Combine model."""
    return Call(
        "weft.acc.components(g)",
        lambda g, config: weft.acc.components(g, config=config),
        lambda found: same(found, oracles.components(drawn), "labels"),
    )


def core_number(group: Rng, rng: Rng, drawn: Drawn) -> Call:
    """Core numbers."""
    return Call(
        "weft.core_number(g)",
        lambda g, config: weft.core_number(g, config=config),
        lambda found: same(
            found, oracles.values_of(nx.core_number(oracles.simple_graph(drawn))), "cores"
        ),
    )


def k_core(group: Rng, rng: Rng, drawn: Drawn) -> Call:
    """Members of the k-core."""
    k = int(rng.integers(0, 5))

    def check(found):
        inside = set(nx.k_core(oracles.simple_graph(drawn), k)) if drawn.n else set()
        same(found, [v in inside for v in range(drawn.n)], f"the {k}-core")

    return Call(
        f"weft.acc.k_core(g, {k})",
        lambda g, config: weft.acc.k_core(g, k, config=config),
        check,
    )


def triangle_count(group: Rng, rng: Rng, drawn: Drawn) -> Call:
    """The number of triangles."""
    return Call(
        "weft.triangle_count(g)",
        lambda g, config: weft.triangle_count(g, config=config),
        lambda found: same(found, sum(nx.triangles(oracles.simple_graph(drawn)).values()) // 3),
    )


def clustering(group: Rng, rng: Rng, drawn: Drawn) -> Call:
    """Clustering coefficients."""
    return Call(
        "weft.clustering(g)",
        lambda g, config: weft.clustering(g, config=config),
        lambda found: near(
            found, oracles.values_of(nx.clustering(oracles.simple_graph(drawn))), "coefficients"
        ),
    )


def betweenness(group: Rng, rng: Rng, drawn: Drawn) -> Call:
    """Betweenness from all vertices or from some."""
    n, normalized = drawn.n, chance(rng, 0.5)
    if n and (n > 100 or chance(rng, 0.4)):
        k, seed = int(rng.integers(1, min(n, 8) + 1)), int(rng.integers(1000))
        chosen = random.Random(seed).sample(range(n), k)
        given = chosen if drawn.labels is None else [drawn.labels[v] for v in chosen]
        options = {"k": k, "seed": seed, "normalized": normalized}
    else:
        given, options = None, {"normalized": normalized}
    return Call(
        f"weft.betweenness(g, {given}, {normalized})",
        lambda g, config: weft.betweenness(g, given, normalized, config=config),
        lambda found: (
            near(found, oracles.betweenness(drawn, **options), "betweenness")
            if n
            else same(found, [])
        ),
    )


def label_propagation(group: Rng, rng: Rng, drawn: Drawn) -> Call:
    """Communities by the most frequent label."""
    count = int(rng.integers(0, 7))
    return Call(
        f"weft.label_propagation(g, {count})",
        lambda g, config: weft.label_propagation(g, count, config=config),
        lambda found: same(found, oracles.propagated_labels(drawn, count), "labels"),
    )


def pagerank(group: Rng, rng: Rng, drawn: Drawn) -> Call:
    """PageRank: weighted or not, personal or not, adaptive or not, in both dtypes."""
    weighted, adaptive = chance(group, 0.4), chance(group, 0.25)
    dtype = pick(group, (np.float64, np.float64, np.float32))
    form = pick(group, ("none", "array", "dict", "many"))
    damping = float(pick(rng, (0.0, 0.5, 0.85, 0.85, 0.95)))
    tol = 1e-8 if dtype is np.float64 else 1e-4
    n = drawn.n
    homes = rng.integers(0, 3, (n, 2)) + np.eye(n, 2, k=0, dtype=int)
    if n:
        homes[-1] += 1
    given: Any = {"none": None, "array": homes[:, 0], "many": homes}.get(form)
    if form == "dict":
        names = range(n) if drawn.labels is None else drawn.labels
        given = {name: int(x) for name, x in zip(names, homes[:, 0], strict=True) if x}
    if form == "many":
        adaptive = False
    options = {"weighted": weighted, "dtype": dtype, "adaptive": adaptive, "personalization": given}

    def check(found):
        assert found.dtype == dtype
        slack = {"rtol": 1e-6, "atol": 4 * tol / (1 - damping) + 4 * np.finfo(dtype).eps}
        columns = homes.T if form == "many" else [np.ones(n) if form == "none" else homes[:, 0]]
        found = on_host(found).reshape(n, len(columns))
        for k, home in enumerate(columns):
            want = oracles.ranks(drawn, damping, home / home.sum(), weighted=weighted)
            near(found[:, k], want, "ranks", **slack)

    weight = drawn.weight
    odd = weighted and weight is not None and not bool(((weight >= 0) & np.isfinite(weight)).all())
    return Call(
        f"weft.pagerank(g, {damping}, {tol}, 5000, {options})",
        lambda g, config: weft.pagerank(g, damping, tol, 5000, config=config, **options),
        check if n else lambda found: None,
        refuses=None if n == 0 else odd,
    )


def acc_pagerank(group: Rng, rng: Rng, drawn: Drawn) -> Call:
    """PageRank in the Active-Compute-Combine model."""
    damping = float(pick(rng, (0.5, 0.85)))

    def check(found):
        home = np.full(drawn.n, 1 / max(drawn.n, 1))
        if drawn.n:
            near(found, oracles.ranks(drawn, damping, home, weighted=False), "ranks", atol=1e-6)

    return Call(
        f"weft.acc.pagerank(g, {damping})",
        lambda g, config: weft.acc.pagerank(g, damping, config=config),
        check,
    )


ALGORITHMS = {
    function.__name__: function
    for function in (
        bfs, acc_bfs, sssp, acc_sssp, connected_components, acc_components, core_number, k_core,
        triangle_count, clustering, betweenness, label_propagation, pagerank, acc_pagerank,
    )
} | learning.ALGORITHMS  # fmt: skip
