"""Views of masks: the places that may be written."""

from __future__ import annotations

from typing import Any

from weft.graphblas.kernels.merge import locate
from weft.graphblas.storage.vector import VectorStore

Array = Any


class MaskView:
    """The places that a mask admits: those of a store, or the others.

    Parameters
    ----------
    store
        The vector's or matrix's entries.
    structure
        True if every stored place counts, False if only those with a value other than 0.
    complement
        Whether the other places are admitted.
    """

    __slots__ = ("_keys", "complement", "store", "structure")

    def __init__(self, store: Any, structure: bool, complement: bool) -> None:
        self.store = store
        self.structure = structure
        self.complement = complement
        self._keys: Array = None

    @property
    def keys(self) -> Array:
        """The ascending keys of the places that the mask names (complemented or not)."""
        if self._keys is None:
            keys = self.store.keys
            if not self.structure:
                chosen = self.store.values != 0
                keys = keys if chosen.all() else keys[chosen]
            self._keys = keys
        return self._keys

    @property
    def nvals(self) -> int:
        """The number of places that the mask names (complemented or not)."""
        return self.store.nvals if self.structure else len(self.keys)

    def entries(self) -> Any:
        """Return the entries of the store that the mask names."""
        store = self.store
        if self.structure:
            return store
        chosen = store.values != 0
        if chosen.all():
            return store
        if isinstance(store, VectorStore):
            return VectorStore(store.size, store.indices[chosen], store.values[chosen])
        return store.picked(chosen)

    def admits(self, keys: Array) -> Array:
        """Return whether the place of each key may be written."""
        store = self.store
        if isinstance(store, VectorStore) and (store.is_dense or store._present is not None):
            found = store.there()[keys]
            if not self.structure:
                found = found & (store.dense[keys] != 0)
        else:
            _, found = locate(self.keys, keys)
        return ~found if self.complement else found

    def named(self) -> Array:
        """Return whether the mask names each place of a vector (complemented or not)."""
        found = self.store.there()
        return found if self.structure else found & (self.store.dense != 0)

    def map(self) -> Array:
        """Return whether each place of a vector may be written."""
        return ~self.named() if self.complement else self.named()
