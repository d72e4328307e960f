"""Accuracy of a linear classifier on the topics of documents.

    theta_d  the fold-in of document d, the same for every model
    label    predicted by a logistic regression on theta that learned from the other folds
    value  = documents whose label is predicted / documents

A document's fold follows from (random_state, source row), so that two models are compared on the same folds; the
classifier is scikit-learn's `LogisticRegression` at its defaults (C = 1). The baseline predicts the most frequent label
of the other folds. Memory: topics x documents, in float32.

References
----------
Blei, Ng, Jordan: Latent Dirichlet allocation. JMLR 3 (2003), section 7.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np

from bigtopic.corpus.columns import is_missing
from bigtopic.corpus.order import checked_seed, document_keys
from bigtopic.corpus.store import Corpus
from bigtopic.errors import InputError, SettingError, argument, require
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
)
from bigtopic.state.machine_memory import refuse_beyond
from bigtopic.support.numbers import is_whole
from bigtopic.types import Block

__all__ = ["ClassificationScore", "classification_accuracy"]


@dataclass(frozen=True, repr=False)
class ClassificationScore(Result):
    """Accuracy of a linear classifier on topics. See the module for the formula.

    Attributes
    ----------
    value, standard_error : share of the documents whose label is predicted; its standard error, over documents
    majority : `value` of the baseline, the most frequent label
    n_docs, n_classes, n_folds : documents with a label, different labels, folds
    n_omitted : documents without a label, which are left out
    rows : int64 (n_docs,), source rows, in source order
    correct, majority_correct : bool (n_docs,), whether the label of each document is predicted
    """

    value: float
    standard_error: float
    majority: float
    n_docs: int
    n_classes: int
    n_folds: int
    n_omitted: int
    rows: np.ndarray = field(repr=False)
    correct: np.ndarray = field(repr=False)
    majority_correct: np.ndarray = field(repr=False)

    reported: ClassVar[tuple[str, ...]] = (
        "value", "standard_error", "majority", "n_docs", "n_classes", "n_folds", "n_omitted",
    )  # fmt: skip

    @property
    def baselines(self) -> Mapping[str, float]:
        return {"majority class": self.majority}

    def minus(self, other: ClassificationScore) -> tuple[float, float]:
        """Difference of the values and its standard error, paired by document.

        Raises
        ------
        SettingError
            When the two were measured on other documents, labels or folds.
        """
        if not (
            np.array_equal(self.rows, other.rows)
            and np.array_equal(self.majority_correct, other.majority_correct)
        ):
            raise SettingError(
                "other: was measured on other documents, labels or folds; classify the same ones in the same folds"
            )
        return mean_and_error(self.correct.astype(float) - other.correct)

    def details(self) -> dict[str, str]:
        return {
            "majority class": f"{self.majority:.4f}",
            "classified": f"{self.n_docs:,} documents of {self.n_classes} classes, {self.n_folds} folds",
            "left out": f"{self.n_omitted:,} documents without a label" if self.n_omitted else "",
        }


def classification_accuracy(
    model: Any,
    corpus: CorpusOrPath,
    labels: Any,
    n_folds: int = 5,
    random_state: int = 0,
    client: Any = None,
    n_threads: int | None = None,
    *,
    vocabulary: Any = None,
    doc_topic_prior: Any = None,
) -> ClassificationScore:
    """Accuracy of a linear classifier that predicts the label of a document from its topics, cross-validated.

    It needs scikit-learn: `pip install 'bigtopic[scikit-learn]'`.

    Parameters
    ----------
    model : see `topics_of`, to which `vocabulary` and `doc_topic_prior` are passed
    corpus : documents, or the path of their corpus; the model has not necessarily learned from them
    labels : name of a column of the corpus, or an array (n_docs,) in source order, of texts or whole numbers; documents
        whose label is missing ("", None or NaN) are left out
    n_folds : parts of the documents, each predicted from the others, at least 2
    random_state : seed of the folds
    client, n_threads : see `measure`, for the inference of topics; the classifier learns in this process

    Returns
    -------
    ClassificationScore

    Raises
    ------
    SettingError
        When there is no such column, labels are not classes, or `n_folds` is not allowed.
    InputError
        When some folds leave fewer than two classes to learn from, or the model knows no word of the documents.
    MissingExtra
        Without scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from bigtopic import from_matrix
    >>> counts = np.repeat([[9, 0], [0, 9]], 10, axis=0)
    >>> classification_accuracy(np.eye(2), from_matrix(counts), np.repeat(["a", "b"], 10)).value
    1.0
    """
    require("sklearn.linear_model", "scikit-learn")
    corpus, seed = documents_of(corpus), checked_seed(random_state)
    classes = _labels(corpus, labels)
    labelled = np.flatnonzero(classes >= 0)
    if not is_whole(n_folds) or not 2 <= n_folds <= max(len(labelled), 2):
        raise SettingError(
            f"{argument('n_folds', n_folds)}: must be a whole number from 2 to the {len(labelled)} documents with a "
            "label"
        )
    subject = Subject(model, corpus, vocabulary, doc_topic_prior)
    of_block = partial(_topics, subject.inference)
    n = subject.source.n_components
    refuse_beyond(
        8 * corpus.n_docs * n,
        "give fewer documents, or a model of fewer topics",
        f"the topics of {corpus.n_docs:,} documents, as features of a classifier, need",
    )
    pieces = over_blocks(of_block, corpus, "inferring", client, n_threads, n_components=n)
    rows, theta, tokens = in_source_order(pieces)
    if not tokens.any():
        raise InputError(f"{argument('corpus')}: the model knows no word of it; give documents of its words")
    rows, theta, classes = rows[labelled], theta[labelled], classes[labelled]  # all in source order
    folds = np.empty(len(rows), np.int64)
    folds[np.argsort(document_keys(seed, rows), kind="stable")] = np.arange(len(rows)) % n_folds
    predicted, majority = _predicted(theta, classes, folds, n_folds)
    correct, by_majority = predicted == classes, majority == classes
    return ClassificationScore(
        *mean_and_error(correct.astype(float)),
        majority=float(by_majority.mean()),
        n_docs=len(rows),
        n_classes=len(np.unique(classes)),
        n_folds=int(n_folds),
        n_omitted=corpus.n_docs - len(rows),
        rows=rows,
        correct=correct,
        majority_correct=by_majority,
    )


def _labels(corpus: Corpus, labels: Any) -> np.ndarray:
    """Number of each document's class, int64 (n_docs,) in source order; -1 where it has none."""
    values = corpus.read_column(labels) if isinstance(labels, str) else np.asarray(labels)
    if values.shape != (corpus.n_docs,):
        raise SettingError(
            f"{argument('labels')}: found shape {values.shape}; give the name of a column of the corpus, or a label "
            f"for each of its {corpus.n_docs:,} documents"
        )
    missing = np.array([is_missing(value) or value == "" for value in values.tolist()], bool)
    known = values[~missing]
    if known.dtype.kind == "f" and (known != np.floor(known)).any():
        raise SettingError(
            f"{argument('labels')}: numbers with fractions are not classes; give texts or whole numbers"
        )
    if known.dtype.kind == "O":
        known = known.astype(str)
    classes = np.full(corpus.n_docs, -1, np.int64)
    classes[~missing] = np.unique(known, return_inverse=True)[1]
    return classes


def _topics(inference: Inference, block: Block) -> tuple[np.ndarray, ...]:
    documents = Documents(block, inference)
    return documents.docs.rows, documents.doc_topics, documents.tokens


def _predicted(
    theta: np.ndarray, classes: np.ndarray, folds: np.ndarray, n_folds: int
) -> tuple[np.ndarray, np.ndarray]:
    """The class of each document that the classifier predicts, and the most frequent one, from the other folds."""
    from sklearn.linear_model import LogisticRegression

    predicted, majority = np.empty_like(classes), np.empty_like(classes)
    for fold in range(n_folds):
        test, train = folds == fold, folds != fold
        if len(np.unique(classes[train])) < 2:
            raise InputError(
                f"{argument('labels')}: the documents outside fold {fold} have fewer than two different labels; give "
                "labels of at least two classes, with several documents each"
            )
        classifier = LogisticRegression(max_iter=1000).fit(theta[train].astype(np.float64), classes[train])
        predicted[test] = classifier.predict(theta[test].astype(np.float64))
        majority[test] = np.bincount(classes[train]).argmax()
    return predicted, majority
