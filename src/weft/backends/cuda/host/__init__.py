"""The host side of the CUDA backend: options, compiling, binding, running."""
