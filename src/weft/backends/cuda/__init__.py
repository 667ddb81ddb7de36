"""The CUDA backend: device primitives, and their emulation on a machine without a GPU."""
