"""Generation of CUDA C++ from a planned program."""
