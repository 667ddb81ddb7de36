"""Which connections are in use: each is a device of the kind "relational", by its number."""

from __future__ import annotations

from typing import Any

from weft.arrays.device import Device
from weft.backends.relational.engines import Engine
from weft.errors import ConfigError, shortened

KIND = "relational"
_engines: dict[int, Engine] = {}


def connect(con: Any) -> Device:
    """Return the device of a connection; the same one for the same connection."""
    for number, engine in _engines.items():
        if engine.con is con or engine.con is getattr(con, "con", None):
            return Device(KIND, number)
    opened = _opened(con)
    if opened is None:
        raise ConfigError(
            f"{shortened(con)} is not a connection that weft runs on. Expected one of DuckDB "
            "(duckdb.connect()), a Spark session, or an Ibis connection to either."
        )
    engine = opened()
    _engines[engine.number] = engine
    return Device(KIND, engine.number)


def engine_of(device: Device) -> Engine:
    """Return the engine of a device."""
    return _engines[device.index]


def disconnect(device: Device) -> None:
    """Forget a connection."""
    _engines.pop(device.index, None)


def _opened(con: Any) -> Any:
    """Return the constructor of a connection's engine, or None for other objects."""
    home = type(con).__module__.split(".")
    if home[:3] == ["ibis", "backends", "duckdb"]:
        return lambda: Engine(con.con)
    if home[:3] == ["ibis", "backends", "pyspark"]:
        return lambda: _spark(con._session)
    if home[0] in ("duckdb", "_duckdb"):
        return lambda: Engine(con)
    if home[0] == "pyspark":
        return lambda: _spark(con)
    return None


def _spark(session: Any) -> Engine:
    from weft.backends.relational.spark import SparkEngine

    return SparkEngine(session)
