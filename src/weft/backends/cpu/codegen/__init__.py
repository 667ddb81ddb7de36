"""Generation of Numba source from a planned program."""
