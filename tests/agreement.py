"""Runs programs on a backend through the public API, and on the interpreter, and compares.

Use `agreed(g, functions, fields, frontier)`: it returns what every run left behind, after each of
them was found equal to the interpreter's. Runs are made on the CPU, within `on_device(name)` on
another device; the variable WEFT_TEST_DEVICE names the one to begin with.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import weft
from oracle import Interpreted, run_interpreted, run_on
from weft.backends.cuda.backend import BACKEND as CUDA

# One kernel serves any number of threads.
THREADS = (weft.Config(threads=1), weft.Config(threads=3))
DIRECTIONS = tuple(
    weft.Config(direction=direction, threads=threads)
    for direction in ("push", "pull")
    for threads in (1, 3)
)

_device = [os.environ.get("WEFT_TEST_DEVICE", "cpu")]


@contextmanager
def on_device(name: str) -> Iterator[None]:
    """Let `run` and `agreed` use another device."""
    _device.append(name)
    try:
        yield
    finally:
        _device.pop()


def placed(g: weft.Graph) -> weft.Graph:
    """Return a graph on the device that runs are made on."""
    return g.to(_device[-1])


def distinct(configs: Sequence[weft.Config]) -> list[weft.Config]:
    """Return the configurations that differ on the device: threads count on a CPU only."""
    if _device[-1] == "cpu":
        return list(configs)
    return list(dict.fromkeys(replace(config, threads=None) for config in configs))


@dataclass
class Result:
    """What a run left behind."""

    fields: dict[str, np.ndarray]
    edge_fields: dict[str, np.ndarray]
    scalars: dict[str, Any]
    frontier: list[int]
    steps: int = 1
    converged: bool = False
    trail: list[np.ndarray] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        for part in ("fields", "edge_fields", "scalars"):
            if name in self.__dict__[part]:
                return self.__dict__[part][name]
        raise AttributeError(name)


def assert_bits_equal(got: Any, want: Any, what: str = "") -> None:
    """Compare arrays bit for bit; all NaNs are equal."""
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype, what
    np.testing.assert_array_equal(got, want, err_msg=what)
    if got.dtype.kind == "f":
        signs = [np.signbit(x) & ~np.isnan(x) for x in (got, want)]
        np.testing.assert_array_equal(*signs, err_msg=f"{what}: signs of zeros")


def run(
    g: weft.Graph,
    functions: Any,
    fields: dict[str, Any],
    frontier: Any = None,
    *,
    mode: str = "run",
    edges: dict[str, Any] | None = None,
    config: weft.Config | None = None,
    **options: Any,
) -> Result:
    """Run functions on fresh state, through the public API."""
    g = placed(g)
    state = g.state(**fields)
    held = None if edges is None else g.edge_state(**edges)
    given = {"edge_state": held, "config": config, **options}
    result = Result(state.fields, {} if held is None else held.fields, {}, [])
    if mode == "run":
        result.frontier = g.run(functions, state, frontier, **given).tolist()
    elif mode == "replay":
        g.replay(functions, state, **given)
    else:
        done = g.iterate(functions, state, frontier, **given)
        result.frontier, result.steps = done.frontier.tolist(), done.steps
        result.converged, result.trail = done.converged, done.trail
    result.scalars = {name: array[0] for name, array in state.scalars.items()}
    return result


def interpreted(
    g: weft.Graph, functions: Any, fields: dict[str, Any], frontier: Any = None, *,
    mode: str = "run", edges: dict[str, Any] | None = None, **options: Any,
) -> Interpreted:  # fmt: skip
    """Interpret the same."""
    held = None if edges is None else g.edge_state(**edges)
    arcs = isinstance(frontier, weft.Frontier) and frontier.arcs
    members = None if frontier is None else np.asarray(frontier).tolist()
    if mode == "replay":
        options["replay"] = options.pop("trail")
    return run_interpreted(
        g, functions, g.state(**fields), members, mode=mode, edge_state=held, arcs=arcs, **options
    )


def emulated(
    g: weft.Graph, functions: Any, fields: dict[str, Any], frontier: Any = None, *,
    edges: dict[str, Any] | None = None, choices: dict[str, Any] | None = None, **options: Any,
) -> Interpreted:  # fmt: skip
    """Run functions as CUDA on the host; `choices` are options of the backend, also hidden ones."""
    held = None if edges is None else g.edge_state(**edges)
    state, place = g.state(**fields), g.to("emulated")
    chosen = dict(choices or {})
    driver = chosen.pop("driver", None)
    done = run_on(
        CUDA, place, functions, state, frontier, edge_state=held, options=chosen, driver=driver,
        **options,
    )  # fmt: skip
    done.outcome.frontier = np.sort(done.outcome.frontier)
    return done


def compare(result: Result, want: Interpreted, *, steps: bool = True) -> None:
    """Compare a run with the interpreter's; `steps=False` if supersteps may differ (rule 11)."""
    for part in ("fields", "edge_fields"):
        for name, array in getattr(result, part).items():
            assert_bits_equal(array, getattr(want.state, part)[name], name)
    for name, number in result.scalars.items():
        assert_bits_equal(number, want.state.scalars[name][0], name)
    if want.program.mode == "replay":
        return
    assert result.frontier == want.frontier
    if want.program.mode == "iterate":
        assert result.converged == want.outcome.converged
        assert not steps or result.steps == want.outcome.steps
        assert [t.tolist() for t in result.trail] == [t.tolist() for t in want.outcome.trail]


def agreed(
    g: weft.Graph, functions: Any, fields: dict[str, Any], frontier: Any = None, *,
    configs: Sequence[weft.Config] = THREADS, steps: bool = True, **options: Any,
) -> Result:  # fmt: skip
    """Return what functions leave behind, the same under every configuration and interpreted."""
    want = interpreted(g, functions, fields, frontier, **options)
    for config in distinct(configs):
        result = run(g, functions, fields, frontier, config=config, **options)
        try:
            compare(result, want, steps=steps)
        except AssertionError as error:
            raise AssertionError(f"{config}: {error}") from None
    return result
