"""Text of generated source: indented lines, and the arguments that the code asks for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

_SHORT = {"field": "f", "next": "new", "column": "col", "constant": "c", "scalar": "s"}


class Emitter:
    """Collects lines of source at the present indentation."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._depth = 0
        self._names = 0

    def line(self, text: str) -> None:
        """Append one line."""
        self.lines.append("    " * self._depth + text)

    def fresh(self, prefix: str = "t") -> str:
        """Return a name that was not used before."""
        self._names += 1
        return f"{prefix}{self._names}"

    @contextmanager
    def indented(self) -> Iterator[None]:
        """Indent the lines inside by one more step."""
        self._depth += 1
        yield
        self._depth -= 1

    def text(self) -> str:
        """Return the source."""
        return "\n".join(self.lines) + "\n"


class Arguments:
    """The arguments of a kernel: each is named on first use and bound when the kernel is called.

    A binding is a tuple whose first part says what it is, e.g. ("field", "rank").
    """

    prefix = ""  # what stands before a name where it is used
    renumbered = False  # vertices lie in another order than the user's: ids are looked up
    row_bits = False  # the dense beginnings of rows are at hand as bits

    def __init__(self) -> None:
        self.bindings: dict[str, tuple[Any, ...]] = {}

    def use(self, *binding: Any) -> str:
        """Return the argument that holds what the binding describes."""
        kind, *rest = binding
        parts = [_SHORT.get(kind, kind), *(part for part in rest if part is not None)]
        name = "_".join(_part(part) for part in parts if part != "")
        if kind == "far":
            name = "far_a" if binding[1] == 0 else "far_b"
        known = self.bindings.setdefault(name, binding)
        if known != binding:
            # Two names may look alike once they are identifiers.
            alike = [other for other, b in self.bindings.items() if b == binding]
            name = alike[0] if alike else f"{name}_{len(self.bindings)}"
            self.bindings[name] = binding
        return f"{self.prefix}{name}"


def ascii_name(name: str) -> str:
    """Return an identifier of ASCII characters for a name."""
    text = re.sub(r"\W", "_", name)
    return "".join(c if c.isascii() else f"_{ord(c):x}_" for c in text)


def _part(part: Any) -> str:
    return str(part.name) if isinstance(part, np.dtype) else ascii_name(str(part))
