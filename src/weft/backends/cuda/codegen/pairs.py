"""Packed pairs: key and payload of an in-place argmin or argmax, side by side in one array.

A pair has 64 bits, the key in the upper half, where both fields have at most 32; else it has two
words of 64 bits, the key first, which a device swaps as one or, before sm_90, under a lock.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from weft.arrays.device import module_of
from weft.backends.cuda.codegen.machine import Kernel
from weft.backends.cuda.codegen.site import Site
from weft.backends.cuda.codegen.text import c_type
from weft.ir.ops import Step
from weft.plan.sweeps import Sweep


def find_pairs(kernel: Kernel, sweeps: list[Sweep]) -> None:
    """Name the arrays of the pairs that sweeps swap."""
    for sweep in sweeps:
        step = sweep.steps[0]
        if sweep.kind == "edge" and sweep.mode == "online" and step.reductions[0].selecting:
            key, payload = step.into
            widest = max(kernel.types[name][0].itemsize for name in (key, payload))
            kind = "pair" if widest <= 4 else "wide_pair"
            kernel.pairs[key] = kernel.args.use(kind, key, payload)
            if kind == "wide_pair":
                kernel.wide_pairs.add(key)
                kernel.args.use("pair_locks")


def key_word(kernel: Kernel, key: str, place: str) -> str:
    """Return the word of a pair that holds the key, which a swap expects."""
    member = f"&{kernel.pairs[key]}[{place}].first"
    if key not in kernel.wide_pairs:
        member = f"{kernel.pairs[key]} + {place}"
    return f"load_relaxed({member})"


def overlay_pairs(kernel: Kernel, site: Site) -> None:
    """Read key fields of packed pairs from the pairs."""
    for name in kernel.pairs:
        take = "scalar_of" if name in kernel.wide_pairs else "key_of"
        kind = c_type(kernel.types[name][0])
        for who in ("u", "v"):
            word = key_word(kernel, name, site.index[who])
            site.known[("field", who, name)] = f"{take}<{kind}>({word})"


def swapped(
    kernel: Kernel, step: Step, messages: list[str], seen: str, narrow: str = "swap_pair"
) -> str:
    """Return the test whether a pair is swapped in for that of v, whose key was `seen`.

    `narrow` is the function for pairs of one word, which may do a part of that.
    """
    key = step.into[0]
    least = "true" if step.reductions[0].name == "argmin" else "false"
    casts = (
        f"{c_type(kernel.types[name][0])}({text})"
        for name, text in zip(step.into, messages, strict=True)
    )
    pair, array = ", ".join(casts), kernel.pairs[key]
    if key in kernel.wide_pairs:
        locks = kernel.args.use("pair_locks")
        return f"swap_wide_pair<{least}>({array}, {locks}, v, {pair}, {seen})"
    return f"{narrow}<{least}>({array}, v, {pair}, {seen})"


def pack(buffer: Any, fields: tuple[Any, Any], wide: bool) -> None:
    """Write key and payload into a buffer of words."""
    if wide:
        words = buffer[: 2 * fields[0].size].reshape(-1, 2)
        for half, field in enumerate(fields):
            words[:, half] = _bits(field)
        return
    kernels = _kernels(buffer)
    if kernels is not None and all(field.dtype.itemsize == 4 for field in fields):
        words = [field.view(np.uint32) for field in fields]
        kernels.pack(*words, buffer[: fields[0].size])
        return
    halves = buffer.view(np.uint32).reshape(-1, 2)[: fields[0].size]
    for half, field in zip((1, 0), fields, strict=True):
        small = field if field.dtype.itemsize == 4 else field.astype(np.int32)
        halves[:, half] = small.view(np.uint32)


def unpack(buffer: Any, fields: tuple[Any, Any], wide: bool) -> None:
    """Write the pairs of a buffer back into key and payload."""
    if wide:
        words = buffer[: 2 * fields[0].size].reshape(-1, 2)
        for half, field in enumerate(fields):
            column = words[:, half].copy()
            if field.dtype.itemsize == 8:
                field.view(np.uint64)[:] = column
            elif field.dtype.itemsize == 4:
                field.view(np.uint32)[:] = column.astype(np.uint32)
            else:
                field[:] = column.view(np.int64).astype(field.dtype)
        return
    kernels = _kernels(buffer)
    if kernels is not None and all(field.dtype.itemsize == 4 for field in fields):
        words = [field.view(np.uint32) for field in fields]
        kernels.unpack(buffer[: fields[0].size], *words)
        return
    halves = buffer.view(np.uint32).reshape(-1, 2)[: fields[0].size]
    for half, field in zip((1, 0), fields, strict=True):
        if field.dtype.itemsize == 4:
            field.view(np.uint32)[:] = halves[:, half]
        else:
            field[:] = halves[:, half].view(np.int32).astype(field.dtype)


class _Kernels(NamedTuple):
    pack: Any
    unpack: Any


def _kernels(buffer: Any) -> _Kernels | None:
    """Return kernels that go over key, payload and pairs at once, for arrays of CuPy."""
    return None if isinstance(buffer, np.ndarray) else _compiled(module_of(buffer))


@functools.cache
def _compiled(cupy: Any) -> _Kernels | None:
    if not hasattr(cupy, "ElementwiseKernel"):
        return None
    halves, pair = "uint32 key, uint32 payload", "uint64 pair"
    return _Kernels(
        cupy.ElementwiseKernel(
            halves, pair, "pair = (unsigned long long)key << 32 | payload", "weft_pack"
        ),
        cupy.ElementwiseKernel(
            pair, halves, "key = pair >> 32; payload = (unsigned int)pair", "weft_unpack"
        ),
    )


def _bits(field: Any) -> Any:
    """Return `bits_of_scalar` (updates.cuh) of each value."""
    if field.dtype.itemsize == 8:
        return field.view(np.uint64)
    if field.dtype.itemsize == 4:
        return field.view(np.uint32)
    return field.astype(np.int64).view(np.uint64)
