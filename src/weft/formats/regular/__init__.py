"""Rows of regular degrees: how the arcs of a vertex are cut into rows of 32, 16, 8, 4, 2 and 1.

What the format cr2 is made of. An arc is *inside* if both ends lie in the same cluster of 2**bits
consecutive vertices; its far end is then stored as a number within the cluster. Arcs inside and
arcs between clusters are cut apart: of d arcs, d // 32 rows take 32 each, and each bit of d % 32 is
one row of that many.
"""

from weft.formats.regular.rows import CODES, MOST_BITS, Piece, cut, local_dtype

__all__ = ["CODES", "MOST_BITS", "Piece", "cut", "local_dtype"]
