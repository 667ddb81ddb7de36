"""The facts that a backend reports about its kernels."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class KernelFacts:
    """One kernel as it would be launched; None stands for what is not known in the emulation.

    Attributes
    ----------
    name
        Of the kernel in the source.
    phases
        The phases of the machine that it holds.
    registers, spilled_bytes
        Of one thread.
    shared_bytes
        Of one block, static and dynamic.
    blocks_per_multiprocessor
        How many blocks a multiprocessor holds at once: a fraction where clusters do not fill it.
    occupancy
        The share of the threads that a multiprocessor can hold which these blocks have.
    grid, block, cluster
        Blocks, threads of a block, blocks of a cluster.
    limit
        What keeps the grid from being larger: "registers", "shared memory", "blocks", "threads" or
        "clusters".
    hubs
        How many vertices a block keeps the gathered values of in shared memory.
    """

    name: str
    phases: tuple[str, ...]
    registers: int | None
    spilled_bytes: int | None
    shared_bytes: int
    blocks_per_multiprocessor: float | None
    grid: int
    block: int
    cluster: int
    limit: str | None
    occupancy: float | None = None
    hubs: int = 0

    def __str__(self) -> str:
        cluster = f" in clusters of {self.cluster}" if self.cluster > 1 else ""
        grid = f"grid of {counted(self.grid, 'block')}{cluster}"
        lines = [f"{self.name}: {grid}, {self.block} threads each"]
        if self.phases:
            lines.append(f"  phases: {', '.join(self.phases)}")
        else:
            lines.append("  no phase: decides which one is next")
        shared = f"{self.shared_bytes} bytes of shared memory a block"
        if self.hubs:
            shared += f" with a table of {counted(self.hubs, 'hub')}"
        if self.registers is None:
            lines.append(f"  {shared}; registers are not known in the emulation")
        else:
            spills = f"{self.spilled_bytes} bytes of local memory (spills)"
            lines.append(f"  {self.registers} registers and {spills} a thread, {shared}")
        if self.blocks_per_multiprocessor is not None:
            held = f"{self.blocks_per_multiprocessor:.4g} blocks a multiprocessor"
            lines.append(f"  {held} (occupancy {self.occupancy:.0%}), limited by {self.limit}")
        return "\n".join(lines)


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural where that is right."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
