"""A core around a unit: its shared memory, its warps and their rounds, for tests and step views."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from weft.weaver.faults import Fault, WeaverError
from weft.weaver.unit import Inputs, Outputs, Parameters, State, Unit

Row = tuple[int, int, int]  # VID, location, degree
Work = tuple[int, list[int], list[int]]  # the warp, the VIDs and the EIDs of one decode
LIMIT = 200_000  # cycles of a round: more means that the unit hangs


class Steppable(Protocol):
    """The interface that a core drives: the model, or the RTL in a simulator."""

    p: Parameters

    def tick(self, given: Inputs) -> Outputs:
        """Return the outputs of one cycle."""
        ...


class SharedMemory:
    """The port of the shared memory: one row a cycle, words of a read after `latency` cycles."""

    def __init__(self, parameters: Parameters) -> None:
        self.p = parameters
        rows = 3 * parameters.rows + parameters.warps
        self.rows = [[0] * parameters.lanes for _ in range(rows)]
        self._replies: deque[tuple[int, tuple[str, int, int], list[int]]] = deque()
        self.cycle = 0

    def reply(self) -> tuple[tuple[str, int, int], list[int]] | None:
        """Return the replies that arrive in this cycle."""
        if self._replies and self._replies[0][0] == self.cycle:
            return self._replies.popleft()[1:]
        return None

    def take(self, out: Outputs) -> None:
        """Serve the request of a cycle, and go on to the next one."""
        request = out.request
        if request is not None and request.write:
            assert request.data is not None
            self.rows[request.address] = list(request.data)
        elif request is not None:
            assert request.tag is not None
            words = list(self.rows[request.address])
            self._replies.append((self.cycle + self.p.latency, request.tag, words))
        self.cycle += 1


@dataclass
class Round:
    """One round of a core: what is registered, and how the warps behave.

    Parameters
    ----------
    rows
        What each warp registers, by warp: a row or None for each lane, in the order of the
        registrations. Warps that register nothing may still take part in the distribution.
    warps
        The warps that pass the barrier, in the order of their first decodes.
    skips
        Vertices that are skipped, each after so many answers with ids.
    """

    rows: Sequence[tuple[int, Sequence[Row | None]]]
    warps: Sequence[int]
    skips: Iterable[tuple[int, int]] = ()


@dataclass
class Core:
    """Runs rounds on a unit, cycle by cycle.

    Parameters
    ----------
    unit
        The model, or the RTL.
    busy
        The share of cycles in which the rest of the core has the memory port.
    thinking
        The most cycles between an answer and the next decode of a warp.
    seed
        Of the two above.
    """

    unit: Steppable
    busy: float = 0.0
    thinking: int = 0
    seed: int = 0
    cycles: int = 0
    states: list[State] = field(default_factory=list)
    log: list[tuple[Inputs, Outputs]] = field(default_factory=list)
    keep_log: bool = False

    def __post_init__(self) -> None:
        self.memory = SharedMemory(self.unit.p)
        self._random = random.Random(self.seed)

    def cycle(self, given: Inputs) -> Outputs:
        """Advance by one cycle; a fault raises `WeaverError`."""
        given.mem_busy = self.busy > 0 and self._random.random() < self.busy
        given.mem_reply = self.memory.reply()
        out = self.unit.tick(given)
        self.memory.take(out)
        self.cycles += 1
        self.states.append(out.state)
        if self.keep_log:
            self.log.append((given, out))
        if out.fault != Fault.NONE:
            raise WeaverError(out.fault, out.fault_warp)
        return out

    def register(self, warp: int, rows: Sequence[Row | None]) -> None:
        """Register a row per lane of a warp; None for masked lanes."""
        mask = sum(1 << lane for lane, row in enumerate(rows) if row is not None)
        words = [[0 if row is None else row[k] for row in rows] for k in range(3)]
        padding = [0] * (self.unit.p.lanes - len(rows))
        reg = (warp, mask, *(word + padding for word in words))
        for _ in range(LIMIT):
            if self.cycle(Inputs(reg=reg)).reg_ready:  # type: ignore[arg-type]
                return
        raise TimeoutError("the unit does not take a registration")

    def barrier(self, warps: int) -> None:
        """Pass the barrier of a round, with this many warps."""
        self.cycle(Inputs(barrier=warps))

    def play(self, round_: Round) -> list[Work]:
        """Run a round to its end; return the ids in the order in which they were handed out."""
        for warp, rows in round_.rows:
            self.register(warp, rows)
        self.barrier(len(round_.warps))
        return list(self._distribute(round_))

    def _distribute(self, round_: Round) -> Iterator[Work]:
        """Run every warp until it gets no more work: decode, read the locations, think, decode."""
        waiting = deque(round_.warps)
        skips = deque(sorted(round_.skips, key=lambda pair: pair[1]))
        due: list[tuple[int, int]] = []  # when a warp asks again
        located: deque[tuple[int, list[int]]] = deque()  # warps that want their locations
        asked: dict[int, list[int]] = {}
        ended = answers = 0
        for now in range(LIMIT):
            if ended == len(round_.warps):
                return
            for pair in [pair for pair in due if pair[0] <= now]:
                due.remove(pair)
                waiting.append(pair[1])
            given = Inputs(decode=waiting[0] if waiting else None)
            given.locate = located[0][0] if located else None
            if skips and skips[0][1] <= answers:
                given.skip = skips.popleft()[0]
            out = self.cycle(given)
            if waiting and out.decode_ready:
                waiting.popleft()
            if located and out.locate_ready:
                warp, vids = located.popleft()
                asked[warp] = vids
            if out.answer is not None and out.answer[1] == 0:
                ended += 1
            elif out.answer is not None:
                warp, mask, vids = out.answer
                answers += 1
                located.append((warp, vids[: mask.bit_count()]))
            if out.located is not None:
                warp, eids = out.located
                vids = asked.pop(warp)
                yield warp, vids, eids[: len(vids)]
                due.append((now + 1 + self._random.randint(0, self.thinking), warp))
        raise TimeoutError("the unit does not come to the end of a round")


def rows_of(unit: Parameters, rows: Sequence[Row]) -> list[tuple[int, list[Row | None]]]:
    """Return the registrations that put rows into ST in their order, warp by warp."""
    lanes = unit.lanes
    return [(k // lanes, list(rows[k : k + lanes])) for k in range(0, len(rows), lanes)]


def golden_round() -> Round:
    """Return the example of the specification: four lanes, three rows, four warps."""
    return Round([(0, [(0, 2, 1), (2, 10, 2), (4, 30, 5), None])], [1, 0, 2, 3])


def model(parameters: Parameters, **options: Any) -> Core:
    """Return a core around the model of a unit."""
    return Core(Unit(parameters), **options)
