"""Gathers by key: the values of a row combined by key, and functions of the entries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.ir.ops import BOOL, Block, Reduction, Value
from weft.ir.trace import builder as tracing
from weft.ir.trace import monoids
from weft.ir.trace.builder import fail
from weft.ir.trace.calls import check_takes, parameters_of
from weft.ir.trace.control import unpack
from weft.ir.trace.expr import Expr, node
from weft.ir.trace.monoids import Monoid, check_monoid
from weft.ir.trace.neighbors import FoundEdge
from weft.ir.trace.proxies import Edge, Vertex, grouped, messages_of, send, with_conditions

_NAMES = ("u", "e", "w", "f")
_REFUSED = (monoids.any, monoids.argmin, monoids.argmax, monoids.mode)


class Keyed:
    """The result of `v.gather_by`: one entry (key, value) for every distinct key.

    Each method visits the edges once; `reduce` with a tuple computes several results in one sweep.
    Ties go to the smallest key.

    Examples
    --------
    The number of distinct labels around each vertex, and the weight of its own label:

    >>> import weft
    >>> @weft.vertex
    ... def look(v):
    ...     labels = v.gather_by(lambda u, e: u.label, lambda u, e: e.weight, weft.sum)
    ...     v.kinds = labels.count()
    ...     v.own = labels.get(v.label)
    >>> g = weft.generators.star(4)
    >>> state = g.state(label=[4, 4, 5, 4], kinds=weft.full(0), own=weft.full(0))
    >>> changed = g.run(look, state)
    >>> state.kinds.tolist(), state.own.tolist()
    ([2, 1, 1, 1], [2, 1, 0, 1])
    """

    def __init__(self, key: Callable[..., Any], value: Any, monoid: Monoid, direction: str) -> None:
        builder = tracing.current()
        if direction not in ("in", "out", "both"):
            raise fail(f"direction={direction!r} is not known. Expected 'in', 'out' or 'both'.")
        if builder.nested:
            raise fail("a gather cannot stand inside a loop or another gather.")
        check_monoid(monoid)
        if monoid in _REFUSED:
            raise fail(
                f"{monoid!r} cannot combine the values of a key. Expected weft.sum, prod, min, "
                f"max, or_, and_ or one made by weft.monoid."
            )
        self._key, self._monoid, self._direction = key, monoid, direction
        self._value = value if callable(value) else lambda u, e: value
        self._hops = 2 if 4 in (_takes(key), _takes(self._value)) else 1
        if self._hops == 2 and direction == "both":
            raise fail("two hops go in one direction. Expected direction='in' or 'out'.")

    def reduce(
        self, function: Callable[[Any, Any], Any], monoid: Monoid | tuple[Monoid, ...]
    ) -> Any:
        """Combine a message ``function(key, value)`` of every entry, like a gather over edges."""
        return self._consume(function, monoid)

    def argmax(self, score: Callable[[Any, Any], Any] | None = None) -> tuple[Expr, Expr]:
        """Return the key with the largest value, or largest ``score(key, value)``, and that number.

        Without an entry the key is -1 and the number that of an empty `argmax`.
        """
        return self._best(score, monoids.argmax)

    def argmin(self, score: Callable[[Any, Any], Any] | None = None) -> tuple[Expr, Expr]:
        """Return the key with the smallest value, or smallest ``score(key, value)``, and that."""
        return self._best(score, monoids.argmin)

    def _best(self, score: Any, monoid: Monoid) -> tuple[Expr, Expr]:
        def message(key: Any, value: Any) -> tuple[Any, Any]:
            return (value if score is None else score(key, value)), key

        if score is not None:
            check_takes(score, "the score of a gather by key", "key", "value")
        number, key = self._consume(message, monoid)
        return key, number

    def count(self) -> Expr:
        """Return the number of distinct keys."""
        found: Expr = self._consume(lambda key, value: 1, monoids.sum)
        return found

    def get(self, key: Any) -> Expr:
        """Return the value of a key; 0 if there is none."""
        found: Expr = self._consume(lambda k, value: send(value, when=k == key), monoids.any)
        return found

    def each(self, function: Callable[[Any, Any], None]) -> None:
        """Call a function of every entry (key, value), by ascending key, to emit records."""
        self._consume(function, None)

    def _consume(self, function: Any, monoid: Any) -> Any:
        builder = tracing.current()
        if builder.nested:
            raise fail("a gather cannot stand inside a loop or another gather.")
        check_takes(function, "the function of a gather by key", "key", "value")
        arc, reduction, conditional = self._arc_block()
        params = tuple(Value("param", (), i, r.dtype) for i, r in enumerate(arc.results[:2]))
        builder.blocks.append(Block(params))
        what = "the function of a gather by key"
        returned = function(*(Expr(p) for p in params))
        messages, when = ((), None) if monoid is None else messages_of(returned, what)
        messages = tuple(builder.strong(message) for message in messages)
        if any(message.shape for message in messages):
            raise fail(f"{what} returns scalar messages.")
        groups = [] if monoid is None else grouped(messages, monoid)
        if any(r.name == "mode" for r, _ in groups):
            raise fail("weft.mode cannot combine the entries of a gather by key.")
        entry = builder.blocks.pop()
        entry.results = with_conditions(groups, messages, when)
        told = tuple((r, count, when is not None) for r, count in groups)
        attr = (self._direction, self._hops, reduction, conditional, told)
        kinds = tuple((m.dtype, m.shape) for m in messages)
        dtype = kinds[0][0] if kinds else BOOL
        blocks = (arc, entry)
        made = builder.append(Value("gather_by", (), attr, dtype, blocks=blocks, results=kinds))
        if kinds:
            return unpack(made, builder)
        return None

    def _arc_block(self) -> tuple[Block, Reduction, bool]:
        """Trace the key and the value of an arc."""
        builder = tracing.current()
        builder.blocks.append(Block())
        proxies = (Vertex("u"), Edge(), Vertex("w"), FoundEdge("eb"))
        names = _NAMES[: 2 * self._hops]
        answers = []
        for function, what in ((self._key, "key"), (self._value, "value")):
            taken = 4 if _takes(function) == 4 else 2
            check_takes(function, f"the {what} of a gather by key", *names[:taken])
            builder.gathering = True
            answers.append(function(*proxies[:taken]))
            builder.gathering = False
        key = builder.strong(node(answers[0]))
        if key.dtype.kind not in "iu" or key.shape:
            raise fail(
                f"the key of a gather must be an integer scalar, but is {key.dtype} of shape "
                f"{key.shape}. Cast it: weft.cast(x, weft.int64)."
            )
        messages, when = messages_of(answers[1], "the value of a gather by key")
        if len(messages) != 1 or messages[0].shape:
            raise fail("the value of a gather by key is one scalar.")
        value = builder.strong(messages[0])
        block = builder.blocks.pop()
        block.results = (key, value, *(() if when is None else (when,)))
        return block, self._monoid.reduction(value.dtype), when is not None


def _takes(function: Any) -> int:
    """Return the number of parameters that a function of a path takes."""
    found = parameters_of(function) if callable(function) else None
    return 0 if found is None else len(found.names) - len(found.defaults)
