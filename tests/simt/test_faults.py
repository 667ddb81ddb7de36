"""Faults planted in kernels are reported with their lines; their clean twins report nothing."""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from weft.backends.cuda.emulator.build import Case, Launch

SOURCE = Path(__file__).with_name("faults.cu")
BLOCK = 64
BOTH = ("address", "thread")


@dataclass(frozen=True)
class Fault:
    """A planted fault: who must report it as what, and how its kernel is launched."""

    name: str
    kinds: tuple[str, ...]
    sanitizers: tuple[str, ...] = BOTH
    more_args: bool = False
    shape: tuple[tuple[str, object], ...] = ()
    seeds: tuple[int, ...] = (0, 1)
    right: bool = True  # the clean twin copies `in` to `out`

    def launch(self, planted):
        args = ("in", "out", "data", "word") if self.more_args else ("in", "out")
        kernel = f"{self.name}<{'true' if planted else 'false'}>"
        return Launch(kernel, args, block=BLOCK, **dict(self.shape))


ADDRESS, THREAD, TWO_BLOCKS = ("address",), ("thread",), (("grid", 2),)
FAULTS = (
    Fault("reuse_shared", ("data-race",), THREAD, seeds=(0, 1, 2, 3), right=False),
    Fault("missing_sync_warp", ("data-race",), THREAD, seeds=(0, 1, 2, 3), right=False),
    Fault("unfenced_flag", ("data-race",), THREAD, True, TWO_BLOCKS, right=False),
    Fault("unfenced_reader", ("data-race",), THREAD, True, TWO_BLOCKS, right=False),
    Fault("early_fence", ("data-race",), THREAD, True, TWO_BLOCKS, right=False),
    Fault("narrow_fence", ("data-race",), THREAD, True, TWO_BLOCKS, right=False),
    Fault(
        "missing_sync_grid",
        ("data-race",),
        THREAD,
        True,
        (("grid", 2), ("cooperative", True)),
    ),
    Fault("same_value", ("data-race",), THREAD, right=False),
    Fault("global_bounds", ("heap-buffer-overflow",), ADDRESS),
    Fault("atomic_bounds", ("heap-buffer-overflow",), ADDRESS),
    Fault("shared_bounds", ("heap-buffer-overflow",), ADDRESS),
    Fault("array_bounds", ("heap-buffer-overflow",), ADDRESS),
    Fault("dynamic_bounds", ("heap-buffer-overflow",), ADDRESS, shape=(("shared_bytes", 256),)),
    Fault("signed_overflow", ("undefined",), ADDRESS, right=False),
    Fault("skipped_barrier", ("skipped-barrier",)),
    Fault("divergent_barrier", ("divergent-barrier",)),
    Fault("exited_lane", ("exited-lane",)),
    Fault("missing_caller", ("mask-without-caller",)),
    Fault("divergent_masks", ("divergent-mask",)),
    Fault("crossed_waits", ("deadlock", "divergent-barrier")),
    Fault("endless_spin", ("deadlock",), more_args=True, shape=TWO_BLOCKS),
    Fault("misaligned_word", ("misaligned",), right=False),
    Fault(
        "left_cluster",
        ("heap-use-after-free",),
        ADDRESS,
        shape=(("grid", 2), ("cluster", 2)),
        seeds=(0,),
    ),
    Fault("trapped", ("trap",)),
)
KERNELS = [f"{fault.name}<{twin}>" for fault in FAULTS for twin in ("true", "false")]


def buffers():
    return {
        "in": np.arange(1, BLOCK + 1, dtype=np.int32),
        "out": np.zeros(BLOCK, np.int32),
        "data": np.zeros(2 * BLOCK, np.int32),
        "word": np.zeros(1, np.uint32),
    }


def marked_lines(name):
    """The lines of the source that a report of this fault may name."""
    lines = SOURCE.read_text(encoding="utf-8").splitlines()
    mark = re.compile(rf"// reports {name}$")
    return {number for number, line in enumerate(lines, 1) if mark.search(line)}


@pytest.mark.parametrize(
    ("fault", "sanitizer"),
    [(fault, sanitizer) for fault in FAULTS for sanitizer in fault.sanitizers],
    ids=lambda value: getattr(value, "name", value),
)
def test_a_planted_fault_is_reported_with_its_line(fault, sanitizer, compile_cuda):
    program = compile_cuda("faults", KERNELS, sanitizer)
    lines = marked_lines(fault.name)
    assert lines
    for seed in fault.seeds:
        report = program.run([Case(buffers(), [fault.launch(planted=True)], seed)]).report
        assert report is not None, f"nothing was reported with seed {seed}"
        assert report.kind in fault.kinds, report.text
        assert report.places and report.case == 0, report.text
        assert {file for file, _ in report.places} == {"faults.cu"}, report.text
        assert {line for _, line in report.places} <= lines, report.text


@pytest.mark.parametrize("sanitizer", BOTH)
def test_clean_twins_report_nothing(sanitizer, compile_cuda, run_cases):
    program = compile_cuda("faults", KERNELS, sanitizer)
    cases = [
        Case(buffers(), [fault.launch(planted=False)], seed)
        for fault in FAULTS
        for seed in range(4)
    ]
    outputs = run_cases(program, cases)
    for case, out in zip(cases, outputs, strict=True):
        (fault,) = (f for f in FAULTS if f.launch(planted=False) == case.launches[0])
        if fault.right:
            assert (out["out"] == out["in"]).all(), fault.name


def test_the_result_of_a_missing_barrier_may_be_right(compile_cuda, run_cases):
    # So only ThreadSanitizer can tell.
    program = compile_cuda("faults", KERNELS, "address")
    cases = [Case(buffers(), [FAULTS[0].launch(planted=True)], seed) for seed in range(8)]
    for out in run_cases(program, cases):
        assert (out["out"] == 1).all()


def test_a_deadlock_names_who_waits_where(compile_cuda):
    program = compile_cuda("faults", KERNELS, "address")
    fault = next(f for f in FAULTS if f.name == "crossed_waits")
    report = program.run([Case(buffers(), [fault.launch(planted=True)])]).report
    assert report is not None and report.kind == "deadlock"
    assert "nobody can wake them" in report.message
    assert re.search(
        r"block 0, threads 0-15: waits at sync_block \(.*faults\.cu:\d+\)", report.text
    )
    assert re.search(r"threads 16-31: waits at sync_warp\(0xffffffff\) \(.*faults\.cu", report.text)


def test_a_grid_barrier_needs_a_cooperative_launch(compile_cuda):
    program = compile_cuda("faults", KERNELS, "none")
    launch = Launch("missing_sync_grid<false>", ("in", "out", "data", "word"), 20, BLOCK)
    large = {**buffers(), "data": np.zeros(20 * BLOCK, np.int32)}
    report = program.run([Case(large, [launch])]).report
    assert report is not None and report.kind == "deadlock"
    assert "the launch is not cooperative" in report.message


def test_cases_before_a_fault_keep_their_results(compile_cuda):
    program = compile_cuda("faults", KERNELS, "address")
    fault = next(f for f in FAULTS if f.name == "global_bounds")
    cases = [Case(buffers(), [fault.launch(planted)]) for planted in (False, False, True, False)]
    outcome = program.run(cases)
    assert len(outcome.outputs) == 2
    assert outcome.report is not None and outcome.report.case == 2
    assert (outcome.outputs[1]["out"] == outcome.outputs[1]["in"]).all()
