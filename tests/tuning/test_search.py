"""The tuner's search, on times of our own."""

import math
import random

import pytest

import weft
from weft.schedules import schedules
from weft.tuning.search import coordinate_search, likely
from weft.tuning.space import GRASSEMBLER, GRASSEMBLER_SIZE, Traits, make_space

GPU = Traits("emulated", ("push", "pull"))


def drive(search, time_of):
    """Run a search on times of our own; return what it tried, in order."""
    tried = {}
    batch = next(search)
    while True:
        assert batch and not set(batch) & set(tried)
        tried.update({config: time_of(config) for config in batch})
        try:
            batch = search.send({config: tried[config] for config in batch})
        except StopIteration:
            return tried


def multiplied(space, seed):
    """Times that are a product over the axes; `edge` alone is fast with one format only."""
    numbers = random.Random(seed)
    factor = {}
    for axis in space.axes:
        for value in (*axis.values, None):
            factor[axis.name, value] = numbers.choice([1.2, 1.5, 2.0])
        factor[axis.name, numbers.choice(axis.values)] = 1.0
        if axis.field == "schedule":
            factor.update({(axis.name, value): 2.0 for value in (*axis.values, None)})
            factor[axis.name, "edge"] = 1.0

    def time_of(config):
        value = 1.0
        for axis in space.axes:
            if axis.field not in ("lanes", "items_per_thread") and space.applies(axis, config):
                value *= factor[axis.name, axis.get(config)]
        for axis in space.of_field("schedule"):
            if axis.side == "narrow":
                continue
            format_ = space.axis(f"format.{axis.side}").get(config)
            alone = axis.get(config) == "edge" and format_ != "coo"
            value *= 6.0 if alone and space.applies(axis, config) else 1.0
        return value

    for axis in space.of_field("format"):
        factor[axis.name, "coo"] = 1.0
    return time_of


@pytest.mark.parametrize("seed", range(5))
def test_the_search_finds_what_is_fast_together(seed):
    space = make_space(Traits("emulated", ("gather",)))
    time_of = multiplied(space, seed)
    tried = drive(coordinate_search(space, likely(space)), time_of)
    fastest = min(tried, key=tried.get)
    assert space.axis("schedule.gather").get(fastest) == "edge"
    assert space.axis("format.gather").get(fastest) == "coo"
    assert tried[fastest] == 1.0
    assert len(tried) < 600


def test_the_search_is_as_the_times_are():
    space = make_space(GPU)
    time_of = multiplied(space, 3)
    orders = [list(drive(coordinate_search(space, likely(space)), time_of)) for _ in range(2)]
    assert orders[0] == orders[1]
    assert orders[0][0] == weft.Config()


def test_the_search_never_asks_for_what_is_invalid(monkeypatch):
    from weft.schedules import base

    known = dict(schedules())
    monkeypatch.setattr(base, "_schedules", known)
    refuse = lambda format, lanes: "no" if format.name == "coo" else ""
    base.register(base.Schedule("mine", "", "Mine", refuse=refuse))
    space = make_space(GPU)
    tried = drive(coordinate_search(space, likely(space)), lambda config: 1.0)
    assert not any(space.why_not(config) for config in tried)
    assert any("mine" in str(config.schedule) for config in tried)


def test_the_search_ends_where_everything_fails():
    space = make_space(GPU)
    assert drive(coordinate_search(space, [weft.Config()]), lambda config: math.inf)


def test_starts_are_tried_first():
    space = make_space(GPU)
    known = weft.Config(compaction="jit", fuse="none")
    tried = drive(coordinate_search(space, [weft.Config(), known]), lambda config: 1.0)
    assert list(tried)[:2] == [weft.Config(), known]


def test_a_space_says_what_of_it_was_published():
    space = make_space(GPU)
    assert space.size > space.published >= GRASSEMBLER_SIZE
    assert "of them from the choices of GRAssembler, which reports 4,480" in str(space)
    assert "GRAssembler" not in str(make_space(Traits("cpu", ("push", "pull"))))
    for name, values in GRASSEMBLER.items():
        axes = [axis for axis in space.of_field(name) if not axis.side]
        assert all(set(values) <= set(axis.values) for axis in axes)


def test_counters_are_tried_where_nobody_reads_members():
    space = make_space(Traits("emulated", ("push", "pull"), read={"push": "all go on"}))
    assert "all go on" in space.why_not(weft.Config(frontier_out={"push": "counter"}))
    assert not space.why_not(weft.Config(frontier_out={"pull": "counter"}))
