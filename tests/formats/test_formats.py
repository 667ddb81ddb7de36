"""Formats: their names and parameters, what they hold, and what they refuse."""

import itertools

import numpy as np
import pytest
from hypothesis import given

import weft
from graphs import graphs
from small_formats import FORMATS
from weft.backends.layouts import ordered
from weft.cli.formats import format_facts
from weft.errors import ConfigError, DeviceMemoryError
from weft.formats import choose, formats


@given(graphs())
def test_arcs_come_back(g):
    out = g.topology.out
    owners = np.repeat(np.arange(g.num_vertices), np.diff(out.offsets))
    wanted = sorted(zip(owners.tolist(), out.targets.tolist(), strict=True))
    for text in FORMATS.values():
        for incoming in (False, True):
            layout = choose(text).build(out.offsets, out.targets, np, incoming=incoming)
            sources, targets = layout.format.to_coo(layout, out.offsets, out.targets, np)
            assert sources.dtype == targets.dtype == out.targets.dtype
            assert sorted(zip(sources.tolist(), targets.tolist(), strict=True)) == wanted, text


def test_every_format_says_what_it_takes():
    for name, format_ in formats().items():
        assert format_.title and format_.formula and format_.name == name
        assert [parameter.name for parameter in format_.parameters] == list(
            dict(choose(name).values)
        )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("cst", r"format='cst' is not known.*Did you mean 'csr'\?"),
        ("tigr(8", "has no closing parenthesis"),
        ("tigr(0)", "degree='0' is not possible. Expected an integer, 1 at least"),
        ("tigr(-3)", "degree='-3' is not possible"),
        ("tigr(many)", "degree='many' is not possible"),
        ("tigr(8,9)", "too many parameters. Expected 'degree'"),
        ("csr(1)", "too many parameters. Expected none"),
        ("tigr(size=8)", "parameter='size' is not known. Expected one of 'degree'"),
        ("tigr(4, degree=5)", r"tigr\(4, degree=5\)' gives 'degree' twice"),
        ("cr2(17)", "bits='17' is not possible. Expected an integer, 1 to 16"),
        ("ell(255)", "width='255' is not possible. Expected an integer, 0 to 254"),
        ("ell(rest=dia)", "rest='dia' is not known. Expected one of 'csr', 'coo'"),
        ("dia(fill=101)", "fill='101' is not possible. Expected an integer, 0 to 100"),
        ("block_csr(rows)", "axis='rows' is not known. Expected one of 'source', 'dest', 'both'"),
    ],
)
def test_parameters_that_are_refused(text, problem):
    with pytest.raises(ConfigError, match=problem):
        choose(text)
    with pytest.raises(ConfigError, match=problem):
        weft.bfs(weft.generators.path(3), 0, config=weft.Config(format=text))


def test_parameters_by_name_and_by_place():
    assert choose("block_coo(dest, balance=vertices)").values == (
        ("axis", "dest"), ("tiles", 0), ("balance", "vertices"),
    )  # fmt: skip
    assert choose("tigr(degree=16)") == choose("tigr(16)") != choose("tigr")


@pytest.mark.parametrize("device", ["cpu", "emulated"])
def test_a_format_that_does_not_fit_into_memory_is_named(device, monkeypatch):
    def build(*arrays, **parameters):
        raise MemoryError("Unable to allocate 99. TiB for an array")

    monkeypatch.setitem(vars(choose("block_coo").format), "build", build)
    g = weft.generators.path(9).to(device)
    with pytest.raises(DeviceMemoryError, match=r"format='block_coo\(.*16 arcs.*99. TiB.*'csr'"):
        weft.bfs(g, 0, config=weft.Config(format="block_coo"))
    assert weft.bfs(g, 0, config=weft.Config(format="csr")).level[8] == 8
    told = format_facts(weft.generators.path(9))
    assert told["block_coo"]["refused"].startswith("it does not fit into memory: Unable to")
    assert told["block_csr"]["bytes"] > 0


def built(text, g):
    out = g.topology.out
    return choose(text).build(out.offsets, out.targets, np)


def test_the_width_of_ell_comes_from_the_degrees():
    ring = weft.generators.cycle(50)
    assert built("ell", ring).facts == {"width": 2, "padding": 0, "rest": 0}
    star = weft.generators.star(50)
    assert built("ell", star).facts["width"] == 1
    assert built("ell", star).facts["rest"] == star.num_edges - 1
    with pytest.raises(ConfigError, match=r"ell\(40\).*would waste memory: 50 rows of 40"):
        built("ell(40)", ring)


def test_slices_have_widths_of_their_own():
    hub = weft.generators.star(400)  # one slice has the hub, which goes to the rest
    layout = built("ell(slice=32)", hub)
    assert layout.facts["padding"] == 16 and layout.facts["rest"] == 398
    lengths = np.repeat([1, 8, 0, 3], 32)
    offsets = np.append(0, np.cumsum(lengths))
    targets = np.zeros(offsets[-1], np.int32)
    sliced = choose("ell(slice=32)").build(offsets, targets, np)
    assert sliced.parts[0].arrays["offsets"].tolist() == [0, 32, 288, 288, 384]
    assert sliced.facts["padding"] == 0
    assert sliced.nbytes < choose("ell").build(offsets, targets, np).nbytes
    with pytest.raises(ConfigError, match=r"power of two of rows. Use slice=16, or slice=32"):
        choose("ell(slice=24)").build(offsets, targets, np)


def test_a_rest_of_coordinates_knows_its_rows():
    g = weft.generators.rmat(6, seed=1)
    rest = built("ell(2, rest=coo)", g).parts[1]
    vertices = rest.arrays["vertices"][rest.arrays["owners"]]
    assert np.array_equal(np.bincount(vertices, minlength=64), np.maximum(g.out_degree - 2, 0))
    assert "owners" not in built("ell(2)", g).parts[1].arrays


def test_diagonals_of_a_grid_take_a_bit_per_place():
    grid = weft.generators.grid(16, 16)
    layout = built("dia", grid)
    assert layout.facts["diagonals"] == 4 and layout.facts["rest"] == 0
    assert layout.nbytes < built("csr", grid).nbytes / 10
    with pytest.raises(ConfigError, match=r"'dia' would waste memory.*use format='csr'"):
        built("dia", weft.generators.rmat(8, 8, seed=1))


def test_rows_of_tigr_are_short_and_blocks_hold_their_tiles():
    g = weft.generators.rmat(7, 8, seed=2)
    degrees = np.diff(g.topology.out.offsets)
    assert built("tigr(4)", g).facts["virtual rows"] == (-(-degrees // 4)).sum()
    out = g.topology.out
    for axis, balance in (("dest", "edges"), ("source", "vertices"), ("both", "edges")):
        layout = built(f"block_csr({axis},4,{balance})", g)
        (part,) = layout.parts
        assert layout.facts["tiles"] == (16 if axis == "both" else 4)
        sections = part.arrays["sections"]
        ends = part.arrays["offsets"][sections]
        for first, last in itertools.pairwise(ends):  # targets of a tile lie together
            chosen = out.targets[layout.places()[first:last]]
            if axis != "source":
                assert np.unique(chosen).size < g.num_vertices / 2
    shards = built("gshard(32)", g).parts[0].arrays
    windows = shards["targets"] // 32
    assert (np.diff(windows) >= 0).all()
    assert all((np.diff(shards["vertices"][windows == w]) >= 0).all() for w in range(4))


@pytest.mark.parametrize("incoming", [False, True])
def test_shards_are_sorted_by_window_source_and_destination(incoming):
    g = weft.generators.rmat(7, seed=3, directed=True, duplicates="keep")
    arcs = g.topology.in_ if incoming else g.topology.out
    for window in (5, 32, 500):
        layout = choose(f"gshard({window})").make(arcs.offsets, arcs.targets, np, incoming)
        rows, others = (layout.parts[0].arrays[name] for name in ("vertices", "targets"))
        source, dest = (others, rows) if incoming else (rows, others)
        want = np.lexsort((dest, source, dest // window))
        np.testing.assert_array_equal(want, np.arange(dest.size))
        np.testing.assert_array_equal(rows, arcs.rows()[layout.places()])
        np.testing.assert_array_equal(others, arcs.targets[layout.places()])


def test_directions_of_an_undirected_graph_share_what_does_not_turn():
    for directed in (False, True):
        g = weft.generators.rmat(5, seed=1, directed=directed)
        for name, format_ in formats().items():
            if name == "dia":  # which is refused here
                continue
            out, in_ = (ordered(g.topology, choose(FORMATS[name]), way) for way in ("out", "in"))
            assert (out.layout is in_.layout) == (not directed and not format_.turns)
            arcs = g.topology.in_
            if not format_.turns:  # else they could not be shared
                both = [
                    choose(FORMATS[name]).make(arcs.offsets, arcs.targets, np, incoming)
                    for incoming in (False, True)
                ]
                for one, other in zip(both[0].parts, both[1].parts, strict=True):
                    assert one.numbers == other.numbers
                    for key, array in one.arrays.items():
                        np.testing.assert_array_equal(array, other.arrays[key])
            pair = format_.to_coo(in_.layout, arcs.offsets, arcs.targets, np)
            held = sorted(zip(*(end.tolist() for end in pair), strict=True))
            assert held == sorted(zip(arcs.rows().tolist(), arcs.targets.tolist(), strict=True))
