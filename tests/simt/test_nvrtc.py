"""Generated CUDA compiles for every architecture with NVRTC; no GPU is needed."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import weft
from oracle import make_request
from simt.test_configs import PROGRAMS, G
from weft.backends.cuda.host.run import compile_program
from weft.config import BySide
from weft.engine.watch import Watch, watching

LONGEST = ("features", {"schedule": "twc"})
# One program each, and what makes its code different from that of the others.
CASES = [
    ("search", {}),
    ("search", {"best_neighbor": True}),
    ("search", {"schedule": "edge", "format": "coo", "fuse": "direction"}),
    ("paths", {"schedule": "twc"}),
    ("paths", {"schedule": "strict", "ordering": "horizon"}),
    ("ranks", {"schedule": "merge"}),
    ("ranks", {"deterministic": True}),
    ("ranks", {"hub_table": True}),
    ("components", {"schedule": "twce", "fuse": "none"}),
    ("cores", {"schedule": "row", "frontier_out": "bytemap", "compaction": "batch"}),
    ("fold", {"schedule": "strict", "compaction": "jit"}),
    LONGEST,
    ("features", {"lanes": 1}),
    ("minima", {"schedule": "block", "combine": "by_target", "dedup": "history"}),
    ("cores", {"combine": "radix", "direction": "push"}),
    ("cores", {"combine": "in_place"}),
]
# The text is the same for all of them; what differs are primitives of `device.cuh`.
OTHER_ARCHITECTURES = ("sm_75", "sm_80", "sm_100")
# Formats whose rows are not vertices: nothing of them depends on the architecture.
FORMATS = [
    # A pull walks through the rows of a vertex, a push lists them.
    ("search", {"schedule": BySide({"push": "row", "pull": "vertex"}), "format": "tigr"}),
    ("paths", {"schedule": "strict", "format": "ell"}),
    ("ranks", {"schedule": "edge", "format": "gshard"}),
    ("cores", {"schedule": "warp", "format": "dia"}),
    ("minima", {"schedule": "merge", "format": "block_coo"}),
    ("ranks", {"schedule": "twc", "format": "csr32"}),
]
EACH = [(*case, "sm_90") for case in CASES + FORMATS]
for number, case in enumerate(CASES):
    for turn, other in enumerate(OTHER_ARCHITECTURES):
        ordinary = (number - turn) % 3 == 0 and case != LONGEST  # they take turns
        EACH.append(pytest.param(*case, other, marks=() if ordinary else pytest.mark.slow))


def rendered_as(name, choices, **more):
    """Return the generated code of a program."""
    functions, fields, frontier, options = PROGRAMS[name]
    options = {"mode": "iterate", **options, **more}
    edges = options.pop("edges", None)
    request, _ = make_request(
        G.to("emulated"), functions, G.state(**fields), frontier,
        edge_state=None if edges is None else G.edge_state(**edges),
        options=choices, **options,
    )  # fmt: skip
    return compile_program(request)[0].rendered


@pytest.mark.parametrize(("name", "choices", "architecture"), EACH)
def test_generated_code_compiles(compile_cubin, name, choices, architecture):
    rendered = rendered_as(name, choices)
    code = compile_cubin(rendered.source, rendered.kernels, rendered.headers, architecture)
    assert code.startswith(b"\x7fELF")
    # Decisions are inlined: each that stands twice is compiled twice.
    assert rendered.source.count("ready(t);") == 1
    loop = rendered.headers["machine.cuh"].split("void drive(")[1].split("void run_alone(")[0]
    assert loop.count("step_forward<Program>(") == 1


def test_ordered_loops_that_end_early_compile(compile_cubin):
    rendered = rendered_as("paths", {}, max_iter=3)
    assert "end_early(t, LIMIT);" in rendered.source
    compile_cubin(rendered.source, rendered.kernels, rendered.headers, "sm_90")


def test_targets_of_two_windows_are_under_way():
    """Where arcs have nothing to send and a row is one warp's, the warp waits half as often."""
    assert "u32 windows = 2;" in rendered_as("components", {"schedule": "warp"}).source
    assert "u32 windows = 1;" in rendered_as("components", {"schedule": "strict"}).source


def test_assembly_that_reads_memory_is_volatile():
    """Else a compiler may move a load to where its address means nothing."""
    found = []
    for path in Path(weft.__file__).parent.rglob("*.cuh"):
        found += re.findall(r'\basm( volatile)?\(\s*"(.*?)"\s*:', path.read_text(), re.S)
    loads = [(kind, text) for kind, text in found if "[" in text]
    assert len(loads) > 6 and len(found) > len(loads)
    assert [text for kind, text in loads if not kind] == []


@weft.vertex
def products(v):
    """Every product and every way to take features apart, of vectors and matrices."""
    a = v.gather(lambda u, e: weft.outer(u.x, v.x), weft.sum) + weft.eye(v.x.size)
    b = (a @ a).T + weft.inverse(a)
    v.x = (v.x @ b) + (b @ v.x) + weft.solve(a, v.x) + b[v.id % v.x.size]
    v.y = weft.dot(v.x, v.x) + v.x[v.id % v.x.size] + weft.logsumexp(v.x)


@pytest.mark.parametrize(("size", "lanes"), [(3, None), (3, 1), (12, 1), (17, None)])
def test_products_compile(compile_cubin, size, lanes):
    g = weft.generators.cycle(5).to("emulated")
    state = g.state(x=np.arange(5.0 * size).reshape(5, size), y=np.zeros(5))
    with watching(Watch(keeping=True)) as watch:
        g.iterate(products, state, max_iter=1, config=weft.Config(lanes=lanes))
    (request,) = watch.requests.values()
    rendered = compile_program(request)[0].rendered
    code = compile_cubin(rendered.source, rendered.kernels, rendered.headers, "sm_90")
    assert code.startswith(b"\x7fELF")


def test_several_arcs_are_multiplied_by_a_matrix_that_stays_in_memory():
    @weft.edge(into="y", reduce=weft.sum, on="all")
    def send(u, v, e, mixing):
        return mixing @ u.x

    g = weft.generators.cycle(5).to("emulated")
    for size, joins in ((2, "false"), (9, "true")):
        x = np.ones((5, size))
        state = g.state(x=x, y=0 * x, mixing=weft.parameter(np.eye(size)))
        text = str(weft.explain(send, g, state, config=weft.Config(direction="pull")))
        assert f"bool joins = {joins};" in text
        assert ("multiply<" in text) == (joins == "true")


@weft.edge(into="got", reduce=weft.sum, active=lambda v, old: v.parent < old.parent)
def lower(u, v, e):
    v.parent.at(v.id).min(u.id)
    return 1


@weft.vertex(order_free=True, active=lambda v, old: (v.parent != old.parent) | (v.x != old.x))
def jump(v):
    v.parent = v.parent.at(v.parent).load()
    v.x = v.old.parent - v.parent


def test_live_fields_compile(compile_cubin):
    g = weft.generators.cycle(5).to("emulated")
    fields = {"parent": np.arange(5), "x": np.zeros(5, int), "got": np.zeros(5, int)}
    request, _ = make_request(g, [lower, jump], g.state(**fields), None, mode="iterate", max_iter=2)
    rendered = compile_program(request)[0].rendered
    code = compile_cubin(rendered.source, rendered.kernels, rendered.headers, "sm_90")
    assert code.startswith(b"\x7fELF")


def test_blocks_that_share_features_compile(compile_cubin):
    @weft.vertex
    def blended(v):
        v.x = weft.normalize(v.x + v.gather(lambda u, e: u.x, weft.sum), "l2")
        v.changed = weft.max(v.x) > 0.5

    request, _ = make_request(
        G.to("emulated"), blended, G.state(x=np.ones((G.num_vertices, 512))), None,
        options={"lanes": "block", "schedule": "twc"}, mode="iterate",
    )  # fmt: skip
    rendered = compile_program(request)[0].rendered
    code = compile_cubin(rendered.source, rendered.kernels, rendered.headers, "sm_90")
    assert code.startswith(b"\x7fELF") and "TwcSchedule<Csr<Vertex>, 0>" in rendered.source


LIBRARY = {
    "betweenness": lambda g: weft.betweenness(g, [0]),
    "forest": weft.minimum_spanning_forest,
    "set": weft.maximal_independent_set,
    "colours": weft.color,
}


@pytest.mark.slow
@pytest.mark.parametrize("schedule", ["vertex", "twc"])
@pytest.mark.parametrize("name", LIBRARY)
def test_programs_of_the_library_compile(compile_cubin, name, schedule):
    g = weft.generators.complete(70 if schedule == "twc" else 5).to("emulated")
    with watching(Watch(keeping=True)) as watch:
        LIBRARY[name](g)
    for request in watch.requests.values():
        request.options = replace(request.options, schedule=schedule)
        rendered = compile_program(request)[0].rendered
        compile_cubin(rendered.source, rendered.kernels, rendered.headers, "sm_90")
