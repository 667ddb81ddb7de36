"""`weft info --formats`: what a graph takes in each format, and how long it takes to build it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any


def format_facts(g: Any) -> dict[str, dict[str, Any]]:
    """Return bytes, build time and facts of a graph in every format, or why it is refused.

    A format that is made for an order of the vertices is built in it; the time for that is apart.
    """
    from weft.formats import formats

    return {name: _facts(g, name, format_) for name, format_ in formats().items()}


def _facts(g: Any, name: str, format_: Any) -> dict[str, Any]:
    from weft.errors import ConfigError
    from weft.formats import choose
    from weft.formats.formulas import evaluate
    from weft.orders import arranged

    told: dict[str, Any] = {"title": format_.title}
    topology = g.topology
    if format_.order:
        began = time.perf_counter()
        topology = arranged(topology, format_.order)
        told["order_ms"] = 1e3 * (time.perf_counter() - began)
    way = topology.primary_direction
    arcs = topology.adjacency(way)
    began = time.perf_counter()
    try:
        layout = choose(name).build(arcs.offsets, arcs.targets, topology.xp, incoming=way == "in")
    except ConfigError as error:
        return told | {"refused": str(error)}
    told["build_ms"] = 1e3 * (time.perf_counter() - began)
    told["bytes"] = layout.nbytes
    told["bytes_per_arc"] = layout.nbytes / max(1, topology.num_arcs)
    known = {"E": topology.num_arcs, "V": topology.num_vertices, **layout.facts}
    told["formula"] = format_.formula
    told["formula_bytes"] = round(evaluate(format_.formula, known) * arcs.targets.dtype.itemsize)
    return told | {key: _plain(value) for key, value in layout.facts.items()}


def _plain(value: Any) -> int | float:
    return int(value) if float(value).is_integer() else float(value)


def format_rows(told: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a line for each format, for reading."""
    from weft.devices import bytes_text

    hidden = ("title", "build_ms", "order_ms", "bytes", "bytes_per_arc", "formula", "formula_bytes")
    rows = []
    for name, facts in told.items():
        if "refused" in facts:
            rows.append({"format": name, **dict.fromkeys(("memory", "an arc", "formula"), "-")})
            rows[-1] |= {"build": "-", "facts": facts["refused"]}
            continue
        build = f"{facts['build_ms']:,.1f} ms"
        if "order_ms" in facts:
            build += f" after {facts['order_ms']:,.1f} ms for the order"
        more = ", ".join(
            f"{key} {value:,}" if isinstance(value, int) else f"{key} {value:.3g}"
            for key, value in facts.items()
            if key not in hidden
        )
        rows.append({
            "format": name, "memory": bytes_text(facts["bytes"]),
            "an arc": f"{facts['bytes_per_arc']:.2f} B",
            "formula": f"{facts['formula']}: {bytes_text(facts['formula_bytes'])}",
            "build": build, "facts": more,
        })  # fmt: skip
    return rows
