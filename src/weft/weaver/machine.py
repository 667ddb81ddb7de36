"""The modelled GPU: its parameters, and the counters of a run."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Final

import numpy as np

from weft.errors import ConfigError
from weft.weaver.stream import Phase

# What a warp waits for, or a core that issues nothing.
CAUSES: Final = (
    "none", "arithmetic", "memory", "shared", "lsu_queue", "shared_port", "barrier", "weaver",
    "finished",
)  # fmt: skip
COUNTS: Final = (
    "instructions", "lane_instructions", "lines", "l1_hits", "l1_misses", "l2_hits", "l2_misses",
    "l3_hits", "l3_misses", "dram_lines", "atomics", "shared_reads", "shared_writes", "shuffles",
    "barriers", "registrations", "decodes", "skips", "eghw_batches", "iterations",
)  # fmt: skip


@dataclass(frozen=True)
class Machine:
    """Parameters of the modelled GPU; times are core cycles, except those of the DRAM.

    Sizes and counts without a remark are the thesis's default; docs/reference/weaver.md gives the
    source of each.
    """

    sockets: int = 2
    cores_per_socket: int = 3
    warps: int = 32
    threads: int = 32
    line_bytes: int = 64
    l1_bytes: int = 64 << 10
    l1_ways: int = 4
    l2_bytes: int = 1 << 20
    l2_ways: int = 8
    l2_banks: int = 8
    l3_bytes: int = 0  # 0: there is none
    l3_ways: int = 16
    mshrs: int = 64  # of an L1, all its banks together
    l2_mshrs: int = 128
    l1_latency: int = 4
    l2_latency: int = 20
    l3_latency: int = 40
    dram_latency: int = 100  # DRAM cycles
    dram_channels: int = 2
    dram_bytes_per_cycle: int = 16  # of a channel, a DRAM cycle
    clock_ratio: float = 1.0  # core cycles in a DRAM cycle
    shared_latency: int = 4
    shared_words: int = 4096
    lsu_queue: int = 8
    alu_latency: int = 2
    mul_latency: int = 4
    fpu_latency: int = 4
    divide_latency: int = 16
    function_latency: int = 16
    barrier_latency: int = 4
    shuffle_latency: int = 4
    branch_latency: int = 2
    launch_cycles: int = 50
    entries: int = 512
    table_latency: int = 10
    read_ahead: bool = True
    weaver_latency: int = 2  # from the unit to the registers, through the special-function unit
    skips: int = 4
    eghw_outstanding: int = 16  # reads in flight
    eghw_cycles_per_edge: int = 1

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            optional = each.name in ("l2_bytes", "l3_bytes", "read_ahead")
            if value < 0 or (value == 0 and not optional):
                raise ConfigError(f"{each.name}={value} of the machine is not possible.")
        if self.threads > 64:
            raise ConfigError(f"threads={self.threads} of a warp is too many. Expected up to 64.")
        if self.entries % self.threads:
            raise ConfigError(
                f"entries={self.entries} is not a multiple of threads={self.threads}. Expected "
                "whole rows of the sparse table."
            )

    @property
    def cores(self) -> int:
        """The number of cores."""
        return self.sockets * self.cores_per_socket

    def vector(self) -> Any:
        """Return the parameters as numbers, in the order of the fields."""
        values = [getattr(self, each.name) for each in fields(self)]
        values[_PLACE["clock_ratio"]] = round(self.clock_ratio * 1000)
        return np.array(values, np.int64)


_PLACE = {each.name: k for k, each in enumerate(fields(Machine))}


def place(name: str) -> int:
    """Return the position of a parameter in `Machine.vector`."""
    return _PLACE[name]


@dataclass
class Counters:
    """The counters of a run; the sum of two is that of running both in sequence."""

    cycles: int = 0
    phases: Any = field(default_factory=lambda: np.zeros(len(Phase), np.int64))  # core cycles
    stalls: Any = field(default_factory=lambda: np.zeros((len(Phase), len(CAUSES)), np.int64))
    idle: Any = field(default_factory=lambda: np.zeros(len(CAUSES), np.int64))
    counts: Any = field(default_factory=lambda: np.zeros(len(COUNTS), np.int64))
    reads: dict[str, int] = field(default_factory=dict)  # elements that lanes loaded, by buffer
    kernels: int = 0
    seconds: float = 0.0
    trace: list[Any] = field(default_factory=list)  # (core, warp, begin, end, phase), cycles

    def __iadd__(self, other: Counters) -> Counters:
        shift = self.cycles
        self.trace += [
            np.column_stack([rows[:, :2], rows[:, 2:4] + shift, rows[:, 4:]])
            for rows in other.trace
        ]
        self.cycles += other.cycles
        self.phases = self.phases + other.phases
        self.stalls = self.stalls + other.stalls
        self.idle = self.idle + other.idle
        self.counts = self.counts + other.counts
        for name, count in other.reads.items():
            self.reads[name] = self.reads.get(name, 0) + count
        self.kernels += other.kernels
        self.seconds += other.seconds
        return self

    def __getitem__(self, name: str) -> int:
        return int(self.counts[COUNTS.index(name)])

    def phase_cycles(self) -> dict[str, float]:
        """Return the cycles of the run by phase: each core's cycles, averaged over the cores."""
        total = max(1, int(self.phases.sum()))
        return {
            phase.name.lower(): float(self.phases[phase]) * self.cycles / total for phase in Phase
        }

    def stall_cycles(self) -> dict[str, int]:
        """Return the cycles that warps waited, by cause."""
        sums = self.stalls.sum(axis=0)
        return {cause: int(sums[k]) for k, cause in enumerate(CAUSES) if cause != "none"}

    def as_dict(self) -> dict[str, Any]:
        """Return everything but the trace, for JSON."""
        return {
            "cycles": self.cycles, "phases": self.phase_cycles(), "stalls": self.stall_cycles(),
            "counts": {name: self[name] for name in COUNTS}, "reads": dict(self.reads),
            "kernels": self.kernels,
        }  # fmt: skip
