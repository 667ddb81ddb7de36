"""Compiled functions that generated CPU code calls."""
