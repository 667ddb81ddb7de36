"""Count the lines of the example programs: ``python -m benchmarks.operator_lines``.

A line counts if it holds code: not blank, no comment, no docstring. Imports count.
"""

from __future__ import annotations

import ast
import io
import tokenize
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[1] / "src" / "weft" / "operators" / "examples"
TITLES = {
    "sssp": "shortest paths",
    "bfs": "breadth-first search, push and pull",
    "pagerank": "PageRank, push and pull",
    "betweenness": "betweenness",
    "components": "components",
    "triangles": "triangles",
    "coloring": "colouring",
    "maximal_independent_set": "maximal independent set",
    "label_propagation": "weighted label propagation",
    "delta_stepping": "delta-stepping",
}
MINI_GUNROCK = {"sssp": "208", "bfs": "under 200", "pagerank": "under 200"}
"""Lines of the same programs in Mini-Gunrock, as its paper counts them."""
_NO_CODE = (
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENDMARKER,
)  # fmt: skip


def lines_of(source: str) -> int:
    """Return the number of lines of a source that hold code."""
    held: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _NO_CODE:
            held |= set(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            held -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(held)


def table() -> str:
    """Return the table of programs and their lines."""
    rows = ["| program | lines | Mini-Gunrock |", "|---|--:|--:|"]
    for name, title in TITLES.items():
        count = lines_of((EXAMPLES / f"{name}.py").read_text(encoding="utf-8"))
        rows.append(f"| {title} | {count} | {MINI_GUNROCK.get(name, '')} |")
    return "\n".join(rows)


if __name__ == "__main__":
    print(table())
