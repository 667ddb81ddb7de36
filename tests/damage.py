"""Damage to files as disks, crashes and other programs cause it, for tests of caches and stores.

Call `damaged` on the bytes of a file and write the result back: whatever reads the file must then
give the right answer, or raise an error of weft's own. ``random.Random(seed)`` makes a case
reproducible.
"""

from __future__ import annotations

from pathlib import Path
from random import Random


def damaged(data: bytes, rng: Random) -> bytes:
    """Return a copy of `data` with one random kind of damage; never equal to `data`.

    Parameters
    ----------
    data
        The content of a file; may be empty.
    rng
        Decides the kind of damage and its place.
    """
    for _ in range(20):  # zeros that are zeroed have not changed
        changed = rng.choice(KINDS)(data, rng)
        if changed != data:
            return changed
    return data + b"\0"


def damage_file(path: Path, rng: Random) -> None:
    """Damage a file in place; its name, mode and owner stay."""
    content = damaged(path.read_bytes(), rng)
    with open(path, "r+b") as file:
        file.truncate()
        file.write(content)


def _stretch(data: bytes, rng: Random, most: int = 64) -> slice:
    begin = rng.randrange(len(data) + 1)
    return slice(begin, min(len(data), begin + rng.randint(1, most)))


def _cut(data: bytes, rng: Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _empty(data: bytes, rng: Random) -> bytes:
    return b""


def _flip(data: bytes, rng: Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 8))):
        if changed:
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _replace(data: bytes, rng: Random) -> bytes:
    place = _stretch(data, rng)
    return data[: place.start] + rng.randbytes(place.stop - place.start) + data[place.stop :]


def _fill(data: bytes, rng: Random) -> bytes:
    place = _stretch(data, rng, most=4096)
    return (
        data[: place.start]
        + rng.choice((b"\0", b"\xff")) * (place.stop - place.start)
        + data[place.stop :]
    )


def _swap(data: bytes, rng: Random) -> bytes:
    size = rng.choice((1, 4, 8, 64))
    if len(data) < 2 * size:
        return data[::-1]
    first = rng.randrange(len(data) - 2 * size + 1)
    second = rng.randrange(first + size, len(data) - size + 1)
    changed = bytearray(data)
    changed[first : first + size] = data[second : second + size]
    changed[second : second + size] = data[first : first + size]
    return bytes(changed)


def _insert(data: bytes, rng: Random) -> bytes:
    place = rng.randrange(len(data) + 1)
    return data[:place] + rng.randbytes(rng.randint(1, 64)) + data[place:]


def _delete(data: bytes, rng: Random) -> bytes:
    place = _stretch(data, rng)
    return data[: place.start] + data[place.stop :]


def _repeat(data: bytes, rng: Random) -> bytes:
    return data + data


KINDS = (_cut, _empty, _flip, _flip, _flip, _replace, _fill, _swap, _insert, _delete, _repeat)
"""The kinds of damage; one bit is the most frequent and the hardest to see."""
