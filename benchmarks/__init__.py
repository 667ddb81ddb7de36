"""Measurements of weft beside other graph libraries, each result checked."""

import sys
from pathlib import Path

# Files of this folder would hide the libraries that have their names (networkx, graphblas).
HERE = Path(__file__).resolve().parent
sys.path[:] = [place for place in sys.path if Path(place or ".").resolve() != HERE]
