"""The bad files in tests/corpus, one per seed: a sound graph or an error of weft."""

from __future__ import annotations

from pathlib import Path

import weft
from weft.errors import WeftError

from .cases import Difference
from .files import as_a_large_file, limited_memory, sound

FOLDER = Path(__file__).parents[1] / "corpus"
FILES = sorted(path for path in FOLDER.iterdir() if path.suffix != ".md")


def run(seed: int, device: str) -> str:
    """Read one file; a `.weft` file also as a large one, whose checksums are not compared."""
    path = FILES[seed]
    try:
        _read(path, large=False)
        if path.suffix == ".weft":
            _read(path, large=True)
    except Exception as error:
        raw = "" if isinstance(error, Difference) else f"raw {type(error).__name__}: "
        raise Difference(f"{path.name}: {raw}{error}") from error
    return "ok"


def _read(path: Path, *, large: bool) -> None:
    try:
        with limited_memory(), as_a_large_file(large):
            g = weft.read(path)
            if large:  # wrong, perhaps, but within bounds
                weft.connected_components(g)
                g.to_scipy()
            else:
                sound(g)
    except WeftError as error:
        if len(str(error)) > 2000:
            raise Difference(f"an error of {len(str(error))} characters") from error
