"""The variational bound of a model: a lower bound of the log probability of all words, given the priors.

    L = E_q[log p(words, everything hidden)] - E_q[log q]  <=  log p(words | priors)

with q the Dirichlet distributions of the model's arrays (topics' words, and authors' topics) and, for each document,
the best q given these. L is a sum of terms of the documents and, for each array, minus the divergence of its q from its
prior. Documents are inferred until they converge, or for 100 iterations, with the same settings for every model, so
that bounds of models with the same kind of q compare, whatever the method that learned them.

On documents that the model has not learned from (`held_out`), the terms of the arrays, which belong to the training
documents, are left out. By Jensen's inequality, the terms of the documents alone are a lower bound of their probability
given the training documents, with q as the posterior of the arrays:

    sum_d L_d <= log E_q[p(words | arrays, priors)]

exp(-L / tokens) is the bound perplexity of papers on variational methods (Mortensen 2017, equation 2.16), an upper
bound of the perplexity under the priors: it compares variational methods of the same model, and nothing else.

References
----------
Hoffman, Blei, Wang, Paisley: Stochastic variational inference. JMLR 14 (2013), equation 11.
Mortensen: The author-topic model (2017), appendix C.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bigtopic.errors import InputError, SettingError, argument
from bigtopic.evaluation.base import Measure, Result, Setting
from bigtopic.evaluation.measuring import result_of
from bigtopic.evaluation.subject import (
    CorpusOrPath,
    Documents,
    Subject,
    documents_of,
    in_source_order,
    kind_of,
    learned_model,
)
from bigtopic.inference.authors import MappedModel, Values
from bigtopic.inference.bounds import bound_of, document_bounds
from bigtopic.state.bound import global_parts
from bigtopic.wording import counted

__all__ = ["MEASURE", "VariationalBound", "bound"]


@dataclass(frozen=True)
class VariationalBound(Result):
    """A variational bound, see `bound`.

    Attributes
    ----------
    value : nats per token
    of : what it is a lower bound of, and by which approximation
    parts : {"documents": nats, array of the model: nats}, the local part and the global ones, which add up to `nats`;
        of held-out documents, the local part alone
    n_tokens, n_docs : that the bound is of; words that the model does not know are left out
    unknown_share : their share of the tokens
    rows, per_document, tokens : int64, float64, float64 (n_docs,): source row, own terms of the bound in nats and
        tokens of each document, in source order
    """

    of: str
    parts: Mapping[str, float]
    n_tokens: float
    n_docs: int
    unknown_share: float
    rows: np.ndarray = field(repr=False)
    per_document: np.ndarray = field(repr=False)
    tokens: np.ndarray = field(repr=False)

    reported: ClassVar[tuple[str, ...]] = (
        "value", "of", "nats", "parts", "perplexity", "n_tokens", "n_docs", "unknown_share",
    )  # fmt: skip

    @property
    def nats(self) -> float:
        """The whole bound, in nats."""
        return float(sum(self.parts.values()))

    @property
    def value(self) -> float:  # type: ignore[override]
        return self.nats / self.n_tokens

    @property
    def perplexity(self) -> float:
        """exp(-value): an upper bound of the perplexity of the words under the model's priors.

        Compare it only between variational methods of the same model, with the same `of`, on the same documents.
        """
        with np.errstate(over="ignore"):  # infinite where few tokens have the terms of all topics
            return float(np.exp(-self.value))

    def details(self) -> dict[str, str]:
        parts = {name: f"{nats:,.1f} nats" for name, nats in self.parts.items()}
        return {
            "lower bound of": self.of,
            **parts,
            "perplexity": f"at most {self.perplexity:,.1f}; compare it with variational methods of this model only",
            "bounded": f"{counted(self.n_tokens, 'token')} of {counted(self.n_docs, 'document')}",
            "words left out": f"{self.unknown_share:.1%} of the tokens" if self.unknown_share else "",
        }

    def __repr__(self) -> str:
        parts = ", ".join(f"{name} {nats:,.1f}" for name, nats in self.parts.items())
        return (
            f"VariationalBound({self.value:.4f} nats per token, a lower bound of {self.of}; in nats: {parts}; "
            f"{counted(self.n_tokens, 'token')} of {counted(self.n_docs, 'document')})"
        )


class _State(NamedTuple):
    mapped: MappedModel
    of: str
    parts: Mapping[str, float]


def bound(
    model: Any,
    corpus: CorpusOrPath,
    client: Any = None,
    n_threads: int | None = None,
    *,
    held_out: bool = False,
) -> VariationalBound:
    """The variational bound of a fitted model on documents, and its parts.

    Parameters
    ----------
    model : a fitted estimator whose method has a bound: variational ones, online and streaming ones too
    corpus : the documents that the model learned from, or the path of their corpus; words and authors are matched by
        name
    client, n_threads : see `measure`
    held_out : whether the documents are others than those that the model learned from. The parts of the model's arrays,
        which belong to the training documents, are then left out

    Returns
    -------
    VariationalBound
        The same bits for any number of workers.

    Raises
    ------
    SettingError
        When the method of the model has no bound; names methods that have one.
    InputError
        When the model knows no word of the documents, or no author of one of them.

    Examples
    --------
    >>> import numpy as np
    >>> from bigtopic import LDA, from_matrix
    >>> corpus = from_matrix(np.ones((5, 4)))
    >>> found = bound(LDA(2, method="online-vb").fit(corpus), corpus)
    >>> found.of
    'log p(words | alpha, eta), with q(topics) q(theta) q(labels) apart (mean field)'
    >>> bool(np.isclose(found.nats, found.parts["documents"] + found.parts["topic_words"]))
    True
    """
    return result_of(MEASURE, Subject(model, documents_of(corpus)), {"held_out": held_out}, client, n_threads)


def _prepare(subject: Subject, settings: Mapping[str, Any]) -> _State:
    corpus, model = subject.corpus, learned_model(subject.model)
    if model is None:
        raise SettingError(
            f"{argument('model')}: {kind_of(subject.model)} has no variational bound; give a fitted estimator "
            "of this package, of a method such as 'vb', or ask for 'log-predictive' or 'left-to-right'"
        )
    of, mapped = bound_of(model).of, MappedModel.of(model, corpus)
    parts = global_parts(mapped.model.params)
    if settings["held_out"]:
        of, parts = f"log p(words | training documents), with q({', '.join(parts)}) for the posterior", {}
    return _State(mapped, of, parts)


def _of_block(state: _State, documents: Documents) -> list[tuple[Values, float]]:
    block = documents.block
    return [(document_bounds(state.mapped, block), float(block.counts.sum(dtype=np.float64)))]


def _finish(state: _State, pieces: list[tuple[Values, float]]) -> VariationalBound:
    rows, nats, tokens = in_source_order(values for values, _ in pieces)
    n_tokens, everything = float(tokens.sum()), sum(n for _, n in pieces)
    if not n_tokens:
        raise InputError(
            f"{argument('corpus')}: the model knows no word of these documents; pass documents that have some"
        )
    parts = {"documents": float(nats.sum()), **state.parts}
    return VariationalBound(
        state.of, parts, n_tokens, len(rows), float(1 - n_tokens / everything), rows, nats, tokens
    )


MEASURE = Measure(
    name="bound",
    prepare=_prepare,
    of_block=_of_block,
    combine=operator.iadd,
    finish=_finish,
    settings={
        "held_out": Setting(False, "The bound of unseen documents: without the parts of topics and authors.")
    },
    title="variational bound",
    unit="nats per token",
    meaning="lower bound of the log probability of the words given the priors, in nats per token; higher is better",
    paper="Hoffman et al. 2013, equation 11",
)
