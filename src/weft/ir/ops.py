"""The IR: its ops, and the values, blocks and steps that are built from them.

Elementwise ops are declared in `weft.ir.elementwise`, all others here.

A `Value` is one instruction and its result. A `Block` is a list of values in program order with
parameters and results; loops, gathers and reductions over common neighbours hold blocks. A `Step`
is one traced user function with its roles (accept, active, ...), a `Program` what one run executes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

# Ops over the features of one value.
FEATURE = frozenset({
    "outer", "dot", "matvec", "matmul", "transpose", "inverse",
    "matvec_max",  # the largest product of each row in place of their sum
    "solve",  # attr: None, or "spd" for a symmetric positive definite matrix
    "normalize",  # attr: "sum", "l2", "max" or "softmax"
    "feature_reduce",  # attr: name of a monoid
    "argmin_feature", "argmax_feature",
    "eye",  # attr: k
    "stack",  # scalars to a vector, vectors to a matrix
    "index",  # (value, position along the first axis)
    "iota",  # 0, 1, ..., k - 1; attr: k
    "take",  # (vector, positions): the features at the positions
    "scatter",  # (vector, positions, values): the vector with other features at the positions
})  # fmt: skip

# Loads: attr names the item and its property. `old` is v before the last change, `rev` the opposite
# arc.
#   ("field", who, name) who in u v w old; ("column", arc, name), ("edge_state", arc, name) with arc
#   in e rev ea eb (ea, eb: from a and b to a common neighbour); ("edge_id", "ea"|"eb")
#   ("id", who) ("out_degree", who) ("in_degree", who) with who in u v w; ("edge_id",), ("rank",)
#   ("least",) of `until`: no vertex of the frontier has a priority below it
#   ("superstep",), ("num_vertices",); ("scalar", name); ("parameter", "all", name)
#   ("refreshing",) 1 where `renew` runs because the frontier is empty, else 0
LOAD = frozenset({"load"})
LEAF = frozenset({"const", "constant", "param"})  # attr: a value; a lifted constant; a position

# Computed vertices: (vertex), (vertex, i), (vertex, i), (source, destination) twice; an edge id,
# with the column as attr; (key, counter).
INDEXED = frozenset({
    "degree", "neighbor", "neighbor_edge", "has_edge", "find_edge", "column_at", "random_bits",
    "random_unit",
    "field_at",  # of `until`: attr: field; (vertex)
})  # fmt: skip
LIVE_READ = frozenset({"at_load"})  # attr: field; (index)
# at_reduce: attr (field, monoid name); (index, value) gives the old value.
# at_cas: attr field; (index, expected, new) gives the old value.
LIVE_WRITE = frozenset({"at_store", "at_reduce", "at_cas"})
# store: attr field, own vertex. store_edge: attr field, this arc. reduce_scalar: attr (name,
# monoid). set_changed: attr None.
# emit: one record; args = its parts, then the condition if attr says so. emit_begin and emit_end
# stand around the body of such a function, attr = what an item is: "edge" or "vertex".
EMIT = frozenset({"emit", "emit_begin", "emit_end"})
EFFECT = frozenset({"store", "store_edge", "reduce_scalar", "set_changed"}) | LIVE_WRITE | EMIT
# while: blocks (condition, body), args = initial state, attr = bound.
# for: blocks (body,), args = (start, stop, *initial state).
# cond: blocks (then, otherwise) without parameters, args = (test,); only one of them runs.
# gather: blocks (message,), attr = (direction, groups); a group is (reduction, number of messages,
#   conditional) and takes that many results of the block, then the condition if it has one.
# common: blocks (message of w,), args = (a, b), attr = groups as those of a gather.
# gather_by: blocks (key and value of an arc, message of an entry), attr = (direction, hops,
#   reduction of the values, conditional, groups). The first block gives a key, a value and perhaps
#   a condition; values of one key are combined. The second has the parameters (key, value) and
#   gives the messages of groups as those of a gather. With two hops w is the far end and eb the
#   second arc.
# project: attr = i, the i-th result of one of the above.
CONTROL = frozenset({"while", "for", "cond", "gather", "gather_by", "common", "project"})
OTHER_OPS = FEATURE | LOAD | LEAF | INDEXED | LIVE_READ | EFFECT | CONTROL

BOOL = np.dtype(bool)
INT32 = np.dtype(np.int32)
INT64 = np.dtype(np.int64)
UINT64 = np.dtype(np.uint64)
FLOAT32 = np.dtype(np.float32)
FLOAT64 = np.dtype(np.float64)

Shape = tuple[int, ...]


INDEXING = frozenset({
    "at_load", "at_store", "at_reduce", "at_cas", "degree", "neighbor", "neighbor_edge",
    "has_edge", "find_edge", "column_at", "field_at", "index", "take", "common",
})  # fmt: skip
"""Operations that fault where an index is out of range."""
MATRIX_FAULTS = frozenset({"solve", "inverse"})
"""Operations that fault where a matrix is singular, or not positive definite."""
FAULTING = INDEXING | MATRIX_FAULTS | {"while"}


@dataclass(eq=False, slots=True, repr=False)
class Value:
    """One instruction: an op, its operands, and the dtype and shape of its result."""

    op: str
    args: tuple[Value, ...] = ()
    attr: Any = None
    dtype: np.dtype[Any] = BOOL
    shape: Shape = ()
    _: KW_ONLY
    weak: bool = False  # a weak number takes the dtype of the other operand
    blocks: tuple[Block, ...] = ()
    # Types of the parts of a multi-result op, read by `project`.
    results: tuple[tuple[np.dtype[Any], Shape], ...] = ()
    home: Block | None = None  # the block that it was traced into
    line: str = ""  # the user's, of what may fault
    vertex: bool = False  # surely a vertex: needs no check before it is used as an index

    @property
    def size(self) -> int:
        """Number of features."""
        return int(np.prod(self.shape)) if self.shape else 1

    def __repr__(self) -> str:
        return f"<{self.op} {self.dtype}{list(self.shape) or ''}>"


@dataclass(eq=False)
class Block:
    """Instructions in program order, with parameters and results."""

    params: tuple[Value, ...] = ()
    body: list[Value] = field(default_factory=list)
    results: tuple[Value, ...] = ()

    def walk(self) -> Iterator[Value]:
        """Yield every instruction, those of inner blocks before the one that holds them."""
        for value in self.body:
            for inner in value.blocks:
                yield from inner.walk()
            yield value


@dataclass(frozen=True)
class Reduction:
    """A monoid in the IR: a name, and for user-made ones a block and an identity."""

    name: str  # sum prod min max any or and argmin argmax mode user
    combine: Block | None = None
    identity: float | int | bool | None = None
    terminal: float | int | bool | None = None  # user-made: the value that no message changes

    @property
    def selecting(self) -> bool:
        """Whether the whole tuple of messages comes from one edge."""
        return self.name in ("any", "argmin", "argmax")


@dataclass(eq=False)
class Step:
    """One traced user function: an edge step or a vertex step."""

    kind: str  # "edge" or "vertex"
    name: str
    body: Block
    place: str = ""  # the file and line of the function
    # Edge: messages, then the condition if there is one. Vertex: the returned condition, if any.
    into: tuple[str, ...] = ()
    reductions: tuple[Reduction, ...] = ()
    conditional: bool = False  # the last result of the body says whether to send (or go on)
    # Of a conditional edge step: it always sends, and the condition only decides whether the later
    # functions of its fold run on the arc.
    sends_always: bool = False
    accept: Block | None = None
    active: Block | None = None
    priority: Block | None = None
    wake: str = "changed"  # changed, all, neighbors
    everywhere: bool = False  # on="all"
    shrinks: bool = False  # first of a refill: vertices that it leaves out may be left out for good
    along: str = "out"  # of an edge step; "in": an arc is seen as if it ran the other way
    # Of a vertex step that runs everywhere after an edge step: a vertex that neither sent nor
    # received would hardly change, and may be skipped.
    settled: bool = False
    order_free: bool = False
    folded: bool = False  # continues the sweep of the step before it
    relaxed: bool = False  # fold: other vertices may be seen as they are
    joined: bool = False  # runs in the sweep of the step before it, where that one put out v
    hands_on: bool = False  # unfolded: its output is where the next function runs
    # Hidden fields, each with the block of u that fills it before the step (source hoisting).
    hoisted: list[tuple[str, Block]] = field(default_factory=list)

    def body_effects(self) -> bool:
        """Whether the function does more than send messages."""
        return any(value.op in EFFECT for value in self.body.walk())


@dataclass(frozen=True)
class Signature:
    """The names available to a program: fields, columns, scalars, parameters; with types."""

    fields: tuple[tuple[str, np.dtype[Any], Shape], ...]
    edge_fields: tuple[tuple[str, np.dtype[Any], Shape], ...]
    columns: tuple[tuple[str, np.dtype[Any], Shape], ...]
    scalars: tuple[tuple[str, np.dtype[Any]], ...]
    index_dtype: np.dtype[Any]
    parameters: tuple[tuple[str, np.dtype[Any], Shape], ...] = ()  # the same at every vertex


class Findings(dict[Any, Any]):
    """Cached findings about a program: its key, its facts, its derived forms.

    Only complete programs have findings. A copy, which may be changed, starts without.
    """

    def __deepcopy__(self, memo: dict[int, Any]) -> Findings:
        return Findings()


# A frontier is wide if more than one in this many arcs starts in it. Derived from the cost of an
# arc: the atomics of a push take some six times as long as a pull (docs/design/change-driven.md).
WIDE_SHARE = 16
REFRESH = 64
# The roles of a program's steps, in numbering order.
ROLES = ("steps", "refill", "wide", "renew")


@dataclass(eq=False)
class Program:
    """The program that one `run`, `iterate` or `replay` executes."""

    steps: tuple[Step, ...]
    signature: Signature
    mode: str = "run"  # run, iterate, replay
    until: Block | None = None
    refill: tuple[Step, ...] = ()
    # Replace the steps while the frontier is wide. They do not maintain the hidden values of the
    # steps, so `renew` runs in between, in every REFRESH-th superstep, and as a refill, which such
    # a program does not have otherwise. All run everywhere. Without `until`, the run ends when a
    # renewing superstep activates no vertex.
    wide: tuple[Step, ...] = ()
    renew: tuple[Step, ...] = ()
    next_threshold: Block | None = None
    # The pass of a program that emits: "count" the records of every item, or "write" them at the
    # offsets from these counts. Both passes share one trace.
    emits: str = ""
    emitted: tuple[np.dtype[Any], ...] = ()  # the dtypes of the parts of a record
    bounded: bool = False  # max_iter was given
    trail: bool = False
    findings: Findings = field(default_factory=Findings, init=False, repr=False)

    @property
    def rests_renewed(self) -> bool:
        """Whether the run ends when a renewing superstep activates no vertex."""
        return bool(self.renew) and self.until is None

    @property
    def observed(self) -> bool:
        """Whether a run may end between supersteps, by `max_iter` or `until`."""
        return self.bounded or self.until is not None

    @property
    def persists(self) -> bool:
        """Whether an empty frontier does not end the loop, but `until`: a step runs everywhere.

        Of folded functions, the first one decides where all of them run. With a refill, the refill
        handles an empty frontier.
        """
        if self.until is None or self.refill or self.renew:
            return False
        before = (None, *self.steps)
        return any(
            step.everywhere and not (step.folded and last is not None and last.kind == step.kind)
            for last, step in zip(before, self.steps, strict=False)
        )

    @property
    def until_fields(self) -> frozenset[str]:
        """The fields that `until` reads."""
        looks = self.until.walk() if self.until is not None else ()
        return frozenset(value.attr for value in looks if value.op == "field_at")

    def all_steps(self) -> tuple[Step, ...]:
        """Return the steps of a superstep, and those that sometimes replace them."""
        return tuple(step for role in ROLES for step in getattr(self, role))


def step_blocks(step: Step) -> tuple[Block, ...]:
    """Return every block of a step, the body first."""
    extra = [b for b in (step.accept, step.active, step.priority) if b is not None]
    combines = [r.combine for r in step.reductions if r.combine is not None]
    return (step.body, *extra, *combines)


def program_blocks(program: Program) -> tuple[Block, ...]:
    """Return every block of a program."""
    blocks = [b for step in program.all_steps() for b in step_blocks(step)]
    extra = [b for b in (program.until, program.next_threshold) if b is not None]
    return (*blocks, *extra)


SMALL = (0, 1, -1, 2)  # constants that stay in the IR; others are lifted into arguments


def identity_of(reduction: Reduction, dtype: np.dtype[Any]) -> Any:
    """Return the value that a reduction starts from, as a Python number."""
    name = reduction.name
    if name == "user":
        return reduction.identity
    if name in ("min", "argmin", "max", "argmax"):
        low = name in ("max", "argmax")
        if dtype.kind == "f":
            return float("-inf") if low else float("inf")
        if dtype.kind == "b":
            return not low
        info = np.iinfo(dtype)
        return int(info.min) if low else int(info.max)
    if name == "prod":
        return 1
    if name == "and":
        return (
            True if dtype.kind == "b" else (-1 if dtype.kind == "i" else int(np.iinfo(dtype).max))
        )
    return 0


def terminal_of(reduction: Reduction, dtype: np.dtype[Any]) -> Any:
    """Return the value at which a reduction may end, since no message changes it; None: none.

    Only if testing for it is cheap relative to the messages: truth values, and user-declared ones.
    """
    if reduction.name == "user":
        return reduction.terminal
    if dtype.kind == "b" and reduction.name in ("or", "and"):
        return reduction.name == "or"
    return None


def total_dtype(reduction: Reduction, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of the total of any number of values, which is rounded to their own.

    A million float32 added one after another lose percents of their sum.
    """
    return FLOAT64 if dtype == FLOAT32 and reduction.name in ("sum", "prod") else dtype


def neutral_of(reduction: Reduction, dtype: np.dtype[Any]) -> Any:
    """Return a value that changes no value bit for bit, unlike the identity not even -0.0."""
    if dtype.kind == "f" and reduction.name in ("min", "max"):
        return float("nan")  # fmin and fmax ignore it
    if dtype.kind == "f" and reduction.name == "sum":
        return -0.0
    return identity_of(reduction, dtype)


def payload_identity(dtype: np.dtype[Any]) -> int:
    """Return the payload of argmin and argmax without a message."""
    return -1 if dtype.kind == "i" else 0
