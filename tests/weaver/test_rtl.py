"""The RTL against the unit model, every output of every cycle."""

import random

import pytest

pytest.importorskip("amaranth")

from weft.weaver.core import Round, golden_round, model
from weft.weaver.cosim import compare
from weft.weaver.faults import Fault, WeaverError
from weft.weaver.synthesis import verilog
from weft.weaver.unit import Inputs, Parameters

P = Parameters(lanes=4, warps=4, entries=16, latency=2, id_bits=12)


def drawn_round(rng, p):
    rows = []
    for warp in rng.sample(range(p.rows), rng.randint(0, p.rows)):
        lanes = [
            (rng.randint(0, 9), rng.randint(0, 1000), rng.choice([0, 1, 2, 9]))
            if rng.random() < 0.7 else None
            for _ in range(p.lanes)
        ]  # fmt: skip
        rows.append((warp, lanes))
    skips = [(rng.randint(0, 9), rng.randint(0, 4)) for _ in range(rng.randint(0, 3))]
    return Round(rows, rng.sample(range(p.warps), rng.randint(1, p.warps)), skips)


def drawn_log(seed, p):
    """Return what a model was given and told in one or two random rounds."""
    rng = random.Random(seed)
    core = model(
        p, keep_log=True, busy=rng.choice([0, 0.3]), thinking=rng.choice([0, 5]), seed=seed
    )
    for _ in range(rng.randint(1, 2)):
        core.play(drawn_round(rng, p))
    return core.log


def faulty_logs():
    """Return a log for each fault, a few cycles longer than the fault."""
    found = {}
    for rows, first in (
        ([(3, [(0, 0, 1)] * 2)], None),
        ([(0, [(0, 0, -1)])], None),
        ([(0, [(0, 5000, 1)])], None),
        ([(0, [(0, 0, 1)]), (0, [(0, 0, 1)])], None),
        ([], Inputs(decode=1)),
        ([], Inputs(locate=2)),
    ):
        p = Parameters(lanes=2, warps=4, entries=6, latency=2, id_bits=12)
        core = model(p, keep_log=True)
        with pytest.raises(WeaverError) as caught:
            if first is not None:
                core.cycle(first)
            core.play(Round(rows, [0]))
        found.setdefault(p, []).append((caught.value.fault, core.log))
    return found


def test_golden_trace_in_model_and_rtl():
    core = model(P, keep_log=True)
    core.play(golden_round())
    assert compare(P, [core.log]) == []


@pytest.mark.parametrize("ahead", [True, False])
def test_random_rounds_in_model_and_rtl(ahead):
    p = Parameters(lanes=2, warps=4, entries=8, latency=2, id_bits=12, read_ahead=ahead)
    logs = [drawn_log(seed, p) for seed in range(100)]
    assert compare(p, logs) == []


def test_faults_in_model_and_rtl():
    seen = set()
    for p, pairs in faulty_logs().items():
        assert compare(p, [log for _, log in pairs]) == []
        seen |= {fault for fault, _ in pairs}
    assert seen == set(Fault) - {Fault.NONE}


def test_a_difference_is_found():
    core = model(P, keep_log=True)
    core.play(golden_round())
    _given, out = core.log[15]
    out.decode_ready = not out.decode_ready
    (found,) = compare(P, [core.log])
    assert "cycle 15: decode_ready" in found


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(20))
def test_ten_thousand_random_rounds(batch):
    lanes = (2, 4)[batch % 2]
    p = Parameters(lanes=lanes, warps=4, entries=4 * lanes, latency=1 + batch % 4,
                   id_bits=12, read_ahead=batch % 3 != 0)  # fmt: skip
    assert compare(p, [drawn_log(10_000 + 500 * batch + k, p) for k in range(500)]) == []


def test_verilog_is_emitted():
    text = verilog(Parameters(lanes=2, warps=2, entries=4, id_bits=8))
    assert "module weaver(" in text and "input [1:0] reg_mask" in text
