"""Conversion between graphs and other libraries: SciPy, NetworkX, tables, tensors."""
