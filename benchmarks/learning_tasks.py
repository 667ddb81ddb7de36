"""Graphs and tasks of the learning benchmark: weft's algorithms, variants and rivals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import weft
from benchmarks import graph_names
from benchmarks import learning_rivals as rivals
from weft.learning import beliefs, factor_steps

TASKS = ("LP", "BP", "MMR", "MML", "ALS", "SUM")
GRAPHS = ("kron", "social", "road", "citation")
MORE = ("er", "rgg")  # graphs of a scale too, in the table of six alone
ALPHA, RIDGE, MODES = 0.8, 0.1, 3
SKEWED = 64  # longer products of messages leave float32, so logarithms are added instead


def make_graph(name: str, scale: int, device: str) -> Any:
    """Return a graph with float32 weights: one of `GRAPHS` of a scale, or by any other name."""
    make = weft.generators
    if name in MORE:
        g = graph_names.generate(f"{name}{scale}", device, weights=None)
    elif name not in GRAPHS:
        g = graph_names.generate(name, device, weights=None)
    elif name == "kron":
        g = make.rmat(scale, 16, device=device, seed=1)
    elif name == "citation":  # sparse, skewed
        g = make.rmat(scale, 4, device=device, seed=2)
    elif name == "road":
        g = make.road(int(2 ** (scale / 2)), seed=1).to(device)
    else:  # communities of friends
        g = make.planted(2**scale, max(2 ** (scale - 10), 8), 24, seed=3, device=device)
    g = weft.Graph.from_edges(*g.to_edges()[:2], num_vertices=g.num_vertices, directed=False,
                              duplicates="first", self_loops="drop", device=device)  # fmt: skip
    g.edge["weight"] = rivals.draw(g.topology.xp, g.num_edges, 0) + np.float32(0.5)
    return g


def bipartite(g: Any) -> Any:
    """Return the graph of ratings: an edge (u, v) becomes one from user u to item v."""
    n = g.num_vertices
    src, dst, weight = g.to_edges()
    return weft.Graph.from_edges(
        src, dst + n, weight, num_vertices=2 * n, directed=False, device=g.device
    )


class Task:
    """One algorithm on one graph with k features: weft's variants, and the rivals."""

    def __init__(self, name: str, g: Any, k: int) -> None:
        self.name, self.k = name, k
        self.g = bipartite(g) if name == "ALS" else g
        self.data = rivals.Data(self.g, k)
        self.xp = self.data.xp
        most = int(self.g.in_degree.max())
        if name == "MMR":
            near = rivals.draw(self.xp, (self.g.num_edges, k), 5) + np.float32(0.5)
            self.g.edge["near"] = near
        if name == "MML":
            by = rivals.draw(self.xp, (self.g.num_edges, MODES), 5)
            src, dst = self.g.to_edges()[:2]
            degree = self.xp.asarray(self.g.in_degree).astype(np.float32)
            self.g.edge["by"] = by / self.xp.maximum(degree[src], degree[dst])[:, None]
        if name == "ALS":
            self.users = self.xp.arange(self.data.n) < g.num_vertices
        self.psi = np.full((k, k), 0.5) + 0.5 * np.eye(k)
        self.mixture = [0.3, 0.3, 0.2]
        self.log_domain = name == "BP" and most > SKEWED
        # Near the inverse of the largest eigenvalue, so that sums neither vanish nor overflow.
        self.scale = float(np.float32((most * self.data.src.size / max(self.data.n, 1)) ** -0.5))

    # -- weft

    def weft(self, iterations: int, config: Any, tol: float = 0.0) -> Any:
        """Run weft's algorithm for a number of iterations, or to a tolerance."""
        learning, g, x = weft.learning, self.g, self.data.x
        options = {"max_iter": iterations, "tol": tol, "config": config}
        if self.name == "LP":
            return learning.label_propagation_features(
                g, x, ALPHA, on_unconverged="return", **options
            )
        if self.name == "MMR":
            return learning.manifold_ranking(
                g, x, ALPHA, weight="near", on_unconverged="return", **options
            )
        if self.name == "MML":
            return learning.multimodal(
                g, x, self.mixture, weight="by", on_unconverged="return", **options
            )
        if self.name == "BP":
            found = learning.belief_propagation(
                g, x, self.psi, log_domain=self.log_domain, **options
            )
            return found.beliefs
        if self.name == "SUM":
            state = g.state(x=x)
            g.iterate(summing(self.scale), state, max_iter=iterations, config=config)
            return state.x
        found = learning.als(
            g, self.k, RIDGE, iterations, users=self.users, start=x, track=False, dtype=np.float32,
            config=config,
        )  # fmt: skip
        return found.factors

    def factors_at_rest(
        self, sweeps: int, tol: float, *, alternate: bool, config: Any = None
    ) -> Any:
        """Solve for factors until none moves by more than twice `tol`; return their error.

        Every sweep is a full one unless the configuration says that it is driven by changes.
        """
        g, options = self.g, {"users": self.users, "start": self.data.x, "dtype": np.float32}
        most = sweeps if alternate else 2 * sweeps
        if config is not None and config.change_driven:
            found = weft.learning.als(
                g, self.k, RIDGE, most, tol, alternate=alternate, config=config, **options
            )
            return found.rmse
        refit = factor_steps.refitting_counted("in", RIDGE, np.dtype(np.float32), 2 * tol)
        state = g.state(
            factor=self.data.x, side=2 - self.users.astype(np.int8), moving=weft.scalar(0),
            error=weft.scalar(0.0), weight=weft.scalar(0.0),
        )  # fmt: skip
        if not alternate:
            g.run(refit, state, g.frontier(self.users), config=config)
        g.iterate(
            factor_steps.in_turn(refit) if alternate else refit, state,
            until=lambda moving: moving <= 0, max_iter=2 * sweeps, config=config,
        )  # fmt: skip
        g.run(factor_steps.measuring(None, np.dtype(np.float32)), state)
        return np.sqrt(np.array([state.error / max(state.weight, 1)]))

    def one_call(self) -> Any:
        """Propagate features once, as a layer of a neural network does."""
        return weft.learning.gcn_propagate(self.g, self.data.x, "sum", weight="weight")

    def unfolded(self, iterations: int, config: Any, tol: float = 0.0) -> Any:
        """Run label or belief propagation in steps: messages first, then vertex updates.

        `config` sets the direction and format of this form.
        """
        return getattr(self, f"_{self.name.lower()}_steps")(iterations, config, tol)

    def _lp_steps(self, iterations: int, config: Any, tol: float) -> Any:
        start = rivals.normalized(self.data.x)
        state = self.g.state(labels=start, aggr=weft.full(0, np.float32, self.k))
        self.g.iterate(labelling(tol), state, max_iter=iterations, config=config)
        return state.labels

    def _bp_steps(self, iterations: int, config: Any, tol: float) -> Any:
        g, k = self.g, self.k
        prior = rivals.normalized(self.data.x)
        prior = self.xp.log(prior) if self.log_domain else prior
        nothing = 0 if self.log_domain else 1
        state = g.state(
            prior=prior, belief=prior, product=weft.full(nothing, np.float32, k),
            potential=weft.parameter(self.psi, np.float32), error=weft.scalar(np.inf),
        )  # fmt: skip
        messages = g.edge_state(message=weft.full(nothing, np.float32, k))
        form = "logarithms" if self.log_domain else "products"
        parts = list(beliefs.passing(None, False, "sum", 0.0, form).parts)
        g.iterate(parts, state, edge_state=messages, max_iter=iterations, direction="pull",
                  config=config)  # fmt: skip
        return self.xp.exp(state.belief) if self.log_domain else state.belief

    # -- the others

    def rival(self, library: str) -> Callable[[int], Any]:
        """Return the same update in another library."""
        arrays = library == "arrays"
        first = () if arrays else (__import__("torch"),)
        d, name = self.data, self.name
        make = getattr(rivals, f"{name.lower()}_{library}")
        if name == "LP":
            return make(*first, d, ALPHA)
        if name == "SUM":
            return make(*first, d, self.scale)
        if name == "MMR":
            return make(*first, d, ALPHA, self.g.edge.in_slots("near", "in"))
        if name == "MML":
            return make(*first, d, self.mixture, self.g.edge.in_slots("by", "in"))
        if name == "ALS":
            return make(*first, d, self.users, RIDGE)
        return make(*first, d, self.psi, self.g.topology.reverse_arcs(), self.log_domain)

    def bytes_per_iteration(self) -> float:
        """Return the bytes that an update must touch."""
        arcs, n, k = self.data.src.size, self.data.n, self.k
        per_arc = {
            "LP": 4 + 4 * k, "SUM": 4 + 4 * k, "MMR": 4 * k + 4 * k, "MML": 4 * MODES + 4 * k,
            "ALS": 4 + 4 * k, "BP": 4 + 4 * k + 2 * 4 * k,
        }[self.name]  # fmt: skip
        return float(arcs * (4 + per_arc) + n * (8 + 2 * 4 * k))


def summing(scale: float) -> Any:
    """Return the plain sparse product as a vertex function."""

    @weft.vertex(wake="all")
    def add_up(v: Any) -> None:
        v.x = scale * v.gather(lambda u, e: e.weight * u.x, weft.sum)
        v.changed = True

    return add_up


def labelling(tol: float) -> list[Any]:
    """Return label propagation as two steps, the first of which can push."""

    @weft.edge(into="aggr", reduce=weft.sum, on="all", active=lambda v, old: True)
    def aggregate(u: Any, v: Any, e: Any) -> Any:
        return e.weight * u.labels

    @weft.vertex
    def mix(v: Any) -> None:
        mixed = weft.normalize(ALPHA * weft.normalize(v.aggr) + (1 - ALPHA) * v.labels)
        v.changed = weft.any_changed(mixed, v.labels, tol)
        v.labels, v.aggr = mixed, 0

    return [aggregate, mix]
