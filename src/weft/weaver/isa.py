"""The four instructions of the unit for RISC-V: fields, encoder, decoder and assembler text.

The function number of CUSTOM1 is in funct3, that of CUSTOM0 in funct7, because the 8 of
WEAVER_DEC_LOC does not fit the three bits of funct3. That is this project's reading.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from weft.errors import ConfigError, unknown

CUSTOM0, CUSTOM1 = 0b0001011, 0b0101011
# The names of the integer registers in the calling convention, by number.
REGISTERS = (
    "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1",
    *(f"a{k}" for k in range(8)), *(f"s{k}" for k in range(2, 12)), "t3", "t4", "t5", "t6",
)  # fmt: skip


@dataclass(frozen=True)
class Operation:
    """One instruction: its opcode, its function number and the operands it names, in order."""

    name: str
    opcode: int
    function: int
    operands: tuple[str, ...]


OPERATIONS = {
    operation.name: operation
    for operation in (
        Operation("weaver_reg", CUSTOM1, 1, ("rs1", "rs2", "rs3")),  # vid, loc, deg
        Operation("weaver_skip", CUSTOM1, 2, ("rs1",)),  # vid
        Operation("weaver_dec_id", CUSTOM0, 7, ("rd",)),
        Operation("weaver_dec_loc", CUSTOM0, 8, ("rd",)),
    )
}
# Where a register number begins in the word.
_PLACES = {"rd": 7, "rs1": 15, "rs2": 20, "rs3": 27}


@dataclass(frozen=True)
class Instruction:
    """An instruction with its registers by number.

    Examples
    --------
    >>> add = Instruction("weaver_reg", {"rs1": 10, "rs2": 11, "rs3": 12})
    >>> hex(encode(add)), text(add)
    ('0x60b5102b', 'weaver_reg a0, a1, a2')
    """

    name: str
    registers: dict[str, int] = field(default_factory=dict)


def encode(instruction: Instruction) -> int:
    """Return the 32 bits of an instruction.

    Raises
    ------
    ConfigError
        If the instruction is unknown, or a register is missing or not a number from 0 to 31.
    """
    operation = OPERATIONS.get(instruction.name)
    if operation is None:
        raise ConfigError(unknown("instruction", instruction.name, OPERATIONS))
    if set(instruction.registers) != set(operation.operands):
        raise ConfigError(
            f"{operation.name} has registers {sorted(instruction.registers)}. Expected "
            f"{', '.join(operation.operands)}."
        )
    word = operation.opcode
    word |= operation.function << (12 if operation.opcode == CUSTOM1 else 25)
    for operand, register in instruction.registers.items():
        if not 0 <= register < 32:
            raise ConfigError(f"{operand}={register} is not a register. Expected 0 to 31.")
        word |= register << _PLACES[operand]
    return word


def decode(word: int) -> Instruction:
    """Return the instruction that 32 bits stand for.

    Raises
    ------
    ConfigError
        If it is none of the unit's, or a field that must be zero is not.
    """
    opcode = word & 0x7F
    function = word >> 12 & 7 if opcode == CUSTOM1 else word >> 25 & 0x7F
    for operation in OPERATIONS.values():
        if (operation.opcode, operation.function) == (opcode, function):
            registers = {name: word >> _PLACES[name] & 31 for name in operation.operands}
            found = Instruction(operation.name, registers)
            if encode(found) == word:
                return found
    raise ConfigError(f"{word:#010x} is not an instruction of the Weaver unit.")


def text(instruction: Instruction) -> str:
    """Return an instruction as assembler text."""
    operands = OPERATIONS[instruction.name].operands
    names = [REGISTERS[instruction.registers[operand]] for operand in operands]
    return f"{instruction.name} {', '.join(names)}"


def parse(line: str) -> Instruction:
    """Return the instruction that a line of assembler text stands for.

    Registers have the names of the calling convention, or ``x0`` to ``x31``.

    Examples
    --------
    >>> parse("weaver_dec_id x5").registers
    {'rd': 5}

    Raises
    ------
    ConfigError
        If the instruction or a register is unknown, or their number is wrong.
    """
    name, _, rest = line.strip().partition(" ")
    operation = OPERATIONS.get(name)
    if operation is None:
        raise ConfigError(unknown("instruction", name, OPERATIONS))
    given = [word.strip() for word in rest.split(",") if word.strip()]
    if len(given) != len(operation.operands):
        raise ConfigError(
            f"{line.strip()!r} has {len(given)} registers. Expected {len(operation.operands)}."
        )
    numbers = (_register(register) for register in given)
    return Instruction(name, dict(zip(operation.operands, numbers, strict=True)))


def _register(name: str) -> int:
    if name in REGISTERS:
        return REGISTERS.index(name)
    if re.fullmatch(r"x([12]?\d|3[01])", name):
        return int(name[1:])
    raise ConfigError(unknown("register", name, REGISTERS))


def directives() -> str:
    """Return the instructions as macros for the GNU assembler, which has no names for them."""
    lines = []
    for operation in OPERATIONS.values():
        arguments = ", ".join(operation.operands)
        fill = [name if name in operation.operands else "x0" for name in ("rd", "rs1", "rs2")]
        registers = ", ".join("\\" + name if name != "x0" else name for name in fill)
        if operation.opcode == CUSTOM0:
            body = f".insn r CUSTOM_0, 0, {operation.function}, {registers}"
        elif "rs3" in operation.operands:
            body = f".insn r4 CUSTOM_1, {operation.function}, 0, {registers}, \\rs3"
        else:
            body = f".insn r CUSTOM_1, {operation.function}, 0, {registers}"
        lines += [f".macro {operation.name} {arguments}", f"    {body}", ".endm"]
    return "\n".join(lines) + "\n"
