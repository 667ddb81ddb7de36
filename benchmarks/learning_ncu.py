"""Run one learning kernel for inspection with Nsight Compute.

``--case loads`` runs manifold ranking, whose arcs carry vectors, by pull; ``--case atomics`` runs
label propagation by push, whose messages meet in memory. Either is run with groups that share
features and, with ``--blind``, by single threads:

    ncu --kernel-name run_all --launch-skip 1 --launch-count 1 --metrics \\
smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct,\\
l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum,l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum,\\
l1tex__t_requests_pipe_lsu_mem_global_op_red.sum,l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum,\\
dram__bytes.sum.per_second,gpu__time_duration.sum \\
        python benchmarks/learning_ncu.py --case loads

The first launch warms up; inspect the second one, of a few iterations.
"""

from __future__ import annotations

import argparse
import inspect
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import weft
from benchmarks import graph_names
from benchmarks.learning_tasks import Task, make_graph
from weft.learning.manifolds import ranking

ITERATIONS = 3


def main() -> None:
    parser = argparse.ArgumentParser(
        description=inspect.getdoc(sys.modules[__name__]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--case", choices=("loads", "atomics"), required=True)
    parser.add_argument("--blind", action="store_true")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--scale", type=int, default=18)
    graph_names.add_graph(parser)
    parser.add_argument("--k", type=int, default=32)
    args = parser.parse_args()
    g = make_graph(args.graph or "kron", args.scale, args.device)
    lanes = 1 if args.blind else None
    for _ in range(2):
        if args.case == "loads":
            task = Task("MMR", g, args.k)
            x = task.data.x
            state = g.state(start=x, score=x, share=x)
            step = ranking("near", 0.8, 0.0, x.dtype)[1]
            config = weft.Config(lanes=lanes)
            g.iterate(step, state, max_iter=ITERATIONS, config=config)
        else:
            config = weft.Config(lanes=lanes, direction="push", fold=False)
            Task("LP", g, args.k).unfolded(ITERATIONS, config)


if __name__ == "__main__":
    main()
