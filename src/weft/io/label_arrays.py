"""Labels as arrays of numbers, for `.weft` files.

Integers and floats are stored as they are. Strings are stored as UTF-8 one after the other, with
the end of each; other labels likewise as JSON, tuples as lists.
"""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np

from weft.errors import GraphError
from weft.graph.labels import Labels, label_array
from weft.io.compression import Source
from weft.topology.adjacency import Array


def label_arrays(labels: Array | None) -> dict[str, Array]:
    """Return the arrays that stand for labels; none for none."""
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
    source: Source, arrays: dict[str, Array], byte: int, verify: bool
) -> Labels | None:
    """Take the labels out of the arrays of a file; None if there are none."""
    found = {name[7:]: arrays.pop(name) for name in list(arrays) if name.startswith("labels/")}
    ends = found.pop("ends", None)
    if not found:
        return None
    ((kind, values),) = found.items()
    try:
        if kind in ("text", "json"):
            stops = [0, *(ends if ends is not None else np.empty(0)).tolist()]
            raw = values.tobytes()
            parts: list[Any] = [raw[a:b].decode() for a, b in itertools.pairwise(stops)]
            if kind == "json":
                parts = [_tuples(json.loads(part)) for part in parts]
            values = label_array(parts)
        elif kind != "number":
            raise ValueError(f"they are {kind!r}, not numbers, text or JSON")
        return Labels(values).check() if verify else Labels(values)
    except (ValueError, TypeError) as error:
        raise source.error(
            f"the labels cannot be read ({error}). Expected what weft.write makes; write the file "
            "again.",
            byte=byte,
        ) from None


def _json(value: Any) -> bytes:
    """Return one label as JSON, if that gives the same label back."""
    if isinstance(value, np.generic):
        value = value.item()
    text = json.dumps(value)
    if _tuples(json.loads(text)) != value:
        raise ValueError(f"{value!r} is not the same after a round trip")
    return text.encode()


def _tuples(value: Any) -> Any:
    """Return JSON lists as tuples, which can be labels."""
    return tuple(_tuples(part) for part in value) if isinstance(value, list) else value
