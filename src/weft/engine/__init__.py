"""The engine: state, frontiers, and the running of traced programs on a backend."""
