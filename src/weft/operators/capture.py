"""Capture: operators that are recorded, fused, and looped over inside the backend."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextvars import Token
from dataclasses import dataclass
from typing import Any

from weft.engine.frontier import Frontier
from weft.engine.state import State
from weft.errors import TraceError
from weft.ir.trace.expr import Expr, node
from weft.operators import recording
from weft.operators.entries import (
    Entry,
    entry_of,
    iteration_after,
    obstacle,
    period_of,
    runs_of,
)
from weft.operators.passes import Pass, run_as_program
from weft.operators.recording import Node, Recorded
from weft.operators.running import Call, run_now

Function = Callable[..., Any]
MOST_PENDING = 4096
MOST_MISSES = 2  # the first pass may hold what comes before a loop


@dataclass(frozen=True)
class Captured:
    """A loop that became one `Graph.iterate`.

    Attributes
    ----------
    operators
        The operators of its body.
    steps
        How often the body ran.
    """

    operators: tuple[str, ...]
    steps: int


class Capture:
    """A recording of operators; made by `weft.capture`.

    Attributes
    ----------
    loops
        The loops that were captured.
    reasons
        Why others were not.
    """

    def __init__(self, until: Function | None, max_iter: int | None, strict: bool) -> None:
        self.loops: list[Captured] = []
        self.pending: list[Entry] = []
        self._until, self._most, self._strict = until, max_iter, strict
        self._reasons: dict[Any, str] = {}
        self._misses: dict[Any, int] = {}  # how often passes of a loop differed
        self._candidate: Pass | None = None
        self._interrupted = ""  # what happened beside operators since the last test
        self._testing = False  # whether a loop is running that tests this capture
        self._watched: list[State] = []
        self._ran = 0
        self._token: Token[tuple[Any, ...]] | None = None

    @property
    def reasons(self) -> list[str]:
        """Why loops were not captured."""
        return list(dict.fromkeys(self._reasons.values()))

    def __repr__(self) -> str:
        return f"Capture(loops={self.loops!r}, reasons={self.reasons!r})"

    def __enter__(self) -> Capture:
        if self._token is not None:
            raise TraceError("this capture is open already. Make another one by weft.capture().")
        self._token = recording.stack.set((*recording.stack.get(), self))
        return self

    def __exit__(self, kind: Any, *exc: object) -> None:
        assert self._token is not None
        try:
            if kind is None:
                self._finish()
        finally:
            recording.stack.reset(self._token)
            self._token, self.pending, self._candidate = None, [], None
            for state in self._watched:
                vars(state)["_watch"] = None
            self._watched = []

    # -- recording

    def record(self, call: Call) -> Frontier:
        """Record a call; return the frontier that stands for its output."""
        if call.output == "arcs" or call.frontier.arcs:
            self.refuse(f"{call.who} works on arcs, which a loop of operators cannot pass on")
            return run_now(call)
        return self.note_call(call)

    def note_call(self, call: Call, identity: Any = None) -> Frontier:
        """Note a call, whose functions' identity may be known."""
        return self._note(call, call.frontier, identity)

    def again(
        self, g: Any, first: Frontier, state: Any, edge_state: Any, recurs: Any
    ) -> Frontier | None:
        """Note a call as the pass before did at the same place; None if that was another one."""
        before, place = self._candidate, len(self.pending)
        if before is None or place >= len(before.entries):
            return None
        known = before.entries[place]
        call = known.call
        same = (
            call.recurs == recurs
            and call.graph is g
            and call.state is state
            and call.edge_state is edge_state
        )
        return self._note(call, first, known.identity) if same else None

    def _note(self, call: Call, given: Frontier, identity: Any = None) -> Frontier:
        if len(self.pending) >= MOST_PENDING:
            self.flush(f"{MOST_PENDING} operators were recorded without a test")
        self._watch(call.state)
        if call.output in (None, "same"):
            self.pending.append(entry_of(call, given, None, identity))
            if call.output == "same":
                return given
            nothing: Frontier = call.graph.frontier([])
            nothing.iteration = given.iteration + call.advances
            return nothing
        output = Recorded(self, given, call.who, int(call.advances))
        output.version = call.graph._history.version
        self.pending.append(entry_of(call, given, output, identity))
        return output

    def _watch(self, state: State) -> None:
        if not any(state is known for known in self._watched):
            vars(state)["_watch"] = self.flush
            self._watched.append(state)

    # -- tests of loops

    def __bool__(self) -> bool:
        """Whether a loop with `until` goes on."""
        if self._until is None and self._most is None:
            raise TraceError(
                "a capture is true as long as its until= does not hold, but it has none. Expected "
                "weft.capture(until=...), or a loop that tests a frontier."
            )
        if not self._testing and not self.pending:
            self._testing, self._ran = self._most != 0, 0
            return self._testing
        caller = sys._getframe(1)
        self._testing = self.test(None, (caller.f_code, caller.f_lineno))
        return self._testing

    def test(self, tested: Node | None, place: Any) -> bool:
        """Return whether a loop goes on that tests a frontier, or `until` if there is none."""
        now = Pass(self.pending, tested, place, self._interrupted)
        before, self._candidate, self._interrupted = self._candidate, None, ""
        if before is not None:
            why = before.differs(now)
            if not why:
                self._loop(before, tested)
                self._reasons.pop(place, None)
                return False
            self._reasons[place] = why
            self._misses[place] = self._misses.get(place, 0) + 1
            if not self._goes_on(before):
                self._drop(now.entries)
                return False
        why = now.unfit()
        if not why and self._misses.get(place, 0) >= MOST_MISSES:
            why = self._reasons[place]
        self.pending = []
        if why:
            self._reasons[place] = why
            return self._goes_on(now)
        self._candidate = now
        return True

    def refuse(self, why: str) -> None:
        """Run all that is recorded before an operator that cannot be recorded."""
        self._reasons[why] = why
        self.flush(why)

    def note(self, place: Any) -> None:
        """Record that a loop tests a frontier that was read before."""
        if self._interrupted:
            self._reasons[place], self._interrupted = self._interrupted, ""

    # -- running

    def flush(self, why: str) -> None:
        """Run all recorded calls, because a result is needed."""
        if self._testing:
            raise TraceError(
                f"a loop that tests its capture can only call operators, but {why}. Let the loop "
                f"test a frontier, or state.error < tol, outside of weft.capture."
            )
        self._interrupted = self._interrupted or why
        self._finish_pending()

    def _finish(self) -> None:
        self._testing = False
        self._finish_pending()
        if self._strict and self._reasons:
            raise TraceError(
                f"a loop was not captured: {'; '.join(self.reasons)}. Change it, or leave out "
                f"strict=True."
            )

    def _finish_pending(self) -> None:
        before, self._candidate = self._candidate, None
        if before is not None:
            self._reasons[before.place] = self._interrupted or "the loop ended by itself"
            if not self._goes_on(before):
                self._drop(self.pending)
        entries, self.pending = self.pending, []
        self._run_repeated(entries)

    def _goes_on(self, made: Pass) -> bool:
        """Run a pass of a loop; return whether the loop goes on after it."""
        holds = self._run(made.entries)
        if made.tested is None:
            return not holds and (self._most is None or self._ran < self._most)
        return made.tested.value is None or len(made.tested.value) > 0

    def _drop(self, entries: list[Entry]) -> None:
        """Forget a pass that the loop, which had ended, would not have made."""
        for entry in entries:
            entry.ran = True
            entry.settle(entry.call.graph.frontier([]))
        self.pending = []

    def _run(self, entries: list[Entry]) -> bool:
        """Run calls as few programs as possible; return whether `until` holds after them."""
        holds = False
        self._ran += 1
        parts = runs_of(entries)
        for number, part in enumerate(parts):
            last = number == len(parts) - 1
            until = self._until if last and self._testing else None
            run = run_as_program(part, until, 1)
            holds = run.converged and until is not None
            part[-1].settle(run.frontier)
        return holds

    def _run_repeated(self, entries: list[Entry]) -> None:
        """Run calls of which the last ones may be repetitions, as of a loop over a range."""
        begin, period = period_of(entries)
        body, times = entries[begin : begin + period], 0
        if period and not any(e.held for e in entries[begin:-1]):
            times = 0 if obstacle(entries[begin:]) else (len(entries) - begin) // period
        if not times:
            self._run(entries)
            return
        self._run(entries[:begin])
        # Steps that run everywhere go on when a frontier is empty, if there is a condition.
        until = _never if any(e.everywhere for e in body) else None
        run = run_as_program(body, until, times)
        self.loops.append(Captured(tuple(e.call.who for e in body), times))
        entries[-1].settle(run.frontier)

    def _loop(self, body: Pass, tested: Node | None) -> None:
        """Run the body of a loop until it ends, inside the backend."""
        self.pending = []
        entries = body.entries
        left = None if self._most is None or tested is not None else self._most - self._ran
        run = run_as_program(entries, self._until if tested is None else None, left)
        self.loops.append(Captured(tuple(e.call.who for e in entries), run.steps))
        reached = iteration_after(entries, run.steps)
        for seen in (body.tested, tested):
            if seen is not None:
                seen.settle(run.frontier, reached)


def _never() -> Any:
    return Expr(node(False))


def capture(
    *,
    until: Function | None = None,
    max_iter: int | None = None,
    strict: bool = False,
) -> Capture:
    """Record operators within a `with` block; run loops of them inside the backend.

    Operators do not run at once. Consecutive operators run as one program when a frontier or the
    state is read, or when the block ends. A loop that tests a frontier and whose body calls
    operators alone becomes one `Graph.iterate` as soon as two of its passes recorded the same; its
    body is called no further. So the body must not do anything else that counts: what it does in
    Python happens twice, even if the loop ends sooner or later.

    Parameters
    ----------
    until
        For a loop that tests the capture itself: it ends when this condition of scalars holds.
    max_iter
        The most passes of such a loop.
    strict
        Whether the block ends with an error if a loop was not captured. In any case it runs as
        without the block, and `Capture.reasons` says why.

    Returns
    -------
    Capture

    Examples
    --------
    >>> import weft
    >>> from weft.operators import advance
    >>> def relax(u, v, e):
    ...     return v.dist.min(u.dist + e.weight)
    >>> g = weft.generators.path(5)
    >>> state = g.state(dist=weft.full(float("inf")).but(0, 0.0))
    >>> frontier = g.frontier([0])
    >>> with weft.capture() as c:
    ...     while frontier:
    ...         frontier = advance(g, frontier, relax, state)
    >>> state.dist.tolist(), c.loops
    ([0.0, 1.0, 2.0, 3.0, 4.0], [Captured(operators=('advance',), steps=5)])
    """
    return Capture(until, max_iter, strict)
