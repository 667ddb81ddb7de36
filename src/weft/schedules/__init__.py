"""The assignment of arcs to threads on a GPU: one module and one CUDA header per schedule."""

from weft.schedules.base import SCALAR_LANES, Schedule, register, schedule, schedules

__all__ = ["SCALAR_LANES", "Schedule", "register", "schedule", "schedules"]
