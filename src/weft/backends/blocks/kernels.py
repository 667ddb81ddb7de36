"""The kernels that carriers use: those of a backend, over a block or over vertices alone."""

from __future__ import annotations

from typing import Any

from weft.backends import backend_of
from weft.backends.blocks.carrier import Work
from weft.backends.cpu.host.block_run import BlockRun, BlockSpace
from weft.ir.ops import Program
from weft.ir.request import Deferred, Request, Start
from weft.topology.topology import Topology

__all__ = ["BlockRun", "BlockSpace", "at_vertices"]


def at_vertices(program: Program, vertices: Topology, work: Work, frontier: Any) -> Any:
    """Run a program without arcs on all of the state; return its output, None for all."""
    request = Request(program, vertices, work.options, work.data, Start(frontier=frontier), 1)
    backend = backend_of(vertices.device)
    found = backend.run(request, backend.compile(request)).frontier
    return found.get() if isinstance(found, Deferred) else found
