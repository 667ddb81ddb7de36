"""Propagation of features for graph neural networks: one sparse matrix product per layer.

Method: with weights w and one row x(u) of features per vertex,

    "gcn":   y(v) = s(v) · (Σ w(u, v) s(u) x(u) + s(v) x(v)),  s(v) = (1 + Σ w(u, v))^-1/2,
    "sum":   y(v) = Σ w(u, v) x(u),
    "mean":  y(v) = Σ w(u, v) x(u) / Σ w(u, v),

all sums over the edges u -> v. The operator is linear, y = P x, so the gradient of a loss by x is
Pᵀ times the gradient by y: the same sweep over the out-edges with the scales exchanged.

T. Kipf, M. Welling: Semi-supervised classification with graph convolutional networks (ICLR 2017).
W. Hamilton, R. Ying, J. Leskovec: Inductive representation learning on large graphs (NIPS 2017).
"""

from __future__ import annotations

import functools
import sys
from typing import Any

import numpy as np

from weft.algorithms.support.guarding import on_its_device
from weft.arrays.device import aligned, move
from weft.config import Config
from weft.engine.state import State, full
from weft.errors import ConfigError, GraphError, unknown
from weft.graph import Graph
from weft.graph.interop.dlpack import read_tensor
from weft.ir.trace import functions as fn
from weft.ir.trace import monoids
from weft.learning.inputs import REAL, check_column, check_weights, vertex_features, weight_of
from weft.learning.weighing import incoming_scales, scaled_weight
from weft.program import vertex

Array = np.ndarray[Any, Any]
AGGREGATIONS = ("gcn", "sum", "mean")


@functools.lru_cache(maxsize=64)
def spreading(
    direction: str, weight: str | None, before: bool, after: bool, loops: bool, dtype: Any
) -> Any:
    """Return the vertex function y(v) = after(v) · (Σ w · before(u) · x(u) + before(v) · x(v))."""

    def scaled(u: Any) -> Any:
        return u.before * u.x if before else u.x

    def message(u: Any, e: Any) -> Any:
        return scaled(u) if weight is None else weight_of(e, weight, dtype) * scaled(u)

    @vertex
    def spread(v: Any) -> None:
        total = v.gather(message, monoids.sum, direction=direction)
        total = total + scaled(v) if loops else total
        v.y = v.after * total if after else total
        v.changed = False  # the next frontier is not used

    return spread


@functools.lru_cache(maxsize=64)
def spreading_safely(
    direction: str, weight: str, own: tuple[str, ...], far: tuple[str, ...], loops: bool, dtype: Any
) -> Any:
    """Return the same for weights far from 1: all factors are multiplied in float64 first.

    `own` and `far` name the scales of v and of u, in the order in which the weight takes them.
    """

    def scales(at: Any, names: tuple[str, ...]) -> Any:
        return [getattr(at, name) for name in names]

    @vertex
    def spread(v: Any) -> None:
        def message(u: Any, e: Any) -> Any:
            factor = weight_of(e, weight, np.float64)
            for scale in (*scales(v, own), *scales(u, far)):
                factor = factor * scale
            return fn.cast(factor, dtype) * u.x

        total = v.gather(message, monoids.sum, direction=direction)
        if loops:
            total = total + fn.cast(v.root * v.root, dtype) * v.x
        v.y = total
        v.changed = False  # no caller reads the frontier

    return spread


@on_its_device
def gcn_propagate(
    g: Graph,
    x: Any,
    aggregation: str = "gcn",
    *,
    weight: str | None = None,
    transposed: bool = False,
    config: Config | None = None,
) -> Any:
    """Return the features of the neighbours, put together as a layer of a neural network does.

    Parameters
    ----------
    g
        A graph. Features run along the edges, both ways over undirected ones; self-loops are edges
        as others are.
    x
        Features of the vertices: an array of shape (n,) or (n, k), or a tensor of PyTorch. Tensors
        are not copied, and the result takes part in automatic differentiation.
    aggregation
        ``"gcn"`` (symmetric, with an edge from each vertex to itself), ``"sum"`` or ``"mean"``.
    weight
        The edge column with the weights, one number per edge from 0 on; by default 1 each. There is
        no gradient by the weights.
    transposed
        Whether to apply the transposed operator: the backward pass.
    config
        How to run it.

    Returns
    -------
    ndarray or Tensor
        Features in the shape, dtype and kind of `x`; integers give float64.

    Raises
    ------
    ConfigError
        For an aggregation that does not exist.
    GraphError
        If the features do not fit the graph, or a weight is negative or not finite.

    Examples
    --------
    >>> import weft
    >>> g = weft.generators.path(3)
    >>> weft.learning.gcn_propagate(g, [1.0, 2.0, 4.0], "mean").tolist()
    [2.0, 2.5, 2.0]
    >>> weft.learning.gcn_propagate(g, [1.0, 2.0, 4.0]).round(3).tolist()
    [1.316, 2.708, 2.816]
    """
    if aggregation not in AGGREGATIONS:
        raise ConfigError(unknown("aggregation", aggregation, AGGREGATIONS))
    if weight is not None:
        check_weights(g, weight, ((),))
        check_column(g, weight, negative=False)
    if not _is_tensor(x):
        return _propagated(g, vertex_features(g, x, "x"), aggregation, weight, transposed, config)
    if np.dtype(str(x.dtype).removeprefix("torch.")) not in REAL:
        raise GraphError(f"x is a tensor of {x.dtype}. Expected float32 or float64; use x.float().")

    def apply(tensor: Any, turned: bool) -> Any:
        array = vertex_features(g, read_tensor(tensor, "x"), "x")
        found = _propagated(g, array, aggregation, weight, turned != transposed, config)
        return sys.modules["torch"].from_dlpack(found)

    return _differentiable(apply, x)


def _propagated(
    g: Graph, x: Array, aggregation: str, weight: str | None, transposed: bool,
    config: Config | None,
) -> Array:  # fmt: skip
    """Apply the operator or its transpose to an array on the graph's device."""
    x = move(x, g.topology.device)
    if weight is not None and aggregation != "sum":
        scale = incoming_scales(g, weight, x.dtype, config)
        if scale is not None:
            return _propagated_safely(g, x, aggregation, weight, transposed, scale, config)
    fields: dict[str, Array] = {}
    if aggregation == "gcn":
        fields["before"] = fields["after"] = (1 + _arriving(g, weight, config)) ** -0.5
    elif aggregation == "mean":
        total = _arriving(g, weight, config)
        fields["after"] = (total > 0) / (total + (total == 0))
    if transposed and aggregation == "mean":
        fields["before"] = fields.pop("after")
    fields = {name: field.astype(x.dtype, copy=False) for name, field in fields.items()}
    step = spreading(
        "out" if transposed else "in", weight, "before" in fields, "after" in fields,
        aggregation == "gcn", x.dtype,
    )  # fmt: skip
    return _spread(g, x, fields, step, config)


def _spread(
    g: Graph, x: Array, fields: dict[str, Array], step: Any, config: Config | None
) -> Array:
    """Run one sweep over features and scales."""
    xp = g.topology.xp
    with g.topology.device.current():
        # x is only read, and y is written as a whole: a copy and zeros would cost as much again.
        fields |= {"x": aligned(xp.ascontiguousarray(x)), "y": xp.empty(x.shape, x.dtype)}
    state = State(fields, {})
    g.run(step, state, config=config)
    return state.y


def _propagated_safely(
    g: Graph, x: Array, aggregation: str, weight: str, transposed: bool, scale: Array,
    config: Config | None,
) -> Array:  # fmt: skip
    """Apply the operator where weights far from 1 are brought near it by a scale per vertex."""
    total = _arriving(g, weight, config, scale)
    own: tuple[str, ...]
    far: tuple[str, ...]
    if aggregation == "gcn":
        fields = {"root": (scale / (scale + total)) ** 0.5}  # of 1 + total / scale, inverted
        own, far = ("root",), ("root",)
    else:
        fields = {"scale": scale, "share": (total > 0) / (total + (total == 0))}
        own, far = ("scale", "share"), ()
    if transposed:
        own, far = far, own
    direction = "out" if transposed else "in"
    step = spreading_safely(direction, weight, own, far, aggregation == "gcn", x.dtype)
    return _spread(g, x, fields, step, config)


def _arriving(
    g: Graph, weight: str | None, config: Config | None, scale: Array | None = None
) -> Array:
    """Return the weight of the edges into each vertex, times its scale if there is one."""
    if weight is None:
        return g.in_degree.astype(np.float64)

    @vertex
    def weigh(v: Any) -> None:
        v.total = v.gather(
            lambda u, e: scaled_weight(v, e, weight, np.float64, scale is not None), monoids.sum
        )
        v.changed = False

    state = g.state(total=full(0.0), **({} if scale is None else {"scale": scale}))
    g.run(weigh, state, config=config)
    return state.total


def _is_tensor(x: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def _differentiable(apply: Any, x: Any) -> Any:
    """Apply a linear operator to a tensor such that its gradient goes through the transpose."""
    torch = sys.modules["torch"]

    class Propagation(torch.autograd.Function):  # type: ignore[name-defined, misc]
        @staticmethod
        def forward(ctx: Any, tensor: Any) -> Any:
            return apply(tensor, False)

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return apply(gradient.contiguous(), True)

    return Propagation.apply(x)
