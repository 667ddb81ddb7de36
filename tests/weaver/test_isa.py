"""The instructions: encodings, text, and what is refused."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import ConfigError
from weft.weaver import isa


@st.composite
def instructions(draw):
    operation = draw(st.sampled_from(list(isa.OPERATIONS.values())))
    registers = {name: draw(st.integers(0, 31)) for name in operation.operands}
    return isa.Instruction(operation.name, registers)


@given(instructions())
def test_words_and_text_give_the_instruction_back(instruction):
    word = isa.encode(instruction)
    assert 0 <= word < 1 << 32
    assert isa.decode(word) == instruction
    assert isa.parse(isa.text(instruction)) == instruction


def test_fields_of_the_instructions():
    reg = isa.encode(isa.parse("weaver_reg x1, x2, x3"))
    assert (reg & 0x7F, reg >> 12 & 7, reg >> 27) == (isa.CUSTOM1, 1, 3)
    loc = isa.encode(isa.parse("weaver_dec_loc a0"))
    assert (loc & 0x7F, loc >> 25, loc >> 12 & 7) == (isa.CUSTOM0, 8, 0)
    assert isa.encode(isa.parse("weaver_skip a0")) >> 12 & 7 == 2
    assert isa.encode(isa.parse("weaver_dec_id a0")) >> 25 == 7


@given(st.integers(0, (1 << 32) - 1))
def test_any_word_is_decoded_or_refused(word):
    with contextlib.suppress(ConfigError):
        assert isa.encode(isa.decode(word)) == word


@pytest.mark.parametrize("line", ["weaver_go a0", "weaver_skip", "weaver_skip a0, a1",
                                  "weaver_dec_id x32", "weaver_dec_id q"])  # fmt: skip
def test_wrong_lines_are_refused(line):
    with pytest.raises(ConfigError):
        isa.parse(line)


def test_macros_name_every_instruction():
    text = isa.directives()
    assert all(f".macro {name} " in text for name in isa.OPERATIONS)
    assert text.count(".insn") == 4
