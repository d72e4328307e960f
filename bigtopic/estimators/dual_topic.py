"""The dual topic model: translates the user's parameter names, and reads what was learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from bigtopic.estimators.inputs import require_positive
from bigtopic.estimators.learning import TopicLearning
from bigtopic.estimators.support.initialization import begin_pairs
from bigtopic.evaluation.records import RecordDistribution, record_distribution_of
from bigtopic.learning.events import Callback
from bigtopic.methods import Method
from bigtopic.models.base import Model
from bigtopic.models.dual import DUAL
from bigtopic.state.model import TopicModel

__all__ = ["DualTopicModel"]


class DualTopicModel(TopicLearning):
    """Topics of rows and topics of columns, from the counts of their pairs: users and items, cells and genes.

    A record, one count of a row and a column, has a pair of topics from one joint distribution. Rows are the documents
    of a corpus, or the rows of a matrix, and are known by their row in the source. Where other estimators have topics
    of words (`topics`, `get_topics`, `transform`), this one has the row topics, as mixtures of the column topics.

    Parameters
    ----------
    n_row_topics : number of topics of rows
    n_column_topics : number of topics of columns
    method : "dual-mf", "dual-online", "dual-cgs", "dual-ilr", or a `bigtopic.Method` of the same model
    row_topic_prior, column_topic_prior, joint_prior : numbers; None for the method's default, 0.5. In the literature
        beta_r, beta_c and alpha
    batch_size : largest number of rows per update; None for the method's default
    max_iter, max_time, tol : as of `LDA`; the change of the column topics counts
    learning_decay : of the step size of online methods, as of `LDA`
    learning_offset : of the same
    average : the three distributions of the fitted model are the mean over this share of the run's updates, as of `LDA`
    asynchronous, staleness : as of `LDA`
    options : further settings of the method, {name: value}, see `bigtopic.methods(name)`: of its kernels, and of its
        schemes, in all that have it ("decay") or in one ("topic_words.decay")
    total_samples : number of rows in the stream that `partial_fit` sees in pieces; None for those seen so far
    init : another dual topic model, or the path of one, whose column topics, matched by name, and joint distribution
        the rows begin with; "joint" for a random joint distribution from which the topics of the first records are
        drawn; None pairs each topic with few of the other side. See 'Starts' in the documentation
    random_state : the same seed gives bit-identical topics on any number of workers; None draws a seed, as does a
        `numpy.random.RandomState`
    order, slice_size, callbacks, progress, client, n_threads : as of `LDA`
    validation, evaluate_every, patience : as of `LDA`; rows that are new to the model are scored

    Attributes
    ----------
    row_topics_ : float64 (n_rows, n_row_topics), p(row | row topic), columns sum to 1; by the rows of the source,
        also for a view
    column_topics_ : float64 (n_columns, n_column_topics), p(column | column topic), columns sum to 1
    joint_ : float64 (n_row_topics, n_column_topics), sums to 1
    vocabulary_ : `Vocabulary`, the names of the columns
    history_, n_iter_, n_batch_iter_, n_features_in_, random_state_, run_ : as of `LDA`

    Examples
    --------
    >>> import numpy as np
    >>> counts = np.kron([[6, 0, 2], [0, 5, 2]], np.ones((20, 10), dtype=int))
    >>> model = DualTopicModel(2, 2, random_state=0).fit(counts)
    >>> model.column_probabilities([0, 39])[:, [0, 10]].round(2)
    array([[0.07, 0.  ],
           [0.  , 0.07]])
    """

    _priors: ClassVar = ("row_topic_prior", "column_topic_prior", "joint_prior")
    _counts: ClassVar = ("n_row_topics", "n_column_topics")
    _models: ClassVar = "row topics, column topics and their joint distribution, as in method 'dual-mf'"
    n_row_topics: int
    n_column_topics: int
    row_topic_prior: float | np.ndarray | None
    column_topic_prior: float | np.ndarray | None
    joint_prior: float | np.ndarray | None
    learn_row_topic_prior = learn_column_topic_prior = learn_joint_prior = None
    max_doc_update_iter = mean_change_tol = None

    def __init__(
        self,
        n_row_topics: int = 10,
        n_column_topics: int = 10,
        *,
        method: str | Method = "dual-mf",
        row_topic_prior: float | np.ndarray | None = None,
        column_topic_prior: float | np.ndarray | None = None,
        joint_prior: float | np.ndarray | None = None,
        batch_size: int | None = None,
        max_iter: int | None = None,
        max_time: float | None = None,
        tol: float | None = None,
        learning_decay: float | None = None,
        learning_offset: float | None = None,
        average: float | None = None,
        asynchronous: bool | None = None,
        staleness: int | None = None,
        options: Mapping[str, Any] | None = None,
        total_samples: float | None = None,
        init: Any = None,
        random_state: int | np.random.RandomState | None = 0,
        order: str = "shuffled",
        slice_size: int | None = None,
        validation: Any = None,
        evaluate_every: int | None = None,
        patience: int | None = None,
        callbacks: Sequence[Callback] = (),
        progress: bool | None = None,
        client: Any = None,
        n_threads: int | None = None,
    ) -> None:
        self._keep(locals())

    @property
    def row_topics_(self) -> np.ndarray:
        return self._pairs().of_rows()

    @property
    def column_topics_(self) -> np.ndarray:
        return self._pairs().of_columns()

    @property
    def joint_(self) -> np.ndarray:
        return self._pairs().joint

    def joint_probability(self, rows: Any, columns: Any) -> np.ndarray:
        """p(row, column) of a record, float64 (n,), for each of the given pairs.

        Raises
        ------
        SettingError
            When a row or a column is not one of the model's, or there are not as many rows as columns.
        """
        return self._pairs().joint_probability(rows, columns)

    def column_probabilities(self, rows: Any) -> np.ndarray:
        """p(column | row), float64 (n, n_columns), for each of the given rows.

        Raises
        ------
        SettingError
            When a row is not one of the model's.
        """
        return self._pairs().column_probabilities(rows)

    def recommend(self, row: int, n: int = 10) -> list[tuple[str, float]]:
        """The columns that are most probable given a row: [(column, probability), ...]; also those that it has.

        Raises
        ------
        SettingError
            When the row is not one of the model's, or `n` is below 1.
        """
        require_positive("n", n)
        probability = self.column_probabilities([row])[0]
        best = np.argsort(-probability, kind="stable")[:n]
        return [(self.vocabulary_[int(column)], float(probability[column])) for column in best]

    @property
    def n_components(self) -> int:  # type: ignore[override]
        """Number of row topics."""
        return self.n_row_topics

    @property
    def components_(self) -> np.ndarray:
        """(n_row_topics, n_columns), the records of each row topic in each column."""
        source = self.topic_source()
        return self.get_topics() * source.weights[:, None].astype(np.float32)

    def _components(self) -> dict[str, int]:
        return dict(zip(DUAL.components, (self.n_row_topics, self.n_column_topics), strict=True))

    def _fits(self, model: Model) -> bool:
        return set(model.arrays) >= set(DUAL.arrays) and model.components == DUAL.components

    def _begin(self, model: TopicModel, n_tokens: float, n_docs: float) -> None:
        if self.init is not None:
            begin_pairs(model, self.init, n_tokens, self.progress)

    def _given(self, model: Model) -> Sequence[str]:
        return list(DUAL.arrays)

    def _pairs(self) -> RecordDistribution:
        return record_distribution_of(self._fitted())
