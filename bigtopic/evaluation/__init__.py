"""Measures of topics: each is a file in `measures/` and takes part in one streaming pass over the corpus.

A model is anything that `topics_of` accepts: an estimator of this package, a scikit-learn or gensim model, or an array.
"""

from bigtopic.evaluation import measures
from bigtopic.evaluation.base import Measure, Result, Score, Setting
from bigtopic.evaluation.coherence import Coherence, by_author, coherence
from bigtopic.evaluation.measures.bound import VariationalBound, bound
from bigtopic.evaluation.measures.log_predictive import LogPredictive, log_predictive
from bigtopic.evaluation.measures.prevalence import Prevalence, prevalence
from bigtopic.evaluation.measuring import Evaluation, measure
from bigtopic.evaluation.postings import Postings, index
from bigtopic.evaluation.records import RecordScore, log_records, split_records
from bigtopic.evaluation.source import TopicSource, top_words, topics_of

__all__ = [
    "Coherence",
    "Evaluation",
    "LogPredictive",
    "Measure",
    "Postings",
    "Prevalence",
    "RecordScore",
    "Result",
    "Score",
    "Setting",
    "TopicSource",
    "VariationalBound",
    "bound",
    "by_author",
    "coherence",
    "index",
    "log_predictive",
    "log_records",
    "measure",
    "measures",
    "prevalence",
    "split_records",
    "top_words",
    "topics_of",
]
