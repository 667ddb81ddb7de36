"""Segments of an array as the rows of a graph, for transforms over a partition of the user's."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.arrays.device import as_array, device_of, to_host
from weft.errors import GraphError, shortened
from weft.graph import Graph


def segments(offsets: Any) -> Graph:
    """Return a graph whose row i is the segment from ``offsets[i]`` to ``offsets[i + 1]``.

    Every element of the segmented array is an arc; `lbs_transform` and `segreduce_transform` take
    it as idx. So a partition of any work into segments is balanced like the arcs of a frontier.

    Examples
    --------
    >>> from weft.operators import segments
    >>> segments([0, 2, 2, 5]).out_degree.tolist()
    [2, 0, 3]
    """
    bounds = to_host(as_array(offsets))
    whole = bounds.ndim == 1 and bounds.size and bounds.dtype.kind in "iu"
    if not whole or bounds[0] != 0 or np.any(bounds[1:] < bounds[:-1]):
        raise GraphError(
            f"offsets={shortened(offsets)} cut no array into segments. Expected integers that "
            f"begin with 0 and do not fall."
        )
    sizes = np.diff(bounds)
    src = np.repeat(np.arange(sizes.size), sizes)
    return Graph.from_edges(
        src, src, num_vertices=sizes.size, keep="out", device=device_of(offsets)
    )
