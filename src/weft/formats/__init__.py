"""How the arcs of a graph lie in memory: one module and one CUDA header per format."""

from weft.formats.base import Format, choose, format, formats, register

__all__ = ["Format", "choose", "format", "formats", "register"]
