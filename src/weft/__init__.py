"""A programmable graph-processing framework for Python."""
