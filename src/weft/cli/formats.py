"""`weft info --formats`: the memory and the build time of a graph in each format."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final

LONG_MS: Final = 5000.0  # formats that take longer are built once


def format_facts(g: Any) -> dict[str, dict[str, Any]]:
    """Return bytes, build time and facts of a graph in every format, or why it is rejected.

    A format that requires an order of the vertices is built in it; the time of ordering is
    separate.
    """
    from weft.formats import formats

    held = {"": (g.topology, 0.0)}  # by order: the reordered graph, and the time it took
    for order in {format_.order for format_ in formats().values()} - {""}:
        held[order] = _in_order(g.topology, order)
    return {
        name: _facts(name, format_, *held[format_.order]) for name, format_ in formats().items()
    }


def _in_order(topology: Any, order: str) -> tuple[Any, float]:
    """Return a topology in an order, and the milliseconds that ordering takes once compiled."""
    from weft import generators
    from weft.topology.orders import arranged

    arranged(generators.path(2).topology, order)
    began = time.perf_counter()
    return arranged(topology, order), 1e3 * (time.perf_counter() - began)


def _facts(name: str, format_: Any, topology: Any, order_ms: float) -> dict[str, Any]:
    from weft.errors import ConfigError
    from weft.formats import choose
    from weft.formats.formulas import evaluate

    told: dict[str, Any] = {"title": format_.title}
    if format_.order:
        told["order_ms"] = order_ms
    way = topology.primary_direction
    arcs = topology.adjacency(way)
    given = (arcs.offsets, arcs.targets, topology.xp)
    began = time.perf_counter()
    try:
        layout = choose(name).build(*given, incoming=way == "in")
        told["build_ms"] = 1e3 * (time.perf_counter() - began)
        if told["build_ms"] < LONG_MS:  # the first time includes the compilation of code
            began = time.perf_counter()
            layout = choose(name).make(*given, way == "in")
            told["build_ms"] = min(told["build_ms"], 1e3 * (time.perf_counter() - began))
    except ConfigError as error:
        return told | {"refused": str(error)}
    except MemoryError as error:
        return told | {"refused": f"it does not fit into memory: {error}"}
    told["bytes"] = layout.nbytes
    told["bytes_per_arc"] = layout.nbytes / max(1, topology.num_arcs)
    known = {"E": topology.num_arcs, "V": topology.num_vertices, **layout.facts}
    told["formula"] = format_.formula
    told["formula_bytes"] = round(evaluate(format_.formula, known) * arcs.targets.dtype.itemsize)
    return told | {key: _plain(value) for key, value in layout.facts.items()}


def _plain(value: Any) -> int | float:
    return int(value) if float(value).is_integer() else float(value)


def format_rows(told: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a line of text for each format."""
    from weft.arrays.device import bytes_text

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
