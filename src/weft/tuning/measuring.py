"""Times one configuration after another, and gives up those that cannot win.

A candidate runs once to warm up, which is also when its result is compared, then a few times for
the clock. Every run has a limit: some times the best so far. Beyond it, the loop on the device is
stopped by the flag that Ctrl-C uses. What only differs in the text of a configuration, not in the
code and the launch that it leads to, is not run again.
"""

from __future__ import annotations

import contextlib
import gc
import time
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any

from weft.arrays.device import Device
from weft.backends import backend_of
from weft.backends.limits import TimeLimit
from weft.config import Config, each_choice
from weft.engine.watch import Watch, watching
from weft.errors import ConfigError, DeviceError, DeviceMemoryError, TimeLimitError, WeftError
from weft.formats import choose
from weft.ir.request import Request
from weft.tuning.comparing import Reference
from weft.tuning.compiling import sources_of, under

OTHERS = 50.0  # times the default: how long a run may take that only shows what is a choice
FLOOR_S = 0.002  # no limit is below: clocks and the host have their own times
# Fields that shape the code and nothing else: equal code is equal work.
CODE = frozenset({
    "format", "schedule", "direction", "frontier_in", "frontier_out", "compaction", "dedup",
    "combine", "ordering", "fuse", "passes_off",
})  # fmt: skip


@dataclass(frozen=True)
class Patience:
    """How long a candidate is looked at.

    Attributes
    ----------
    runs
        Timed runs, at most.
    warm_up
        Times the best: no run may take longer; the first one finds cold caches.
    lost
        Times the best: what takes longer in its first timed run is not run again.
    near
        Times the best: what is nearer is run as often as possible.
    enough_ms
        What took so long in all is not run again.
    """

    runs: int = 5
    warm_up: float = 4.0
    lost: float = 1.5
    near: float = 1.1
    enough_ms: float = 2000.0


@dataclass(frozen=True)
class Trial:
    """One configuration that was tried.

    Attributes
    ----------
    config
        The configuration.
    status
        ``"ok"``; ``"stopped"`` (it cannot win; `ms` is a lower bound), ``"refused"`` (not possible
        here), ``"failed"`` (an error) or ``"wrong"`` (another result than the default's).
    ms
        The shortest time of a call, as what else the machine does only makes it longer; infinite
        where there is none.
    runs
        Timed runs.
    reason
        Why it was not timed to the end.
    same_as
        An earlier configuration that led to the same code and launch.
    seconds
        When it was done, since the search began.
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
        """Whether it ran to the end with the right result."""
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
        Whether a result is as right as the default's: ``same(result, right)``; by default
        `Reference` compares them.
    trusted
        Whether equal inputs give equal results, but for what `Reference` knows. If not, runs that
        only push and only pull show what else is a choice.
    ahead
        What compiles ahead (made by `Backend.compile_ahead`), if several benches share one.
    """

    call: Callable[[Config], Any]
    device: Device
    same: Callable[[Any, Any], bool] | None = None
    trusted: bool = False
    patience: Patience = field(default_factory=Patience)
    clock: Callable[[], float] = time.perf_counter
    requests: dict[str, Request] = field(default_factory=dict)
    best_ms: float = float("inf")
    ahead: Any = None
    compile_s: float = 0.0  # the longest wait for a kernel so far
    _right: Any = None
    _reference: Reference | None = None
    _own_ahead: Any = None
    _signatures: dict[Any, Trial] = field(default_factory=dict)
    _begun: dict[Config, Any] = field(default_factory=dict)

    def start(self) -> Trial:
        """Run the default configuration; what it returns is right."""
        watch = Watch(keeping=True)
        default, began = Config(), self.clock()
        with watching(watch):
            self._right = self.call(default)
        self.compile_s = self.clock() - began
        self.requests = watch.requests
        if self.ahead is None and self.requests:
            self.ahead = self._own_ahead = backend_of(self.device).compile_ahead(self.device)
        trial = self._time(default)
        self.best_ms = trial.ms
        self._reference = Reference(self._right, self._others())
        self._signatures[self._signature(default)] = trial
        return trial

    def _others(self) -> list[Any]:
        """Return results of runs that only push and only pull, if choices can differ there."""
        found: list[Any] = []
        if self.same is not None or self.trusted:
            return found
        limit_s = OTHERS * self.best_ms / 1e3
        for direction in ("push", "pull"):
            with contextlib.suppress(WeftError):  # not possible, or too slow
                found.append(self._once(Config(direction=direction), limit_s)[1])
        return found

    def wait_s(self, config: Config) -> float:
        """Return about how long a configuration waits for kernels that cannot be compiled ahead."""
        backend = backend_of(self.device)
        try:
            waits = [backend.compile_seconds(under(r, config)) for r in self.requests.values()]
        except WeftError:  # refused, which takes no time
            return 0.0
        return sum(max(wait, self.compile_s) for wait in waits if wait)

    def begin(self, config: Config) -> None:
        """Begin to compile for a configuration."""
        if self.ahead is None or config in self._begun:
            return
        try:
            self._begun[config] = [
                self.ahead.begin(under(request, config)) for request in self.requests.values()
            ]
        except WeftError as error:
            self._begun[config] = error

    def is_ready(self, config: Config) -> bool:
        """Whether nothing has to be compiled any more before a configuration runs."""
        begun = self._begun.get(config)
        return not isinstance(begun, list) or all(future.done() for future in begun)

    def under_way(self) -> list[Any]:
        """Return the compilations that have not ended."""
        lists = [begun for begun in self._begun.values() if isinstance(begun, list)]
        return [future for begun in lists for future in begun if not future.done()]

    @property
    def lookahead(self) -> int:
        """How many configurations are compiled while another runs."""
        return 1 if self.ahead is None else 1 + 2 * int(self.ahead.workers)

    def measure(self, config: Config) -> Trial:
        """Time a configuration, as long as it can win."""
        begun = self._begun.pop(config, None)
        try:
            if isinstance(begun, WeftError):
                raise begun
            for future in begun or ():
                future.result()
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

    def close(self) -> None:
        """Give up what is being compiled for this bench alone."""
        if self._own_ahead is not None:
            self._own_ahead.close()
            self.ahead = self._own_ahead = None

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
        """Raise if nothing can run on a GPU any more: some faults spoil it for the process."""
        try:
            self.device.synchronize()
        except Exception as lost:
            raise DeviceError(f"the GPU was lost: {_first_line(error)}") from lost

    def _complaint(self, result: Any) -> str:
        if self.same is not None:
            return "" if self.same(result, self._right) else "same(result, right) is false"
        assert self._reference is not None
        return self._reference.complaint(result)

    def _signature(self, config: Config) -> Any:
        """Return what of a configuration makes a difference: the code, and the rest of it."""
        if not self.requests:
            return config
        rest = tuple(getattr(config, f.name) for f in fields(config) if f.name not in CODE)
        # Parameters of a format shape its arrays, not the code.
        shapes = [str(choose(text)) for text in each_choice(config.format) if text is not None]
        shaped = tuple(text for text in shapes if "(" in text)
        return sources_of(self.requests.values(), config), shaped, rest


def _first_line(error: BaseException) -> str:
    return f"{error}".strip().partition("\n")[0][:300] or type(error).__name__
