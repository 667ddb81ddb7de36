"""Named vertex orders, in which a topology can be stored."""

from weft.topology.orders.base import arranged, check_order, kept, order_of, rearranged

__all__ = ["arranged", "check_order", "kept", "order_of", "rearranged"]
