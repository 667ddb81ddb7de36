"""Masks: which places an assignment may write."""

from __future__ import annotations

from typing import Any

from weft.graphblas.dtypes import BOOL
from weft.graphblas.kernels.masks import MaskView


class Mask:
    """The places of a vector or matrix that have a value, or a true one; or the other places.

    Made by ``M.S`` (structure), ``M.V`` (value) and ``~`` (complement). ``|`` and ``&`` unite and
    intersect masks.
    """

    __slots__ = ("__weakref__", "parent")
    complement = False
    structure = False
    value = True

    def __init__(self, parent: Any) -> None:
        self.parent = parent

    def __repr__(self) -> str:
        letter = "S" if self.structure else "V"
        return f"{'~' if self.complement else ''}{self.parent.name}.{letter}"

    @property
    def name(self) -> str:
        """The notation of the mask."""
        return repr(self)

    def __invert__(self) -> Mask:
        return _KINDS[self.structure, not self.complement](self.parent)

    def __bool__(self) -> bool:
        raise TypeError(f"__bool__ not defined for objects of type {type(self).__name__}.")

    def __eq__(self, other: object) -> bool:
        raise TypeError(f"__eq__ not defined for objects of type {type(self).__name__}.")

    __hash__ = None  # type: ignore[assignment]

    def view(self, store: Any = None) -> MaskView:
        """Return the view of the mask, now or for a store of its parent."""
        return MaskView(
            self.parent._store if store is None else store, self.structure, self.complement
        )

    def new(
        self,
        dtype: Any = None,
        *,
        complement: bool = False,
        mask: Any = None,
        name: str | None = None,
        **opts: Any,
    ) -> Any:
        """Return an object that is true at the places of the mask.

        Parameters
        ----------
        dtype
            Its type; BOOL if not given.
        complement
            Whether to take the other places instead.
        mask
            A second mask; both have to admit a place.
        name
            The name of the result.
        """
        parent = self.parent
        first: Mask = self
        if mask is None:
            out = type(parent)(BOOL if dtype is None else dtype, *parent.shape, name=name)
            target = ~first if complement else first
            out(target)[...] = True
            return out
        other = check_mask(mask, parent)
        both = type(parent)(BOOL if dtype is None else dtype, *parent.shape, name=name)
        both(first)[...] = True
        both(other, replace=True) << both
        if complement:
            out = type(parent)(both.dtype, *parent.shape, name=name)
            out(~both.S)[...] = True
            return out
        return both

    def _combined(self, other: Any, union: bool) -> Mask:
        other = check_mask(other, self.parent)
        parent = self.parent
        out = type(parent)(BOOL, *parent.shape)
        out(self)[...] = True
        if union:
            out(other)[...] = True
        else:
            out(other, replace=True) << out
        return StructuralMask(out)

    def __or__(self, other: Any) -> Any:
        return self._combined(other, union=True)

    __ror__ = __or__

    def __and__(self, other: Any) -> Any:
        return self._combined(other, union=False)

    __rand__ = __and__


class StructuralMask(Mask):
    """The places that have a value."""

    __slots__ = ()
    structure, value = True, False


class ValueMask(Mask):
    """The places that have a value other than 0."""

    __slots__ = ()


class ComplementedStructuralMask(Mask):
    """The places that have no value."""

    __slots__ = ()
    complement, structure, value = True, True, False


class ComplementedValueMask(Mask):
    """The places that have no value, or 0."""

    __slots__ = ()
    complement = True


_KINDS: dict[tuple[bool, bool], type[Mask]] = {
    (False, False): ValueMask,
    (True, False): StructuralMask,
    (False, True): ComplementedValueMask,
    (True, True): ComplementedStructuralMask,
}


def check_mask(mask: Any, output: Any = None) -> Mask:
    """Return a mask; boolean objects stand for their value masks."""
    if not isinstance(mask, Mask):
        if getattr(mask, "_output", None) not in {"Vector", "Matrix"}:
            raise TypeError(f"Invalid mask: {type(mask).__name__}. Give M.S, M.V, ~M.S or ~M.V.")
        if mask.dtype is not BOOL:
            raise TypeError(
                f"Mask must be boolean objects (got {mask.dtype}) or indicate values (M.V) or "
                "structure (M.S)."
            )
        mask = mask.V
    if output is not None and output.ndim == 1 and mask.parent.ndim != 1:
        raise TypeError(f"Mask object must be type Vector; got {type(mask.parent).__name__}.")
    return mask
