"""The proxies u, v and e that a traced function is called with."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from weft.errors import FieldError, listed, nearest, shortened
from weft.ir.ops import FLOAT64, INT64, Block, Reduction, Value
from weft.ir.trace import builder as tracing
from weft.ir.trace.builder import Builder, fail, user_line
from weft.ir.trace.calls import check_takes
from weft.ir.trace.control import unpack
from weft.ir.trace.expr import Expr, node
from weft.ir.trace.monoids import Monoid, check_monoid

if TYPE_CHECKING:
    from weft.ir.trace.by_key import Keyed

_LOADS = {"id": "id", "out_degree": "out_degree", "in_degree": "in_degree"}


class Sent:
    """Messages with the condition under which they are sent.

    With `always` they are sent in any case, and the condition decides whether the later functions
    of a fold run on the arc.
    """

    __slots__ = ("always", "messages", "when")

    def __init__(self, messages: tuple[Any, ...], when: Any, always: bool = False) -> None:
        self.messages = messages
        self.when = when
        self.always = always

    def __repr__(self) -> str:
        held = self.messages[0] if len(self.messages) == 1 else self.messages
        return f"send({held!r})" if self.when is None else f"send({held!r}, when={self.when!r})"


def send(message: Any, when: Any = None) -> Sent:
    """Send a message (or a tuple of them) only along the edges where the condition holds.

    Examples
    --------
    >>> import weft
    >>> @weft.edge(into="most", reduce=weft.max)
    ... def odd(u, v, e):
    ...     return weft.send(u.id, when=u.id % 2 == 1)
    >>> g = weft.generators.complete(4)
    >>> state = g.state(most=weft.full(-1))
    >>> changed = g.run(odd, state)
    >>> state.most.tolist()
    [3, 3, 3, 1]
    """
    return Sent(message if isinstance(message, tuple) else (message,), when)


def no_field(builder: Builder, what: str, name: str, known: Any) -> FieldError:
    """Return the error about a field that does not exist, at the user's line."""
    maker = "g.state" if what == "the state" else "g.edge_state"
    expected = f"Expected one of {listed(known)}, or declare" if known else "Declare"
    error = FieldError(
        f"{what} has no field {name!r}. {expected} it: {maker}({name}=...).{nearest(name, known)}"
        f"\n  at {user_line()}"
    )
    error.missing = name if what == "the state" else None
    return error


class _Proxy:
    """Base class of u, v, w and e, which raise helpful errors if used as values."""

    __slots__ = ()

    def _refuse(self, what: str) -> NoReturn:
        raise fail(f"{what} Use one of its fields, such as v.level or e.weight.")

    def _compare(self, other: object) -> NoReturn:
        raise fail(
            "a vertex or an edge is not a number. Use one of its fields, or its id: u.id == v.id."
        )

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _compare
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _compare
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _compare
    __hash__ = None  # type: ignore[assignment]

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> NoReturn:
        self._compare(None)

    def __bool__(self) -> NoReturn:
        self._refuse("a vertex or an edge has no truth value.")

    def __iter__(self) -> NoReturn:
        raise fail(
            "a vertex or an edge cannot be iterated. To go over the edges of v, use "
            "v.gather(lambda u, e: ..., weft.sum), or weft.for_range with weft.neighbor."
        )

    def __len__(self) -> NoReturn:
        self._refuse("a vertex or an edge has no len().")

    def __contains__(self, item: object) -> NoReturn:
        self._refuse("`in` cannot be traced.")

    def __format__(self, spec: str) -> NoReturn:
        self._refuse("a vertex or an edge cannot be formatted.")


class FieldExpr(Expr):
    """A field of a vertex: a value, and by .at(i) the same field of a computed vertex."""

    __slots__ = ("field",)

    def __init__(self, value: Value, field: str) -> None:
        super().__init__(value)
        self.field = field

    def at(self, i: Any) -> LiveCell:
        """Return the live field of the computed vertex i.

        Loads and updates act on current memory, each atomic, in no order. An assignment to a field
        that is only loaded this way counts as a change of v. A write through ``.at(i)`` puts no
        vertex into the frontier: set ``v.changed``, or reduce a scalar.
        """
        return LiveCell(self.field, i)


class LiveCell(Expr):
    """A field at a computed vertex: loads, reductions and compare-and-swap on current memory."""

    __slots__ = ("_loaded", "field", "place")

    def __init__(self, field: str, i: Any) -> None:
        builder = tracing.current()
        _, shape = builder.fields[field]
        if shape:
            raise fail(f"field {field!r} has shape {shape}; .at(i) works on scalar fields.")
        builder.live.add(field)
        builder.own.pop(field, None)
        self.field = field
        self.place = builder.index(node(i))
        self._loaded: tuple[Block, Value] | None = None

    @property
    def node(self) -> Value:  # type: ignore[override]
        """The value read at the moment of its first use."""
        builder = tracing.current()
        if self._loaded is None or not any(b is self._loaded[0] for b in builder.blocks):
            dtype, shape = builder.fields[self.field]
            value = builder.emit("at_load", (self.place,), self.field, dtype, shape)
            self._loaded = builder.blocks[-1], value
        return self._loaded[1]

    def load(self) -> Expr:
        """Read the field now."""
        builder = tracing.current()
        dtype, shape = builder.fields[self.field]
        return Expr(builder.emit("at_load", (self.place,), self.field, dtype, shape))

    def _reduce(self, monoid: str, x: Any) -> Expr:
        builder = tracing.current()
        dtype, _ = builder.fields[self.field]
        value = builder.fit(node(x), dtype, (), f"field {self.field!r}")
        if monoid in ("or", "and") and dtype.kind == "f":
            raise fail(f"{monoid} needs integers or truth values, but {self.field!r} is {dtype}.")
        return Expr(builder.emit("at_reduce", (self.place, value), (self.field, monoid), dtype))

    def min(self, x: Any) -> Expr:
        """Lower the field to x if x is smaller; return the value before."""
        return self._reduce("min", x)

    def max(self, x: Any) -> Expr:
        """Raise the field to x if x is larger; return the value before."""
        return self._reduce("max", x)

    def add(self, x: Any) -> Expr:
        """Add x to the field; return the value before."""
        return self._reduce("sum", x)

    def or_(self, x: Any) -> Expr:
        """Set bits of the field; return the value before."""
        return self._reduce("or", x)

    def and_(self, x: Any) -> Expr:
        """Combine by bitwise and; return the value before."""
        return self._reduce("and", x)

    def set(self, x: Any) -> None:
        """Write the field."""
        builder = tracing.current()
        dtype, _ = builder.fields[self.field]
        value = builder.fit(node(x), dtype, (), f"field {self.field!r}")
        builder.emit("at_store", (self.place, value), self.field, dtype)

    def cas(self, expected: Any, new: Any) -> Expr:
        """Write `new` if the field holds `expected`; return the value before."""
        builder = tracing.current()
        dtype, _ = builder.fields[self.field]
        name = f"field {self.field!r}"
        args = (
            self.place,
            builder.fit(node(expected), dtype, (), name),
            builder.fit(node(new), dtype, (), name),
        )
        return Expr(builder.emit("at_cas", args, self.field, dtype))


def _naming(name: str) -> Builder:
    """Return the builder, unless it is Python that asks for something of its own."""
    if name.startswith("_"):
        raise AttributeError(name)
    return tracing.current()


def _home() -> Block | None:
    """Return the block that a proxy is made for."""
    return tracing.current().blocks[-1] if tracing.is_active() else None


def _check_home(home: Block | None, who: str) -> None:
    """Raise if a proxy has left the function or gather that it was passed to."""
    if home is None or any(block is home for block in tracing.current().blocks):
        return
    raise fail(
        f"{who} is used outside of the function or gather that it was passed to, which it left "
        f"through a variable of Python. Return values from there: those of a gather may be used "
        f"after it."
    )


class OldVertex(_Proxy):
    """Fields of a vertex as they were before their last change."""

    __slots__ = ("_who",)
    _who: str

    def __init__(self, who: str) -> None:
        object.__setattr__(self, "_who", who)

    def __getattr__(self, name: str) -> Expr:
        builder = _naming(name)
        if name not in builder.fields:
            raise no_field(builder, "the state", name, builder.fields)
        dtype, shape = builder.fields[name]
        return Expr(builder.emit("load", (), ("old", self._who, name), dtype, shape))

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise fail("old values cannot be assigned.")


class Vertex(_Proxy):
    """A vertex: u (source), v (own) or w (a common neighbour)."""

    __slots__ = ("_home", "_own", "_who")
    _home: Block | None
    _own: bool
    _who: str

    def __init__(self, who: str, own: bool = False) -> None:
        object.__setattr__(self, "_who", who)
        object.__setattr__(self, "_own", own)
        object.__setattr__(self, "_home", _home())

    @property
    def old(self) -> OldVertex:
        """The vertex as it was before its fields last changed."""
        return OldVertex(self._who)

    def __getattr__(self, name: str) -> Expr:
        builder = _naming(name)
        _check_home(self._home, self._who)
        if self._own and name in builder.own:
            return FieldExpr(builder.own[name], name)
        if name in builder.fields:
            dtype, shape = builder.fields[name]
            value = builder.emit("load", (), ("field", self._who, name), dtype, shape)
            return FieldExpr(value, name)
        if name in _LOADS:
            return Expr(builder.emit("load", (), (_LOADS[name], self._who), INT64, (), weak=True))
        raise no_field(builder, "the state", name, [*builder.fields, *_LOADS])

    def __delattr__(self, name: str) -> NoReturn:
        raise fail(f"v.{name} cannot be deleted: all vertices have the same fields. Assign it.")

    def __setattr__(self, name: str, value: Any) -> None:
        builder = tracing.current()
        if not self._own:
            role = "the source" if self._who == "u" else "this vertex"
            who = "old" if self._who == "before" else self._who
            raise fail(
                f"{who}.{name} cannot be assigned: {role} is read only here. A vertex function "
                f"assigns the fields of v; an edge function returns a message for v (into=)."
            )
        if builder.nested:
            raise fail(
                f"v.{name} is assigned inside a loop, a branch or a gather. Carry the value "
                f"through the loop's state, or return it from the branch, and assign it after."
            )
        if name == "changed" and name not in builder.fields:
            builder.emit("set_changed", (builder.test(node(value), "v.changed"),))
            return
        if name in _LOADS:
            raise fail(f"v.{name} cannot be assigned: it belongs to the graph. Use another name.")
        if name not in builder.fields:
            raise no_field(builder, "the state", name, [*builder.fields, "changed"])
        dtype, shape = builder.fields[name]
        fitted = builder.fit(node(value), dtype, shape, f"field {name!r}")
        builder.emit("store", (fitted,), name, dtype, shape)
        if name not in builder.live:
            builder.own[name] = fitted

    def gather(
        self,
        function: Callable[[Any, Any], Any],
        monoid: Monoid | tuple[Monoid, ...] | None = None,
        *,
        direction: str = "in",
        dtype: Any = None,
    ) -> Any:
        """Combine a message over the in-edges; see `weft.vertex`.

        Parameters
        ----------
        function
            `f(u, e)` returns the message of an edge, or a tuple; u is the far end.
        monoid
            How messages combine; a tuple gives one to each message. `weft.mode` of a key and a
            weight, ``(u.label, e.weight)``, is the integer key of the greatest total weight, the
            smallest one on ties.
        direction
            "in", "out" or "both": an edge that runs both ways counts twice.
        dtype
            The dtype to combine in; by default that of the messages.

        Returns
        -------
        Expr or tuple of Expr
            Where there is no message the identity: 0 for a sum, 1 for a product, inf or the largest
            integer for a minimum; 0 of `any` and `mode`; of `argmin` and `argmax` such a key and
            -1 (0 if it is no signed integer) for what goes with it.
        """
        if not self._own or self._who != "v":
            raise fail("only v can gather: v.gather(lambda u, e: ..., weft.sum).")
        return gather(function, monoid, direction, dtype)

    def gather_by(
        self,
        key: Callable[..., Any],
        value: Any = None,
        monoid: Monoid | None = None,
        *,
        direction: str = "in",
    ) -> Keyed:
        """Combine a value over the edges of v, apart for every key; see `weft.Keyed`.

        Parameters
        ----------
        key
            ``key(u, e)`` returns an integer; u is the far end. With ``key(u, e, w, f)`` the edges
            of u are followed too: w is the far end of its edge f.
        value
            A number, or a function of the same that returns a scalar; ``weft.send(x, when=...)``
            leaves out edges.
        monoid
            How the values of one key combine: sum, prod, min, max, or_, and_ or a user's.
        direction
            "in", "out" or "both", as for `gather`; both hops go in the same direction.

        Examples
        --------
        The label with the greatest total weight around each vertex, the least such label on ties:

        >>> import weft
        >>> @weft.vertex
        ... def vote(v):
        ...     votes = v.gather_by(lambda u, e: u.label, lambda u, e: e.weight, weft.sum)
        ...     v.label, v.total = votes.argmax()
        >>> g = weft.Graph.from_edges([0, 1, 2], [3, 3, 3], weight=[1.0, 1.0, 1.5])
        >>> state = g.state(label=[7, 7, 5, 9], total=weft.full(0.0))
        >>> changed = g.run(vote, state, [3])
        >>> state.label[3].item(), state.total[3].item()
        (7, 2.0)
        """
        from weft.ir.trace.by_key import Keyed

        if not self._own or self._who != "v":
            raise fail("only v can gather: v.gather_by(lambda u, e: ..., 1, weft.sum).")
        if not isinstance(monoid, Monoid):
            raise fail(
                f"v.gather_by takes a key, a value and a monoid, but got {shortened(monoid)} for "
                "the last. Write v.gather_by(lambda u, e: u.label, 1, weft.sum)."
            )
        return Keyed(key, value, monoid, direction)


class Edge(_Proxy):
    """An edge: its columns, its state, its id and its position in its row."""

    __slots__ = ("_home", "_own")
    _home: Block | None
    _own: bool

    def __init__(self, own: bool = False) -> None:
        object.__setattr__(self, "_own", own)
        object.__setattr__(self, "_home", _home())

    @property
    def reverse(self) -> ReverseEdge:
        """The opposite arc."""
        return ReverseEdge()

    def __getattr__(self, name: str) -> Expr:
        builder = _naming(name)
        _check_home(self._home, "e")
        if self._own and name in builder.own_edge:
            return Expr(builder.own_edge[name])
        if name in builder.edge_fields:
            dtype, shape = builder.edge_fields[name]
            return Expr(builder.emit("load", (), ("edge_state", "e", name), dtype, shape))
        if name in builder.columns:
            dtype, shape = builder.columns[name]
            return Expr(builder.emit("load", (), ("column", "e", name), dtype, shape))
        if name == "weight":
            return Expr(builder.const(1))
        if name in ("id", "rank"):
            what = "edge_id" if name == "id" else "rank"
            return Expr(builder.emit("load", (), (what,), INT64, (), weak=True))
        known = dict.fromkeys([*builder.edge_fields, *builder.columns, "weight", "id", "rank"])
        raise no_field(builder, "the edge", name, known)

    def __setattr__(self, name: str, value: Any) -> None:
        builder = tracing.current()
        if name not in builder.edge_fields:
            if name in builder.columns:
                raise fail(
                    f"e.{name} is a column of the graph and cannot be assigned. Declare edge state "
                    f"with g.edge_state({name}=...)."
                )
            raise no_field(builder, "the edge state", name, builder.edge_fields)
        if not self._own or builder.nested:
            raise fail("edge state is assigned at the top of an edge function only.")
        dtype, shape = builder.edge_fields[name]
        fitted = builder.fit(node(value), dtype, shape, f"edge field {name!r}")
        builder.emit("store_edge", (fitted,), name, dtype, shape)
        builder.own_edge[name] = fitted


class ReverseEdge(_Proxy):
    """The opposite arc: its edge state can be read."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Expr:
        builder = _naming(name)
        if name not in builder.edge_fields:
            raise no_field(builder, "the edge state", name, builder.edge_fields)
        dtype, shape = builder.edge_fields[name]
        return Expr(builder.emit("load", (), ("edge_state", "rev", name), dtype, shape))

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise fail("e.reverse is read only: every arc is written by its own edge function call.")


def messages_of(returned: Any, what: str) -> tuple[tuple[Value, ...], Value | None]:
    """Return the messages and the condition that a function returned."""
    builder = tracing.current()
    when = None
    if isinstance(returned, Sent):
        if returned.when is not None:
            when = builder.test(node(returned.when), "when=")
        returned = returned.messages
    parts = returned if isinstance(returned, tuple) else (returned,)
    if any(part is None for part in parts):
        raise fail(
            f"{what} returned nothing, but must return a message. Return the message, or "
            f"weft.send(message, when=condition)."
        )
    return tuple(node(part) for part in parts), when


def gather(function: Any, monoid: Any, direction: str, dtype: Any) -> Any:
    """Trace a gather over the edges of v."""
    builder = tracing.current()
    if direction not in ("in", "out", "both"):
        raise fail(f"direction={direction!r} is not known. Expected 'in', 'out' or 'both'.")
    if builder.nested:
        raise fail(
            "a gather cannot stand inside a loop, a branch or another gather. Gather into a field "
            "in a step before this one, or walk a row by weft.for_range and weft.neighbor."
        )
    if monoid is None or isinstance(function, Monoid):
        raise fail(
            "a gather takes a function and then how its messages combine: "
            "v.gather(lambda u, e: u.rank, weft.sum)."
        )
    what = "the function of a gather"
    check_takes(function, what, "u", "e")
    builder.blocks.append(Block())
    builder.gathering = True
    messages, when = messages_of(function(Vertex("u"), Edge()), what)
    builder.gathering = False
    wanted = None if dtype is None else builder.dtype(dtype, "v.gather")
    check_monoids(messages, monoid)
    by = monoid if isinstance(monoid, tuple) else (monoid,) * len(messages)
    counts = [
        wanted is None and m.name == "sum" and _counts(x) for m, x in zip(by, messages, strict=True)
    ]
    messages = tuple(
        _strong_message(x, m, builder) if wanted is None else builder.cast(x, wanted)
        for m, x in zip(by, messages, strict=True)
    )
    weighted = not isinstance(monoid, tuple) and monoid.name == "mode" and len(messages) == 2
    if weighted:
        messages = _weighted_keys(messages, builder)
    groups = [(monoid.reduction(messages[0].dtype), 2)] if weighted else grouped(messages, monoid)
    block = builder.blocks.pop()
    block.results = with_conditions(groups, messages, when)
    attr = (direction, tuple((r, count, when is not None) for r, count in groups))
    kinds = tuple((m.dtype, m.shape) for m in messages)
    value = builder.append(
        Value("gather", (), attr, kinds[0][0], kinds[0][1], blocks=(block,), results=kinds)
    )
    parts = unpack(value, builder, counts)
    return parts[0] if weighted else parts


def _counts(value: Value) -> bool:
    """Whether the sum of such messages is a number of edges, which is weak as a degree is."""
    if value.op == "select":
        return value.weak and all(_counts(part) for part in value.args[1:])
    return value.op == "const" and value.weak and value.attr in (0, 1, -1)


def _strong_message(value: Value, monoid: Monoid, builder: Builder) -> Value:
    """Return a message with a dtype of its own; an id that is chosen stays one."""
    if monoid.name in ("min", "max", "any", "argmin", "argmax", "mode") and builder.is_id(value):
        return builder.cast(value, builder.signature.index_dtype)
    return builder.strong(value)


def _weighted_keys(messages: tuple[Value, ...], builder: Builder) -> tuple[Value, ...]:
    """Return a key and its weight, which is added up as float64 or int64."""
    key, weight = messages
    if key.dtype.kind == "f" or key.shape or weight.shape:
        raise fail(
            f"weft.mode by weight takes an integer key and a scalar weight, but got "
            f"{key.dtype}{list(key.shape) or ''} and {weight.dtype}{list(weight.shape) or ''}. For "
            f"the mode of each, pass (weft.mode, weft.mode)."
        )
    return key, builder.cast(weight, FLOAT64 if weight.dtype.kind == "f" else INT64)


def check_monoids(messages: tuple[Value, ...], monoid: Any) -> None:
    """Raise unless there is a monoid for all messages, or one for each."""
    monoids = monoid if isinstance(monoid, tuple) else None
    for part in monoids or (monoid,):
        check_monoid(part)
    if monoids is not None and len(monoids) != len(messages):
        raise fail(f"{len(monoids)} monoids for {len(messages)} messages.")


def grouped(messages: tuple[Value, ...], monoid: Any) -> list[tuple[Reduction, int]]:
    """Return the reductions of some messages, each with the number of messages that it takes."""
    check_monoids(messages, monoid)
    monoids = monoid if isinstance(monoid, tuple) else None
    if monoids is None and monoid.name in ("any", "argmin", "argmax"):
        groups = [(monoid.reduction(messages[0].dtype), len(messages))]
    else:
        each = monoids or (monoid,) * len(messages)
        groups = [(m.reduction(x.dtype), 1) for m, x in zip(each, messages, strict=True)]
    _check_groups(groups, messages)
    return groups


def with_conditions(
    groups: list[tuple[Reduction, int]], messages: tuple[Value, ...], when: Value | None
) -> tuple[Value, ...]:
    """Return the results of a block: the messages of each group, then the condition."""
    results: list[Value] = []
    position = 0
    for _, count in groups:
        results.extend(messages[position : position + count])
        position += count
        if when is not None:
            results.append(when)
    return tuple(results)


def _check_groups(groups: Any, messages: tuple[Value, ...]) -> None:
    position = 0
    for reduction, count in groups:
        for message in messages[position : position + count]:
            if message.shape and (reduction.name in ("mode", "user") or reduction.selecting):
                raise fail(f"{reduction.name} combines scalar messages, but got {message.shape}.")
        if reduction.name in ("argmin", "argmax") and count < 2:
            raise fail(f"{reduction.name} needs a key and at least one more value in the message.")
        position += count
