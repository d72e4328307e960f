"""Models of other libraries, read and written; one library per file of this folder.

A model that is read is a fitted `LDA`: it transforms, scores, is saved, and goes on learning. Libraries are imported
when they are needed. Nothing pickled is loaded: models that are Python objects are given as objects.
"""

from bigtopic.foreign.gensim import from_gensim, to_gensim
from bigtopic.foreign.mallet import from_mallet, to_mallet
from bigtopic.foreign.sklearn import from_sklearn, to_sklearn
from bigtopic.foreign.tables import (
    Frames,
    to_datamapplot,
    to_pandas,
    to_regression,
    to_topicwizard,
    to_xarray,
)
from bigtopic.foreign.tomotopy import from_tomotopy, to_tomotopy

__all__ = [
    "Frames",
    "from_gensim",
    "from_mallet",
    "from_sklearn",
    "from_tomotopy",
    "to_datamapplot",
    "to_gensim",
    "to_mallet",
    "to_pandas",
    "to_regression",
    "to_sklearn",
    "to_tomotopy",
    "to_topicwizard",
    "to_xarray",
]
