"""The programs of the contract tests as CUDA in the emulation, compared with the interpreter.

The tests are those of `tests/contract`, run on another device. Those that are about the CPU alone
are left out, and those that say little more than others do are marked slow.
"""

from importlib import import_module
from types import FunctionType

import pytest

from agreement import on_device
from weft.backends.cuda.host import options as choices

MODULES = (
    "change_driven", "corpus", "endings", "features", "folding", "formats", "group",
    "live_fields", "operand_reuse", "ordering", "own_features", "products", "rules_engine",
    "rules_graph", "rules_messages", "rules_running", "second_buffers",
)  # fmt: skip
# Of threads, of caches, of a processor's schedules, of tracing; or run by algorithms on a CPU.
CPU_ONLY = ("rule_14", "rule_30", "rule_31", "rule_37", "rule_45", "threads_have_scratch")
SLOW = (
    "active_sees", "any_takes", "deterministic_ties", "float32", "gathers_of_vectors",
    "gathers_of_weights", "in_place", "linear_algebra", "messages_of_features", "old_vectors",
    "ops_on", "others_see_live", "programs_with_second", "rule_02", "rule_08", "rule_11",
    "rule_12", "rule_15", "rule_19", "rule_21_zeros", "rule_26_an", "rule_35",
    "rule_36", "vectors_of_edges", "write_once",
)  # fmt: skip

contract = import_module("contract.conftest")
g, chain, path = contract.g, contract.chain, contract.path


def _copied(test):
    """Return a function with marks of its own."""
    copy = FunctionType(test.__code__, test.__globals__, test.__name__, test.__defaults__,
                        test.__closure__)  # fmt: skip
    copy.__dict__.update(test.__dict__)
    return copy


for _module in MODULES:
    for _name, _test in vars(import_module(f"contract.test_{_module}")).items():
        if _name.startswith("test_") and not any(word in _name for word in CPU_ONLY):
            _slow = any(word in _name for word in SLOW)
            globals()[_name] = pytest.mark.slow(_copied(_test)) if _slow else _copied(_test)


@pytest.fixture(autouse=True)
def _in_the_emulation(monkeypatch):
    monkeypatch.setattr(choices, "LANE_BYTES", 1)  # groups share those of small tests too
    with on_device("emulated"):
        yield
