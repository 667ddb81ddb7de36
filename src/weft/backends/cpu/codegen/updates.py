"""Delivers messages: atomics in a push, registers in a pull, the commit after the sweep."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from weft.backends.cpu.codegen.blocks import BlockRenderer, Operand, Stretch, differs, stored
from weft.backends.cpu.codegen.expressions import combine, literal
from weft.backends.cpu.codegen.kernel import Kernel
from weft.backends.cpu.codegen.pairs import swap_pair
from weft.backends.cpu.codegen.radix import keep_message
from weft.backends.cpu.codegen.site import Site
from weft.backends.cpu.codegen.vertices import old_after, write
from weft.ir.check.facts import block_facts
from weft.ir.ops import Reduction, Step, Value, neutral_of, total_dtype
from weft.plan.queries import groups_of
from weft.plan.sweeps import Sweep, claim_field

_SET_BIT = "word |= ONE << (v & np.uint64(63))"
_ATOMIC = {"sum": "add", "min": "min", "max": "max", "or": "or", "and": "and"}


def size_of(shape: tuple[int, ...]) -> int:
    """Return the number of elements of a shape."""
    size = 1
    for extent in shape:
        size *= extent
    return size


def emit_once(kernel: Kernel, vertex: str = "v") -> None:
    """Add a vertex to the next frontier unless this phase already did."""
    if kernel.discards:
        return
    stamp = kernel.args.use("stamp")
    with kernel.out.block(
        f"if {stamp}[{vertex}] != epoch and atomic_xchg({stamp}, {vertex}, epoch) != epoch:"
    ):
        kernel.emit(vertex)


def push_update(
    kernel: Kernel,
    sweep: Sweep,
    number: int,
    step: Step,
    renderer: BlockRenderer,
    messages: list[Operand],
) -> None:
    """Render the update of v by the messages of one pushed arc."""
    if sweep.mode == "effects":
        if step is sweep.last:
            emit_once(kernel)
    elif sweep.mode == "once":
        _claim(kernel, sweep, step, renderer, messages)
    elif sweep.mode == "online":
        improve(kernel, step, renderer, messages)
        with kernel.out.block("if hit:"):
            emit_once(kernel)
    elif sweep.radix:
        keep_message(kernel, step, renderer, messages)
    else:
        _deferred(kernel, number, step, renderer, messages)


def _claim(
    kernel: Kernel, sweep: Sweep, step: Step, renderer: BlockRenderer, messages: list[Operand]
) -> None:
    """Write-once: the lane that swaps the deciding field writes the others and queues v."""
    out, args = kernel.out, kernel.args
    claim = claim_field(step)
    dtype, _ = kernel.types[claim]
    message = stored(str(messages[step.into.index(claim)]), dtype)
    with out.block(f"if atomic_cas({args.use('field', claim)}, v, held, {message}) == held:"):
        for name, operand, value in zip(step.into, messages, step.body.results, strict=False):
            if name != claim:
                write(renderer, args.use("field", name), "v", value, operand)
        kernel.emit("v")


def _improves(name: str, message: str, old: str, dtype: Any) -> str:
    # A number takes the place of a NaN.
    filled = f" or ({old} != {old} and {message} == {message})" if dtype.kind == "f" else ""
    if name == "min":
        return f"{message} < {old}{filled}"
    if name == "max":
        return f"{message} > {old}{filled}"
    return f"{combine(name, old, message, dtype)} != {old}"


def improve(kernel: Kernel, step: Step, renderer: BlockRenderer, messages: list[Operand]) -> None:
    """Update v in place; sets `hit` where it changed.

    A read guards the atomic, and the atomic's old value shows whether it changed anything.
    """
    out, args = kernel.out, kernel.args
    if step.reductions[0].selecting:
        swap_pair(kernel, step, renderer, messages)
        return
    out.line("hit = False")
    for reduction, (name,), positions in groups_of(step):
        dtype, shape = kernel.types[name]
        array = args.use("field", name)
        message = messages[positions[0]]
        with ExitStack() as stack:
            place = "v"
            if shape:
                size = size_of(shape)
                stack.enter_context(out.block(f"for k in range(np.uint64({size})):"))
                place = f"v * np.uint64({size}) + k"
                message = message.at("k") if isinstance(message, Stretch) else message
            raw = "uint8" if dtype.kind == "b" else ""
            text = stored(str(message), dtype)
            text = text if text.isidentifier() else renderer.variable(text, "m")
            kind = _Raw if raw else dtype
            stack.enter_context(
                out.block(f"if {_improves(reduction.name, text, f'{array}[{place}]', kind)}:")
            )
            old = renderer.variable(
                f"atomic_{_ATOMIC[reduction.name]}({array}, {place}, {text})", "o"
            )
            with out.block(f"if {_improves(reduction.name, text, old, kind)}:"):
                out.line("hit = True")


class _RawByte:
    """The dtype of truth values in arrays, for tests of their bits."""

    kind = "u"
    name = "uint8"
    itemsize = 1


_Raw: Any = _RawByte()


def _stamp(kernel: Kernel, number: int) -> str:
    """Return the stamps of the vertices that a function of a sweep sent to."""
    return kernel.args.use("stamp", number) if number else kernel.args.use("stamp")


def _touch(kernel: Kernel, number: int) -> str:
    """Mark that a function sent to v; return a test for its first message there.

    What the first function of a fold sends to is the list of vertices that got a message at all.
    """
    out, args = kernel.out, kernel.args
    stamp = _stamp(kernel, number)
    local, touched = args.use("local_touched"), args.use("touched")
    out.line("won = False")
    with out.block(f"if {stamp}[v] != epoch and atomic_xchg({stamp}, v, epoch) != epoch:"):
        out.line("won = True")
        if number == 0:
            target = f"{touched}, ctl, base + TOUCHED"
            out.line(f"touches = push({local}, local_base, touches, v, {target})")
    return "won"


def _inbox(kernel: Kernel, reduction: Reduction, name: str, number: int = 0) -> str:
    """Return the array that gathers the messages into a field: neutral between two sweeps.

    Functions of a fold that choose a message, or combine in a way of their own, share none.
    """
    apart = number if reduction.selecting or reduction.name == "user" else 0
    return kernel.args.use("inbox", name, reduction.name, reduction.identity, apart)


def _deferred(
    kernel: Kernel, number: int, step: Step, renderer: BlockRenderer, messages: list[Operand]
) -> None:
    """Into the inboxes by atomics; `any` is written by the first to touch v."""
    out = kernel.out
    won = _touch(kernel, number)
    for reduction, names, positions in groups_of(step):
        if reduction.name in ("argmin", "argmax"):
            _compete(kernel, number, reduction, step, renderer, messages)
            continue
        for name, position in zip(names, positions, strict=True):
            dtype, shape = kernel.types[name]
            array = _inbox(kernel, reduction, name, number)
            message = messages[position]
            value = step.body.results[position]
            if reduction.name == "any":
                with out.block(f"if {won}:"):
                    write(renderer, array, "v", value, message)
                continue
            with ExitStack() as stack:
                place = "v"
                if shape:
                    size = size_of(shape)
                    stack.enter_context(out.block(f"for k in range(np.uint64({size})):"))
                    place = f"v * np.uint64({size}) + k"
                    message = message.at("k") if isinstance(message, Stretch) else message
                text, wide = str(message), total_dtype(reduction, dtype)
                text = text if wide == dtype else f"np.{wide}({text})"
                atomic_combine(kernel, renderer, reduction, array, place, text, wide)


def _compete(
    kernel: Kernel, number: int, reduction: Reduction, step: Step, renderer: BlockRenderer,
    messages: list[Operand],
) -> None:  # fmt: skip
    """Store key and payloads in the inboxes if the key is better, under a lock of v."""
    out, locks = kernel.out, kernel.args.use("locks")
    sign = "<" if reduction.name == "argmin" else ">"
    key = renderer.variable(str(messages[0]), "m")
    test = f"if {key} {sign} {_inbox(kernel, reduction, step.into[0], number)}[v]:"
    with out.block(test):
        with out.block(f"while sync_or({locks}, v, np.uint8(1)) != 0:"):
            out.line("pause()")
        with out.block(test):
            for name, value, operand in zip(
                step.into, step.body.results, [key, *messages[1:]], strict=False
            ):
                write(renderer, _inbox(kernel, reduction, name, number), "v", value, operand)
        out.line(f"sync_and({locks}, v, np.uint8(0))")


def atomic_combine(
    kernel: Kernel, renderer: BlockRenderer, reduction: Reduction, array: str, place: str,
    message: str, dtype: Any,
) -> None:  # fmt: skip
    """Combine a message into memory that others write too."""
    out = kernel.out
    if reduction.name in _ATOMIC:
        out.line(f"atomic_{_ATOMIC[reduction.name]}({array}, {place}, {stored(message, dtype)})")
        return
    message = renderer.variable(message, "m")
    old = out.fresh("o")
    out.line(f"{old} = atomic_load({array}, {place})")
    with out.block("while True:"):
        held = f"({old} != 0)" if dtype.kind == "b" else old
        if reduction.name == "prod":
            text = combine("prod", held, message, dtype)
        else:
            text = renderer.combined(reduction, held, message, dtype)
        out.line(f"fresh = {stored(text, dtype)}")
        out.line(f"back = atomic_cas({array}, {place}, {old}, fresh)")
        bits = {4: "as_uint32", 8: "as_uint64"}.get(dtype.itemsize, "") if dtype.kind == "f" else ""
        with out.block(f"if {bits}(back) == {bits}({old}):"):
            out.line("break")
        out.line(f"{old} = back")


def commit(kernel: Kernel, sweep: Sweep) -> None:
    """After the barrier: combine what the touched vertices got, queue those that it changed."""
    out, args = kernel.out, kernel.args
    touched = args.use("touched")
    kernel.begin_phase()
    kernel.begin_queue()
    with kernel.shares("touched_size", 1024):
        out.line(f"v = np.uint64({touched}[i])")
        fresh: dict[str, Operand] = {}
        for number, step in enumerate(sweep.steps):
            for reduction, names, _ in groups_of(step):
                held = {name: fresh.get(name, _placed(kernel, "field", name)) for name in names}
                if reduction.name in ("argmin", "argmax"):
                    fresh |= _better(kernel, number, reduction, held)
                    continue
                for name, present in held.items():
                    fresh[name] = _delivered(kernel, number, reduction, name, present)
        _settle(kernel, sweep, fresh)
    kernel.end_queue()
    kernel.barrier()
    kernel.read_counters()


def _delivered(
    kernel: Kernel, number: int, reduction: Reduction, name: str, present: Operand
) -> Operand:
    """Return a field's value with the messages of its inbox, which is emptied."""
    out = kernel.out
    dtype, shape = kernel.types[name]
    wide = total_dtype(reduction, dtype)
    array = _inbox(kernel, reduction, name, number)
    got = value_at(array, wide, shape)
    if reduction.selecting and number == 0:
        return got
    renderer = kernel.renderer(kernel.site(), None, set())
    neutral = stored(literal(neutral_of(reduction, wide), wide), wide)
    sent = f"{_stamp(kernel, number)}[v] == epoch"
    with ExitStack() as stack:
        place, target, new, old = "v", "", str(got), str(present)
        if isinstance(got, Stretch) and isinstance(present, Stretch):
            stack.enter_context(out.block(f"for k in range(np.uint64({size_of(shape)})):"))
            place, new, old = f"v * np.uint64({size_of(shape)}) + k", got.at("k"), present.at("k")
            result: Operand = kernel.scratch.space(dtype, shape)
            assert isinstance(result, Stretch)
            target = f"{result.array}[{result.base} + k]"
        else:
            result = target = out.fresh("b")
        if reduction.selecting:
            out.line(f"{target} = ({new} if {sent} else {old})")
        else:
            if wide == dtype:
                text = renderer.combined(reduction, old, new, dtype)
            else:
                total = renderer.combined(reduction, f"np.{wide}({old})", new, wide)
                text = f"np.{dtype}({total})"
            out.line(f"{target} = {text}")
            out.line(f"{array}[{place}] = {neutral}")
    return result


def _better(
    kernel: Kernel, number: int, reduction: Reduction, held: dict[str, Operand]
) -> dict[str, Operand]:
    """Return key and payloads: those of the inboxes, which are emptied, if their key is better."""
    out = kernel.out
    better = out.fresh("w")
    result: dict[str, Operand] = {}
    for name, present in held.items():
        dtype, shape = kernel.types[name]
        array = _inbox(kernel, reduction, name, number)
        got = value_at(array, dtype, shape)
        fresh = out.fresh("b")
        if not result:
            sign = "<" if reduction.name == "argmin" else ">"
            out.line(f"{better} = {got} {sign} {present}")
        out.line(f"{fresh} = {got} if {better} else {present}")
        if not result:
            out.line(f"{array}[v] = {stored(literal(neutral_of(reduction, dtype), dtype), dtype)}")
        result[name] = fresh
    return result


def _placed(kernel: Kernel, kind: str, name: str) -> Operand:
    return value_at(kernel.args.use(kind, name), *kernel.types[name])


def value_at(array: str, dtype: Any, shape: tuple[int, ...], place: str = "v") -> Operand:
    """Return the element at a place of an array shaped like a field."""
    if shape:
        return Stretch(array, f"{place} * np.uint64({size_of(shape)})", shape, dtype)
    return f"({array}[{place}] != 0)" if dtype.kind == "b" else f"{array}[{place}]"


def _settle(
    kernel: Kernel, sweep: Sweep, fresh: dict[str, Operand], *, pulled: bool = False
) -> None:
    """Decide about v: queue it if it changed (or is active), keep old values, write the new."""
    out = kernel.out
    tests: dict[str, str] = {}
    for name, operand in fresh.items():
        dtype, shape = kernel.types[name]
        present = _placed(kernel, "field", name)
        if shape:
            assert isinstance(present, Stretch)
            test = out.fresh("d")
            out.line(f"{test} = False")
            with out.block(f"for k in range(np.uint64({size_of(shape)})):"):
                new = operand.at("k") if isinstance(operand, Stretch) else operand
                with out.block(f"if {differs(new, present.at('k'), dtype)}:"):
                    out.line(f"{test} = True")
            tests[name] = test
        else:
            tests[name] = differs(str(operand), str(present), dtype)
    last = sweep.last
    if last.active is not None:
        after = kernel.site()
        after.index["before"] = "v"
        for name in sweep.frozen_before:
            after.known[("field", "before", name)] = _placed(kernel, "frozen", name)
        kept = block_facts(last.active).old & kernel.options.kept_old - sweep.live_old
        for name, operand in fresh.items():
            after.known[("field", "v", name)] = operand
            if name in kept:
                renderer = kernel.renderer(after, None, set())
                value = Value("param", (), 0, *kernel.types[name])
                old = old_after(kernel, renderer, name, value, tests[name])
                after.known[("old", "v", name)] = old
        output = kernel.block_value(last.active, after, last)
    else:
        output = " or ".join(tests[name] for name in last.into) or "True"
    if len(sweep.steps) > 1:
        output = f"{_stamp(kernel, len(sweep.steps) - 1)}[v] == epoch and ({output})"
    with out.block(f"if {output}:"):
        kernel.emit("v", degree=_row_degree(kernel) if pulled else "")
        if pulled:
            out.line(_SET_BIT)
    for name, operand in fresh.items():
        dtype, shape = kernel.types[name]
        value = Value("param", (), 0, dtype, shape)
        renderer = kernel.renderer(kernel.site(), None, set())
        with ExitStack() as stack:
            if name in kernel.options.kept_old - sweep.live_old:
                stack.enter_context(out.block(f"if {tests[name]}:"))
                write(
                    renderer,
                    kernel.args.use("old", name),
                    "v",
                    value,
                    _placed(kernel, "field", name),
                )
            write(renderer, kernel.args.use("field", name), "v", value, operand)


def _row_degree(kernel: Kernel) -> str:
    """Return the out-degree of v while its in-row is walked, where both are the same."""
    known = not kernel.traits.directed and not kernel.options.formats
    return "end - first" if known else ""


class Pulled:
    """The messages of one pulled row, combined by its owner."""

    def __init__(self, kernel: Kernel, sweep: Sweep, site: Site) -> None:
        self.kernel, self.sweep, self.site = kernel, sweep, site
        self.step = sweep.steps[0]
        self.accumulated: dict[str, Operand] = {}

    def begin(self) -> None:
        """Start from the identity; argmin and argmax start from v's present key."""
        from weft.backends.cpu.codegen.adjacent import Accumulator

        kernel, out = self.kernel, self.kernel.out
        out.line("got = False")
        renderer = kernel.renderer(self.site, self.step, set())
        self.groups = []
        for reduction, names, positions in groups_of(self.step):
            kinds = [kernel.types[name] for name in names]
            neutral = not reduction.selecting
            accumulator = Accumulator(renderer, reduction, kinds, neutral=neutral)
            if reduction.name in ("argmin", "argmax"):
                whole = names if self.step.active is not None else names[:1]
                for name, part in zip(whole, accumulator.parts, strict=False):
                    out.line(f"{part} = {_placed(kernel, 'field', name)}")
            self.groups.append((reduction, names, positions, accumulator))
            self.accumulated.update(zip(names, accumulator.parts, strict=True))

    def take(
        self, number: int, step: Step, renderer: BlockRenderer, messages: list[Operand]
    ) -> None:
        """Combine the messages of one arc."""
        out = self.kernel.out
        if not step.into:
            out.line("got = True")
            return
        for reduction, _, positions, accumulator in self.groups:
            accumulator.renderer = renderer
            parts = [messages[p] for p in positions]
            if reduction.name == "any" and not self.sweep.early_exit:
                with out.block("if not got:"):
                    accumulator.take(parts)
            elif reduction.name in ("argmin", "argmax"):
                sign = "<" if reduction.name == "argmin" else ">"
                parts[0] = renderer.variable(str(parts[0]), "m")
                with out.block(f"if {parts[0]} {sign} {accumulator.parts[0]}:"):
                    accumulator.take(parts)
                    out.line("got = True")
            else:
                accumulator.take(parts)
        chosen = any(r.name in ("argmin", "argmax") for r in self.step.reductions)
        if not chosen or self.step.active is not None:
            out.line("got = True")
        if self.sweep.early_exit:
            out.line("s += ONE")
            out.line("break")

    def end_slot(self, slot: str) -> None:
        """Close what a slot closes."""
        for group in self.groups:
            group[3].end_slot(slot)

    def end(self) -> None:
        """Write v, or its second buffer, and queue it."""
        kernel, out = self.kernel, self.kernel.out
        for group in self.groups:
            group[3].renderer = kernel.renderer(self.site, self.step, set())
            group[3].end_row()
        with out.block("if got:"):
            if self.sweep.mode == "effects":
                self._queue()
                return
            if self.sweep.mode == "once":
                for name, operand in self._combined().items():
                    self._write(kernel.args.use("field", name), name, operand)
                self._queue()
            elif self.sweep.mode == "online" or self.sweep.direct_pull:
                _settle(kernel, self.sweep, self._combined(), pulled=True)
            else:
                local, touched = kernel.args.use("local_touched"), kernel.args.use("touched")
                for reduction, names, _, accumulator in self.groups:
                    for name, part in zip(names, accumulator.parts, strict=True):
                        self._write(_inbox(kernel, reduction, name), name, part)
                target = f"{touched}, ctl, base + TOUCHED"
                out.line(f"touches = push({local}, local_base, touches, v, {target})")

    def end_sorted(self) -> None:
        """Write v and queue it, after its sorted messages."""
        kernel = self.kernel
        for group in self.groups:
            group[3].renderer = kernel.renderer(self.site, self.step, set())
            group[3].end_row()
        with kernel.out.block("if got:"):
            _settle(kernel, self.sweep, self._combined())

    def _combined(self) -> dict[str, Operand]:
        """Return the new values: old value and messages, or the chosen message."""
        kernel, out = self.kernel, self.kernel.out
        renderer = kernel.renderer(self.site, self.step, set())
        fresh: dict[str, Operand] = {}
        for reduction, names, _, accumulator in self.groups:
            for name, part in zip(names, accumulator.parts, strict=True):
                dtype, shape = kernel.types[name]
                present = _placed(kernel, "field", name)
                if reduction.selecting:
                    fresh[name] = part
                elif shape:
                    assert isinstance(present, Stretch) and isinstance(part, Stretch)
                    with out.block(f"for k in range(np.uint64({size_of(shape)})):"):
                        text = renderer.combined(reduction, present.at("k"), part.at("k"), dtype)
                        out.line(f"{part.array}[{part.base} + k] = {text}")
                    fresh[name] = part
                else:
                    text = renderer.combined(reduction, str(present), str(part), dtype)
                    fresh[name] = renderer.variable(text, "b")
        return fresh

    def _write(self, array: str, name: str, operand: Operand) -> None:
        dtype, shape = self.kernel.types[name]
        renderer = self.kernel.renderer(self.site, self.step, set())
        value = Value("param", (), 0, dtype, shape)
        write(renderer, array, "v", value, operand)

    def _queue(self) -> None:
        self.kernel.emit("v", degree=_row_degree(self.kernel))
        self.kernel.out.line(_SET_BIT)
