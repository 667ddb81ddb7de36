"""Text of generated modules of Python: compound statements."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from weft.backends.emit import text


class Emitter(text.Emitter):
    """Collects lines of Python at the present indentation."""

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Append a compound statement; lines inside belong to it."""
        self.line(head)
        with self.indented():
            before = len(self.lines)
            yield
            if len(self.lines) == before:
                self.line("pass")


Arguments = text.Arguments

__all__ = ["Arguments", "Emitter"]
