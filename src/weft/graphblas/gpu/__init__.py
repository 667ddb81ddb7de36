"""Entries in the memory of a GPU, and kernels of their own for products of matrices."""
