"""Read what the emulation and the sanitizers say when a kernel does something wrong."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

_HERE = Path(__file__).parent
SOURCES = [
    _HERE.parent / "runtime" / "device.cuh",
    *sorted(path for path in _HERE.iterdir() if path.suffix in (".h", ".cpp")),
]
"""The files of the emulation. Positions inside them are left out of a report."""
_NAMES = frozenset(path.name for path in SOURCES)

OWN_ERROR = re.compile(r"^weft-simt: error: ([\w-]+): (.*?):(\d+): (.*)$", re.MULTILINE)
OWN_END = re.compile(r"^weft-simt: ended: ([\w-]+): (.*)$", re.MULTILINE)
COUNTED = re.compile(r"^weft-simt: counted: (.*)$", re.MULTILINE)
UNDEFINED = re.compile(r"^(.*?):(\d+):\d+: runtime error: (.*)$", re.MULTILINE)
ADDRESS = re.compile(r"^==\d+==ERROR: AddressSanitizer: ([\w-]+)(.*)$", re.MULTILINE)
THREAD = re.compile(
    r"^(?:WARNING|FATAL): ThreadSanitizer: ([\w -]+?)(?: \(pid=\d+\))?$", re.MULTILINE
)
FRAME = re.compile(r"^ +#\d+ (?:0x[0-9a-f]+ in )?.*? ([^\s:]+):(\d+)(?::\d+)?(?: \(.*\))?$")


@dataclass(frozen=True)
class Report:
    """One error of a kernel.

    Attributes
    ----------
    kind
        ``"data-race"``, ``"heap-buffer-overflow"``, ``"undefined"``, ``"deadlock"``,
        ``"skipped-barrier"``, ``"exited-lane"``, ``"timeout"``, ``"crash"`` and so on.
    message
        What is wrong, in one line.
    places
        (file, line) of the accesses that took part: both sides of a race, else one. Lines of the
        emulation itself are left out for the line of the kernel that called it.
    case
        Index of the case that was running.
    text
        Everything that was reported.
    """

    kind: str
    message: str
    places: tuple[tuple[str, int], ...]
    case: int
    text: str

    @property
    def file(self) -> str | None:
        """The file of the first place."""
        return self.places[0][0] if self.places else None

    @property
    def line(self) -> int | None:
        """The line of the first place."""
        return self.places[0][1] if self.places else None

    def __str__(self) -> str:
        where = ", ".join(f"{file}:{line}" for file, line in self.places) or "unknown place"
        return f"{self.kind} at {where} in case {self.case}: {self.message}"


def parse_counts(text: str) -> dict[str, int]:
    """Return the emulation's counters: atomics, shuffles, votes, barriers, arcs and searches."""
    found = COUNTED.search(text)
    pairs = (pair.split("=") for pair in (found[1].split() if found else ()))
    return {name: int(count) for name, count in pairs}


def parse_report(text: str, case: int) -> Report:
    """Return the report in the text that a program wrote before it ended."""
    kind, message, places = _parse(text)
    return Report(kind, message, places, case, text)


def _parse(text: str) -> tuple[str, str, tuple[tuple[str, int], ...]]:
    if found := OWN_ERROR.search(text):
        kind, file, line, message = found.groups()
        return kind, message, ((os.path.basename(file), int(line)),)
    if found := UNDEFINED.search(text):
        file, line, message = found.groups()
        name = os.path.basename(file)
        places = _places(text[found.end() :], sections=1)
        if name not in _NAMES or not places:
            places = ((name, int(line)),)
        return "undefined", message, places
    if found := ADDRESS.search(text):
        kind, message = found.groups()
        return kind, kind + message, _places(text[found.end() :], sections=1)
    if found := THREAD.search(text):
        kind = found[1].strip().replace(" ", "-")
        return kind, _first_access(text[found.end() :]), _places(text[found.end() :], sections=2)
    if found := OWN_END.search(text):
        return found[1], found[2], ()
    lines = text.strip().splitlines()
    return "failed", lines[-1] if lines else "ended without a report", ()


def _first_access(text: str) -> str:
    """Return ThreadSanitizer's words for the first access, without the address."""
    for line in text.splitlines():
        if " of size " in line:
            return re.sub(r" at 0x[0-9a-f]+", "", line).strip().rstrip(":")
    return "data race"


def _places(text: str, sections: int) -> tuple[tuple[str, int], ...]:
    """Return the innermost place of the kernel in each of the first stack traces."""
    places: list[tuple[str, int]] = []
    in_trace = done = False
    for line in text.splitlines():
        frame = FRAME.match(line)
        if not line.lstrip().startswith("#"):
            if in_trace:
                sections -= 1
                if sections == 0:
                    break
            in_trace = done = False
            continue
        in_trace = True
        if done or frame is None or "libsanitizer" in frame[1]:
            continue
        name = os.path.basename(frame[1])
        if name not in _NAMES:
            places.append((name, int(frame[2])))
            done = True
    return tuple(places)
