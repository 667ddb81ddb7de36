"""Pushes whose messages are sorted: laid out by arc, sorted by target, reduced run by run.

The rows of the frontier are laid out by a scan of their lengths, so every arc has a place. There it
leaves its target and its message. Targets are sorted with their places (alone, where all messages
are the same), and every run of one target is reduced by one thread, in the order of the places. So
the work is in the arcs of the frontier, no thread waits for an atomic, and the result is the same
whatever the number of threads.
"""

from __future__ import annotations

from weft.backends.cpu.codegen.blocks import BlockRenderer, Operand
from weft.backends.cpu.codegen.kernel import Kernel
from weft.ir.ops import Step
from weft.plan.sorting import message_values, sends_uniform
from weft.plan.sweeps import Sweep, depends_on_order

RUNS = 1024  # places of a share of the last phase


def _keys(kernel: Kernel, step: Step) -> tuple[str, str]:
    """Return the arrays of keys: those that arcs write, and as many to sort them with."""
    alone = sends_uniform(step)
    return kernel.args.use("radix_keys", 0, alone), kernel.args.use("radix_keys", 1, alone)


def _messages(kernel: Kernel, step: Step) -> list[str]:
    """Return the arrays of the messages by place."""
    from weft.backends.cpu.codegen.updates import size_of

    kinds = [kernel.types[name] for name in step.into]
    return [
        kernel.args.use("radix_messages", number, dtype, size_of(shape))
        for number, (dtype, shape) in enumerate(kinds)
    ]


def _shift(kernel: Kernel, step: Step) -> str:
    """Return the number of bits of a key that hold the place."""
    return "np.uint64(0)" if sends_uniform(step) else kernel.args.use("place_bits")


def order_frontier(kernel: Kernel, sweep: Sweep) -> None:
    """Sort a frontier in whose order messages of one target would meet, if that can be seen."""
    if not depends_on_order(sweep):
        return
    out, table = kernel.out, kernel.args.use("radix_table")
    with out.block("if dense == 0 and size > 1:"):
        bits = "np.uint64(0), bits_of(n)"
        out.line(f"moved = radix_sort(queue_a, queue_b, size, {bits}, {table}, ctl, tid, nt)")
        out.line("if moved < 0: return")
        with out.block("if moved == 1:"):
            out.line("queue_a, queue_b = queue_b, queue_a")
            out.line("swapped = 1 - swapped")


def begin_arc(kernel: Kernel, step: Step, place: str) -> None:
    """Assign an arc its place; until it sends, its target is beyond all vertices."""
    kernel.out.line(f"place = np.uint64({place})")
    if step.accept is not None or step.conditional:
        keys, _ = _keys(kernel, step)
        kernel.out.line(f"{keys}[place] = np.uint64(n) << {_shift(kernel, step)}")


def keep_message(
    kernel: Kernel, step: Step, renderer: BlockRenderer, messages: list[Operand]
) -> None:
    """Render storing the messages of one arc at its place."""
    from weft.backends.cpu.codegen.vertices import write

    (keys, _), shift = _keys(kernel, step), _shift(kernel, step)
    if sends_uniform(step):
        kernel.out.line(f"{keys}[place] = v")
        return
    kernel.out.line(f"{keys}[place] = v << {shift} | place")
    for array, value, operand in zip(
        _messages(kernel, step), step.body.results, messages, strict=False
    ):
        write(renderer, array, "place", value, operand)


def reduce_sorted(kernel: Kernel, sweep: Sweep, count: str) -> None:
    """Sort what `count` arcs left, then combine the messages of every target."""
    from weft.backends.cpu.codegen.updates import Pulled, value_at

    out, step = kernel.out, sweep.steps[0]
    (keys, spare), shift = _keys(kernel, step), _shift(kernel, step)
    table = kernel.args.use("radix_table")
    out.line(f"kept = np.int64({count})")
    bits = f"{shift}, {shift} + bits_of(n)"
    out.line(f"moved = radix_sort({keys}, {spare}, kept, {bits}, {table}, ctl, tid, nt)")
    out.line("if moved < 0: return")
    with out.block("if moved == 1:"):
        out.line(f"{keys}, {spare} = {spare}, {keys}")
    kernel.begin_phase()
    kernel.begin_queue()
    with kernel.shares("kept", RUNS):
        out.line(f"v = np.uint64({keys}[i]) >> {shift}")
        begins = f"i == 0 or np.uint64({keys}[i - ONE]) >> {shift} != v"
        with out.block(f"if v < np.uint64(n) and ({begins}):"):
            site = kernel.site()
            site.turned = sweep.turned
            pulled = Pulled(kernel, sweep, site)
            pulled.begin()
            out.line("s = i")
            with out.block(f"while s < np.uint64(kept) and np.uint64({keys}[s]) >> {shift} == v:"):
                renderer = kernel.renderer(site, step)
                if sends_uniform(step):
                    renderer.prepare(step.body)
                    renderer.run(message_values(step))
                    messages = [renderer.operand(r) for r in step.body.results[: len(step.into)]]
                else:
                    mask = f"((ONE << {shift}) - ONE)"
                    out.line(f"place = np.uint64({keys}[s]) & {mask}")
                    messages = [
                        value_at(array, *kernel.types[name], "place")
                        for array, name in zip(_messages(kernel, step), step.into, strict=True)
                    ]
                pulled.take(0, step, renderer, messages)
                pulled.end_slot("s")
                out.line("s += ONE")
            pulled.end_sorted()
    kernel.end_queue()
    kernel.barrier()
    kernel.read_counters()
