"""Dense oracles: the formulas of weft.learning in NumPy, with one row and column per vertex.

Nothing here is shared with weft but the list of edges.
"""

import numpy as np

import weft

WIDTHS = (1, 2, 3, 4, 7, 8, 16, 32, 33, 64, 128)


def social(*, directed=False, seed=1):
    """A small graph with a hub, self-loops, parallel edges, isolated vertices and weights."""
    rng = np.random.default_rng(seed)
    n, m = 60, 240
    src = np.minimum(rng.integers(0, n - 3, m), rng.integers(0, n - 3, m))
    dst = rng.integers(0, n - 3, m)
    weight = rng.integers(1, 9, m) / 4
    return weft.Graph.from_edges(src, dst, weight, num_vertices=n, directed=directed)


def tolerance(dtype):
    """How close results are to the oracle: rounding, and where an iteration stops."""
    return {"rtol": 2e-4, "atol": 2e-5} if np.dtype(dtype) == np.float32 else {"rtol": 1e-9}


def arcs(g, column=None):
    """Return sources and targets of all arcs, and the values of an edge column on them."""
    src, dst, weight = (None if x is None else np.asarray(x) for x in g.to_edges())
    if column is not None and column != "weight":
        values = np.asarray(g.edge[column])
    else:
        values = np.ones(len(src)) if weight is None else weight
    if not g.directed:
        proper = src != dst
        src, dst = np.concatenate([src, dst[proper]]), np.concatenate([dst, src[proper]])
        values = np.concatenate([values, values[proper]])
    return src, dst, values.astype(float)


def matrix(g, column=None):
    """Return W[v, u]: what the arcs u -> v weigh together; vectors along the last axis."""
    src, dst, values = arcs(g, column)
    n = g.num_vertices
    total = np.zeros((n, n, *values.shape[1:]))
    np.add.at(total, (dst, src), values)
    return total


def fixed_point(update, x, tol, max_iter):
    """Return x after updates until no element moves by more than tol, and how many there were."""
    for step in range(max_iter):
        new = update(x)
        moved = np.abs(new - x).max(initial=0)
        x = new
        if moved <= tol:
            return x, step + 1
    return x, max_iter


def safe_inverse(x):
    return np.divide(1, x, out=np.zeros_like(x), where=x != 0)


def normalized(x):
    total = x.sum(axis=-1, keepdims=True)
    return x / np.where(total == 0, 1, total)


def manifold_ranking(g, start, alpha, column, tol=1e-6, max_iter=200):
    start = np.asarray(start, float)
    w = matrix(g, column)
    vectors = start[:, None] if start.ndim == 1 else start
    w = np.broadcast_to(w if w.ndim == 3 else w[:, :, None], (*w.shape[:2], vectors.shape[1]))

    def update(x):
        return (
            alpha * np.einsum("vuk,uk->vk", w, x) * safe_inverse(w.sum(axis=1))
            + (1 - alpha) * vectors
        )

    found, steps = fixed_point(update, vectors, tol, max_iter)
    return found.reshape(start.shape), steps


def label_propagation(g, labels, alpha, column, seeds=(), tol=1e-6, max_iter=200):
    """Propagate one property."""
    start = normalized(np.asarray(labels, float))
    w = matrix(g, column) if isinstance(column, str | None) else column
    seeds = list(seeds)

    def update(x):
        new = normalized(alpha * normalized(w @ x) + (1 - alpha) * x)
        new[seeds] = start[seeds]
        return new

    return fixed_point(update, start, tol, max_iter)


def multimodal(g, start, alpha, column, tol=1e-6, max_iter=200):
    start = np.asarray(start, float)
    alpha = np.atleast_1d(alpha)
    w = matrix(g, column)
    w = w if w.ndim == 3 else w[:, :, None]

    def update(x):
        vectors = x[:, None] if x.ndim == 1 else x
        aggr = np.einsum("vum,uk->vmk", w, vectors)
        mixed = np.einsum("m,vmk->vk", alpha, aggr)
        return mixed.reshape(x.shape) + (1 - alpha.sum()) * start

    return fixed_point(update, start, tol, max_iter)


def brute_force_marginals(g, priors, potentials, mode="sum"):
    """Sum (or maximise) over all assignments; potentials[i] belongs to edge i, lower end first."""
    import itertools

    src, dst, _ = (None if x is None else np.asarray(x) for x in g.to_edges())
    n, k = priors.shape
    totals = np.zeros((n, k))
    for states in itertools.product(range(k), repeat=n):
        p = np.prod([priors[v, s] for v, s in enumerate(states)])
        for i, (a, b) in enumerate(zip(src, dst, strict=True)):
            p *= potentials[i][states[a], states[b]]
        for v, s in enumerate(states):
            totals[v, s] = totals[v, s] + p if mode == "sum" else max(totals[v, s], p)
    return normalized(totals)


def loopy_messages(
    g, priors, potentials, mode="sum", damping=0.0, tol=1e-6, max_iter=200, logarithms=False
):
    """Propagate beliefs message by message, each from the product of the others (no division).

    With `logarithms`, damping averages the logarithms of messages.
    """
    src, dst, _ = (None if x is None else np.asarray(x) for x in g.to_edges())
    edges = [(a, b, potentials[i]) for i, (a, b) in enumerate(zip(src, dst, strict=True))]
    edges += [(b, a, psi.T) for a, b, psi in edges]
    m = len(src)
    reverse = [(i + m) % (2 * m) for i in range(2 * m)]
    messages = np.ones((2 * m, priors.shape[1]))
    steps = 0
    while steps < max_iter:
        steps += 1
        new = np.empty_like(messages)
        for i, (a, _, psi) in enumerate(edges):
            cavity = normalized(priors[a])
            for j, (_, b, _) in enumerate(edges):
                if b == a and j != reverse[i]:
                    cavity = cavity * messages[j]
            products = cavity[:, None] * psi
            new[i] = products.sum(axis=0) if mode == "sum" else products.max(axis=0)
            new[i] /= new[i].max()
        if logarithms:
            new = new ** (1 - damping) * messages**damping
        else:
            new = (1 - damping) * new + damping * messages
        moved = np.abs(new - messages).max(initial=0)
        messages = new
        if moved <= tol:
            break
    beliefs = priors.copy()
    for i, (_, b, _) in enumerate(edges):
        beliefs[b] *= messages[i]
    return normalized(beliefs), steps


def als_sweep(ratings, rated, factors, users, ridge, implicit=None):
    """Solve for all users, then for all items, each by the full system of one vertex.

    `ratings[a, b]` is symmetric, `rated[a, b]` the number of ratings between two vertices.
    """
    factors = factors.copy()
    k = factors.shape[1]
    factors[rated.sum(axis=1) == 0] = 0
    for side in (users, ~users):
        other = factors[~side].T @ factors[~side]
        for v in np.flatnonzero(side):
            if implicit is None:
                gram = (factors * rated[v][:, None]).T @ factors + ridge * np.eye(k)
                right = ratings[v] @ factors
            else:
                extra = implicit * ratings[v]
                gram = other + (factors * extra[:, None]).T @ factors + ridge * np.eye(k)
                right = (rated[v] + extra) @ factors
            factors[v] = np.linalg.solve(gram, right)
    return factors


def als_error(g, factors, implicit=None):
    """Return the root of the mean squared error over the edges."""
    src, dst, weight = (np.asarray(x) for x in g.to_edges())
    product = np.einsum("ek,ek->e", factors[src], factors[dst])
    confidence = np.ones(len(src)) if implicit is None else 1 + implicit * weight
    missed = (weight if implicit is None else 1) - product
    return np.sqrt((confidence * missed**2).sum() / confidence.sum())


def propagation_matrix(g, aggregation, column=None):
    """Return the operator of gcn_propagate as a matrix."""
    a = matrix(g, column) if column is not None else _counted(g)
    total = a.sum(axis=1)
    if aggregation == "sum":
        return a
    if aggregation == "mean":
        return safe_inverse(total)[:, None] * a
    scale = 1 / np.sqrt(1 + total)
    return scale[:, None] * (a + np.eye(len(a))) * scale


def _counted(g):
    src, dst, _ = arcs(g)
    a = np.zeros((g.num_vertices,) * 2)
    np.add.at(a, (dst, src), 1)
    return a


def fastrp(g, projection, weights):
    """Average scaled random vectors over the neighbours."""
    a = _counted(g)
    count = np.maximum(a.sum(axis=1), 1)[:, None]
    x, embedding = np.asarray(projection, float), 0.0
    for weight in weights:
        x = (a @ x) / count  # vectors that cancel leave exactly 0, which is not scaled up
        length = np.linalg.norm(x, axis=1, keepdims=True)
        x = x / np.where(length == 0, 1, length)
        embedding = embedding + weight * x
    return embedding
