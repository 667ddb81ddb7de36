"""A small, fixed part of what ``python -m tests.fuzz`` runs, and the command itself.

Seeds are taken from groups whose kernels compile quickly.
"""

import pytest

from fuzz.cases import GROUP, run_case
from fuzz.command import main


def check(kind, seeds):
    wrong = [o for o in (run_case(kind, seed) for seed in seeds) if o.verdict == "different"]
    assert not wrong, "\n".join(f"{o.kind} {o.seed}: {o.text}" for o in wrong)


@pytest.mark.parametrize("group", [0, 5, 9])
def test_algorithms(group):
    check("algorithms", range(group * GROUP, group * GROUP + 25))


@pytest.mark.parametrize("group", [0, 1])
def test_programs(group):
    check("programs", range(group * GROUP, group * GROUP + 20))


def test_files_and_the_command(capsys):
    status = main(["--kinds", "files", "--seed", "300", "--cases", "150", "--jobs", "1"])
    output = capsys.readouterr().out
    assert status == 0, output
    assert "150 cases" in output
