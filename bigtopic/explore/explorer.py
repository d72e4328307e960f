"""Answers to what the page of an exploration asks: one method for each address, JSON in, JSON out.

All topics in questions and answers are numbers of the current state, see `edits`. When topics have been merged, answers
say at once what the figures of the model's topics say about them (`tally.without_pass`); a pass over the store then
makes them exact, in a thread of its own.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from time import monotonic
from typing import Any

import numpy as np

from bigtopic.errors import BigtopicError, SettingError, argument, did_you_mean
from bigtopic.evaluation.source import labels_of
from bigtopic.explore.columns import Periods, chosen, frequencies
from bigtopic.explore.documents import Documents
from bigtopic.explore.edits import Edits, SavedModel, State, edited, save
from bigtopic.explore.index import Index
from bigtopic.explore.tally import KEPT, Stopped, Tally, group_numbers, tally, without_pass
from bigtopic.explore.texts import words_left_out
from bigtopic.explore.topics import Topics
from bigtopic.questions.dates import year_of
from bigtopic.support.numbers import is_whole

__all__ = ["Explorer"]

MOST_DOCUMENTS = 100  # in one answer
_GROUPS = 30
_ENOUGH_PERIODS = 12  # from which on they show a change
_REMEMBERED = 3  # states whose topics and figures stay in memory, the model's own aside
_STEP = 1 << 18  # documents that are looked at together
_SECONDS = 0.4  # that a search beyond the documents of a topic takes
_LABEL_WORDS = 3
_TOPICS = 3  # of each document in a list


class Explorer:
    """The state of one exploration, and its answers; from any thread.

    Parameters
    ----------
    model : an estimator, which stays as it is
    saved : where it is saved, for labels; None if that is not known
    """

    def __init__(self, model: Any, index: Index, *, title: str, saved: SavedModel | None = None) -> None:
        self._model, self._index, self._title, self._saved = model, index, title, saved
        own = Topics(model, index.likeness)
        self._own = tuple((topic,) for topic in range(own.n_topics))
        self.edits = Edits(labels_of(own.source))
        self._topics: dict[Any, Topics] = {self._own: own}
        self._tallies: dict[Any, Tally] = {self._own: index.tally}
        self._documents = Documents(index)
        self._lock, self._closed = threading.RLock(), False
        self._pass: tuple[Any, threading.Thread] | None = None
        self._read = 0
        self._chosen = lru_cache(maxsize=8)(self._chosen_by)
        self._periods = lru_cache(self._periods_by)

    # ------------------------------------------------------------------ the model

    def model(self) -> dict[str, Any]:
        """The topics and columns, and what the page shows at its top."""
        with self._lock:
            state, revision, can_undo = self.edits.state, self.edits.revision, self.edits.can_undo
        topics, figures, index = self._topics_of(state), self._tally_of(state), self._index
        n_tokens = None if index.corpus is None else float(index.corpus.n_tokens)
        words = topics.first_words
        about = [
            {
                "topic": k,
                "label": state.labels[k] or " ".join(words[k][:_LABEL_WORDS]),
                "named": bool(state.labels[k]),
                "share": float(figures.share[k]),
                "unused": topics.unused[k],
                "x": float(topics.places[k, 0]),
                "y": float(topics.places[k, 1]),
                "words": words[k],
            }
            for k in range(topics.n_topics)
        ]
        summed = {column.name for column in index.summed}
        columns = [
            {
                "name": column.name,
                "kind": column.kind,
                "values": _plain(column.shown()) if column.name in summed else None,
            }
            for column in [*index.columns, *(one for one in index.summed if one.kind == "authors")]
        ]
        return {
            "title": self._title,
            "revision": revision,
            "n_docs": index.store.n_docs,
            "n_tokens": n_tokens,
            "has_text": index.corpus is not None and index.corpus.has_text,
            "time": None if index.time is None else index.time.name,
            "freqs": [] if index.time is None else frequencies(index.time),
            "figures": self._figures(topics, n_tokens),
            "topics": about,
            "columns": columns,
            "can_undo": can_undo,
            "indexing": self._progress(),
        }

    def _figures(self, topics: Topics, n_tokens: float | None) -> dict[str, str]:
        found: dict[str, float | None] = {
            "topics": topics.n_topics,
            "unused topics": sum(topics.unused) or None,
            "documents": self._index.store.n_docs,
            "tokens": n_tokens,
            "words in the vocabulary": topics.source.n_words,
        }
        return {name: f"{value:,.0f}" for name, value in found.items() if value is not None}

    def topic(self, topic: Any) -> dict[str, Any]:
        """The words of a topic, and the topics most like it."""
        _, k, topics, _ = self._asked(topic)
        return {"topic": k, "words": topics.words(k), "similar": topics.similar(k)}

    def words(self, text: str, n: Any = 20) -> list[dict[str, Any]]:
        """Words like a text, with their topics."""
        return self._topics_of(self.edits.state).words_like(text, _number("n", n, MOST_DOCUMENTS))

    # ------------------------------------------------------------------ shares

    def time(self, topic: Any, freq: str | None = None) -> dict[str, Any] | None:
        """Mean shares of a topic over time; None without a column of dates."""
        _, k, _, figures = self._asked(topic)
        column = self._index.time
        if column is None:
            return None
        allowed = frequencies(column)
        if freq is not None and freq not in allowed:
            raise SettingError(f"{argument('freq', freq)}: choose one of {', '.join(allowed)}")
        by = {one: self._periods(one) for one in ([freq] if freq is not None else allowed)}
        enough = (one for one, periods in by.items() if len(periods.names) >= _ENOUGH_PERIODS)
        freq = next(enough, allowed[-1]) if freq is None else freq
        share, error, n = figures.sums[0].means(k, by[freq].of)
        names = by[freq].names
        about = {"column": column.name, "freq": freq, "freqs": allowed, "periods": names}
        about["years"] = [year_of(name) for name in names]
        return about | _plain({"share": share, "error": error, "n": n})

    def _periods_by(self, freq: str) -> Periods:
        assert self._index.time is not None
        return Periods.by(self._index.time, freq)

    def groups(self, topic: Any, name: str) -> dict[str, Any]:
        """Mean shares of a topic in the largest groups of documents, by the values of a column."""
        _, k, _, figures = self._asked(topic)
        number = self._index.sums_of(name)
        known = [column.name for column in self._index.summed if column.has_groups]
        if number is None or name not in known:
            raise SettingError(
                f"{argument('column', name)}: documents are grouped by columns with at most 1,000 distinct values; "
                f"choose one of: {', '.join(known) or 'none'}{did_you_mean(name, known)}"
            )
        column = self._index.summed[number]
        assert column.values is not None
        share, error, n = figures.sums[number].means(k)
        order = np.argsort(-n, kind="stable")[:_GROUPS]
        groups = [column.values[i] for i in order.tolist()]
        return {"column": name} | _plain(
            {"groups": groups, "share": share[order], "error": error[order], "n": n[order]}
        )

    # ------------------------------------------------------------------ documents

    def topic_documents(
        self, topic: Any, n: Any = 20, where: Sequence[str] = ()
    ) -> tuple[list[dict[str, Any]], bool]:
        """The documents with the largest shares of a topic, largest first; and whether these are all known.

        With conditions: the topic's thousand that meet them. If these are too few, more are searched for, in
        the order of the store, for less than a second; what is found then need not have the largest shares.
        """
        state, k, _, figures = self._asked(topic)
        n, meets, complete = _number("n", n, MOST_DOCUMENTS), self._chosen(tuple(where)), figures.exact
        positions, shares = figures.leading.of(k)
        if meets is not None:
            all_known, own = len(positions) < KEPT, meets[positions]
            positions, shares = positions[own], shares[own]
            if len(positions) < n and not all_known:
                *more, complete = self._documents.search(state.groups[k], meets, n, monotonic() + _SECONDS)
                positions, shares = _best(np.append(positions, more[0]), np.append(shares, more[1]))
        positions, shares = positions[:n], shares[:n]
        found = self._documents.listed(positions)
        listed = [{**one, "share": share} for one, share in zip(found, shares.tolist(), strict=True)]
        return listed, complete

    def documents(
        self, text: str = "", topic: Any = None, where: Sequence[str] = (), n: Any = 20, offset: Any = 0
    ) -> dict[str, Any]:
        """Documents: with the words of a text or an id that begins with it, most about a topic, meeting conditions.

        Of a long text, words beyond `MOST_WORDS` are left out. Without texts in the corpus, words are looked up in the
        model: the documents of their topic.
        """
        state = self.edits.state
        figures, n = self._tally_of(state), _number("n", n, MOST_DOCUMENTS)
        offset = _number("offset", offset, self._index.store.n_docs, 0)
        meets = self._chosen(tuple(where))
        k = None if topic is None else state.topic(topic)
        if k is not None:
            of_topic = np.asarray(figures.largest) == k
            meets = of_topic if meets is None else meets & of_topic
        total: int | None = self._index.store.n_docs
        if text.strip():
            found, complete = self._matching(state, figures, text)
            found = found if meets is None else found[meets[found]]
            total = len(found) if complete else None
            found = found[offset : offset + n]
        elif meets is None:
            found = np.arange(offset, min(offset + n, self._index.store.n_docs))
        else:
            total = int(meets.sum())
            leading = np.zeros(0, np.int64) if k is None else figures.leading.of(k)[0]
            found = _those_that_lead_first(leading[meets[leading]], meets, offset, offset + n)
        shares = self._documents.shares(found, self._group_of(state))
        listed = [
            {**one, "topics": _largest(own)[:_TOPICS]}
            for one, own in zip(self._documents.listed(found), shares, strict=True)
        ]
        left_out = words_left_out(text) if self._documents.has_words else 0
        return {"n": total, "words_left_out": left_out, "documents": listed}

    def _matching(self, state: State, figures: Tally, text: str) -> tuple[np.ndarray, bool]:
        """Positions of the documents that match a text, and whether these are all."""
        found, complete = self._documents.matching(text)
        if not len(found) and not self._documents.has_words:
            topics = self._topics_of(state)
            best = topics.topic_of([*dict.fromkeys([*text.split(), *text.casefold().split()])])
            if best is not None:
                return figures.leading.of(best)[0], False
        return found, complete

    def document(self, document_id: str | None = None, row: Any = None) -> dict[str, Any]:
        """One document, by its id or its row in the source: its topics, and its text with the topics of its words."""
        state = self.edits.state
        position = self._documents.position(document_id, row)
        (shares,) = self._documents.shares(np.array([position]), self._group_of(state))
        answer = self._documents.whole(position, self._topics_of(state), shares)
        return {**answer, "columns": _plain(answer["columns"]), "topics": _largest(shares)}

    def _chosen_by(self, where: tuple[str, ...]) -> np.ndarray | None:
        return chosen(self._index.columns, self._index.store.documents, where)

    # ------------------------------------------------------------------ edits

    def rename(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Give a topic a label: {"topic", "label"}."""
        with self._lock:
            self.edits.check(body.get("revision"))
            self.edits.add(self.edits.state.renamed(body.get("topic"), body.get("label")))
            return {"revision": self.edits.revision}

    def merge(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Make topics one: {"topics"}."""
        with self._lock:
            self.edits.check(body.get("revision"))
            state = self.edits.state.merged(body.get("topics"))
            self._topics_of(state)  # or the error of a model whose topics cannot be merged
            self.edits.add(state)
            self._begin_pass(state)
            return {"revision": self.edits.revision}

    def undo(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Take the last change back."""
        with self._lock:
            self.edits.check(body.get("revision"))
            self.edits.undo()
            self._begin_pass(self.edits.state)
            return {"revision": self.edits.revision}

    def save(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Write the topics as they are: {"path"}."""
        with self._lock:
            self.edits.check(body.get("revision"))
            return {"saved": save(self._model, self.edits.state, body.get("path"), self._saved)}

    @property
    def edited_model(self) -> Any:
        """An estimator with the topics as they are."""
        return edited(self._model, self.edits.state)

    # ------------------------------------------------------------------ states

    def _asked(self, topic: Any) -> tuple[State, int, Topics, Tally]:
        """The state, a topic of it as a number, the topics, and their figures."""
        state = self.edits.state
        return state, state.topic(topic), self._topics_of(state), self._tally_of(state)

    def _topics_of(self, state: State) -> Topics:
        with self._lock:
            found = self._topics.get(state.groups)
            if found is None:
                found = Topics(edited(self._model, state))
                _remember(self._topics, state.groups, found)
            return found

    def _tally_of(self, state: State) -> Tally:
        with self._lock:
            found = self._tallies.get(state.groups)
            if found is None:
                found = without_pass(self._index.tally, state.groups)
                _remember(self._tallies, state.groups, found)
            return found

    def _group_of(self, state: State) -> np.ndarray:
        return group_numbers(state.groups, len(self._own))

    def _begin_pass(self, state: State) -> None:
        """Make the figures of a state exact, unless they are, or another thread is about to."""
        if self._pass is not None and self._pass[0] == state.groups:
            return
        if self._tally_of(state).exact:
            self._pass = None  # which ends a pass for another state
            return
        thread = threading.Thread(
            target=self._refine, args=(state.groups,), name="bigtopic-tally", daemon=True
        )
        self._read, self._pass = 0, (state.groups, thread)
        thread.start()

    def _refine(self, groups: Any) -> None:
        def tell(n_docs: int) -> None:
            if not stopped():
                self._read += n_docs

        def stopped() -> bool:
            return self._closed or self._pass is None or self._pass[0] != groups

        columns = [column.numbered for column in self._index.summed]
        try:
            found = tally(self._index.store, self._index.prior, columns, tell, groups, stopped)
            with self._lock:
                _remember(self._tallies, groups, found)
        except (Stopped, BigtopicError):  # the latter of a store that was replaced: answers stay as they are
            pass
        finally:
            with self._lock:
                if not stopped():
                    self._pass = None

    def _progress(self) -> float | None:
        """How much of a pass is done, 0 to 1; None when none is made."""
        with self._lock:
            return None if self._pass is None else min(1.0, self._read / self._index.store.n_docs)

    def wait(self) -> None:
        """Until the figures of the current state are exact, or cannot be made so."""
        with self._lock:
            current = self._pass
        if current is not None:
            current[1].join()

    def close(self) -> None:
        """End what runs in threads, and close the index."""
        self._closed = True
        self.wait()
        self._index.close()


def _remember(known: dict[Any, Any], key: Any, value: Any) -> None:
    """Add to what is known; the first stays, and of the others the last few."""
    known[key] = value
    while len(known) > _REMEMBERED + 1:
        del known[[*known][1]]


def _number(name: str, value: Any, most: int, least: int = 1) -> int:
    """A number in a question, as text or as it is."""
    with suppress(ValueError, TypeError):
        number = int(value)
        if least <= number <= most and (isinstance(value, str) or is_whole(value)):
            return number
    raise SettingError(f"{argument(name, value)}: give a whole number from {least:,} to {most:,}")


def _best(positions: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Documents, each once, the largest share first."""
    positions, first = np.unique(positions, return_index=True)
    order = np.argsort(-shares[first], kind="stable")
    return positions[order], shares[first][order]


def _those_that_lead_first(leading: np.ndarray, meets: np.ndarray, start: int, stop: int) -> np.ndarray:
    """Of the documents that meet a condition, the leading ones first, those at places `start` to `stop`."""
    others = meets.copy()
    others[leading] = False
    found, before = [leading[start:stop]], len(leading)
    for first in range(0, len(others), _STEP):
        if before >= stop:
            break
        own = np.flatnonzero(others[first : first + _STEP])
        found.append(first + own[max(start - before, 0) : max(stop - before, 0)])
        before += len(own)
    return np.concatenate(found)


def _largest(shares: np.ndarray) -> list[list[Any]]:
    """Topics with their shares, largest first; none without a share."""
    some = np.flatnonzero(shares > 0)
    order = some[np.argsort(-shares[some], kind="stable")]
    return [list(pair) for pair in zip(order.tolist(), shares[order].tolist(), strict=True)]


def _plain(value: Any) -> Any:
    """Values as JSON has them: what is not a number is null."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return [one if math.isfinite(one) else None for one in value.tolist()]
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, dict):
        return {name: _plain(own) for name, own in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(own) for own in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
