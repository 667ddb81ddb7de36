"""Partitioned graphs: arcs in block files on disk, and how such files are made and read."""
