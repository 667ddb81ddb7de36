"""SparseWeaver: a unit that turns sparse rows into dense work, its model, RTL and experiments."""

from weft.weaver.faults import Fault, WeaverError
from weft.weaver.machine import Counters, Machine
from weft.weaver.model import Simulation, simulate
from weft.weaver.unit import Inputs, Outputs, Parameters, State, Unit

__all__ = [
    "Counters", "Fault", "Inputs", "Machine", "Outputs", "Parameters", "Simulation", "State",
    "Unit", "WeaverError", "simulate",
]  # fmt: skip
