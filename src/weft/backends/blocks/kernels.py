"""The kernels that carriers use: those of the CPU backend, over a block or over vertices alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.backends.blocks.carrier import Work
from weft.backends.cpu.host import run as cpu
from weft.backends.cpu.host.block_run import BlockRun, BlockSpace
from weft.ir.ops import Program
from weft.ir.request import Request, Start
from weft.topology.topology import Topology

Array = np.ndarray[Any, Any]

__all__ = ["BlockRun", "BlockSpace", "at_vertices"]


def at_vertices(
    program: Program, vertices: Topology, work: Work, frontier: Array | None
) -> Array | None:
    """Run a program without arcs on all of the state; return its output, None for all."""
    request = Request(program, vertices, work.options, work.data, Start(frontier=frontier), 1)
    outcome = cpu.run_request(request, cpu.compile_program(request))
    assert outcome.frontier is None or isinstance(outcome.frontier, np.ndarray)
    return outcome.frontier
