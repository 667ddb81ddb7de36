"""python-graphblas's own tests pass: all of the stored list, in both modes of execution."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("graphblas")
HERE = Path(__file__).parent
SOURCE = HERE.parents[1] / "src"
PASSES = (HERE / "judge_passes.txt").read_text().split("\n")
# What does not pass, each with its reason.
LEFT = dict(
    line.split(" ", 1) for line in (HERE / "judge_left.txt").read_text().splitlines() if line
)


@pytest.fixture(scope="module", params=["1", "0"], ids=["blocking", "non-blocking"])
def outcomes(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("judge")
    (folder / "pytest.ini").write_text("[pytest]\n")
    environment = {
        **os.environ,
        "PYTHONPATH": f"{SOURCE}{os.pathsep}{HERE}",
        "JUDGE_FOLDER": str(folder),
        "JUDGE_BLOCKING": request.param,
        "JUDGE_OUTCOMES": str(folder / "outcomes.txt"),
    }
    command = [sys.executable, "-m", "pytest", "-p", "judge", "-p", "no:cacheprovider", "-q"]
    command += ["-c", "pytest.ini", "gbtests"]
    (folder / "gbtests").mkdir()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert (folder / "outcomes.txt").exists(), done.stdout + done.stderr
    found = {}
    for line in (folder / "outcomes.txt").read_text().splitlines():
        outcome, name = line.split(" ", 1)
        found[name] = outcome
    return found


def test_all_stored_tests_pass(outcomes):
    lost = [name for name in PASSES if name and outcomes.get(name) != "passed"]
    assert not lost, f"{len(lost)} tests no longer pass: {lost}"


def test_the_rest_has_reasons(outcomes):
    failed = {name for name, outcome in outcomes.items() if outcome == "failed"}
    assert failed == set(LEFT)


def test_most_tests_that_use_public_names_pass():
    assert len([name for name in PASSES if name]) >= 332
