"""Compressed rows with short offsets."""

import numpy as np
import pytest

import weft
from weft.errors import ConfigError
from weft.formats import choose, csr32


def test_offsets_are_copied_in_32_bits():
    rows = weft.generators.rmat(6, 4, seed=1).topology.out
    (part,) = choose("csr32").make(rows.offsets, rows.targets, np, False).parts
    assert part.arrays["offsets"].dtype == np.uint32
    assert part.arrays["offsets"].tolist() == rows.offsets.tolist()
    assert part.arrays["targets"] is rows.targets


def test_too_many_arcs_are_refused(monkeypatch):
    g = weft.generators.path(10).to("emulated")
    monkeypatch.setattr(csr32, "MOST_ARCS", 10)
    with pytest.raises(ConfigError, match=r"'csr32' is not possible for 18 arcs.*use 'csr'"):
        weft.pagerank(g, config=weft.Config(format="csr32"))
