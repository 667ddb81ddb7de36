"""Records as C++ statements: counted in one pass, written in another."""

from __future__ import annotations

from weft.backends.cuda.codegen.blocks import BlockRenderer, stored
from weft.backends.cuda.codegen.expressions import bare
from weft.ir.ops import Value


def render_emit(renderer: BlockRenderer, value: Value) -> None:
    """Render what begins, adds or ends the records of an item.

    `emitted` is the number of records of the item so far, or the place of the next one, which is
    below `emit_end`.
    """
    out, args, scope = renderer.out, renderer.args, renderer.scope
    counts = scope.emits == "count"
    if value.op != "emit":
        item = scope.site.arc() if value.attr == "edge" else scope.site.index["v"]
        places = args.use("emit_places")
        if value.op == "emit_begin":
            out.line(f"i64 emitted = {'0' if counts else f'{places}[{item}]'};")
            if not counts:
                out.line(f"[[maybe_unused]] const i64 emit_end = {places}[{item} + 1];")
        elif counts:
            out.line(f"{places}[{item}] = emitted;")
        return
    operands = [renderer.scalar(arg) for arg in value.args]
    head = f"if ({bare(operands.pop())})" if value.attr else ""
    with out.block(head):
        if not counts:
            for number, (text, arg) in enumerate(zip(operands, value.args, strict=False)):
                part = args.use("emit_part", number, arg.dtype)
                out.line(f"{part}[emitted] = {stored(bare(text), arg.dtype)};")
        out.line("++emitted;")
