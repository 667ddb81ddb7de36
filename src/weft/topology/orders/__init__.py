"""Orders of the vertices, by name: in which order a topology holds them in memory."""

from weft.topology.orders.base import arranged, check_order, kept, order_of, rearranged

__all__ = ["arranged", "check_order", "kept", "order_of", "rearranged"]
