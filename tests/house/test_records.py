"""A record with many fields has several roles: it is split, but for those named here."""

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "weft"
LIMIT = 12
# What is larger, and why it stays in one piece.
LARGE = {
    "config.py:Config",  # a flat list of public options (docs/design/config.md)
    "weaver/machine.py:Machine",  # parameters of a modelled machine, given by the user
    "engine/profile.py:Record",  # the columns of a profile
    # What is declared of a format, a schedule, a step: each place that asks reads a few.
    "formats/base.py:Format",
    "schedules/base.py:Schedule",
    "ir/ops.py:Step",
    "ir/ops.py:Program",
    "ir/check/facts.py:Facts",
    "plan/sweeps.py:Sweep",
    "operators/running.py:Call",
    # Builders: state of code generation, not records that are handed on.
    "backends/emit/site.py:Site",
    "backends/cpu/codegen/kernel.py:Kernel",
    "backends/cuda/codegen/machine.py:Kernel",
    "backends/cuda/codegen/machine.py:Options",
    "backends/cuda/codegen/visitor.py:Visitor",
    "weaver/sweep.py:Sweep",
}


def is_record(node):
    marks = [ast.unparse(each) for each in (*node.decorator_list, *node.bases)]
    return any(mark.startswith("dataclass") or mark == "NamedTuple" for mark in marks)


def test_records_are_small():
    found = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and is_record(node):
                fields = sum(isinstance(each, ast.AnnAssign) for each in node.body)
                if fields > LIMIT:
                    found.add(f"{path.relative_to(SOURCE).as_posix()}:{node.name}")
    assert found <= LARGE, f"more than {LIMIT} fields: {sorted(found - LARGE)}. Split by role."
