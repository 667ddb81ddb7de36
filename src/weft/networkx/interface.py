"""The interface for NetworkX: functions by name, conversions, and whether a call is worthwhile."""

from __future__ import annotations

import importlib
from typing import Any

from weft.networkx.conversion import convert_from_nx, convert_to_nx
from weft.networkx.deciding import Calls
from weft.networkx.metadata import FUNCTIONS, LINEAR, NEVER
from weft.networkx.network import Network
from weft.networkx.settings import setting
from weft.networkx.unfilled import network_of


class Backend:
    """The backend; a function's module is imported when the function is first used."""

    convert_from_nx = staticmethod(convert_from_nx)
    convert_to_nx = staticmethod(convert_to_nx)

    def __init__(self) -> None:
        self._calls: dict[str, Calls] = {}

    def __getattr__(self, name: str) -> Any:
        if name not in FUNCTIONS:
            raise AttributeError(f"weft does not serve NetworkX's {name!r}")
        module, _ = FUNCTIONS[name]
        function = getattr(importlib.import_module(f"weft.networkx.{module}"), name)
        setattr(self, name, function)
        return function

    def _calls_of(self, name: str) -> Calls:
        if name not in self._calls:
            self._calls[name] = Calls(name, getattr(self, name))
        return self._calls[name]

    def can_run(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool | str:
        """Whether a call can be served, or the reason why not."""
        calls = self._calls_of(name)
        return calls.refusal(calls.given(args, kwargs)) or True

    def should_run(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool | str:
        """Whether a call is worth its conversion, or the reason why not."""
        graph = args[0] if args else next(iter(kwargs.values()), None)
        if _converted(graph):
            return True
        calls = self._calls_of(name)
        cost = calls.cost(calls.given(args, kwargs))
        if cost == NEVER:
            return "it looks at less than a conversion would"
        setting_name = "linear_edges" if cost == LINEAR else "more_edges"
        least = setting(setting_name)
        if _has_edges(graph, least):
            return True
        return f"the graph has fewer than {least} edges (nx.config.backends.weft.{setting_name})"


def _converted(graph: Any) -> bool:
    """Whether a graph is converted already, or need not be."""
    if isinstance(graph, list | tuple):
        return bool(graph) and all(map(_converted, graph))
    if isinstance(graph, Network) or network_of(graph) is not None:
        return True
    cache = getattr(graph, "__networkx_cache__", None)
    held = cache.get("backends", {}).get("weft") if cache else None
    return any(isinstance(found, Network) for found in (held or {}).values())


def _has_edges(graph: Any, least: int) -> bool:
    """Whether a graph has that many edges; counts no further."""
    if isinstance(graph, list | tuple):
        return any(_has_edges(part, least) for part in graph)
    try:
        entries, enough = 0, least if graph.is_directed() else 2 * least
        for row in graph._adj.values():
            entries += len(row)
            if entries >= enough:
                return True
    except AttributeError:
        return True
    return False


backend = Backend()
