"""Stability of OPE: how much the objective of a document differs between random runs of its inference.

    g1 = sum_v c_v log sum_k theta_k p(v | k)       log-likelihood
    g2 = sum_k (alpha_k - 1) log theta_k            log-prior, up to a constant
    f  = g1 + g2, at theta' = (1 - K eps) theta + eps with eps = 1e-6

For alpha < 1, g2 has no upper bound: at the theta of a run it grows with the number of iterations T, because a topic
that the document does not use keeps a share of about 1 / (K T). So g1 and g2 are recorded apart. f, at a fixed distance
from the faces of the simplex, is bounded, but grows with T, too, until these shares are below eps. Compare runs of
different T by g1 only.

    value = mean over documents of the standard deviation of g1 over runs      nats

References
----------
Than, Doan: Guaranteed inference in topic models. 2017, section 5.3 and figure 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np

from bigtopic.corpus.order import checked_seed, document_keys
from bigtopic.errors import InputError, SettingError, argument
from bigtopic.evaluation.base import Result
from bigtopic.evaluation.held_out import mean_and_error
from bigtopic.evaluation.subject import (
    CorpusOrPath,
    Documents,
    Inference,
    Subject,
    documents_of,
    in_source_order,
    over_blocks,
    topic_rows,
)
from bigtopic.kernels import load
from bigtopic.support.numbers import is_whole
from bigtopic.types import Block, Hyper, View

__all__ = ["OPEStability", "ope_stability"]

_EPS = 1e-6  # of the simplex inside which f is evaluated


@dataclass(frozen=True, repr=False)
class OPEStability(Result):
    """Objectives of documents in several random runs of OPE. See the module for the formulas.

    Attributes
    ----------
    value : mean over documents of the standard deviation of the log-likelihood over runs, in nats
    standard_error : of `value`, over documents
    rows : int64 (n_docs,), source rows, in source order
    tokens : float64 (n_docs,), of words that the model knows
    log_likelihood, log_prior, objective : float64 (n_docs, n_runs), g1, g2 and f of each run, in nats
    """

    value: float
    standard_error: float
    rows: np.ndarray = field(repr=False)
    tokens: np.ndarray = field(repr=False)
    log_likelihood: np.ndarray = field(repr=False)
    log_prior: np.ndarray = field(repr=False)
    objective: np.ndarray = field(repr=False)

    reported: ClassVar[tuple[str, ...]] = ("value", "standard_error", "deviations", "means")

    @property
    def deviations(self) -> dict[str, float]:
        """Mean over documents of the standard deviation over runs of g1, g2 and f, by their names here."""
        return {name: float(own.std(axis=1, ddof=1).mean()) for name, own in self._named().items()}

    @property
    def means(self) -> dict[str, float]:
        """Mean over documents and runs of g1, g2 and f, by their names here."""
        return {name: float(own.mean()) for name, own in self._named().items()}

    def text(self) -> str:
        return f"{super().text()} nats a document"

    def details(self) -> dict[str, str]:
        spread = self.deviations
        return {
            name.replace("_", " "): f"{mean:.2f} nats a document, standard deviation {spread[name]:.4f}"
            for name, mean in self.means.items()
        }

    def _named(self) -> Mapping[str, np.ndarray]:
        return {
            "log_likelihood": self.log_likelihood,
            "log_prior": self.log_prior,
            "objective": self.objective,
        }


def ope_stability(
    model: Any,
    corpus: CorpusOrPath,
    n_runs: int = 10,
    n_iter: int = 50,
    random_state: int = 0,
    client: Any = None,
    n_threads: int | None = None,
    *,
    vocabulary: Any = None,
    doc_topic_prior: Any = None,
) -> OPEStability:
    """Infer each document several times by OPE, from random starts, and compare the objectives that the runs end with.

    Parameters
    ----------
    model : topics, and the prior alpha, see `topics_of`, to which `vocabulary` and `doc_topic_prior` are passed
    corpus : documents, or the path of their corpus; about a hundred are enough
    n_runs : runs of each document, at least 2
    n_iter : iterations of a run, at least 1; in the literature T
    random_state : seed of the runs
    client, n_threads : see `measure`

    Returns
    -------
    OPEStability

    Raises
    ------
    SettingError
        When `n_runs` or `n_iter` is not allowed.
    InputError
        When the model knows no word of the documents.
    """
    for name, number, least in (("n_runs", n_runs, 2), ("n_iter", n_iter, 1)):
        if not is_whole(number) or number < least:
            raise SettingError(f"{argument(name, number)}: must be a whole number of at least {least}")
    corpus = documents_of(corpus)
    seeds = (document_keys(checked_seed(random_state), np.arange(n_runs)) >> np.uint64(1)).tolist()
    inference = Subject(model, corpus, vocabulary, doc_topic_prior).inference
    of_block = partial(_of_block, inference, seeds, int(n_iter))
    rows, tokens, *objectives = in_source_order(
        over_blocks(
            of_block, corpus, "inferring", client, n_threads, n_components=inference.source.n_components
        )
    )
    if not len(rows):
        raise InputError(f"{argument('corpus')}: the model knows no word of it; give documents of its words")
    return OPEStability(*mean_and_error(objectives[0].std(axis=1, ddof=1)), rows, tokens, *objectives)


def _of_block(inference: Inference, seeds: list[int], n_iter: int, block: Block) -> tuple[np.ndarray, ...]:
    """Source rows, tokens, and g1, g2 and f of each run, of the documents with a word that the model knows."""
    documents, source, kernel = Documents(block, inference), inference.source, load("ope")
    docs, alpha = documents.docs, np.asarray(source.doc_topic_prior, np.float64)
    topic_words = topic_rows(source, documents.ids)
    hyper = Hyper(alpha, source.n_components, {**kernel.options, "n_iter": n_iter})
    known = np.flatnonzero(documents.tokens > 0)
    found = np.empty((3, len(seeds), len(known)))
    probabilities = topic_words[:, : source.n_components].astype(np.float64)
    for run, seed in enumerate(seeds):
        doc_topics = kernel.run(docs, View({"topic_words": topic_words}, {}), hyper, seed, None).doc_topics
        assert doc_topics is not None
        theta = doc_topics[known].astype(np.float64)
        theta /= theta.sum(axis=1, keepdims=True)
        inside = (1 - source.n_components * _EPS) * theta + _EPS
        for n, d in enumerate(known):
            own = slice(docs.indptr[d], docs.indptr[d + 1])
            words, counts = probabilities[docs.words[own]], docs.counts[own].astype(np.float64)
            likelihood, likelihood_inside = (counts @ np.log(words @ of[n]) for of in (theta, inside))
            prior, prior_inside = ((alpha - 1) @ np.log(of[n]) for of in (theta, inside))
            found[:, run, n] = likelihood, prior, likelihood_inside + prior_inside
    return (docs.rows[known], documents.tokens[known], *(own.T for own in found))
