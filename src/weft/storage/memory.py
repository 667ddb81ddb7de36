"""In-memory caches: bounded, and registered in one place so that they can be cleared together."""

from __future__ import annotations

import weakref
from typing import Any, Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")

_caches: weakref.WeakSet[Cache[Any, Any]] = weakref.WeakSet()


class Cache(dict[Key, Value], Generic[Key, Value]):
    """A dictionary of at most `most` entries; when it is full, the oldest half is dropped.

    Parameters
    ----------
    name
        Name shown by `cache_sizes`.
    most
        Maximum number of entries.

    Examples
    --------
    >>> squares = Cache("squares", most=2)
    >>> for n in range(3):
    ...     squares[n] = n * n
    >>> squares
    {1: 1, 2: 4}
    """

    def __init__(self, name: str, most: int) -> None:
        super().__init__()
        self.name, self.most = name, most
        _caches.add(self)

    def __setitem__(self, key: Key, value: Value) -> None:
        if len(self) >= self.most and key not in self:
            for old in list(self)[: max(1, self.most // 2)]:
                self.pop(old, None)
        super().__setitem__(key, value)

    def __hash__(self) -> int:  # type: ignore[override]
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other


def cache_sizes() -> dict[str, int]:
    """Return the number of entries of every in-memory cache, by name."""
    sizes: dict[str, int] = {}
    for cache in list(_caches):
        sizes[cache.name] = sizes.get(cache.name, 0) + len(cache)
    return dict(sorted(sizes.items()))


def clear_caches() -> None:
    """Clear weft's in-memory caches: traces, compiled programs, prepared runs.

    Only time is lost: the next call of a program traces it again and loads its compiled code from
    disk. Scratch memory that a graph keeps between runs is freed with the graph.

    Examples
    --------
    >>> import weft
    >>> weft.clear_caches()
    """
    for cache in list(_caches):
        cache.clear()
