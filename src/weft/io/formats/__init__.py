"""One module per file format; each registers itself with `weft.io.base.register`."""
