"""Compiled: what NetworkX defines by a sequence, for one thread of the host."""

from weft.networkx.kernels.choices import first_fit as first_fit
from weft.networkx.kernels.choices import grow_forest as grow_forest
from weft.networkx.kernels.choices import match_edges as match_edges
from weft.networkx.kernels.choices import take_apart as take_apart
from weft.networkx.kernels.forces import attract as attract
from weft.networkx.kernels.forces import repel as repel
from weft.networkx.kernels.moves import move_all as move_all
from weft.networkx.kernels.moves import spread_by_queue as spread_by_queue
from weft.networkx.kernels.moves import spread_in_turn as spread_in_turn
from weft.networkx.kernels.pairs import adjacent as adjacent
from weft.networkx.kernels.pairs import shared_sums as shared_sums
from weft.networkx.kernels.pairs import squares as squares
from weft.networkx.kernels.rows import partners as partners
from weft.networkx.kernels.rows import sorted_rows as sorted_rows
from weft.networkx.kernels.rows import turned_rows as turned_rows
from weft.networkx.kernels.searches import between as between
from weft.networkx.kernels.searches import components as components
from weft.networkx.kernels.searches import dijkstra as dijkstra
from weft.networkx.kernels.searches import search as search
from weft.networkx.kernels.searches import two_colors as two_colors
from weft.networkx.kernels.structure import biconnected as biconnected
from weft.networkx.kernels.structure import drop_open_edges as drop_open_edges
from weft.networkx.kernels.structure import generations as generations
from weft.networkx.kernels.structure import longest_paths as longest_paths
from weft.networkx.kernels.structure import peel as peel
from weft.networkx.kernels.structure import strong_components as strong_components
