"""The namespace of all operators that can be applied without saying of which kind they are."""

from __future__ import annotations

from typing import Any

from weft.graphblas.operators.base import Namespace


class OpNamespace(Namespace):
    """Unary and binary operators, monoids and semirings under one name."""

    def _find(self, name: str) -> Any:
        from weft.graphblas.operators.semiring import semiring

        found = getattr(semiring, name, None)
        return found

    def _names(self) -> list[str]:
        from weft.graphblas.operators.semiring import semiring

        return [name for name in dir(semiring) if not name.startswith("_") and name != "ss"]


op = OpNamespace("op", "Unary and binary operators, monoids and semirings.")
