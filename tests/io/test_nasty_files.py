"""A corpus of nasty files: each is refused with an error that names it, or read without a loss.

Files in `corpus/refused` break a promise, hold a number that nothing may follow, or cannot be held
exactly. Those in `corpus/accepted` look as if they did.
"""

from pathlib import Path

import numpy as np
import pytest

import weft
from weft.errors import FileFormatError
from weft.io.formats import weft_binary

CORPUS = Path(__file__).parent / "corpus"
REFUSED = sorted(path.name for path in (CORPUS / "refused").iterdir())
ACCEPTED = sorted(path.name for path in (CORPUS / "accepted").iterdir())


def contents(g: weft.Graph) -> list:
    """Return everything that a graph holds, by label and with dtypes."""
    src, dst, _ = g.to_edges(labels=True)
    columns = [g.edge[name] for name in sorted(g.edge)]
    rows = zip(src.tolist(), dst.tolist(), *(column.tolist() for column in columns), strict=True)
    vertex = [(name, g.vertex[name].dtype, g.vertex[name].tolist()) for name in sorted(g.vertex)]
    return [g.directed, sorted(rows, key=repr), [column.dtype for column in columns], vertex]


@pytest.mark.parametrize("size", [0, 1 << 24])
@pytest.mark.parametrize("name", REFUSED)
def test_refused(monkeypatch, name, size):
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    monkeypatch.setattr(weft_binary, "ALWAYS_VERIFIED_BYTES", size)
    with pytest.raises(FileFormatError) as caught:
        weft.read(CORPUS / "refused" / name).to_edges()
    assert caught.value.path == str(CORPUS / "refused" / name)
    assert caught.value.line is not None or caught.value.byte is not None


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted_and_written_again(tmp_path, name):
    g = weft.read(CORPUS / "accepted" / name)
    weft.write(g, tmp_path / name)
    weft.write(g, tmp_path / "g.weft")
    for copy in (tmp_path / name, tmp_path / "g.weft"):
        assert contents(weft.read(copy)) == contents(g)


@pytest.mark.parametrize(
    ("name", "weight"),
    [
        ("uint64.wel", np.array([2**64 - 1, 0, 2**63], np.uint64)),
        ("uint64.graph", np.array([2**64 - 1], np.uint64)),
        ("uint64.mtx", np.array([2**64 - 1], np.uint64)),
        ("int64-extremes.gr", np.array([-(2**63), 2**63 - 1])),
        ("real-after-huge-integer.wel", np.array([1e20, -1.0, 0.5])),
    ],
)
def test_weights_that_were_read(name, weight):
    found = weft.read(CORPUS / "accepted" / name).edge["weight"]
    assert found.dtype == weight.dtype
    assert found.tolist() == weight.tolist()
