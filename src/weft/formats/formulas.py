"""Formulas for the memory that a format takes, as texts: what they give, and a guess before."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Mapping
from typing import Any, Final

from weft.formats.base import formats

OPERATORS: Final = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
}  # fmt: skip
SHORT_ROWS: Final = 8  # slots of a virtual row, about
SAVED: Final = 0.4  # share of the words that short numbers save in a clustered graph
MORE_ROWS: Final = 3.0  # virtual rows beyond one per vertex
LEFT_OVER: Final = 0.2  # share of the arcs that do not fit


def evaluate(formula: str, known: Mapping[str, float]) -> float:
    """Evaluate a formula of sums and products; products need no sign.

    Examples
    --------
    >>> evaluate("2 E + (1 + f) V + virtual rows", {"E": 3, "V": 4, "f": 0.5, "virtual rows": 7})
    19.0
    """
    for name in sorted(known, key=len, reverse=True):
        formula = re.sub(rf"\b{re.escape(name)}\b", name.replace(" ", "_"), formula)
    names = {name.replace(" ", "_"): float(value) for name, value in known.items()}
    text = re.sub(r"(?<=[\w)])\s+(?=[\w(])", " * ", formula)

    def value_of(node: Any) -> float:
        if isinstance(node, ast.BinOp):
            both = value_of(node.left), value_of(node.right)
            return float(OPERATORS[type(node.op)](*both))
        return names[node.id] if isinstance(node, ast.Name) else float(node.value)

    return value_of(ast.parse(text, mode="eval").body)


def guessed_words(arcs: int, vertices: int) -> dict[str, float]:
    """Return about how many words each format takes, before anything is built.

    Infinite where nothing can be said without a look at the arcs.

    Examples
    --------
    >>> words = guessed_words(48000, 1000)
    >>> words["csr"] < words["tigr"] < words["coo"] < words["dia"]
    True
    """
    known = {
        "E": arcs, "V": vertices, "virtual rows": vertices + arcs / SHORT_ROWS, "r": SAVED,
        "f": MORE_ROWS, "width": arcs / max(1, vertices), "rest": LEFT_OVER * arcs,
    }  # fmt: skip
    found = {}
    for name, format_ in formats().items():
        try:
            found[name] = evaluate(format_.formula, known)
        except (KeyError, SyntaxError, AttributeError):
            found[name] = float("inf")
    return found
