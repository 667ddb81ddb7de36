"""Count the lines of every schedule and format: ``python -m benchmarks.format_lines``.

A format is a Python file that builds it and a CUDA header that reads it, a schedule one that
describes it and one that runs it; what several of them share is listed apart. A line counts if it
holds code: not blank, no comment, no docstring. The last line says what M x N kernels would have
needed in place of M + N files.
"""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.operator_lines import lines_of

SOURCES = Path(__file__).resolve().parents[1] / "src" / "weft"
# Whose a file or folder is that is called otherwise; two names: one file for both.
OF = {
    "blocking": "block_coo, block_csr", "cr2": "cr2, cr2_bare", "regular": "cr2, cr2_bare",
    "sliced": "ell", "sliced_ell": "ell",
}  # fmt: skip
ROOMS = {"schedule": SOURCES / "schedules", "format": SOURCES / "formats"}


def cuda_lines_of(source: str) -> int:
    """Return the number of lines of a CUDA source that hold code.

    Examples
    --------
    >>> cuda_lines_of("// a comment\\n\\nint a; /* and\\n another */\\nint b;  // here\\n")
    2
    """
    bare = re.sub(r"/\*.*?\*/", lambda m: "\n" * m[0].count("\n"), source, flags=re.DOTALL)
    return sum(bool(re.sub(r"//.*", "", line).strip()) for line in bare.splitlines())


def counted(room: Path, names: list[str]) -> list[tuple[str, int, int]]:
    """Return the Python and CUDA lines of each name, then of what is shared."""
    files = [path for path in sorted(room.rglob("*")) if path.suffix in (".py", ".cuh")]
    together = [name for name in dict.fromkeys(OF.values()) if ", " in name]
    found = {name: [0, 0] for name in [*sorted([*names, *together]), "shared"]}
    for path in files:
        stem = path.stem if path.parent == room else path.parent.name
        stem = OF.get(stem, stem)
        text = path.read_text(encoding="utf-8")
        is_cuda = path.suffix == ".cuh"
        count = cuda_lines_of(text) if is_cuda else lines_of(text)
        found[stem if stem in found else "shared"][is_cuda] += count
    return [(name, python, cuda) for name, (python, cuda) in found.items() if python or cuda]


def table(what: str) -> str:
    """Return the table of the schedules or formats."""
    import weft.formats
    import weft.schedules

    registry = weft.formats.formats() if what == "format" else weft.schedules.schedules()
    rows = [f"| {what} | Python | CUDA | together |", "|---|--:|--:|--:|"]
    for name, python, cuda in counted(ROOMS[what], list(registry)):
        rows.append(f"| {name} | {python} | {cuda} | {python + cuda} |")
    return "\n".join(rows)


def main() -> None:
    """Print both tables, and how many files and pairs there are."""
    import weft.formats
    import weft.schedules

    print(table("schedule"), table("format"), sep="\n\n")
    m, n = len(weft.schedules.schedules()), len(weft.formats.formats())
    print(f"\n{m} schedules and {n} formats: {m + n} of these in place of {m * n} pairs")


if __name__ == "__main__":
    main()
