"""Conversion from and to other libraries: SciPy, NetworkX, pandas, Arrow, DLPack."""
