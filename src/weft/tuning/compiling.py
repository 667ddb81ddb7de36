"""Compiles programs that ran once for other configurations, without running them."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from weft.arrays.device import Device
from weft.backends import backend_of
from weft.config import Config
from weft.engine.reorder import sees_positions
from weft.errors import WeftError
from weft.graph.execution import order_wanted
from weft.ir.request import Request, RunOptions
from weft.topology.renumbering import Numbering
from weft.topology.topology import Topology


def under(request: Request, config: Config) -> Request:
    """Return a recorded request under another configuration."""
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
    """Return a stand-in for a reordered topology, to compile for but never to run on.

    Reordering takes longer than compiling, and the code is the same for every order.
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
    """Whether the algorithm itself fixed the direction of a run under the default configuration."""
    return request.options.config.direction != "auto"


def compiled(request: Request, config: Config) -> Any:
    """Return the compiled form of a recorded request under a configuration."""
    backend, wanted = backend_of(request.topology.device), under(request, config)
    return backend.prove(wanted, backend.compile(wanted))[0]


def sources_of(requests: Iterable[Request], config: Config) -> tuple[str, ...]:
    """Return the generated sources of recorded requests under a configuration."""
    return tuple(compiled(request, config).rendered.source for request in requests)


@dataclass
class Compilations:
    """The kernels of an algorithm under other configurations, compiled while others are timed.

    Attributes
    ----------
    ahead
        Compiles in the background (made by `Backend.compile_ahead`), if several benches share one.
    longest_s
        The longest wait for a kernel so far.
    """

    ahead: Any = None
    longest_s: float = 0.0
    _requests: list[Request] = field(default_factory=list)
    _own: Any = None
    _begun: dict[Config, Any] = field(default_factory=dict)

    def open(self, requests: Iterable[Request], device: Device) -> None:
        """Set the requests to compile for, and start a background compiler if none is shared."""
        self._requests = list(requests)
        if self.ahead is None and self._requests:
            self.ahead = self._own = backend_of(device).compile_ahead(device)

    def begin(self, config: Config) -> None:
        """Begin to compile for a configuration."""
        if self.ahead is None or config in self._begun:
            return
        try:
            self._begun[config] = [
                self.ahead.begin(under(request, config)) for request in self._requests
            ]
        except WeftError as error:
            self._begun[config] = error

    def is_ready(self, config: Config) -> bool:
        """Whether nothing has to be compiled any more before a configuration runs."""
        begun = self._begun.get(config)
        return not isinstance(begun, list) or all(future.done() for future in begun)

    def under_way(self) -> list[Any]:
        """Return the compilations that have not ended."""
        lists = [begun for begun in self._begun.values() if isinstance(begun, list)]
        return [future for begun in lists for future in begun if not future.done()]

    def wait_s(self, config: Config) -> float:
        """Return about how long a configuration waits for kernels that cannot be compiled ahead."""
        waits: list[float] = []
        try:
            for request in self._requests:
                backend = backend_of(request.topology.device)
                waits.append(backend.compile_seconds(under(request, config)))
        except WeftError:  # refused, which takes no time
            return 0.0
        return sum(max(wait, self.longest_s) for wait in waits if wait)

    def finish(self, config: Config) -> None:
        """Wait until a configuration is compiled; raise the error that compiling it raised."""
        begun = self._begun.pop(config, None)
        if isinstance(begun, WeftError):
            raise begun
        for future in begun or ():
            future.result()

    @property
    def lookahead(self) -> int:
        """How many configurations are compiled while another runs."""
        return 1 if self.ahead is None else 1 + 2 * int(self.ahead.workers)

    def close(self) -> None:
        """Cancel what has not been compiled, unless the background compiler is shared."""
        if self._own is not None:
            self._own.close()
            self.ahead = self._own = None
