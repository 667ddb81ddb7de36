"""Memory layouts of a graph's arcs: one module and one CUDA header per format."""

from weft.formats.base import DEFAULT_FORMAT, Format, choose, format, formats, register

__all__ = ["DEFAULT_FORMAT", "Format", "choose", "format", "formats", "register"]
