"""The global memory of the modelled GPU: named buffers with words and addresses."""

from __future__ import annotations

from typing import Any

import numpy as np


class Memory:
    """The global memory of a run: named buffers of one word per element.

    `words` holds the elements of all buffers; addresses, which the caches see, follow from the
    widths that the elements would have.
    """

    ALIGNMENT = 256

    def __init__(self) -> None:
        self.words: Any = np.zeros(0, np.int64)
        self._where: dict[str, tuple[int, int, int, int, np.dtype[Any]]] = {}
        self._parts: list[Any] = []
        self._next_word = self._next_byte = 0

    def add(self, name: str, array: Any, nbytes: int | None = None) -> None:
        """Lay out an array under a name; `nbytes` is the width of an element, if not its own."""
        flat = np.ascontiguousarray(array).reshape(-1)
        size = nbytes or flat.dtype.itemsize
        self._where[name] = (self._next_word, self._next_byte, size, flat.size, flat.dtype)
        self._parts.append(as_words(flat))
        self._next_word += flat.size
        step = -(-flat.size * size // self.ALIGNMENT) + 1
        self._next_byte += step * self.ALIGNMENT

    def seal(self) -> None:
        """Make the memory of what was added."""
        self.words = np.concatenate([self.words, *self._parts]) if self._parts else self.words
        self._parts = []

    def __contains__(self, name: str) -> bool:
        return name in self._where

    def get(self, name: str) -> Any:
        """Return the elements of a buffer in their own dtype."""
        start, _, _, count, dtype = self._where[name]
        words = self.words[start : start + count]
        if dtype.kind == "f":
            return words.view(np.float64).astype(dtype)
        return words.view(np.uint64).astype(dtype) if dtype == np.uint64 else words.astype(dtype)

    def set(self, name: str, array: Any) -> None:
        """Replace the elements of a buffer."""
        start, _, _, count, dtype = self._where[name]
        self.words[start : start + count] = as_words(np.asarray(array, dtype).reshape(-1))

    def table(self, names: list[str]) -> Any:
        """Return first word, address, width and length of buffers, in the order of their names."""
        rows = [self._where[name][:4] for name in names]
        return np.array(rows or [(0, 0, 1, 0)], np.int64)


def as_words(flat: Any) -> Any:
    """Return elements as the words that registers hold."""
    if flat.dtype.kind == "f":
        return flat.astype(np.float64).view(np.int64)
    if flat.dtype == np.uint64:
        return flat.view(np.int64)
    return flat.astype(np.int64)
