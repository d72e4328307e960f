"""What a person changes in the topics: labels, and topics that are one; undoing it, and saving the result."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, NamedTuple

from bigtopic.errors import BigtopicError, CorpusExists, ModelError, SettingError, StoreError, argument
from bigtopic.questions.labels import checked_label
from bigtopic.state import model_store
from bigtopic.state.identity import model_identity, relation
from bigtopic.storage.output_file import check_outside_stores
from bigtopic.storage.place import Place
from bigtopic.support.numbers import is_whole

__all__ = ["Edits", "SavedModel", "State", "edited", "save"]


class State(NamedTuple):
    """The topics as they are shown.

    groups : the topics of the model that each of them is, in ascending order of the lowest of each
    labels : what people call each of them, "" where they have not said
    """

    groups: tuple[tuple[int, ...], ...]
    labels: tuple[str, ...]

    @property
    def has_merged(self) -> bool:
        """Whether one of the topics is several of the model's."""
        return any(len(group) > 1 for group in self.groups)

    def topic(self, topic: Any) -> int:
        """A number of a topic, checked.

        Raises
        ------
        SettingError
        """
        n = len(self.groups)
        if not is_whole(topic) or not 0 <= topic < n:
            raise SettingError(f"{argument('topic', topic)}: give the number of a topic, from 0 to {n - 1}")
        return int(topic)

    def renamed(self, topic: Any, label: Any) -> State:
        """The state in which a topic has a label; "" takes it away.

        Raises
        ------
        SettingError
            When there is no such topic, or it may not be a label, see `questions.labels`.
        """
        number = self.topic(topic)
        labels = list(self.labels)
        labels[number] = checked_label(label, number)
        return State(self.groups, tuple(labels))

    def merged(self, topics: Any) -> State:
        """The state in which several topics are one. It keeps their label if only one of them has one.

        Raises
        ------
        SettingError
            When there are not two of them, one does not exist, or one is given twice.
        """
        if not isinstance(topics, list | tuple) or len(topics) < 2:
            raise SettingError(f"{argument('topics')}: give a list of two topics or more, such as [1, 4]")
        numbers = [self.topic(topic) for topic in topics]
        if len(set(numbers)) < len(numbers):
            raise SettingError(f"{argument('topics', topics)}: a topic is listed twice; list each topic once")
        own = [self.labels[number] for number in numbers if self.labels[number]]
        group = tuple(sorted(topic for number in numbers for topic in self.groups[number]))
        others = [pair for k, pair in enumerate(zip(*self, strict=True)) if k not in numbers]
        pairs = sorted([*others, (group, own[0] if len(own) == 1 else "")])
        return State(tuple(group for group, _ in pairs), tuple(label for _, label in pairs))


class Edits:
    """The state, and those before it.

    Attributes
    ----------
    revision : a number that no two states have had
    """

    def __init__(self, labels: Sequence[str]) -> None:
        self._states = [State(tuple((topic,) for topic in range(len(labels))), tuple(labels))]
        self.revision = 0

    @property
    def state(self) -> State:
        return self._states[-1]

    @property
    def can_undo(self) -> bool:
        return len(self._states) > 1

    def check(self, revision: Any) -> None:
        """Refuse a change to another state than this one; None is of any.

        Raises
        ------
        SettingError
        """
        if revision is not None and revision != self.revision:
            raise SettingError("the topics were changed in another window meanwhile; load the page again")

    def add(self, state: State) -> None:
        """Go on to a state."""
        self._states.append(state)
        self.revision += 1

    def undo(self) -> None:
        """Take the last change back.

        Raises
        ------
        SettingError
            When there is none.
        """
        if not self.can_undo:
            raise SettingError("there is no change to undo; change a topic first")
        self._states.pop()
        self.revision += 1


class SavedModel:
    """The path of the model that is explored, and what an exploration knows of the model there.

    Parameters
    ----------
    model : an estimator
    """

    def __init__(self, model: Any, path: str) -> None:
        self.place, self._model = Place.of(path), model._fitted()
        self.seen()

    def seen(self) -> None:
        """What is at the path now is known."""
        self._state = self._there()

    def check(self) -> None:
        """Refuse to replace another model, or this one as it was saved meanwhile, with other labels.

        Raises
        ------
        StoreError
        """
        there = self._there()
        if there is not None and (there != self._state or not self._has_its_topics()):
            raise StoreError(
                f"{self.place.url} was saved again since this model was opened, or holds other topics, and is not "
                "replaced; open it again, or give another path"
            )

    def _there(self) -> Any:
        """The name of the arrays of the model at the path, which is new in each write; None without a model."""
        described = model_store.describe(self.place)
        return described.get("state") if isinstance(described, dict) else described

    def _has_its_topics(self) -> bool:
        try:
            there = model_store.load(self.place.url, self._model.method)[0]
        except BigtopicError:
            return False
        return relation(model_identity(self._model), there) == "same"


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half a character
        return False
    return True


def edited(model: Any, state: State) -> Any:
    """An estimator with the topics of a state; the model stays as it is.

    Raises
    ------
    SettingError
        When the topics of the model cannot be merged.
    """
    own = model.merge_topics(state.groups) if state.has_merged else copy.copy(model)
    return own.set_topic_labels(list(state.labels))


def save(model: Any, state: State, path: Any, saved: SavedModel | None) -> str:
    """Write the topics of a state as a model.

    Parameters
    ----------
    path : where nothing is yet; None or blank for the model's own path, if only labels have changed
    saved : where the model itself is; None if that is not known

    Returns
    -------
    The path.

    Raises
    ------
    SettingError
        When a path is needed, or it cannot be one.
    CorpusExists
        When there is something at the path.
    StoreError
        When the path is inside a store, or the model at its own path is another one by now.
    """
    if path is None or (isinstance(path, str) and not path.strip()):
        if state.has_merged or saved is None:
            why = (
                "merged topics are a new model"
                if state.has_merged
                else "the model was not loaded from a path"
            )
            raise SettingError(f"{argument('path')}: {why}; give a path at which there is nothing yet")
        path = saved.place.url
    if not isinstance(path, str) or not _is_unicode(path):
        raise SettingError(f"{argument('path')}: this is not a path; give one as text")
    place = Place.of(path)
    own = saved is not None and place.real == saved.place.real
    if own and state.has_merged:
        raise SettingError(
            f"{place.url} is the model that the topics are of; merged topics are a new model: give another path"
        )
    try:
        if saved is not None and own:
            edited(model, state)._save_over(path, saved.check)
            saved.seen()
        else:
            check_outside_stores(place)
            edited(model, state).save(path)
    except CorpusExists as error:
        raise type(error)(f"{error.message.partition(';')[0]}; give another path") from error
    except ModelError as error:
        raise SettingError(f"{place.url}: {error}") from error
    return place.url
