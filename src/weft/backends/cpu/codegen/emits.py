"""Records as Numba statements: counted in one pass, written in another."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from weft.backends.cpu.codegen.blocks import BlockRenderer, stored
from weft.ir.check.facts import without_neighbor
from weft.ir.ops import Value


def render_emit(renderer: BlockRenderer, value: Value) -> None:
    """Render what begins, adds or ends the records of an item.

    `emitted` is the number of records of the item so far, or the place of the next one. Below
    `emit_end`, the place of the next item's first record, anything may be written: records that are
    not taken are written over by the next one.
    """
    out, args, scope = renderer.out, renderer.args, renderer.scope
    counts = scope.emits == "count"
    if value.op != "emit":
        item = scope.site.arc() if value.attr == "edge" else scope.site.index["v"]
        places = args.use("emit_places")
        if value.op == "emit_begin":
            out.line(f"emitted = {'np.uint64(0)' if counts else f'np.uint64({places}[{item}])'}")
            if not counts:
                out.line(f"emit_end = np.uint64({places}[{item} + ONE])")
        elif counts:
            out.line(f"{places}[{item}] = emitted")
        return
    operands = [renderer.scalar(arg) for arg in value.args]
    test = operands.pop() if value.attr else "True"
    with out.block(f"if {'True' if scope.taken else test}:"):
        if not counts:
            for number, (text, arg) in enumerate(zip(operands, value.args, strict=False)):
                if number not in scope.filled:
                    part = args.use("emit_part", number)
                    out.line(f"{part}[emitted] = {stored(text, arg.dtype)}")
        out.line(
            f"emitted += np.uint64({scope.taken} & {test})" if scope.taken else "emitted += ONE"
        )


@contextmanager
def filled_after(outside: BlockRenderer, value: Value) -> Iterator[BlockRenderer]:
    """Write the parts of records that are alike at all common neighbours after the walk.

    What they are made of is rendered before it by `outside`, which then knows it.
    """
    out = outside.out
    outside.prepare(value.blocks[0])
    outside.run(without_neighbor(value))
    (record,) = (inner for inner in value.blocks[0].body if inner.op == "emit")
    parts = record.args[:-1] if record.attr else record.args
    alike = {n: arg for n, arg in enumerate(parts) if arg.op == "const" or id(arg) in outside.known}
    outside.scope = replace(outside.scope, filled=frozenset(alike))
    begin, place = out.fresh("begin"), out.fresh("k")
    out.line(f"{begin} = emitted")
    yield outside
    for number, arg in alike.items():
        part = outside.args.use("emit_part", number)
        with out.block(f"for {place} in range({begin}, emitted):"):
            out.line(f"{part}[{place}] = {stored(outside.scalar(arg), arg.dtype)}")
