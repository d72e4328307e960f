"""Held-out records of LDA: how well a model predicts tokens of documents from the other tokens, which it learned from.

    theta_d from the training tokens of document d
    log p_d = sum over its held-out tokens w of log sum_k theta_dk p(w | k)
    value = sum_d log p_d / number of held-out tokens                                    nats per token

`split_records` divides the tokens of each document; the model learns from the training half, and the measure, given the
whole documents and the same `test_size` and `random_state`, divides them again. So the documents are known and their
held-out tokens are not. theta is inferred twice: by the common fold-in of `log_predictive`, which compares topics, and
by the model itself. That is its training state where it keeps one,

    theta_dk = (N_dk + alpha_k) / (N_d + sum alpha),   N_dk from its labels or responsibilities of the training tokens,

and what `transform` says of the training tokens otherwise. Read perplexities next to two others: of uniform
words, and of the training unigram.

Reference: Rugeles et al., "Infinite latent state replication", section 6.2.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from bigtopic.corpus.store import Corpus
from bigtopic.errors import ModelError
from bigtopic.evaluation.base import Measure, Setting
from bigtopic.evaluation.held_out import (
    HeldOut,
    Scores,
    refuse_dual,
    result_of_scores,
    scores_of_block,
    settings_of,
)
from bigtopic.evaluation.measures.log_predictive import Completion, completion_of
from bigtopic.evaluation.measuring import result_of
from bigtopic.evaluation.records import split_records, test_counts
from bigtopic.evaluation.source import TopicSource
from bigtopic.evaluation.subject import (
    CorpusOrPath,
    Subject,
    documents_of,
    in_source_order,
    learned_model,
    topic_rows,
)
from bigtopic.state.axes import mapping
from bigtopic.state.model import TopicModel
from bigtopic.types import Block, Docs

__all__ = ["MEASURE", "HeldOutRecords", "held_out_records"]


@dataclass(frozen=True, repr=False)
class HeldOutRecords(HeldOut):
    """The score of held-out records, see `HeldOut` for the other attributes.

    Attributes
    ----------
    own : the same on the same tokens with the model's own topics of the documents; None where it has none
    own_from : what these topics are: "training state" or "transform"; "" where there are none
    uniform : `value` of uniform words, -log of the size of the vocabulary
    saw_them : whether the model learned from held-out tokens too, by its counts of words, as after another split: then
        the score says nothing
    """

    own: HeldOutRecords | None = field(default=None, repr=False)
    own_from: str = ""
    uniform: float = 0.0
    saw_them: bool = False

    reported: ClassVar[tuple[str, ...]] = (*HeldOut.reported, "own_from", "uniform", "saw_them")

    @property
    def baselines(self) -> Mapping[str, float]:
        return {"uniform words": self.uniform, **super().baselines}

    def _further(self) -> dict[str, str]:
        return {
            f"by {self.own_from}": "" if self.own is None else f"{self.own.text()} nats per token",
            "uniform words": f"{self.uniform:.4f} nats per token",
            "caution": "the model learned from held-out tokens too" if self.saw_them else "",
        }

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | ({} if self.own is None else {"own": self.own.to_dict()})


def held_out_records(
    model: Any,
    records: CorpusOrPath,
    test_size: float = 0.4,
    random_state: int = 0,
    client: Any = None,
    n_threads: int | None = None,
    *,
    vocabulary: Any = None,
    doc_topic_prior: Any = None,
    train: CorpusOrPath | None = None,
) -> HeldOutRecords:
    """Score a model of documents by tokens that were held out of the documents it learned from.

    Parameters
    ----------
    model : learned from `split_records(records, test_size, random_state)[0]`; see `topics_of`, to which `vocabulary`
        and `doc_topic_prior` are passed
    records : the whole documents, training and held-out tokens, or the path of their corpus
    test_size, random_state : as given to `split_records`
    client, n_threads : see `measure`
    train : documents that give the unigram baseline its frequencies; None for the training tokens

    Returns
    -------
    HeldOutRecords

    Raises
    ------
    SettingError
        When a setting has a value that is not allowed, or `model` is a dual topic model, see `log_records`.
    VocabularyMismatch
        When the model knows too few of at least 300 tokens (it warns of fewer), see `LDA.transform`.
    InputError
        When no token is held out, or counts are fractional.

    Examples
    --------
    >>> import numpy as np
    >>> from bigtopic import LDA, from_matrix
    >>> corpus = from_matrix(np.full((20, 4), 3))
    >>> train, test = split_records(corpus, test_size=0.4)
    >>> found = held_out_records(LDA(2, method="ilr").fit(train), corpus)
    >>> found.own_from, found.n_tokens == test.n_tokens
    ('training state', True)
    """
    train = None if train is None else documents_of(train, "train")
    subject = Subject(model, documents_of(records, "records"), vocabulary, doc_topic_prior, train)
    settings = {"test_size": test_size, "random_state": random_state}
    return result_of(MEASURE, subject, settings, client, n_threads)


def _prepare(subject: Subject, settings: Mapping[str, Any]) -> _Records:
    refuse_dual(subject.model, "held-out-records")
    corpus, (train, test) = subject.corpus, split_records(subject.corpus, **settings)
    model = learned_model(subject.model)
    state = None if model is None else _by_state(model, subject, train, test)
    own = model is not None and state is None
    train = train.recounted()
    saw_them = _saw_them(subject.source, train, corpus)
    subject = replace(subject, train=subject.train or train)
    return _Records(
        **completion_of(subject, own),
        **settings,
        inference="both" if own else "common",
        state=state,
        saw_them=saw_them,
    )


def _saw_them(source: TopicSource, train: Corpus, corpus: Corpus) -> bool:
    """Whether a model learned from more tokens of some word than `train` has, and of none from more than `corpus`."""
    learned, ids = source.vocabulary.frequency, mapping(corpus.vocabulary, source.vocabulary)
    if learned is None:
        return False
    if ids is not None:
        learned = np.where(ids >= 0, learned[ids], 0)
    own, whole = (one.recounted().vocabulary.frequency for one in (train, corpus))
    return bool((learned > own).any() and (learned <= whole).all())


_NOTHING = (
    "no document has a held-out token and a training token that the model knows; pass documents of two tokens or more, "
    "whole ones, not a half of split_records"
)


def _finish(records: _Records, pieces: list[Scores]) -> HeldOutRecords:
    scores = Scores(*in_source_order(pieces))
    more = {
        "uniform": -float(np.log(records.source.n_words)),
        "saw_them": records.saw_them,
        "divided_by": settings_of(records, "test_size", "random_state"),
    }
    found = result_of_scores(HeldOutRecords, scores, records.source, _NOTHING, **more)
    if records.state is None and records.own is None:
        return found
    own_from = "transform" if records.state is None else "training state"
    by_own = scores._replace(log_likelihood=scores.own if records.state is None else records.state)
    own = result_of_scores(HeldOutRecords, by_own, records.source, _NOTHING, own_from=own_from, **more)
    return replace(found, own=own, own_from=own_from)


@dataclass(frozen=True, eq=False)
class _Records(Completion):
    """The completion of one block of documents, divided as `split_records` does.

    state : log probability of each document of the corpus by the training state, in source order; or None
    """

    test_size: float = 0.4
    state: np.ndarray | None = None
    saw_them: bool = False

    def _divided(self, block: Block, docs: Docs, repeat: int) -> np.ndarray:
        training = block.counts - test_counts(block, self.test_size, self.random_state)
        return training if self.id_map is None else training[self.id_map[block.words] >= 0]


_STEP = 1 << 12  # documents


def _by_state(model: TopicModel, subject: Subject, train: Corpus, test: Corpus) -> np.ndarray | None:
    """Log probability of the held-out tokens of each document by the training state, in source order; None where the
    model has none of these training tokens. A pass in this process, whose files the state is in."""
    from bigtopic.evaluation import _kernels

    if "author" in model.axes:  # it remembers authors' topics, and documents have none of their own
        return None
    state, source, pieces = model.document_state, subject.source, []
    if state is None or not state.has_counted(train.parts, train.vocabulary, model.cursor):
        return None
    n = source.n_components
    try:
        for number, part in enumerate(train.parts):
            for start in range(0, part.n_docs, _STEP):
                stop = min(start + _STEP, part.n_docs)
                counts = _topic_counts(model, number, part.read(start, stop), start, stop)
                if counts is None:
                    return None
                docs, ids = subject.inference.known(test.parts[number].read(start, stop))
                topic_words = topic_rows(source, ids)
                theta = np.zeros((docs.n_docs, topic_words.shape[1]), np.float32)
                theta[:, :n] = counts + source.doc_topic_prior
                theta /= theta.sum(axis=1, keepdims=True)
                total = np.zeros(docs.n_docs)
                _kernels.held_out_log(docs.indptr, docs.words, docs.counts, theta, topic_words, total)
                pieces.append((docs.rows, total))
    except ModelError:  # a saved or copied model is without these files
        return None
    return in_source_order(pieces)[1]


def _topic_counts(model: TopicModel, number: int, block: Block, start: int, stop: int) -> np.ndarray | None:
    """Expected tokens of each document and topic, float64 (n_docs, n_components): sums of what the model remembers."""
    state, n = model.remembered(number, start, stop), model.n_components
    of_entry = np.repeat(np.arange(block.n_docs), np.diff(block.indptr))
    if "labels" in state:
        of_token = np.repeat(of_entry, block.counts.astype(np.int64))
        labels = state["labels"].reshape(len(of_token), -1).astype(np.int64)  # a column for each replica
        cells = of_token[:, None] * n + labels
        counts = np.bincount(cells[labels >= 0], minlength=block.n_docs * n)
        return counts.reshape(block.n_docs, n) / labels.shape[1]
    shares = state.get("shares")
    if shares is None or shares.shape[1:] != (n,):
        return None
    weights = shares.astype(np.float64)
    weights *= (block.counts / np.maximum(weights.sum(axis=1), np.finfo(np.float64).tiny))[:, None]
    found = np.zeros((block.n_docs, n))
    np.add.at(found, of_entry, weights)
    return found


MEASURE = Measure(
    name="held-out-records",
    prepare=_prepare,
    of_block=scores_of_block,
    combine=operator.iadd,
    finish=_finish,
    settings={
        "test_size": Setting(0.4, "Share of a document's tokens that was held out."),
        "random_state": Setting(0, "Seed of the random splits.", formerly="seed"),
    },
    held_out=True,
    title="held-out records",
    unit="nats per token",
    meaning="log probability of tokens held out of the training documents, in nats per token; higher is better",
    paper="Rugeles et al., section 6.2",
)
