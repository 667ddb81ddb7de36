"""An HTML page: steps of the unit on a small round, bars of the phases, a Gantt chart of warps."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from typing import Any

from weft.report.html import page_html, page_table
from weft.weaver.core import Core, Round, rows_of
from weft.weaver.machine import Counters
from weft.weaver.stream import Phase
from weft.weaver.timeline import spans
from weft.weaver.unit import Inputs, Outputs, Parameters, Unit

COLOURS = ("#94a3b8", "#7c3aed", "#2563eb", "#f59e0b", "#16a34a")  # by phase
MOST_SPANS = 6000
WIDTH, BAR = 900, 9  # pixels


class Watched(Unit):
    """A unit that keeps what its tables held in each cycle."""

    def __init__(self, parameters: Parameters) -> None:
        super().__init__(parameters)
        self.frames: list[dict[str, Any]] = []

    def tick(self, given: Inputs) -> Outputs:
        """Save the registers, then advance."""
        out = super().tick(given)
        answer = "" if out.answer is None else f"warp {out.answer[0]}: "
        if out.answer is not None:
            mask, vids = out.answer[1:]
            answer += " ".join(map(str, vids[: mask.bit_count()])) or "-1"
        self.frames.append({
            "state": out.state.name, "queue": list(self.queue),
            "ced": [self.vid, self.loc, self.deg],
            "od": [list(pair) for pair in self.out[: self.fill]], "answer": answer,
        })  # fmt: skip
        return out


def unit_frames(rows: Sequence[tuple[int, int, int]], lanes: int = 4) -> list[dict[str, Any]]:
    """Return the state of a unit of a few lanes in each cycle of a round over rows."""
    entries = -(-max(1, len(rows)) // lanes) * lanes
    p = Parameters(lanes=lanes, warps=max(2, entries // lanes), entries=entries, latency=2)
    unit = Watched(p)
    core = Core(unit)
    core.play(Round(rows_of(p, rows), [1, 0]))
    dense: dict[int, list[int]] = {}
    table = [list(row) for row in rows]
    for frame in unit.frames:
        frame["st"] = table
    # DT as the memory holds it at the end of the cycle in which an answer went out.
    for frame, (out, eids) in zip(unit.frames, _dense_rows(unit, core), strict=True):
        if out is not None:
            dense = {**dense, out: eids}
        frame["dt"] = {str(warp): eids for warp, eids in dense.items()}
    return unit.frames


def _dense_rows(unit: Watched, core: Core) -> list[tuple[int | None, list[int]]]:
    """Return, for each cycle, the row of DT that was written: its warp and its EIDs."""
    found: list[tuple[int | None, list[int]]] = []
    before: list[list[int]] = []
    for frame in unit.frames:
        answer = frame["answer"]
        if answer and not answer.endswith("-1"):
            warp = int(answer.split()[1].rstrip(":"))
            found.append((warp, [eid for _, eid in before]))
        else:
            found.append((None, []))
        before = frame["od"] or before
    return found


SCRIPT = """
const frames = FRAMES; let at = 0;
function show() {
  const f = frames[at];
  const cells = (rows, names) => '<table><tr>' + names.map(n => '<th>' + n + '</th>').join('') +
    '</tr>' + rows.map(r => '<tr>' + r.map(x => '<td>' + x + '</td>').join('') + '</tr>').join('') +
    '</table>';
  document.getElementById('cycle').textContent = 'cycle ' + at + ' of ' + (frames.length - 1) +
    ', state ' + f.state + (f.answer ? ', answers ' + f.answer : '');
  document.getElementById('st').innerHTML = cells(f.st.map(
    r => r[0] === f.ced[0] && f.state !== 'S0' ? r.map(x => '<b>' + x + '</b>') : r),
    ['VID', 'loc', 'deg']);
  document.getElementById('ced').innerHTML = cells([f.ced], ['VID', 'next loc', 'left']);
  document.getElementById('od').innerHTML = cells(f.od, ['VID', 'EID']);
  document.getElementById('dt').innerHTML = cells(
    Object.entries(f.dt).map(([w, e]) => [w, e.join(' ')]), ['warp', 'EIDs']);
  document.getElementById('queue').textContent = 'waiting warps: ' + (f.queue.join(', ') || 'none');
  document.getElementById('slide').value = at;
}
function go(step) { at = Math.max(0, Math.min(frames.length - 1, at + step)); show(); }
document.getElementById('slide').max = frames.length - 1;
document.getElementById('slide').oninput = e => { at = +e.target.value; show(); };
document.onkeydown = e => { if (e.key === 'ArrowRight') go(1); if (e.key === 'ArrowLeft') go(-1); };
show();
"""


def step_view(rows: Sequence[tuple[int, int, int]]) -> str:
    """Return the step view of a round as HTML with a script."""
    tables = "".join(
        f'<figure><figcaption>{title}</figcaption><div id="{name}"></div></figure>'
        for name, title in (
            ("st", "Sparse table ST"), ("ced", "Current entry"), ("od", "Output OD"),
            ("dt", "Dense table DT"),
        )
    )  # fmt: skip
    frames = json.dumps(unit_frames(rows)).replace("</", "<\\/")
    return (
        '<p><button onclick="go(-1)">back</button> <button onclick="go(1)">next</button> '
        '<input type="range" id="slide" min="0" value="0" style="width:60%"> '
        f'<strong id="cycle"></strong></p><p id="queue"></p><div class="pair">{tables}</div>'
        f"<script>{SCRIPT.replace('FRAMES', frames)}</script>"
    )


def legend() -> str:
    """Return the colours of the phases."""
    return "".join(
        f'<span style="color:{COLOURS[phase]}">■</span> {phase.name.lower()} ' for phase in Phase
    )


def phase_bars(runs: dict[str, Counters]) -> str:
    """Return a bar for each run, divided by phase, on one scale of cycles."""
    longest = max(1, *(run.cycles for run in runs.values()))
    lines = []
    for name, run in runs.items():
        parts = "".join(
            f'<i title="{phase}: {cycles:.0f} cycles" style="display:inline-block;height:1.2em;'
            f'background:{COLOURS[k]};width:{100 * cycles / longest:.2f}%"></i>'
            for k, (phase, cycles) in enumerate(run.phase_cycles().items())
        )
        lines.append(f"<p>{escape(name)}: {run.cycles} cycles<br>{parts}</p>")
    return f"<p>{legend()}</p>{''.join(lines)}"


def gantt(counters: Counters, core: int = 0) -> str:
    """Return the warps of a core over time as a chart."""
    found = [span for span in spans(counters) if span[0] == core][:MOST_SPANS]
    if not found:
        return ""
    last = max(end for _, _, _, end, _ in found)
    warps = 1 + max(warp for _, warp, *_ in found)
    marks = "".join(
        f'<rect x="{WIDTH * begin / last:.2f}" y="{warp * BAR}" height="{BAR - 2}" '
        f'width="{max(0.4, WIDTH * (end - begin) / last):.2f}" fill="{COLOURS[phase]}"/>'
        for _, warp, begin, end, phase in found
    )
    return (
        f"<p>{legend()}Core {core}, {last} cycles from left to right, a line for each warp.</p>"
        f'<svg viewBox="0 0 {WIDTH} {warps * BAR}" role="img" width="100%" '
        f'aria-label="Gantt chart of warps">{marks}</svg>'
    )


def page(title: str, rows: Sequence[tuple[int, int, int]], runs: dict[str, Counters]) -> str:
    """Return a page about runs of one algorithm under several schedules.

    Parameters
    ----------
    title
        The title.
    rows
        A few rows (VID, location, degree) for the step view.
    runs
        The counters of each schedule; those with a trace get a Gantt chart.
    """
    sections = [("The unit, step by step", step_view(rows))] if rows else []
    sections.append(("Cycles by phase", phase_bars(runs)))
    sections += [(f"Warps under {name}", gantt(run)) for name, run in runs.items()]
    causes = list(next(iter(runs.values())).stall_cycles())
    table = [[name, *map(str, run.stall_cycles().values())] for name, run in runs.items()]
    sections.append(("Cycles that warps wait, by cause",
                     page_table(["schedule", *causes], table, text=[0])))  # fmt: skip
    return page_html(title, "<p>From the cycle model of weft.weaver.</p>", sections)
