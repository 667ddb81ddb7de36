"""Belief propagation on pairwise Markov random fields.

Method: every vertex has k states with a prior φ, every edge a potential Ψ(u, v) of k × k positive
numbers. An arc carries a message, a vertex the product of those that arrive:

    m_uv = (b(u) ∘ m_vu^∘-1) · Ψ(u, v)        (· takes the maximum in place of the sum for "max"),
    b(v) = normalize(φ(v) ∘ Π m_uv),

where m_vu is the message of the opposite arc, which must not come back. Messages are scaled so that
their largest element is 1, which the belief does not notice. The message and the product of one
superstep are one sweep (a fold). Where a product over many neighbours could underflow, the
logarithms of the messages are summed instead; in the log domain messages and beliefs are logarithms
too. Exact on trees; on graphs with cycles it need not converge.

J. Pearl: Probabilistic reasoning in intelligent systems (Morgan Kaufmann, 1988).
K. Murphy, Y. Weiss, M. Jordan: Loopy belief propagation for approximate inference (UAI 1999).
"""

from __future__ import annotations

import weakref
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from weft.algorithms.support.guarding import on_its_device
from weft.arrays.checks import check_tolerance
from weft.arrays.device import module_of
from weft.arrays.reduce import any_true
from weft.config import Config
from weft.engine.state import State, full, parameter, scalar
from weft.errors import ConfigError, GraphError, unknown
from weft.graph import Graph
from weft.ir.trace import functions as fn
from weft.ir.trace import monoids
from weft.learning.inputs import check_fraction, pulled
from weft.learning.random_fields import arithmetic, check_potentials, check_priors
from weft.program import edge, fold, vertex
from weft.topology.topology import Topology

Array = np.ndarray[Any, Any]

# How far a belief may move before it is sent, as a fraction of the message tolerance: the smaller,
# the less remains for the later supersteps of all vertices.
HELD_BACK = 2
# Few beliefs move if they have less than one in this many arcs. An arc of theirs costs about five
# times as much as when all vertices send.
FEW_SHARE = 8
FEWEST_ARCS = 1 << 22  # of a graph on which three more runs pay


class Beliefs(NamedTuple):
    """The result of `belief_propagation`.

    Attributes
    ----------
    beliefs
        The probabilities of each vertex's states (for ``"max"`` the max-marginals, scaled to add up
        to 1).
    steps
        The number of supersteps.
    converged
        Whether the messages converged.
    """

    beliefs: Array
    steps: int
    converged: bool


def product_with_potential(column: str | None, turned: bool, mode: str) -> Any:
    """Return x · Ψ(u, v) as a function; Ψ is stored for the edge from its lower end on."""
    best = monoids.max if mode == "max" else None

    def over(u: Any, v: Any, e: Any, potential: Any, x: Any) -> Any:
        matrix = getattr(e, column) if column is not None else potential
        matrix = fn.cast(matrix, x.dtype)
        back = fn.matvec(matrix, x, reduce=best)
        if not turned:  # all potentials are symmetric
            return back
        return fn.where(u.id < v.id, fn.matvec(matrix.T, x, reduce=best), back)

    return over


def message_in_logs(column: str | None, turned: bool, mode: str) -> Any:
    """Return the function that makes the logarithms of a message, of which the largest is 0."""
    over = product_with_potential(column, turned, mode)

    def make(u: Any, v: Any, e: Any, potential: Any) -> Any:
        x = u.belief - e.reverse.message
        message = fn.log(over(u, v, e, potential, fn.exp(x - monoids.max(x))))
        return message - monoids.max(message)

    return make


def passing(
    column: str | None, turned: bool, mode: str, damping: float, form: str,
    told: float | None = None,
) -> Any:  # fmt: skip
    """Return one superstep: messages over all arcs, then beliefs.

    `form` is "products", "sums" (of the logarithms of messages, in place of products) or
    "logarithms" (of messages and beliefs). With `told`, in logarithms, it also counts the arcs of
    vertices whose belief moves further than that, and saves the beliefs underlying the messages.
    """
    log = form == "logarithms"
    over = product_with_potential(column, turned, mode)
    scaled_log = message_in_logs(column, turned, mode)

    def scaled(u: Any, v: Any, e: Any, potential: Any) -> Any:
        x = u.belief * fn.hadamard_inverse(e.reverse.message)
        return fn.normalize(over(u, v, e, potential, x), "max")

    @edge(
        into="product",
        reduce=monoids.prod if form == "products" else monoids.sum,
        active=lambda v, old: True,
        on="all",
    )
    def pass_on(u: Any, v: Any, e: Any, potential: Any) -> Any:
        message = (scaled_log if log else scaled)(u, v, e, potential)
        if damping:
            message = (1 - damping) * message + damping * e.message
        moved = fn.exp(message) - fn.exp(e.message) if log else message - e.message
        fn.reduce("error", fn.cast(monoids.max(abs(moved)), np.float64), monoids.max)
        e.message = message
        return fn.log(message) if form == "sums" else message

    @vertex
    def believe(v: Any) -> None:
        before = v.belief
        if log:
            belief = v.prior + v.product
            v.belief = belief - fn.logsumexp(belief)
            v.product = 0
        elif form == "sums":
            v.belief = fn.normalize(fn.log(v.prior) + v.product, "softmax")
            v.product = 0
        else:
            v.belief = fn.normalize(v.prior * v.product)
            v.product = 1
        if told is not None:
            moved = fn.any_changed(fn.exp(v.belief), fn.exp(before), told)
            arcs = fn.where(moved, fn.cast(v.out_degree, np.int64), 0)
            fn.reduce("moving", arcs, monoids.sum)
            v.told = before
        v.changed = True

    return fold(pass_on, believe)


def passing_changes(
    column: str | None, turned: bool, mode: str, damping: float, tol: float
) -> tuple[Any, Any]:
    """Return a superstep in which moved vertices send, and the condition for the first ones.

    The old message is removed from the product and the new one added; in logarithms.
    """
    make = message_in_logs(column, turned, mode)

    @edge(into="product", reduce=monoids.sum, active=lambda v, old: True)
    def pass_change(u: Any, v: Any, e: Any, potential: Any) -> Any:
        message = (1 - damping) * make(u, v, e, potential) + damping * e.message
        moved = message - e.message
        e.message = message
        return moved

    @vertex
    def believe(v: Any) -> None:
        belief = v.prior + v.product
        v.belief = belief - fn.logsumexp(belief)
        moved = fn.any_changed(fn.exp(v.belief), fn.exp(v.told), tol)
        v.told = fn.where(moved, v.belief, v.told)
        v.changed = moved

    @vertex
    def begin(v: Any) -> None:
        moved = fn.any_changed(fn.exp(v.belief), fn.exp(v.told), tol)
        v.told = fn.where(moved, v.belief, v.told)
        v.changed = moved

    return fold(pass_change, believe), begin


@on_its_device
def belief_propagation(  # noqa: PLR0913
    g: Graph,
    priors: Any,
    potential: Any,
    mode: str = "sum",
    tol: float = 1e-6,
    max_iter: int = 200,
    *,
    damping: float = 0.0,
    log_domain: bool = False,
    config: Config | None = None,
) -> Beliefs:
    """Return the marginal probabilities of a pairwise Markov random field, exact on trees.

    Parameters
    ----------
    g
        An undirected graph without self-loops. Each parallel edge is a factor.
    priors
        φ, of shape (n, k): for each vertex a non-negative value per state, not all 0.
    potential
        Ψ: a matrix of shape (k, k) for all edges, or the name of an edge column that holds one for
        each. Row i and column j go with state i of the edge's lower end (by vertex number) and
        state j of its higher end. All numbers must be positive; where two states exclude each
        other, use a very small one.
    mode
        ``"sum"`` for marginals, ``"max"`` for the most probable assignment: the largest belief of
        each vertex is its state there, if the graph is a tree and there are no ties.
    tol
        Stop once no element of any message moves by more than this.
    max_iter
        The maximum number of supersteps.
    damping
        The weight of the old message, at least 0 and below 1: larger values damp oscillation. In
        logarithms the mean is of logarithms, so the path to the same fixed point differs.
    log_domain
        Whether to keep messages and beliefs as logarithms. That is slower and rarely needed:
        products that could underflow at vertices with many neighbours are computed as sums of
        logarithms in any case.
    config
        How to run it. With `change_driven`, when few beliefs move by more than `tol` / 2, only
        these vertices send, in logarithms; supersteps of all vertices follow until no message moves
        by more than `tol`. ``"auto"`` does so on graphs with millions of edges.

    Returns
    -------
    Beliefs
        The beliefs, the number of supersteps, and whether the messages converged.

    Raises
    ------
    ConfigError
        If an option is out of range.
    GraphError
        If the graph is directed or has self-loops, or the priors or potentials cannot be used.
    FieldError
        If the potentials do not fit the priors.

    Examples
    --------
    Two neighbours prefer to agree, and the first is in state 0 three times out of four.

    >>> import weft
    >>> g = weft.generators.path(2)
    >>> agree = [[0.9, 0.1], [0.1, 0.9]]
    >>> found = weft.learning.belief_propagation(g, [[0.75, 0.25], [0.5, 0.5]], agree)
    >>> found.beliefs.round(3).tolist(), found.converged
    ([[0.75, 0.25], [0.7, 0.3]], True)
    """
    _check_options(g, mode, damping)
    tol = check_tolerance("tol", tol)
    prior = check_priors(g, priors)
    k, asked = prior.shape[1], prior.dtype
    pairs = check_potentials(g, potential, k, asked)
    kind, form = arithmetic(g, pairs, k, asked)
    g, column, shared, turned = pairs.graph, pairs.column, pairs.shared, pairs.turned
    if g.num_vertices == 0:
        return Beliefs(prior, 0, True)
    driven = _is_driven(g, config)
    form = "logarithms" if log_domain or driven else form
    log_domain, prior = form == "logarithms", prior.astype(kind, copy=False)
    held_back = tol / HELD_BACK if driven else None
    step = passing(column, turned, mode, float(damping), form, held_back)
    if log_domain:
        with np.errstate(divide="ignore"):
            prior = module_of(prior).log(prior)
    fields = {
        "prior": prior, "belief": prior, "product": full(1 if form == "products" else 0, kind, k),
        "potential": parameter(shared, kind), "error": scalar(np.inf),
    }  # fmt: skip
    messages = g.edge_state(message=full(0 if log_domain else 1, kind, k))
    if config is not None and driven:
        state = g.state(**fields, told=prior, moving=scalar(0), few=scalar(0))
        config = replace(config, change_driven=False)
        only = passing_changes(column, turned, mode, float(damping), tol / HELD_BACK)
        driving = _Steps(step, *only)
        steps, converged = _by_changes(g, driving, state, messages, tol, max_iter, config)
    else:
        state = g.state(**fields)
        messages.known_to_be("uniform", "dropped")
        run = g.iterate(
            step, state, edge_state=messages, until=lambda error: error <= tol, max_iter=max_iter,
            direction=pulled(config), config=config,
        )  # fmt: skip
        steps, converged = run.steps, run.converged
    beliefs = module_of(prior).exp(state.belief) if log_domain else state.belief
    return Beliefs(beliefs.astype(asked, copy=False), steps, converged)


def _is_driven(g: Graph, config: Config | None) -> bool:
    """Whether a run is change-driven."""
    wanted = config is not None and config.change_driven
    return wanted is True or (wanted == "auto" and g.topology.num_arcs >= FEWEST_ARCS)


class _Steps(NamedTuple):
    """The steps of a run that changes drive."""

    all: Any  # every vertex sends
    only: Any  # vertices with moved beliefs send
    begin: Any  # they are found


def _by_changes(
    g: Graph, steps: _Steps, state: State, messages: State, tol: float, max_iter: int,
    config: Config,
) -> tuple[int, bool]:  # fmt: skip
    """Let all vertices send while many beliefs move, then only moved ones, then all again."""

    def all_pass_on(few: int, most: int) -> Any:
        state.few = few
        return g.iterate(
            steps.all, state, edge_state=messages,
            until=lambda error, moving, few: (error <= tol) | (moving <= few),
            max_iter=most, direction=pulled(config), config=config,
        )  # fmt: skip

    messages.known_to_be("uniform")
    first = all_pass_on(g.topology.num_arcs // FEW_SHARE, max_iter)
    messages.known_to_be()
    if not first.converged or state.error <= tol:
        return first.steps, first.converged
    xp = module_of(state.prior)
    # Up to a constant per vertex, which has no effect.
    with np.errstate(invalid="ignore"):
        state.product = xp.where(xp.isfinite(state.prior), state.belief - state.prior, 0)
    moved = g.run(steps.begin, state, config=config)
    some = g.iterate(
        steps.only, state, moved, edge_state=messages, max_iter=max_iter - first.steps,
        config=config,
    )  # fmt: skip
    state.product = 0
    messages.known_to_be("dropped")
    # This measures the distance from convergence, and ends drift.
    done = first.steps + some.steps
    last = all_pass_on(-1, max(max_iter - done, 1))
    return done + last.steps, last.converged


def _check_options(g: Graph, mode: str, damping: float) -> None:
    if mode not in ("sum", "max"):
        raise ConfigError(unknown("mode", mode, ["sum", "max"]))
    if check_fraction("damping", damping) == 1:
        raise ConfigError("damping=1 keeps every message as it is. Expected 0 up to below 1.")
    if g.directed:
        raise GraphError(
            "belief propagation needs an undirected graph, but got a directed one. Use "
            "g.to_undirected()."
        )
    if g.topology not in _without_loops:
        _check_loops(g.topology)
        _without_loops.add(g.topology)


_without_loops: weakref.WeakSet[Topology] = weakref.WeakSet()  # that were looked through


def _check_loops(topology: Topology) -> None:
    if topology.carrier is not None:
        count = topology.carrier.manifest.loops
        if count == 0:
            return
        raise GraphError(
            f"{count} edges lead from a vertex to itself. Expected a graph without self-loops; "
            "partition it with self_loops='drop', and put what they say into the prior."
        )
    src, dst = topology.endpoints()
    loops = src == dst
    if any_true(loops):
        raise GraphError(
            f"vertex {int(src[loops.argmax()])} has an edge to itself. Expected a graph without "
            f"self-loops; put what it says into the prior."
        )
