"""Edge weights from a hash of the two ends, and the final step that all generators share."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, Unpack

import numpy as np
from numpy.typing import NDArray

from weft.arrays.checks import check_integer
from weft.arrays.device import device_of, module_of
from weft.arrays.random import mix
from weft.errors import ConfigError
from weft.generators.counter import chunks
from weft.graph import Graph
from weft.graph.build import BuildOptions
from weft.topology.adjacency import Array

Weights: TypeAlias = Literal["int", "float"] | tuple[float, float] | None

INTEGER_RANGE: Final = (1, 64)
FLOAT_RANGE: Final = (0.0, 1.0)

_MASK: Final = (1 << 64) - 1


def build(
    src: Array,
    dst: Array,
    num_vertices: int,
    *,
    directed: bool,
    weights: Weights,
    seed: int,
    **options: Unpack[BuildOptions],
) -> Graph:
    """Return the graph of generated edges, with weights if requested."""
    low_high = weight_range(weights)
    seed = check_integer("seed", seed, 0)
    g = Graph.from_edges(
        src,
        dst,
        num_vertices=num_vertices,
        directed=directed,
        **options,
    )
    if low_high is not None:
        g.edge["weight"] = pair_weights(*g.topology.edge_endpoints(), low_high, seed)
    return g


def weight_range(weights: Weights) -> tuple[float, float] | None:
    """Return the two ends of the range that `weights` stands for, as int or as float."""
    if weights is None:
        return None
    if isinstance(weights, str) and weights in ("int", "float"):
        return INTEGER_RANGE if weights == "int" else FLOAT_RANGE
    numbers = (int, float, np.integer, np.floating)
    if (
        isinstance(weights, (tuple, list))
        and len(weights) == 2
        and all(isinstance(end, numbers) and not isinstance(end, bool) for end in weights)
        and -np.inf < weights[0] <= weights[1] < np.inf
    ):
        return weights[0], weights[1]
    raise ConfigError(
        f"weights={weights!r} is not known. "
        "Expected None, 'int', 'float' or a pair (low, high) of finite numbers with low <= high."
    )


def pair_weights(src: Array, dst: Array, low_high: tuple[float, float], seed: int) -> Array:
    """Return a weight for each pair of vertices that depends only on the pair and the seed.

    A pair of integers gives integers in low..high (int32 if they fit), any other pair float32 in
    [low, high).
    """
    xp = module_of(src)
    low, high = low_high
    if isinstance(low, (int, np.integer)) and isinstance(high, (int, np.integer)):
        low, high = int(low), int(high)
        fits = low >= -(2**31) and high < 2**31
        weight = xp.empty(src.size, np.int32 if fits else np.int64)
        for part in chunks(src.size, device_of(src)):
            bits = hash_pairs(src[part], dst[part], seed) >> np.uint64(1)
            weight[part] = (bits % np.uint64(high - low + 1)).astype(np.int64) + low
        return weight
    weight = xp.empty(src.size, np.float32)
    top = np.nextafter(np.float32(high), np.float32(low))
    for part in chunks(src.size, device_of(src)):
        unit = (hash_pairs(src[part], dst[part], seed) >> np.uint64(11)) * 2.0**-53
        # Rounding to float32 may reach `high`, which is outside.
        weight[part] = xp.minimum((low + (high - low) * unit).astype(np.float32), top)
    return weight


def hash_pairs(src: Array, dst: Array, seed: int) -> NDArray[np.uint64]:
    """Return 64 well-mixed bits of each unordered pair (the finaliser of SplitMix64)."""
    xp = module_of(src)
    low, high = xp.minimum(src, dst).astype(np.uint64), xp.maximum(src, dst).astype(np.uint64)
    return mix(mix(low + np.uint64((seed * 0x9E3779B97F4A7C15 + 1) & _MASK)) ^ high)
