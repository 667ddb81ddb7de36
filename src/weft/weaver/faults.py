"""The named faults of the unit, the same in the model and in the RTL."""

from __future__ import annotations

from enum import IntEnum

from weft.errors import FaultError


class Fault(IntEnum):
    """The faults of the unit; the number is the fault register's value."""

    NONE = 0
    TABLE_OVERFLOW = 1
    DECODE_BEFORE_BARRIER = 2
    LOC_WITHOUT_ID = 3
    NEGATIVE_DEGREE = 4
    ID_TOO_WIDE = 5
    SECOND_REGISTRATION = 6


REASONS = {
    Fault.TABLE_OVERFLOW: (
        "a warp registered beyond the last entry of the sparse table. Expected warp * threads + "
        "thread below the number of entries; register in more rounds, or use a larger table"
    ),
    Fault.DECODE_BEFORE_BARRIER: (
        "a warp asked for work before the barrier of its round. Expected exactly one barrier "
        "between WEAVER_REG and the first WEAVER_DEC_ID"
    ),
    Fault.LOC_WITHOUT_ID: (
        "WEAVER_DEC_LOC came from a warp that holds no ids. Expected a WEAVER_DEC_ID that "
        "returned some before it"
    ),
    Fault.NEGATIVE_DEGREE: (
        "a row was registered with a negative degree. Expected 0 or more; check that the end of a "
        "row is not before its beginning"
    ),
    Fault.ID_TOO_WIDE: (
        "a vertex id or a location does not fit the registers of the unit. Expected numbers below "
        "2 to the power of id_bits; use a wider unit"
    ),
    Fault.SECOND_REGISTRATION: (
        "a warp registered twice in one round. Expected one WEAVER_REG per thread and round, with "
        "the loop over rows outside the round"
    ),
}


class WeaverError(FaultError):
    """The unit met a fault.

    Attributes
    ----------
    fault : Fault
        Which one.
    warp : int
        The warp that caused it.
    """

    def __init__(self, fault: Fault, warp: int) -> None:
        super().__init__(f"{fault.name}: {REASONS[fault]} (warp {warp}).")
        self.fault, self.warp = fault, warp

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.fault, self.warp)
