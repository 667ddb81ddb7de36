"""python-graphblas with ranks as a row vector, ``ranks @ A``, as algorithm libraries write it.

SuiteSparse then scatters the ranks of the rows, instead of summing up those of each row as in
`graphblas_peer` (``A @ ranks``), which needs a matrix of in-arcs, or one that is its own transpose.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.peers import graphblas_peer
from graphblas import Vector, semiring


class Contestant(graphblas_peer.Contestant):
    name = "graphblas_vxm"

    def call(self, task: str) -> Callable[[], Any] | None:
        return super().call(task) if task == "pagerank" else None

    def arrived(self, sent: Vector) -> Any:
        return semiring.plus_first(sent @ self.arcs)
