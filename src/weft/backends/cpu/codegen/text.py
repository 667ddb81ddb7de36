"""Text of generated modules: indented lines, and the arguments that the code asks for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np


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
    def block(self, head: str) -> Iterator[None]:
        """Append a compound statement; lines inside belong to it."""
        self.line(head)
        self._depth += 1
        before = len(self.lines)
        yield
        if len(self.lines) == before:
            self.line("pass")
        self._depth -= 1

    def text(self) -> str:
        """Return the source."""
        return "\n".join(self.lines) + "\n"


class Arguments:
    """The parameters of a kernel: each is named on first use and bound when the kernel is called.

    A binding is a tuple whose first part says what it is, e.g. ("field", "rank").
    """

    renumbered = False  # vertices lie in another order than the user's: ids are looked up

    def __init__(self) -> None:
        self.bindings: dict[str, tuple[Any, ...]] = {}

    def use(self, *binding: Any) -> str:
        """Return the parameter that holds what the binding describes."""
        name = "_".join(_part(part) for part in binding if part is not None and part != "")
        if binding[0] == "far":
            name = "far_a" if binding[1] == 0 else "far_b"
        known = self.bindings.setdefault(name, binding)
        if known != binding:
            name = f"{name}_{len(self.bindings)}"
            self.bindings[name] = binding
        return name


_SHORT = {"field": "f", "next": "new", "column": "col", "constant": "c", "scalar": "s"}


def _part(part: Any) -> str:
    if isinstance(part, np.dtype):
        return str(part.name)
    text = _SHORT.get(str(part), str(part))
    return re.sub(r"\W", "_", text)
