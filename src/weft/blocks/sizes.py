"""Amounts of memory as users write them."""

from __future__ import annotations

import re
from typing import Final

from weft.errors import ConfigError, shortened

_UNITS: Final = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
LEAST_BYTES: Final = 1 << 20


def bytes_of(name: str, size: object) -> int:
    """Return an amount of memory in bytes.

    Parameters
    ----------
    name : str
        The option, for messages.
    size : int or str
        Bytes, or a text such as "2GB" or "500M".

    Raises
    ------
    ConfigError
        If it is not a size, or less than 1 MiB.

    Examples
    --------
    >>> bytes_of("memory", "2GB")
    2000000000
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)B?\s*", str(size), flags=re.IGNORECASE)
    count = int(float(found[1]) * _UNITS[found[2].upper()]) if found else -1
    if isinstance(size, bool) or count < LEAST_BYTES:
        raise ConfigError(
            f"{name}={shortened(size)} is not an amount of memory. Expected bytes, at least "
            f"{LEAST_BYTES}, such as '500MB' or '4GB'."
        )
    return count
