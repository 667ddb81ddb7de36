"""Config: how a program is carried out, every field optional."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from weft.errors import ConfigError, listed, unknown

DIRECTIONS = ("auto", "push", "pull")
FORMATS = ("csr",)
SCHEDULES = ("vertex", "edge", "warp", "block", "twc", "twce", "strict", "merge", "row")
PASSES = (
    "constant_folding",
    "equal_expressions",
    "gather_folding",
    "dead_fields",
    "source_hoisting",
    "constant_lifting",
    "write_once",
    "async_relaxation",
    "early_exit",
    "index_proofs",
)


@dataclass(frozen=True)
class Config:
    """Choices about execution that never change a result beyond rule and rounding.

    Parameters
    ----------
    direction
        ``"push"``, ``"pull"`` or ``"auto"``: whichever looks at fewer edges, step by step.
    format
        How the topology lies in memory: ``"csr"``.
    schedule
        Who takes which edge. On a CPU ``"vertex"``, ``"edge"`` or ``"merge"``.
    ordering
        Whether a step with a priority may be processed in its order.
    delta
        Width of a bucket of ordered processing; chosen from the weights if not given.
    threads
        Number of threads; by default those of the machine, or ``WEFT_NUM_THREADS``.
    passes_off
        Names of rewrites to leave out.
    deterministic
        Bit-equal results run after run, whatever the number of threads.

    Examples
    --------
    >>> import weft
    >>> weft.Config(direction="push").direction
    'push'
    >>> weft.Config(direction="sideways")
    Traceback (most recent call last):
    ...
    weft.errors.ConfigError: direction='sideways' is not known. Expected one of ...
    """

    direction: str = "auto"
    format: str = "csr"
    schedule: str | None = None
    ordering: bool = True
    delta: float | None = None
    threads: int | None = None
    passes_off: frozenset[str] | str = field(default_factory=frozenset)
    deterministic: bool = False

    def __post_init__(self) -> None:
        if self.direction not in DIRECTIONS:
            raise ConfigError(unknown("direction", self.direction, DIRECTIONS))
        if self.format not in FORMATS:
            raise ConfigError(unknown("format", self.format, FORMATS))
        if self.schedule is not None and self.schedule not in SCHEDULES:
            raise ConfigError(unknown("schedule", self.schedule, SCHEDULES))
        off = (self.passes_off,) if isinstance(self.passes_off, str) else self.passes_off
        object.__setattr__(self, "passes_off", frozenset(off))
        for name in frozenset(off):
            if name not in PASSES:
                raise ConfigError(unknown("passes_off", name, PASSES))
        if self.delta is not None and not self.delta > 0:
            raise ConfigError(f"delta={self.delta!r} must be a positive number.")
        if self.threads is not None and (not isinstance(self.threads, int) or self.threads < 1):
            raise ConfigError(f"threads={self.threads!r} must be a positive integer.")
        for name in ("ordering", "deterministic"):
            if not isinstance(getattr(self, name), bool):
                raise ConfigError(f"{name}={getattr(self, name)!r} must be True or False.")

    def options(self) -> dict[str, Any]:
        """Return the fields as a dictionary."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


def check_config(config: object) -> Config:
    """Return a Config, the default one for None."""
    if config is None:
        return Config()
    if not isinstance(config, Config):
        names = listed(f.name for f in fields(Config))
        raise ConfigError(f"config={config!r} is not a weft.Config. Its fields are {names}.")
    return config
