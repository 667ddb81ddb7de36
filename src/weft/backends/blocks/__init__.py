"""Partitioned graphs as a backend: sweeps run block by block, vertex functions in memory."""
