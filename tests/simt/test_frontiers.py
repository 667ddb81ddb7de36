"""How the next frontier is assembled: every output, the phases after it, and far lists."""

import itertools
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import weft
from weft.backends.cuda.emulator import build
from weft.backends.cuda.emulator.build import Case, Launch
from weft.errors import ConfigError, DeviceError
from weft.frontiers.base import (
    COMPACTIONS,
    DEDUPS,
    bin_rooms,
    check_output,
    far_bytes,
    has_bins,
    output_bytes,
    output_type,
)

HERE = Path(__file__).parent
SOURCE = Path(weft.__file__).parent
HEADERS = (
    *(SOURCE / "frontiers").glob("*.cuh"),
    *(SOURCE / "backends" / "cuda" / "runtime" / name for name in ("control.cuh", "sweep.cuh")),
)
TYPES = {"i32": np.int32, "i64": np.int64}
MEMBERS = ("StampMember", "BitmapMember", "BytemapMember")
CELLS = 32
TAIL, EMITTED, EDGES, OVERFLOW, FAR = 0, 4, 5, 8, 9
BOUNDS = (4, 8, 16)  # of the degree classes, as in frontiers.cu
EPOCH = 7


def makes():
    """Every output that differs from the others."""
    for vertex, classes in (("i32", 1), ("i32", 4), ("i64", 1)):
        for compaction, dedup in itertools.product(COMPACTIONS, DEDUPS):
            if compaction != "batch" or dedup in ("none", "exact"):
                yield vertex, "queue", compaction, dedup, classes
    for kind, dedup in itertools.product(("bitmap", "bytemap", "counter"), DEDUPS):
        yield "i32", kind, "online", dedup, 1


MAKES = tuple(makes())


def emitter(make):
    return f"emit_all{output_type(*make).removeprefix('Output')}"


KERNELS = (
    *map(emitter, MAKES),
    *(f"{name}<{vertex}>" for name in ("mark_all", "filter_all") for vertex in TYPES),
    *(f"count_all<{member}>" for member in MEMBERS),
    *(f"write_all<{vertex}, {member}>" for vertex in TYPES for member in MEMBERS),
    "compact_together",
    *(f"{name}<{vertex}>" for name in ("clear_maps", "convert_queue") for vertex in TYPES),
    *(
        f"{name}<{vertex}, {unique}>"
        for name in ("append_far", "split_all")
        for vertex, unique in (("i32", "true"), ("i64", "false"))
    ),
)


@pytest.fixture(scope="module", params=["address", "thread"])
def program(request, compile_cuda):
    try:
        return build.compile_program(
            (HERE / "frontiers.cu").read_text(encoding="utf-8"),
            KERNELS,
            sanitizer=request.param,
            label="frontiers",
            headers={path.name: path.read_text(encoding="utf-8") for path in HEADERS},
        )
    except DeviceError as error:
        pytest.fail(str(error))


class Emission:
    """Vertices emitted by an output, and everything that is derived from them afterwards."""

    def __init__(self, make, rng, *, n, emits, bin_size, capacity, grid, block, seed):
        self.vertex, self.kind, self.compaction, self.dedup, self.classes = make
        self.make, self.n, self.emits, self.capacity = make, n, emits, capacity
        self.bin_size, self.grid, self.block, self.seed = bin_size, grid, block, seed
        self.degrees = rng.integers(0, 24, n)
        self.wanted = np.unique(emits[emits >= 0])

    def __repr__(self):
        return (
            f"{self.make} n={self.n} emits={self.emits.size} bins of {self.bin_size} "
            f"queue of {self.capacity} {self.grid} x {self.block} seed={self.seed}"
        )

    def case(self):
        dtype = TYPES[self.vertex]
        buffers = {
            "emits": self.emits,
            "degrees": self.degrees,
            "queue": np.full(self.classes * self.capacity, -1, dtype),
            "stamps": np.full(self.n, EPOCH - 1, np.uint32),
            "bitmap": np.zeros(-(-self.n // 32), np.uint32),
            "bytemap": np.zeros(self.n, np.uint8),
            "cells": np.zeros(CELLS, np.uint64),
            "filtered": np.full(self.n, -1, dtype),
            "filtered_cells": np.zeros(CELLS, np.uint64),
            "counts": np.full(self.grid, 99, np.uint64),
            "sorted": np.full(self.n, -1, dtype),
            "sorted_cells": np.zeros(CELLS, np.uint64),
        }
        return Case(buffers, [self.emission(), *self.after()], self.seed)

    def emission(self):
        args = ("emits", np.int64(self.emits.size), "degrees", "queue", np.int64(self.capacity))
        args += ("stamps", np.uint32(EPOCH), "bitmap", "bytemap", "cells")
        _, *output = self.make
        bytes_per_vertex = TYPES[self.vertex]().itemsize
        shared = output_bytes(*output, self.bin_size, self.block, bytes_per_vertex)
        args += (np.uint32(self.bin_size), np.uint64(shared))
        return Launch(emitter(self.make), args, self.grid, self.block, shared)

    def after(self):
        """The phases that make a sorted queue of whatever the output left."""
        n, epoch, classes = np.int64(self.n), np.uint32(EPOCH), np.uint32(self.classes)
        shape = self.grid, self.block
        capacity = np.int64(self.capacity)
        if self.kind == "counter":
            return
        if self.compaction == "batch":
            args = ("queue", capacity, classes, "cells", "degrees", "filtered", n, "stamps", epoch)
            args += ("filtered_cells", np.uint32(self.bin_size))
            vertex_bytes = TYPES[self.vertex]().itemsize
            shared = output_bytes(
                "queue", "online", "exact", 1, self.bin_size, self.block, vertex_bytes
            )
            yield Launch(f"filter_all<{self.vertex}>", args, *shape, shared)
        elif self.compaction in ("online", "atomic") and self.dedup == "proven":
            args = ("queue", capacity, classes, "cells", "stamps", epoch)
            yield Launch(f"mark_all<{self.vertex}>", args, *shape)
        member, memory = {
            "queue": ("StampMember", "stamps"),
            "bitmap": ("BitmapMember", "bitmap"),
            "bytemap": ("BytemapMember", "bytemap"),
        }[self.kind]
        args = (n, memory, epoch, "counts")
        yield Launch(f"count_all<{member}>", args, *shape)
        args += ("sorted", "degrees", "sorted_cells")
        yield Launch(f"write_all<{self.vertex}, {member}>", args, *shape)

    def check(self, out):
        unique = self.dedup in ("exact", "proven") and not (
            self.kind == "queue" and self.compaction == "batch"
        )
        cells = out["cells"].astype(np.int64)
        wanted_edges = self.degrees[self.wanted].sum()
        most = self.emits[self.emits >= 0]
        if unique:
            assert cells[EMITTED] == self.wanted.size
            assert cells[EDGES] == wanted_edges
        else:
            assert self.wanted.size <= cells[EMITTED] <= most.size
            assert wanted_edges <= cells[EDGES] <= self.degrees[most].sum()
        if self.kind != "counter":
            self.check_compaction(out["sorted"], out["sorted_cells"])
        if self.kind != "queue":
            assert cells[TAIL : TAIL + 4].sum() == 0 and cells[OVERFLOW] == 0
        elif self.compaction == "ballot":
            assert cells[TAIL : TAIL + 4].sum() == 0 and (out["queue"] == -1).all()
        else:
            self.check_queue(out, cells, unique)

    def check_compaction(self, queue, cells):
        found = queue[: self.wanted.size]
        assert (found == self.wanted).all(), "not the members in order"
        assert (queue[self.wanted.size :] == -1).all()
        assert cells[TAIL] == cells[EMITTED] == self.wanted.size
        assert cells[EDGES] == self.degrees[self.wanted].sum()

    def check_queue(self, out, cells, unique):
        tails = cells[TAIL : TAIL + self.classes]
        if not self.must_fit() or cells[OVERFLOW]:
            full = (tails > self.capacity).any()
            assert cells[OVERFLOW] == (full or self.compaction == "jit")
            return
        stretches = out["queue"].reshape(self.classes, self.capacity)
        entries = []
        for of_class, (tail, stretch) in enumerate(zip(tails, stretches, strict=True)):
            held = stretch[:tail]
            assert (held >= 0).all() and (stretch[tail:] == -1).all()
            if self.classes > 1:
                assert (np.digitize(self.degrees[held], BOUNDS) == of_class).all()
            entries += held.tolist()
        assert len(entries) == cells[EMITTED]
        assert self.degrees[entries].sum() == cells[EDGES]
        assert set(entries) == set(self.wanted.tolist())
        assert not unique or len(entries) == self.wanted.size
        if self.compaction == "batch":
            assert Counter(entries) == Counter(self.emits[self.emits >= 0].tolist())
            filtered = np.sort(out["filtered"][: self.wanted.size])
            assert (filtered == self.wanted).all()
            assert out["filtered_cells"][EMITTED] == self.wanted.size

    def must_fit(self):
        """Whether there is room for all, whoever emits what."""
        most = np.count_nonzero(self.emits >= 0)
        if self.compaction == "jit" and min(bin_rooms(self.classes, self.bin_size)) < most:
            return False
        return self.capacity >= most


def draw_emits(rng, dedup, n, count):
    """Vertices to emit with some gaps, each often; each once if that is to be proven."""
    if dedup == "proven":
        emits = rng.permutation(n)[: min(count, n)]
    else:
        emits = rng.choice(rng.permutation(n)[: n // 2 + 1], count)
    return np.where(rng.random(emits.size) < 0.2, -1, emits)


def run(program, run_cases, emissions):
    outputs = run_cases(program, [emission.case() for emission in emissions])
    for emission, out in zip(emissions, outputs, strict=True):
        try:
            emission.check(out)
        except AssertionError as error:
            raise AssertionError(f"{emission}: {error}") from error
    return outputs


def test_every_output(program, run_cases):
    rng = np.random.default_rng(11)
    shapes = itertools.cycle([(3, 32), (2, 64), (1, 256), (4, 96)])
    emissions = []
    for index, make in enumerate(MAKES):
        # Room for all; bins that are too small; bins and queue that are too small.
        for seed, (bin_size, capacity) in enumerate(((4096, 512), (3, 512), (5, 17))):
            if seed == 2 and not (has_bins(*make[1:3]) or make[2] == "atomic"):
                continue
            grid, block = next(shapes)
            emissions.append(
                Emission(
                    make,
                    rng,
                    n=150,
                    emits=draw_emits(rng, make[3], 150, 300),
                    bin_size=bin_size,
                    capacity=capacity,
                    grid=grid,
                    block=block,
                    seed=(seed + index) % 3,
                )
            )
    run(program, run_cases, emissions)


def test_overflow_is_told(program, run_cases):
    rng = np.random.default_rng(12)
    emissions = [
        Emission(make, rng, n=90, emits=emits, bin_size=4, capacity=capacity, **shape)
        for make in MAKES
        if make[1] == "queue" and make[2] != "ballot" and make[3] in ("exact", "proven", "none")
        for emits, capacity in (
            (rng.permutation(90), 20),
            (rng.permutation(90), 0),
            (np.full(40, -1), 0),
        )
        for shape in ({"grid": 2, "block": 32, "seed": 3},)
    ]
    outputs = run(program, run_cases, emissions)
    for emission, out in zip(emissions, outputs, strict=True):
        assert out["cells"][OVERFLOW] == (emission.wanted.size > 0), emission


def test_nothing_is_emitted(program, run_cases):
    rng = np.random.default_rng(13)
    emissions = [
        Emission(make, rng, n=40, emits=emits, bin_size=8, capacity=8, grid=2, block=64, seed=1)
        for make in MAKES
        for emits in (np.full(70, -1), np.empty(0, np.int64))[: 1 + (make[0] == "i64")]
    ]
    for out in run(program, run_cases, emissions):
        assert not out["cells"].any() and not out["sorted_cells"].any()


def test_a_thread_does_not_repeat_itself(program, run_cases):
    # Vertices 33 apart are in different words and at different places of the tables.
    rng = np.random.default_rng(14)
    shape = {"bin_size": 1600, "capacity": 200, "grid": 1, "block": 32}
    emissions = [
        Emission(make, rng, n=1024, emits=np.tile(np.arange(32) * 33, 5), seed=seed, **shape)
        for make in MAKES
        if make[3] not in ("none", "proven") and make[2] != "batch"
        for seed in (0, 2)
    ]
    for emission, out in zip(emissions, run(program, run_cases, emissions), strict=True):
        assert out["cells"][EMITTED] == 32, emission


@pytest.mark.parametrize("member", MEMBERS)
def test_members_come_in_order(program, run_cases, member):
    rng = np.random.default_rng(15)
    cases, wanted = [], []
    sizes = (0, 1, 31, 32, 33, 1000, 1024, 2500, 9000)
    shapes = itertools.cycle([(1, 32), (3, 64), (2, 256), (5, 32)])
    for (n, density), (grid, block) in zip(
        itertools.product(sizes, (0.0, 0.05, 1.0)), shapes, strict=False
    ):
        inside = rng.random(n) < density
        memory = {
            "StampMember": np.where(inside, EPOCH, EPOCH + 1).astype(np.uint32),
            "BitmapMember": packed(inside, beyond=True),
            "BytemapMember": inside.astype(np.uint8) * 3,
        }[member]
        degrees = rng.integers(0, 9, n)
        buffers = {"memory": memory, "counts": np.zeros(grid, np.uint64), "degrees": degrees}
        vertex = ("i32", "i64")[len(cases) % 2]
        buffers["queue"] = np.full(inside.sum(), -1, TYPES[vertex])
        buffers["cells"] = np.zeros(CELLS, np.uint64)
        args = (np.int64(n), "memory", np.uint32(EPOCH), "counts")
        launches = [
            Launch(f"count_all<{member}>", args, grid, block),
            Launch(
                f"write_all<{vertex}, {member}>", (*args, "queue", "degrees", "cells"), grid, block
            ),
        ]
        cases.append(Case(buffers, launches, len(cases) % 3))
        wanted.append((np.flatnonzero(inside), degrees[inside].sum()))
    for case, out, (queue, edges) in zip(cases, run_cases(program, cases), wanted, strict=True):
        assert (out["queue"] == queue).all(), case.launches
        assert out["cells"][[TAIL, EMITTED, EDGES]].tolist() == [queue.size, queue.size, edges]


def packed(inside, *, beyond=False):
    """A bitmap; bits beyond the last vertex are as given."""
    bits = np.full(-(-inside.size // 32) * 32, beyond)
    bits[: inside.size] = inside
    return np.packbits(bits, bitorder="little").view(np.uint32)


def test_phases_in_one_launch(program, run_cases):
    rng = np.random.default_rng(16)
    n, cases = 3000, []
    for grid, seed in ((1, 1), (3, 2)):
        stamps = rng.integers(0, 4, n).astype(np.uint32)
        buffers = {"stamps": stamps, "counts": np.zeros(2 * grid, np.uint64)}
        buffers |= {f"queue{r}": np.full((stamps == r).sum(), -1, np.int32) for r in (1, 2)}
        buffers |= {"degrees": rng.integers(0, 9, n), "cells": np.zeros(2 * CELLS, np.uint64)}
        buffers["barrier"] = np.zeros(1, np.uint32)
        args = (np.int64(n), "stamps", "counts", "queue1", "queue2", "degrees", "cells", "barrier")
        launch = Launch("compact_together", args, grid, 64, cooperative=True)
        cases.append(Case(buffers, [launch], seed))
    for case, out in zip(cases, run_cases(program, cases), strict=True):
        for r in (1, 2):
            members = np.flatnonzero(case.buffers["stamps"] == r)
            assert (out[f"queue{r}"] == members).all()
            cells = out["cells"][(r - 1) * CELLS :]
            assert cells[EDGES] == case.buffers["degrees"][members].sum()


@pytest.mark.parametrize("vertex", TYPES)
def test_queues_become_maps(program, run_cases, vertex):
    rng = np.random.default_rng(17)
    cases = []
    for n in (1, 32, 70, 500):
        words = -(-n // 32)
        buffers = {
            "queue": rng.integers(0, n, n).astype(TYPES[vertex]),
            "bitmap": np.full(words, 0xABCD, np.uint32),
            "all": np.full(words, 0xABCD, np.uint32),
            "bytemap": np.full(n, 9, np.uint8),
        }
        args = ("queue", np.int64(n), "bitmap", "bytemap")
        launches = [
            Launch(f"clear_maps<{vertex}>", ("bitmap", "all", "bytemap", np.int64(n)), 2, 32),
            Launch(f"convert_queue<{vertex}>", args, 3, 32),
        ]
        cases.append(Case(buffers, launches, 2))
    for case, out in zip(cases, run_cases(program, cases), strict=True):
        queue = case.buffers["queue"]
        inside = np.isin(np.arange(queue.size), queue)
        assert (out["bytemap"] == inside).all()
        assert (out["bitmap"] == packed(inside)).all()
        assert (out["all"] == packed(np.ones(queue.size, bool))).all()


@pytest.mark.parametrize(("vertex", "unique"), [("i32", True), ("i64", False)])
def test_far_lists_are_split(program, run_cases, vertex, unique):
    rng = np.random.default_rng(18)
    n, limit, dtype = 200, 5.0, TYPES[vertex]
    name = f"<{vertex}, {'true' if unique else 'false'}>"
    cases = []
    for bin_size, (grid, block) in itertools.product((256, 6), ((1, 64), (3, 32), (2, 128))):
        waiting = draw_emits(rng, "none", n, 250)
        buffers = {
            "waiting": waiting,
            "priorities": np.where(np.arange(n) % 9 > 0, rng.integers(-4, 20, n) / 2, np.inf),
            "degrees": rng.integers(0, 9, n),
            "far": np.full(250, -1, dtype),
            "kept": np.full(250, -1, dtype),
            "near": np.full(n, -1, dtype),
            "stamps": np.zeros(n, np.uint32),
            "far_stamps": np.zeros(n, np.uint32),
            "before": np.zeros(CELLS, np.uint64),
            "cells": np.zeros(CELLS, np.uint64),
            "least": np.array([np.inf]),
            "sum": np.zeros(2),
        }
        far = far_bytes(bin_size, dtype().itemsize)
        near = output_bytes("queue", "online", "exact", 1, bin_size, block, dtype().itemsize)
        args = ("waiting", np.int64(250), "far", np.int64(250), "before", np.uint32(bin_size))
        append = Launch(f"append_far{name}", (*args, "far_stamps", np.uint32(1)), grid, block, far)
        args = ("far", "before", np.int64(250), "priorities", np.float64(limit), "degrees", "near")
        args += (np.int64(n), "stamps", np.uint32(2), "kept", "cells", np.uint32(bin_size))
        args += ("far_stamps", "least", "sum")
        split = Launch(f"split_all{name}", args, grid, block, near + far)
        cases.append(Case(buffers, [append, split], len(cases) % 3))
    for case, out in zip(cases, run_cases(program, cases), strict=True):
        check_split(case.buffers, out, limit, unique)


def check_split(given, out, limit, unique):
    appended = given["waiting"][given["waiting"] >= 0]
    appended = np.unique(appended) if unique else np.sort(appended)
    assert (np.sort(out["far"][: appended.size]) == appended).all()
    assert out["before"][FAR] == appended.size and out["before"][OVERFLOW] == 0
    value = given["priorities"][appended]
    near, kept = np.unique(appended[(value >= 0) & (value < limit)]), appended[value >= limit]
    assert (np.sort(out["near"][: near.size]) == near).all() and (
        out["near"][near.size :] < 0
    ).all()
    assert (np.sort(out["kept"][: kept.size]) == kept).all()
    assert out["cells"][[TAIL, EMITTED, FAR]].tolist() == [near.size, near.size, kept.size]
    assert out["cells"][EDGES] == given["degrees"][near].sum()
    assert out["least"][0] == given["priorities"][kept].min()
    finite = given["priorities"][kept]
    finite = finite[finite < np.inf]
    assert out["sum"].tolist() == [finite.sum(), finite.size]


def test_a_full_far_list_tells_it(program, run_cases):
    cases = []
    for bin_size, capacity in itertools.product((2, 64), (0, 20)):
        buffers = {"waiting": np.arange(50), "far": np.full(capacity, -1, np.int64)}
        buffers |= {"cells": np.zeros(CELLS, np.uint64), "stamps": np.zeros(1, np.uint32)}
        args = ("waiting", np.int64(50), "far", np.int64(capacity), "cells", np.uint32(bin_size))
        args += ("stamps", np.uint32(1))
        launch = Launch("append_far<i64, false>", args, 2, 32, far_bytes(bin_size, 8))
        cases.append(Case(buffers, [launch], 1))
    for out in run_cases(program, cases):
        assert out["cells"][FAR] == 50 and out["cells"][OVERFLOW] == 1
        assert np.unique(out["far"]).size == out["far"].size and (out["far"] >= 0).all()


def test_unknown_names_are_told():
    with pytest.raises(ConfigError, match=r"compaction='ballott' .* Did you mean 'ballot'\?"):
        check_output("queue", "ballott", "exact", 1)
    with pytest.raises(ConfigError, match="classes=2 is not known"):
        output_bytes("queue", "online", "exact", 2, 64, 256)
