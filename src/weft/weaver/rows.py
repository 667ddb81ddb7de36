"""Reads formats in streams: the expressions of their parts as instructions."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from weft.errors import ConfigError
from weft.formats.base import VERTEX, Kind, Part
from weft.weaver.stream import Assembler

# What CSR and COO answer; other kinds say it in `Kind.loops`.
PLAIN = {"begin": "{offsets}[{r}]", "end": "{offsets}[{r} + ONE]", "target": "{targets}[{s}]"}
_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.RShift: "shr", ast.LShift: "shl", ast.BitAnd: "bit_and", ast.BitOr: "bit_or",
    ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne",
}  # fmt: skip


@dataclass(frozen=True)
class Reader:
    """Writes the answers of one part of a format.

    Parameters
    ----------
    kind, part
        What the format says about the part, and its arrays.
    prefix
        Of the names of its buffers.
    """

    kind: Kind
    part: Part
    prefix: str

    @property
    def answers(self) -> dict[str, str]:
        """The expressions of the kind."""
        return dict(self.kind.loops) or PLAIN

    @property
    def whole(self) -> bool:
        """Whether a row of the part is a vertex."""
        return not self.kind.virtual

    @property
    def rows_matter(self) -> bool:
        """Whether an edge of a virtual row needs the row's number, and not its vertex alone."""
        texts = [self.answers.get(name, "") for name in ("place", "target", "valid")]
        return self.kind.virtual and any("{r}" in text for text in texts)

    def arrays(self) -> dict[str, Any]:
        """Return the arrays of the part by the names of their buffers, in the declared dtypes."""
        found = {f"{self.prefix}.{name}": array for name, array in self.part.arrays.items()}
        for array in self.kind.arrays:
            name = f"{self.prefix}.{array.name}"
            if array.dtype != VERTEX and name in found and found[name].dtype != array.dtype:
                found[name] = found[name].view(array.dtype)  # numbers of one or two bytes
        return found

    def vertex(self, asm: Assembler, row: int) -> int:
        """Return the vertex of a row."""
        return row if self.whole else asm.load(f"{self.prefix}.vertices", row)

    def ask(self, asm: Assembler, what: str, **names: int) -> int:
        """Return the answer to a question; names are registers: r, v, s, p."""
        text = self.answers.get(what, "{s}")
        filled = text
        for name in (*"vrsp", *self.part.arrays, "rows", "slots", *self.part.numbers):
            filled = filled.replace(f"{{{name}}}", f"_{name}_")
        return self._expression(asm, ast.parse(filled, mode="eval").body, names)

    def owner(self, asm: Assembler, slot: int) -> int:
        """Return the row of a slot.

        Raises
        ------
        ConfigError
            If the part cannot tell.
        """
        if "owners" in self.part.arrays:
            return asm.load(f"{self.prefix}.owners", slot)
        if self.answers["begin"] == "{r}":  # rows of one slot
            return slot
        raise ConfigError(
            f"schedule='edge' needs the row of each slot, which {self.kind.struct} does not hold. "
            "Expected format='coo', 'block_coo' or 'gshard'."
        )

    def _expression(self, asm: Assembler, node: Any, names: dict[str, int]) -> int:
        def inner(other: Any) -> int:
            return self._expression(asm, other, names)

        if isinstance(node, ast.Constant):
            return asm.const(node.value)
        if isinstance(node, ast.Name):
            return self._name(asm, node.id, names)
        if isinstance(node, ast.BinOp):
            left, right = inner(node.left), inner(node.right)
            return asm.op(_OPERATORS[type(node.op)], left, right)
        if isinstance(node, ast.Compare):
            left, right = inner(node.left), inner(node.comparators[0])
            return asm.op(_OPERATORS[type(node.ops[0])], left, right)
        if isinstance(node, ast.Subscript):
            name = node.value.id.strip("_")  # type: ignore[attr-defined]
            return asm.load(f"{self.prefix}.{name}", inner(node.slice))
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            values = [inner(argument) for argument in node.args]
            return asm.op("minimum", *values) if name == "min" else values[0]
        if isinstance(node, ast.IfExp):
            return self._choice(asm, node, names)
        raise ConfigError(f"the answer {ast.unparse(node)!r} of a format cannot be lowered.")

    def _choice(self, asm: Assembler, node: ast.IfExp, names: dict[str, int]) -> int:
        """Return one of two values; only the one that is wanted is computed."""
        result = asm.register()
        condition = self._expression(asm, node.test, names)
        with asm.otherwise(condition) as marks:
            asm.move(result, self._expression(asm, node.body, names))
            asm.turn(marks)
            asm.move(result, self._expression(asm, node.orelse, names))
        return result

    def _name(self, asm: Assembler, name: str, names: dict[str, int]) -> int:
        name = name.strip("_")
        if name in names:
            return names[name]
        if name == "ONE":
            return asm.const(1)
        if name in ("rows", "slots"):
            return asm.const(getattr(self.part, name))
        return asm.const(self.part.numbers[name])
