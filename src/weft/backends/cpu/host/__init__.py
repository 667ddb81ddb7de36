"""The host side of the CPU backend: compiling, binding, threads, running."""
