"""Small work without compiling: the IR evaluated on whole NumPy arrays, one sweep at a time."""
