"""The updates of `weft.learning` written with sparse products and scatters.

`Arrays` rivals use CuPy with cuSPARSE (on a CPU: NumPy with SciPy), `Tensors` rivals PyTorch. Each
prepares constant data once and returns a function of the number of iterations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.arrays.device import module_of

Rival = Callable[[int], Any]


class Data:
    """Arrays of one task: arcs sorted by destination, weights, features."""

    def __init__(self, g: Any, k: int, seed: int = 1) -> None:
        topology = g.topology
        self.xp = topology.xp
        self.n, self.k = topology.num_vertices, k
        rows = topology.adjacency("in")
        self.offsets, self.src = rows.offsets, rows.targets
        self.dst = rows.rows()
        self.weight = g.edge.in_slots("weight", "in")
        self.x = draw(self.xp, (self.n, k), seed) + np.float32(0.05)

    def matrix(self, values: Any) -> Any:
        """Return the sparse matrix whose row v holds the values of the arcs into v."""
        if self.xp is np:
            from scipy.sparse import csr_matrix
        else:
            from cupyx.scipy.sparse import csr_matrix
        kind = np.int32 if self.src.size < 2**31 else np.int64
        columns, ends = self.src.astype(kind), self.offsets.astype(kind)
        return csr_matrix((values, columns, ends), shape=(self.n, self.n))


def draw(xp: Any, shape: Any, seed: int) -> Any:
    """Return float32 random numbers from 0 to 1, generated on the device that uses them."""
    return xp.random.default_rng(seed).random(shape, dtype=np.float32)


def normalized(x: Any, axis: int = 1) -> Any:
    total = x.sum(axis=axis, keepdims=True)
    return x / (total + (total == 0))


def scatter(xp: Any, n: int, place: Any, values: Any) -> Any:
    """Return the sums of values by index."""
    out = xp.zeros((n, *values.shape[1:]), values.dtype)
    if xp is np:
        np.add.at(out, place, values)
    else:
        import cupyx

        cupyx.scatter_add(out, place, values)
    return out


# -- label propagation


def lp_arrays(data: Data, alpha: float) -> Rival:
    a = data.matrix(data.weight.astype(np.float32))

    def run(iterations: int) -> Any:
        x = normalized(data.x)
        for _ in range(iterations):
            x = normalized(alpha * normalized(a @ x) + (1 - alpha) * x)
        return x

    return run


def lp_tensors(torch: Any, data: Data, alpha: float) -> Rival:
    a = sparse_tensor(torch, data, data.weight.astype(np.float32))
    start = torch.from_dlpack(normalized(data.x))

    def scaled(x: Any) -> Any:
        return x / x.sum(dim=1, keepdim=True).clamp_min(1e-30)

    def run(iterations: int) -> Any:
        x = start
        for _ in range(iterations):
            x = scaled(alpha * scaled(a @ x) + (1 - alpha) * x)
        return x

    return run


def sparse_tensor(torch: Any, data: Data, values: Any) -> Any:
    parts = (data.offsets.astype(np.int64), data.src.astype(np.int64), values)
    ends, columns, numbers = (torch.from_dlpack(data.xp.ascontiguousarray(p)) for p in parts)
    return torch.sparse_csr_tensor(ends, columns, numbers, size=(data.n, data.n))


# -- the plain sparse product


def sum_arrays(data: Data, scale: float) -> Rival:
    a = data.matrix(np.float32(scale) * data.weight.astype(np.float32))

    def run(iterations: int) -> Any:
        x = data.x
        for _ in range(iterations):
            x = a @ x
        return x

    return run


def sum_tensors(torch: Any, data: Data, scale: float) -> Rival:
    a = sparse_tensor(torch, data, np.float32(scale) * data.weight.astype(np.float32))
    start = torch.from_dlpack(data.x)

    def run(iterations: int) -> Any:
        x = start
        for _ in range(iterations):
            x = a @ x
        return x

    return run


# -- manifold ranking: a weight per feature on every arc


def mmr_arrays(data: Data, alpha: float, near: Any) -> Rival:
    share = data.xp.reciprocal(scatter(data.xp, data.n, data.dst, near) + np.float32(1e-30))

    def run(iterations: int) -> Any:
        x = data.x
        for _ in range(iterations):
            arrived = scatter(data.xp, data.n, data.dst, near * x[data.src])
            x = alpha * arrived * share + (1 - alpha) * data.x
        return x

    return run


def mmr_tensors(torch: Any, data: Data, alpha: float, near: Any) -> Rival:
    src, dst = (torch.from_dlpack(ends.astype(np.int64)) for ends in (data.src, data.dst))
    w, start = torch.from_dlpack(near), torch.from_dlpack(data.x)

    def added(values: Any) -> Any:
        return torch.zeros_like(start).index_add_(0, dst, values)

    share = 1 / (added(w) + 1e-30)

    def run(iterations: int) -> Any:
        x = start
        for _ in range(iterations):
            x = alpha * added(w * x[src]) * share + (1 - alpha) * start
        return x

    return run


# -- multimodal learning: the mixture of weights is made once


def mml_arrays(data: Data, alpha: Any, by: Any) -> Rival:
    a = data.matrix(by @ data.xp.asarray(alpha, dtype=np.float32))
    rest = np.float32(1 - sum(alpha))

    def run(iterations: int) -> Any:
        x = data.x
        for _ in range(iterations):
            x = a @ x + rest * data.x
        return x

    return run


def mml_tensors(torch: Any, data: Data, alpha: Any, by: Any) -> Rival:
    a = sparse_tensor(torch, data, by @ data.xp.asarray(alpha, dtype=np.float32))
    start, rest = torch.from_dlpack(data.x), 1 - sum(alpha)

    def run(iterations: int) -> Any:
        x = start
        for _ in range(iterations):
            x = a @ x + rest * start
        return x

    return run


# -- alternating least squares: Gram matrices by a product with k² columns


def als_arrays(data: Data, users: Any, ridge: float) -> Rival:
    xp, k = data.xp, data.k
    ratings = data.matrix(data.weight.astype(np.float32))
    ones = data.matrix(xp.ones(data.src.size, np.float32))
    ends = [xp.flatnonzero(users), xp.flatnonzero(~users)]
    rows = [(ratings[side], ones[side]) for side in ends]

    def run(iterations: int) -> Any:
        f = data.x.copy()
        for _ in range(iterations):
            for side, (r, o) in zip(ends, rows, strict=True):
                gram = (o @ (f[:, :, None] * f[:, None, :]).reshape(data.n, k * k)).reshape(
                    -1, k, k
                )
                gram += ridge * xp.eye(k, dtype=np.float32)
                f[side] = xp.linalg.solve(gram, (r @ f)[:, :, None])[:, :, 0]
        return f

    return run


def als_tensors(torch: Any, data: Data, users: Any, ridge: float) -> Rival:
    k = data.k
    ratings = sparse_tensor(torch, data, data.weight.astype(np.float32))
    ones = sparse_tensor(torch, data, data.xp.ones(data.src.size, np.float32))
    mask = torch.from_dlpack(users.astype(np.uint8)) > 0
    start = torch.from_dlpack(data.x)
    eye = ridge * torch.eye(k, device=start.device)

    def run(iterations: int) -> Any:
        f = start.clone()
        for _ in range(iterations):
            for side in (mask, ~mask):
                pairs = (f[:, :, None] * f[:, None, :]).reshape(data.n, k * k)
                gram = (ones @ pairs).reshape(-1, k, k)[side] + eye
                right = (ratings @ f)[side][:, :, None]
                f[side] = torch.cholesky_solve(right, torch.linalg.cholesky(gram))[:, :, 0]
        return f

    return run


# -- belief propagation: products are sums of logarithms, of which the largest becomes 0 where the
# product of many would vanish


def bp_arrays(data: Data, psi: Any, reverse: Any, many: bool) -> Rival:
    xp = data.xp
    psi = xp.asarray(psi, dtype=np.float32)
    prior = normalized(data.x)
    places = xp.arange(data.src.size)
    if xp is np:
        from scipy.sparse import csr_matrix
    else:
        from cupyx.scipy.sparse import csr_matrix
    ones = xp.ones(data.src.size, np.float32)
    ends = data.offsets.astype(np.int32)
    incidence = csr_matrix((ones, places.astype(np.int32), ends), shape=(data.n, data.src.size))

    def run(iterations: int) -> Any:
        m = xp.ones((data.src.size, data.k), np.float32)
        b = prior
        for _ in range(iterations):
            m = (b[data.src] / m[reverse]) @ psi
            m /= m.max(axis=1, keepdims=True)
            logs = incidence @ xp.log(m)
            logs = logs - logs.max(axis=1, keepdims=True) if many else logs
            b = normalized(prior * xp.exp(logs))
        return b

    return run


def bp_tensors(torch: Any, data: Data, psi: Any, reverse: Any, many: bool) -> Rival:
    prior = torch.from_dlpack(normalized(data.x))
    psi = torch.as_tensor(np.asarray(psi, np.float32), device=prior.device)
    src, dst, back = (
        torch.from_dlpack(ends.astype(np.int64)) for ends in (data.src, data.dst, reverse)
    )

    def run(iterations: int) -> Any:
        m = torch.ones((src.numel(), data.k), device=prior.device)
        b = prior
        for _ in range(iterations):
            m = (b[src] / m[back]) @ psi
            m = m / m.amax(dim=1, keepdim=True)
            logs = torch.zeros_like(prior).index_add_(0, dst, m.log())
            logs = logs - logs.amax(dim=1, keepdim=True) if many else logs
            b = prior * logs.exp()
            b = b / b.sum(dim=1, keepdim=True)
        return b

    return run


def as_array(result: Any) -> Any:
    """Return a result of either kind as an array."""
    if hasattr(result, "detach"):
        result = result.detach().cpu().numpy()
    xp = module_of(result)
    return result if xp is np else xp.asnumpy(result)
