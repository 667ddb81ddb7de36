"""Learning on graphs: algorithms whose vertices and edges carry vectors and matrices."""

from weft.learning.label_features import label_propagation_features
from weft.learning.manifold_ranking import manifold_ranking
from weft.learning.multimodal import multimodal

__all__ = ["label_propagation_features", "manifold_ranking", "multimodal"]
