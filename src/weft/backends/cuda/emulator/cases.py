"""Cases for a compiled program: buffers, launches on them, and the files they travel in.

Cases travel as little-endian 64-bit words, bytes padded to whole words; results come back as the
bytes of all buffers and a word after each case (``runner.cpp`` is the other side).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from weft.errors import ConfigError, unknown

BUFFER_ARG, VALUE_ARG = 0, 1
END_BYTES = 8


@dataclass(frozen=True)
class Launch:
    """One launch of a kernel.

    Parameters
    ----------
    kernel
        Its name, one of those that the program was compiled with.
    args
        A string names a buffer of the case, whose address is passed; anything else must be a NumPy
        scalar of the size of the kernel's parameter.
    grid, block
        Number of blocks, and of threads in each.
    shared_bytes
        Dynamic shared memory of a block.
    cluster
        Number of blocks in a cluster.
    cooperative
        Whether all blocks must run together, as a grid barrier needs.
    """

    kernel: str
    args: tuple[str | np.generic, ...]
    grid: int = 1
    block: int = 32
    shared_bytes: int = 0
    cluster: int = 1
    cooperative: bool = False


@dataclass(frozen=True)
class Case:
    """Buffers, and the launches that work on them one after another.

    With ``seed=0`` threads run in the order of their numbers until they wait; any other seed draws
    a random order, which it repeats exactly.
    """

    buffers: Mapping[str, np.ndarray]
    launches: Sequence[Launch]
    seed: int = 0


def encode(cases: Sequence[Case], kernels: Sequence[str]) -> bytes:
    """Return the file of cases for a program with these kernels."""
    out = bytearray()
    _put_words(out, len(cases))
    for case in cases:
        names = {name: index for index, name in enumerate(case.buffers)}
        _put_words(out, case.seed, len(case.buffers), len(case.launches))
        for buffer in case.buffers.values():
            _put_bytes(out, np.ascontiguousarray(buffer).tobytes())
        for launch in case.launches:
            _put_launch(out, launch, names, kernels)
    return bytes(out)


def decode(cases: Sequence[Case], data: bytes) -> list[dict[str, np.ndarray]]:
    """Return the buffers of the cases whose results are all in the file of results."""
    outputs: list[dict[str, np.ndarray]] = []
    position = 0
    for case in cases:
        # The word marks the end of the case, even if it has no bytes to return.
        nbytes = sum(buffer.nbytes for buffer in case.buffers.values())
        if position + nbytes + END_BYTES > len(data):
            break
        found = {}
        for name, buffer in case.buffers.items():
            flat = np.frombuffer(data, dtype=buffer.dtype, count=buffer.size, offset=position)
            found[name] = flat.reshape(buffer.shape).copy()
            position += buffer.nbytes
        position += END_BYTES
        outputs.append(found)
    return outputs


def _put_launch(
    out: bytearray, launch: Launch, names: Mapping[str, int], kernels: Sequence[str]
) -> None:
    if launch.kernel not in kernels:
        raise ConfigError(unknown("kernel", launch.kernel, kernels))
    index = kernels.index(launch.kernel)
    _put_words(out, index, launch.grid, launch.block, launch.shared_bytes, launch.cluster)
    _put_words(out, launch.cooperative, len(launch.args))
    for arg in launch.args:
        if isinstance(arg, str):
            if arg not in names:
                raise ConfigError(unknown("buffer", arg, names))
            _put_words(out, BUFFER_ARG, names[arg])
        elif isinstance(arg, np.generic):
            _put_words(out, VALUE_ARG)
            _put_bytes(out, arg.tobytes())
        else:
            raise ConfigError(
                f"an argument of kernel {launch.kernel!r} is {arg!r}. Expected the name of a "
                "buffer or a NumPy scalar, such as numpy.int32(7)."
            )


def _put_words(out: bytearray, *values: int) -> None:
    out += np.array(values, dtype="<u8").tobytes()


def _put_bytes(out: bytearray, data: bytes) -> None:
    _put_words(out, len(data))
    out += data + bytes(-len(data) % 8)
