"""Run the SparseWeaver thesis's experiments on the cycle model: ``python benchmarks/weaver.py``.

Each line of a table is "thesis, ours, why different". Graphs are generated and scaled down: they
have the skew of the thesis's graphs, not their size. ``--shrink N`` halves them N times;
``--only E1,E4`` runs some experiments; ``--json FILE`` keeps all counters.

| experiment | what is varied                                            |
|------------|-----------------------------------------------------------|
| E1         | schedules, four algorithms, the better direction of each  |
| E2         | the skew of a power-law graph of one size                 |
| E3         | core clock : DRAM clock                                   |
| E4         | the latency of the unit's tables, with and without read-ahead |
| E5         | cache levels and sizes                                    |
| E6         | push and pull, by phase                                   |
| E7         | the unit against edge-gathering hardware                  |
| E8         | a graph-convolution layer, by width                       |
| E9         | the unit against the best software schedule               |
| E10        | software schedules alone (stalls by cause in the model)   |
| T41        | counts of CUDA's schedules in the emulation (table 4.1)   |

`benchmarks/weaver_gpu.py` measures the schedules of E9 and E10 on a GPU.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

import weft
from benchmarks import graph_names
from weft.weaver import Counters, Machine, Simulation, programs, simulate
from weft.weaver.machine import CAUSES

GRAPHS = ("G500", "BH", "CO", "WK", "RN")
SOFTWARE = ("vertex", "edge", "warp", "block")
DIRECTIONS = ("push", "pull")
# Of the thesis: speed-ups over VM by algorithm, their mean, and that over EM.
E1 = {"bfs": 2.73, "sssp": 2.64, "pagerank": 2.71, "connected_components": 1.60}
E1_MEAN, E1_EDGE = 2.36, 2.63
E7, E8 = 3.64, 6.15
E9 = {"HW": 5.32, "UK": 2.31, "CO": 4.23, "RN": 1.83}


class Row(NamedTuple):
    """A line of a table."""

    what: str
    thesis: str
    ours: str
    why: str = ""


@dataclass
class Bench:
    """Runs of the model, each checked against the interpreter's values and made once."""

    shrink: int = 0  # how often the sizes are halved
    names: tuple[str, ...] = GRAPHS
    runs: dict[Any, Any] = field(default_factory=dict)
    seconds: float = 0.0
    instructions: int = 0

    def graph(self, name: str, searched: bool = False) -> Any:
        """Return a generated graph of the mean degree and skew of one of the thesis's.

        A road graph that is searched has fewer vertices: a search of it takes as many supersteps as
        it has levels. Otherwise its state exceeds L1, as that of the thesis's road graph does.
        """
        g, k = weft.generators, self.shrink
        side = 96 if searched else 320
        own = {
            "G500": lambda: g.rmat(14 - k, 16, seed=1, weights="int"),
            "BH": lambda: g.powerlaw(6144 >> k, 96.0, 3.0, seed=2, weights="int"),
            "CO": lambda: g.powerlaw(12288 >> k, 64.0, 3.0, seed=3, weights="int"),
            "WK": lambda: g.powerlaw(24576 >> k, 18.0, 2.3, seed=4, weights="int"),
            "RN": lambda: g.road(side >> (k // 2), seed=5, weights="int"),
        }
        return own[name]() if name in own else graph_names.generate(name)

    def graphs(self, algorithm: str = "pagerank") -> dict[str, Any]:
        """Return the graphs of the experiments with an algorithm, each made once."""
        searched = algorithm != "pagerank"
        if ("graphs", searched) not in self.runs:
            made = {name: self.graph(name, searched) for name in self.names}
            self.runs["graphs", searched] = made
        found: dict[str, Any] = self.runs["graphs", searched]
        return found

    @property
    def first(self) -> tuple[str, Any]:
        """The graph of experiments that take one."""
        return next(iter(self.graphs().items()))

    def run(
        self, name: str, g: Any, algorithm: str, schedule: str, direction: str = "pull",
        machine: Machine | None = None,
    ) -> Simulation:  # fmt: skip
        """Return a run of an algorithm on the model."""
        key = (name, algorithm, schedule, direction, machine)
        if key not in self.runs:
            found = simulate(
                g, task(algorithm), schedule=schedule, direction=direction,
                machine=machine or Machine(),
            )  # fmt: skip
            reference = self._reference(name, g, algorithm)
            if not np.allclose(found.result, reference, rtol=1e-4, atol=1e-7, equal_nan=True):
                raise AssertionError(f"{key}: the model computes other values than the CPU")
            self.seconds += found.counters.seconds
            self.instructions += found.counters["instructions"]
            self.runs[key] = found
        return self.runs[key]

    def _reference(self, name: str, g: Any, algorithm: str) -> Any:
        key = (name, algorithm)
        if key not in self.runs:
            self.runs[key] = task(algorithm)(g)
        return np.asarray(self.runs[key])

    def best(self, name: str, g: Any, algorithm: str, schedule: str) -> Simulation:
        """Return the run in the better direction."""
        runs = [self.run(name, g, algorithm, schedule, way) for way in DIRECTIONS]
        return min(runs, key=lambda run: run.cycles)


def task(algorithm: str) -> Callable[[Any], Any]:
    """Return what runs an algorithm; searches start from the vertex of most edges."""
    if algorithm in ("bfs", "sssp"):
        search = getattr(programs, algorithm)
        return lambda g: search(g, int(np.argmax(np.asarray(g.out_degree))))
    if algorithm == "pagerank":
        return lambda g: programs.pagerank(g, 2)
    return programs.connected_components


def geomean(values: Iterable[float]) -> float:
    """Return the geometric mean."""
    logs = [math.log(v) for v in values]
    return math.exp(sum(logs) / max(1, len(logs)))


def why(thesis: float, ours: float, counters: Any, base: Any) -> str:
    """Return what the model's counters say about a ratio that is off by more than 30 %."""
    return ratio_note(ours, thesis) or compared(counters, base)


def compared(counters: Any, base: Any) -> str:
    """Return where a run of the unit spends its time, and what a baseline does more than it."""
    phases = counters.phase_cycles()
    largest = max(phases, key=lambda name: phases[name])
    share = phases[largest] / max(1, counters.cycles)
    idle = dict(zip(CAUSES, counters.idle / max(1, counters.phases.sum()), strict=True))
    waits = ", ".join(
        f"{name} {idle[name]:.0%}" for name in sorted(idle, key=lambda k: -idle[k])[:3]
    )
    more = {
        what: base[name] / max(1, counters[name])
        for name, what in (("lines", "lines to L1"), ("dram_lines", "lines from the DRAM"),
                           ("instructions", "instructions"))
    }  # fmt: skip
    more["edges"] = edges_read(base) / max(1, edges_read(counters))
    told = ", ".join(f"{ratio:.2f} × the {what}" for what, ratio in more.items())
    return (
        f"the baseline takes {told}; {share:.0%} of the unit's run is {largest}; "
        f"its cores issue nothing for {waits}"
    )


def edges_read(counters: Any) -> int:
    """Return how many edges the lanes of a run looked at."""
    return sum(count for name, count in counters.reads.items() if name.endswith(".targets"))


def e1(bench: Bench) -> list[Row]:
    """Speed-ups of the unit over the software schedules."""
    rows, over_vm, over_em = [], [], []
    everything = {name: Counters() for name in ("edge", "weaver")}
    for algorithm, thesis in E1.items():
        ratios: dict[str, list[float]] = {name: [] for name in SOFTWARE}
        sums = {name: Counters() for name in (*SOFTWARE, "weaver")}
        for name, g in bench.graphs(algorithm).items():
            unit = bench.best(name, g, algorithm, "weaver")
            sums["weaver"] += unit.counters
            for schedule in SOFTWARE:
                run = bench.best(name, g, algorithm, schedule)
                sums[schedule] += run.counters
                ratios[schedule].append(run.cycles / unit.cycles)
        means = {name: geomean(values) for name, values in ratios.items()}
        over_vm.append(means["vertex"])
        over_em.append(means["edge"])
        each = ", ".join(
            f"{name} {ratio:.2f}"
            for name, ratio in zip(bench.graphs(), ratios["vertex"], strict=True)
        )
        ratio_of = {way: in_direction(bench, algorithm, way) for way in DIRECTIONS}
        ways = ", ".join(f"{way} {ratio:.2f}" for way, ratio in ratio_of.items())
        reason = why(thesis, means["vertex"], sums["weaver"], sums["vertex"])
        near = [way for way, ratio in ratio_of.items() if ratio_note(ratio, thesis)]
        if near and not ratio_note(means["vertex"], thesis):
            reason = f"within 30 % if all {near[0]}; {reason}"
        rows.append(
            Row(f"{algorithm}: Weaver over VM", f"{thesis}",
                f"{means['vertex']:.2f} ({each}; all in one direction: {ways})", reason)
        )  # fmt: skip
        for name in everything:
            everything[name] += sums[name]
        others = ", ".join(f"{s} {means[s]:.2f}" for s in SOFTWARE[1:])
        slower = min(SOFTWARE[1:], key=lambda s: means[s])
        reason = "" if means[slower] > 1 else compared(sums["weaver"], sums[slower])
        rows.append(Row(f"{algorithm}: over EM, WM, CM", "> 1", others, reason))
    rows.append(Row("mean over VM", f"{E1_MEAN}", f"{geomean(over_vm):.2f}",
                    ratio_note(geomean(over_vm), E1_MEAN)))  # fmt: skip
    rows.append(Row("mean over EM", f"{E1_EDGE} (abstract 2.49)", f"{geomean(over_em):.2f}",
                    compared(everything["weaver"], everything["edge"])))  # fmt: skip
    rows.append(slow_memory(bench))
    for name in [name for name in ("BH", "G500") if name in bench.names]:
        g = bench.graphs()[name]
        count = {
            s: bench.run(name, g, "pagerank", s).counters["iterations"] for s in ("vertex", "warp")
        }
        rows.append(
            Row(f"warp iterations of VM : WM, {name}", "4" if name == "BH" else "11",
                f"{count['vertex'] / count['warp']:.1f}", "scaled-down graph")
        )  # fmt: skip
    return rows


def slow_memory(bench: Bench) -> Row:
    """Return the ratios of PageRank on a GPU whose memory is four times as slow."""
    machine = Machine(clock_ratio=4.0)
    found = {}
    for schedule in ("vertex", "edge"):
        found[schedule] = geomean(
            bench.run(name, g, "pagerank", schedule, "pull", machine).cycles
            / bench.run(name, g, "pagerank", "weaver", "pull", machine).cycles
            for name, g in bench.graphs().items()
        )
    return Row("pagerank, core : DRAM = 4, all pull", "–",
               f"over VM {found['vertex']:.2f}, over EM {found['edge']:.2f}",
               "the thesis does not give the ratio of its clocks")  # fmt: skip


def in_direction(bench: Bench, algorithm: str, way: str) -> float:
    """Return the mean speed-up over VM where both take the same direction."""
    return geomean(
        bench.run(name, g, algorithm, "vertex", way).cycles
        / bench.run(name, g, algorithm, "weaver", way).cycles
        for name, g in bench.graphs(algorithm).items()
    )


def ratio_note(ours: float, thesis: float) -> str:
    """Return whether a mean is within 30 %."""
    return "within 30 %" if abs(ours / thesis - 1) <= 0.3 else ""


def e2(bench: Bench) -> list[Row]:
    """Power-law graphs of one number of edges and more and more vertices."""
    edges = 1_900_000 >> 2 * bench.shrink
    rows = []
    for number, thousands in enumerate((10, 12, 16, 20, 40, 80), 1):
        n = max(64, thousands * 1000 * edges // 1_900_000)
        g = weft.generators.powerlaw(n, 2 * edges / n, 2.2, seed=number)
        cycles = {s: bench.run(f"G{number}", g, "pagerank", s).cycles
                  for s in ("vertex", "edge", "weaver")}  # fmt: skip
        shown = ", ".join(f"{s} {c / g.num_edges:.2f}" for s, c in cycles.items())
        top = int(np.asarray(g.out_degree).max())
        rows.append(Row(f"G{number}: {n} vertices, degree up to {top}", "trend", shown,
                        "cycles per edge"))  # fmt: skip
    return rows


def e3(bench: Bench) -> list[Row]:
    """The ratio of the clocks of core and DRAM."""
    name, g = bench.first
    rows = []
    for ratio in (1, 2, 4, 6):
        machine = Machine(clock_ratio=float(ratio))
        cycles = {s: bench.run(name, g, "pagerank", s, "pull", machine).cycles
                  for s in ("vertex", "edge", "weaver")}  # fmt: skip
        rows.append(Row(f"core : DRAM = {ratio}", "rises, Weaver lowest", listed(cycles)))
    return rows


def listed(cycles: dict[str, int]) -> str:
    """Return cycles by name in thousands."""
    return ", ".join(f"{name} {value / 1000:.0f} k" for name, value in cycles.items())


def e4(bench: Bench) -> list[Row]:
    """The latency of the tables: of many edges in a row, and of few."""
    name, g = bench.first
    rows = latencies(bench, name, g)
    if "RN" in bench.names[1:]:
        rows += latencies(bench, "RN", bench.graphs()["RN"])
    return rows


def latencies(bench: Bench, name: str, g: Any) -> list[Row]:
    """Return the cycles of a graph by the latency of the tables."""
    rows = []
    for ahead in (True, False):
        first = 0
        for latency in (10, 20, 40, 80, 160):
            machine = Machine(
                cores_per_socket=4, table_latency=latency, read_ahead=ahead, l1_bytes=32 << 10
            )
            cycles = bench.run(name, g, "pagerank", "weaver", "push", machine).cycles
            first = first or cycles
            how = "read-ahead" if ahead else "no read-ahead"
            rows.append(Row(f"{name}, latency {latency}, {how}", "flat" if ahead else "–",
                            f"{cycles} ({cycles / first - 1:+.1%})"))  # fmt: skip
    return rows


def e5(bench: Bench) -> list[Row]:
    """Cache levels and sizes."""
    (graph, g), rows = bench.first, []
    cases = {
        "L1 + L2": Machine(), "L1 + L2 + L3": Machine(l3_bytes=4 << 20),
        "L1 alone": Machine(l2_bytes=0),
        **{f"L1 {kb} KB": Machine(l1_bytes=kb << 10) for kb in (16, 32, 64)},
        **{f"L2 {kb} KB": Machine(l2_bytes=kb << 10) for kb in (256, 1024, 8192)},
    }  # fmt: skip
    base = 0
    for name, machine in cases.items():
        cycles = bench.run(graph, g, "pagerank", "weaver", "push", machine).cycles
        base = base or cycles
        thesis = "an L2 matters" if name == "L1 alone" else "little effect"
        rows.append(Row(name, thesis, f"{cycles} ({cycles / base - 1:+.1%})"))
    return rows


def e6(bench: Bench) -> list[Row]:
    """Push and pull by phase."""
    rows = []
    for name, g in bench.graphs().items():
        for way in DIRECTIONS:
            run = bench.run(name, g, "pagerank", "weaver", way)
            phases = run.counters.phase_cycles()
            shown = ", ".join(f"{k} {v / run.cycles:.0%}" for k, v in phases.items())
            rows.append(Row(f"{name}, {way}: {run.cycles} cycles", "breakdown (figure)", shown))
    return rows


def e7(bench: Bench) -> list[Row]:
    """Edge-gathering hardware."""
    rows, ratios = [], []
    for name, g in bench.graphs().items():
        unit = bench.best(name, g, "pagerank", "weaver")
        other = bench.best(name, g, "pagerank", "eghw")
        ratios.append(other.cycles / unit.cycles)
        gained = (
            other.counters.phase_cycles()["schedule"] - unit.counters.phase_cycles()["schedule"]
        )
        share = gained / max(1.0, float(other.cycles - unit.cycles))
        rows.append(Row(f"{name}: Weaver over EGHW", "–", f"{ratios[-1]:.2f}",
                        f"{share:.0%} of it in work-id calculation"))  # fmt: skip
    rows.append(Row("mean", f"{E7}", f"{geomean(ratios):.2f}", outstanding(bench)))
    return rows


def outstanding(bench: Bench) -> str:
    """Return how the ratio depends on the reads that the gathering hardware keeps in flight."""
    (name, g), found = bench.first, []
    unit = bench.best(name, g, "pagerank", "weaver").cycles
    for count in (4, 8, 32):
        run = bench.run(name, g, "pagerank", "eghw", "pull", Machine(eghw_outstanding=count))
        found.append(f"{run.cycles / unit:.2f} with {count}")
    return (
        f"{Machine().eghw_outstanding} reads in flight are our choice; {name}: {', '.join(found)}"
    )


@weft.edge(into="mixed", reduce=weft.sum, on="all")
def graph_sum(u: Any, v: Any, e: Any) -> Any:
    """GraphSum of a graph-convolution layer: neighbours weighted by both degrees."""
    return u.hidden * (u.norm * v.norm)


@weft.vertex(on="all")
def product(v: Any, weight: Any) -> None:
    """SpMM of the layer: features times weights."""
    v.hidden = weft.matvec(weight, v.feature)


def convolve(g: Any, width: int, by_weight: bool = False) -> Any:
    """Return one layer: product, then GraphSum, each a superstep, or one for each weight."""
    n = g.num_vertices
    norm = (1 / np.sqrt(np.maximum(np.asarray(g.out_degree), 1))).astype(np.float32)
    features = np.ones((n, width), np.float32)
    nothing = np.zeros((n, width), np.float32)
    state = g.state(
        feature=features, hidden=nothing, mixed=nothing, norm=norm,
        weight=weft.parameter(np.eye(width, dtype=np.float32)),
    )  # fmt: skip
    g.run(product, state)
    if not by_weight:
        g.run(graph_sum, state)
        return np.asarray(state.mixed)
    hidden, columns = np.asarray(state.hidden), []
    for k in range(width):
        column = g.state(hidden=hidden[:, k].copy(), mixed=weft.full(0.0, np.float32), norm=norm)
        g.run(graph_sum, column)
        columns.append(np.asarray(column.mixed))
    return np.stack(columns, axis=1)


def e8(bench: Bench) -> list[Row]:
    """A graph-convolution layer; product and GraphSum of every schedule."""
    (_, g), rows = bench.first, []
    for width in (1, 4, 16) if bench.shrink else (1, 2, 4, 8, 16):
        cases = {  # whether the sum goes weight by weight, as the thesis's VM does
            "vertex": ("vertex", "pull", True), "vertex at once": ("vertex", "pull", False),
            "weaver": ("weaver", "push", False), "eghw": ("eghw", "push", False),
        }  # fmt: skip
        runs = {
            name: simulate(
                g, lambda g, w=width, apart=apart: convolve(g, w, apart), schedule=schedule,
                direction=way,
            )
            for name, (schedule, way, apart) in cases.items()
        }  # fmt: skip
        for name, found in runs.items():
            if not np.allclose(found.result, runs["vertex"].result, rtol=1e-4):
                raise AssertionError(f"width {width}: {name} computes other values than vertex")
            bench.seconds += found.counters.seconds
            bench.instructions += found.counters["instructions"]
        ratio = runs["vertex"].cycles / runs["weaver"].cycles
        sums = {name: sum(step.cycles for step in run.supersteps[1:]) for name, run in runs.items()}
        base, unit = runs["vertex"].counters, runs["weaver"].counters
        lines = base["lines"] / unit["lines"]
        more = base["instructions"] / unit["instructions"]
        rows.append(Row(f"width {width}: over VM", f"{E8}" if width == 16 else "–",
                        f"{ratio:.2f}; GraphSum {sums['vertex'] / sums['weaver']:.2f}: "
                        f"{listed(sums)}",
                        f"VM takes {lines:.2f} × the lines, {more:.2f} × the instructions; the "
                        f"product takes {runs['weaver'].supersteps[0].cycles / 1000:.0f} k under "
                        "every schedule"))  # fmt: skip
    return rows


def e9(bench: Bench) -> list[Row]:
    """The unit against the best software schedule, on eight cores."""
    rows = []
    machine = Machine(cores_per_socket=4)
    for name, g in bench.graphs().items():
        cycles = {
            s: min(bench.run(name, g, "pagerank", s, way, machine).cycles for way in DIRECTIONS)
            for s in (*SOFTWARE, "weaver")
        }
        best = min(SOFTWARE, key=lambda s: cycles[s])
        thesis = f"{E9[name]}" if name in E9 else "–"
        rows.append(Row(f"{name}: Weaver over VM", thesis,
                        f"{cycles['vertex'] / cycles['weaver']:.2f}",
                        f"best software is {best}: {cycles['vertex'] / cycles[best]:.2f} over VM, "
                        "both in the model; thesis: measured tuning"))  # fmt: skip
    return rows


def e10(bench: Bench) -> list[Row]:
    """Stalls by cause of every software schedule, in the model."""
    (name, g), rows = bench.first, []
    for schedule in (*SOFTWARE, "weaver"):
        counters = bench.run(name, g, "pagerank", schedule, "pull").counters
        stalls = counters.stall_cycles()
        total = max(1, sum(stalls.values()))
        shown = ", ".join(f"{k} {v / total:.0%}" for k, v in stalls.items() if v > total / 100)
        rows.append(Row(f"{schedule}: warps wait for", "figure 4.4", shown,
                        f"{counters['instructions']} instructions"))  # fmt: skip
    return rows


# Of the thesis's tables: syncs, kernels, atomics, shuffles of the registration; searches, atomics,
# syncs of the distribution.
TABLE_41 = {
    "warp": "1, 0, 0, 6; E, 0, 0", "block": "17, 0, 0, 15; E, 0, 0", "twc": "1, 0, 3V, 6; E, 0, 0",
    "twce": "1, 3, 2V, 0; 0, aE, aE", "strict": "17, 3, 0, 15; E, 0, 0",
    "weaver": "1, 0, 0, 0; 0, 0, 0 (the unit)",
}  # fmt: skip


def t41(bench: Bench) -> list[Row]:
    """What the CUDA schedules do beside the work itself, counted in the emulation."""
    g = weft.generators.rmat(9 - min(bench.shrink, 3), 16, seed=1).to("emulated")
    found = {name: counted(g, name) for name in ("vertex", *TABLE_41)}
    rows = []
    for name, thesis in TABLE_41.items():
        more = {what: count - found["vertex"][what] for what, count in found[name].items()}
        shown = ", ".join(f"{what} {count:+d}" for what, count in more.items() if count)
        rows.append(Row(name, thesis, shown, "beyond those of vertex"))
    return rows


def counted(g: Any, schedule: str) -> dict[str, int]:
    """Return what a superstep of PageRank counts under a schedule of CUDA."""
    state = g.state(
        rank=weft.full(1.0, np.float32), share=weft.full(0.5, np.float32),
        base=weft.scalar(np.float32(0.1)), damping=weft.scalar(np.float32(0.85)),
    )  # fmt: skip
    config = weft.Config(schedule=schedule, direction="pull")
    with weft.profile() as p:
        g.iterate(programs.refresh, state, max_iter=1, config=config)
    names = (
        "searches", "atomics", "shuffles", "votes", "warp_barriers", "block_barriers",
        "warp_iterations",
    )  # fmt: skip
    return {name: int(p.facts[0][name]) for name in names}


EXPERIMENTS: dict[str, Callable[[Bench], list[Row]]] = {
    f.__name__.upper(): f for f in (e1, e2, e3, e4, e5, e6, e7, e8, e9, e10, t41)
}


def table(name: str, rows: Sequence[Row]) -> str:
    """Return a table as Markdown."""
    title = (EXPERIMENTS[name].__doc__ or "").strip()
    lines = [f"### {name}: {title}", "", "| | thesis | ours | why different |", "|---|---|---|---|"]
    lines += [f"| {row.what} | {row.thesis} | {row.ours} | {row.why} |" for row in rows]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the experiments and print their tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--shrink", type=int, default=0, help="halve the graphs so often")
    parser.add_argument(
        "--graphs", default="", help=f"of {','.join(GRAPHS)}, or {graph_names.EXPECTED}"
    )
    parser.add_argument("--file", action="append", default=[], type=graph_names.existing)
    parser.add_argument("--only", default=",".join(EXPERIMENTS))
    parser.add_argument("--json", type=Path)
    given = parser.parse_args(arguments)
    named = [*filter(None, given.graphs.split(",")), *given.file]
    bench = Bench(given.shrink, tuple(named) or GRAPHS)
    for name in given.only.split(","):
        began = time.perf_counter()
        print(table(name, EXPERIMENTS[name](bench)), flush=True)
        print(f"{name}: {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
    rate = bench.instructions / max(bench.seconds, 1e-9)
    print(f"{bench.instructions} warp instructions, {rate / 1e6:.2f} million a second of CPU time.")
    if given.json is not None:
        kept = {
            "/".join(map(str, key[:4])): run.counters.as_dict()
            for key, run in bench.runs.items() if isinstance(run, Simulation) and key[4] is None
        }  # fmt: skip
        given.json.write_text(json.dumps(kept, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
