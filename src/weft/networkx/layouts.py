"""Positions of nodes that forces between them bring about."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weft.networkx import kernels
from weft.networkx.degrees import degrees
from weft.networkx.network import Network

Array = np.ndarray[Any, Any]


def _start(G: Network, pos: Any, dim: int, seed: Any) -> Array:
    """Return the position of each row to begin with."""
    if pos is None:
        return seed.rand(G.size, dim).astype(np.float32)
    if len(pos) == G.size:
        return np.array([pos[node].copy() for node in G])
    given = np.array(list(pos.values()))
    least, most = given.min(axis=0), given.max(axis=0)
    found = least + seed.rand(G.size, most.size) * (most - least)
    for row, node in enumerate(G.nodes):
        if node in pos:
            found[row] = pos[node].copy()
    return found


def _of_nodes(G: Network, given: Any, otherwise: Array) -> Array:
    if given is None:
        return otherwise.astype(np.float64)
    values = zip(G.nodes, otherwise.tolist(), strict=True)
    return np.array([given.get(node, other) for node, other in values], dtype=float)


def forceatlas2_layout(  # noqa: PLR0913
    G: Network,
    pos: Any = None,
    *,
    max_iter: int = 100,
    jitter_tolerance: float = 1.0,
    scaling_ratio: float = 2.0,
    gravity: float = 1.0,
    distributed_action: bool = False,
    strong_gravity: bool = False,
    node_mass: Any = None,
    node_size: Any = None,
    weight: Any = None,
    linlog: bool = False,
    seed: Any = None,
    dim: int = 2,
    store_pos_as: Any = None,
) -> dict[Any, Array]:
    """The positions where attraction along edges, repulsion and gravity come to rest."""
    if store_pos_as is not None:
        raise NotImplementedError("store_pos_as= changes the graph")
    if not G.size:
        return {}
    weights = G.entry_weights(weight)
    pull = np.ones(G.structure.targets.size) if weights is None else weights.astype(np.float64)
    place = _start(G, pos, dim, seed)
    mass = _of_nodes(G, node_mass, degrees(G) + 1)
    size = _of_nodes(G, node_size, np.ones(G.size))
    state: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0)
    for _ in range(max_iter):
        force = np.zeros((G.size, place.shape[1]))
        kernels.attract(G.structure.offsets, G.structure.targets, pull, place, linlog, force)
        if distributed_action:
            force /= mass[:, None]
        kernels.repel(place, mass, size, node_size is not None, scaling_ratio, force)
        force += _toward_middle(place, mass, gravity, strong_gravity)
        state = _speed(state, force, place, mass, jitter_tolerance)
        step = force * _share(force, mass, state[0], node_size is not None)[:, None]
        place += step
        if np.abs(step).sum() < 1e-10:
            break
    return dict(zip(G.nodes, place, strict=True))


def _toward_middle(place: Array, mass: Array, gravity: float, strong: bool) -> Array:
    away = place - place.mean(axis=0)
    if not strong:
        with np.errstate(divide="ignore", invalid="ignore"):
            away = np.nan_to_num(away / np.linalg.norm(away, axis=-1)[:, None], nan=0)
    return -gravity * mass[:, None] * away


def _speed(
    state: tuple[float, ...], force: Array, place: Array, mass: Array, tolerance: float
) -> tuple[float, ...]:
    """Return the speed, its efficiency, the swing and the traction after a step."""
    speed, efficiency, swing, traction = state
    swing += float((mass * np.linalg.norm(place - force, axis=-1)).sum())
    traction += float((0.5 * mass * np.linalg.norm(place + force, axis=-1)).sum())
    n = mass.size
    least = 0.05 * math.sqrt(n)
    jitter = tolerance * max(math.sqrt(least), min(10, least * traction / n**2))
    if swing / traction > 2.0:
        efficiency *= 0.5 if efficiency > 0.05 else 1
        jitter = max(jitter, tolerance)
    wanted = jitter * efficiency * traction / swing if swing else math.inf
    if swing > jitter * traction:
        efficiency *= 0.7 if efficiency > 0.05 else 1
    elif speed < 1000:
        efficiency *= 1.3
    return speed + min(wanted - speed, 0.5 * speed), efficiency, swing, traction


def _share(force: Array, mass: Array, speed: float, sized: bool) -> Array:
    """Return the part of its force that moves each node."""
    length = np.linalg.norm(force, axis=-1)
    damped = 1 + np.sqrt(speed * mass * length)
    if not sized:
        return speed / damped
    return np.minimum(0.1 * speed / damped * length, 10.0) / length
