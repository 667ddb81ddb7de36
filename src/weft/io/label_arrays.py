"""Labels as arrays of numbers, for `.weft` files.

Integers and floats are stored as they are. Strings are stored as concatenated UTF-8 with their end
positions; other labels likewise as JSON, tuples as lists.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from weft.errors import GraphError
from weft.graph.labels import Labels, label_array
from weft.io.compression import Source
from weft.topology.adjacency import Array


def label_arrays(labels: Array | None) -> dict[str, Array]:
    """Return the arrays that represent labels; empty without labels."""
    if labels is None:
        return {}
    if labels.dtype.kind in "iuf":
        return {"labels/number": labels}
    values = labels.tolist()
    texts = all(isinstance(value, str) for value in values)
    try:
        parts = [value.encode() if texts else _json(value) for value in values]
    except (TypeError, ValueError) as error:
        raise GraphError(
            f"The labels cannot be stored: {error}. Expected strings, numbers, None and tuples of "
            "them; choose other labels."
        ) from None
    ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
    kind = "text" if texts else "json"
    return {f"labels/{kind}": np.frombuffer(b"".join(parts), np.uint8), "labels/ends": ends}


def stored_labels(
    source: Source, arrays: dict[str, Array], places: Mapping[str, int], count: int, verify: bool
) -> Labels | None:
    """Remove the labels from the arrays of a file and return them; None if there are none.

    Parameters
    ----------
    source : Source
        The file, for messages.
    arrays : dict of str to ndarray
        Those whose names begin with "labels/" are removed.
    places : mapping of str to int
        The byte at which each array begins, for messages.
    count : int
        The required number of labels.
    verify : bool
        Whether to check that all labels are present and distinct.
    """
    found = {name[7:]: arrays.pop(name) for name in list(arrays) if name.startswith("labels/")}
    if not found:
        return None
    try:
        labels = Labels(_label_values(found))
        if len(labels) != count:
            raise ValueError(f"there are {len(labels)} labels for {count} vertices")
        return labels.check() if verify else labels
    except (ValueError, TypeError, RecursionError) as error:
        raise source.error(
            f"the labels cannot be read ({error}). Expected one for each vertex, as weft.write "
            "makes them; write the file again.",
            byte=min(at for name, at in places.items() if name.startswith("labels/")),
        ) from None


def _label_values(found: dict[str, Array]) -> Array:
    """Return the labels that arrays represent; raise ValueError or TypeError if invalid."""
    if any(values.ndim != 1 for values in found.values()):
        raise ValueError("an array of labels has several dimensions")
    if found.keys() == {"number"} and found["number"].dtype.kind in "iuf":
        return found["number"]
    kinds = found.keys() - {"ends"}
    if len(found) != 2 or kinds not in ({"text"}, {"json"}):
        raise ValueError(f"the arrays are {', '.join(sorted(found))}, not number, text or json")
    (kind,) = kinds
    stops = found["ends"]
    if stops.dtype != np.int64 or found[kind].dtype != np.uint8:
        raise ValueError("ends are not int64, or text is not bytes")
    bounds = np.concatenate(([0], stops))
    if np.any(bounds[1:] < bounds[:-1]) or int(bounds[-1]) != found[kind].size:
        raise ValueError("the ends of the texts do not ascend to the end of the last one")
    raw = found[kind].tobytes()
    parts: list[Any] = [raw[a:b].decode() for a, b in itertools.pairwise(bounds.tolist())]
    if kind == "json":
        parts = [_tuples(json.loads(part)) for part in parts]
    return label_array(parts)


def _json(value: Any) -> bytes:
    """Return one label as JSON; raise if it does not survive a round trip."""
    if isinstance(value, np.generic):
        value = value.item()
    text = json.dumps(value)
    if _tuples(json.loads(text)) != value:
        raise ValueError(f"{value!r} is not the same after a round trip")
    return text.encode()


def _tuples(value: Any) -> Any:
    """Return JSON with its lists as tuples, which are hashable."""
    return tuple(_tuples(part) for part in value) if isinstance(value, list) else value
