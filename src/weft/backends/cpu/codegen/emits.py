"""Records as Numba statements: counted in one pass, written in another."""

from __future__ import annotations

from weft.backends.cpu.codegen.blocks import BlockRenderer, stored
from weft.ir.ops import Value


def render_emit(renderer: BlockRenderer, value: Value) -> None:
    """Render what begins, adds or ends the records of an item.

    `emitted` is the number of records of the item so far, or the place of the next one.
    """
    out, args, scope = renderer.out, renderer.args, renderer.scope
    counts = scope.emits == "count"
    if value.op != "emit":
        item = scope.site.arc() if value.attr == "edge" else scope.site.index["v"]
        place = f"{args.use('emit_places')}[{item}]"
        if value.op == "emit_begin":
            out.line(f"emitted = {'np.int64(0)' if counts else place}")
        elif counts:
            out.line(f"{place} = emitted")
        return
    operands = [renderer.scalar(arg) for arg in value.args]
    head = f"if {operands.pop()}:" if value.attr else "if True:"
    with out.block(head):
        if not counts:
            for number, (text, arg) in enumerate(zip(operands, value.args, strict=False)):
                part = args.use("emit_part", number)
                out.line(f"{part}[np.uint64(emitted)] = {stored(text, arg.dtype)}")
        out.line("emitted += 1")
