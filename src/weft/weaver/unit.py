"""The Weaver unit, cycle by cycle: states, tables, handshakes and faults.

One unit serves the warps of one core. Warps register rows (VID, location, degree) into the sparse
table ST; after the core's barrier each decode fills the output OD with one (VID, EID) per lane, in
ST order, writes the EIDs into the dense table DT and answers the warp at the head of the queue.

Both tables live in the core's shared memory, of which the unit uses one port: a row of one word per
lane per cycle, unless the core has the port (`Inputs.mem_busy`). `weft.weaver.rtl` is the same
machine as hardware; a test steps both and compares every output in every cycle.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from functools import partial

from weft.errors import ConfigError
from weft.weaver.faults import Fault

NO_ID = -1


class State(IntEnum):
    """The states of the unit. What S3, S4, S7 and S8 do apart is this project's reading."""

    S0 = 0  # registration, idle
    S1 = 1  # the first ST entry becomes the current entry
    S2 = 2  # ids move from the current entry to the output
    S3 = 3  # ask for the next ST entry
    S4 = 4  # load it
    S5 = 5  # the full output goes to DT and to the warp
    S6 = 6  # wait for a decode
    S7 = 7  # the table is exhausted: the partial output goes out
    S8 = 8  # the end: every decode answers -1


@dataclass(frozen=True)
class Parameters:
    """The sizes of a unit.

    Parameters
    ----------
    lanes
        Threads of a warp; a row of ST has as many entries.
    warps
        Warps of the core; DT has a row for each.
    entries
        Entries of ST.
    latency
        Cycles from a request for a row of a table to its words.
    id_bits
        Width of a VID, a location and a degree.
    skips
        Vertices that are remembered as skipped in a round: the last so many.
    read_ahead
        Whether the row after the current one is requested before it is needed.
    """

    lanes: int = 32
    warps: int = 32
    entries: int = 512
    latency: int = 10
    id_bits: int = 32
    skips: int = 4
    read_ahead: bool = True

    def __post_init__(self) -> None:
        for name in ("lanes", "warps", "entries", "latency", "skips"):
            if getattr(self, name) < 1:
                raise ConfigError(
                    f"{name}={getattr(self, name)} of a Weaver unit is not possible. Expected 1 "
                    f"or more."
                )
        if self.entries % self.lanes:
            raise ConfigError(
                f"entries={self.entries} is not a multiple of lanes={self.lanes}. Expected whole "
                f"rows of the sparse table."
            )
        if not 1 <= self.id_bits <= 63:
            raise ConfigError(f"id_bits={self.id_bits} is not possible. Expected 1 to 63.")

    @property
    def rows(self) -> int:
        """Rows of ST."""
        return self.entries // self.lanes


@dataclass
class Request:
    """A row of the shared memory that the unit asks for; `tag` comes back with what it reads."""

    write: bool
    address: int
    data: list[int] | None = None
    tag: tuple[str, int, int] | None = None  # ("st", bank, word) or ("dt", warp, 0)


@dataclass
class Inputs:
    """The inputs of the unit from core and memory in a cycle."""

    reg: tuple[int, int, list[int], list[int], list[int]] | None = None  # warp, mask, vid, loc, deg
    barrier: int = 0  # the number of warps that passed it; 0: no barrier
    decode: int | None = None
    locate: int | None = None
    skip: int | None = None
    mem_busy: bool = False
    mem_reply: tuple[tuple[str, int, int], list[int]] | None = None


@dataclass
class Outputs:
    """The outputs of the unit in the same cycle."""

    state: State
    decode_ready: bool = True
    reg_ready: bool = False
    locate_ready: bool = False
    answer: tuple[int, int, list[int]] | None = None  # warp, mask, vids; mask 0 is -1 everywhere
    located: tuple[int, list[int]] | None = None  # warp, eids
    request: Request | None = None
    fault: Fault = Fault.NONE
    fault_warp: int = 0


@dataclass
class Bank:
    """A row of ST as read: the entries still to be loaded, and their three words."""

    pending: int = 0
    full: bool = False
    words: list[list[int]] = field(default_factory=lambda: [[], [], []])


class Unit:
    """A Weaver unit; `tick` is one cycle.

    Examples
    --------
    >>> unit = Unit(Parameters(lanes=4, warps=2, entries=8, latency=1))
    >>> unit.tick(Inputs()).state.name
    'S0'
    """

    def __init__(self, parameters: Parameters | None = None) -> None:
        self.p = parameters or Parameters()
        self.state = State.S0
        self.fault, self.fault_warp = Fault.NONE, 0
        self.registered = 0  # a bit per row of ST: written in this round
        self.step = 0  # word of a registration that is written next
        self.open = False  # the barrier of the round has passed
        self.expected = self.ended = 0
        self.queue: deque[int] = deque()
        self.held = 0  # a bit per warp: DT has ids of its
        self.vid = self.loc = self.deg = 0  # the current entry
        self.fill = 0
        self.out: list[tuple[int, int]] = [(0, 0)] * self.p.lanes
        self.skipped = [NO_ID] * self.p.skips
        self.next_skip = 0
        self._reset_reader()

    def _reset_reader(self) -> None:
        self.banks = [Bank(), Bank()]
        self.current = 0  # the bank that is being used
        self.unread = 0  # a bit per row of ST: still to be read
        self.target = 0  # the bank that is being filled
        self.asked = 3  # words asked for of the row being read; 3: none is being read
        self.row = 0
        self.reading = False  # a row has been asked for and is not there yet
        self.loading = 0  # the entry that S4 loads

    @property
    def exhausted(self) -> bool:
        """Whether nothing is left of ST but what the current entry holds."""
        full = any(bank.full for bank in self.banks)
        return not (self.unread or self.reading or full or self.banks[self.current].pending)

    # -- one cycle

    def tick(self, given: Inputs) -> Outputs:
        """Return the outputs of this cycle, and advance to the next one."""
        room = len(self.queue) < self.p.warps
        out = Outputs(self.state, room, fault=self.fault, fault_warp=self.fault_warp)
        # Every decision is made on what the registers hold at the beginning of the cycle.
        granted = self._arbitrate(given, out)
        begins = self._begins_row()
        calls = self._calls(given, granted, out)
        self._advance(given, out, granted)
        self._take_reply(given, out)
        if granted == "read":
            self.asked += 1
        if begins:
            self.row = (self.unread & -self.unread).bit_length() - 1
            self.unread &= self.unread - 1
            self.target, self.asked, self.reading = 1 - self.current, 0, True
        for call in calls:
            call()
        return out

    def _arbitrate(self, given: Inputs, out: Outputs) -> str:
        """Choose the user of the memory port: the output, DEC_LOC, a registration, the reader."""
        if given.mem_busy:
            return ""
        p = self.p
        wants_out = self.state == State.S5 or (self.state == State.S7 and self.fill > 0)
        if wants_out:
            eids = [eid if lane < self.fill else 0 for lane, (_, eid) in enumerate(self.out)]
            out.request = Request(True, 3 * p.rows + self.queue[0], eids)
            return "out"
        if given.locate is not None and self.held >> given.locate & 1:
            tag = ("dt", given.locate, 0)
            out.request = Request(False, 3 * p.rows + given.locate, tag=tag)
            return "locate"
        if given.reg is not None and not self.open and self._fault_of(given.reg) == Fault.NONE:
            warp, mask, *words = given.reg
            active = [mask >> lane & 1 for lane in range(p.lanes)]
            data = [x if on else 0 for x, on in zip(words[self.step], active, strict=True)]
            out.request = Request(True, self.step * p.rows + warp, data)
            return "reg"
        if self.asked < 3:
            tag = ("st", self.target, self.asked)
            out.request = Request(False, self.asked * p.rows + self.row, tag=tag)
            return "read"
        return ""

    def _fault_of(self, reg: tuple[int, int, list[int], list[int], list[int]]) -> Fault:
        """Return the fault of a registration; the first cause in this order."""
        warp, mask, *words = reg
        p = self.p
        if warp >= p.rows:
            return Fault.TABLE_OVERFLOW
        if self.registered >> warp & 1:
            return Fault.SECOND_REGISTRATION
        lanes = [lane for lane in range(p.lanes) if mask >> lane & 1]
        if any(words[2][lane] < 0 for lane in lanes):
            return Fault.NEGATIVE_DEGREE
        if any(not 0 <= word[lane] < 1 << p.id_bits for word in words for lane in lanes):
            return Fault.ID_TOO_WIDE
        return Fault.NONE

    def _raise(self, fault: Fault, warp: int) -> None:
        if self.fault == Fault.NONE:
            self.fault, self.fault_warp = fault, warp

    # -- the state machine

    def _advance(self, given: Inputs, out: Outputs, granted: str) -> None:
        state, waiting = self.state, bool(self.queue)
        if state == State.S0 and self.open and waiting:
            self.state = State.S1
        elif state in (State.S1, State.S3):
            self._ask(given)
        elif state == State.S2:
            self._move()
        elif state == State.S4:
            self._load(given)
        elif (state == State.S5 or (state == State.S7 and self.fill)) and granted == "out":
            self._answer(out)
            self.state = State.S6 if state == State.S5 else State.S8
        elif state == State.S6 and waiting:
            self.state = State.S7 if not self.deg and self.exhausted else State.S2
        elif state == State.S7 and not self.fill:
            self.state = State.S8
        elif state == State.S8 and waiting:
            self._end(out)
        if given.skip is not None:
            self._skip(given.skip)

    def _ask(self, given: Inputs) -> None:
        """S1, S3: find the next entry with a degree; S1 loads it at once."""
        bank = self.banks[self.current]
        other = self.banks[1 - self.current]
        if bank.pending:
            self.loading = (bank.pending & -bank.pending).bit_length() - 1
            bank.pending &= bank.pending - 1
            if self.state == State.S1:
                self._load(given)
            else:
                self.state = State.S4
        elif other.full:
            other.full = False
            self.current = 1 - self.current
        elif self.exhausted:
            self.state = State.S7

    def _load(self, given: Inputs) -> None:
        words = self.banks[self.current].words
        self.vid, self.loc, self.deg = (word[self.loading] for word in words)
        if self.vid in self.skipped:
            self.deg = 0
        self.state = State.S2

    def _move(self) -> None:
        """S2: move as many ids as fit from the current entry to the output."""
        count = min(self.deg, self.p.lanes - self.fill)
        for k in range(count):
            self.out[self.fill + k] = (self.vid, self.loc + k)
        self.fill += count
        self.loc = (self.loc + count) & ((1 << self.p.id_bits) - 1)
        self.deg -= count
        full = self.fill == self.p.lanes  # C0
        self.state = State.S5 if full else State.S7 if self.exhausted else State.S3

    def _answer(self, out: Outputs) -> None:
        warp = self.queue.popleft()
        mask = (1 << self.fill) - 1
        vids = [vid if lane < self.fill else 0 for lane, (vid, _) in enumerate(self.out)]
        out.answer = (warp, mask, vids)
        self.held |= 1 << warp
        self.fill = 0

    def _end(self, out: Outputs) -> None:
        warp = self.queue.popleft()
        out.answer = (warp, 0, [0] * self.p.lanes)
        self.held &= ~(1 << warp)
        self.ended += 1
        if self.ended == self.expected:
            self.state, self.open, self.registered, self.ended = State.S0, False, 0, 0
            self.skipped = [NO_ID] * self.p.skips
            self.next_skip = 0
            self._reset_reader()

    def _skip(self, vid: int) -> None:
        if not self.open:
            return
        if self.vid == vid:
            self.deg = 0
        if vid not in self.skipped:
            self.skipped[self.next_skip] = vid
            self.next_skip = (self.next_skip + 1) % self.p.skips

    # -- the reader of ST, and the calls of the core

    def _take_reply(self, given: Inputs, out: Outputs) -> None:
        if given.mem_reply is None:
            return
        (kind, index, word), data = given.mem_reply
        if kind == "dt":
            out.located = (index, data)
            return
        bank = self.banks[index]
        bank.words[word] = data
        if word == 2:
            bank.full = True
            bank.pending = sum(1 << lane for lane, deg in enumerate(data) if deg)
            self.reading = False

    def _begins_row(self) -> bool:
        """Whether the reader begins with the next row: where a bank is free for it."""
        needed = self.state in (State.S1, State.S3) and not self.banks[self.current].pending
        free = not self.banks[1 - self.current].full and not self.reading
        return self.open and free and bool(self.unread) and (self.p.read_ahead or needed)

    def _calls(self, given: Inputs, granted: str, out: Outputs) -> list[Callable[[], None]]:
        """Return the changes by registrations, barriers and decodes of this cycle, in order."""
        found: list[Callable[[], None]] = []
        if given.reg is not None and not self.open:
            fault = self._fault_of(given.reg)
            if fault != Fault.NONE:
                found.append(partial(self._raise, fault, given.reg[0]))
                out.reg_ready = True
            elif granted == "reg":
                out.reg_ready = self.step == 2
                found.append(partial(self._written, given.reg[0]))
        if given.decode is not None and not self.open:
            found.append(partial(self._raise, Fault.DECODE_BEFORE_BARRIER, given.decode))
        elif given.decode is not None and out.decode_ready:
            found.append(partial(self.queue.append, given.decode))
        if given.locate is not None and not self.held >> given.locate & 1:
            found.append(partial(self._raise, Fault.LOC_WITHOUT_ID, given.locate))
            out.locate_ready = True
        elif given.locate is not None:
            out.locate_ready = granted == "locate"
        if given.barrier and not self.open:
            found.append(partial(self._pass_barrier, given.barrier))
        return found

    def _written(self, warp: int) -> None:
        """Record that a word of a registration has been written."""
        if self.step == 2:
            self.registered |= 1 << warp
        self.step = (self.step + 1) % 3

    def _pass_barrier(self, warps: int) -> None:
        self.open, self.expected, self.unread = True, warps, self.registered
