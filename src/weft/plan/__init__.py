"""Planning: how the sweeps of a program may be carried out, independent of a backend."""
