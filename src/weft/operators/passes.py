"""Passes of a loop that is recorded: what hinders a capture, and how they run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from weft.engine.run import Run
from weft.errors import TraceError
from weft.operators.entries import Entry, obstacle, same, steps_of
from weft.operators.recording import Node
from weft.operators.twins import hidden_twin

Function = Callable[..., Any]


@dataclass(slots=True, eq=False)
class Pass:
    """The calls of one pass of a loop, up to a test."""

    entries: list[Entry]
    tested: Node | None
    place: Any
    interrupted: str

    def unfit(self) -> str:
        """Return why this cannot be the body of a captured loop; nothing if it can."""
        if self.interrupted:
            return self.interrupted
        if not self.entries:
            return "the loop calls no operator"
        if self.tested is not None and self.entries[-1].made is not self.tested:
            return "the loop tests another frontier than its last operator returned"
        return obstacle(self.entries)

    def differs(self, after: Pass) -> str:
        """Return how the pass after this one differs; nothing if it does the same."""
        why = after.unfit()
        if why:
            return why
        if after.place != self.place:
            return "a frontier is tested in two places of the loop"
        if [e.call.who for e in self.entries] != [e.call.who for e in after.entries]:
            names = [", ".join(e.call.who for e in part.entries) for part in (self, after)]
            return f"one pass called {names[0]}, and the next {names[1]}"
        for one, other in zip(self.entries, after.entries, strict=True):
            if not same(one, other):
                return f"{one.call.who} gets other functions or options in each pass"
        if any(e.held for e in self.entries):
            return "the loop keeps frontiers of earlier passes"
        head = after.entries[0]
        if self.tested is not None and not head.everywhere and head.source is not self.tested:
            return f"{head.call.who} does not begin with the frontier that the loop tests"
        return ""


def run_as_program(entries: list[Entry], until: Function | None, times: int | None) -> Run:
    """Run calls as one program: once, or as the body of a loop."""
    for entry in entries:
        if not entry.unchanged():
            raise TraceError(
                f"a function of {entry.call.who} reads a variable that changed after it was "
                f"recorded. Make it a scalar of the state, ask for `iteration`, or run the loop "
                f"outside weft.capture."
            )
    for entry in entries:
        entry.ran = True
    call, made = entries[0].call, steps_of(entries)
    steps = made[0] if len(made) == 1 else made
    marks = tuple(name for entry in entries for name in entry.call.marks)
    counted = next((e.iteration for e in entries if e.call.counts), None)
    held = hidden_twin(call.graph, call.state, marks, counted)
    options = {
        "edge_state": call.edge_state, "direction": call.direction, "config": call.config,
    }  # fmt: skip
    if times == 1 and until is None:
        found = call.graph.run(steps, held, entries[0].first, **options)
        return Run(1, len(found) == 0, found, {}, [])
    run: Run = call.graph.iterate(
        steps, held, entries[0].first, until=until, max_iter=times, **options
    )
    return run
