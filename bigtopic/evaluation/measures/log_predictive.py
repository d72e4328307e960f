"""Document completion: how well a model predicts one part of a document from the other.

    theta_d = fold-in of the observed tokens;   log p_d = sum over held-out tokens w of log sum_k theta_dk p(w | k)
    value = sum_d log p_d / number of held-out tokens                                    nats per token

The fold-in is the same for every model: mean-field variational Bayes with the topics fixed at their posterior mean, 50
iterations from gamma = 1, so scores compare topics, not inference. It is deterministic. (random_state, repeat, source
row) determines which tokens are observed: neither chunks nor workers change it. With inference "own", theta is what
the method's `transform` makes of the observed tokens: then methods are compared with their inference, as in the papers
on OPE and on streaming Gibbs sampling.

Cost: 50 times topics for each distinct observed word of a document, of every model alike, also of one that learned
with few candidates; 256 MiB for the rows of topics of a slice, on each thread.

With ratio 0.5, the observed tokens are the first half of a document's shuffled tokens: perplexity by halves (Gao,
Chen, Zhu 2016, section 3.2) is exp(-value) pooled, and exp(-per_document) as a mean over documents.

Never compare a value of the token split with one of the type split: when types are divided, a held-out word is never
observed in its document.

References
----------
Than, Doan: Dual online inference for latent Dirichlet allocation. ACML 2014, and its successors, appendix A.
Hoffman, Blei, Wang, Paisley: Stochastic variational inference. JMLR 14 (2013), section 4.
Gao, Chen, Zhu: Streaming Gibbs sampling for LDA model. 2016.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from bigtopic.errors import SettingError, argument, either
from bigtopic.evaluation.base import Measure, Setting
from bigtopic.evaluation.held_out import (
    HeldOut,
    Scores,
    Scoring,
    check_tokens,
    kernel_seed,
    result_of_scores,
    scores_of_block,
    scoring_of,
    settings_of,
    sums,
)
from bigtopic.evaluation.measuring import result_of
from bigtopic.evaluation.subject import (
    CorpusOrPath,
    OwnInference,
    Subject,
    documents_of,
    fold_in,
    in_source_order,
    slices_of,
    topic_rows,
    with_counts,
)
from bigtopic.support.deprecations import renamed
from bigtopic.types import Block, Docs

__all__ = ["MEASURE", "Completion", "LogPredictive", "completion_of", "log_predictive"]


@dataclass(frozen=True, repr=False)
class LogPredictive(HeldOut):
    """The result of document completion, see `HeldOut` for the other attributes.

    Attributes
    ----------
    inference : "common", "own" or "both": which inference `value` is of; "both" for the common one, with `own`
    own : with "both", the same on the same tokens by the method's own inference; else None
    """

    inference: str = "common"
    own: LogPredictive | None = field(default=None, repr=False)

    reported: ClassVar[tuple[str, ...]] = (*HeldOut.reported, "inference")

    def _further(self) -> dict[str, str]:
        return {
            "inference": "the method's own" if self.inference == "own" else "",
            "own inference": "" if self.own is None else f"{self.own.text()} nats per token",
        }

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | ({} if self.own is None else {"own": self.own.to_dict()})


@renamed(seed="random_state")
def log_predictive(
    model: Any,
    corpus: CorpusOrPath,
    split: str = "token",
    ratio: float = 0.5,
    repeats: int = 1,
    random_state: int = 0,
    client: Any = None,
    n_threads: int | None = None,
    *,
    inference: str = "common",
    vocabulary: Any = None,
    doc_topic_prior: Any = None,
    train: CorpusOrPath | None = None,
) -> LogPredictive:
    """Score a model by document completion on unseen documents.

    Parameters
    ----------
    model : see `topics_of`, to which `vocabulary` and `doc_topic_prior` are passed
    corpus : held-out documents, or the path of their corpus; words are matched by name
    split : "token" divides a document's tokens, "type" its distinct words
    ratio : observed share of a document, between 0 and 1
    repeats : number of random splits of each document, pooled
    random_state : seed of the splits
    client, n_threads : see `measure`
    inference : how observed tokens become topics: "common", the fold-in that is the same for every model; "own", the
        method's, as in `transform`; "both" gives the common score, and the other one as `own`
    train : documents that give the unigram baseline its frequencies, or the path of their corpus; None for those the
        model learned from, if it counted them, or for `vocabulary` if that is a corpus

    Returns
    -------
    LogPredictive

    Raises
    ------
    SettingError
        When a setting has a value that is not allowed, or the model has no inference of its own.
    VocabularyMismatch
        When the model knows too few of at least 300 tokens (it warns of fewer), see `LDA.transform`.
    InputError
        When no document is long enough to divide, or counts are fractional or beyond 2^24 and `split` is "token".

    Examples
    --------
    >>> import numpy as np
    >>> from bigtopic import from_matrix
    >>> log_predictive(np.ones((2, 4)), from_matrix(np.ones((5, 4)))).perplexity
    4.0
    """
    train = None if train is None else documents_of(train, "train")
    subject = Subject(model, documents_of(corpus), vocabulary, doc_topic_prior, train)
    settings = {"split": split, "ratio": ratio, "repeats": repeats, "random_state": random_state}
    settings["inference"] = inference
    return result_of(MEASURE, subject, settings, client, n_threads)


def _prepare(subject: Subject, settings: Mapping[str, Any]) -> Completion:
    ratio, repeats = settings["ratio"], settings["repeats"]
    if not 0 < ratio < 1:
        raise SettingError(f"{argument('ratio')}: must be between 0 and 1, found {ratio!r}")
    if repeats < 1:
        raise SettingError(f"{argument('repeats')}: must be at least 1, found {repeats!r}")
    return Completion(**completion_of(subject, settings["inference"] != "common"), **settings)


def completion_of(subject: Subject, own: bool) -> dict[str, Any]:
    """The fields of `Completion` that follow from the model and the documents, with its own inference if asked for."""
    return {**scoring_of(subject), "own": subject.own_inference if own else None}


_NOTHING = (
    "no document has two tokens that the model knows, to divide into observed and held-out ones; pass longer "
    "documents, or score whole ones with 'left-to-right'"
)


def _finish(completion: Completion, pieces: list[Scores]) -> LogPredictive:
    scores, inference = Scores(*in_source_order(pieces)), completion.inference
    by_own = scores._replace(log_likelihood=scores.own)
    divided_by = settings_of(completion, "split", "ratio", "repeats", "random_state")
    result = partial(
        result_of_scores, LogPredictive, source=completion.source, nothing=_NOTHING, divided_by=divided_by
    )
    if inference == "own":
        return result(by_own, inference=inference)
    found = result(scores, inference=inference)
    return found if inference == "common" else replace(found, own=result(by_own, inference="own"))


MEASURE = Measure(
    name="log-predictive",
    prepare=_prepare,
    of_block=scores_of_block,
    combine=operator.iadd,
    finish=_finish,
    settings={
        "split": Setting("token", "Divide a document's tokens, or its distinct words.", ("token", "type")),
        "ratio": Setting(0.5, "Observed share of a document."),
        "repeats": Setting(1, "Random splits of each document."),
        "random_state": Setting(0, "Seed of the random splits.", formerly="seed"),
        "inference": Setting("common", "Whose inference of topics.", ("common", "own", "both")),
    },
    held_out=True,
    default=True,
    title="held-out score",
    unit="nats per token",
    meaning="log probability of the held-out part of unseen documents, in nats per token; higher is better",
    paper="Hoffman et al. 2013, section 4",
)


_SLICE_ENTRIES = 1 << 16


@dataclass(frozen=True, eq=False)
class Completion(Scoring):
    """The completion of one block of documents: pure, and picklable for workers.

    own : the method's own inference, for "own" and "both"
    """

    split: str = "token"
    ratio: float = 0.5
    repeats: int = 1
    random_state: int = 0
    inference: str = "common"
    own: OwnInference | None = None

    def __call__(self, block: Block) -> Scores:
        step = max(1, _SLICE_ENTRIES * block.n_docs // max(1, len(block.words)))
        return Scores.joined(
            self._slice(own)
            for start in range(0, block.n_docs, step)
            for own in slices_of(block[start : start + step], self.source.n_components)
        )

    def _slice(self, block: Block) -> Scores:
        docs, ids = self.known(block)
        topic_words, base = topic_rows(self.source, ids), self.unigram_log[ids]
        common, own, held, unigram_total = (np.zeros(docs.n_docs) for _ in range(4))
        for repeat in range(self.repeats):
            observed = self._divided(block, docs, repeat)
            held_out = docs.counts - observed
            held_out[np.repeat(sums(docs.indptr, observed) == 0, np.diff(docs.indptr))] = 0
            if self.inference != "own":
                theta = fold_in(with_counts(docs, observed), topic_words, self.source)
                self._add(docs, held_out, theta, topic_words, common)
            if self.own is not None:
                known = with_counts(block, self._known_counts(block))
                theta = self.own(with_counts(known, observed), topic_words.shape[1])
                self._add(docs, held_out, theta, topic_words, own)
            unigram_total += sums(docs.indptr, held_out * base[docs.words])
            held += sums(docs.indptr, held_out)
        return Scores(docs.rows, common, held, unigram_total, *self.tokens_of(block), own)

    def _add(
        self, docs: Docs, held_out: np.ndarray, theta: np.ndarray, topic_words: np.ndarray, total: np.ndarray
    ) -> None:
        from bigtopic.evaluation import _kernels

        _kernels.held_out_log(docs.indptr, docs.words, held_out, theta, topic_words, total)

    def _known_counts(self, block: Block) -> np.ndarray:
        """The counts of a block, zero for words that the model does not know."""
        return block.counts if self.id_map is None else block.counts * (self.id_map[block.words] >= 0)

    def _divided(self, block: Block, docs: Docs, repeat: int) -> np.ndarray:
        """Observed count of each entry of `docs`, the documents of the block without unknown words."""
        return self._observed(docs, repeat)

    def _observed(self, docs: Docs, repeat: int) -> np.ndarray:
        """Observed count of each entry, float32 (nnz,)."""
        from bigtopic.evaluation import _kernels

        if self.split == "token":
            by_word = either("use bigtopic.evaluate.log_predictive with", "pass")
            check_tokens(docs.counts, f"{by_word} {argument('split', 'type')}")
        divide = _kernels.observed_tokens if self.split == "token" else _kernels.observed_types
        observed = np.empty(len(docs.counts), np.float32)
        seed = kernel_seed(self.random_state * 1_000_003 + repeat)
        divide(docs.indptr, docs.counts, docs.rows, seed, self.ratio, observed)
        return observed
