"""What a format decides about the machine: the default schedule, phases that list and prepare."""

import weakref

import numpy as np
import pytest

import weft
from agreement import emulated
from oracle import make_request
from simt.test_configs import PROGRAMS, G, check, driver, spread
from small_formats import FORMATS
from weft.backends.cuda.host import options as choices
from weft.backends.cuda.host.run import compile_program
from weft.config import BySide
from weft.engine.watch import Watch, watching


def compiled(name, **choices):
    functions, fields, frontier, options = PROGRAMS[name]
    options = {"mode": "iterate", **options}
    request, _ = make_request(
        G.to("emulated"), functions, G.state(**fields), frontier,
        options=choices, **options,
    )  # fmt: skip
    return compile_program(request)[0]


def phases(name, **choices):
    return [phase for phase, _ in compiled(name, **choices).rendered.phases]


@pytest.mark.parametrize("name", ["tigr", "gshard", "cr2"])
def test_short_rows_are_taken_by_threads(name):
    options = compiled("search", format=name).options
    assert options.gather.schedule.name == options.pull.schedule.name == "vertex"
    # From a queue they come in any order: a warp shares them.
    assert options.push.schedule.name == ("vertex" if name == "gshard" else "warp")
    assert compiled("search", format=name, schedule="edge").options.push.schedule.name == "edge"
    assert compiled("search").options.push.schedule.name != "vertex"


def test_rows_of_a_queue_are_listed_where_they_are_virtual():
    assert "list_push_0_0" in phases("search", format="tigr", schedule="vertex")
    listed = phases("search", format="ell", schedule="vertex")
    assert "list_push_0_1" in listed and "list_push_0_0" not in listed
    source = compiled("search", format="ell", schedule="vertex").rendered.source
    assert "if (t.a.part_number_push_out_1_rows != 0)" in source  # else there is no rest to list
    assert not any("list" in phase for phase in phases("search", schedule="vertex"))
    # Arcs of a vertex lie anywhere in its shards: a map is asked instead.
    sharded = phases("search", format="gshard", schedule="vertex")
    assert "set_map" in sharded and not any("list" in phase for phase in sharded)


def test_messages_are_computed_ahead_for_shards():
    assert "prepare_0" in phases("ranks", format="gshard")
    assert "prepare_0" not in phases("ranks", format="block_csr")


def test_gathers_over_split_rows_keep_no_list_of_vertices():
    """Those of one row are done with it, if the format can tell; the others when all are swept."""
    told, split = (compiled("ranks", format="tigr", schedule=s) for s in ("warp", "edge"))
    assert "format.whole(v)" in told.rendered.source
    assert "format.whole(v)" not in split.rendered.source
    parts = compiled("ranks", format="cr2", schedule="warp")
    listed = compiled("ranks", schedule="strict")
    appends = ["touched.append" in c.rendered.source for c in (told, split, parts, listed)]
    assert appends == [False, False, False, True]


@pytest.mark.parametrize("name", ["ell(4)", "ell(2)", "dia(9,0)"])
def test_nothing_is_gathered_twice_where_there_is_no_rest(name):
    """Without a rest all vertices are done in the first phase, with one some are done later."""
    g = weft.generators.road(9, 0.7, seed=1)
    options = {"tol": 0, "max_iter": 3, "on_unconverged": "return"}
    got = weft.pagerank(g.to("emulated"), config=weft.Config(format=name), **options)
    assert np.allclose(got, weft.pagerank(g, **options), atol=1e-15)
    text = compiled("ranks", format=name, schedule="vertex").rendered.source
    assert "if (t.a.part_number_gather_in_1_rows != 0) {" in text


@pytest.fixture(params=["vertex", "warp", ""], ids=["by vertex", "pushed by warp", "split"])
def joining(request, monkeypatch):
    """Let rows of a vertex be walked one after another on all sides, or on none."""

    def schedule(shape, side):
        return request.param if side == "push" or not request.param else "vertex"

    monkeypatch.setattr(choices, "_chosen", weakref.WeakKeyDictionary())
    monkeypatch.setattr(choices, "joining_schedule", schedule)
    return request.param


@pytest.mark.parametrize("name", ["tigr", "cr2"])
def test_rows_of_a_vertex_are_walked_by_one_thread_or_by_many(name, joining):
    by = BySide({"push": joining, "pull": "vertex", "gather": "vertex"}) if joining else "vertex"
    for program in ("search", "paths", "minima", "ranks", "features"):
        check(program, {"format": FORMATS[name], "schedule": by})
        for direction in ("push", "pull") if program == "search" else ():
            check(program, {"format": FORMATS[name], "direction": direction, "schedule": by})
    names = phases("ranks", format=name) + phases("search", format=name)
    assert any("list" in phase for phase in names) is not bool(joining)
    assert any("gathered" in phase for phase in names) is not bool(joining)


def test_rows_are_joined_where_that_suits_the_degrees():
    def joined(g, **chosen):
        functions, fields = PROGRAMS["minima"][0], {"least": weft.full(0, int)}
        g = g.to("emulated")
        request, _ = make_request(
            g, functions, g.state(**fields), None, mode="iterate",
            options=chosen,
        )  # fmt: skip
        return [side.joined for side in compile_program(request)[0].options.sides]

    road, star = weft.generators.road(9, 0.7, seed=1), weft.generators.star(60)
    for name in ("tigr", "cr2"):
        assert joined(road, format=name) == [True, True, True]
        assert joined(star, format=name) == [False, True, False]
        assert joined(road, format=name, schedule="warp") == [True, False, False]
        assert joined(road, format=name, schedule="vertex") == [False, True, True]
        assert joined(road, format=name, schedule="row") == [False] * 3
        # A narrow push and a wide one have one visitor.
        narrow = weft.Config(schedule={"push": "warp", "narrow": "vertex"}).schedule
        assert joined(road, format=name, schedule=narrow)[0] is False
    for name in ("csr", "block_csr", "cr2_bare", "ell"):
        assert joined(road, format=name) == [False] * 3


@pytest.mark.parametrize("name", ["strict", "twc"])
def test_places_for_the_rows_of_a_queue_have_room(name):
    """One vertex has three rows and the others one: with four places each, more than there are."""
    n = 40
    rim = np.arange(1, n)
    g = weft.Graph.from_edges(np.r_[rim, [0] * 9], np.r_[rim % (n - 1) + 1, np.arange(1, 10)])
    chosen = {"schedule": name, "format": "tigr(3)", "direction": "push", "warp_degree": 1}
    fields = {"least": np.arange(n)[::-1].copy()}
    got = emulated(
        g, spread, fields, range(n - 1), choices={**chosen, "driver": driver("address", 0)},
        mode="run",
    )  # fmt: skip
    want = fields["least"].copy()
    src, dst, _ = g.to_edges()
    sends = src < n - 1
    np.minimum.at(want, dst[sends], fields["least"][src[sends]])
    np.testing.assert_array_equal(got.least, want)


def test_parameters_do_not_compile_anew():
    assert compiled("ranks", format="tigr(4)") is compiled("ranks", format="tigr(9)")
    assert compiled("ranks", format="tigr") is not compiled("ranks", format="ell")


def test_deterministic_runs_use_rows_that_are_vertices():
    options = compiled("ranks", format="gshard", deterministic=True).options
    assert {side.format.name for side in options.sides} == {"csr"}
    assert weft.Config(format="gshard", deterministic=True).format == "gshard"


@pytest.mark.parametrize("name", ["csr", "ell(3)", "dia(4,0)"])
def test_deep_searches(name):
    g = weft.generators.road(40, 0.8, seed=1).to("emulated")
    with watching(Watch(keeping=True)) as watch:
        found = weft.bfs(g, 1, config=weft.Config(format=name)).level
    (request,) = watch.requests.values()
    assert compile_program(request)[0].rendered.needs.deep
    np.testing.assert_array_equal(found, weft.bfs(g.to("cpu"), 1).level)
