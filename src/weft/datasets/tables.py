"""Reads the edge tables stored next to the dataset modules."""

from __future__ import annotations

from importlib.resources import files


def read_rows(name: str) -> list[list[str]]:
    """Return the rows of a table, one list per column, without the header."""
    text = files("weft.datasets").joinpath(f"{name}.csv").read_text(encoding="utf-8")
    rows = [line.split(",") for line in text.splitlines()[1:]]
    return [list(column) for column in zip(*rows, strict=True)]
