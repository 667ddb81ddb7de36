"""Products in kernels that weft's engine compiles from traced operators."""
