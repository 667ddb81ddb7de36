"""TuningReport: the trials and the winner of a search, as text, table, page and plot."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.config import Config
from weft.engine.fingerprint import Fingerprint
from weft.engine.tuning_store import config_text
from weft.errors import WeftError
from weft.report.html import table_html
from weft.tuning.measuring import Trial
from weft.tuning.space import DEFAULT_FORMAT, Axis, Space

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table

SHOWN = 12
WIDTH = 100
SERIES = "#2563eb"


@dataclass(frozen=True)
class Effect:
    """The effect of an axis: slowest over fastest time among configurations that differ only in it.

    Attributes
    ----------
    axis
        Its name.
    ratio
        The largest such ratio; 1 if the axis made no difference.
    fastest, slowest
        The values of the axis at both ends.
    """

    axis: str
    ratio: float
    fastest: Any
    slowest: Any


@dataclass(frozen=True)
class TuningReport:
    """The trials and the winner of `weft.tune`; prints as a table of the fastest.

    Attributes
    ----------
    algorithm, device
        The names of the algorithm and the device.
    graph
        The fingerprint of the graph.
    space
        The axes, their sizes and product, and which choices are impossible and why.
    trials
        All trials in order; the default first.
    default, best, runner_up
        The default configuration, the winner and the second best, timed again in turn at the end.
    seconds
        The duration of the search.
    interrupted
        Whether Ctrl-C ended it.
    kernel
        The generated source under the winner.
    """

    algorithm: str
    graph: Fingerprint
    device: str
    space: Space
    trials: tuple[Trial, ...]
    default: Trial
    best: Trial
    runner_up: Trial | None
    seconds: float
    interrupted: bool
    kernel: str

    @property
    def config(self) -> Config:
        """The configuration that won."""
        return self.best.config

    @property
    def speedup(self) -> float:
        """The default's time over the winner's."""
        return self.default.ms / self.best.ms

    @property
    def errors(self) -> list[Trial]:
        """Trials that failed or gave a wrong result: defects, never winners."""
        return [trial for trial in self.trials if trial.status in ("wrong", "failed")]

    def ranked(self) -> list[Trial]:
        """Return the timed trials, the fastest first; equal code and launches appear once."""
        timed = [t for t in self.trials if t.is_timed and t.same_as is None]
        settled = {t.config: t for t in (self.default, self.best, self.runner_up) if t is not None}
        known = [settled.get(t.config, t) for t in timed]
        return sorted(known, key=lambda t: (t.config != self.best.config, t.ms))

    def effects(self) -> list[Effect]:
        """Return the effect of each axis, the strongest first."""
        found = [e for axis in self.space.axes if (e := self._effect(axis)) is not None]
        return sorted(found, key=lambda effect: -effect.ratio)

    def _effect(self, axis: Axis) -> Effect | None:
        groups: dict[Config, list[Trial]] = {}
        for trial in self.trials:
            if math.isfinite(trial.ms):
                groups.setdefault(axis.unset(trial.config), []).append(trial)
        best: Effect | None = None
        for group in groups.values():
            if len(group) < 2:
                continue
            fast = min(group, key=lambda t: t.ms)
            slow = max(group, key=lambda t: t.ms)
            ratio = slow.ms / fast.ms
            if best is None or ratio > best.ratio:
                best = Effect(axis.name, ratio, axis.get(fast.config), axis.get(slow.config))
        return best

    def grid(self) -> tuple[str, str, dict[tuple[str, str], float]]:
        """Return the least milliseconds by format and schedule of the most important side.

        The first two items are the names of the axes. Without a choice of formats, as on a CPU,
        directions replace them.
        """
        schedules = self.space.of_field("schedule")
        across = max(schedules, key=lambda axis: self._strength(axis.name), default=None)
        down = next(
            (a for a in self.space.of_field("format") if across and a.side == across.side),
            next(iter(self.space.of_field("direction")), None),
        )
        cells: dict[tuple[str, str], float] = {}
        for trial in self.trials:
            if across is None or not math.isfinite(trial.ms):
                continue
            row = "all" if down is None else _told(_value(down, trial.config))
            cell = (row, _told(across.get(trial.config)))
            cells[cell] = min(trial.ms, cells.get(cell, math.inf))
        return (down.name if down else "", across.name if across else "", cells)

    def _strength(self, name: str) -> float:
        return next((e.ratio for e in self.effects() if e.axis == name), 1.0)

    # -- showing

    def _title(self) -> str:
        ended = " (interrupted)" if self.interrupted else ""
        return (
            f"{self.algorithm} on {self.graph.vertices:,} vertices, {self.graph.arcs:,} arcs, "
            f"{self.device}: {len(self.trials)} configurations in {self.seconds:.1f} s{ended}"
        )

    def _summary(self) -> list[str]:
        lines = [f"best       {self.best.ms:10.3f} ms  {chosen(self.config)}"]
        if self.runner_up is not None:
            lines.append(
                f"runner-up  {self.runner_up.ms:10.3f} ms  {chosen(self.runner_up.config)}"
            )
        lines.append(
            f"default    {self.default.ms:10.3f} ms  {self.speedup:.2f} times as long as the best"
        )
        counts: dict[str, int] = {}
        for trial in self.trials:
            counts[trial.status] = counts.get(trial.status, 0) + 1
        told = ", ".join(f"{count} {status}" for status, count in counts.items())
        lines.append(f"tried      {told}, of {self.space.size:,} combinations")
        lines += [f"error      {chosen(t.config)}: {t.status}, {t.reason}" for t in self.errors]
        return lines

    def rows(self, count: int | None = SHOWN) -> list[tuple[str, str, str, str]]:
        """Return milliseconds, ratio to the best, runs and configuration of the fastest."""
        return [
            (f"{t.ms:.3f}", f"{t.ms / self.best.ms:.2f}", str(t.runs), chosen(t.config))
            for t in self.ranked()[:count]
        ]

    def table(self, count: int | None = SHOWN) -> Table:
        """Return the fastest configurations as a rich table; None shows all."""
        from rich.table import Table

        table = Table(title=self._title(), caption="\n".join(self._summary()))
        for name in ("ms", "× best", "runs", "configuration"):
            text = name == "configuration"
            table.add_column(name, justify="left" if text else "right", overflow="fold")
        for row in self.rows(count):
            table.add_row(*row)
        return table

    def __rich__(self) -> Table:
        return self.table()

    def __str__(self) -> str:
        return "\n".join([self._title(), *self._summary()])

    def __repr__(self) -> str:
        return (
            f"<TuningReport: {self.algorithm}, {len(self.trials)} configurations, best "
            f"{self.best.ms:.3f} ms, default {self.default.ms:.3f} ms>"
        )

    def _repr_html_(self) -> str:
        note = "\n".join(self._summary())
        header = ("ms", "× best", "runs", "configuration")
        return table_html(self._title(), self.rows(), header, note, right=(0, 1, 2))

    def to_text(self, count: int | None = SHOWN) -> str:
        """Return the table as plain text."""
        from rich.console import Console

        console = Console(file=io.StringIO(), width=WIDTH, color_system=None)
        with console.capture() as capture:
            console.print(self.table(count))
        return capture.get().rstrip("\n")

    def to_json(self, path: str | Path | None = None) -> str:
        """Return the report as JSON, and write it to `path` if one is given."""
        told = {
            "algorithm": self.algorithm,
            "graph": self.graph.as_dict(),
            "device": self.device,
            "seconds": self.seconds,
            "interrupted": self.interrupted,
            "combinations": self.space.size,
            "axes": {name: count for name, count, _ in self.space.rows()},
            "config": json.loads(config_text(self.config)),
            "best_ms": self.best.ms,
            "runner_up_ms": None if self.runner_up is None else self.runner_up.ms,
            "default_ms": self.default.ms,
            "trials": [
                {
                    "config": json.loads(config_text(trial.config)),
                    "status": trial.status,
                    "ms": trial.ms if math.isfinite(trial.ms) else None,
                    "runs": trial.runs,
                    "seconds": trial.seconds,
                    "reason": trial.reason,
                }
                for trial in self.trials
            ],
        }
        text = json.dumps(told, indent=2)
        if path is not None:
            Path(path).write_text(text + "\n", encoding="utf-8")
        return text

    def html(self, path: str | Path | None = None) -> str:
        """Return a self-contained HTML page, and write it to `path` if one is given.

        It holds the heat map of formats and schedules, the effects of the axes, the table of all
        trials, the space, and the generated kernel.
        """
        from weft.tuning.page import page

        text = page(self)
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    def plot(self, path: str | Path | None = None) -> Figure:
        """Plot the heat map of formats and schedules and the effects of the axes.

        Parameters
        ----------
        path : str or Path, optional
            Where to write the picture; the suffix chooses the kind (`.png`, `.svg`, `.pdf`).

        Raises
        ------
        WeftError
            matplotlib is not installed.
        """
        try:
            from matplotlib.figure import Figure
        except ImportError as error:
            raise WeftError(
                "TuningReport.plot() needs matplotlib, which is not installed. Install it with the "
                "extra 'viz': pip install 'weft[viz]'. TuningReport.html() works without it."
            ) from error

        figure = Figure(figsize=(9, 7), layout="constrained")
        upper, lower = figure.subplots(2, 1)
        down, across, cells = self.grid()
        rows, columns = axes_of(cells)
        values = [[cells.get((r, c), math.nan) for c in columns] for r in rows]
        if values:
            shown = upper.imshow(values, aspect="auto", cmap="viridis_r", norm="log")
            figure.colorbar(shown, ax=upper, label="ms")
            upper.set_xticks(range(len(columns)), columns)
            upper.set_yticks(range(len(rows)), rows)
        upper.set_xlabel(across)
        upper.set_ylabel(down)
        effects = self.effects()[:SHOWN][::-1]
        lower.barh([e.axis for e in effects], [e.ratio for e in effects], color=SERIES)
        lower.set_xlabel("slowest over fastest, all else equal")
        lower.set_xlim(left=1)
        figure.suptitle(self._title())
        if path is not None:
            figure.savefig(path)
        return figure


def axes_of(cells: dict[tuple[str, str], float]) -> tuple[Sequence[str], Sequence[str]]:
    """Return the names of the rows and columns of a grid, each with the fastest first."""

    def order(place: int) -> list[str]:
        fastest: dict[str, float] = {}
        for cell, ms in cells.items():
            fastest[cell[place]] = min(ms, fastest.get(cell[place], math.inf))
        return sorted(fastest, key=lambda name: fastest[name])

    return order(0), order(1)


def chosen(config: Config) -> str:
    """Return the choices of a configuration as text."""
    given = config.given().items()
    return ", ".join(f"{name}={_told(value)}" for name, value in given) or "the default"


def _value(axis: Axis, config: Config) -> Any:
    chosen_ = axis.get(config)
    return DEFAULT_FORMAT if axis.field == "format" and chosen_ is None else chosen_


def _told(value: Any) -> str:
    if value is None:
        return "auto"
    return "+".join(sorted(value)) if isinstance(value, frozenset) else str(value)
