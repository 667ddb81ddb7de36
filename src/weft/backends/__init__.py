"""Backends: what renders, compiles and launches typed IR on a kind of device."""
