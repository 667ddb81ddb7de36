"""Writes the IR as text: one line for every value, inner blocks indented."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from weft.ir.ops import ROLES, Block, Program, Reduction, Shape, Step, Value

_ROLES = (("accept", "v"), ("active", "v, before"), ("priority", "v"))
_FLAGS = ("everywhere", "shrinks", "settled", "folded", "relaxed", "order_free", "sends_always")
_PARAMETERS = {"edge": "u, v, e", "vertex": "v"}


def show(program: Program) -> str:
    """Return the IR of a program as text.

    Examples
    --------
    A function that returns ``u.level + 1`` into ``level`` reads::

        edge discover into level by any
          body(u, v, e):
            %0 = load u.level : int32
            %1 = const 1 : int32
            %2 = add %0, %1 : int32
            return %2
    """
    flags = [name for name in ("bounded", "trail") if getattr(program, name)]
    flags += [f"emits ({program.emits})"] if program.emits else []
    lines = [" ".join([f"program {program.mode}", *flags])]
    for step in program.steps:
        lines += show_step(step)
    for role in ROLES[1:]:
        for step in getattr(program, role):
            lines += [role, *(f"  {line}" for line in show_step(step))]
    for name in ("until", "next_threshold"):
        block = getattr(program, name)
        if block is not None:
            lines += [f"{name}:", *show_block(block, "  ")]
    return "\n".join(lines) + "\n"


def show_step(step: Step) -> list[str]:
    """Return the lines of a step."""
    words = [step.kind, step.name]
    if step.into:
        words.append(f"into {', '.join(step.into)}")
        words.append(f"by {', '.join(show_reduction(r) for r in step.reductions)}")
    if step.kind == "vertex":
        words.append(f"wake={step.wake}")
    if step.along == "in":
        words.append("along=in")
    words += [name for name in _FLAGS if vars(step)[name]]
    lines = [" ".join(words)]
    for name, block in step.hoisted:
        lines += [f"  {name}(u):", *show_block(block, "    ")]
    for role, parameters in _ROLES:
        block = getattr(step, role)
        if block is not None:
            lines += [f"  {role}({parameters}):", *show_block(block, "    ")]
    lines.append(f"  body({_PARAMETERS[step.kind]}):")
    lines += show_block(step.body, "    ", conditional=step.conditional)
    for reduction in step.reductions:
        if reduction.combine is not None:
            lines += ["  combine:", *show_block(reduction.combine, "    ")]
    return lines


def show_block(block: Block, indent: str = "", *, conditional: bool = False) -> list[str]:
    """Return the lines of a block; its values are numbered in the order in which they appear."""
    return list(_block_lines(block, indent, {}, conditional))


def _block_lines(
    block: Block, indent: str, numbers: dict[Value, int], conditional: bool = False
) -> Iterator[str]:
    for value in block.params:
        numbers[value] = len(numbers)
    if block.params:
        yield (
            indent
            + "given "
            + ", ".join(
                f"%{numbers[p]} : {show_type(p.dtype, p.shape, p.weak)}" for p in block.params
            )
        )
    for value in block.body:
        text = show_value(value, numbers)
        if not value.blocks:
            yield indent + text
            continue
        for position, inner in enumerate(value.blocks):
            yield f"{indent}{text} {{" if position == 0 else f"{indent}}} {{"
            yield from _block_lines(inner, indent + "  ", numbers)
        yield indent + "}"
    results = [_name(result, numbers) for result in block.results]
    if conditional and results:
        results[-1] = f"when {results[-1]}"
    if results:
        yield f"{indent}return {', '.join(results)}"


def show_value(value: Value, numbers: dict[Value, int] | None = None) -> str:
    """Return one instruction as text, and give it the next number."""
    numbers = {} if numbers is None else numbers
    operands = [_name(arg, numbers) for arg in value.args]
    attribute = show_attribute(value)
    parts = [attribute] if attribute else []
    if operands:
        parts.append(", ".join(operands))
    numbers[value] = len(numbers)
    kinds = value.results or ((value.dtype, value.shape),)
    types = ", ".join(show_type(dtype, shape, value.weak) for dtype, shape in kinds)
    return f"%{numbers[value]} = {' '.join([value.op, *parts])} : {types}"


def _name(value: Value, numbers: dict[Value, int]) -> str:
    return f"%{numbers[value]}" if value in numbers else "%?"


def show_type(dtype: np.dtype[Any], shape: Shape, weak: bool = False) -> str:
    """Return a type as text: ``float64[3]``, ``int64 weak``."""
    features = str(list(shape)) if shape else ""
    return f"{dtype}{features}{' weak' if weak else ''}"


def show_reduction(reduction: Reduction) -> str:
    """Return a monoid as text."""
    return f"user({reduction.identity!r})" if reduction.name == "user" else reduction.name


def show_attribute(value: Value) -> str:
    """Return the attribute of an instruction as text."""
    attr = value.attr
    if attr is None:
        return ""
    if value.op == "load":
        return show_load(attr)
    if value.op in ("gather", "common"):
        direction, groups = attr if value.op == "gather" else ("over", attr)
        messages = [
            f"{show_reduction(reduction)}{f' of {count}' if count > 1 else ''}"
            f"{' when' if conditional else ''}"
            for reduction, count, conditional in groups
        ]
        return f"{direction} ({', '.join(messages)})"
    if value.op == "gather_by":
        messages = [show_reduction(group[0]) for group in attr[4]]
        hops = " twice" if attr[1] == 2 else ""
        return f"{attr[0]}{hops} {show_reduction(attr[2])} ({', '.join(messages)})"
    if value.op == "reduce_scalar":
        return f"{attr[0]} {show_reduction(attr[1])}"
    if isinstance(attr, Reduction):
        return show_reduction(attr)
    if isinstance(attr, tuple):
        return " ".join(str(part) for part in attr)
    return str(attr)


def show_load(attr: tuple[str, ...]) -> str:
    """Return the operand of a load in the user's notation."""
    kind, *rest = attr
    if kind == "old":
        return f"{rest[0]}.old.{rest[1]}"
    if kind == "edge_state" and rest[0] == "rev":
        return f"e.reverse.{rest[1]}"
    if kind in ("field", "column", "edge_state"):
        return ".".join(rest)
    if kind == "edge_id" and rest:
        return f"{rest[0]}.id"
    if kind in ("edge_id", "rank"):
        return f"e.{kind.removeprefix('edge_')}"
    if kind in ("scalar", "threshold", "parameter"):
        return f"{kind} {rest[-1]}"
    return f"{rest[0]}.{kind}" if rest else kind
