"""What becomes of messages: atomics in a push, registers in a pull, the commit after the sweep."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from typing import Any

from weft.backends.cuda.codegen.adjacent import Accumulator
from weft.backends.cuda.codegen.blocks import BlockRenderer
from weft.backends.cuda.codegen.expressions import literal
from weft.backends.cuda.codegen.machine import NOWHERE, Kernel
from weft.backends.cuda.codegen.pairs import key_word, swapped
from weft.backends.cuda.codegen.site import Site
from weft.backends.cuda.codegen.text import Emitter, c_type, size_of, stored_type
from weft.ir.check.facts import block_facts
from weft.ir.ops import Reduction, Step, neutral_of
from weft.plan.counting import COUNTED
from weft.plan.queries import groups_of
from weft.plan.sweeps import Sweep, claim_field

_AT = {"sum": "at_add", "min": "at_min", "max": "at_max", "or": "at_or", "and": "at_and"}
_AT_BOOL = {"sum": "at_or", "max": "at_or", "min": "at_and", "prod": "at_and"}
EMIT = "out.emit_lazily(v, degree);"


def kind_of(kernel: Kernel, name: str) -> str:
    """Return the C++ type of a field's value."""
    return c_type(*kernel.types[name])


def at_v(kernel: Kernel, binding: tuple[Any, ...], name: str, place: str = "v") -> str:
    """Return what an array that is shaped like a field holds at a vertex."""
    return f"fetch<{kind_of(kernel, name)}>({kernel.args.use(*binding)}, {place})"


def write(kernel: Kernel, out: Emitter, binding: tuple[Any, ...], name: str, text: str,
          how: str = "put", place: str = "v") -> None:  # fmt: skip
    """Write a value of a field's type."""
    array = kernel.args.use(*binding)
    one = "" if kernel.types[name][1] else kernel.alone
    out.line(f"{one}{how}<{kind_of(kernel, name)}>({array}, {place}, {text});")


def emit(kernel: Kernel, out: Emitter) -> None:
    """Put v into the next frontier."""
    if not kernel.discards:
        out.line(kernel.alone + EMIT)


def push_update(
    kernel: Kernel, out: Emitter, sweep: Sweep, number: int, step: Step, renderer: BlockRenderer,
    messages: list[str],
) -> None:  # fmt: skip
    """Render the update of v by the messages of one pushed arc, or of a part of a pulled row."""
    if sweep.mode == "effects":
        if step is sweep.last:
            emit(kernel, out)
    elif sweep.mode == "once":
        _claim(kernel, out, step, messages)
    elif sweep.mode == "online":
        improve(kernel, out, step, renderer, messages)
        with out.block("if (hit)"):
            emit(kernel, out)
    elif sweep.mode == COUNTED:
        _count(kernel, out, step, renderer, messages[0])
    else:
        _deliver(kernel, out, number, step, renderer, messages)


def _count(
    kernel: Kernel, out: Emitter, step: Step, renderer: BlockRenderer, message: str
) -> None:  # fmt: skip
    """Add a message to the field itself; queue v where it is active from then on."""
    (name,) = step.into
    assert step.active is not None
    with ExitStack() as stack:
        if kernel.spread:
            stack.enter_context(out.block(kernel.alone.rstrip()))
        kind, array = kind_of(kernel, name), kernel.args.use("field", name)
        sent = renderer.hold(message, kernel.types[name][0])
        now = renderer.combined(
            step.reductions[0], f"at_add({array}, v, {sent})", sent, *kernel.types[name]
        )
        fresh = out.fresh("now")
        out.line(f"const {kind} {fresh} = {now};")
        after = kernel.site()
        after.known[("field", "v", name)] = fresh
        with out.block(f"if ({kernel.block_value(out, step.active, after, step)})"):
            if not kernel.discards:
                out.line(EMIT)


def _claim(kernel: Kernel, out: Emitter, step: Step, messages: list[str]) -> None:
    """Write-once: the lane that swaps the deciding field writes the others and queues v."""
    claim = claim_field(step)
    message = messages[step.into.index(claim)]
    array = kernel.args.use("field", claim)
    with out.block(f"if (!differs(at_cas({array}, v, held, {message}), held))"):
        for name, text in zip(step.into, messages, strict=False):
            if name != claim:
                write(kernel, out, ("field", name), name, text, "leave")
        emit(kernel, out)


def can_part(kernel: Kernel, step: Step) -> bool:
    """Whether swaps come in two parts: there are registers for messages until they are known."""
    shaped = any(kernel.types[name][1] for name in step.into)
    return kernel.deep and not kernel.spread and not shaped


def try_claim(
    kernel: Kernel, out: Emitter, step: Step, messages: list[str]
) -> tuple[list[tuple[str, str, str]], list[str]]:
    """Render the same in two parts: the swap, which is not awaited, and what the winner does.

    Returns the members of the message that lead from one to the other (type, name and initial
    value), and the lines of the second part, which returns whether v is in the next frontier.
    """
    claim = claim_field(step)
    dtype, _ = kernel.types[claim]
    array = kernel.args.use("field", claim)
    carried = [("bool", "tried", "false"), (stored_type(dtype), "found", "0")]
    out.line("message.tried = true;")
    text = messages[step.into.index(claim)]
    out.line(f"message.found = at_cas({array}, v, message.held, {text});")
    later = kernel.emitter()
    with later.block("if (message.tried && !differs(message.found, message.held))"):
        for name, text in zip(step.into, messages, strict=False):
            if name != claim:
                member = f"sent{len(carried)}"
                carried.append((kind_of(kernel, name), member, "0"))
                out.line(f"message.{member} = {text};")
                write(kernel, later, ("field", name), name, f"message.{member}", "leave")
        later.line(f"return {'false' if kernel.discards else 'true'};")
    return carried, later.lines


def try_pair(
    kernel: Kernel, out: Emitter, step: Step, messages: list[str], seen: str
) -> tuple[list[tuple[str, str, str]], list[str]]:
    """Render the swap of a pair in two parts, as `try_claim` does."""
    out.line(f"message.found = {swapped(kernel, step, messages, seen, 'try_pair')};")
    found = f"{seen}, message.found"
    hit = swapped(kernel, step, messages, found, "settle_pair")
    ends = f"return {hit};"
    if kernel.discards:
        ends = f"static_cast<void>({hit});"
    return [("u64", "found", "0")], [ends]


def improve(
    kernel: Kernel, out: Emitter, step: Step, renderer: BlockRenderer, messages: list[str],
    seen: str = "",
) -> None:  # fmt: skip
    """Update v in place; sets `hit` where it changed. `seen`: v's word with the key, if loaded."""
    reduction = step.reductions[0]
    if reduction.selecting:
        key = step.into[0]
        messages[0] = renderer.variable(messages[0], kind_of(kernel, key), "m")
        seen = seen or key_word(kernel, key, "v")
        out.line(f"const bool hit = {swapped(kernel, step, messages[:2], seen)};")
        return
    out.line("bool hit = false;")
    for reduction, (name,), positions in groups_of(step):
        dtype, shape = kernel.types[name]
        array = kernel.args.use("field", name)
        message = renderer.hold(messages[positions[0]], dtype, shape)
        monoid = reduction.name
        if dtype.kind == "b":
            monoid = {"min": "and", "max": "or"}.get(monoid, monoid)
        if shape:
            with visit(out, dtype, shape):
                place = f"v * {size_of(shape)} + at"
                out.line(f"hit |= improve_{monoid}({array}, {place}, {message}[k]);")
        else:
            out.line(f"{kernel.alone}hit |= improve_{monoid}({array}, v, {message});")
    if kernel.spread:
        out.line(f"hit = any_lane<{kernel.lanes}>(hit);")


def visit(out: Emitter, dtype: Any, shape: Any) -> AbstractContextManager[None]:
    """Return a loop over the features that a thread may write: its k-th lies `at` a place."""
    return out.block(f"{c_type(dtype, shape)}::visit([&](u32 k, u32 at)", "});")


def inbox(kernel: Kernel, reduction: Reduction, name: str, number: int = 0) -> tuple[Any, ...]:
    """Return the array that gathers the messages into a field: neutral between two sweeps.

    Functions of a fold that choose a message, or combine in a way of their own, share none.
    """
    apart = number if reduction.selecting or reduction.name == "user" else 0
    return ("inbox", name, reduction.name, reduction.identity, apart)


def stamp(kernel: Kernel, number: int) -> str:
    """Return the stamps of the vertices that a function of a sweep sent to."""
    return kernel.args.use("stamp", number)


def _deliver(
    kernel: Kernel, out: Emitter, number: int, step: Step, renderer: BlockRenderer,
    messages: list[str],
) -> None:  # fmt: skip
    """Into the inboxes by atomics; `any` is written by the first to touch v."""
    won = out.fresh("won")
    text = "touched.append(v)"
    if number > 0:
        text = f"touch({stamp(kernel, number)}, v, u32(loop.epoch))"
    touch_first(kernel, out, won, text, any(r.name == "any" for r in step.reductions))
    for reduction, names, positions in groups_of(step):
        parts = [messages[p] for p in positions]
        arrays = [
            ("field", name) if name in kernel.added else inbox(kernel, reduction, name, number)
            for name in names
        ]
        kinds = [kernel.types[name] for name in names]
        deliver(kernel, out, renderer, Delivery(reduction, arrays, kinds, parts), won)


def touch_first(kernel: Kernel, out: Emitter, name: str, text: str, told: bool) -> None:
    """Test whether v is touched for the first time; optionally inform all lanes of a group."""
    if kernel.spread and told:
        text = f"by_first<{kernel.lanes}>([&] {{ return {text}; }})"
    elif kernel.spread:
        text = f"is_first<{kernel.lanes}>() && {text}"
    out.line(f"const bool {name} = {text};")
    out.line(f"static_cast<void>({name});")


@dataclass(frozen=True)
class Delivery:
    """Messages of one reduction, and the arrays that they are combined into."""

    reduction: Reduction
    arrays: Sequence[tuple[Any, ...]]
    kinds: Sequence[tuple[Any, Any]]
    messages: Sequence[str]


def deliver(
    kernel: Kernel, out: Emitter, renderer: BlockRenderer, delivery: Delivery, won: str
) -> None:
    """Combine messages into arrays of one place per vertex that others write too."""
    reduction, arrays, kinds = delivery.reduction, delivery.arrays, delivery.kinds
    messages = delivery.messages
    if reduction.name == "any":
        with out.block(f"if ({won})"):
            for binding, (dtype, shape), text in zip(arrays, kinds, messages, strict=True):
                one = "" if shape else kernel.alone
                array = kernel.args.use(*binding)
                out.line(f"{one}leave<{c_type(dtype, shape)}>({array}, v, {text});")
        return
    if reduction.name in ("argmin", "argmax"):
        sign = "<" if reduction.name == "argmin" else ">"
        held = [
            renderer.hold(text, dtype, shape)
            for text, (dtype, shape) in zip(messages, kinds, strict=True)
        ]
        key_type = c_type(*kinds[0])
        key = kernel.args.use(*arrays[0])
        test = f"{held[0]} {sign} {key_type}(at_load({key}, v))"
        with (
            out.block(f"if ({test})"),
            out.block(f"with_lock({kernel.args.use('locks')}, v, [&]", "});"),
            out.block(f"if ({test})"),
        ):
            for binding, (dtype, shape), text in zip(arrays, kinds, held, strict=True):
                array = kernel.args.use(*binding)
                out.line(f"leave<{c_type(dtype, shape)}>({array}, v, {text});")
        return
    (dtype, shape), text, array = kinds[0], messages[0], kernel.args.use(*arrays[0])
    text = renderer.hold(text, dtype, shape)
    if shape and reduction.name == "sum" and dtype.kind != "b":
        out.line(f"add_features({array}, v, {text});")
        return
    if shape:
        with visit(out, dtype, shape):
            place = f"v * {size_of(shape)} + at"
            _combine_at(out, renderer, reduction, array, place, f"{text}[k]", dtype)
        return
    with ExitStack() as stack:
        if kernel.spread:
            stack.enter_context(out.block(kernel.alone.rstrip()))
        _combine_at(out, renderer, reduction, array, "v", text, dtype)


def _combine_at(
    out: Emitter, renderer: BlockRenderer, reduction: Reduction, array: str, place: str,
    text: str, dtype: Any,
) -> None:  # fmt: skip
    names = _AT_BOOL | {"or": "at_or", "and": "at_and"} if dtype.kind == "b" else _AT
    if reduction.name in names:
        out.line(f"{names[reduction.name]}({array}, {place}, {text});")
        return
    kind = c_type(dtype)
    inner = Emitter()
    inner._names = out._names + 500
    nested = BlockRenderer(inner, renderer.args, renderer.scope)
    combined = nested.combined(reduction, "x", "y", dtype)
    with out.block(
        f"combine_at({array}, {place}, {kind}({text}), [&]({kind} x, {kind} y) -> {kind}", "});"
    ):
        for line in inner.lines:
            out.line(line)
        out.line(f"return {combined};")


# -- the commit


def commit_lines(kernel: Kernel, sweep: Sweep) -> list[str]:
    """Return what is done at a vertex that got messages: combine, compare, queue."""
    out = kernel.emitter()
    fresh: dict[str, str] = {}
    for number, step in enumerate(sweep.steps):
        for reduction, names, _ in groups_of(step):
            held = {name: fresh.get(name) or at_v(kernel, ("field", name), name) for name in names}
            if reduction.name in ("argmin", "argmax"):
                fresh |= _better(kernel, out, number, reduction, held)
                continue
            for name, present in held.items():
                fresh[name] = _delivered(kernel, out, number, reduction, name, present)
    settle(kernel, out, sweep, fresh)
    return out.lines


def _delivered(
    kernel: Kernel, out: Emitter, number: int, reduction: Reduction, name: str, present: str
) -> str:
    """Return a field's value with the messages of its inbox, which is emptied."""
    dtype, shape = kernel.types[name]
    kind = kind_of(kernel, name)
    binding = inbox(kernel, reduction, name, number)
    got = at_v(kernel, binding, name)
    if reduction.selecting and number == 0:
        return got
    result = out.fresh("b")
    if reduction.selecting:
        sent = f"{stamp(kernel, number)}[v] == u32(loop.epoch)"
        out.line(f"const {kind} {result} = {sent} ? {got} : {present};")
        return result
    renderer = kernel.renderer(out, kernel.site(), None, set())
    now, sent = renderer.variable(present, kind), renderer.variable(got, kind)
    text = renderer.combined(reduction, now, sent, dtype, shape)
    out.line(f"const {kind} {result} = {text};")
    empty(kernel, out, binding, dtype, shape, literal(neutral_of(reduction, dtype), dtype))
    return result


def empty(
    kernel: Kernel, out: Emitter, binding: tuple[Any, ...], dtype: Any, shape: Any, text: str
) -> None:
    """Set an inbox back to what changes nothing."""
    array = kernel.args.use(*binding)
    if shape:
        kind = c_type(dtype, shape)
        out.line(f"put<{kind}>({array}, v, fill<{kind}>({text}));")
    else:
        kernel.sync(out)
        out.line(f"{kernel.alone}{array}[v] = {text};")


def _better(
    kernel: Kernel, out: Emitter, number: int, reduction: Reduction, held: dict[str, str]
) -> dict[str, str]:
    """Return key and payloads: those of the inboxes, which are emptied, if their key is better."""
    better = out.fresh("w")
    result: dict[str, str] = {}
    for name, present in held.items():
        dtype, shape = kernel.types[name]
        kind = kind_of(kernel, name)
        binding = inbox(kernel, reduction, name, number)
        got = at_v(kernel, binding, name)
        fresh = out.fresh("b")
        if not result:
            sign = "<" if reduction.name == "argmin" else ">"
            out.line(f"const bool {better} = {got} {sign} {present};")
        out.line(f"const {kind} {fresh} = {better} ? {got} : {present};")
        if not result:
            neutral = literal(neutral_of(reduction, dtype), dtype)
            empty(kernel, out, binding, dtype, shape, neutral)
        result[name] = fresh
    return result


def settle(kernel: Kernel, out: Emitter, sweep: Sweep, fresh: dict[str, str]) -> None:
    """Decide about v: queue it if it changed (or is active), keep old values, write the new."""
    tests: dict[str, str] = {}
    for name, operand in fresh.items():
        kind = kind_of(kernel, name)
        tests[name] = out.fresh("d")
        present = at_v(kernel, ("field", name), name)
        out.line(f"const bool {tests[name]} = changed<{kind}>({operand}, {present});")
    last = sweep.last
    if last.active is not None:
        after = kernel.site()
        after.index["before"] = "v"
        for name in sweep.frozen_before:
            after.known[("field", "before", name)] = at_v(kernel, ("frozen", name), name)
        kept = block_facts(last.active).old & kernel.options.kept_old - sweep.live_old
        for name, operand in fresh.items():
            after.known[("field", "v", name)] = operand
            if name in kept:
                old, present = (at_v(kernel, (k, name), name) for k in ("old", "field"))
                held = out.fresh("o")
                out.line(
                    f"const {kind_of(kernel, name)} {held} = {tests[name]} ? {present} : {old};"
                )
                after.known[("old", "v", name)] = held
        output = out.fresh("d")
        out.line(f"const bool {output} = {kernel.block_value(out, last.active, after, last)};")
    else:
        output = " || ".join(tests[name] for name in last.into) or "true"
    if len(sweep.steps) > 1:
        number = len(sweep.steps) - 1
        sent = f"{stamp(kernel, number)}[v] == u32(loop.epoch)"
        output = f"{sent} && ({output})"
    with out.block(f"if ({output})"):
        emit(kernel, out)
    kernel.sync(out)
    for name, operand in fresh.items():
        if name in kernel.options.kept_old - sweep.live_old:
            with out.block(f"if ({tests[name]})"):
                present = at_v(kernel, ("field", name), name)
                write(kernel, out, ("old", name), name, present)
        # In place, others read it meanwhile.
        how = "leave" if sweep.mode == "online" else "put"
        write(kernel, out, ("field", name), name, operand, how)


# -- a pulled row


class Pulled:
    """The messages of one pulled row: what gathers them, and what becomes of the result."""

    def __init__(self, kernel: Kernel, sweep: Sweep, site: Site, *, direct: bool = False) -> None:
        self.kernel, self.sweep, self.site = kernel, sweep, site
        self.direct = direct or sweep.direct_pull  # what is written is not read elsewhere
        self.step = sweep.steps[0]
        self.groups: list[tuple[Reduction, tuple[str, ...], range, Accumulator]] = []
        scratch = kernel.emitter()
        renderer = kernel.renderer(scratch, site, self.step, set())
        first = 0
        for reduction, names, positions in groups_of(self.step):
            kinds = [kernel.types[name] for name in names]
            accumulator = Accumulator(
                renderer, reduction, kinds, neutral=not reduction.selecting, prefix="partial.",
                first=first,
            )  # fmt: skip
            first += len(kinds)
            self.groups.append((reduction, names, positions, accumulator))

    def members(self) -> list[tuple[str, str, str]]:
        """Return type, name and start of the members of a partial result."""
        found = [("bool", "got", "false")]
        for *_, accumulator in self.groups:
            found += accumulator.members()
        return found

    def begin(self) -> list[tuple[str, str, tuple[str, str, str]]]:
        """Start argmin and argmax from v's present key: only what is better counts.

        Returns for each part that starts so the member of the row that holds the value, with its
        type, name and text.
        """
        found: list[tuple[str, str, tuple[str, str, str]]] = []
        for reduction, names, _, accumulator in self.groups:
            if reduction.name in ("argmin", "argmax"):
                whole = names if self.step.active is not None else names[:1]
                for name, part in zip(whole, accumulator.parts, strict=False):
                    member = f"now{len(found)}"
                    kind = kind_of(self.kernel, name)
                    found.append((part, member, (kind, member, self._present(name))))
        return found

    def _present(self, name: str) -> str:
        known = self.site.known.get(("field", "v", name))
        return known or at_v(self.kernel, ("field", name), name)

    def take(self, out: Emitter, renderer: BlockRenderer, messages: list[str]) -> None:
        """Combine the messages of one arc."""
        if not self.step.into:
            out.line("partial.got = true;")
            return
        for reduction, _, positions, accumulator in self.groups:
            accumulator.renderer = renderer
            parts = [messages[p] for p in positions]
            if reduction.name == "any" and not self.sweep.early_exit:
                with out.block("if (!partial.got)"):
                    accumulator.take(parts)
            elif reduction.name in ("argmin", "argmax"):
                sign = "<" if reduction.name == "argmin" else ">"
                parts[0] = renderer.variable(parts[0], accumulator.kinds[0][0], "m")
                with out.block(f"if ({parts[0]} {sign} {accumulator.parts[0]})"):
                    accumulator.take(parts)
                    out.line("partial.got = true;")
            else:
                accumulator.take(parts)
        chosen = any(r.name in ("argmin", "argmax") for r in self.step.reductions)
        if not chosen or self.step.active is not None:
            out.line("partial.got = true;")
        if self.sweep.early_exit:
            out.line("return true;")

    def merge(self, out: Emitter) -> None:
        """Merge another partial result into this one."""
        with out.block("if (other.got)"):
            for reduction, _, _, accumulator in self.groups:
                accumulator.renderer = self.kernel.renderer(
                    out, self.site, self.step, set(), vertex=NOWHERE
                )
                if reduction.name == "any":
                    with out.block("if (!partial.got)"):
                        accumulator.merge("other.")
                else:
                    accumulator.merge("other.")
            out.line("partial.got = true;")

    def end_slot(self, out: Emitter, renderer: BlockRenderer) -> None:
        """Close what a slot closes."""
        for *_, accumulator in self.groups:
            accumulator.renderer = renderer
            accumulator.end_slot("s")

    def close(self, out: Emitter, rows: str) -> None:
        """Write v, or its second buffer, and queue it; or hand on a part of the row."""
        out.line("if (!partial.got) return;")
        renderer = self.kernel.renderer(out, self.site, self.step, set())
        for *_, accumulator in self.groups:
            accumulator.renderer = renderer
            accumulator.end_row()
        if rows != "whole":
            with out.block("if (!whole)"):
                messages = [""] * len(self.step.into)
                for _, _, positions, accumulator in self.groups:
                    for position, part in zip(positions, accumulator.parts, strict=True):
                        messages[position] = part
                if self.sweep.mode == "once":
                    self._held(out)
                push_update(self.kernel, out, self.sweep, 0, self.step, renderer, messages)
                out.line("return;")
        self._whole(out, renderer)

    def _held(self, out: Emitter) -> None:
        claim = claim_field(self.step)
        array = self.kernel.args.use("field", claim)
        out.line(f"const auto held = at_load({array}, v);")
        dtype, _ = self.kernel.types[claim]
        site = self.kernel.site("in")
        site.known[("field", "v", claim)] = "(held != 0)" if dtype.kind == "b" else "held"
        assert self.step.accept is not None
        test = self.kernel.block_value(out, self.step.accept, site, self.step)
        out.line(f"if (!({test})) return;")

    def _whole(self, out: Emitter, renderer: BlockRenderer) -> None:
        kernel, sweep = self.kernel, self.sweep
        if sweep.mode == "effects":
            emit(kernel, out)
        elif sweep.mode == "once":
            for _, names, _, accumulator in self.groups:
                for name, part in zip(names, accumulator.parts, strict=True):
                    write(kernel, out, ("field", name), name, part, "leave")
            emit(kernel, out)
        elif sweep.mode == "online" or self.direct:
            settle(kernel, out, sweep, self._combined(out, renderer))
        else:
            out.line(f"{kernel.alone}touched.append(v);")
            for reduction, names, _, accumulator in self.groups:
                for name, part in zip(names, accumulator.parts, strict=True):
                    binding = inbox(kernel, reduction, name)
                    write(kernel, out, binding, name, part)

    def _combined(self, out: Emitter, renderer: BlockRenderer) -> dict[str, str]:
        """Return the new values: old value and messages, or the chosen message."""
        fresh: dict[str, str] = {}
        for reduction, names, _, accumulator in self.groups:
            for name, part in zip(names, accumulator.parts, strict=True):
                dtype, shape = self.kernel.types[name]
                if reduction.selecting:
                    fresh[name] = part
                    continue
                kind = kind_of(self.kernel, name)
                present = renderer.variable(self._present(name), kind)
                text = renderer.combined(reduction, present, part, dtype, shape)
                fresh[name] = renderer.variable(text, kind, "b")
        return fresh
