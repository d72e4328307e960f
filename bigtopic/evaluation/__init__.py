"""Measures of topics: each is a file in `measures/` and takes part in one streaming pass over the corpus.

A model is anything that `topics_of` accepts: an estimator of this package, a scikit-learn or gensim model, or an array.
"""

from bigtopic.evaluation import measures
from bigtopic.evaluation.base import Measure, Result, Score, Setting
from bigtopic.evaluation.coherence import Coherence, by_author, coherence
from bigtopic.evaluation.held_out import HeldOut
from bigtopic.evaluation.measures.bound import VariationalBound, bound
from bigtopic.evaluation.measures.held_out_records import HeldOutRecords, held_out_records
from bigtopic.evaluation.measures.left_to_right import LeftToRight, left_to_right
from bigtopic.evaluation.measures.log_predictive import LogPredictive, log_predictive
from bigtopic.evaluation.measures.prevalence import Prevalence, prevalence
from bigtopic.evaluation.measuring import Evaluation, measure
from bigtopic.evaluation.postings import Postings, index
from bigtopic.evaluation.records import RecordScore, log_records, split_records
from bigtopic.evaluation.runs.alignment import Alignment, Stability, align, stability
from bigtopic.evaluation.runs.compare import Comparison, PooledScore, compare
from bigtopic.evaluation.runs.drift import Drift, Snapshot, drift, snapshot
from bigtopic.evaluation.runs.objective import OPEStability, ope_stability
from bigtopic.evaluation.runs.stream import StreamCurve, stream
from bigtopic.evaluation.runs.watch import Watch
from bigtopic.evaluation.source import TopicSource, top_words, topics_of
from bigtopic.evaluation.tasks.classification import ClassificationScore, classification_accuracy
from bigtopic.evaluation.tasks.intrusion import (
    IntrusionScore,
    document_intrusion,
    score_intrusion,
    word_intrusion,
)
from bigtopic.evaluation.tasks.ranking import RankingScore, rank_authors, rank_items

__all__ = [
    "Alignment",
    "ClassificationScore",
    "Coherence",
    "Comparison",
    "Drift",
    "Evaluation",
    "HeldOut",
    "HeldOutRecords",
    "IntrusionScore",
    "LeftToRight",
    "LogPredictive",
    "Measure",
    "OPEStability",
    "PooledScore",
    "Postings",
    "Prevalence",
    "RankingScore",
    "RecordScore",
    "Result",
    "Score",
    "Setting",
    "Snapshot",
    "Stability",
    "StreamCurve",
    "TopicSource",
    "VariationalBound",
    "Watch",
    "align",
    "bound",
    "by_author",
    "classification_accuracy",
    "coherence",
    "compare",
    "document_intrusion",
    "drift",
    "held_out_records",
    "index",
    "left_to_right",
    "log_predictive",
    "log_records",
    "measure",
    "measures",
    "ope_stability",
    "prevalence",
    "rank_authors",
    "rank_items",
    "score_intrusion",
    "snapshot",
    "split_records",
    "stability",
    "stream",
    "top_words",
    "topics_of",
    "word_intrusion",
]
