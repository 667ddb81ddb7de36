"""Arrays on hosts and devices: placement, filling, reductions."""
