"""Damage to graph files: what disks do to any file, and what editors and programs do to text."""

from __future__ import annotations

import re
from random import Random

import numpy as np

from damage import damaged as damaged_bytes

from .cases import pick

NUMBERS = (
    b"-1", b"0", b"1", b"2147483647", b"2147483648", b"4294967296", b"9223372036854775807",
    b"9223372036854775808", b"-9223372036854775809", b"99999999999999999999999", b"1e999", b"-0",
    b"nan", b"inf", b"-inf", b"0x10", b"1_000", b"+3", b"1.5", b".", b"1e", b"5e-324",
)  # fmt: skip


def damaged(data: bytes, rng: np.random.Generator) -> bytes:
    """Return the bytes after one to three injuries: of any file, or of text alone."""
    for _ in range(int(rng.integers(1, 4))):
        if rng.random() < 0.5:
            data = damaged_bytes(data, Random(int(rng.integers(1 << 32))))
        else:
            data = pick(rng, OF_TEXT)(data, rng)
    return data


def insert(data: bytes, rng: np.random.Generator) -> bytes:
    """Put random bytes, or ones that mean something to a parser, somewhere."""
    at = int(rng.integers(len(data) + 1))
    known = (b"\0", b"\n", b"\r\n", b" ", b",", b"#", b"%", b'"', b"\xff", b"\xef\xbb\xbf", b"-")
    new = bytes(rng.integers(0, 256, 4, np.uint8)) if rng.random() < 0.3 else pick(rng, known)
    return data[:at] + new + data[at:]


def overwrite(data: bytes, rng: np.random.Generator) -> bytes:
    """Put a strange number of eight bytes somewhere."""
    at = int(rng.integers(len(data) + 1)) & ~7
    value = pick(rng, (-1, 1 << 31, 1 << 40, (1 << 63) - 1, -(1 << 63), 255))
    return data[:at] + int(value).to_bytes(8, "little", signed=True) + data[at + 8 :]


def line(data: bytes, rng: np.random.Generator) -> bytes:
    """Repeat, remove or swap a line."""
    lines = data.splitlines(keepends=True)
    if not lines:
        return data
    one, other = (int(rng.integers(len(lines))) for _ in range(2))
    form = int(rng.integers(3))
    if form == 0:
        lines.insert(other, lines[one])
    elif form == 1:
        del lines[one]
    else:
        lines[one], lines[other] = lines[other], lines[one]
    return b"".join(lines)


def number(data: bytes, rng: np.random.Generator) -> bytes:
    """Replace a number in the text."""
    found = list(re.finditer(rb"-?\d+(\.\d+)?", data))
    if not found:
        return data
    at = found[int(rng.integers(len(found)))]
    return data[: at.start()] + pick(rng, NUMBERS) + data[at.end() :]


OF_TEXT = (insert, overwrite, line, line, number, number)
