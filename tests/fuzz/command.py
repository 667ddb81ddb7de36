"""The fuzz command: draws cases, runs them in worker processes, reports every difference."""

from __future__ import annotations

import argparse
import itertools
import math
import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence

from .cases import GROUP, KINDS, Outcome
from .workers import run_all

TOLD = 3
"""Differences that are described for each group of seeds; the others are counted."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns 1 if any case differed, else 0."""
    options = _options(arguments)
    os.environ.setdefault("WEFT_TUNINGS", "off")
    print(
        f"fuzz: {options.cases or 'any number of'} cases of {', '.join(options.kinds)} from seed "
        f"{options.seed} on {options.device}",
        flush=True,
    )
    begin = time.monotonic()
    deadline = begin + options.seconds if options.seconds else math.inf
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in options.kinds}
    told: Counter[tuple[str, int]] = Counter()
    batches = _batches(options.kinds, options.cases, options.seed)
    for outcome in run_all(batches, options.jobs, options.device, deadline):
        counts[outcome.kind][outcome.verdict] += 1
        if outcome.verdict == "different":
            told[outcome.kind, outcome.seed // GROUP] += 1
            if told[outcome.kind, outcome.seed // GROUP] <= TOLD:
                print(_report(outcome, options.device), flush=True)
    _summarize(counts, time.monotonic() - begin)
    return int(any(count["different"] for count in counts.values()))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "python -m tests.fuzz",
        description="Compare weft with independent oracles on drawn cases.",
    )
    parser.add_argument("--cases", type=int, default=0, help="cases in all, shared by the kinds")
    parser.add_argument("--seconds", type=float, default=0.0, help="begin nothing after this time")
    parser.add_argument("--seed", type=int, default=0, help="the first seed of every kind")
    parser.add_argument(
        "--kinds", "--kind", nargs="+", choices=KINDS, default=list(KINDS), metavar="KIND",
        help=f"some of {', '.join(KINDS)}",
    )  # fmt: skip
    parser.add_argument("--device", choices=("cpu", "emulated", "cuda"), default="cpu")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="worker processes")
    options = parser.parse_args(arguments)
    if options.cases < 0 or options.seed < 0 or options.jobs < 1 or options.seconds < 0:
        parser.error("--cases, --seed and --seconds must not be negative, --jobs be at least 1")
    if not options.cases and not options.seconds:
        options.cases = len(options.kinds)  # one of each: what --kind and --seed repeat
    return options


def _batches(kinds: Sequence[str], cases: int, first: int) -> Iterator[list[tuple[str, int]]]:
    """Yield groups of seeds, kind after kind in turn; 0 cases stands for no end."""
    share, rest = divmod(cases, len(kinds))
    ends = {kind: first + share + (k < rest) if cases else math.inf for k, kind in enumerate(kinds)}
    for begin in itertools.count(first - first % GROUP, GROUP):
        if not any(max(begin, first) < end for end in ends.values()):
            return
        for kind in kinds:
            seeds = range(max(begin, first), int(min(begin + GROUP, ends[kind])))
            if seeds:
                yield [(kind, seed) for seed in seeds]


def _report(outcome: Outcome, device: str) -> str:
    again = f"python -m tests.fuzz --kind {outcome.kind} --seed {outcome.seed}"
    again += "" if device == "cpu" else f" --device {device}"
    body = "\n".join(f"    {_clipped(line)}" for line in outcome.text.strip().splitlines())
    return f"DIFFERENT {outcome.kind} {outcome.seed}  (again: {again})\n{body}"


def _clipped(line: str, most: int = 700) -> str:
    return line if len(line) <= most else f"{line[:most]} ... ({len(line)} characters)"


def _summarize(counts: dict[str, Counter[str]], seconds: float) -> None:
    total = sum(count.total() for count in counts.values())
    for kind, count in counts.items():
        print(
            f"{kind:<11}{count.total():>8} cases {count.total() / max(seconds, 1e-9):>8.1f}/s"
            f"{count['refused']:>8} refused{count['different']:>6} different"
        )
    print(f"{total} cases in {seconds:.0f} s")
