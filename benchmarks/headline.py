"""Draw the headline chart and write the headline table: ``python benchmarks/headline.py``.

`benchmarks/headline.json` holds weft's time and that of the fastest peer for every task and graph.
The chart goes to `docs/assets/headline.svg`; the table goes to `README.md`, `benchmarks/RESULTS.md`
and, for the first graph of each device, `docs/index.md`, between the comments ``headline`` and
``/headline``. After a new run of the benchmarks, ``--gpu gpu.json`` and ``--cpu cpu.json`` (what
`gpu.py` and `cpu.py` write with ``--json``) update the times first. GPU peers come from
`benchmarks.gpu_report`.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))

from benchmarks.gpu_report import AIMS

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "benchmarks" / "headline.json"
CHART = ROOT / "docs" / "assets" / "headline.svg"
LANDING = ROOT / "docs" / "index.md"
PAGES = (ROOT / "README.md", ROOT / "benchmarks" / "RESULTS.md", LANDING)
TASKS = {
    "bfs": "BFS",
    "sssp": "SSSP",
    "pagerank": "PageRank",
    "components": "components",
    "triangles": "triangles",
    "cores": "core numbers",
}
SHORT = {
    "graphblas": "GraphBLAS",
    "networkit": "NetworKit",
    "scipy": "SciPy",
    "igraph": "igraph",
}
# Tones between those of the light and the dark report pages: readable on either background.
INK, LINE = "#6f7d8f", "#94a3b8"
COLOURS = {"kron": "#3b82f6", "rmat": "#e08a00", "road": "#8b9bb0"}  # by family of graphs


def load(path: Path = DATA) -> dict[str, Any]:
    """Return the devices and rows of the headline."""
    return json.loads(path.read_text(encoding="utf-8"))


def save(data: dict[str, Any], path: Path = DATA) -> None:
    """Write the headline's data, one row per line."""
    rows = ",\n".join(json.dumps(row) for row in data["rows"])
    text = f'{{"devices": {json.dumps(data["devices"])},\n"rows": [\n{rows}\n]}}\n'
    path.write_text(text, encoding="utf-8")


def graphs_of(data: dict[str, Any], device: str) -> list[str]:
    """Return the graphs measured on a device, in the order of the rows."""
    return list(dict.fromkeys(row["graph"] for row in data["rows"] if row["device"] == device))


def update(data: dict[str, Any], gpu: dict[str, Any] | None, cpu: dict[str, Any] | None) -> None:
    """Take weft's times, and those of CPU peers, from new runs of the benchmarks."""
    for row in data["rows"]:
        task = next(key for key, name in TASKS.items() if name == row["task"])
        run = gpu if row["device"] == "GPU" else cpu
        if run is None:
            continue
        data["devices"][row["device"]]["date"] = run["date"]
        found = [r for r in run["rows"] if (r["task"], r["graph"]) == (task, row["graph"])]
        if run is gpu:
            if found and found[0]["ms"]:
                row["weft_ms"] = round_to(3, found[0]["ms"])
            aim = AIMS[task, row["graph"]]
            row |= {"peer": aim.who.rstrip("*") or None, "peer_ms": aim.best}
        elif found:
            times = {r["contestant"]: r["median_ms"] for r in found if r["fault"] is None}
            row["weft_ms"] = round(times.pop("weft"), 1)
            peer = min((name for name in times if name in SHORT), key=lambda name: times[name])
            row |= {"peer": SHORT[peer], "peer_ms": round(times[peer], 1)}


def round_to(digits: int, value: float) -> float:
    """Round to a number of significant digits.

    Examples
    --------
    >>> round_to(3, 0.37949), round_to(3, 4276.0)
    (0.379, 4280.0)
    """
    return float(f"{value:.{digits}g}")


def table(data: dict[str, Any], page: Path) -> str:
    """Return a page's table in Markdown, with devices and dates; the faster time is bold."""
    most = 1 if page == LANDING else None
    columns = [
        (device, graph) for device in data["devices"] for graph in graphs_of(data, device)[:most]
    ]
    by_place = {(row["device"], row["graph"], row["task"]): row for row in data["rows"]}
    heads = [f"{graph}, {device}" for device, graph in columns]
    lines = ["| ms: weft / peer | " + " | ".join(heads) + " |", "|---" * (1 + len(columns)) + "|"]
    for task in TASKS.values():
        cells = [_cell(by_place[device, graph, task]) for device, graph in columns]
        lines.append(f"| {task} | " + " | ".join(cells) + " |")
    facts = data["devices"].items()
    where = [f"{device}: {fact['machine']}, {fact['date']}." for device, fact in facts]
    return "\n".join([*lines, "", " ".join(where)])


def _cell(row: dict[str, Any]) -> str:
    weft, peer = f"{row['weft_ms']:g}", row["peer_ms"]
    if peer is None:
        return f"{weft} / –"
    if row["weft_ms"] < peer:
        return f"**{weft}** / {peer:g} {row['peer']}"
    return f"{weft} / **{peer:g}** {row['peer']}"


def write_table(text: str, data: dict[str, Any], page: Path) -> str:
    """Return the text of a page with its headline table replaced."""
    block = f"<!-- headline -->\n\n{table(data, page)}\n\n<!-- /headline -->"
    changed, count = re.subn(
        r"<!-- headline -->.*?<!-- /headline -->", lambda _: block, text, flags=re.DOTALL
    )
    if count != 1:
        raise ValueError(f"expected one headline table between comments, found {count}.")
    return changed


def draw(data: dict[str, Any], path: Path) -> None:
    """Draw how many times as fast as the fastest peer weft is, on a logarithmic axis."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    style = {
        "svg.hashsalt": "weft",  # the same data gives the same file
        "svg.fonttype": "none",
        "font.size": 13,
        "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "sans-serif"],
        "text.color": INK,
    }
    with plt.rc_context(style):
        figure, axes = plt.subplots(1, len(data["devices"]), figsize=(10.5, 6.6), sharex=True)
        for axis, device in zip(axes, data["devices"], strict=True):
            _panel(axis, data, device)
        figure.suptitle("weft against the fastest listed peer (above 1×, weft is faster)", size=15)
        figure.tight_layout(w_pad=2.0)
        metadata = {"Date": None} if path.suffix == ".svg" else None
        figure.savefig(path, transparent=True, metadata=metadata)
        plt.close(figure)


def _panel(axis: Any, data: dict[str, Any], device: str) -> None:
    graphs, tasks = graphs_of(data, device), list(TASKS.values())
    height = 0.8 / len(graphs)
    for number, graph in enumerate(graphs):
        colour = COLOURS[graph.rstrip("0123456789")]
        rows = [row for row in data["rows"] if (row["device"], row["graph"]) == (device, graph)]
        for row in rows:
            place = tasks.index(row["task"]) + (number + 0.5) * height - 0.4
            ratio = row["peer_ms"] / row["weft_ms"] if row["peer_ms"] else 1.0
            axis.barh(place, ratio - 1, height * 0.88, left=1, color=colour)
            digits = 1 if ratio >= 1.2 else 2
            text = f" {ratio:.{digits}f}× {row['peer']}" if row["peer"] else " no peer listed"
            axis.text(max(ratio, 1.0), place, text, va="center", size=12)
        axis.barh(0, 0, color=colour, label=graph)
    facts = data["devices"][device]
    axis.set_title(f"{device}: {facts['machine']}", size=13)
    axis.set(xscale="log", xlim=(0.55, 30), yticks=range(len(tasks)), yticklabels=tasks)
    axis.set(xticks=[1, 2, 5, 10], xticklabels=["1×", "2×", "5×", "10×"])
    axis.minorticks_off()
    axis.tick_params(colors=INK, length=0)
    axis.invert_yaxis()
    axis.axvline(1.0, color=INK, linewidth=1.2)
    axis.xaxis.grid(True, color=LINE, alpha=0.3)
    axis.set_axisbelow(True)
    axis.spines[:].set_visible(False)
    axis.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, -0.05),
        ncols=len(graphs),
        frameon=False,
        labelcolor=INK,
    )


def main(arguments: list[str] | None = None) -> None:
    """Update the data where asked, draw the chart and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gpu", type=Path, help="what gpu.py wrote with --json")
    parser.add_argument("--cpu", type=Path, help="what cpu.py wrote with --json")
    parser.add_argument("--chart", type=Path, default=CHART, help="where to draw: .svg or .png")
    options = parser.parse_args(arguments)
    data = load()
    if options.gpu or options.cpu:
        update(data, options.gpu and load(options.gpu), options.cpu and load(options.cpu))
        save(data)
    draw(data, options.chart)
    for page in PAGES:
        text = write_table(page.read_text(encoding="utf-8"), data, page)
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
