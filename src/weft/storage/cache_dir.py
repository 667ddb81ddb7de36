"""Where weft keeps compiled code between processes.

``WEFT_CACHE_DIR``, else ``weft`` in ``XDG_CACHE_HOME`` or ``~/.cache``. Each kind of code has a
folder of its own there.
"""

from __future__ import annotations

import contextlib
import functools
import os
import stat
import tempfile
import warnings
from pathlib import Path


def wanted_dir() -> Path:
    """Return the directory that the environment asks for; it need not exist."""
    chosen = os.environ.get("WEFT_CACHE_DIR")
    if not chosen:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        chosen = os.path.join(base, "weft")
    return Path(os.path.abspath(chosen))


def write_problem(directory: Path) -> str:
    """Return why a directory cannot be made or written, or nothing."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            return ""
    except OSError as error:
        return error.strerror or str(error)


def cache_dir(part: str = "") -> Path:
    """Return the writable directory for one kind of code; without a name, that of all of them.

    If it cannot be written, one of the user's own among the temporary files, with a warning.
    """
    wanted = wanted_dir()
    problem = _problem(wanted / part)
    directory = (_instead(wanted, problem) if problem else wanted) / part
    with contextlib.suppress(OSError):  # somebody may have emptied the cache meanwhile
        directory.mkdir(parents=True, exist_ok=True)
    return directory


_problem = functools.cache(write_problem)


@functools.cache
def _instead(wanted: Path, problem: str) -> Path:
    instead = private_temporary()
    warnings.warn(
        f"cannot write to the cache directory {str(wanted)!r} ({problem}); using "
        f"{str(instead)!r}. Set WEFT_CACHE_DIR to a directory that can be written.",
        RuntimeWarning,
        stacklevel=3,
    )
    return instead


def private_temporary() -> Path:
    """Return a temporary directory that nobody else can write: its contents are executed."""
    user = os.getuid() if hasattr(os, "getuid") else "user"
    path = Path(tempfile.gettempdir()) / f"weft-{user}"
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
    found = path.lstat()
    mine = stat.S_ISDIR(found.st_mode) and found.st_uid == user and not found.st_mode & 0o022
    if mine or os.name != "posix":
        return path
    return Path(tempfile.mkdtemp(prefix="weft-"))


def tunings_path(*, writing: bool = False) -> Path | None:
    """Return the file that holds what `weft.tune` found; None if ``WEFT_TUNINGS=off`` wants none.

    ``WEFT_TUNINGS`` may also be the path of another file. To read is not a reason to make a
    directory.
    """
    chosen = os.environ.get("WEFT_TUNINGS", "")
    if chosen.lower() == "off":
        return None
    if chosen:
        return Path(os.path.abspath(chosen))
    return (cache_dir() if writing else wanted_dir()) / "tunings.sqlite"
