"""Independent sets and colourings."""

import numpy as np

import weft.graphblas as gb


def independent_set(A, seed=0, candidates=None):
    """Return a maximal independent set of an undirected graph without loops (Luby).

    Parameters
    ----------
    A
        The adjacency matrix.
    seed
        Where random scores begin.
    candidates
        A boolean vector of the places that may be chosen; all if not given.
    """
    n = A.nrows
    left = gb.Vector.from_scalar(True, n) if candidates is None else candidates.dup()
    chosen = gb.Vector(bool, n)
    scores = gb.Vector.from_dense(np.random.default_rng(seed).permutation(n) + 1)
    while left.nvals:
        score = scores.dup(mask=left.S)
        rival = gb.semiring.max_second(A @ score).new(mask=left.S)
        beaten = gb.binary.gt(rival & score).new()
        winners = left.dup(mask=~beaten.V)
        chosen(winners.S) << True
        left(~winners.S, gb.replace) << left
        near = gb.semiring.any_second(A @ winners).new()
        left(~near.S, gb.replace) << left
    return chosen


def colouring(A, seed=0):
    """Return colours from 0 on, such that neighbours differ: one independent set after another."""
    colours = gb.Vector(int, A.nrows)
    left = gb.Vector.from_scalar(True, A.nrows)
    colour = 0
    while left.nvals:
        chosen = independent_set(A, seed + colour, left)
        colours(chosen.S) << colour
        left(~chosen.S, gb.replace) << left
        colour += 1
    return colours


def quick_colouring(A, seed=0):
    """Return colours from 0 on, such that neighbours differ: one for each round of local maxima.

    Rounds are cheap, since a set need not be maximal, and there are more colours.
    """
    colours = gb.Vector(int, A.nrows)
    scores = gb.Vector.from_dense(np.random.default_rng(seed).permutation(A.nrows) + 1)
    colour = 0
    while scores.nvals:
        rival = gb.semiring.max_second(A @ scores).new(mask=scores.S)
        beaten = gb.binary.gt(rival & scores).new()
        colours(scores.dup(mask=~beaten.V).S) << colour
        scores(~colours.S, gb.replace) << scores
        colour += 1
    return colours


def jones_plassmann(A, seed=0):
    """Return colours from 0 on: local maxima take the least colour that no neighbour has."""
    n = A.nrows
    colours = gb.Vector(int, n)
    scores = gb.Vector.from_dense(np.random.default_rng(seed).permutation(n) + 1)
    while scores.nvals:
        rival = gb.semiring.max_second(A @ scores).new(mask=scores.S)
        beaten = gb.binary.gt(rival & scores).new()
        winners = scores.dup(mask=~beaten.V)
        open_ = winners.dup(bool)
        colour = 0
        while open_.nvals:
            same = gb.select.valueeq(colours, colour).new()
            blocked = gb.semiring.any_second(A @ same).new(mask=open_.S)
            free = open_.dup(mask=~blocked.S)
            colours(free.S) << colour
            open_(~free.S, gb.replace) << open_
            colour += 1
        scores(~winners.S, gb.replace) << scores
    return colours
