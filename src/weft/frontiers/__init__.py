"""Frontiers: what the next one is, and how it is assembled."""
