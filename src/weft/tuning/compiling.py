"""Programs that ran once, compiled for other configurations without running them."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import replace
from importlib import import_module
from typing import Any

from weft.config import Config
from weft.engine.run import check_names
from weft.ir.request import Request


def under(request: Request, config: Config) -> Request:
    """Return a kept request as it would be under another configuration."""
    options: dict[str, Any] = {**request.options, **config.options(), "report": None}
    options.pop("limit", None)
    if insists(request):
        options["direction"] = request.options["direction"]
    options["schedule"] = check_names(config, request.topology)
    return replace(request, program=copy.deepcopy(request.program), options=options)


def insists(request: Request) -> bool:
    """Whether the algorithm itself gave a direction to a run under the default configuration."""
    return bool(request.options["direction"] != "auto")


def compiled(request: Request, config: Config) -> Any:
    """Return what the backend makes of a kept request under a configuration."""
    backend = "cpu" if request.topology.device.kind == "cpu" else "cuda"
    execute = import_module(f"weft.backends.{backend}.execute")
    return execute.compile_program(under(request, config))[0]


def sources_of(requests: Iterable[Request], config: Config) -> tuple[str, ...]:
    """Return the generated sources of kept requests under a configuration."""
    return tuple(compiled(request, config).rendered.source for request in requests)
