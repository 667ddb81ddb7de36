"""Counts the bits that two rows share, a block of `topology.row_bits` at a time."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from weft.backends.cpu.runtime.processor import call

BLOCK_WORDS = 8  # as in weft.topology.row_bits, which is no part of kernels
_WORD = ir.IntType(64)
_BLOCK = ir.VectorType(_WORD, BLOCK_WORDS)


@intrinsic
def common_bits(typingctx, a, i, b, j, blocks):
    """Return how many bits are set in both of two stretches of whole blocks, as int64.

    They begin at the words a[i] and b[j]. The loop is written with vectors, since LLVM would unroll
    one over words for stretches much longer than these are.
    """

    def codegen(context, builder, sig, args):
        zero, one = ir.Constant(_WORD, 0), ir.Constant(_WORD, 1)
        none = ir.Constant(_BLOCK, None)
        left, right = (
            builder.bitcast(builder.gep(args[k], [args[k + 1]]), _BLOCK.as_pointer())
            for k in (0, 2)
        )
        before = builder.block
        loop = builder.append_basic_block("common.loop")
        done = builder.append_basic_block("common.done")
        builder.cbranch(builder.icmp_unsigned("==", args[4], zero), done, loop)

        builder.position_at_end(loop)
        place, sums = builder.phi(_WORD), builder.phi(_BLOCK)
        words = [builder.load(builder.gep(base, [place]), align=8) for base in (left, right)]
        name = f"llvm.ctpop.v{BLOCK_WORDS}i64"
        counts = call(builder, name, _BLOCK, builder.and_(*words))
        more, following = builder.add(sums, counts), builder.add(place, one)
        for phi, first, later in ((place, zero, following), (sums, none, more)):
            phi.add_incoming(first, before)
            phi.add_incoming(later, loop)
        builder.cbranch(builder.icmp_unsigned("<", following, args[4]), loop, done)

        builder.position_at_end(done)
        total = builder.phi(_BLOCK)
        total.add_incoming(none, before)
        total.add_incoming(more, loop)
        return call(builder, f"llvm.vector.reduce.add.v{BLOCK_WORDS}i64", _WORD, total)

    word = types.uint64
    return types.int64(a, word, b, word, word), codegen
