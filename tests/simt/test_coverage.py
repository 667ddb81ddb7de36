"""Every format under every schedule: each active arc is taken once, each row closed as promised.

A new format or schedule is covered by its registration alone. What is looked at is a part: the
kinds of parts of all formats, each once.
"""

import functools
import itertools
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from small_formats import FORMATS as SMALL
from weft.backends import cuda
from weft.backends.cuda.emulator.build import Case, Launch, compile_program
from weft.errors import ConfigError
from weft.formats import choose, format
from weft.schedules import schedule as schedule_named
from weft.schedules import schedules

SOURCE = Path(__file__).with_name("coverage.cu")
CUDA = Path(cuda.__file__).parent
ROWS_HEADER = CUDA.parents[1] / "frontiers" / "rows.cuh"
POINTERS = 6  # arrays of a format, and of a schedule's memory, that the kernel takes

FORMATS = {name: choose(text).format for name, text in SMALL.items()}
SCHEDULES = schedules()
# Kinds of parts, with the format and the position of the first part that is of that kind.
PARTS = {}
for _name, _format in FORMATS.items():
    _kinds = [kind for kind in _format.kinds for _ in range(kind.copies)]
    for _position, _kind in enumerate(_kinds):
        PARTS.setdefault(_kind.struct, (_name, _position, _kind))
FULL = ("Csr", "Coo")  # kinds for which all widths are compiled with every schedule
LANES = (1, 4, 8, 32, 0)
KINDS = ("all", "queue", "bitmap", "bytemap")
ROWS_TYPES = {"all": "AllRows", "queue": "QueueRows<i32>"}
FRONTIERS = ("some", "all", "one", "some", "empty")
COUNTER_BYTES = {True: 24, False: 1}  # of a partial, by whether the visitor collects
ROW_BYTES = 16

# Blocks, threads in each, and blocks that stay out.
SHAPES = ((1, 32, 0), (3, 64, 1), (2, 96, 0), (9, 32, 2), (1, 64, 0), (1, 128, 0))
ROW_LANES = (4, 0, 1, 8, 32, 2)
ITEMS = (3, 1, 7)
DEGREES = ((4, 16, 64), (2, 8, 20), (8, 8, 8), (4, 100, 10**6))


@dataclass(frozen=True)
class Variant:
    """One instance of the kernel: what is fixed when it is compiled."""

    part: str = "Csr"
    lanes: int = 1
    rows: str = ""  # of one kind; "": of a kind chosen at run time
    collects: bool = True
    exits: bool = False
    vertex: str = "i32"
    holed: bool = False  # some slots are not valid

    def kernel(self, schedule):
        kind = PARTS[self.part][2]
        memories = len(schedule.workspace(1, 1))
        rows = ROWS_TYPES[self.rows] if self.rows else f"SomeRows<{self.vertex}>"
        flags = f"{str(self.collects).lower()}, {str(self.exits).lower()}"
        struct = "Holed" if self.holed else kind.struct
        return (
            f"sweep<{schedule.struct}, {schedule.phases}, {memories}, {struct}<{self.vertex}>, "
            f"{len(kind.arrays)}, {len(kind.numbers)}, {self.lanes}, {rows}, {flags}>"
        )

    def kinds(self, schedule):
        return (self.rows,) if self.rows else schedule.inputs


LARGE = (Variant(), Variant(lanes=8), Variant(lanes=32, exits=True))  # also with 1024 threads


def variants(schedule):
    """All kernels of a schedule; what is independent of each other is not multiplied."""
    found = [Variant(part, lanes) for part in FULL for lanes in LANES]
    turn = list(SCHEDULES).index(schedule.name)
    others = [part for part in PARTS if part not in FULL]
    # Widths take turns: every schedule meets every kind, and every kind all widths.
    found += [Variant(part, LANES[(k + turn) % len(LANES)]) for k, part in enumerate(others)]
    found += [Variant(lanes=lanes, exits=True) for lanes in (1, 8, 32, 0)]
    found += [Variant(lanes=lanes, collects=False) for lanes in (1, 8)]
    found += [Variant(collects=False, exits=True)]
    # Schedules may treat the real types apart; what is no queue differs in one load alone.
    found += [Variant(rows=kind) for kind in ("all", "queue") if kind in schedule.inputs]
    found += [Variant(vertex="i64"), Variant(holed=True)]
    found += [Variant(lanes=lanes, holed=True, collects=False) for lanes in (1, 8)]
    return [v for v in found if not schedule.refuse(FORMATS[PARTS[v.part][0]], v.lanes)]


def source_and_headers(more=None):
    """Return the kernels' source and the headers of all formats, and of a schedule."""
    headers = {
        "sweep.cuh": (CUDA / "runtime" / "sweep.cuh").read_text(encoding="utf-8"),
        "rows.cuh": ROWS_HEADER.read_text(encoding="utf-8"),
        **(more.headers if more else {}),
    }
    includes = ["rows.cuh"]
    for layout in FORMATS.values():
        headers |= layout.headers
        includes += layout.headers
    includes += [f"{more.name}.cuh"] if more else []
    text = "".join(f'#include "{header}"\n' for header in dict.fromkeys(includes))
    return text + SOURCE.read_text(encoding="utf-8"), headers


@functools.cache
def program(name, sanitizer):
    schedule = SCHEDULES[name]
    source, headers = source_and_headers(schedule)
    chosen = variants(schedule)
    if sanitizer == "thread":
        chosen = [v for v in chosen if in_selection(v)]
    kernels = list(dict.fromkeys(v.kernel(schedule) for v in chosen))
    return compile_program(
        source, kernels, sanitizer=sanitizer, label=f"cover_{name}", headers=headers
    )


def describing(kind, vertex):
    """Return the kernel that describes parts of a kind."""
    lists = str(kind.virtual and kind.expands).lower()
    struct = f"{kind.struct}<{vertex}>"
    flags = f"{lists}, {str(kind.wholes).lower()}"
    return f"describe<{struct}, {len(kind.arrays)}, {len(kind.numbers)}, {flags}>"


@functools.cache
def describer():
    source, headers = source_and_headers()
    kinds = [kind for _, _, kind in PARTS.values()]
    kernels = [describing(kind, vertex) for kind in kinds for vertex in ("i32", "i64")]
    return compile_program(source, kernels, label="describe", headers=headers)


@dataclass(frozen=True)
class Described:
    """A part as its CUDA class describes it."""

    part: object
    pointers: list
    rows_at: np.ndarray  # by place, -1 elsewhere
    vertices: np.ndarray  # by row
    degrees: np.ndarray  # slots by row
    listed: np.ndarray  # how often a row is listed for its vertex
    whole: np.ndarray  # by vertex, whether one row of this part is all it has


@functools.cache
def described(format_name, graph_name, dtype):
    """Return the parts of a built format."""
    offsets, targets = GRAPHS[graph_name]
    targets = targets.astype(dtype)
    layout = choose(SMALL[format_name]).build(offsets, targets, np)
    slots = np.arange(targets.size) if layout.places is None else layout.places()
    owners = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
    kinds = [kind for kind in layout.format.kinds for _ in range(kind.copies)]
    nothing, cases, found = np.zeros(0, np.uint8), [], []
    for part, kind in zip(layout.parts, kinds, strict=True):
        pointers = [part.arrays[array.name] for array in kind.arrays]
        pointers += [nothing] * (POINTERS - len(pointers))
        numbers = [part.rows, part.slots, 0, offsets.size - 1, *[0] * 6]
        numbers += [part.numbers[name] for name in kind.numbers]
        buffers = {
            "numbers": np.array(numbers, np.int64),
            **{f"p{i}": pointer for i, pointer in enumerate(pointers)},
            "owners": np.where(slots >= 0, owners[slots] if owners.size else -1, -1),
            "targets": np.where(slots >= 0, targets[slots] if owners.size else -1, -1).astype("i8"),
            "rows_at": np.full(slots.size, -1, np.int64),
            "vertices": np.full(part.rows, -1, np.int64),
            "degrees": np.zeros(part.rows, np.int64),
            "listed": np.zeros(part.rows, np.uint32),
            "whole": np.zeros(offsets.size - 1, np.uint8),
        }
        vertex = "i64" if dtype == "int64" else "i32"
        cases.append(Case(buffers, [Launch(describing(kind, vertex), tuple(buffers), 1, 32, 0)]))
        found.append((part, pointers))
    outcome = describer().run(cases, timeout_s=60)
    if outcome.report is not None:
        pytest.fail(f"{format_name} of {graph_name}\n{outcome.report.text}")
    names = ("rows_at", "vertices", "degrees", "listed", "whole")
    return layout, [
        Described(part, pointers, *(out[name] for name in names))
        for (part, pointers), out in zip(found, outcome.outputs, strict=True)
    ]


def in_selection(variant):
    """What ThreadSanitizer looks at: one format, and widths of each sort."""
    return variant in (
        Variant(lanes=1),
        Variant(lanes=8),
        Variant(lanes=0),
        Variant(lanes=1, exits=True),
        Variant(lanes=32, exits=True),
    )


def graph(degrees, seed=3):
    """Return offsets and random targets."""
    degrees = np.asarray(degrees, np.int64)
    offsets = np.concatenate([[0], degrees.cumsum()]).astype(np.int64)
    targets = np.random.default_rng(seed).integers(0, max(degrees.size, 1), offsets[-1])
    rows = np.repeat(np.arange(degrees.size), degrees)  # each sorted, as those of an adjacency
    return offsets, targets[np.lexsort((targets, rows))].astype(np.int32)


def graphs():
    rng = np.random.default_rng(11)
    hub = rng.integers(0, 4, 70)
    hub[41] = 700
    gaps = np.where(rng.random(90) < 0.6, 0, rng.integers(1, 12, 90))
    return {
        "empty": graph([]),
        "one": graph([0]),
        "isolated": graph([0] * 40),
        "gaps": graph(gaps),
        "hub": graph(hub),
        "path": graph([1] * 99 + [0]),
        "random": graph(rng.integers(0, 24, 75)),
        "ends": graph([65, *[0] * 33, 33, 1, 32, 31, 0, 70]),
    }


GRAPHS = graphs()


def active_rows(n, frontier):
    rng = np.random.default_rng(n)
    if frontier == "all":
        return np.arange(n)
    if frontier == "empty" or n == 0:
        return np.arange(0)
    if frontier == "one":
        return np.array([n // 2])
    return np.flatnonzero(rng.random(n) < 0.5)


def frontier_items(kind, n, active, dtype):
    """Return the array of a frontier and its count."""
    if kind == "queue":
        return np.random.default_rng(n).permutation(active).astype(dtype), active.size
    flags = np.zeros(n, np.uint8)
    flags[active] = 1
    if kind == "bitmap":
        bits = np.packbits(np.pad(flags, (0, -n % 32)), bitorder="little")
        return bits.view(np.uint32), n
    return flags, n


@dataclass(frozen=True)
class Trial:
    """A case and what it takes to judge it."""

    words: tuple
    variant: Variant
    block: int
    active: np.ndarray
    degrees: np.ndarray
    case: Case


def trial(schedule, variant, name, kind, frontier, turn, shape=None):
    dtype = "int64" if variant.vertex == "i64" else "int32"
    format_name, position, _ = PARTS[variant.part]
    parts = described(format_name, name, dtype)[1]
    found = parts[position]
    n, slots, places = found.part.rows, found.part.slots, found.rows_at.size
    active = active_rows(n, frontier)
    items, count = frontier_items(kind, n, active, dtype)
    grid, block, skipped = shape or SHAPES[turn % len(SHAPES)]
    row_lanes = min(ROW_LANES[turn % len(ROW_LANES)], 32 // max(variant.lanes, 1))
    knobs = (row_lanes, ITEMS[turn % len(ITEMS)], *DEGREES[turn % len(DEGREES)])
    rng = np.random.default_rng(turn)
    refused = rng.random(n) < rng.choice([0.3, 0, 0])
    wanted = rng.random(places) < (0.05 if variant.exits else 0)
    nothing = np.zeros(0, np.uint8)
    memory = [
        np.frombuffer(b"\xa5" * np.dtype(dtype).itemsize * size, dtype)
        for _, dtype, size in schedule.workspace(n, slots)
    ]
    memory += [nothing] * (POINTERS - len(memory))
    numbers = [n, slots, KINDS.index(kind), count, skipped, *knobs, *found.part.numbers.values()]
    buffers = {
        "numbers": np.array(numbers, np.int64),
        **{f"p{i}": part for i, part in enumerate(found.pointers)},
        **{f"m{i}": part for i, part in enumerate(memory)},
        "items": items,
        "cells": np.zeros((schedule.phases + 1, 8), np.uint64),
        "refused": refused.astype(np.uint8),
        "wanted": wanted.astype(np.uint8),
        "owners": found.rows_at,
        "taken": np.zeros(places, np.uint32),
        "wholes": np.zeros(n, np.uint32),
        "parts": np.zeros(n, np.uint32),
        "sums": np.zeros(n, np.int64),
    }
    partial_bytes = COUNTER_BYTES[variant.collects]
    shared = schedule.shared_bytes(block, variant.lanes, partial_bytes, ROW_BYTES)
    launches = [
        Launch(variant.kernel(schedule), (np.uint32(phase), *buffers), grid, block, shared)
        for phase in range(schedule.phases)
    ]
    words = (name, kind, frontier, variant, f"turn {turn}", (grid, block, skipped), knobs)
    case = Case(buffers, launches, seed=int(rng.integers(2)))
    return Trial(words, variant, block, active, found.degrees, case)


def trials(schedule, chosen):
    """Yield trials of the variants; frontiers, shapes, knobs and seeds are drawn."""
    rng = np.random.default_rng(5)
    for variant in chosen:
        pairs = list(itertools.product(GRAPHS, variant.kinds(schedule)))
        if variant.part not in FULL:
            pairs = [(name, kind) for name, kind in pairs if rng.random() < 0.4]
        for name, kind in pairs:
            frontier = "all" if kind == "all" else rng.choice(FRONTIERS)
            yield trial(schedule, variant, name, kind, frontier, int(rng.integers(1 << 20)))
        if variant in LARGE:
            yield trial(schedule, variant, "hub", "bitmap", "some", 0, (1, 1024, 0))


def check(schedule, trial, out):
    """Hold what the kernel counted against the contract of sweep.cuh."""
    words, variant, buffers = trial.words, trial.variant, trial.case.buffers
    owners, n = buffers["owners"], buffers["sums"].size
    opened = np.zeros(n, bool)
    opened[trial.active] = True
    opened &= buffers["refused"] == 0
    places = np.flatnonzero(owners >= 0)  # of this part
    assert out["taken"].sum() == out["taken"][places].sum(), words
    taken, owners = out["taken"][places], owners[places]
    valid = places % 5 != 2 if variant.holed else np.ones(owners.size, bool)
    degrees, some_valid = trial.degrees, np.bincount(owners, valid, n) > 0
    if variant.exits:
        wanted = buffers["wanted"][places].astype(bool)
        assert (taken <= opened[owners]).all(), words
        has_hit = np.bincount(owners, wanted, n) > 0
        got_hit = np.bincount(owners, wanted & (taken > 0), n) > 0
        assert (got_hit == (has_hit & opened)).all(), words
        whole_rows = ~has_hit[owners]
        assert (taken[whole_rows] == opened[owners][whole_rows]).all(), words
    else:
        assert (taken == (opened[owners] & valid)).all(), words
    if not variant.collects:
        return
    width = variant.lanes or trial.block
    weights = (places + 1) * (width * (width + 1) // 2)
    assert (out["sums"] == np.bincount(owners, weights * taken, n)).all(), words
    wholes, parts = out["wholes"], out["parts"]
    if schedule.rows == "whole":
        assert (wholes == opened).all() and not parts.any(), words
    elif schedule.rows == "split":
        assert not wholes.any(), words
        assert (parts[opened & some_valid] > 0).all(), words
        assert (parts <= degrees * opened).all(), words
    else:
        assert (wholes <= opened).all() and (parts <= degrees * opened).all(), words
        assert ((wholes > 0) != (parts > 0))[opened].all(), words


def run_all(schedule, wanted, sanitizer):
    wanted = list(wanted)
    outcome = program(schedule.name, sanitizer).run([t.case for t in wanted], timeout_s=120)
    for one, out in zip(wanted, outcome.outputs, strict=False):
        check(schedule, one, out)
    if outcome.report is not None:
        pytest.fail(f"{wanted[outcome.report.case].words}\n{outcome.report.text}")
    assert len(outcome.outputs) == len(wanted)


@pytest.mark.parametrize("name", SCHEDULES)
def test_every_active_arc_once(name, compile_cuda):
    schedule = SCHEDULES[name]
    run_all(schedule, trials(schedule, variants(schedule)), "address")


@pytest.mark.parametrize("name", SCHEDULES)
def test_no_races(name, compile_cuda):
    schedule = SCHEDULES[name]
    chosen = [v for v in variants(schedule) if in_selection(v)]
    names = ("hub", "gaps", "ends")
    kinds = [kind for kind in ("queue", "bitmap") if kind in schedule.inputs][:1]
    wanted = [
        trial(schedule, variant, graph_name, kind, frontier, turn)
        for variant, graph_name, kind in itertools.product(chosen, names, kinds)
        for turn, frontier in ((0, "all"), (1, "some"), (4, "all"))
    ]
    run_all(schedule, wanted, "thread")


@pytest.mark.parametrize("name", FORMATS)
def test_formats_hold_every_arc_once(name, compile_cuda):
    """Also in int64; the kernel has compared sources and targets with those of the adjacency."""
    for graph_name, dtype in itertools.product(GRAPHS, ("int32", "int64")):
        targets = GRAPHS[graph_name][1]
        layout, parts = described(name, graph_name, dtype)
        held = sum((part.rows_at >= 0).astype(int) for part in parts)
        slots = np.arange(targets.size) if layout.places is None else layout.places()
        assert (held == (slots >= 0)).all()
        assert (np.sort(slots[slots >= 0]) == np.arange(targets.size)).all()
        kinds = [kind for kind in layout.format.kinds for _ in range(kind.copies)]
        for part, kind in zip(parts, kinds, strict=True):
            assert kind.virtual or (part.vertices == np.arange(part.vertices.size)).all()
            if kind.virtual and kind.expands:
                assert (part.listed == 1).all()
            rows = sum(np.bincount(other.vertices, minlength=part.whole.size) for other in parts)
            assert (part.whole == (rows == 1) * kind.wholes).all()


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("graph_name", GRAPHS)
def test_formats_give_their_arcs_back(name, graph_name):
    offsets, targets = GRAPHS[graph_name]
    layout = choose(SMALL[name]).build(offsets, targets, np)
    sources, found = layout.format.to_coo(layout, offsets, targets, np)
    owners = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
    assert sources.dtype == found.dtype == targets.dtype
    wanted, got = np.lexsort((targets, owners)), np.lexsort((found, sources))
    assert (sources[got] == owners[wanted]).all() and (found[got] == targets[wanted]).all()


def test_unknown_names_are_answered_with_the_known_ones():
    with pytest.raises(ConfigError, match=r"schedule='wrap' is not known.*Did you mean 'warp'\?"):
        schedule_named("wrap")
    with pytest.raises(ConfigError, match="format='csx' is not known"):
        format("csx")
    assert schedule_named("warp").struct == "WarpSchedule"


@pytest.mark.parametrize("name", SCHEDULES)
def test_headers_include_nothing_foreign(name):
    """NVRTC finds no header of a toolkit or of the C++ library."""
    known = {"device.cuh", "sweep.cuh", "rows.cuh", *SCHEDULES[name].headers}
    for text in SCHEDULES[name].headers.values():
        assert set(re.findall(r"#include (.*)", text)) <= {f'"{header}"' for header in known}
        assert "std::" not in text
