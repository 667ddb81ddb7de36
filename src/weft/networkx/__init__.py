"""A backend of NetworkX: its functions, answered by weft.

Install the distribution `weft-networkx` (it consists of entry points alone) and set
`NETWORKX_BACKEND_PRIORITY=weft`, or pass `backend="weft"` to a function of NetworkX.

- `metadata` says what there is; NetworkX imports it, so it imports the standard library alone;
- `interface` is what NetworkX calls; it imports a group of functions when one of them is used;
- `network` and `conversion` hold a converted graph; `settings` the thresholds and the device;
- `kernels` has what NetworkX defines by a sequence, compiled for one thread of the host;
- every other module is a group of functions.
"""
