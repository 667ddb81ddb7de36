"""A group takes one row."""

from weft.schedules.base import Schedule, register

register(
    Schedule(
        name="vertex",
        title="a group takes one row",
        struct="VertexSchedule",
        keeps_rows=True,
        guesses=True,
    )
)
