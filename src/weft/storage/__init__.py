"""Files that weft keeps between processes."""
