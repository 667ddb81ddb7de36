"""Profiles: what they record, nesting, and output formats."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import weft
from weft.engine.profile import RECORD, Profile, profile, stack
from weft.errors import WeftError

SOURCE = Path(__file__).parents[2] / "src"
CONFIG = {"direction": "auto", "threads": 2}


def rows(*records):
    return np.array([(*record, 0)[:7] for record in records], RECORD)


@pytest.fixture
def two_runs():
    """A BFS of three supersteps and a vertex step."""
    p = Profile()
    p.add(
        "bfs",
        CONFIG,
        rows(
            (0, 0, 0, 1, 10, 1_000_000),
            (1, 0, 1, 10, 500, 2_000_000),
            (2, 0, 0, 3, 4, 500_000),
        ),
    )
    p.add("scale", CONFIG, rows((0, 0, 2, 100, 0, 250_000)))
    return p


def test_records_carry_names_and_units(two_runs):
    first, second, *_, last = two_runs.records
    assert (first.run, first.call, first.step, first.phase) == ("bfs", 0, 0, 0)
    assert (first.direction, second.direction, last.direction) == ("push", "pull", "vertex")
    assert (second.frontier, second.edges, second.ms) == (10, 500, 2.0)
    assert second.edges_per_second == pytest.approx(250_000)
    assert last.call == 1
    assert last.config == CONFIG
    assert two_runs.total_ms == pytest.approx(3.75)


def test_records_are_plain_python_numbers(two_runs):
    record = two_runs.records[0]
    assert type(record.step) is int
    assert type(record.edges) is int
    assert type(record.ms) is float


def test_add_copies_a_buffer_that_is_reused():
    p = Profile()
    buffer = rows((0, 0, 0, 1, 10, 1000))
    config = dict(CONFIG)
    p.add("bfs", config, buffer)
    buffer["edges"] = 99
    config["threads"] = 99
    assert p.records[0].edges == 10
    assert p.records[0].config["threads"] == 2


def test_a_clock_that_stood_still_gives_a_finite_speed():
    p = Profile()
    p.add("bfs", {}, rows((0, 0, 0, 1, 10, 0), (1, 0, 0, 0, 0, 0)))
    assert [r.edges_per_second for r in p.records] == [1e10, 0.0]
    json.loads(p.to_json(), parse_constant=pytest.fail)


def test_no_profile_is_active_outside_a_block():
    assert stack.get() == ()
    with profile() as p:
        assert stack.get() == (p,)
    assert stack.get() == ()


def test_the_block_ends_when_it_raises():
    with pytest.raises(KeyError), profile():
        raise KeyError
    assert stack.get() == ()


def test_an_outer_profile_also_sees_what_the_inner_one_records():
    with profile() as outer:
        stack.get()[-1].add("first", {}, rows((0, 0, 0, 1, 1, 1)))
        with profile() as inner:
            stack.get()[-1].add("second", {}, rows((0, 0, 0, 1, 1, 1)))
        stack.get()[-1].add("third", {}, rows((0, 0, 0, 1, 1, 1)))
    assert [r.run for r in inner.records] == ["second"]
    assert [r.run for r in outer.records] == ["first", "second", "third"]


def test_a_profile_can_be_opened_again_but_not_inside_itself():
    p = profile()
    for _ in range(2):
        with p:
            stack.get()[-1].add("bfs", {}, rows((0, 0, 0, 1, 1, 1)))
    assert [r.call for r in p.records] == [0, 1]
    with p:
        with pytest.raises(WeftError, match="already recording"), p:
            pass
        assert stack.get() == (p,)


def test_tasks_record_apart():
    async def work(name):
        with profile() as p:
            await asyncio.sleep(0)
            stack.get()[-1].add(name, {}, rows((0, 0, 0, 1, 1, 1)))
            await asyncio.sleep(0)
        return [r.run for r in p.records]

    async def both():
        return await asyncio.gather(work("a"), work("b"))

    assert asyncio.run(both()) == [["a"], ["b"]]


def test_str_is_a_readable_table(two_runs):
    text = str(two_runs)
    assert "2 runs, 4 supersteps" in text
    for word in ("direction", "frontier", "M edges/s", "pull", "vertex", "500", "2.000", "3.750"):
        assert word in text
    assert "direction=auto, threads=2" in text
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 100


def test_rich_prints_the_same_table(two_runs, capsys):
    from rich.console import Console

    Console(width=100, color_system=None).print(two_runs)
    assert capsys.readouterr().out.strip() == str(two_runs).strip()


def test_repr_is_short(two_runs):
    assert repr(two_runs) == "<Profile: 2 runs, 4 records, 3.750 ms>"


def test_a_long_profile_shows_its_ends():
    p = Profile()
    p.add("bfs", {}, rows(*((i, 0, 0, i, i, 1000) for i in range(1000))))
    assert p.table().row_count == 41
    assert p.table(max_rows=5).row_count == 6
    assert p.table(max_rows=None).row_count == 1000
    assert "... 960 more" in str(p)
    assert "999" in str(p)


def test_an_empty_profile_has_every_form():
    p = Profile()
    assert p.records == []
    assert p.total_ms == 0
    assert "0 runs, 0 supersteps" in str(p)
    assert json.loads(p.to_json()) == {"total_ms": 0.0, "runs": []}


def test_dropped_records_are_told():
    p = Profile()
    p.add("bfs", {}, rows((7, 0, 0, 1, 1, 1)), dropped=7)
    assert p.dropped == 7
    assert "7 earlier records not kept" in str(p)


def test_json_holds_all_numbers(two_runs, tmp_path):
    path = tmp_path / "profile.json"
    data = json.loads(two_runs.to_json(path))
    assert json.loads(path.read_text()) == data
    assert [run["run"] for run in data["runs"]] == ["bfs", "scale"]
    assert data["runs"][0]["config"] == CONFIG
    assert data["runs"][0]["records"][1] == {
        "step": 1,
        "phase": 0,
        "direction": "pull",
        "frontier": 10,
        "edges": 500,
        "edges_per_second": 250_000.0,
        "ms": 2.0,
        "visited_share": None,
        "arcs_share": None,
        "filter": "",
        "schedule": "",
        "width": "",
        "dedup": "",
    }


def test_the_heading_tells_how_runs_were_carried_out():
    p = Profile()
    gpu = {"device": "NVIDIA H200", "grid": 528, "block": 256, "registers": 60}
    p.add("bfs", CONFIG, rows((0, 0, 0, 1, 1, 1)), facts={**gpu, "launches": 2})
    p.add("bfs", CONFIG, rows((0, 0, 0, 1, 1, 1)), facts={**gpu, "launches": 9})
    text = str(p)
    assert "device=NVIDIA H200, grid=528, block=256, registers=60" in text
    assert "launches" not in text, "the runs differ in it"
    assert [facts["launches"] for facts in p.facts] == [2, 9]
    assert json.loads(p.to_json())["runs"][1]["facts"] == {**gpu, "launches": 9}


def test_an_outer_profile_gets_the_facts_too():
    with profile() as outer, profile():
        stack.get()[-1].add("bfs", {}, rows(), facts={"device": "cpu"})
    assert outer.facts == [{"device": "cpu"}]


def test_json_takes_any_config_value():
    p = Profile()
    config = {"lanes": np.int64(4), "passes_off": frozenset({"b", "a"}), "dtype": np.dtype("f4")}
    p.add("bfs", config, rows())
    assert json.loads(p.to_json())["runs"][0]["config"] == {
        "lanes": 4,
        "passes_off": ["a", "b"],
        "dtype": "float32",
    }


def test_plot_has_a_panel_for_each_quantity(two_runs, tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "profile.svg"
    figure = two_runs.plot(path)
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert labels == ["frontier (vertices)", "edges", "ms"]
    assert list(figure.axes[2].lines[0].get_ydata()) == [1.0, 2.0, 0.5, 0.25]
    assert path.read_text().lstrip().startswith("<?xml")


def test_plot_adds_up_the_phases_of_a_superstep():
    pytest.importorskip("matplotlib")
    p = Profile()
    p.add("pr", {}, rows((0, 0, 1, 8, 20, 1_000_000), (0, 1, 2, 5, 0, 500_000)))
    frontier, edges, ms = (list(axes.lines[0].get_ydata()) for axes in p.plot().axes)
    assert (frontier, edges, ms) == ([8], [20], [1.5])


def test_plot_of_nothing_is_an_empty_figure():
    pytest.importorskip("matplotlib")
    assert len(Profile().plot().axes) == 3


def test_plot_without_matplotlib_names_the_extra(two_runs, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(WeftError, match=r"not installed.*'weft\[viz\]'"):
        two_runs.plot()


def test_the_module_imports_nothing_heavy():
    code = (
        f"import sys; sys.path.insert(0, {str(SOURCE)!r})\n"
        "import weft.engine.profile\n"
        "print(*{'rich', 'matplotlib', 'numba', 'scipy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_records_tell_what_was_visited_and_how(two_runs):
    assert all(np.isnan(r.visited_share) for r in two_runs.records)
    p = Profile()
    facts = {"device": "cpu", "threads": 2}
    p.add("bfs", {"schedule": "merge"}, rows((0, 0, 0, 1, 1, 9), (1, 0, 0, 3, 9, 9),
          (1, 1, 2, 3, 0, 9), (2, 0, 1, 8, 4, 9)), 0, facts, (10, 20))  # fmt: skip
    assert [r.visited_share for r in p.records] == [0.1, 0.4, 0.4, 1.0]
    last = p.records[-1]
    assert last.arcs_share == 4 / 20
    assert (last.filter, last.schedule, last.width) == ("online", "merge", "2 threads")
    assert last.dedup == "exact"
    gpu = {"push": "twc/csr queue->bitmap", "pull": "vertex/csr bitmap->bitmap", "dedup": "warp"}
    p.add("bfs", {"width": "block"}, rows((0, 0, 0, 1, 1, 9), (1, 0, 1, 3, 9, 9)), 0, gpu, (10, 20))
    push, pull = p.records[-2:]
    assert (push.schedule, pull.schedule) == ("twc", "vertex")
    assert (push.filter, push.dedup, push.width) == ("bitmap", "warp", "block")
    jit = {"push": "twc/csr queue->queue", "compaction": "jit"}
    p.add("bfs", {}, rows((0, 0, 0, 1, 1, 9), (1, 0, 0, 3, 9, 9, 1)), 0, jit, (10, 20))
    assert [record.filter for record in p.records[-2:]] == ["online", "ballot"]
    told = json.loads(p.to_json())["runs"][0]["records"][1]
    assert (told["visited_share"], told["schedule"]) == (0.4, "merge")
    assert json.loads(two_runs.to_json())["runs"][0]["records"][0]["visited_share"] is None


def test_plot_of_speed_and_visited_share(tmp_path):
    pytest.importorskip("matplotlib")
    p = Profile()
    p.add("bfs", CONFIG, rows((0, 0, 0, 1, 4000, 1_000_000), (1, 0, 1, 3, 9, 9)), 0, {}, (10, 20))
    path = tmp_path / "speed.svg"
    figure = p.plot("mteps", path)
    speed, visited = figure.axes
    assert path.stat().st_size > 0
    assert speed.lines[0].get_ydata()[0] == pytest.approx(4.0)
    assert visited.lines[0].get_ydata().tolist() == [0.1, 0.4]
    assert speed.get_ylabel() == "M edges/s"
    assert len(p.plot("steps").axes) == 3


def test_the_filter_of_each_superstep_is_told():
    g = weft.generators.rmat(8, 8, seed=1).to("emulated")
    config = {"direction": "push", "schedule": "warp"}
    found = {}
    for compaction in ("online", "ballot", "jit"):
        with profile() as p:
            weft.bfs(g, 0, config=weft.Config(**config, compaction=compaction, bin_size=1))
        found[compaction] = [record.filter for record in p.records]
    assert set(found["online"]) == {"online"} and set(found["ballot"]) == {"ballot"}
    assert set(found["jit"]) == {"online", "ballot"} and found["jit"][-1] == "online"
    with profile() as p:
        weft.bfs(g, 0, config=weft.Config(direction="pull", frontier_out="bytemap"))
    assert {record.filter for record in p.records} == {"bytemap"}
    with profile() as p:
        weft.bfs(g.to("cpu"), 0, config=weft.Config(compiled=True))
    assert {record.filter for record in p.records} == {"online"}
