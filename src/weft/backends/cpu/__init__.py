"""CPU backend: Numba kernels run by gangs of threads that meet at spin barriers."""
