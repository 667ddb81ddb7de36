"""A group takes one slot; its row is the slot's owner."""

from weft.schedules.base import Schedule, register

register(
    Schedule(
        name="edge",
        title="a group takes one slot, the row is its owner",
        struct="EdgeSchedule",
        rows="split",
        # It starts from slots and tests whether their rows are active, which a queue cannot answer.
        inputs=("all", "bitmap", "bytemap"),
    )
)
