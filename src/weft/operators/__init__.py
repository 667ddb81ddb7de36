"""Frontier operators in the data-centric model of Gunrock, with traced functions.

An operator takes a graph, a frontier, a function and a state, and returns the next frontier. It is
a thin layer over `Graph.run`: the same call runs on a CPU, on a GPU and in the interpreter.
`weft.capture` turns a loop of operators into one `Graph.iterate`.
"""

from __future__ import annotations

from weft.operators.advance import advance as advance
from weft.operators.capture import Capture as Capture
from weft.operators.capture import Captured as Captured
from weft.operators.capture import capture as capture
from weft.operators.compact_transform import compact_transform as compact_transform
from weft.operators.compute import compute as compute
from weft.operators.dedup import Tables as Tables
from weft.operators.filter import filter as filter
from weft.operators.intersect import Items as Items
from weft.operators.intersect import intersect as intersect
from weft.operators.lbs_transform import lbs_transform as lbs_transform
from weft.operators.neighbor_reduce import neighbor_reduce as neighbor_reduce
from weft.operators.queue import Queue as Queue
from weft.operators.scan_transform import scan_transform as scan_transform
from weft.operators.segments import segments as segments
from weft.operators.segreduce_transform import segreduce_transform as segreduce_transform
from weft.operators.set_transform import set_transform as set_transform
from weft.operators.split import split as split
from weft.operators.transform import transform as transform
from weft.operators.uniquify import uniquify as uniquify
