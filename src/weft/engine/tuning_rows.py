"""Tunings as rows of the store, with validation.

A row may come from another version of weft, a damaged file or an untrusted one, so every value is
checked before use.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from weft.config import Config, WeaverTable
from weft.engine.fingerprint import Fingerprint
from weft.errors import ConfigError

MAX_TEXT = 1 << 16
MAX_THREADS = 4096
MAX_MS = 1e15
MAX_COUNT = 1 << 62
MAX_TIME_S = 253_000_000_000  # the year 9987; dates end in 9999


@dataclass(frozen=True)
class Tuning:
    """The fastest configuration found for a program on a graph and a device."""

    graph: Fingerprint
    program: str
    algorithm: str
    device: str
    weft: str
    config: Config
    ms: float
    default_ms: float
    tried: int
    created: float = 0.0
    id: int = 0


def config_text(config: Config) -> str:
    """Return the non-default fields of a configuration as JSON."""
    return json.dumps(config.given(), default=_plain, sort_keys=True)


def config_from(text: str) -> Config:
    """Return a configuration from its JSON.

    Raises
    ------
    ConfigError
        If it is damaged, or has unknown fields or values.
    """
    try:
        given = _object(text)
        known = {f.name for f in fields(Config)}
        if not known.issuperset(given):
            raise ConfigError(f"a stored configuration has unknown fields: {text[:200]}.")
        config = Config(**given)
    except ConfigError:
        raise
    except (ValueError, TypeError, OverflowError) as error:
        raise ConfigError(f"a stored configuration cannot be read: {error}.") from error
    if config.threads is not None and config.threads > MAX_THREADS:
        raise ConfigError(
            f"a stored configuration has {config.threads} threads. Expected at most {MAX_THREADS}."
        )
    return config


def tuning_of(values: Mapping[str, Any]) -> Tuning:
    """Return a row of the store as a tuning.

    Raises
    ------
    ConfigError
        If the configuration is unknown: from another version, or from an extension not loaded.
    ValueError
        If the row is damaged.
    """
    _object(values["config"])
    return Tuning(
        _fingerprint(_object(values["fingerprint"])),
        config=config_from(values["config"]),
        program=_word(values["program"]),
        algorithm=_word(values["algorithm"]),
        device=_word(values["device"]),
        weft=_word(values["weft"]),
        ms=_number(values["ms"], MAX_MS),
        default_ms=_number(values["default_ms"], MAX_MS),
        tried=_count(values["tried"]),
        created=_number(values["created"], MAX_TIME_S, least=0.0),
        id=_count(values["id"]),
    )


def _plain(value: Any) -> Any:
    if isinstance(value, WeaverTable):
        return asdict(value)
    return dict(value) if isinstance(value, Mapping) else sorted(value)


def _object(text: Any) -> dict[str, Any]:
    """Return the JSON object in a text."""
    if not isinstance(text, str) or len(text) > MAX_TEXT:
        raise ValueError("it is not a short text")
    try:
        found = json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(found, dict):
        raise ValueError("it is not an object")
    return found


def _fingerprint(given: dict[str, Any]) -> Fingerprint:
    if set(given) != {f.name for f in fields(Fingerprint)}:
        raise ValueError("it is not a fingerprint")
    if type(given["directed"]) is not bool:
        raise ValueError("it is not true or false")
    for name in ("vertices", "arcs", "largest"):
        _count(given[name])
    for name in ("variation", "skew"):
        _number(given[name], math.inf, least=-math.inf)
    if given["variation"] < 0:
        raise ValueError("a variation below 0")
    if given["diameter"] is not None:
        _count(given["diameter"])
    _word(given["digest"])
    return Fingerprint(**given)


def _word(value: Any) -> str:
    """Return a checked name, without control characters that could reach a terminal."""
    if not isinstance(value, str) or len(value) > MAX_TEXT or not value.isprintable():
        raise ValueError("it is not a printable text")
    return value


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < MAX_COUNT:
        raise ValueError("it is not a count")
    return value


def _number(value: Any, most: float, least: float = 1e-12) -> float:
    if type(value) not in (int, float) or not least <= value <= most or math.isinf(value):
        raise ValueError(f"it is not a number from {least:g} to {most:g}")
    return float(value)
