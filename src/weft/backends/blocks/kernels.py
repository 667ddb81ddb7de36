"""The kernels that sweep a block, as every carrier uses them: those of the CPU backend."""

from weft.backends.cpu.host.block_run import BlockRun, BlockSpace

__all__ = ["BlockRun", "BlockSpace"]
