"""Measures of topics: one per file, each a function of a model and a corpus that streams over the corpus once.

A model is anything `topics_of` knows: an estimator of this package, a scikit-learn or gensim model, or an array.
"""

from bigtopic.evaluation.coherence import Coherence, coherence
from bigtopic.evaluation.log_predictive import LogPredictive, log_predictive
from bigtopic.evaluation.prevalence import Prevalence, prevalence
from bigtopic.evaluation.source import TopicSource, top_words, topics_of

__all__ = [
    "Coherence",
    "LogPredictive",
    "Prevalence",
    "TopicSource",
    "coherence",
    "log_predictive",
    "prevalence",
    "top_words",
    "topics_of",
]
