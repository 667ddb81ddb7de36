"""Conditionals and loops that run in the program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from weft.ir import ops
from weft.ir.ops import INT64, Block, Value
from weft.ir.trace import builder as tracing
from weft.ir.trace.builder import Builder, fail
from weft.ir.trace.calls import check_takes
from weft.ir.trace.expr import Expr, node
from weft.ir.trace.plain import plain_for, plain_while


def _state(values: Any, builder: Builder) -> tuple[tuple[Value, ...], list[bool]]:
    """Return the initial state of a loop, and which parts of it are vertex ids."""
    given = [node(x) for x in values]
    return tuple(builder.strong(x) for x in given), [builder.is_id(x) for x in given]


def _results(
    returned: Any, state: tuple[Value, ...], ids: list[bool], builder: Builder, what: str
) -> tuple[Value, ...]:
    """Return the next state, and strike off the ids that are none any more."""
    parts = returned if isinstance(returned, tuple) else (returned,)
    if len(parts) != len(state) or any(part is None for part in parts):
        raise fail(
            f"{what} must return its state: {len(state)} value(s), but it returned {returned!r}."
        )
    values = [node(part) for part in parts]
    ids[:] = [known and builder.stays_id(x) for known, x in zip(ids, values, strict=True)]
    return tuple(
        builder.fit(value, old.dtype, old.shape, f"the state of {what}")
        for value, old in zip(values, state, strict=True)
    )


def unpack(loop: Value, builder: Builder, weak: Sequence[bool] = ()) -> Any:
    """Return the parts of a value; those that are `weak` go on as ids do."""
    parts = tuple(
        Expr(builder.emit("project", (loop,), i, dtype, shape, weak=i < len(weak) and weak[i]))
        for i, (dtype, shape) in enumerate(loop.results)
    )
    return parts[0] if len(parts) == 1 else parts


def _params(
    state: tuple[Value, ...], ids: list[bool], builder: Builder, first: int = 0
) -> tuple[Value, ...]:
    params = tuple(
        Value("param", (), first + i, s.dtype, s.shape, weak=is_id)
        for i, (s, is_id) in enumerate(zip(state, ids, strict=True))
    )
    builder.ids.update(p for p in params if p.weak)
    return params


def cond(test: Any, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
    """Return the result of one of two functions without parameters; only that one runs.

    `weft.where` computes both of its values. The functions may read everything around them, and
    access fields by ``.at(i)``. They cannot assign fields, reduce scalars or gather: return values
    and assign those after the conditional; give a gather a condition by `weft.send`.

    Parameters
    ----------
    test
        A scalar condition.
    then, otherwise
        Return a value, a tuple of as many values as the other one, or nothing (for live updates).

    Examples
    --------
    The first neighbour of the vertices that have one:

    >>> import weft
    >>> @weft.vertex
    ... def first(v):
    ...     v.next = weft.cond(v.out_degree > 0, lambda: weft.neighbor(v.id, 0), lambda: -1)
    >>> g = weft.Graph.from_edges([0, 1], [1, 2])
    >>> state = g.state(next=weft.full(-1, weft.vertex_id))
    >>> _ = g.run(first, state)
    >>> state.next.tolist()
    [1, 2, -1]
    """
    if not tracing.is_active():
        return then() if test else otherwise()
    builder = tracing.current()
    chosen = builder.test(node(test), "the test of weft.cond")
    blocks: list[Block] = []
    branches: list[tuple[Value, ...]] = []
    for function, which in ((then, "then"), (otherwise, "otherwise")):
        check_takes(function, f"`{which}` of weft.cond")
        builder.blocks.append(Block())
        returned = function()
        parts = returned if isinstance(returned, tuple) else (returned,)
        empty = returned is None
        branches.append(() if empty else tuple(node(part) for part in parts))
        blocks.append(builder.blocks.pop())
    if len(branches[0]) != len(branches[1]):
        raise fail(
            f"the functions of weft.cond return {len(branches[0])} and {len(branches[1])} value(s)."
            f" Expected the same number."
        )
    ids = [
        builder.stays_id(a) and builder.stays_id(b) and (builder.is_id(a) or builder.is_id(b))
        for a, b in zip(*branches, strict=True)
    ]
    kinds, weak = builder.unite(blocks, branches)
    dtype, shape = kinds[0] if kinds else (ops.BOOL, ())
    value = builder.append(
        Value("cond", (chosen,), None, dtype, shape, blocks=tuple(blocks), results=kinds)
    )
    if not kinds:
        return None
    builder.keep_ids(results := unpack(value, builder, weak), ids)
    return results


def while_loop(
    condition: Callable[..., Any], body: Callable[..., Any], *init: Any, bound: int = 2**31
) -> Any:
    """Run `body` on the state while `condition` holds; return the last state.

    Both get the state as arguments; `body` returns the next one. More than `bound` rounds raise a
    FaultError.

    Examples
    --------
    Follow parents up to a root:

    >>> import weft
    >>> @weft.vertex
    ... def climb(v):
    ...     up = lambda x: v.parent.at(x).load()
    ...     v.root = weft.while_loop(lambda x: up(x) != x, up, v.id, bound=100)
    >>> g = weft.generators.path(4)
    >>> state = g.state(parent=[0, 0, 1, 2], root=weft.full(-1))
    >>> _ = g.run(climb, state)
    >>> state.root.tolist()
    [0, 0, 0, 0]
    """
    if not tracing.is_active():
        return plain_while(condition, body, init, bound)
    builder = tracing.current()
    state, ids = _state(init, builder)
    if not state:
        raise fail("while_loop needs at least one state value.")
    if not isinstance(bound, int | np.integer) or not 0 <= bound < 2**63:
        raise fail(f"while_loop with bound={bound!r}. Expected an integer from 0 on, of 63 bits.")
    names = [f"state {k}" for k in range(len(state))]
    check_takes(condition, "the condition of while_loop", *names)
    check_takes(body, "the body of while_loop", *names)
    inner = []
    for function in (condition, body):
        params = _params(state, ids, builder)
        builder.blocks.append(Block(params))
        returned = function(*(Expr(p) for p in params))
        if function is condition:
            if returned is None:
                raise fail("the condition of while_loop returned nothing.")
            what = "the condition of while_loop"
            results: tuple[Value, ...] = (builder.test(node(returned), what),)
        else:
            results = _results(returned, state, ids, builder, "while_loop")
        block = builder.blocks.pop()
        block.results = results
        inner.append(block)
    types_ = tuple((s.dtype, s.shape) for s in state)
    dtype, shape = types_[0]
    loop = builder.append(
        Value("while", state, int(bound), dtype, shape, blocks=tuple(inner), results=types_)
    )
    builder.keep_ids(parts := unpack(loop, builder, ids), ids)
    return parts


def for_range(start: Any, stop: Any, body: Callable[..., Any], *init: Any) -> Any:
    """Run `body(i, *state)` for i from `start` up to `stop`; return the last state.

    Examples
    --------
    Sum over the row of v, as a gather over out-edges does:

    >>> import weft
    >>> @weft.vertex
    ... def total(v):
    ...     add = lambda i, sum: sum + weft.neighbor(v.id, i)
    ...     v.sum = weft.for_range(0, v.out_degree, add, 0)
    >>> g = weft.Graph.from_edges([0, 0, 1], [1, 2, 2])
    >>> state = g.state(sum=weft.full(0, weft.int64))
    >>> _ = g.run(total, state)
    >>> state.sum.tolist()
    [3, 2, 0]
    """
    if not tracing.is_active():
        return plain_for(start, stop, body, init)
    builder = tracing.current()
    if callable(stop) and not isinstance(stop, Expr):
        raise fail(
            "weft.for_range takes both bounds before the body: "
            "weft.for_range(0, 5, lambda i, x: ..., x)."
        )
    bounds = (builder.index(node(start)), builder.index(node(stop)))
    state, ids = _state(init, builder)
    names = ["i", *(f"state {k}" for k in range(len(state)))]
    check_takes(body, "the body of for_range", *names)
    counter = Value("param", (), 0, INT64, (), weak=True)
    params = _params(state, ids, builder, 1)
    builder.blocks.append(Block((counter, *params)))
    returned = body(Expr(counter), *(Expr(p) for p in params))
    results = _results(returned, state, ids, builder, "for_range") if state else ()
    block = builder.blocks.pop()
    block.results = results
    types_ = tuple((s.dtype, s.shape) for s in state)
    dtype, shape = types_[0] if types_ else (INT64, ())
    loop = builder.append(
        Value("for", (*bounds, *state), None, dtype, shape, blocks=(block,), results=types_)
    )
    if not state:
        return None
    builder.keep_ids(parts := unpack(loop, builder, ids), ids)
    return parts
