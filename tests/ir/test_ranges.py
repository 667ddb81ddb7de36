"""Proofs that an index is a vertex, and checks where there is none."""

import numpy as np
import pytest

import weft
from weft.errors import FaultError
from weft.graph.execution import signature_for
from weft.ir.check.ranges import prove_vertices
from weft.ir.trace.steps import trace_program


def proved(function, **fields):
    """Trace a function; return which index operands need no check, and the fields relied on."""
    g = weft.generators.path(5)
    state = g.state(**fields)
    program = trace_program(function, signature_for(g, state, None), "run")
    needed = prove_vertices(program)
    indexed = ("at_load", "at_store", "at_reduce", "at_cas", "degree", "neighbor", "common")
    values = [v for step in program.steps for v in step.body.walk() if v.op in indexed]
    return [v.args[0].vertex for v in values], set(needed)


def ids():
    return weft.full(lambda v: v.id, weft.vertex_id)


def test_ids_and_neighbors_need_no_field():
    @weft.vertex
    def f(v):
        v.x.at(weft.neighbor(v.id, 0)).add(1)

    assert proved(f, x=weft.full(0)) == ([True, True], set())


def test_pointer_jumping_is_closed():
    @weft.vertex
    def f(v):
        root = weft.while_loop(
            lambda x: v.parent.at(x) != x, lambda x: v.parent.at(x).load(), v.parent.at(v.id).load()
        )
        v.parent.at(v.id).set(root)

    flags, needed = proved(f, parent=ids())
    assert all(flags) and needed == {"parent"}


def test_choices_of_vertices_are_vertices():
    @weft.vertex
    def f(v):
        a = weft.where(v.parent > 1, v.parent, v.other)
        v.parent = weft.minimum(a, weft.maximum(v.other, 0))
        v.out = v.out.at(a).load() + v.out.at(weft.random_bits(v.id) % weft.num_vertices()).load()

    flags, needed = proved(f, parent=ids(), other=ids(), out=weft.full(0))
    assert flags == [True, True] and needed == {"parent", "other"}


@pytest.mark.parametrize(
    "write",
    [
        lambda v: setattr(v, "parent", v.parent + 1),
        lambda v: v.parent.at(v.id).add(1),
        lambda v: v.parent.at(v.id).cas(0, v.far),
        lambda v: v.parent.at(v.id).min(-1),
        lambda v: setattr(v, "parent", weft.cast(weft.cast(v.id, weft.int8), weft.vertex_id)),
        lambda v: setattr(v, "parent", v.gather(lambda u, e: u.parent, weft.sum)),
    ],
)
def test_other_writes_open_a_field(write):
    @weft.vertex
    def f(v):
        v.out = v.parent.at(v.parent).load()
        v.far = weft.cast(7, weft.vertex_id)
        write(v)

    flags, needed = proved(f, parent=ids(), far=ids(), out=ids())
    assert flags[0] is False and needed == set()


def test_messages_open_or_close_a_field():
    def edge(reduce):
        @weft.edge(into="parent", reduce=reduce)
        def f(u, v, e):
            u.seen.at(u.parent).add(1)
            return u.parent

        return f

    fields = {"parent": ids(), "seen": weft.full(0)}
    assert proved(edge(weft.min), **fields) == ([True], {"parent"})
    assert proved(edge(weft.any), **fields) == ([True], {"parent"})
    assert proved(edge(weft.sum), **fields) == ([False], set())


def test_loop_states_that_become_other_numbers():
    @weft.vertex
    def f(v):
        x, _ = weft.while_loop(
            lambda x, y: y < 3, lambda x, y: (weft.cast(y, weft.vertex_id), y + 1), v.parent, 0
        )
        v.out = v.parent.at(x).load()

    flags, _ = proved(f, parent=ids(), out=ids())
    assert flags == [False]


@weft.vertex
def follow(v):
    v.out = v.x.at(v.next).load()


@pytest.mark.parametrize("bad", [-1, 5, 2**31 - 1])
def test_fields_that_hold_other_numbers_are_checked(bad):
    g = weft.generators.path(5)
    steps = np.array([1, 2, 3, 4, 0], np.int32)
    state = g.state(next=steps, x=weft.full(lambda v: v.id, weft.int64), out=weft.full(0))
    g.run(follow, state)
    assert state.out.tolist() == [1, 2, 3, 4, 0]
    state.next[2] = bad
    with pytest.raises(FaultError, match="an index was out of range in 'follow' at vertex 2"):
        g.run(follow, state)


def test_proofs_can_be_switched_off():
    g = weft.generators.path(5)
    state = g.state(next=ids(), x=weft.full(lambda v: v.id, weft.int64), out=weft.full(7))
    g.run(follow, state, config=weft.Config(passes_off="index_proofs"))
    assert state.out.tolist() == [0, 1, 2, 3, 4]
