"""Questions to a fitted model about its topics alone: their words, likeness, hierarchy and change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from bigtopic.errors import SettingError
from bigtopic.estimators.inference import TopicInference
from bigtopic.estimators.inputs import require_positive
from bigtopic.estimators.support.fits import in_first_phase
from bigtopic.evaluation.source import topics_of
from bigtopic.questions import compare, words
from bigtopic.questions.compare import TopicTree, tree_of
from bigtopic.questions.labels import checked_label
from bigtopic.questions.maps import topic_places
from bigtopic.questions.table import frame
from bigtopic.questions.words import top_labels, topics_of_words

__all__ = ["TopicQuestions"]


class TopicQuestions(TopicInference):
    """Questions about topics alone. Answers are pandas DataFrames, or tables where pandas is not installed."""

    _priors: ClassVar[Sequence[str]] = ()
    n_docs_seen_: int
    n_iter_: int

    def set_topic_labels(self, labels: Mapping[int, str] | Sequence[str]) -> Self:
        """Name topics: {topic: label}, which leaves the others as they are, or a label for each. Saved with the model.

        Tables, pages, plots and the command line show the labels. An empty one takes a label away.

        Raises
        ------
        SettingError
            When there is no such topic, a label is not text, has more than 200 characters, a line end or another
            control character, or there are not as many labels as topics.
        """
        n = self._fitted().n_components
        given = dict(labels) if isinstance(labels, Mapping) else dict(enumerate(labels))
        if not isinstance(labels, Mapping) and (isinstance(labels, str) or len(given) != n):
            raise SettingError(
                f"labels: give one for each of the {n} topics, or a mapping of topics to labels"
            )
        known = list(self._labels or [None] * n)
        for topic, label in given.items():
            known[self._topic(topic)] = checked_label(label, topic) or None
        self._labels = known
        return self

    def find_topics(self, words: str | Iterable[str], n: int = 10) -> Any:
        """The topics that a word, or several words together, belong to: most probable first.

        Returns
        -------
        table of topic, label, probability (that all the words are drawn from this topic), rank (1: the topic's most
        probable word; the mean of several) and lift (probability in the topic by that in all; the geometric mean)

        Raises
        ------
        SettingError
            When the model does not know a word; suggests similar ones.
        """
        require_positive("n", n)
        found = topics_of_words(self.topic_source(), words, n)
        return frame({"topic": found["topic"], "label": self._labels_of(found["topic"]), **found})

    def similar_topics(self, topic: int | None = None, n: int = 10, measure: str = "hellinger") -> Any:
        """The topics most like one topic in their words; for None, the pairs that are most alike.

        Returns
        -------
        table of topic, label, other, other_label and similarity ("hellinger" or "cosine", from 0 to 1)
        """
        require_positive("n", n)
        wanted = None if topic is None else self._topic(topic)
        first, second, scores = compare.similar_topics(self.topic_source(), wanted, n, measure)
        labels = self.topic_labels_
        return frame(
            {
                "topic": first,
                "label": [labels[k] for k in first],
                "other": second,
                "other_label": [labels[k] for k in second],
                "similarity": scores,
            }
        )

    def topic_changes(self, other: Any, n_top: int = 8, measure: str = "hellinger") -> Any:
        """What changed between this model and another, a later one; what changed most comes first.

        Topics are matched by their words.

        Parameters
        ----------
        other : an estimator, or another model or array as `bigtopic.evaluate.topics_of` takes it

        Returns
        -------
        table of topic, label, other (its topic in the other model), other_label, similarity, gained and lost (the
        words whose probability rose and fell most). A topic without a match, because the models have different numbers
        of topics, has None for the other, its label, the similarity, or itself
        """

        require_positive("n_top", n_top)
        source = topics_of(other)
        found = compare.changes(self.topic_source(), source, n_top, measure)
        names = {"topic": self.topic_labels_, "other": top_labels(source)}
        own, its = (
            [None if k is None else labels[k] for k in found[which]] for which, labels in names.items()
        )
        table = {"topic": found["topic"], "label": own, "other": found["other"], "other_label": its}
        return frame(table | found)

    def topic_map(self, measure: str = "hellinger") -> Any:
        """The topics on a plane, on which those with similar words are close together; see `bigtopic.questions.maps`.

        Returns
        -------
        table of topic, label, x, y, share (of the tokens the model has learned from) and unused
        """
        source = self.topic_source()
        x, y = topic_places(source, measure).T
        own = {"x": x, "y": y, "share": words.shares_of(source), "unused": source.unused}
        return frame({"topic": range(source.n_components), "label": self.topic_labels_, **own})

    def topic_tree(self, measure: str = "hellinger", topics: Iterable[int] | None = None) -> TopicTree:
        """The hierarchy of the topics by how alike their words are; its `cut(n)` gives groups for `merge_topics`.

        Parameters
        ----------
        topics : only these; None for all

        Raises
        ------
        SettingError
            When there is no such topic or measure, or the machine has no room for 16 bytes for each pair of topics.
        """
        wanted = None if topics is None else sorted({*self._topics(topics)})
        distances = compare.distances_of_pairs(self.topic_source(), measure, wanted)
        labels = self.topic_labels_ if wanted is None else self._labels_of(wanted)
        return tree_of(distances, labels, wanted)

    def merge_topics(self, groups: Iterable[Iterable[int]]) -> Self:
        """A new model in which the topics of each group are one; this model stays as it is.

        The statistics of the topics add up. Topics are numbered by the lowest of each group; labels stay with topics
        that are not merged. What the new model learns further begins anew, as with `init`.

        Parameters
        ----------
        groups : lists of topics, such as [[1, 4], [2, 3, 9]]; every other topic stays by itself

        Raises
        ------
        SettingError
            When a topic does not exist or is listed twice, or the model has several kinds of topics.
        """
        model = self._fitted()
        all_groups = compare.groups_of(groups, model.n_components)
        goes_on = (
            in_first_phase(self) if model.cursor.phase else model
        )  # documents that it remembers are not merged
        learned = compare.merged_model(goes_on, all_groups)
        priors = {name: self._merged_prior(name, learned) for name in self._priors}
        kept = {name: value for name, value in self.get_params().items() if name not in self._priors}
        merged = type(self)(**{**kept, **priors, "n_components": len(all_groups)})
        merged._model = learned
        merged._pair_words = self._pair_words
        merged.n_docs_seen_, merged.n_iter_ = self.n_docs_seen_, self.n_iter_
        if self._labels is not None:
            merged._labels = [self._labels[own[0]] if len(own) == 1 else None for own in all_groups]
        return merged

    def _merged_prior(self, name: str, learned: Any) -> Any:
        """The prior to begin anew with: the merged topics' own; the default if each topic had its own words."""
        prior = getattr(self, name)
        if np.ndim(prior) == 1 and name != "topic_word_prior":
            return learned.doc_topic_prior
        return prior if np.ndim(prior) < 2 else None

    def _topics(self, topics: int | Iterable[int] | None) -> list[int]:
        if topics is None:
            return list(range(self._fitted().n_components))
        return [self._topic(topic) for topic in (topics if isinstance(topics, Iterable) else [topics])]

    def _labels_of(self, topics: Iterable[int]) -> list[str]:
        labels = self.topic_labels_
        return [labels[topic] for topic in topics]
