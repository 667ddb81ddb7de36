"""Matching the places of two graphs."""

import weft.graphblas as gb


def assignment(C, epsilon=None):
    """Return a column for each row of a full square matrix, with nearly the largest sum.

    An auction (Bertsekas 1979): rows without a column bid for the one that is worth most to them,
    ``max_plus`` of benefits and prices, and the highest bid for each column wins. The sum is at
    most ``n * epsilon`` below the largest.

    Parameters
    ----------
    C
        The benefits.
    epsilon
        The least raise; by default small enough for the best sum of integers.
    """
    n = C.nrows
    epsilon = 1.0 / (n + 1) if epsilon is None else epsilon
    price = gb.Vector.from_scalar(0.0, n)
    column = gb.Vector(int, n)
    free = gb.Vector.from_scalar(True, n)
    while free.nvals:
        rows = gb.semiring.any_second(free.diag() @ C).new(float)
        worth = gb.binary.minus(rows | price, left_default=0.0, right_default=0.0)
        worth = worth.new(mask=rows.S)
        best = gb.semiring.max_plus(rows @ gb.unary.ainv(price).new()).new()
        top = worth.select(gb.binary.eq(worth & gb.semiring.any_first(best.diag() @ rows).new()))
        choice = gb.indexunary.colindex(top.new()).new().reduce_rowwise(gb.monoid.min).new()
        places, wanted = choice.to_coo()
        taken = gb.Matrix.from_coo(places, wanted, True, nrows=n, ncols=n)
        second = worth.dup(mask=~taken.S).reduce_rowwise(gb.monoid.max).new()
        raised = gb.binary.minus(best | second, left_default=0.0, right_default=0.0)
        raised = gb.binary.plus(raised.new(mask=second.S), epsilon).new()
        raised(~raised.S) << gb.binary.plus(gb.binary.times(best, 0.0).new(), epsilon)
        bids = gb.semiring.any_first(raised.diag() @ taken).new()
        highest = bids.reduce_columnwise(gb.monoid.max).new()
        won = bids.select(gb.binary.eq(bids & gb.semiring.any_second(bids @ highest.diag()).new()))
        winner = gb.indexunary.rowindex(won.new()).new().reduce_columnwise(gb.monoid.min).new()
        price(gb.binary.plus) << highest
        for place, row in winner.to_dict().items():
            column << gb.select.valuene(column, place)
            column[row] = place
        free << gb.Vector.from_scalar(True, n)
        free(~column.S, gb.replace) << free
    return column


def seeded_matching(A, B, seeds, max_iter=30):
    """Return a place of another graph for each place of one graph, such that arcs match.

    Frank-Wolfe on the relaxed problem (Fishkind et al. 2019): from doubly stochastic P towards the
    best assignment for the gradient ``A P B.T + A.T P B``, as far as the objective grows.

    Parameters
    ----------
    A, B
        Adjacency matrices of one shape.
    seeds
        Pairs of places that belong together, by place of the first graph.
    max_iter
        The most iterations.
    """
    n = A.nrows
    others = [place for place in range(n) if place not in seeds]
    images = [place for place in range(n) if place not in set(seeds.values())]
    if not others:
        return gb.Vector.from_coo(list(seeds), list(seeds.values()), size=n)
    P = gb.Matrix(float, n, n)
    P[others, images] = 1.0 / len(others)
    for place, image in seeds.items():
        P[place, image] = 1.0
    for _ in range(max_iter):
        gradient = _gradient(A, B, P)
        benefits = gradient[others, images].new()
        benefits(~benefits.S) << 0.0
        chosen = assignment(benefits, 1e-3 / n).to_dict()
        Q = gb.Matrix(float, n, n)
        for row, column in chosen.items():
            Q[others[row], images[column]] = 1.0
        for place, image in seeds.items():
            Q[place, image] = 1.0
        share = _step(A, B, P, Q)
        if share == 0 or P.isclose(Q):
            break
        P << gb.binary.plus(gb.binary.times(P, 1 - share).new() | gb.binary.times(Q, share).new())
    return gb.indexunary.colindex(Q).new().reduce_rowwise(gb.monoid.min).new()


def _gradient(A, B, P):
    forward = gb.semiring.plus_times(gb.semiring.plus_times(A @ P).new() @ B.T).new()
    back = gb.semiring.plus_times(gb.semiring.plus_times(A.T @ P).new() @ B).new()
    return gb.binary.plus(forward | back).new(float)


def _agreement(A, B, P, Q):
    """Return the sum over A P B.T times Q."""
    moved = gb.semiring.plus_times(gb.semiring.plus_times(A @ P).new() @ B.T).new()
    return float(gb.binary.times(moved & Q).new().reduce_scalar().new().get(0))


def _step(A, B, P, Q):
    """Return how far from P to Q the objective is largest."""
    pp, qq = _agreement(A, B, P, P), _agreement(A, B, Q, Q)
    cross = _agreement(A, B, P, Q) + _agreement(A, B, Q, P)
    curve, slope = pp - cross + qq, cross - 2 * pp
    if curve < 0:
        return min(1.0, max(0.0, -slope / (2 * curve)))
    return 1.0 if qq > pp or (qq == pp and curve == 0 and slope > 0) else 0.0
