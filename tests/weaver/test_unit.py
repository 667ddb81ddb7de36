"""The unit model: golden traces, properties of any round, and faults."""

from collections import Counter
from itertools import groupby

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.errors import ConfigError
from weft.weaver.core import Core, Round, golden_round, model, rows_of
from weft.weaver.faults import Fault, WeaverError
from weft.weaver.unit import Inputs, Parameters, State, Unit

P = Parameters(lanes=4, warps=4, entries=16, latency=3, id_bits=16)


def trace(core):
    return " ".join(state.name for state, _ in groupby(core.states))


def test_golden_example_and_its_states():
    core = model(P)
    work = core.play(golden_round())
    assert work == [(1, [0, 2, 2, 4], [2, 10, 11, 30]), (0, [4, 4, 4, 4], [31, 32, 33, 34])]
    # The states up to S8, as the specification lists them; then every warp is answered -1.
    assert trace(core) == "S0 S1 S2 S3 S4 S2 S3 S4 S2 S5 S6 S2 S5 S6 S7 S8"
    assert core.cycle(Inputs()).state == State.S0


def test_order_of_registrations_does_not_matter():
    core = model(P)
    for warp in (0, 2, 1):
        core.register(warp, [(10 * warp + lane, 100 * warp, 1) for lane in range(4)])
    rows = P.rows
    assert core.memory.rows[2] == [20, 21, 22, 23]  # entries 8 to 11 are those of warp 2
    assert core.memory.rows[rows + 2] == [200] * 4
    core.barrier(1)
    work = list(core._distribute(Round([], [3])))
    assert [vids for _, vids, _ in work] == [[w * 10 + k for k in range(4)] for w in (0, 1, 2)]


@st.composite
def rounds(draw, p=P):
    """Draw a round: registrations in any order, warps that ask in any order, skips."""
    row = st.tuples(st.integers(0, 9), st.integers(0, 500), st.integers(0, 11))
    lanes = st.lists(st.one_of(st.none(), row), min_size=p.lanes, max_size=p.lanes)
    who = draw(st.lists(st.integers(0, p.rows - 1), unique=True))
    warps = draw(st.lists(st.integers(0, p.warps - 1), unique=True, min_size=1))
    skipped = st.tuples(st.integers(0, 9), st.integers(0, 4))
    skips = draw(st.lists(skipped, max_size=p.skips, unique_by=lambda pair: pair[0]))
    return Round([(warp, draw(lanes)) for warp in who], warps, skips)


def expected(round_):
    """Return all (VID, EID) of a round in ST order."""
    rows = [row for _, lanes in sorted(round_.rows) for row in lanes if row is not None]
    return [(vid, loc + k) for vid, loc, deg in rows for k in range(deg)]


def check(round_, work):
    handed = [pair for _, vids, eids in work for pair in zip(vids, eids, strict=True)]
    everything = expected(round_)
    skipped = {vid for vid, _ in round_.skips}
    assert not Counter(handed) - Counter(everything)  # nothing twice, nothing invented
    missing = Counter(everything) - Counter(handed)
    assert {vid for vid, _ in missing} <= skipped
    rest = iter(everything)
    assert all(pair in rest for pair in handed)  # the order is that of ST
    assert all(len(vids) == P.lanes for _, vids, _ in work[:-1])


@given(rounds(), rounds(), st.booleans(), st.sampled_from([0.0, 0.4]), st.integers(0, 6))
@settings(max_examples=150, deadline=None)
def test_rounds_hand_out_every_arc_once(first, second, ahead, busy, thinking):
    p = Parameters(lanes=4, warps=4, entries=16, latency=3, id_bits=16, read_ahead=ahead)
    core = model(p, busy=busy, thinking=thinking, seed=len(first.rows))
    for round_ in (first, second):
        check(round_, core.play(round_))


def test_skip_drops_what_is_left():
    hub = Round(rows_of(P, [(7, 0, 40), (8, 100, 2)]), [0], [(7, 1), (7, 2)])
    work = model(P).play(hub)
    handed = [pair for _, vids, eids in work for pair in zip(vids, eids, strict=True)]
    assert handed[:4] == [(7, k) for k in range(4)] and handed[-2:] == [(8, 100), (8, 101)]
    assert len(handed) < 42


@pytest.mark.parametrize(
    ("rows", "fault"),
    [
        ([(4, [(0, 0, 1)])], Fault.TABLE_OVERFLOW),
        ([(0, [(0, 0, -1)])], Fault.NEGATIVE_DEGREE),
        ([(0, [(1 << 16, 0, 1)])], Fault.ID_TOO_WIDE),
        ([(0, [(0, 1 << 16, 1)])], Fault.ID_TOO_WIDE),
        ([(0, [(0, 0, 1)]), (0, [(0, 0, 1)])], Fault.SECOND_REGISTRATION),
    ],
)
def test_faults_of_registrations(rows, fault):
    small = Parameters(lanes=4, warps=8, entries=16, latency=3, id_bits=16)
    with pytest.raises(WeaverError, match=fault.name) as caught:
        model(small).play(Round(rows, [0]))
    assert caught.value.fault == fault


def test_decode_before_the_barrier_is_a_fault():
    core = model(P)
    core.cycle(Inputs(decode=2))
    with pytest.raises(WeaverError, match="warp 2") as caught:
        core.cycle(Inputs())
    assert caught.value.fault == Fault.DECODE_BEFORE_BARRIER


def test_locations_without_ids_are_a_fault():
    core = model(P)
    core.barrier(1)
    core.cycle(Inputs(locate=1))
    with pytest.raises(WeaverError) as caught:
        core.cycle(Inputs())
    assert caught.value.fault == Fault.LOC_WITHOUT_ID


def test_registration_waits_for_the_end_of_the_round():
    core = Core(Unit(P))
    core.register(0, [(1, 0, 2)])
    core.barrier(2)
    row = (0, 1, [5, 0, 0, 0], [0] * 4, [1, 0, 0, 0])
    assert not any(core.cycle(Inputs(reg=row, decode=0 if k == 0 else None)).reg_ready
                   for k in range(60))  # fmt: skip
    for warp in (0, 1):  # both are answered -1
        core.cycle(Inputs(decode=warp))
    assert any(core.cycle(Inputs(reg=row)).reg_ready for _ in range(20))


@pytest.mark.parametrize("wrong", [{"lanes": 0}, {"entries": 30}, {"id_bits": 64}])
def test_impossible_sizes_are_refused(wrong):
    with pytest.raises(ConfigError, match="Expected"):
        Parameters(**{"lanes": 4, "entries": 16} | wrong)
