"""The cache directory, where weft keeps compiled code and computed arrays between processes.

It is ``WEFT_CACHE_DIR`` if set, or else ``weft`` in ``XDG_CACHE_HOME`` or ``~/.cache``. Each kind
of content has its own subdirectory.

Cached code is executed, so a directory that another user could write to is rejected: it must belong
to the user, and no other user may be able to write to it or replace it. Group write access is
accepted only for a private group: the user's primary group, with the user's name and no other
members.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import shutil
import stat
import tempfile
import warnings
from pathlib import Path, PurePath
from typing import Final

PARTS: Final = ("cpu", "cubin", "graphs", "simt")
"""Subdirectories of the cache directory."""
DIRECTORIES: Final = ("WEFT_CACHE_DIR", "XDG_CACHE_HOME", "HOME", "TMPDIR")
"""Environment variables that the place of the directory depends on."""
REMEDY: Final = "Set WEFT_CACHE_DIR to a directory that belongs to you and only you can write."


def wanted_dir() -> Path:
    """Return the directory that the environment specifies; it need not exist."""
    chosen = os.environ.get("WEFT_CACHE_DIR")
    if not chosen:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        chosen = os.path.join(base, "weft")
    return Path(os.path.abspath(chosen))


def cache_dir(part: str = "") -> Path:
    """Return the directory for one kind of content, created if needed; by default the root.

    If it is not writable, or another user could write to it, return a private temporary directory
    and warn once.
    """
    wanted = wanted_dir()
    for directory in _steps(wanted, part):
        problem = _problem(directory)
        if problem:
            return _made(_instead(directory, problem) / part)
    return wanted / part


def used_dir(part: str = "") -> Path:
    """Return the directory that `cache_dir` would return, without creating it or warning."""
    wanted = wanted_dir()
    if any(refusal(directory) for directory in _steps(wanted, part)):
        return private_temporary() / part
    return wanted / part


def refusal(directory: Path) -> str:
    """Return why a directory cannot be used for the cache, or an empty string.

    Creates nothing: a directory that does not exist is judged by its nearest existing parent.
    """
    existing = directory
    while not os.path.lexists(existing) and existing != existing.parent:
        existing = existing.parent
    try:
        if not existing.is_dir():
            return "Not a directory"
        if not os.access(existing, os.W_OK | os.X_OK):
            return "Permission denied"
        return trust_problem(directory) if existing == directory else _parent_problem(directory)
    except OSError as error:
        return error.strerror or str(error)


def refusals() -> list[tuple[str, Path, str]]:
    """Return the directories that `cache_dir` replaces: part, directory and reason.

    The part is empty, and the list has one entry, if the cache directory itself is refused.
    """
    wanted = wanted_dir()
    found = [(part, wanted / part, refusal(wanted / part)) for part in ("", *PARTS)]
    refused = [entry for entry in found if entry[2]]
    return refused[:1] if found[0][2] else refused


def trust_problem(directory: Path) -> str:
    """Return how another user could put files into an existing directory, or an empty string."""
    if os.name != "posix":
        return ""
    return owner_problem(os.stat(directory)) or _parent_problem(directory)


def owner_problem(found: os.stat_result) -> str:
    """Return how another user could change a file or directory, or an empty string."""
    if os.name != "posix":
        return ""
    if found.st_uid != os.geteuid():
        return f"it belongs to {_user(found.st_uid)}, not to {_user(os.geteuid())}"
    shared = found.st_mode & stat.S_IWGRP and not _is_private(found.st_gid, found.st_uid)
    if found.st_mode & stat.S_IWOTH or shared:
        mode = stat.S_IMODE(found.st_mode)
        return f"others can write to it (mode {mode:04o}; 'chmod go-w' prevents that)"
    return ""


def private_temporary() -> Path:
    """Return a temporary directory that only the user can write to: its contents are executed."""
    user = os.geteuid() if hasattr(os, "geteuid") else "user"
    path = Path(tempfile.gettempdir()) / f"weft-{user}"
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
    found = path.lstat()
    if os.name != "posix" or (stat.S_ISDIR(found.st_mode) and not owner_problem(found)):
        return path
    return _own_temporary(tempfile.gettempdir(), os.getpid())


def tunings_path(*, writing: bool = False) -> Path | None:
    """Return the file of stored tunings; None with ``WEFT_TUNINGS=off``.

    ``WEFT_TUNINGS`` may also name another file. Reading creates no directory.
    """
    chosen = os.environ.get("WEFT_TUNINGS", "")
    if chosen.lower() == "off":
        return None
    if chosen:
        return Path(os.path.abspath(chosen))
    return (cache_dir() if writing else used_dir()) / "tunings.sqlite"


def _steps(wanted: Path, part: str) -> list[Path]:
    """Return the cache directory and every directory on the path to one of its parts."""
    names = PurePath(part).parts
    return [wanted.joinpath(*names[:count]) for count in range(len(names) + 1)]


def _problem(directory: Path) -> str:
    """Return why a directory cannot be used; create it if it does not exist.

    A directory is checked once per process, and again if it was replaced or its mode changed.
    """
    try:
        found = os.stat(_made(directory))
        return _judged(directory, found.st_dev, found.st_ino, found.st_mode, found.st_uid)
    except OSError as error:
        return error.strerror or str(error)


@functools.cache
def _judged(directory: Path, *_identity: int) -> str:
    problem = trust_problem(directory)
    if not problem:
        with tempfile.TemporaryFile(dir=directory):
            pass
    return problem


def _made(directory: Path) -> Path:
    """Create a directory and its missing parents with mode 0700."""
    if not directory.is_dir():
        if directory.parent != directory:
            _made(directory.parent)
        with contextlib.suppress(FileExistsError):
            directory.mkdir(mode=0o700)
    return directory


@functools.cache
def _instead(refused: Path, problem: str) -> Path:
    instead = private_temporary()
    warnings.warn(
        f"the cache directory {str(refused)!r} is not used: {problem}. weft uses {str(instead)!r} "
        f"instead. {REMEDY}",
        RuntimeWarning,
        stacklevel=4,
    )
    return instead


@functools.cache
def _own_temporary(parent: str, process: int) -> Path:
    """Return a temporary directory that is removed when this process exits."""
    path = Path(tempfile.mkdtemp(prefix="weft-", dir=parent))

    def remove() -> None:
        if os.getpid() == process:  # not a fork
            shutil.rmtree(path, ignore_errors=True)

    atexit.register(remove)
    return path


def _parent_problem(directory: Path) -> str:
    """Return how another user could replace a directory, or an empty string.

    Symbolic links must belong to the user or to root. Parents that all users can write to need the
    sticky bit; groups that can write to a parent are trusted.
    """
    if os.name != "posix":
        return ""
    for path in (directory, *directory.parents, *Path(os.path.realpath(directory)).parents):
        try:
            found = os.lstat(path)
        except FileNotFoundError:
            continue
        mode = found.st_mode
        if stat.S_ISLNK(mode):
            if found.st_uid not in (0, os.geteuid()):
                return f"the link {str(path)!r} belongs to {_user(found.st_uid)}"
        elif path != directory and mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            return f"others can replace it: {str(path)!r} has mode {stat.S_IMODE(mode):04o}"
    return ""


def _user(uid: int) -> str:
    import pwd

    with contextlib.suppress(KeyError):
        return f"user {pwd.getpwuid(uid).pw_name!r}"
    return f"user {uid}"


@functools.cache
def _is_private(gid: int, uid: int) -> bool:
    """Whether a group is the private group of a user: same name, and no other members."""
    import grp
    import pwd

    try:
        user, group = pwd.getpwuid(uid), grp.getgrgid(gid)
    except KeyError:
        return False
    alone = set(group.gr_mem) <= {user.pw_name}
    return gid == user.pw_gid and group.gr_name == user.pw_name and alone
