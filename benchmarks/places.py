"""Compare gathers that read values by vertex, by place, and by place with a table of hubs.

``python benchmarks/places.py`` times an iteration of PageRank on a GPU in both dtypes under each
``Config(hub_table=...)``, and under the default; and how long the places take, once per graph.
``--device emulated --graphs kron7`` runs the same in the host emulation.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import gpu_graphs, graph_names
from benchmarks.gpu_timing import Clock, Times

ITERATIONS, RUNS, SECONDS = 20, 5, 2.0
WAYS = {"by vertex": False, "by place": "places", "with a table": True, "default": None}
TABLE = 57344  # float32 values that 224 KiB hold


def measure(name: str, device: str) -> Iterator[str]:
    """Yield one line for each measurement on one graph."""
    import weft
    from weft.topology.hub_places import hub_places, placed_targets, share_of_hubs

    g = graph_names.generate(name, device)
    clock, topology = Clock(device), g.topology
    for find in (hub_places, placed_targets):
        times = Times()
        clock.time(lambda find=find: find(topology, "in"), times)
        yield f"{name} {find.__name__}: {times.median_ms:.2f} ms"
    share = share_of_hubs(topology, "in", TABLE)
    yield f"{name}: {share:.3f} of the arcs name one of {TABLE} vertices"
    for dtype in ("float32", "float64"):
        want: Any = None
        for text, way in WAYS.items():
            config = weft.Config(hub_table=way)

            def call(dtype: str = dtype, config: weft.Config = config) -> Any:
                return weft.pagerank(
                    g, tol=0, max_iter=ITERATIONS, dtype=dtype, on_unconverged="return",
                    config=config,
                )  # fmt: skip

            clock.warm_up(call)
            times, found = clock.repeat(call, RUNS, SECONDS)
            want = found if want is None else want
            apart = float(abs(found.astype(float) - want).max() / want.max())
            spent = times.median_ms / ITERATIONS
            yield f"{name} {dtype} {text}: {spent:.4f} ms an iteration, apart by {apart:.0e}"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    graph_names.add_graphs(parser, gpu_graphs.FULL[:2], {"tiny": gpu_graphs.TINY[:2]})
    parser.add_argument("--device", default="cuda", help="cuda, cuda:1 or emulated")
    options = parser.parse_args(arguments)
    for name in graph_names.chosen(options):
        for line in measure(name, options.device):
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
