"""Device primitives for generated CUDA and a host emulation that runs them under sanitizers."""
