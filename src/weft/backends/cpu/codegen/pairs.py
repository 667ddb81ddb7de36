"""Packed pairs: key and payload of an in-place argmin or argmax, side by side in one array.

A pair has 64 bits, the key in the upper half, where both fields have at most 32; else 128 bits in
two words, the key first.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from weft.backends.cpu.codegen.blocks import BlockRenderer, Operand
from weft.backends.cpu.codegen.kernel import Kernel
from weft.backends.cpu.codegen.site import Site
from weft.ir.ops import Step
from weft.plan.sweeps import Sweep

Array = np.ndarray[Any, Any]


def find_pairs(kernel: Kernel, sweeps: list[Sweep]) -> None:
    """Name the arrays of the pairs that sweeps swap."""
    for sweep in sweeps:
        step = sweep.steps[0]
        if sweep.mode == "online" and step.reductions[0].selecting:
            key, payload = step.into
            widest = max(kernel.types[name][0].itemsize for name in (key, payload))
            width = 64 if widest <= 4 else 128
            kernel.pairs[key] = (kernel.args.use("pair", key, payload, width), width)


def overlay_pairs(kernel: Kernel, site: Site) -> None:
    """Read key fields of packed pairs from the pairs."""
    for name, (array, width) in kernel.pairs.items():
        for who in ("u", "v"):
            place = site.index[who]
            word = f"{array}[{place}]" if width == 64 else f"{array}[{place} << ONE]"
            site.known[("field", who, name)] = _key_of(word, kernel.types[name][0], width)


def _key_of(word: str, dtype: np.dtype[Any], width: int) -> str:
    """Return the key in a word (of 64 bits) of a pair."""
    bits = f"({word} >> np.uint64(32))" if width == 64 else word
    if dtype.itemsize == 8:
        return bits if dtype.name == "uint64" else f"as_{dtype.name}({bits})"
    low = f"to_uint32({bits})"
    if dtype.itemsize == 4:
        return low if dtype.name == "uint32" else f"as_{dtype.name}({low})"
    return f"({low} != 0)" if dtype.kind == "b" else f"to_{dtype.name}({low})"


def _bits_of(text: str, dtype: np.dtype[Any]) -> str:
    """Return the bits of a key or payload as uint64."""
    if dtype.itemsize == 8:
        return text if dtype.name == "uint64" else f"as_uint64({text})"
    if dtype.itemsize == 4 and dtype.name != "uint32":
        text = f"as_uint32({text})"
    elif dtype.itemsize < 4:
        text = f"to_uint32({text})"
    return f"np.uint64({text})"


def swap_pair(kernel: Kernel, step: Step, renderer: BlockRenderer, messages: list[Operand]) -> None:
    """Render the compare-and-swap of key and payload; sets `hit` where the key improved."""
    out = kernel.out
    array, width = kernel.pairs[step.into[0]]
    key_type, payload_type = (kernel.types[name][0] for name in step.into)
    sign = "<" if step.reductions[0].name == "argmin" else ">"
    key = renderer.variable(str(messages[0]), "m")
    messages[0] = key
    out.line("hit = False")
    out.line(f"seen = {array}[v]" if width == 64 else f"seen = {array}[v << ONE]")
    better = f"{key} {sign} {_key_of('seen', key_type, width)}"
    with out.block(f"if {better}:"):
        key_bits = _bits_of(key, key_type)
        payload_bits = _bits_of(str(messages[1]), payload_type)
        if width == 64:
            out.line(f"fresh = ({key_bits} << np.uint64(32)) | {payload_bits}")
        else:
            out.line(f"seen_payload = {array}[(v << ONE) + ONE]")
            out.line(f"fresh_key, fresh_payload = {key_bits}, {payload_bits}")
        with out.block(f"while {better}:"):
            if width == 64:
                out.line(f"back = atomic_cas({array}, v, seen, fresh)")
                with out.block("if back == seen:"):
                    out.line("hit = True")
                    out.line("break")
                out.line("seen = back")
            else:
                swap = f"cas128({array}, v, seen, seen_payload, fresh_key, fresh_payload)"
                out.line(f"hit, seen, seen_payload = {swap}")
                with out.block("if hit:"):
                    out.line("break")


# -- on the host


def _halves(pair: Array, width: int) -> tuple[Array, Array]:
    """Return views of the keys and of the payloads inside pairs."""
    if width == 128:
        return pair[0::2], pair[1::2]
    words = pair.view(np.uint32).reshape(-1, 2)
    low, high = (0, 1) if sys.byteorder == "little" else (1, 0)
    return words[:, high], words[:, low]


def pack(pair: Array, width: int, fields: tuple[Array, Array]) -> None:
    """Fill pairs from a key field and a payload field."""
    for half, field in zip(_halves(pair, width), fields, strict=True):
        bits = field.view(f"u{field.dtype.itemsize}")
        if field.dtype.itemsize < 4 and field.dtype.kind == "i":
            bits = field.astype(np.int32).view(np.uint32)
        half[:] = bits


def unpack(pair: Array, width: int, fields: tuple[Array, Array]) -> None:
    """Write pairs back into their fields."""
    for half, field in zip(_halves(pair, width), fields, strict=True):
        bits = field.view(f"u{field.dtype.itemsize}")
        np.copyto(bits, half, casting="unsafe")
