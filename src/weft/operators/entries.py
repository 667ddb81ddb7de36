"""Recorded operators: which belong together, which repeat, and the steps that they become."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from weft.engine.frontier import Frontier
from weft.ir.trace.cache import _identity
from weft.ir.trace.steps import VertexFunction
from weft.operators.recording import Node, Recorded
from weft.operators.running import Call

MOST_SETUP, LONGEST_BODY = 8, 32  # calls before a repetition, and within one


@dataclass(eq=False)
class Entry:
    """One recorded call; `source` and `made` are its input and its output.

    Passes of a loop share calls, so that what belongs to one pass is here.
    """

    call: Call
    identity: Any
    everywhere: bool
    source: Node | Frontier
    made: Node | Frontier | None
    iteration: int  # of what it takes
    ran: bool = False

    def unchanged(self) -> bool:
        """Whether its functions still read what they read when it was recorded."""
        return bool(self.identity == _identity(self.call.key))

    @property
    def first(self) -> Frontier:
        """Its input, which is known by now."""
        if isinstance(self.source, Node):
            assert self.source.value is not None
            return self.source.value
        return self.source

    @property
    def held(self) -> bool:
        """Whether the user still holds its output, which is not known yet."""
        made = self.made
        return isinstance(made, Node) and made.value is None and made.held

    def settle(self, found: Frontier) -> None:
        """Set the output wherever it is still referenced."""
        if isinstance(self.made, Node) and self.made.value is None:
            self.made.settle(found)


_NOWHERE = Frontier(None, 0)


def entry_of(call: Call, given: Frontier, output: Recorded | None, identity: Any = None) -> Entry:
    """Return the entry of a call; it does not hold the frontiers that the user was given.

    Parameters
    ----------
    call
        The call, perhaps of an earlier pass.
    given, output
        What it takes, and what stands for what it puts out.
    identity
        That of its functions, if it is known.
    """
    source: Any = given.node if isinstance(given, Recorded) else given
    made: Any = None if output is None else output.node
    if call.output == "same":
        made = source
    call.frontier = _NOWHERE
    identity = _identity(call.key) if identity is None else identity
    entry = Entry(call, identity, call.everywhere, source, made, given.iteration)
    if isinstance(source, Node) and source.value is None:
        source.takers.append(entry)
    return entry


def same(a: Entry, b: Entry) -> bool:
    """Whether two calls do the same to whatever frontier they get."""
    one, other = a.call, b.call
    if one is other:
        return a.identity == b.identity
    return (
        one.who == other.who
        and one.graph is other.graph
        and one.state is other.state
        and one.edge_state is other.edge_state
        and one.output == other.output
        and one.direction == other.direction
        and (one.config is other.config or one.config == other.config)
        and a.everywhere == b.everywhere
        and a.identity == b.identity
    )


def obstacle(entries: list[Entry]) -> str:
    """Return why calls cannot become the steps of one run; nothing if they can."""
    first = entries[0].call
    for before, entry in zip([None, *entries], entries, strict=False):
        call = entry.call
        if call.graph is not first.graph or call.state is not first.state:
            return f"{call.who} works on another graph or state than {first.who}"
        if call.edge_state is not first.edge_state:
            return f"{call.who} works on another edge state than {first.who}"
        unlike = call.config is not first.config and call.config != first.config
        if unlike or call.direction != first.direction:
            return f"{call.who} has other options than {first.who}"
        if call.counts and (entry.everywhere or entry.iteration != _begins(entries)):
            return f"{call.who} asks for the number of an iteration that others advance"
        if before is None or entry.everywhere:
            continue
        if before.call.output is None and not passes_on(before, entry):
            return f"{call.who} follows {before.call.who}, which has no output"
        if entry.source is not before.made and not passes_on(before, entry):
            return f"{call.who} takes another frontier than {before.call.who} returned"
    return ""


def _begins(entries: list[Entry]) -> int:
    return next((e.iteration for e in entries if not e.everywhere), 0)


def passes_on(before: Entry, entry: Entry) -> bool:
    """Whether the first of two calls can put out its own input, which the second one takes."""
    alone = before.call.steps[0] if len(before.call.steps) == 1 else None
    reduces = isinstance(alone, VertexFunction) and before.call.who == "neighbor_reduce"
    return reduces and not before.everywhere and entry.source is before.source


def steps_of(entries: list[Entry]) -> list[Any]:
    """Return the steps of calls, of which each takes what the one before puts out."""
    steps: list[Any] = []
    joins = False
    for entry, after in zip(entries, [*entries[1:], None], strict=True):
        own = list(entry.call.steps)
        joined, joins = joins, after is not None and _joins(entry, after)
        passes = after is not None and not after.everywhere and passes_on(entry, after)
        if joined:  # the step before puts out all vertices
            own = [_like(own[0], on=None)]
        if joins or passes:
            own = [_like(own[0], active=_always)]
        steps += own
    return steps


def _joins(entry: Entry, after: Entry) -> bool:
    """Whether a call at all vertices goes on at each of them with what the one before left.

    The engine then makes one sweep of both, unless one looks at what the other does elsewhere.
    """
    both = [*entry.call.steps, *after.call.steps]
    return (
        entry.everywhere
        and after.everywhere
        and entry.call.who in ("neighbor_reduce", "compute")
        and after.call.who in ("filter", "compute")
        and len(both) == 2
        and all(isinstance(step, VertexFunction) for step in both)
    )


def _like(step: VertexFunction, **other: Any) -> VertexFunction:
    """Return a vertex function with other options."""
    held = vars(step)
    options = {"active": held["active"], "on": "all" if step.everywhere else None, **other}
    return VertexFunction(step.function, step.wake, order_free=held["order_free"], **options)


def _always(v: Any, old: Any) -> bool:
    return True


def runs_of(entries: list[Entry]) -> list[list[Entry]]:
    """Cut calls into parts that can run as one program each, which leaves its last output only.

    A part ends where another output would be lost that the user still holds or that a call after
    the part takes.
    """
    parts: list[list[Entry]] = []
    for place, entry in enumerate(entries):
        part = parts[-1] if parts else []
        if not part or obstacle([*part, entry]) or _loses(part, entries, place):
            parts.append([entry])
        else:
            part.append(entry)
    return parts


def _loses(part: list[Entry], entries: list[Entry], place: int) -> bool:
    """Whether an output of a part would be lost if the call at a place joined it."""
    entry = entries[place]
    after = entries[place + 1] if place + 1 < len(entries) else None
    inside = {id(e) for e in entries[: place + 1]}
    for node in (one.made for one in part):
        if not isinstance(node, Node) or node.value is not None or node is entry.made:
            continue
        takers = [e for e in node.takers if not e.ran and id(e) not in inside]
        if node.held:
            return True
        if not takers:
            continue
        handed_on = (
            after is not None
            and after.source is node
            and passes_on(entry, after)
            and not obstacle([*part, entry, after])
            and (after.made is node or takers == [after])
        )
        if not handed_on:
            return True
    return False


def iteration_after(entries: list[Entry], passes: int) -> int:
    """Return the iteration of what a loop puts out; a call at all vertices begins with its own."""
    begins = [
        place
        for place, e in enumerate(entries)
        if e.everywhere and not isinstance(e.source, Node) and e.source.is_all
    ]
    if not begins:
        return entries[0].iteration + passes * sum(e.call.advances for e in entries)
    own = entries[begins[-1] :]
    return own[0].iteration + sum(e.call.advances for e in own)


def period_of(entries: list[Entry]) -> tuple[int, int]:
    """Return the start of a repetition, and the number of repeated calls; (length, 0) if none."""
    n = len(entries)
    for begin in range(min(n, MOST_SETUP + 1)):
        rest = n - begin
        for period in range(1, min(rest // 2, LONGEST_BODY) + 1):
            if rest % period == 0 and all(
                same(entries[k], entries[k - period]) for k in range(begin + period, n)
            ):
                return begin, period
    return n, 0
