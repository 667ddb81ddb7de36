"""Identifies a run, so that an interrupted one is recognised."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from weft.backends.relational.compile import Compiled
from weft.ir.check.key import keyed
from weft.ir.request import Request


def identity(request: Request, program: Compiled) -> str:
    """Return a digest of a program, its graph, and all values that it starts from."""
    digest = hashlib.blake2b(digest_size=16)

    def add(*parts: Any) -> None:
        for part in parts:
            digest.update(part if isinstance(part, bytes) else repr(part).encode())
            digest.update(b"\0")

    add(program.rendered.source, request.max_iter, request.program.mode)
    add([str(c) for c in keyed(request.program, True)[1]])
    topology = request.topology
    add(topology.num_vertices, topology.num_arcs, topology.num_edges, topology.directed)
    data = request.data
    for held in (data.fields, data.edge_fields, data.scalars, data.parameters):
        for name in sorted(held):
            add(name, np.ascontiguousarray(held[name]).tobytes())
    start = request.start
    add(start.arcs, None if start.frontier is None else np.asarray(start.frontier).tobytes())
    add([np.asarray(part).tobytes() for part in start.trail or []])
    return digest.hexdigest()
