"""Graphs in files: `read` and `write` choose the format by the suffix of the name."""

from weft.io.base import Format, Options, formats, known_suffixes, read, register, write

__all__ = ["Format", "Options", "formats", "known_suffixes", "read", "register", "write"]
