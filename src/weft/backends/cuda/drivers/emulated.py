"""The emulation on the host as a driver: arrays are NumPy's, each launch runs to its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.backends.cuda.drivers.base import Geometry, Limits, Packed, Resources, merged, open_places
from weft.backends.cuda.emulator.build import Case, Launch, Program, compile_program
from weft.backends.limits import TimeLimit
from weft.errors import DeviceError

BLOCKS_AT_ONCE = 4  # few, so that grids stay small, but several: barriers mean something


@dataclass(frozen=True)
class EmulatedKernel:
    """A kernel that runs on the host."""

    name: str
    program: Program

    def resources(self) -> Resources | None:
        """Return nothing: the host's registers say nothing about a GPU's."""
        return None

    def blocks_at_once(self, block: int, shared_bytes: int, cluster: int = 1) -> int:
        """Return the size of the grids that are emulated."""
        return BLOCKS_AT_ONCE // cluster * cluster


@dataclass(frozen=True)
class EmulatedModule:
    """A source compiled by the host compiler."""

    program: Program

    def kernel(self, name: str) -> EmulatedKernel:
        """Return a kernel by name."""
        return EmulatedKernel(name, self.program)


class EmulatedDriver:
    """Runs kernels in the emulation."""

    xp = np

    def __init__(
        self, sanitizer: str = "none", seed: int = 0, *, small_grids: bool = False
    ) -> None:
        self.sanitizer = sanitizer
        self.seed = seed
        # What is emulated is small: it would never meet at the barrier of a grid.
        self.limits = Limits(
            "host emulation", BLOCKS_AT_ONCE, 96 * 1024, 2, "sm_90", small_grids=small_grids
        )
        self.counted: Counter[str] = Counter()  # by all launches

    def compile(
        self, source: str, kernels: Sequence[str], headers: Mapping[str, str]
    ) -> EmulatedModule:
        """Compile a source with the host compiler."""
        program = compile_program(source, kernels, sanitizer=self.sanitizer, headers=headers)
        return EmulatedModule(program)

    def compiler(self) -> Any:
        """Return a compiler that fills the cache, for several threads at once."""
        return _Here(self)

    def pack(self, arguments: Sequence[Any]) -> Packed:
        """Return the arguments unchanged; there is nothing to prepare."""
        return Packed(None, tuple(arguments), open_places(arguments))

    def launch(
        self, kernel: Any, geometry: Geometry, arguments: Packed | Sequence[Any],
        given: Sequence[Any] = (),
    ) -> None:  # fmt: skip
        """Run a kernel to its end and copy what it wrote back into the arrays."""
        buffers: dict[str, np.ndarray] = {}
        arrays: dict[str, np.ndarray] = {}
        passed: list[str | np.generic] = []
        for argument in merged(arguments, given):
            if isinstance(argument, np.ndarray):
                name = f"at_{argument.ctypes.data}_{argument.nbytes}"
                buffers[name] = _padded(argument)
                arrays[name] = argument
                passed.append(name)
            else:
                passed.append(np.int64(argument) if type(argument) is int else argument)
        launch = Launch(kernel.name, tuple(passed), *geometry)
        outcome = kernel.program.run([Case(buffers, [launch], self.seed)], timeout_s=300)
        if outcome.report is not None:
            raise DeviceError(f"the emulation stopped {kernel.name!r}: {outcome.report.text}")
        self.counted.update(outcome.counts)
        for name, array in arrays.items():
            if array.flags.writeable:
                array.reshape(-1)[:] = outcome.outputs[0][name][: array.size]

    def upload(self, target: Any, source: Any) -> None:
        """Copy an array to the start of another."""
        target[: source.size] = source

    def uploader(self, target: Any, source: Any) -> Callable[[int], None]:
        """Return a function that copies the first bytes of one array to another."""
        to, from_ = target.view(np.uint8), source.view(np.uint8)

        def send(nbytes: int) -> None:
            to[:nbytes] = from_[:nbytes]

        return send

    def shared_array(self, size: int, dtype: Any) -> tuple[Any, Any]:
        """Return an array; host and device are the same."""
        array = np.zeros(size, dtype)
        return array, array

    def wait(self, stop: Any, limit: TimeLimit | None = None, ended: Any = None) -> None:
        """Every launch has ended already; perhaps too late."""
        if limit is not None:
            limit.check()

    def free_bytes(self) -> int:
        """Return a number that nothing small exceeds."""
        return 1 << 40


class _Here:
    """Compiles in the calling thread: the host compiler is a process of its own."""

    def __init__(self, driver: EmulatedDriver) -> None:
        self.driver = driver

    def compile(self, source: str, kernels: Sequence[str], headers: Mapping[str, str]) -> None:
        self.driver.compile(source, kernels, headers)

    def close(self) -> None:
        pass


def _padded(array: np.ndarray) -> np.ndarray:
    """Return an array in one axis, in whole words: atomics on bytes swap the word around them."""
    array = np.ascontiguousarray(array).reshape(-1)
    missing = -array.size % max(1, 4 // array.itemsize)
    return np.concatenate([array, np.zeros(missing, array.dtype)]) if missing else array
