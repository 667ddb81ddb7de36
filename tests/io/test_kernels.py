"""Numbers from text are the nearest doubles, and rare lines mean the same as regular ones."""

import os
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import weft
from weft.io.decimals import nearest_double
from weft.io.kernels import _decimal

SOURCE = Path(__file__).parents[2] / "src"


def double(bits) -> float:
    return struct.unpack("<d", struct.pack("<Q", int(bits)))[0]


def parsed(text: str) -> float | None:
    """Return what the kernel makes of a number; None if it leaves it to Python."""
    fine, bits, end = _decimal(np.frombuffer(text.encode(), np.uint8), 0)
    assert not fine or end == len(text)
    return double(bits) if fine else None


@given(w=st.integers(0, 2**64 - 1), q=st.integers(-400, 350))
@example(9007199254740993, 0)
@example(9007199254740993, 3)
@example(2**64 - 1, -342)
@example(17976931348623157, 292)
@example(17976931348623159, 292)
@example(22250738585072011, -324)
@example(24703282292062327, -340)
def test_nearest_double(w, q):
    assert double(nearest_double(np.uint64(w), q)) == float(f"{w}e{q}")


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_shortest_text_of_a_double(value):
    assert struct.pack("<d", parsed(repr(value))) == struct.pack("<d", value)


@given(st.from_regex(r"[+-]?[0-9]{1,30}\.?[0-9]{0,30}([eE][+-]?[0-9]{1,3})?", fullmatch=True))
def test_long_numbers(text):
    value = parsed(text.encode("ascii", "ignore").decode() or "0")
    assert value is None or value == float(text)


@pytest.mark.parametrize("text", ["", "-", ".", "e5", "1e", "1e+", "+-1", "in", "1e999999"])
def test_what_is_left_to_python(text):
    assert parsed(text) is None


def test_infinity_and_nan():
    assert parsed("inf") == parsed("+INF") == float("inf")
    assert parsed("-Inf") == -float("inf")
    assert np.isnan(parsed("nan"))
    assert np.isnan(parsed("-NaN"))


def test_lines_end_in_any_way(tmp_path):
    for end in ("\n", "\r\n", " \n", "\t\r\n"):
        path = tmp_path / "g.wel"
        path.write_bytes(f"0 1 2{end}{end}1 2 3{end}".encode())
        assert weft.read(path).edge["weight"].tolist() == [2, 3]


def test_binary_files_are_opened_without_the_compiler(tmp_path):
    weft.write(weft.Graph.from_edges([0], [1]), tmp_path / "g.weft")
    code = (
        f"import sys, weft; weft.read({str(tmp_path / 'g.weft')!r}); print('numba' in sys.modules)"
    )
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True)
    assert done.stdout.split() == [b"False"], done.stderr
