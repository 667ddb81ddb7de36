"""The algorithms of weft.learning, against formulas on dense matrices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import dense
import weft
from weft.learning.embeddings import _projection

from .calls import Call, near
from .cases import chance, pick
from .drawing import Drawn, Rng

DTYPES = ("float64", "float64", "float32")


def _close(dtype: str) -> dict[str, float]:
    return {"rtol": 2e-3, "atol": 2e-3} if dtype == "float32" else {"rtol": 1e-6, "atol": 1e-7}


def _small(drawn: Drawn, rng: Rng) -> Drawn:
    """Return a graph that dense matrices can hold."""
    if drawn.n <= 80:
        return drawn
    return Drawn(9, drawn.src[:20] % 9, drawn.dst[:20] % 9, None, drawn.directed)


def _bipartite(drawn: Drawn, rng: Rng) -> Drawn:
    """Return a graph whose edges run from its first vertices to the others."""
    drawn = _small(drawn, rng)
    half = max(drawn.n // 2, 1)
    n = max(drawn.n, 2)
    weight = None if drawn.weight is None else drawn.weight.astype(float) / 4
    return replace(
        drawn, n=n, src=drawn.src % half, dst=half + drawn.dst % (n - half), weight=weight,
        directed=True, labels=None, order=None,
    )  # fmt: skip


def _field(drawn: Drawn, rng: Rng) -> Drawn:
    """Return an undirected graph without self-loops, few edges and no weights."""
    drawn = _small(drawn, rng)
    proper = drawn.src != drawn.dst
    return replace(
        drawn, src=drawn.src[proper][:16], dst=drawn.dst[proper][:16], weight=None, directed=False,
        keep="both",
    )  # fmt: skip


def gcn_propagate(group: Rng, rng: Rng, drawn: Drawn) -> Call:
    """Features of the neighbours, summed or averaged."""
    kind, dtype = pick(group, ("gcn", "sum", "mean")), pick(group, DTYPES)
    column = pick(group, (None, "weight"))
    turned, k = chance(group, 0.3), int(pick(group, (1, 3, 8)))
    x = rng.normal(size=(drawn.n, k)).astype(dtype)

    def check(found):
        operator = dense.propagation_matrix(drawn.build(), kind, column)
        near(found, (operator.T if turned else operator) @ x.astype(float), **_close(dtype))

    return Call(
        f"weft.learning.gcn_propagate(g, x{x.shape}, {kind!r}, weight={column!r}, {turned})",
        lambda g, config: weft.learning.gcn_propagate(
            g, x, kind, weight=column, transposed=turned, config=config
        ),
        check,
        refuses=None,
    )


def fastrp(group: Rng, rng: Rng, drawn: Drawn) -> Call:
    """Embeddings by averaged random projections."""
    k, dtype, seed = int(pick(group, (3, 8))), pick(group, DTYPES), int(rng.integers(100))
    weights = (0.25, 1.0, 0.5)

    def check(found):
        g = drawn.build()
        start = _projection(g, k, -0.5, seed, np.dtype(dtype))
        near(found, dense.fastrp(g, start, weights) if drawn.n else found, **_close(dtype))

    return Call(
        f"weft.learning.fastrp(g, {k}, {weights}, seed={seed}, dtype={dtype!r})",
        lambda g, config: weft.learning.fastrp(
            g, k, weights, seed=seed, dtype=dtype, config=config
        ),
        check,
    )


def manifold_ranking(group: Rng, rng: Rng, drawn: Drawn) -> Call:
    """Scores that spread from starting scores."""
    dtype, alpha = pick(group, DTYPES), float(pick(rng, (0.3, 0.7)))
    start = rng.random((drawn.n, 3) if chance(group, 0.5) else drawn.n).astype(dtype)
    tol = 1e-8 if dtype == "float64" else 1e-4
    text = f"weft.learning.manifold_ranking(g, start{start.shape}, {alpha}, {tol}, 500)"

    def check(found):
        want, _ = dense.manifold_ranking(drawn.build(), start, alpha, "weight", tol, 500)
        near(found, want, **_close(dtype))

    return Call(
        text,
        lambda g, config: weft.learning.manifold_ranking(g, start, alpha, tol, 500, config=config),
        check,
        refuses=None,
    )


def multimodal(group: Rng, rng: Rng, drawn: Drawn) -> Call:
    """Features that spread over the weights, scaled down so that they come to rest."""
    dtype, alpha, tol = pick(group, DTYPES), 0.5, 1e-5
    start = rng.random((drawn.n, 2) if chance(group, 0.5) else drawn.n).astype(dtype)
    most = max(float(np.max(np.bincount(drawn.dst, minlength=1) * 2, initial=1)), 1.0)
    weights = (rng.random(len(drawn.src)) / most / 2).astype(dtype)

    def call(g, config):
        g.edge["by"] = weights
        return weft.learning.multimodal(g, start, alpha, tol, 500, weight="by", config=config)

    def check(found):
        g = drawn.build()
        g.edge["by"] = weights
        near(found, dense.multimodal(g, start, alpha, "by", tol, 500)[0], rtol=1e-3, atol=1e-3)

    return Call(f"weft.learning.multimodal(g, start{start.shape}, {alpha})", call, check)


def label_propagation_features(group: Rng, rng: Rng, drawn: Drawn) -> Call:
    """Distributions over labels after a fixed number of iterations."""
    dtype, k, rounds = pick(group, DTYPES), int(pick(group, (2, 5))), int(rng.integers(1, 12))
    labels = (rng.random((drawn.n, k)) < 0.3).astype(dtype)
    seeds = np.flatnonzero(labels.any(axis=1))

    def check(found):
        want, _ = dense.label_propagation(drawn.build(), labels, 0.8, "weight", seeds, 0.0, rounds)
        near(found, want, **_close(dtype))

    return Call(
        f"weft.learning.label_propagation_features(g, labels, 0.8, 0.0, {rounds}, seeds=...)",
        lambda g, config: weft.learning.label_propagation_features(
            g, labels, 0.8, 0.0, rounds, seeds=seeds, on_unconverged="return", config=config
        ),
        check,
        refuses=None,
    )


def belief_propagation(group: Rng, rng: Rng, drawn: Drawn) -> Call:
    """Beliefs after a fixed number of supersteps."""
    dtype, k, mode = pick(group, DTYPES), int(pick(group, (2, 3))), pick(group, ("sum", "max"))
    log, damping = chance(group, 0.4), float(pick(group, (0.0, 0.25)))
    rounds = int(rng.integers(1, 7))
    priors = (rng.random((drawn.n, k)) + 0.1).astype(dtype)
    psi = rng.random((k, k)) + 0.1

    def check(found):
        if not drawn.n:
            return
        g = drawn.build()
        wanted = [
            dense.loopy_messages(
                g, priors.astype(float), [psi] * g.num_edges, mode, damping, 0.0, rounds, by_logs
            )[0]
            for by_logs in ((True,) if log else (False, True))
        ]
        got = np.asarray(found.beliefs)
        # Runs driven by changes damp logarithms, whatever was asked for.
        near(got, min(wanted, key=lambda want: float(np.abs(got - want).max())), **_close(dtype))

    options = {"damping": damping, "log_domain": log}
    return Call(
        f"weft.learning.belief_propagation(g, priors, {psi.tolist()}, {mode!r}, 0.0, {rounds}, "
        f"{options})",
        lambda g, config: weft.learning.belief_propagation(
            g, priors, psi, mode, 0.0, rounds, config=config, **options
        ),
        check,
    )


def als(group: Rng, rng: Rng, drawn: Drawn) -> Call:
    """Factors of users and items after some sweeps."""
    dtype, k = pick(group, DTYPES), int(pick(group, (1, 3)))
    implicit, sweeps = pick(group, (None, 1.5)), int(rng.integers(1, 4))
    start = rng.normal(size=(drawn.n, k)).astype(dtype)
    users = np.arange(drawn.n) < max(drawn.n // 2, 1)

    def check(found):
        weight = np.ones(len(drawn.src)) if drawn.weight is None else drawn.weight
        ratings, rated = np.zeros((2, drawn.n, drawn.n))
        for table, values in ((ratings, weight), (rated, np.ones(len(drawn.src)))):
            np.add.at(table, (drawn.src, drawn.dst), values)
            np.add.at(table, (drawn.dst, drawn.src), values)
        want = start.astype(float)
        for _ in range(sweeps):
            want = dense.als_sweep(ratings, rated, want, users, 0.3, implicit)
        slack = {"rtol": 2e-2, "atol": 2e-2} if dtype == "float32" else {"rtol": 1e-6, "atol": 1e-8}
        near(found.factors, want, **slack)

    return Call(
        f"weft.learning.als(g, {k}, 0.3, {sweeps}, 0.0, users=..., implicit={implicit})",
        lambda g, config: weft.learning.als(
            g, k, 0.3, sweeps, 0.0, users=users, implicit=implicit, start=start, track=False,
            dtype=dtype, config=config,
        ),
        check,
    )  # fmt: skip


ALGORITHMS = {
    function.__name__: function
    for function in (
        gcn_propagate, fastrp, manifold_ranking, multimodal, label_propagation_features,
        belief_propagation, als,
    )
}  # fmt: skip
SHAPED = dict.fromkeys(ALGORITHMS, _small) | {"als": _bipartite, "belief_propagation": _field}
