"""The CUDA headers of the package, as texts."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from weft.backends.cuda.codegen.machine import Options

RUNTIME = (
    "control", "sweep", "machine", "numbers", "groups", "features", "linear", "products",
    "memory", "random", "rows_of", "by_key", "marker", "hubs", "inputs", "updates", "segments",
    "loop",
)  # fmt: skip
FRONTIERS = ("bins", "blocks", "rows", "output", "compact", "waiting")


def read_header(package: str, name: str) -> str:
    """Return the text of a header of the package."""
    return (resources.files(package) / name).read_text(encoding="utf-8")


def headers_of(options: Options) -> dict[str, str]:
    """Return the texts of all headers that a program may include."""
    texts = {}
    for name in ("device", *RUNTIME):
        texts[f"{name}.cuh"] = read_header("weft.backends.cuda.runtime", f"{name}.cuh")
    frontiers = Path(__file__).parents[3] / "frontiers"
    for name in FRONTIERS:
        texts[f"{name}.cuh"] = (frontiers / f"{name}.cuh").read_text(encoding="utf-8")
    if options.combine == "radix":
        texts["radix.cuh"] = read_header("weft.backends.cuda.runtime", "radix.cuh")
    for side in options.sides:
        texts |= side.schedule.headers | side.format.headers
    return texts
