"""The number of threads that a gang may use on this machine."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from weft.errors import ConfigError

MOST = 1024
"""More threads than this are taken for a mistake."""


def num_threads() -> int:
    """Return the number of threads of a gang.

    That is the value of the environment variable ``WEFT_NUM_THREADS`` where it is set, else the
    number of processors that this process may use: the smaller of its affinity and its cgroup's
    quota, rounded up.

    Raises
    ------
    ConfigError
        If ``WEFT_NUM_THREADS`` is not an integer from 1 to 1024.
    """
    text = os.environ.get("WEFT_NUM_THREADS", "").strip()
    if not text:
        return max(1, min(_affinity(), _quota()))
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= MOST):
        raise ConfigError(
            f"WEFT_NUM_THREADS={text!r} is not possible. Expected an integer from 1 to {MOST}."
            " Unset it to use every processor that this process may use."
        )
    return int(text)


def _affinity() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@functools.cache
def _quota() -> int:
    return cgroup_quota(Path("/proc/self/cgroup"), Path("/sys/fs/cgroup"))


def cgroup_quota(membership: Path, root: Path) -> int:
    """Return the processors that the cgroups allow, rounded up, or `MOST` without a limit.

    The quota of each enclosing group counts, in both versions of the cgroup file system.
    """
    least = MOST
    for directory in _groups(membership, root):
        for quota in (_quota_v2(directory), _quota_v1(directory)):
            if quota is not None:
                least = min(least, max(1, math.ceil(quota)))
    return least


def _groups(membership: Path, root: Path) -> Iterator[Path]:
    """Yield the directories of this process's groups with their ancestors."""
    try:
        lines = membership.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers == "":
            tops = [root, root / "unified"]
        elif "cpu" in controllers.split(","):
            tops = [root / controllers, root / "cpu"]
        else:
            continue
        group = PurePosixPath(path.lstrip("/") or ".")
        for top in tops:
            for part in {group, *group.parents}:
                yield top / part


def _quota_v2(directory: Path) -> float | None:
    """Return quota / period from a line "quota period", None where it says "max"."""
    try:
        quota, period = (directory / "cpu.max").read_text().split()
        return int(quota) / int(period)
    except (OSError, ValueError, ZeroDivisionError):
        return None


def _quota_v1(directory: Path) -> float | None:
    """Return quota / period from two files; a quota of -1 is none."""
    try:
        quota = int((directory / "cpu.cfs_quota_us").read_text())
        period = int((directory / "cpu.cfs_period_us").read_text())
        return quota / period if quota > 0 else None
    except (OSError, ValueError, ZeroDivisionError):
        return None
