"""What the README shows and names is true."""

import contextlib
import io
import re
from collections import deque
from functools import reduce
from pathlib import Path

import pytest

from weft.algorithms.registry import algorithms

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLE, SHOWN_OUTPUT = re.search(
    r"```python\n(import weft\n.*?)```\n\n```\n(.*?)```", README, re.DOTALL
).groups()
INCLUDED = README.split("## What is included", 1)[1].split("\n## ", 1)[0]
NAMES = sorted(set(re.findall(r"`weft\.([\w.]+)`", README)))
ALGORITHMS = set(algorithms())


def run_example():
    printed, names = io.StringIO(), {"__name__": "readme"}
    with contextlib.redirect_stdout(printed):
        exec(compile(EXAMPLE, "README.md", "exec"), names)
    return printed.getvalue(), names


def levels_by_queue(g, source):
    """Breadth-first levels by a plain queue over the graph's edges."""
    src, dst = g.to_edges()[:2]
    neighbours = {}
    for u, v in zip(src.tolist(), dst.tolist(), strict=True):
        neighbours.setdefault(u, []).append(v)
        if not g.directed:
            neighbours.setdefault(v, []).append(u)
    levels = [-1] * g.num_vertices
    levels[source] = 0
    queue = deque([source])
    while queue:
        u = queue.popleft()
        for v in neighbours.get(u, []):
            if levels[v] < 0:
                levels[v] = levels[u] + 1
                queue.append(v)
    return levels


def test_the_example_is_short():
    assert len(EXAMPLE.splitlines()) <= 15


def test_the_example_prints_what_the_readme_shows():
    printed, names = run_example()
    assert printed == SHOWN_OUTPUT
    assert names["bfs"](names["g"], 0).tolist() == levels_by_queue(names["g"], 0)


def test_the_example_works_on_other_graphs():
    import weft

    _, names = run_example()
    for g in (
        weft.generators.rmat(scale=7, edge_factor=4, seed=3),
        weft.generators.road(12, keep=0.6, seed=3),
    ):
        assert names["bfs"](g, 5).tolist() == levels_by_queue(g, 5)


def test_the_profile_block_runs(tmp_path, monkeypatch, capsys):
    _, names = run_example()
    block = re.search(r"```python\n(with weft\.profile.*?)```", README, re.DOTALL).group(1)
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "README.md", "exec"), names)
    assert "frontier" in capsys.readouterr().out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bfs.json", "bfs.png"]


def test_the_list_names_algorithms_that_exist():
    item = re.search(r"- \*\*Algorithms\*\*: (.*?)`weft run --list`", INCLUDED, re.S).group(1)
    named = set(re.findall(r"`(\w+)`", item))
    assert len(named) > 20
    assert named <= ALGORITHMS
    assert len(ALGORITHMS) >= 80 and "eighty" in item


def test_the_list_fits_a_screen():
    assert len(INCLUDED.strip().splitlines()) <= 40


def test_named_commands_exist():
    from typer.main import get_command

    from weft.cli import app

    item = re.search(r"- \*\*Command line\*\*: (.*)", INCLUDED).group(1)
    assert set(re.findall(r"`(?:weft )?(\w+)`", item)) == set(get_command(app).commands)


@pytest.mark.parametrize("page", ["README.md", "benchmarks/RESULTS.md"])
def test_links_lead_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#]+)\)", text)
    assert links
    assert [link for link in links if not (ROOT / page).parent.joinpath(link).exists()] == []


@pytest.mark.parametrize("name", NAMES)
def test_named_things_exist(name):
    import weft

    reduce(getattr, name.split("."), weft)


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_algorithms_are_functions_with_an_example(name):
    import weft

    algorithm = getattr(weft, name)
    assert callable(algorithm)
    assert ">>>" in algorithm.__doc__


def test_named_generators_exist():
    import weft

    item = INCLUDED.split("- **Generators**", 1)[1].split("\n- ", 1)[0]
    names = re.findall(r"`(\w+)`", item)
    assert len(names) > 5
    missing = [name for name in names if not callable(getattr(weft.generators, name, None))]
    assert missing == []
