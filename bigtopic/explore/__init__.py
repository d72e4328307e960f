"""A local web application in which a person explores a topic model over a corpus: its index, its answers, its edits,
and its server."""

from bigtopic.explore.explorer import Explorer
from bigtopic.explore.index import index_of
from bigtopic.explore.server import Exploration, explore, listening_at

__all__ = ["Exploration", "Explorer", "explore", "index_of", "listening_at"]
