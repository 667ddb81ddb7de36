"""NumPy archives (`.npz`): a sparse matrix as `scipy.sparse.save_npz` writes it.

Entry (i, j) is the weight of the edge i -> j. weft also stores whether the graph is directed and
weighted, which SciPy ignores.
"""

from __future__ import annotations

import zipfile
import zlib
from io import BytesIO
from typing import IO, Any, Final

import numpy as np

from weft.errors import FileFormatError, GraphError
from weft.graph import Graph
from weft.graph.interop.scipy import matrix_edges
from weft.io.base import Format, Listing, Options, build, register, weights
from weft.io.compression import Source

_LAYOUTS: Final = {
    "csr": ("data", "indices", "indptr"),
    "csc": ("data", "indices", "indptr"),
    "coo": ("data", "row", "col"),
}
_FAULTS: Final = (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile, zlib.error,
                  NotImplementedError, OverflowError, SyntaxError, TypeError,
                  RuntimeError)  # fmt: skip


def read(source: Source, options: Options) -> Graph:
    """Read an archive of a sparse matrix."""
    data = source.load()
    try:
        with zipfile.ZipFile(BytesIO(data.tobytes())) as archive:
            unpacked = sum(item.file_size for item in archive.infolist())
            if unpacked > source.max_unpacked():
                raise source.too_large(f"the archive unpacks to {unpacked} bytes")
        with np.load(BytesIO(data.tobytes()), allow_pickle=False) as arrays:
            held = {name: arrays[name] for name in arrays.files}
        matrix = _matrix(source, held)
        undirected = not bool(held.get("directed", True))
        weighted = bool(held.get("weighted", True))
        src, dst, weight, n, _ = matrix_edges(matrix, not undirected, weighted, "keep")
    except FileFormatError:
        raise
    except GraphError as error:
        raise source.error(str(error), byte=0) from None
    except _FAULTS as error:
        reason = " ".join(str(error).split())[:200]
        raise source.error(
            f"the archive cannot be read ({reason}). Expected what scipy.sparse.save_npz writes."
            + source.other_kind(data).replace(" The file is a zip archive; unpack it first.", ""),
            byte=0,
        ) from None
    src, dst = src.astype(np.int64), dst.astype(np.int64)
    listing = Listing(src, dst, weights(weight), n, not undirected)
    return build(source, listing, options)


def _matrix(source: Source, held: dict[str, Any]) -> Any:
    """Return the sparse matrix in an archive, after checking its parts."""
    from scipy import sparse

    layout = held.get("format")
    name = layout.item() if layout is not None and layout.ndim == 0 else ""
    name = name.decode("ascii", "replace") if isinstance(name, bytes) else str(name)
    needed = _LAYOUTS.get(name, ())
    if not needed or not {"shape", *needed} <= set(held):
        raise source.error(
            f"the archive holds {', '.join(sorted(held)) or 'nothing'}, and its format is "
            f"{name[:40]!r}. Expected a sparse matrix in csr, csc or coo, as "
            "scipy.sparse.save_npz writes it.",
            byte=0,
        )
    first, second, third = (held[part] for part in needed)
    shape = tuple(int(x) for x in held["shape"])
    if any(part.ndim != 1 or part.dtype.kind not in "iu" for part in (second, third)):
        raise source.error("the indices are not integers. Expected lists of integers.", byte=0)
    if first.ndim != 1 or first.dtype.kind not in "biuf":
        raise source.error(
            f"the entries are {first.dtype}. Expected real numbers; convert the matrix.", byte=0
        )
    if name == "coo":
        matrix = sparse.coo_array((first, (second, third)), shape=shape)
    else:
        kind = sparse.csr_array if name == "csr" else sparse.csc_array
        matrix = kind((first, second, third), shape=shape)
        matrix.check_format(full_check=True)
    return matrix


def write(g: Graph, file: IO[bytes], suffix: str) -> None:
    """Write the adjacency matrix."""
    matrix = g.to_scipy()
    arrays: dict[str, Any] = {
        "format": np.array(b"csr"), "shape": matrix.shape, "data": matrix.data,
        "indices": matrix.indices, "indptr": matrix.indptr,
        "directed": g.directed, "weighted": g.weighted,
    }  # fmt: skip
    archive = BytesIO()  # the writer seeks, which a compressed file does not allow
    np.savez_compressed(archive, **arrays)
    file.write(archive.getbuffer())


register(Format("sparse matrix", (".npz",), read, write))
