"""The interface of a driver: compile a source, allocate, launch, wait."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from weft.backends.limits import TimeLimit


@dataclass(frozen=True)
class Multiprocessor:
    """The resources of one multiprocessor for its resident blocks."""

    registers: int
    shared_bytes: int
    reserved_shared_bytes: int  # taken from each block's share
    blocks: int
    threads: int


@dataclass(frozen=True)
class Limits:
    """The limits of a device."""

    name: str
    multiprocessors: int
    shared_bytes: int  # dynamic shared memory of a block, at most
    clusters: int  # blocks of a cluster that every such device allows; 1 where there are none
    architecture: str
    multiprocessor: Multiprocessor | None = None  # not known in the emulation
    large_cluster: int = 0  # blocks of a cluster that perhaps are allowed; 0: no more
    small_grids: bool = True  # whether graphs that one cluster can fill get no more than that


@dataclass(frozen=True)
class Resources:
    """The resources of a compiled kernel."""

    registers: int
    spilled_bytes: int  # local memory of a thread
    static_shared_bytes: int


@dataclass(frozen=True)
class Packed:
    """Arguments made ready by a driver; they keep alive what they point to.

    Some places may be open: what stands there is given with each launch, and not kept.
    """

    ready: Any
    arguments: tuple[Any, ...]
    open: tuple[int, ...] = ()


def open_places(arguments: Sequence[Any]) -> tuple[int, ...]:
    """Return the places of packed arguments that are left open."""
    return tuple(place for place, argument in enumerate(arguments) if argument is None)


def merged(arguments: Packed | Sequence[Any], given: Sequence[Any]) -> Sequence[Any]:
    """Return arguments one by one, what is given in the open places."""
    if not isinstance(arguments, Packed):
        return arguments
    listed = list(arguments.arguments)
    for place, argument in zip(arguments.open, given, strict=True):
        listed[place] = argument
    return listed


class Geometry(NamedTuple):
    """The launch shape of a kernel: its threads, and the shared memory of blocks."""

    grid: int  # blocks
    block: int  # threads
    shared_bytes: int = 0  # dynamic shared memory of a block
    cluster: int = 1  # blocks
    cooperative: bool = False  # the blocks meet


class Kernel(Protocol):
    """One kernel of a module."""

    name: str

    def resources(self) -> Resources | None:
        """Return the resources of the kernel; None if there are none."""

    def blocks_at_once(self, block: int, shared_bytes: int, cluster: int = 1) -> int:
        """Return how many blocks the whole device holds at once."""


class Module(Protocol):
    """A compiled source."""

    def kernel(self, name: str) -> Kernel:
        """Return a kernel by name."""


class Compiler(Protocol):
    """Compiles into the cache; several threads may call it at once."""

    def compile(self, source: str, kernels: Sequence[str], headers: Mapping[str, str]) -> None:
        """Compile a source unless the cache has it."""

    def close(self) -> None:
        """End what it has started."""


class Driver(Protocol):
    """A place where kernels run on arrays of the module `xp`."""

    xp: Any
    limits: Limits
    counted: Mapping[str, int]  # what all launches did, where that is known

    def compile(self, source: str, kernels: Sequence[str], headers: Mapping[str, str]) -> Module:
        """Compile a source, or take it from the cache."""

    def compiler(self) -> Compiler:
        """Return a compiler that fills the cache in the background."""

    def pack(self, arguments: Sequence[Any]) -> Packed:
        """Return arguments as `launch` may get them again and again; None is an open place."""

    def launch(
        self, kernel: Kernel, geometry: Geometry, arguments: Packed | Sequence[Any],
        given: Sequence[Any] = (),
    ) -> None:  # fmt: skip
        """Start a kernel: arrays are passed by address, NumPy scalars by value.

        Ints, which are `i64` to a kernel, must not be negative.

        What is given goes to the open places of packed arguments, in order.
        """

    def upload(self, target: Any, source: Any) -> None:
        """Copy an array of the host or the device to the start of one of the device."""

    def uploader(self, target: Any, source: Any) -> Callable[[int], None]:
        """Return a function that copies the first bytes of a shared array to one of the device."""

    def shared_array(self, size: int, dtype: Any) -> tuple[Any, Any]:
        """Return memory that host and device both see: as a NumPy array, and as an argument."""

    def wait(self, stop: Any, limit: TimeLimit | None = None, ended: Any = None) -> None:
        """Wait for all launches; on Ctrl-C, or beyond a limit, raise the stop flag and go on.

        `ended` is an array of one element that a kernel sets at its very end, if one does.
        """

    def free_bytes(self) -> int:
        """Return the memory that is free."""
