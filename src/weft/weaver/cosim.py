"""Co-simulation: compares the inputs and outputs of the model with the RTL, cycle by cycle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft.weaver.rtl import XLEN, amaranth, elaboratable
from weft.weaver.unit import Inputs, Outputs, Parameters

Log = Sequence[tuple[Inputs, Outputs]]


def pack(words: Sequence[int], width: int) -> int:
    """Return a vector as one number, its first word in the lowest bits."""
    mask = (1 << width) - 1
    packed = 0
    for k, word in enumerate(words):
        packed |= (word & mask) << (k * width)
    return packed


def stimuli(given: Inputs, p: Parameters) -> dict[str, int]:
    """Return the inputs of a cycle as values of the ports."""
    values = {"mem_busy": int(given.mem_busy)}
    if given.reg is not None:
        warp, mask, *words = given.reg
        values |= {"reg_valid": 1, "reg_warp": warp, "reg_mask": mask}
        for name, column in zip(("reg_vid", "reg_loc", "reg_deg"), words, strict=True):
            values[name] = pack(column, XLEN)
    if given.barrier:
        values |= {"barrier_valid": 1, "barrier_warps": given.barrier}
    for name, asking in (("decode", given.decode), ("locate", given.locate)):
        if asking is not None:
            values |= {f"{name}_valid": 1, f"{name}_warp": asking}
    if given.skip is not None:
        values |= {"skip_valid": 1, "skip_vid": given.skip}
    if given.mem_reply is not None:
        (kind, index, word), data = given.mem_reply
        values |= {
            "reply_valid": 1, "reply_dt": int(kind == "dt"), "reply_index": index,
            "reply_word": word, "reply_data": pack(data, p.id_bits),
        }  # fmt: skip
    return values


def responses(out: Outputs, p: Parameters) -> dict[str, int]:
    """Return the outputs of a cycle as values of the ports; those that do not matter are absent."""
    values = {
        "state": int(out.state), "fault": int(out.fault), "fault_warp": out.fault_warp,
        "reg_ready": int(out.reg_ready), "decode_ready": int(out.decode_ready),
        "locate_ready": int(out.locate_ready), "answer_valid": int(out.answer is not None),
        "located_valid": int(out.located is not None), "mem_valid": int(out.request is not None),
    }  # fmt: skip
    if out.answer is not None:
        warp, mask, vids = out.answer
        values |= {"answer_warp": warp, "answer_mask": mask, "answer_vid": pack(vids, p.id_bits)}
    if out.located is not None:
        values |= {"located_warp": out.located[0], "located_eid": pack(out.located[1], p.id_bits)}
    request = out.request
    if request is not None:
        values |= {"mem_write": int(request.write), "mem_address": request.address}
        if request.write and request.data is not None:
            values["mem_data"] = pack(request.data, p.id_bits)
        elif request.tag is not None:
            kind, index, word = request.tag
            values |= {"mem_dt": int(kind == "dt"), "mem_index": index, "mem_word": word}
    return values


def compare(p: Parameters, logs: Sequence[Log]) -> list[str]:
    """Run the RTL on what the model was given; return a line for every output that differs.

    Each log begins in the state after a reset. Every cycle of every log is compared.
    """
    from amaranth.sim import Simulator

    hdl = amaranth()
    unit, ports = elaboratable(p)
    clear = hdl.Signal()
    dut = hdl.ResetInserter({"sync": clear})(unit)
    found: list[str] = []

    async def run(ctx: Any) -> None:
        driven: set[str] = set()
        for number, log in enumerate(logs):
            for cycle, (given, out) in enumerate(log):
                values = stimuli(given, p)
                for name in driven - values.keys():
                    ctx.set(getattr(ports, name), 0)
                for name, value in values.items():
                    ctx.set(getattr(ports, name), value)
                driven = set(values)
                for name, expected in responses(out, p).items():
                    got = ctx.get(getattr(ports, name))
                    if got != expected:
                        found.append(f"case {number}, cycle {cycle}: {name}={got}, not {expected}")
                await ctx.tick()
            ctx.set(clear, 1)
            await ctx.tick()
            ctx.set(clear, 0)

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(run)
    simulator.run()
    return found
