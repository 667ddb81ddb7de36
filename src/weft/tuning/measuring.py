"""Times one configuration after another, and stops those that cannot win.

A candidate runs once to warm up, when its result is also compared, then a few times for the clock.
Every run has a time limit, a multiple of the best so far, at which the loop on the device is
stopped by the same flag as for Ctrl-C. Configurations that lead to the same code and launch are
measured once.
"""

from __future__ import annotations

import contextlib
import gc
import time
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any

from weft.arrays.device import Device
from weft.backends.limits import TimeLimit
from weft.config import Config, each_choice
from weft.engine.watch import Watch, watching
from weft.errors import ConfigError, DeviceError, DeviceMemoryError, TimeLimitError, WeftError
from weft.formats import choose
from weft.ir.request import Request
from weft.tuning.comparing import Reference
from weft.tuning.compiling import Compilations, sources_of

OTHERS = 50.0  # times the default: limit of a run that only shows which results are a choice
FLOOR_S = 0.002  # the smallest limit: clocks and the host have latencies of their own
# Fields that only shape the code: equal code is equal work.
CODE = frozenset({
    "format", "schedule", "direction", "frontier_in", "frontier_out", "compaction", "dedup",
    "combine", "ordering", "fuse", "passes_off",
})  # fmt: skip


@dataclass(frozen=True)
class Patience:
    """How long a candidate is measured.

    Attributes
    ----------
    runs
        The maximum number of timed runs.
    warm_up
        Limit of a run as a multiple of the best time; generous, since the first finds cold caches.
    lost
        A candidate whose first timed run takes longer than this multiple of the best is dropped.
    near
        Candidates within this multiple of the best are run as often as possible.
    enough_ms
        A candidate is not run again once its runs took this long in total.
    """

    runs: int = 5
    warm_up: float = 4.0
    lost: float = 1.5
    near: float = 1.1
    enough_ms: float = 2000.0


@dataclass(frozen=True)
class Trial:
    """The outcome of trying one configuration.

    Attributes
    ----------
    config
        The configuration.
    status
        ``"ok"``; ``"stopped"`` (it cannot win; `ms` is a lower bound), ``"refused"`` (not possible
        here), ``"failed"`` (an error) or ``"wrong"`` (a result that differs from the default's).
    ms
        The shortest time of a call, since other load only makes calls longer; infinite if untimed.
    runs
        Timed runs.
    reason
        Why timing ended early.
    same_as
        An earlier configuration that led to the same code and launch.
    seconds
        The time of completion since the start of the search.
    """

    config: Config
    status: str
    ms: float = float("inf")
    runs: int = 0
    reason: str = ""
    same_as: Config | None = None
    seconds: float = 0.0

    @property
    def is_timed(self) -> bool:
        """Whether it ran to completion with the right result."""
        return self.status == "ok"


@dataclass
class Bench:
    """One algorithm on one graph, its right result, and the clock.

    Parameters
    ----------
    call
        Runs the algorithm under a configuration.
    device
        Where it runs.
    same
        ``same(result, right)``: whether a result is as right as the default's; by default
        `Reference` compares them.
    trusted
        Whether equal inputs give equal results, except for the choices known to `Reference`. If
        not, a run that only pushes and one that only pulls show further choices.
    compilations
        Compiles its kernels ahead; pass one to share a background compiler.
    """

    call: Callable[[Config], Any]
    device: Device
    same: Callable[[Any, Any], bool] | None = None
    trusted: bool = False
    patience: Patience = field(default_factory=Patience)
    clock: Callable[[], float] = time.perf_counter
    requests: dict[str, Request] = field(default_factory=dict)
    best_ms: float = float("inf")
    compilations: Compilations = field(default_factory=Compilations)
    # Returns how a result is wrong, or nothing; `start` sets it.
    _complaint: Callable[[Any], str] = field(init=False)
    _signatures: dict[Any, Trial] = field(default_factory=dict)

    def start(self) -> Trial:
        """Run the default configuration, whose result counts as right."""
        watch = Watch(keeping=True)
        default, began = Config(), self.clock()
        with watching(watch):
            right = self.call(default)
        self.compilations.longest_s = self.clock() - began
        self.requests = watch.requests
        self.compilations.open(self.requests.values(), self.device)
        trial = self._time(default)
        self.best_ms = trial.ms
        self._complaint = self._comparison(right)
        self._signatures[self._signature(default)] = trial
        return trial

    def _comparison(self, right: Any) -> Callable[[Any], str]:
        """Return the function that says how a result differs from the right one."""
        same = self.same
        if same is not None:
            return lambda result: "" if same(result, right) else "same(result, right) is false"
        return Reference(right, [] if self.trusted else self._others()).complaint

    def _others(self) -> list[Any]:
        """Return the results of a run that only pushes and one that only pulls."""
        found: list[Any] = []
        limit_s = OTHERS * self.best_ms / 1e3
        for direction in ("push", "pull"):
            with contextlib.suppress(WeftError):  # not possible, or too slow
                found.append(self._once(Config(direction=direction), limit_s)[1])
        return found

    def measure(self, config: Config) -> Trial:
        """Time a configuration for as long as it can win."""
        try:
            self.compilations.finish(config)
            signature = self._signature(config)
            known = self._signatures.get(signature)
            if known is not None:
                return replace(known, config=config, same_as=known.same_as or known.config)
            trial = self._race(config)
        except TimeLimitError:
            bound = self.patience.warm_up * self.best_ms
            trial = Trial(config, "stopped", bound, reason=f"not done after {bound:.3g} ms")
        except (ConfigError, DeviceMemoryError) as error:
            return Trial(config, "refused", reason=_first_line(error))
        except Exception as error:
            self._check_device(error)
            return Trial(config, "failed", reason=_first_line(error))
        self._signatures[signature] = trial
        if trial.is_timed:
            self.best_ms = min(self.best_ms, trial.ms)
        return trial

    def confirm(self, config: Config, runs: int = 1) -> list[float]:
        """Return the times of some more runs, in milliseconds."""
        return [self._once(config)[0] for _ in range(runs)]

    def kernel_source(self, config: Config) -> str:
        """Return the generated source of the programs under a configuration."""
        return "\n\n".join(sources_of(self.requests.values(), config))

    # -- timing

    def _race(self, config: Config) -> Trial:
        patience, limit_s = self.patience, self.patience.warm_up * self.best_ms / 1e3
        _, result = self._once(config, limit_s)
        trouble = self._complaint(result)
        if trouble:
            return Trial(config, "wrong", reason=trouble)
        del result
        first, _ = self._once(config, limit_s)
        if first > patience.lost * self.best_ms:
            reason = f"{first / self.best_ms:.2f} times the best"
            return Trial(config, "stopped", first, 1, reason)
        times = [first]
        while min(times) < patience.near * self.best_ms and self._wants_more(times):
            times.append(self._once(config)[0])
        return Trial(config, "ok", min(times), len(times))

    def _wants_more(self, times: list[float]) -> bool:
        return len(times) < self.patience.runs and sum(times) < self.patience.enough_ms

    def _time(self, config: Config) -> Trial:
        times = [self._once(config)[0]]
        while self._wants_more(times):
            times.append(self._once(config)[0])
        return Trial(config, "ok", min(times), len(times))

    def _once(self, config: Config, limit_s: float = float("inf")) -> tuple[float, Any]:
        """Run once; return the milliseconds and the result."""
        collects = gc.isenabled()
        gc.disable()
        try:
            with watching(Watch(TimeLimit(max(limit_s, FLOOR_S), self.clock))):
                began = self.clock()
                result = self.call(config)
                self.device.synchronize()
                return (self.clock() - began) * 1e3, result
        finally:
            if collects:
                gc.enable()

    def _check_device(self, error: Exception) -> None:
        """Raise if the GPU is lost: some faults make it unusable for the rest of the process."""
        try:
            self.device.synchronize()
        except Exception as lost:
            raise DeviceError(f"the GPU was lost: {_first_line(error)}") from lost

    def _signature(self, config: Config) -> Any:
        """Return what distinguishes a configuration: the generated code, and the other fields."""
        if not self.requests:
            return config
        rest = tuple(getattr(config, f.name) for f in fields(config) if f.name not in CODE)
        # Parameters of a format shape its arrays, not the code.
        shapes = [str(choose(text)) for text in each_choice(config.format) if text is not None]
        shaped = tuple(text for text in shapes if "(" in text)
        return sources_of(self.requests.values(), config), shaped, rest


def _first_line(error: BaseException) -> str:
    return f"{error}".strip().partition("\n")[0][:300] or type(error).__name__
