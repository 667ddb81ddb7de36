"""Profiles record each superstep: direction, frontier, edges visited, time.

The engine gets the innermost open profile from `stack` and passes it the records of a run by
`Profile.add`. An enclosing profile receives the records of the inner ones as well.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from contextvars import ContextVar, Token
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from weft.errors import WeftError
from weft.report.html import table_html

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table

RECORD = np.dtype(
    [
        ("step", "i8"),
        ("phase", "i4"),
        ("direction", "i4"),
        ("frontier", "i8"),
        ("edges", "i8"),
        ("ns", "i8"),
        ("rebuilt", "i4"),
    ]
)
"""Layout of one record as written by the backends: one per superstep and phase."""

DIRECTIONS = ("push", "pull", "vertex")
"""Names of the codes in a record's `direction`."""

_COLOURS = {"push": "#2563eb", "pull": "#d97706", "vertex": "#64748b"}
_HEADER = ("run", "step", "phase", "direction", "frontier", "edges", "M edges/s", "ms")
_PANELS = {"steps": ("frontier", "edges", "ms"), "mteps": ("mteps", "visited_share")}
_LABELS = {
    "frontier": "frontier (vertices)", "mteps": "M edges/s", "visited_share": "vertices visited",
}  # fmt: skip
_PRINTED_ROWS = 40
_PRINTED_WIDTH = 100


@dataclass(frozen=True, slots=True)
class Record:
    """Measurements of one phase of one superstep.

    Attributes
    ----------
    run : str
        Name of the program that ran.
    call : int
        Number of the run within the profile, from 0; distinguishes runs of the same program.
    step, phase : int
        Superstep within the run, and the function within the superstep, both from 0. Operators of
        `weft.operators` that follow one another on a state count as one run: the superstep is
        then the iteration of the frontier, and the phase the operator.
    direction : str
        `"push"`, `"pull"` or `"vertex"` (a phase that visits no edges of its own).
    frontier : int
        Vertices in the frontier at the start of the phase.
    edges : int
        Edges visited.
    edges_per_second, ms : float
        Speed and time of the phase.
    config : dict
        Options in force during the run.
    visited_share : float
        Vertices in the frontiers of the run so far, each superstep counted once, divided by all
        vertices; at most 1. Exact if a vertex enters one frontier, as in a search by levels. NaN
        if the number of vertices is not known.
    arcs_share : float
        Edges visited in the phase, divided by all arcs of the graph. NaN if these are not known.
    filter : str
        How the next frontier was assembled: ``"online"``, ``"ballot"``, ``"batch"``, ``"atomic"``
        (see `Config.compaction`; under ``"jit"`` the one that the superstep ended with), or
        ``"bitmap"`` or ``"bytemap"`` where no queue was written.
    schedule : str
        How edges were assigned to threads.
    width : str
        What ran the phase: a number of threads, or on a GPU the choice of `Config.width`.
    dedup : str
        How duplicates were kept out of the next frontier.
    """

    run: str
    call: int
    step: int
    phase: int
    direction: str
    frontier: int
    edges: int
    edges_per_second: float
    ms: float
    config: dict[str, object]
    visited_share: float = float("nan")
    arcs_share: float = float("nan")
    filter: str = ""
    schedule: str = ""
    width: str = ""
    dedup: str = ""


class _Run(NamedTuple):
    """One call of `Profile.add`: the raw records of one run."""

    name: str
    config: dict[str, object]
    rows: np.ndarray
    dropped: int
    facts: dict[str, object]
    vertices: int
    arcs: int
    turn: tuple[Any, int] | None  # the state of a loop of operators, and its iteration


class _Place(NamedTuple):
    """The position of a run's records: its call, first superstep and phase, and share visited."""

    call: int
    step: int
    phase: int
    shares: np.ndarray


class Profile:
    """The records of all runs inside a `with weft.profile()` block.

    Examples
    --------
    >>> import numpy as np
    >>> p = Profile()
    >>> p.add("bfs", {"direction": "auto"}, np.array([(0, 0, 0, 1, 4, 2_000_000, 0)], RECORD))
    >>> p.records[0].direction, p.records[0].edges_per_second
    ('push', 2000.0)
    >>> p.total_ms
    2.0
    """

    def __init__(self) -> None:
        self._runs: list[_Run] = []
        self._outer: Profile | None = None
        self._token: Token[tuple[Profile, ...]] | None = None

    def __enter__(self) -> Profile:
        outer = stack.get()
        if self in outer:
            raise WeftError(
                "This profile is already recording. A profile can be used in one `with` block at "
                "a time. Create another with weft.profile()."
            )
        self._outer = outer[-1] if outer else None
        self._token = stack.set((*outer, self))
        return self

    def __exit__(self, *exc: object) -> None:
        if self._token is not None:
            stack.reset(self._token)
        self._token = self._outer = None

    def add(
        self,
        run_name: str,
        config: dict[str, object],
        records: np.ndarray,
        dropped: int = 0,
        facts: dict[str, object] | None = None,
        size: tuple[int, int] = (0, 0),
        turn: tuple[Any, int] | None = None,
    ) -> None:
        """Keep a copy of one run's records.

        Parameters
        ----------
        run_name : str
            Name of the program.
        config : dict
            Options in force.
        records : array of `RECORD`
            One row per superstep and phase, in order of execution.
        dropped : int
            Earlier records of the run that the ring buffer had no room for.
        facts : dict
            Execution details: device, grid, block, registers, launches, ...
        size : tuple of int
            Vertices and arcs of the graph; 0 if not known.
        turn : tuple
            Of a run in a loop of operators: the state of the loop, and the iteration.
        """
        rows, told = np.array(records, RECORD), dict(facts or {})
        self._runs.append(_Run(run_name, dict(config), rows, dropped, told, *size, turn))
        if self._outer is not None:
            self._outer.add(run_name, config, records, dropped, facts, size, turn)

    @property
    def records(self) -> list[Record]:
        """All records, in order of execution."""
        return list(self._each_record())

    @property
    def facts(self) -> list[dict[str, object]]:
        """Execution details of each run: device; on a GPU also grid, block, registers, launches."""
        return [dict(run.facts) for run in self._runs]

    @property
    def total_ms(self) -> float:
        """Total time of all recorded phases, in milliseconds."""
        return sum(int(run.rows["ns"].sum()) for run in self._runs) / 1e6

    @property
    def dropped(self) -> int:
        """Number of records lost because a run had more phases than the ring buffer holds."""
        return sum(run.dropped for run in self._runs)

    def _each_record(self) -> Iterator[Record]:
        for run, place in zip(self._runs, _places(self._runs), strict=True):
            for row, share in zip(run.rows.tolist(), place.shares.tolist(), strict=True):
                step, phase, direction, frontier, edges, ns, rebuilt = row
                yield Record(
                    run=run.name,
                    call=place.call,
                    step=place.step + step,
                    phase=place.phase + phase,
                    direction=DIRECTIONS[direction],
                    frontier=frontier,
                    edges=edges,
                    # Phases shorter than the clock's resolution count as 1 ns: no division by 0.
                    edges_per_second=edges * 1e9 / max(ns, 1),
                    ms=ns / 1e6,
                    config=run.config,
                    visited_share=share,
                    arcs_share=edges / run.arcs if run.arcs else float("nan"),
                    **_execution(run, DIRECTIONS[direction], bool(rebuilt)),
                )

    def table(self, max_rows: int | None = _PRINTED_ROWS) -> Table:
        """Return the records as a rich table.

        Parameters
        ----------
        max_rows : int or None
            Maximum number of rows: longer profiles show the first and last ones. None shows all.
        """
        from rich.table import Table

        records = self.records
        total = Record("", 0, 0, 0, "", 0, sum(r.edges for r in records), 0.0, self.total_ms, {})
        speed = total.edges * 1e3 / total.ms if total.ms else 0.0
        table = Table(title=self._title(records), caption=self._caption(), show_footer=True)
        for name, footer in (
            ("run", "total"),
            ("step", ""),
            ("phase", ""),
            ("direction", ""),
            ("frontier", ""),
            ("edges", f"{total.edges:,}"),
            ("M edges/s", f"{speed / 1e6:,.1f}"),
            ("ms", f"{total.ms:,.3f}"),
        ):
            text = name in ("run", "direction")
            table.add_column(
                name, footer, justify="left" if text else "right", overflow="fold", no_wrap=not text
            )

        head, hidden, tail = _split(records, max_rows)
        for record in head:
            table.add_row(*_cells(record))
        if hidden:
            table.add_row(f"... {len(hidden):,} more", *[""] * 7)
        for record in tail:
            table.add_row(*_cells(record))
        return table

    def _title(self, records: list[Record]) -> str:
        steps = len({(r.call, r.step) for r in records})
        return f"{_counted(len(self._runs), 'run')}, {_counted(steps, 'superstep')}"

    def _caption(self) -> str | None:
        lines = []
        for part in ("facts", "config"):
            each = [getattr(run, part) for run in self._runs]
            shared = [(k, v) for k, v in (each[0].items() if each else ()) if _all_have(each, k, v)]
            lines.append(", ".join(f"{key}={value}" for key, value in shared))
        if self.dropped:
            lines.append(f"{_counted(self.dropped, 'earlier record')} not kept")
        return "\n".join(line for line in lines if line) or None

    def __rich__(self) -> Table:
        return self.table()

    def __str__(self) -> str:
        from rich.console import Console

        console = Console(file=io.StringIO(), width=_PRINTED_WIDTH, color_system=None)
        with console.capture() as capture:
            console.print(self.table())
        return capture.get().rstrip("\n")

    def _repr_html_(self) -> str:
        records = self.records
        head, hidden, tail = _split(records, _PRINTED_ROWS)
        rows = [_cells(record) for record in head]
        rows += [(f"... {len(hidden):,} more", *[""] * 7)] if hidden else []
        rows += [_cells(record) for record in tail]
        title = f"Profile: {self._title(records)}, {self.total_ms:,.3f} ms"
        numbers = (1, 2, 4, 5, 6, 7)
        return table_html(title, rows, _HEADER, self._caption() or "", right=numbers)

    def __repr__(self) -> str:
        rows = sum(len(run.rows) for run in self._runs)
        return (
            f"<Profile: {_counted(len(self._runs), 'run')}, {_counted(rows, 'record')}, "
            f"{self.total_ms:.3f} ms>"
        )

    def to_json(self, path: str | Path | None = None) -> str:
        """Return the profile as JSON, and write it to `path` if given."""
        runs: list[dict[str, Any]] = [
            {
                "run": run.name,
                "facts": run.facts,
                "config": run.config,
                "dropped": run.dropped,
                "records": [],
            }
            for run in self._runs
        ]
        for record in self._each_record():
            runs[record.call]["records"].append(
                {
                    "step": record.step,
                    "phase": record.phase,
                    "direction": record.direction,
                    "frontier": record.frontier,
                    "edges": record.edges,
                    "edges_per_second": record.edges_per_second,
                    "ms": record.ms,
                    "visited_share": _known(record.visited_share),
                    "arcs_share": _known(record.arcs_share),
                    "filter": record.filter,
                    "schedule": record.schedule,
                    "width": record.width,
                    "dedup": record.dedup,
                }
            )
        text = json.dumps({"total_ms": self.total_ms, "runs": runs}, indent=2, default=_plain)
        if path is not None:
            Path(path).write_text(text + "\n", encoding="utf-8")
        return text

    def plot(self, what: str | Path | None = None, path: str | Path | None = None) -> Figure:
        """Plot the supersteps, coloured by direction.

        Parameters
        ----------
        what : {"steps", "mteps"}, str or Path, optional
            "steps" (the default): frontier size, edges and milliseconds. "mteps": millions of edges
            visited per second, and the share of the vertices visited so far. Anything else is taken
            for `path`.
        path : str or Path, optional
            File to write; the suffix selects the image format (`.png`, `.svg`, `.pdf`).

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        WeftError
            If matplotlib is not installed.
        """
        try:
            from matplotlib.figure import Figure
        except ImportError as error:
            raise WeftError(
                "Profile.plot() needs matplotlib, which is not installed. Install it with the "
                "extra 'viz': pip install 'weft[viz]'. Profile.table() works without it."
            ) from error

        if what is not None and what not in _PANELS:
            what, path = "steps", what
        quantities = _PANELS[str(what or "steps")]
        steps = _per_superstep(self.records)
        figure = Figure(figsize=(9, 1 + 2 * len(quantities)), layout="constrained")
        panels = figure.subplots(len(quantities), 1, sharex=True)
        for axes, quantity in zip(panels, quantities, strict=True):
            _draw(axes, steps, quantity)
        panels[-1].set_xlabel("superstep")
        if steps:
            panels[0].legend(loc="upper right", frameon=False)
        figure.suptitle(f"{self._title(self.records)}, {self.total_ms:,.2f} ms")
        if path is not None:
            figure.savefig(path)
        return figure


def _draw(axes: Any, steps: list[_Superstep], quantity: str) -> None:
    """Draw one quantity of all supersteps."""
    axes.plot([getattr(s, quantity) for s in steps], color="#cbd5e1", zorder=1)
    for direction, colour in _COLOURS.items():
        at = [i for i, s in enumerate(steps) if s.direction == direction]
        if at:
            values = [getattr(steps[i], quantity) for i in at]
            axes.scatter(at, values, s=14, color=colour, label=direction, zorder=2)
    for i in range(1, len(steps)):
        if steps[i].call != steps[i - 1].call:
            axes.axvline(i - 0.5, color="#94a3b8", linewidth=0.8, linestyle=":")
    axes.set_ylabel(_LABELS.get(quantity, quantity))
    axes.set_ylim(bottom=0)


def _places(runs: list[_Run]) -> Iterator[_Place]:
    """Yield the position of each run's records; operators continue where earlier ones ended."""
    latest: dict[int, tuple[_Run, _Place]] = {}
    for call, run in enumerate(runs):
        place = _Place(call, 0, 0, _visited_shares(run))
        if run.turn is not None:
            owner, iteration = run.turn
            before, last = latest.get(id(owner), (None, place))
            if before is not None and before.turn is not None and before.turn[1] <= iteration:
                again = before.turn[1] == iteration
                phase = last.phase + len(before.rows) if again else 0
                visited = last.shares[-1] if len(last.shares) else 0.0
                shares = np.minimum(visited + (0.0 if again else place.shares), 1.0)
                shares = np.broadcast_to(shares, place.shares.shape)
                place = _Place(last.call, iteration, phase, shares)
            latest[id(owner)] = run, place
        yield place


def _known(share: float) -> float | None:
    return None if isnan(share) else share


def _visited_shares(run: _Run) -> np.ndarray:
    """Return the share of vertices that had been in a frontier by each record of a run."""
    if not run.vertices:
        return np.full(len(run.rows), np.nan)
    begins = np.diff(run.rows["step"], prepend=-1) != 0
    total = np.cumsum(np.where(begins, run.rows["frontier"], 0))
    return np.minimum(total / run.vertices, 1.0)


def _execution(run: _Run, direction: str, rebuilt: bool) -> dict[str, str]:
    """Return the filter, schedule and width with which a phase of a run was executed."""
    on_host = "threads" in run.facts
    chosen = run.config.get("schedule")
    if isinstance(chosen, Mapping):
        chosen = chosen.get(direction)
    told = str(run.facts.get(direction, run.facts.get("gather", "")))
    side, left = told.partition("/")[0], told.rpartition("->")[2]
    how = str(run.facts.get("compaction") or ("online" if on_host else ""))
    if how == "jit":
        how = "ballot" if rebuilt else "online"
    default = "vertex" if on_host else ""
    width = f"{run.facts['threads']} threads" if on_host else str(run.config.get("width", ""))
    dedup = run.facts.get("dedup") or run.config.get("dedup")
    return {
        "filter": left if left in ("bitmap", "bytemap") else how,
        "schedule": side or str(chosen or default),
        "width": width,
        "dedup": str(dedup or ("exact" if on_host else "")),
    }


stack: ContextVar[tuple[Profile, ...]] = ContextVar("weft_open_profiles", default=())


def profile() -> Profile:
    """Record the supersteps of every run inside a `with` block.

    Runs started from the same thread (or asyncio task) as the block are recorded. Blocks may be
    nested: an outer profile also holds what the inner ones recorded.

    Returns
    -------
    Profile
        Prints as a table; see also `p.records`, `p.plot()` and `p.to_json()`.

    Examples
    --------
    >>> import weft
    >>> g = weft.generators.path(4)
    >>> with weft.profile() as p:
    ...     level, parent = weft.bfs(g, 0)
    >>> p.records[0].frontier
    1
    """
    return Profile()


class _Superstep(NamedTuple):
    """Totals over the phases of one superstep."""

    call: int
    direction: str
    frontier: int
    edges: int
    ms: float
    visited_share: float

    @property
    def mteps(self) -> float:
        """Millions of edges visited per second."""
        return self.edges / max(self.ms, 1e-6) / 1e3


def _per_superstep(records: list[Record]) -> list[_Superstep]:
    """Combine the phases of each superstep; the phase with most edges gives the direction."""
    groups: dict[tuple[int, int], list[Record]] = {}
    for record in records:
        groups.setdefault((record.call, record.step), []).append(record)
    return [
        _Superstep(
            call,
            max(phases, key=lambda record: record.edges).direction,
            max(record.frontier for record in phases),
            sum(record.edges for record in phases),
            sum(record.ms for record in phases),
            phases[-1].visited_share,
        )
        for (call, _), phases in groups.items()
    ]


def _all_have(dicts: list[dict[str, object]], key: str, value: object) -> bool:
    return all(key in one and one[key] == value for one in dicts)


def _split(
    records: list[Record], max_rows: int | None
) -> tuple[list[Record], list[Record], list[Record]]:
    """Split the records into the first ones, the omitted ones, and the last ones."""
    if max_rows is None or len(records) <= max_rows:
        return records, [], []
    first = (max_rows + 1) // 2
    last = len(records) - max_rows // 2
    return records[:first], records[first:last], records[last:]


def _cells(record: Record) -> tuple[str, ...]:
    return (
        record.run,
        str(record.step),
        str(record.phase),
        record.direction,
        f"{record.frontier:,}",
        f"{record.edges:,}",
        f"{record.edges_per_second / 1e6:,.1f}",
        f"{record.ms:,.3f}",
    )


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _plain(value: object) -> object:
    """Convert a value that JSON cannot encode."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    return str(value)
