"""The Weaver unit as synthesisable hardware, in Amaranth; the extra ``weft[rtl]`` installs that.

The machine of `weft.weaver.unit`: the same states, the same order at the memory port, the same
faults. ST and DT lie in the core's shared memory, behind `mem_*`; the unit itself holds two rows of
ST (the current one and the one read ahead), the current entry and the output.
"""

from __future__ import annotations

from typing import Any

from weft.weaver.faults import Fault
from weft.weaver.unit import Parameters, State

XLEN = 64  # width of the operands of WEAVER_REG


def amaranth() -> Any:
    """Return the hardware language's module.

    Raises
    ------
    ImportError
        If it is not installed.
    """
    try:
        import amaranth.hdl as hdl
    except ImportError as error:
        raise ImportError(
            "The RTL of the Weaver unit needs Amaranth and its Yosys. Install weft[rtl]."
        ) from error
    return hdl


class Ports:
    """The signals of a unit; a vector over lanes is one signal, lane 0 in the lowest bits."""

    def __init__(self, p: Parameters, xlen: int = XLEN) -> None:
        hdl = amaranth()
        lanes, warp = p.lanes, max(1, (p.warps - 1).bit_length())
        address = (3 * p.rows + p.warps - 1).bit_length()
        word = p.id_bits
        shapes = {
            # REG: held until it is ready, as valid/ready handshakes are.
            "reg_valid": 1, "reg_warp": warp, "reg_mask": lanes, "reg_vid": lanes * xlen,
            "reg_loc": lanes * xlen, "reg_deg": lanes * xlen, "reg_ready": 1,
            "barrier_valid": 1, "barrier_warps": warp + 1,
            "decode_valid": 1, "decode_warp": warp, "decode_ready": 1,
            "locate_valid": 1, "locate_warp": warp, "locate_ready": 1,
            "skip_valid": 1, "skip_vid": word,
            # A mask of no lanes is the answer -1.
            "answer_valid": 1, "answer_warp": warp, "answer_mask": lanes,
            "answer_vid": lanes * word,
            "located_valid": 1, "located_warp": warp, "located_eid": lanes * word,
            "mem_busy": 1, "mem_valid": 1, "mem_write": 1, "mem_address": address,
            "mem_data": lanes * word, "mem_dt": 1, "mem_index": warp, "mem_word": 2,
            "reply_valid": 1, "reply_dt": 1, "reply_index": warp, "reply_word": 2,
            "reply_data": lanes * word,
            "state": 4, "fault": 3, "fault_warp": warp,
        }  # fmt: skip
        self.names = list(shapes)
        for name, width in shapes.items():
            setattr(self, name, hdl.Signal(width, name=name))

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)

    def all(self) -> list[Any]:
        """Return the signals in order."""
        return [getattr(self, name) for name in self.names]


def elaboratable(p: Parameters, xlen: int = XLEN) -> tuple[Any, Ports]:
    """Return the unit as something that Amaranth elaborates, and its ports."""
    hdl = amaranth()
    ports = Ports(p, xlen)

    class WeaverUnit(hdl.Elaboratable):  # type: ignore[name-defined]
        def elaborate(self, platform: Any) -> Any:
            return Builder(p, ports, xlen).build()

    return WeaverUnit(), ports


class Builder:
    """Builds the logic of one unit, part by part."""

    def __init__(self, p: Parameters, ports: Ports, xlen: int) -> None:
        self.hdl = amaranth()
        self.p, self.io, self.xlen = p, ports, xlen
        self.m = self.hdl.Module()
        signal, lanes, word = self.hdl.Signal, p.lanes, p.id_bits
        self.warp_bits = ports.reg_warp.shape().width
        self.lane_bits = max(1, (lanes - 1).bit_length())
        self.row_bits = max(1, (p.rows - 1).bit_length())
        self.registered, self.unread = signal(p.rows), signal(p.rows)
        self.step, self.asked = signal(2), signal(2, init=3)
        self.open, self.reading = signal(), signal()
        self.expected, self.ended = signal(self.warp_bits + 1), signal(self.warp_bits + 1)
        self.held = signal(p.warps)
        self.vid, self.loc, self.deg = signal(word), signal(word), signal(word)
        self.fill = signal(range(lanes + 1))
        self.out_vid = [signal(word, name=f"out_vid_{k}") for k in range(lanes)]
        self.out_eid = [signal(word, name=f"out_eid_{k}") for k in range(lanes)]
        self.skipped = [signal(word, name=f"skipped_{k}") for k in range(p.skips)]
        self.skip_held = signal(p.skips)
        self.next_skip = signal(range(max(2, p.skips)))
        self.pending = [signal(lanes, name=f"pending_{k}") for k in range(2)]
        self.full = signal(2)
        self.current, self.target = signal(), signal()
        self.row, self.loading = signal(self.row_bits), signal(self.lane_bits)
        self.head = signal(self.warp_bits)
        self.waiting, self.pop, self.ending = signal(), signal(), signal()
        self.exhausted, self.granted_out = signal(), signal()
        self.granted_reg, self.granted_read, self.granted_dt = signal(), signal(), signal()
        self.reg_fault = signal(3)

    def build(self) -> Any:
        """Return the module."""
        self._queue()
        self._check_registration()
        self._arbitrate()
        self._entry()
        self._machine()
        self._reader()
        self._calls()
        return self.m

    def _lane(self, signal: Any, lane: int, width: int) -> Any:
        return signal[lane * width : (lane + 1) * width]

    def _queue(self) -> None:
        """The warps that wait for ids, in the order of their requests."""
        m, p, io, hdl = self.m, self.p, self.io, self.hdl
        slots = hdl.Array(hdl.Signal(self.warp_bits, name=f"queue_{k}") for k in range(p.warps))
        first, last = hdl.Signal(range(max(2, p.warps))), hdl.Signal(range(max(2, p.warps)))
        count = hdl.Signal(range(p.warps + 1))
        push = hdl.Signal()
        m.d.comb += [
            io.decode_ready.eq(count < p.warps),
            push.eq(io.decode_valid & io.decode_ready & self.open),
            self.waiting.eq(count != 0),
            self.head.eq(slots[first]),
        ]

        def after(place: Any) -> Any:
            return hdl.Mux(place == p.warps - 1, 0, place + 1)

        with m.If(push):
            m.d.sync += [slots[last].eq(io.decode_warp), last.eq(after(last))]
        with m.If(self.pop):
            m.d.sync += first.eq(after(first))
        m.d.sync += count.eq(count + push - self.pop)

    def _check_registration(self) -> None:
        """What is wrong with a registration; later assignments have the higher priority."""
        m, p, io, hdl = self.m, self.p, self.io, self.hdl
        wide, negative = hdl.Signal(), hdl.Signal()
        wides, negatives = [], []
        for lane in range(p.lanes):
            on = io.reg_mask[lane]
            words = [self._lane(s, lane, self.xlen) for s in (io.reg_vid, io.reg_loc, io.reg_deg)]
            wides += [on & word[p.id_bits :].any() for word in words]
            negatives.append(on & words[2][self.xlen - 1])
        m.d.comb += [wide.eq(hdl.Cat(*wides).any()), negative.eq(hdl.Cat(*negatives).any())]
        with m.If(wide):
            m.d.comb += self.reg_fault.eq(Fault.ID_TOO_WIDE)
        with m.If(negative):
            m.d.comb += self.reg_fault.eq(Fault.NEGATIVE_DEGREE)
        with m.If(self.registered.bit_select(io.reg_warp, 1)):
            m.d.comb += self.reg_fault.eq(Fault.SECOND_REGISTRATION)
        with m.If(io.reg_warp >= p.rows):
            m.d.comb += self.reg_fault.eq(Fault.TABLE_OVERFLOW)

    def _arbitrate(self) -> None:
        """The memory port: the output first, then DEC_LOC, registrations, and the reader."""
        m, p, io, hdl, state = self.m, self.p, self.io, self.hdl, self.io.state
        writes_out = (state == State.S5) | ((state == State.S7) & (self.fill != 0))
        dt_row = 3 * p.rows
        with m.If(~io.mem_busy):
            with m.If(writes_out):
                eids = [hdl.Mux(k < self.fill, eid, 0) for k, eid in enumerate(self.out_eid)]
                m.d.comb += [
                    self.granted_out.eq(1), io.mem_write.eq(1),
                    io.mem_address.eq(dt_row + self.head), io.mem_data.eq(hdl.Cat(*eids)),
                ]  # fmt: skip
            with m.Elif(io.locate_valid & self.held.bit_select(io.locate_warp, 1)):
                m.d.comb += [
                    self.granted_dt.eq(1), io.mem_address.eq(dt_row + io.locate_warp),
                    io.mem_dt.eq(1), io.mem_index.eq(io.locate_warp),
                ]  # fmt: skip
            with m.Elif(io.reg_valid & ~self.open & (self.reg_fault == 0)):
                m.d.comb += [self.granted_reg.eq(1), io.mem_write.eq(1)]
                with m.Switch(self.step):
                    for step, words in enumerate((io.reg_vid, io.reg_loc, io.reg_deg)):
                        with m.Case(step):
                            data = [
                                hdl.Mux(io.reg_mask[k], self._lane(words, k, self.xlen), 0)[
                                    : p.id_bits
                                ]
                                for k in range(p.lanes)
                            ]
                            m.d.comb += [
                                io.mem_address.eq(step * p.rows + io.reg_warp),
                                io.mem_data.eq(hdl.Cat(*data)),
                            ]
            with m.Elif(self.asked != 3):
                m.d.comb += [
                    self.granted_read.eq(1), io.mem_index.eq(self.target),
                    io.mem_word.eq(self.asked),
                ]  # fmt: skip
                with m.Switch(self.asked):
                    for step in range(3):
                        with m.Case(step):
                            m.d.comb += io.mem_address.eq(step * p.rows + self.row)
        granted = self.granted_out | self.granted_dt | self.granted_reg | self.granted_read
        m.d.comb += io.mem_valid.eq(granted)

    def _entry(self) -> None:
        """The rows of ST that were read, and the entry that S1 or S4 loads."""
        from amaranth.lib.memory import Memory

        m, p, io, hdl = self.m, self.p, self.io, self.hdl
        pending = hdl.Mux(self.current, self.pending[1], self.pending[0])
        self.left = hdl.Signal(p.lanes)
        self.first = hdl.Signal(self.lane_bits)
        m.d.comb += self.left.eq(pending)
        for lane in reversed(range(p.lanes)):
            with m.If(self.left[lane]):
                m.d.comb += self.first.eq(lane)
        chosen = hdl.Mux(io.state == State.S1, self.first, self.loading)
        self.entry = []
        for word in range(3):
            m.submodules[f"row_{word}"] = memory = Memory(
                shape=hdl.unsigned(p.lanes * p.id_bits), depth=2, init=[]
            )
            write = memory.write_port()
            read = memory.read_port(domain="comb")
            m.d.comb += [
                write.addr.eq(io.reply_index), write.data.eq(io.reply_data),
                write.en.eq(io.reply_valid & ~io.reply_dt & (io.reply_word == word)),
                read.addr.eq(self.current),
            ]  # fmt: skip
            self.entry.append(read.data.word_select(chosen, p.id_bits))
        m.d.comb += self.exhausted.eq(
            ~(self.unread.any() | self.reading | self.full.any() | self.left.any())
        )

    def _machine(self) -> None:
        """The states, the current entry and the output."""
        m, p, io, hdl, state = self.m, self.p, self.io, self.hdl, self.io.state
        dropped = hdl.Signal()  # the entry to be loaded is one that was skipped
        known = [
            s & (v == self.entry[0]) for s, v in zip(self.skip_held, self.skipped, strict=True)
        ]
        m.d.comb += dropped.eq(hdl.Cat(*known).any())
        load, vid = hdl.Signal(), hdl.Signal(p.id_bits)
        m.d.comb += vid.eq(hdl.Mux(load, self.entry[0], self.vid))
        with m.Switch(state):
            with m.Case(State.S0), m.If(self.open & self.waiting):
                m.d.sync += state.eq(State.S1)
            with m.Case(State.S1, State.S3):
                with m.If(self.left.any()):
                    m.d.sync += [self.loading.eq(self.first), self._drop_first()]
                    with m.If(state == State.S1):
                        m.d.comb += load.eq(1)
                    with m.Else():
                        m.d.sync += state.eq(State.S4)
                with m.Elif(self.full.bit_select(~self.current, 1)):
                    m.d.sync += self.current.eq(~self.current)
                    m.d.sync += self.full.bit_select(~self.current, 1).eq(0)
                with m.Elif(self.exhausted):
                    m.d.sync += state.eq(State.S7)
            with m.Case(State.S2):
                self._move()
            with m.Case(State.S4):
                m.d.comb += load.eq(1)
            with m.Case(State.S5, State.S7):
                with m.If(self.granted_out):
                    m.d.sync += self.fill.eq(0)
                    m.d.sync += self.held.bit_select(self.head, 1).eq(1)
                    m.d.sync += state.eq(hdl.Mux(state == State.S5, State.S6, State.S8))
                with m.Elif((state == State.S7) & (self.fill == 0)):
                    m.d.sync += state.eq(State.S8)
            with m.Case(State.S6), m.If(self.waiting):
                over = (self.deg == 0) & self.exhausted
                m.d.sync += state.eq(hdl.Mux(over, State.S7, State.S2))
            with m.Case(State.S8), m.If(self.waiting):
                m.d.sync += self.held.bit_select(self.head, 1).eq(0)
                m.d.sync += self.ended.eq(self.ended + 1)
                m.d.comb += self.ending.eq(self.ended + 1 == self.expected)
        with m.If(load):
            m.d.sync += [
                self.vid.eq(self.entry[0]), self.loc.eq(self.entry[1]),
                self.deg.eq(hdl.Mux(dropped, 0, self.entry[2])), state.eq(State.S2),
            ]  # fmt: skip
        ends = (state == State.S8) & self.waiting
        vids = [hdl.Mux(k < self.fill, v, 0) for k, v in enumerate(self.out_vid)]
        mask = [k < self.fill for k in range(p.lanes)]
        m.d.comb += [
            self.pop.eq(self.granted_out | ends), io.answer_valid.eq(self.pop),
            io.answer_warp.eq(self.head),
            io.answer_mask.eq(hdl.Mux(ends, 0, hdl.Cat(*mask))),
            io.answer_vid.eq(hdl.Mux(ends, 0, hdl.Cat(*vids))),
        ]  # fmt: skip
        self._skip(vid)

    def _drop_first(self) -> Any:
        rest = self.left & (self.left - 1)[: self.p.lanes]
        return self.hdl.Array(self.pending)[self.current].eq(rest)

    def _move(self) -> None:
        """S2: the lanes from `fill` on take ids while the entry has any."""
        m, p, io, hdl = self.m, self.p, self.io, self.hdl
        free = hdl.Signal(range(p.lanes + 1))
        count = hdl.Signal(range(p.lanes + 1))
        m.d.comb += free.eq(p.lanes - self.fill)
        m.d.comb += count.eq(hdl.Mux(self.deg < free, self.deg, free))
        for lane in range(p.lanes):
            with m.If((self.fill <= lane) & (lane < self.fill + count)):
                m.d.sync += self.out_vid[lane].eq(self.vid)
                m.d.sync += self.out_eid[lane].eq(self.loc + (lane - self.fill)[: self.lane_bits])
        m.d.sync += [
            self.fill.eq(self.fill + count), self.loc.eq(self.loc + count),
            self.deg.eq(self.deg - count),
        ]  # fmt: skip
        with m.If(self.fill + count == p.lanes):  # C0
            m.d.sync += io.state.eq(State.S5)
        with m.Elif(self.exhausted):
            m.d.sync += io.state.eq(State.S7)
        with m.Else():
            m.d.sync += io.state.eq(State.S3)

    def _skip(self, vid: Any) -> None:
        """WEAVER_SKIP: the current entry loses the rest, and the vertex is remembered."""
        m, p, io, hdl = self.m, self.p, self.io, self.hdl
        known = [s & (v == io.skip_vid) for s, v in zip(self.skip_held, self.skipped, strict=True)]
        with m.If(io.skip_valid & self.open):
            with m.If(vid == io.skip_vid):
                m.d.sync += self.deg.eq(0)
            with m.If(~hdl.Cat(*known).any()):
                wrapped = hdl.Mux(self.next_skip == p.skips - 1, 0, self.next_skip + 1)
                m.d.sync += self.next_skip.eq(wrapped)
                for k in range(p.skips):
                    with m.If(self.next_skip == k):
                        m.d.sync += [self.skipped[k].eq(io.skip_vid), self.skip_held[k].eq(1)]

    def _reader(self) -> None:
        """The rows of ST: ask for three words, take them, and begin with the next row."""
        m, p, io, hdl, state = self.m, self.p, self.io, self.hdl, self.io.state
        with m.If(io.reply_valid & ~io.reply_dt & (io.reply_word == 2)):
            degrees = [self._lane(io.reply_data, k, p.id_bits).any() for k in range(p.lanes)]
            m.d.sync += [
                hdl.Array(self.pending)[io.reply_index[0]].eq(hdl.Cat(*degrees)),
                self.full.bit_select(io.reply_index[0], 1).eq(1), self.reading.eq(0),
            ]  # fmt: skip
        m.d.comb += [
            io.located_valid.eq(io.reply_valid & io.reply_dt),
            io.located_warp.eq(io.reply_index), io.located_eid.eq(io.reply_data),
        ]  # fmt: skip
        with m.If(self.granted_read):
            m.d.sync += self.asked.eq(self.asked + 1)
        needed = ((state == State.S1) | (state == State.S3)) & ~self.left.any()
        wanted = hdl.Const(1) if p.read_ahead else needed
        free = ~self.full.bit_select(~self.current, 1) & ~self.reading
        with m.If(self.open & free & self.unread.any() & wanted):
            for row in reversed(range(p.rows)):
                with m.If(self.unread[row]):
                    m.d.sync += self.row.eq(row)
            m.d.sync += [
                self.unread.eq(self.unread & (self.unread - 1)[: p.rows]),
                self.target.eq(~self.current), self.asked.eq(0), self.reading.eq(1),
            ]  # fmt: skip

    def _calls(self) -> None:
        """Registrations, barriers and decodes, the faults they raise, and the end of a round."""
        m, _p, io, hdl = self.m, self.p, self.io, self.hdl
        faulty = io.reg_valid & ~self.open & (self.reg_fault != 0)
        early = io.decode_valid & ~self.open
        missing = io.locate_valid & ~self.held.bit_select(io.locate_warp, 1)
        m.d.comb += [
            io.reg_ready.eq(faulty | (self.granted_reg & (self.step == 2))),
            io.locate_ready.eq(missing | self.granted_dt),
        ]
        with m.If(io.fault == 0):
            with m.If(faulty):
                m.d.sync += [io.fault.eq(self.reg_fault), io.fault_warp.eq(io.reg_warp)]
            with m.Elif(early):
                m.d.sync += io.fault.eq(Fault.DECODE_BEFORE_BARRIER)
                m.d.sync += io.fault_warp.eq(io.decode_warp)
            with m.Elif(missing):
                m.d.sync += io.fault.eq(Fault.LOC_WITHOUT_ID)
                m.d.sync += io.fault_warp.eq(io.locate_warp)
        with m.If(self.granted_reg):
            m.d.sync += self.step.eq(hdl.Mux(self.step == 2, 0, self.step + 1))
            with m.If(self.step == 2):
                m.d.sync += self.registered.bit_select(io.reg_warp, 1).eq(1)
        with m.If(io.barrier_valid & ~self.open):
            m.d.sync += [
                self.open.eq(1), self.expected.eq(io.barrier_warps),
                self.unread.eq(self.registered),
            ]  # fmt: skip
            # A row that is written in the cycle of the barrier belongs to the round.
            with m.If(self.granted_reg & (self.step == 2)):
                m.d.sync += self.unread.bit_select(io.reg_warp, 1).eq(1)
        with m.If(self.ending):
            m.d.sync += [
                io.state.eq(State.S0), self.open.eq(0), self.registered.eq(0),
                self.ended.eq(0), self.skip_held.eq(0), self.next_skip.eq(0),
                self.pending[0].eq(0), self.pending[1].eq(0), self.full.eq(0),
                self.current.eq(0), self.target.eq(0), self.unread.eq(0), self.asked.eq(3),
                self.row.eq(0), self.reading.eq(0), self.loading.eq(0),
            ]  # fmt: skip
