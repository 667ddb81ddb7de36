"""Programs that ran once, compiled for other configurations without running them."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from weft.backends import backend_of
from weft.config import Config
from weft.engine.reorder import sees_positions
from weft.graph.execution import order_wanted
from weft.ir.request import Request, RunOptions
from weft.topology.renumbering import Numbering
from weft.topology.topology import Topology


def under(request: Request, config: Config) -> Request:
    """Return a kept request as it would be under another configuration."""
    topology = request.topology
    if insists(request):
        config = replace(config, direction=request.options.config.direction)
    options = RunOptions(config, backend_of(topology.device).check(config, topology))
    order = config.reorder or order_wanted(config) or "none"
    if order != "none" and not config.deterministic and not sees_positions(request.program):
        topology = _renumbered(topology)
    program = copy.deepcopy(request.program)
    return replace(
        request, program=program, topology=topology, options=options, report=None, limit=None
    )


_stand_ins: weakref.WeakKeyDictionary[Topology, Topology] = weakref.WeakKeyDictionary()


def _renumbered(topology: Topology) -> Topology:
    """Return a topology that is compiled for as one in another order, but never run over.

    To make a real one takes longer than to compile, and the code is the same for every order.
    """
    if topology.numbering is not None:
        return topology
    found = _stand_ins.get(topology)
    if found is None:
        found = _stand_ins[topology] = copy.copy(topology)
        with topology.device.current():
            nothing = topology.xp.zeros(0, topology.index_dtype)
            rows = topology.adjacency(topology.primary_direction)
            found.numbering = Numbering(nothing, rows, topology.directed)
    return found


def insists(request: Request) -> bool:
    """Whether the algorithm itself gave a direction to a run under the default configuration."""
    return request.options.config.direction != "auto"


def compiled(request: Request, config: Config) -> Any:
    """Return what the backend makes of a kept request under a configuration."""
    backend, wanted = backend_of(request.topology.device), under(request, config)
    return backend.prove(wanted, backend.compile(wanted))[0]


def sources_of(requests: Iterable[Request], config: Config) -> tuple[str, ...]:
    """Return the generated sources of kept requests under a configuration."""
    return tuple(compiled(request, config).rendered.source for request in requests)
