"""Who takes which arcs on a GPU: one module and one CUDA header per schedule."""

from weft.schedules.base import Schedule, register, schedule, schedules

__all__ = ["Schedule", "register", "schedule", "schedules"]
