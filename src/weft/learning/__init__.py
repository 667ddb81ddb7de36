"""Learning on graphs: algorithms whose vertices and edges carry vectors and matrices."""

from weft.learning.beliefs import Beliefs, belief_propagation
from weft.learning.convolution import gcn_propagate
from weft.learning.embeddings import fastrp
from weft.learning.factors import Factors, als
from weft.learning.label_features import label_propagation_features
from weft.learning.manifolds import manifold_ranking
from weft.learning.modalities import multimodal

__all__ = [
    "Beliefs",
    "Factors",
    "als",
    "belief_propagation",
    "fastrp",
    "gcn_propagate",
    "label_propagation_features",
    "manifold_ranking",
    "multimodal",
]
