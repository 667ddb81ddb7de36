"""No source file grows beyond what a reader can hold."""

from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"
LIMIT = 600
FILES = sorted(path for kind in ("*.py", "*.cuh") for path in SOURCE.rglob(kind))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_module_is_short(path):
    with path.open(encoding="utf-8") as file:
        lines = sum(1 for _ in file)
    assert lines <= LIMIT, (
        f"{path.relative_to(SOURCE)} has {lines} lines, expected at most {LIMIT}. Split it by role."
    )


def test_there_are_files_to_check():
    assert SOURCE / "weft" / "errors.py" in FILES
