"""Pairs of key and payload: of one word, and of two that are swapped as one or under a lock."""

import numpy as np
import pytest

import weft
from agreement import emulated, interpreted
from oracle import make_request
from weft.backends.cuda.drivers.emulated import EmulatedDriver
from weft.backends.cuda.host.run import compile_program

pytestmark = pytest.mark.usefixtures("compile_cuda")  # skips where there is no compiler

G = weft.generators.rmat(6, 6, seed=4, directed=True, self_loops="keep")
G.edge["weight"] = np.random.default_rng(2).integers(0, 50, G.num_edges) / 7.0
N = G.num_vertices


class OldDevice(EmulatedDriver):
    """A device that cannot swap two words as one."""

    def compile(self, source, kernels, headers):
        return super().compile(f"#define WEFT_NO_WIDE_SWAP 1\n{source}", kernels, headers)


DEVICES = {
    "swaps": EmulatedDriver("none", 1),
    "locks": OldDevice("none", 1),
    "swaps, threads": EmulatedDriver("thread", 2),
    "locks, threads": OldDevice("thread", 2),
}


@weft.edge(into=("dist", "parent"), reduce=weft.argmin, priority=lambda v: v.dist)
def relax(u, v, e):
    return u.dist + e.weight, u.id


@weft.edge(into=("dist", "parent"), reduce=weft.argmin, priority=lambda v: v.dist)
def relax_narrow(u, v, e):
    return u.dist + weft.cast(e.weight, weft.float32), u.id


@weft.edge(into=("width", "by"), reduce=weft.argmax)
def widen(u, v, e):
    return weft.minimum(u.width, weft.cast(e.weight, weft.int16)), u.id


def start(value, first, dtype):
    """Return a field that is `first` at vertex 1 and `value` elsewhere."""
    return np.where(np.arange(N) == 1, first, value).astype(dtype)


PATHS = {"dist": start(np.inf, 0, np.float64), "parent": start(-1, 1, np.int32)}
# A narrow key beside a wide payload.
WIDTHS = {"width": start(-1, 99, np.int16), "by": start(-1, 1, np.int64)}


def prepared(functions, fields, **options):
    request, _ = make_request(
        G.to("emulated"), functions, G.state(**fields), [1], mode="iterate",
        options=options,
    )  # fmt: skip
    return compile_program(request)[0]


@pytest.mark.parametrize("device", DEVICES)
def test_parents_go_with_the_least_distance(device):
    for ordering in (True, False) if device in ("swaps", "locks") else (True,):
        chosen = {"driver": DEVICES[device], "ordering": ordering, "bin_size": 1}
        got = emulated(G, relax, PATHS, [1], choices=chosen, mode="iterate")
        want = interpreted(G, relax, PATHS, [1], mode="iterate")
        np.testing.assert_array_equal(got.dist, want.state.fields["dist"])
        check_parents(got.dist, got.parent)


def check_parents(dist, parent, dtype=np.float64):
    """Every vertex that was reached has its distance by an edge from its parent."""
    src, dst, weight = G.to_edges()
    weight, best = weight.astype(dtype), np.full(N, np.inf, dtype)
    chosen = src == parent[dst]
    np.minimum.at(best, dst[chosen], dist[src[chosen]] + weight[chosen])
    best[1] = 0
    assert parent[1] == 1 and ((parent >= 0) == np.isfinite(dist)).all()
    np.testing.assert_array_equal(best[parent >= 0], dist[parent >= 0])


@pytest.mark.parametrize("device", ["swaps", "swaps, threads"])
@pytest.mark.parametrize("schedule", ["warp", "twc"])
def test_pairs_of_one_word_are_swapped_several_at_a_time(device, schedule):
    fields = {"dist": PATHS["dist"].astype(np.float32), "parent": PATHS["parent"]}
    want = interpreted(G, relax_narrow, fields, [1], mode="iterate").state.fields["dist"]
    for bin_size in (1, 64):  # most vertices find no place in the bin, or all do
        chosen = {
            "driver": DEVICES[device], "schedule": schedule, "bin_size": bin_size,
            "ordering": False, "direction": "push",
        }  # fmt: skip
        got = emulated(G, relax_narrow, fields, [1], choices=chosen, mode="iterate")
        np.testing.assert_array_equal(got.dist, want)
        check_parents(got.dist, got.parent, np.float32)


@pytest.mark.parametrize("device", ["swaps", "locks"])
def test_narrow_keys_with_wide_payloads(device):
    chosen = {"driver": DEVICES[device]}
    got = emulated(G, widen, WIDTHS, [1], choices=chosen, mode="iterate")
    want = interpreted(G, widen, WIDTHS, [1], mode="iterate")
    np.testing.assert_array_equal(got.width, want.state.fields["width"])
    assert ((got.by >= 0) == (got.width >= 0)).all() and "async_relaxation" in made(WIDTHS)


def made(fields):
    return prepared(relax if "dist" in fields else widen, fields).fired


def test_wide_pairs_are_processed_in_order():
    assert {"async_relaxation", "ordering"} <= set(made(PATHS))


@pytest.mark.parametrize("architecture", ["sm_75", "sm_90", "sm_100"])
def test_pairs_compile_for_every_architecture(compile_cubin, architecture):
    rendered = prepared(relax, PATHS).rendered
    source = rendered.source
    if architecture != "sm_75":  # the compiler must not do without
        source += 'static_assert(has_wide_swap, "two words are swapped as one");\n'
    code = compile_cubin(source, rendered.kernels, rendered.headers, architecture)
    assert code.startswith(b"\x7fELF")
