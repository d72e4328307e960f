"""Single documents of an exploration, read from the store of topics, the index and the corpus by their positions."""

from __future__ import annotations

from contextlib import suppress
from time import monotonic
from typing import Any

import numpy as np

from bigtopic.errors import SettingError, argument
from bigtopic.explore.index import Index
from bigtopic.explore.texts import MOST_IDS
from bigtopic.explore.topics import Topics
from bigtopic.questions.marked import marked

__all__ = ["Documents"]

_EXCERPT = 240  # characters
_EXCERPT_WORDS = 12
_NEAR = 1 << 13  # documents whose topics are read together
_MARKED = 200_000  # characters of a text that is shown with the topics of its words


class Documents:
    """The documents of an index. Positions are in the store of topics."""

    def __init__(self, index: Index) -> None:
        self._index = index

    @property
    def has_words(self) -> bool:
        """Whether words of texts are searched."""
        return self._index.texts.searched and self._index.corpus is not None

    def position(self, document_id: str | None, row: Any) -> int:
        """Where the document with an id is or, if that is None, the one in a row of the source.

        Raises
        ------
        SettingError
            When there is none.
        """
        if document_id is not None:
            found = self._index.texts.position(document_id)
            if found is None:
                raise SettingError(
                    f"there is no document {document_id!r:.200}; search for the beginning of its id"
                )
            return found
        with suppress(ValueError, TypeError, OverflowError):
            rows = np.flatnonzero(np.asarray(self._index.rows) == np.int64(int(row)))
            if len(rows):
                return int(rows[0])
        raise SettingError(
            f"{argument('row', row)}: there is no such document; give the id of one, or its row"
        )

    def matching(self, text: str) -> tuple[np.ndarray, bool]:
        """The document with this id, those with all words of the text, and those whose ids begin with it; and whether
        these are all.
        """
        text = text.strip()
        exact, ids = self._index.texts.position(text), self._index.texts.beginning_with(text)
        rows, complete = self._index.texts.matching(text) if self.has_words else ([], True)
        of_words = np.zeros(0, np.int64)
        if self._index.to_theta is not None:
            of_words = self._index.to_theta[np.array(rows, np.int64)].astype(np.int64)
        first = [] if exact is None else [exact]
        found = np.concatenate([np.array(first, np.int64), of_words[of_words >= 0], np.array(ids, np.int64)])
        _, at = np.unique(found, return_index=True)  # each once
        return found[np.sort(at)], complete and len(ids) < MOST_IDS

    def shares(self, positions: np.ndarray, group_of: np.ndarray) -> list[np.ndarray]:
        """Shares of the groups of topics in each document, float64 (n_groups,); 0 where it has no known word.

        Parameters
        ----------
        group_of : the group of each topic, (n_topics,)
        """
        n, store, found = int(group_of.max()) + 1, self._index.store, {}
        order = np.sort(positions)
        for near in np.split(order, np.flatnonzero(np.diff(order // _NEAR)) + 1) if len(order) else ():
            first = int(near[0])
            rows = store._rows(store._offsets(first, int(near[-1]) + 1)).normalised(self._index.prior)
            for position in near.tolist():
                own = slice(*rows.indptr[position - first : position - first + 2].tolist())
                found[position] = np.bincount(group_of[rows.topics[own]], rows.shares[own], n)
        return [found[position] for position in positions.tolist()]

    def search(
        self, topics: tuple[int, ...], meets: np.ndarray, n: int, until: float
    ) -> tuple[np.ndarray, np.ndarray, bool]:
        """Documents that meet a condition, with their shares of some topics together, the n largest first; and whether
        all documents were read.

        Parameters
        ----------
        meets : bool (n_docs,)
        until : by the clock `time.monotonic`; at least one batch of documents is read
        """
        positions, shares = np.zeros(0, np.int64), np.zeros(0)
        for start, rows in self._index.store.batches(self._index.prior):
            own = meets[start : start + len(rows.indptr) - 1]
            if own.any():
                share = rows.sums(np.where(np.isin(rows.topics, topics), rows.shares, 0.0))
                near = np.flatnonzero(own & (share > 0))
                positions, shares = np.append(positions, start + near), np.append(shares, share[near])
                order = np.argsort(-shares, kind="stable")[:n]
                positions, shares = positions[order], shares[order]
            if monotonic() > until and start + len(own) < len(meets):
                return positions, shares, False
        return positions, shares, True

    # ------------------------------------------------------------------ what is shown

    def listed(self, positions: np.ndarray) -> list[dict[str, Any]]:
        """Id, row and excerpt of documents, in this order."""
        ids = self._index.texts.ids(positions.tolist())
        return [
            {"id": name, "row": int(self._index.rows[position]), "excerpt": self._excerpt(int(position))}
            for name, position in zip(ids, positions.tolist(), strict=True)
        ]

    def _in_corpus(self, position: int) -> Any:
        """A view of the document in the corpus; None without one, or where it is not there."""
        if self._index.to_corpus is None or self._index.corpus is None:
            return None
        place = int(self._index.to_corpus[position])
        return None if place < 0 else self._index.corpus.at(np.array([place]))

    def _excerpt(self, position: int) -> str | None:
        """The beginning of the text or, where none was kept, the most frequent words."""
        view = self._in_corpus(position)
        if view is None:
            return None
        if view.has_text and (text := view.read_texts(order="stored")[0]):
            short = " ".join(text[: 4 * _EXCERPT].split())
            return short if len(short) <= _EXCERPT else f"{short[:_EXCERPT]}…"
        counts = _counts(view)
        words = sorted(counts, key=lambda word: (-counts[word], word))[:_EXCERPT_WORDS]
        return " ".join(words)

    def whole(self, position: int, topics: Topics, shares: np.ndarray) -> dict[str, Any]:
        """All that is known of a document but its topics.

        Parameters
        ----------
        shares : of these topics, float64 (n_topics,)
        """
        stored = self._index.store.documents.at(np.array([position]))
        view = self._in_corpus(position)
        columns = {name: values[0] for name, values in stored.read_columns(order="stored").items()}
        return {
            "id": self._index.texts.ids([position])[0],
            "row": int(self._index.rows[position]),
            "columns": columns,
            "n_tokens": None if view is None else float(view.n_tokens),
            "pieces": None if view is None else self._pieces(view, topics, shares),
        }

    def _pieces(self, view: Any, topics: Topics, shares: np.ndarray) -> list[list[Any]] | None:
        """The text in pieces with the topics of their words; as one piece where the tokeniser is not known."""
        text = view.read_texts(order="stored")[0][:_MARKED] if view.has_text else ""
        if not text:
            return None
        found = None
        if view.text_settings is not None and topics.source.vocabulary.named:
            found = marked(text, view.text_settings, topics.of_words(_counts(view), shares))
        return [[text, None]] if found is None else [list(piece) for piece in found]


def _counts(view: Any) -> dict[str, float]:
    """{word: count} of one document."""
    block, words = view.read(order="stored"), view.vocabulary
    return {
        str(words[word]): count
        for word, count in zip(block.words.tolist(), block.counts.tolist(), strict=True)
    }
