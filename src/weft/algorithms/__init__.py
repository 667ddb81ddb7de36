"""Graph algorithms, one file each, written as traced programs."""
