"""Checks and facts of the IR: verification, keys, ranges, printed form."""
