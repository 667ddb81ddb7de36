"""The engine: state, frontiers, and the execution of traced programs on a backend."""
