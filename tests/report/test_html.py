"""HTML for notebooks: complete, escaped, well-formed, and it changes nothing."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pytest

import fake_cupy
import weft
from weft.report.html import few, table_html

EVIL = "<script>alert('x & y')</script>"


class Checker(HTMLParser):
    """Reads HTML, and finds tags that are not closed."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.text = [], [], []

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def read(html: str) -> list[str]:
    checker = Checker()
    checker.feed(html)
    checker.close()
    assert not checker.open
    assert set(checker.tags) <= {
        "div",
        "strong",
        "small",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
    }
    return checker.text


def test_text_is_escaped():
    html = table_html(EVIL, [(EVIL, EVIL)], (EVIL, EVIL), f"{EVIL}\nsecond")
    assert "<script" not in html
    assert read(html) == [EVIL] * 6 + ["second"]


def test_graphs():
    g = weft.Graph.from_edges([EVIL, "b"], ["b", "c"], [1.0, 2.0])
    g.vertex["vec"] = np.zeros((3, 2))
    before = g.memory_bytes
    text = read(g._repr_html_())
    assert text[:3] == ["Graph", "vertices", "3"]
    assert "2 directed" in text
    assert f"{EVIL}, b, c" in text
    assert "vec: float64[2]" in text
    assert "weight: float64" in text
    assert g.memory_bytes == before
    plain = read(weft.generators.path(2000)._repr_html_())
    assert "2,000" in plain
    assert "labels" not in plain
    assert read(weft.Graph.from_edges([], [])._repr_html_())


def test_states():
    g = weft.generators.path(9)
    text = read(g.state(level=weft.full(-1), error=weft.scalar(0.25))._repr_html_())
    assert text == [
        "State", "name", "type", "length", "values",
        "level", "int64", "9", "-1, -1, -1, -1, -1, ...",
        "error", "float64", "0.25",
    ]  # fmt: skip
    assert read(g.state()._repr_html_())[0] == "State"


def test_results():
    g = weft.generators.path(3)
    text = read(weft.bfs(g, 0)._repr_html_())
    assert text[0] == "BFS"
    assert "0, 1, 2" in text
    assert read(weft.sssp(g, 0)._repr_html_())[0] == "SSSP"
    state = g.state(x=weft.full(0))

    @weft.vertex
    def step(v):
        v.x = v.x + 1

    run = g.iterate(step, state, max_iter=2)
    assert read(run._repr_html_())[:2] == ["Run", "supersteps"]


def test_profiles():
    g = weft.generators.path(200)
    with weft.profile() as p:
        weft.bfs(g, 0)
    text = read(p._repr_html_())
    assert text[0].startswith("Profile: 1 run, ")
    assert "M edges/s" in text
    assert any(" more" in part for part in text)
    assert read(weft.profile()._repr_html_())[0].startswith("Profile: 0 runs")


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([], ""),
        (["a", None, "x" * 80], f"a, None, {'x' * 57}..."),
        ([[1, 2], [3, 4]], "[1, 2], [3, 4]"),
        ([True, False], "True, False"),
        ([1 / 3, np.inf, np.nan], "0.333333, inf, nan"),
    ],
)
def test_few(values, text):
    assert few(np.array(values)) == text


def test_arrays_on_a_gpu(monkeypatch):
    with fake_cupy.installed(monkeypatch):
        g = weft.generators.path(9).to("cuda")
        assert "cuda" in read(g._repr_html_())
        assert "0, 0, 0, 0, 0, ..." in read(g.state(x=weft.full(0))._repr_html_())
        assert max(fake_cupy.READS, default=0) <= 5
