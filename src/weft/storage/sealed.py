"""Cached files of compiled code, each with a checksum at its end.

Damaged machine code crashes the process or gives wrong results, so the checksum is verified before
code is executed. It also covers the file's name, so that swapped files are rejected. It does not
protect against other users; `weft.storage.cache_dir` does, and files that other users own or can
write to are rejected here.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
import tempfile
from pathlib import Path
from typing import Final

from weft.storage.cache_dir import owner_problem

MAGIC: Final = b"weft-sum"
_SUM_BYTES: Final = 16
# A named pipe must not block; Windows must not translate line endings.
_FLAGS: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def read_own(path: Path) -> bytes | None:
    """Return the content of a regular file that only the user can write to, or None."""
    try:
        with os.fdopen(os.open(path, _FLAGS), "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode) or owner_problem(found):
                return None
            return file.read()
    except OSError:
        return None


def read_sealed(path: Path) -> bytes | None:
    """Return the data of a sealed file; None if it is missing, damaged or not the user's.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "code")
    >>> write_sealed(path, b"machine code")
    >>> read_sealed(path)
    b'machine code'
    >>> path.write_bytes(path.read_bytes().replace(b"machine", b"mashine")) and read_sealed(path)
    """
    content = read_own(path)
    if content is None or not content.endswith(MAGIC):
        return None
    data = content[: -_SUM_BYTES - len(MAGIC)]
    return data if seal(path.name, data) == content[len(data) :] else None


def write_sealed(path: Path, data: bytes) -> None:
    """Atomically write a private file with its checksum."""
    write_whole(path, data + seal(path.name, data))


def seal(name: str, data: bytes) -> bytes:
    """Return the bytes that follow the data in a sealed file of this name."""
    # A 32-bit checksum would be too weak for executable code; the files are small.
    digest = hashlib.sha256(name.encode() + b"\0")
    digest.update(data)
    return digest.digest()[:_SUM_BYTES] + MAGIC


def write_whole(path: Path, content: bytes) -> None:
    """Atomically write a private file: readers see all of it or nothing."""
    handle, temporary = tempfile.mkstemp(prefix=path.stem, suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        try:
            os.replace(temporary, path)
        except IsADirectoryError:
            remove(path)
            os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def remove(path: Path) -> None:
    """Remove a file, a link or a directory tree, if possible."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink()
