"""Access to the processor and the operating system from nopython code."""

from __future__ import annotations

import os
import platform
import sys
import time

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

MACHINE = platform.machine().lower()
X86 = MACHINE in ("x86_64", "amd64", "i686", "i386")
ARM = MACHINE in ("aarch64", "arm64")
# The number of the system call `futex`, by which threads sleep on a word of memory; 0 without one.
FUTEX = {"x86_64": 202, "aarch64": 98}.get(MACHINE, 0) if sys.platform == "linux" else 0
FUTEX_WAIT, FUTEX_WAKE = 128, 129  # of threads of one process


def call(builder, name, result, *args):
    """Call a function by its name: one of LLVM's intrinsics or a symbol of the process."""
    signature = ir.FunctionType(result, [arg.type for arg in args])
    return builder.call(cgutils.get_or_insert_function(builder.module, signature, name), args)


def pointer_to(context, builder, kind, value):
    """Return the address of the first element of an array, or of what a pointer points to."""
    if isinstance(kind, types.CPointer):
        return value
    return context.make_array(kind)(context, builder, value).data


@intrinsic
def pointer(typingctx, arr):
    """Return a pointer to the elements of an array.

    A pointer is indexed like the array, but it is one word, its indices are not looked at, and
    its references are not counted: arrays that are handed to a function or swapped in a loop are
    counted by atomic additions, which threads would fight for.
    """

    def codegen(context, builder, sig, args):
        return context.make_array(sig.args[0])(context, builder, args[0]).data

    return types.CPointer(arr.dtype)(arr), codegen


@intrinsic
def pause(typingctx):
    """Hint to the processor that this is a spin loop (no effect where unsupported)."""

    def codegen(context, builder, sig, args):
        if X86:
            call(builder, "llvm.x86.sse2.pause", ir.VoidType())
        elif ARM:
            call(builder, "llvm.aarch64.hint", ir.VoidType(), ir.Constant(ir.IntType(32), 1))
        return context.get_dummy_value()

    return types.void(), codegen


@intrinsic
def yield_thread(typingctx):
    """Let the operating system run another thread (POSIX `sched_yield`)."""

    def codegen(context, builder, sig, args):
        if os.name == "posix":
            call(builder, "sched_yield", ir.IntType(32))
        return context.get_dummy_value()

    return types.void(), codegen


def _futex(builder, context, kind, arguments, operation, value, timeout):
    """Call the system on the lower 32 bits of an element; `timeout` is an address or 0."""
    word = ir.IntType(64)
    element = builder.gep(pointer_to(context, builder, kind, arguments[0]), [arguments[1]])
    signature = ir.FunctionType(word, [word], var_arg=True)
    system = cgutils.get_or_insert_function(builder.module, signature, "syscall")
    place = builder.ptrtoint(element, word)
    builder.call(system, [word(FUTEX), place, word(operation), value, timeout])


@intrinsic
def sleep_while(typingctx, arr, i, value, nanoseconds):
    """Sleep while the lower 32 bits of arr[i] are those of a value, for less than a second.

    `wake_all` ends the sleep; it may also end without a cause. Only where `FUTEX` is not 0.
    """

    def codegen(context, builder, sig, args):
        word = ir.IntType(64)
        timeout = cgutils.alloca_once(builder, ir.ArrayType(word, 2))  # a timespec
        seconds, rest = (builder.gep(timeout, [word(0), word(k)]) for k in (0, 1))
        builder.store(word(0), seconds)
        builder.store(args[3], rest)
        value = builder.and_(args[2], word(0xFFFFFFFF))
        address = builder.ptrtoint(timeout, word)
        _futex(builder, context, sig.args[0], args, FUTEX_WAIT, value, address)
        return context.get_dummy_value()

    return types.void(arr, types.intp, types.int64, types.int64), codegen


@intrinsic
def wake_all(typingctx, arr, i):
    """Wake all threads that sleep by `sleep_while` on arr[i]. Only where `FUTEX` is not 0."""

    def codegen(context, builder, sig, args):
        word = ir.IntType(64)
        _futex(builder, context, sig.args[0], args, FUTEX_WAKE, word(2**31 - 1), word(0))
        return context.get_dummy_value()

    return types.void(arr, types.intp), codegen


@intrinsic
def clock_ns(typingctx):
    """Return the nanoseconds of a clock that never goes back (cycles on systems without POSIX)."""

    def codegen(context, builder, sig, args):
        word = ir.IntType(64)
        if os.name != "posix":
            return call(builder, "llvm.readcyclecounter", word)
        found = cgutils.alloca_once(builder, ir.ArrayType(word, 2))  # a timespec
        seconds, rest = (builder.gep(found, [word(0), word(k)]) for k in (0, 1))
        clock = ir.IntType(32)(time.CLOCK_MONOTONIC)
        call(builder, "clock_gettime", ir.IntType(32), clock, seconds)
        return builder.add(builder.mul(builder.load(seconds), word(10**9)), builder.load(rest))

    return types.int64(), codegen


@intrinsic
def cycles(typingctx):
    """Return the processor's cycle or time-stamp counter as int64."""

    def codegen(context, builder, sig, args):
        return call(builder, "llvm.readcyclecounter", ir.IntType(64))

    return types.int64(), codegen


@intrinsic
def prefetch(typingctx, arr, i):
    """Ask for the cache line of arr[i] before it is read; any index will do."""

    def codegen(context, builder, sig, args):
        data = pointer_to(context, builder, sig.args[0], args[0])
        pointer = builder.bitcast(builder.gep(data, [args[1]]), ir.IntType(8).as_pointer())
        flags = [ir.Constant(ir.IntType(32), word) for word in (0, 3, 1)]  # read, keep, data
        call(builder, "llvm.prefetch.p0", ir.VoidType(), pointer, *flags)
        return context.get_dummy_value()

    return types.void(arr, types.uintp), codegen
