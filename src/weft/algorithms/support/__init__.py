"""Code shared by several algorithms, and parts of larger algorithms."""
