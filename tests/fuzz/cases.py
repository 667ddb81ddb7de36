"""What a case is: a kind, a seed, and how its outcome is judged."""

from __future__ import annotations

import hashlib
import importlib
import traceback
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

KINDS = ("algorithms", "programs", "files", "stores")
GROUP = 100
"""Consecutive seeds that share a program and its configurations, and so their compiled kernels."""


class Difference(AssertionError):
    """A case gave something else than it must."""


@dataclass(frozen=True)
class Outcome:
    """How one case ended: "ok", "refused" (the configuration cannot run it) or "different"."""

    kind: str
    seed: int
    verdict: str
    text: str = ""


def random_of(*parts: Any) -> np.random.Generator:
    """Return a generator that depends on the parts alone, in every process."""
    digest = hashlib.sha256(repr(parts).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:8], "little"))


def pick(rng: np.random.Generator, values: Any) -> Any:
    """Return one of some values, as it is."""
    return values[int(rng.integers(len(values)))]


def chance(rng: np.random.Generator, share: float) -> bool:
    """Return True in the given share of all cases."""
    return bool(rng.random() < share)


def run_case(kind: str, seed: int, device: str = "cpu") -> Outcome:
    """Run one case; whatever goes wrong in it becomes part of the outcome."""
    module = importlib.import_module(f"{__package__}.{kind}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            verdict = module.run(seed, device)
    except Difference as error:
        return Outcome(kind, seed, "different", str(error))
    except Exception:
        return Outcome(kind, seed, "different", traceback.format_exc())
    return Outcome(kind, seed, verdict)
