"""The words and authors of an ingest: counted while runs come in, then given their final ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Set
from typing import Any

import numpy as np

from bigtopic.corpus.stored.ingestion_record import EXAMPLES, WordGroup
from bigtopic.corpus.stored.manifest import Manifest
from bigtopic.corpus.stored.stored_part import stored_names
from bigtopic.corpus.text.stopwords import list_name
from bigtopic.corpus.vocabulary import Vocabulary, VocabularySettings, dropped_words, word_array
from bigtopic.errors import InputError, VocabularyMismatch, argument
from bigtopic.ingestion.parse import ParsedRun, WordCounts
from bigtopic.ingestion.settings import IngestSettings
from bigtopic.ingestion.spill import Spilled, spill
from bigtopic.ingestion.tally import ColumnTally, WordLosses, WordTally, falling, joined
from bigtopic.storage.place import Place

__all__ = ["Vocabularies"]

_MATRICES = ("matrix", "anndata", "dask_array")  # readers whose columns keep their place
# Kinds of documents that hold words: a vocabulary given for them is a choice
_WORDS = ("text", "tokens", "counts", "triples")
_ALL = 1 << 62
LACKING = "words that the given vocabulary lacks"
PRUNED = "words that the corpus lacks, which may have been dropped"
LEFT_OUT = "words left out before"

NeededWords = Callable[[WordCounts, WordCounts], Set[str]]
"""Given words that are too common, and words that are kept: the common words that some documents depend on."""


class Vocabularies:
    """Final names of words and authors.

    An append keeps the ids of the corpus: new names come after the known ones.

    Attributes
    ----------
    vocabulary, author_vocabulary : final names, after `finish`
    n_entries : entries of the runs whose words are kept
    closed : only the words that were given
    known_share : share of the source's tokens whose word was kept
    limits : on the words, once the number of documents is known
    common : words that are in more documents than these allow
    losses : the words that were left out, by rule
    kept_common : the words in too many documents that are all some documents have, if the limit was not asked for
    stopped : {stop word: tokens of it that were left out}
    """

    def __init__(
        self, reader: Any, root: Place, scratch: Place, known: Manifest | None, settings: IngestSettings
    ) -> None:
        self._reader, self._settings, self._scratch = reader, settings, scratch
        self._known = None if known is None else stored_names(root, known.vocabulary)
        self._known_authors: Vocabulary | None = None
        if known is not None and known.authors is not None:
            self._known_authors = Vocabulary(stored_names(root, known.authors).words)
        self.limits = settings.words
        self.common: list[str] = []
        self.losses, self.kept_common = WordLosses(), WordLosses()
        self.stopped = Counter[str]()
        self.n_unknown = 0.0
        self._words: WordTally | None = None
        self._columns = ColumnTally(getattr(reader, "n_words", None))
        self._authors = WordTally(self._scratch, _ALL)
        self._any_authors = self._known_authors is not None
        self._new_ids: np.ndarray | None = None
        self.author_vocabulary: Vocabulary | None = None
        self.n_entries = 0
        self.closed = settings.closed
        self.known_share = 1.0
        self._n_tokens = 0.0

    def add(self, run: ParsedRun) -> None:
        """Add up the counts of a run and take them from it."""
        assert run.words is not None
        self._n_tokens += float(run.words.tokens.sum()) + run.n_unknown
        self.n_unknown += run.n_unknown
        self.stopped.update(run.stopped)
        if run.words.words.dtype == object:
            self._words = self._words or WordTally(self._scratch)
            self._words.add(run.words)
        else:
            self._columns.add(run.words)
        if run.authors is not None:
            self._any_authors = True
            self._authors.add(run.authors)
        run.words = run.authors = None
        run.stopped = {}

    def finish(self, n_docs: int, needed: NeededWords) -> None:
        """Decide on the final ids.

        Raises
        ------
        InputError
            When no word is left.
        VocabularyMismatch
            When columns without names are appended to words, or vice versa.
        """
        chosen, self.limits = self.limits.max_df is not None, self.limits.resolved(n_docs)
        if self._words is not None:
            self._finish_words(n_docs, self._words, None if chosen else needed)
        else:
            self._finish_columns(n_docs, self._columns)
        self._finish_authors()
        wordless = not self.vocabulary.size or (self._known is None and not self.n_entries)
        if wordless and not self._settings.wordless:
            raise InputError(
                f"no word is left; loosen {argument('min_df')}, {argument('max_df')}, stop words or the token "
                "pattern, or give a vocabulary that fits the source"
            )
        if self._known is None and self._n_tokens:
            self.known_share = float(self.vocabulary.counted[1].sum()) / self._n_tokens

    @property
    def pruned(self) -> bool:
        """Whether words were dropped, now or before, that are not listed in the record of the text."""
        rules = self.limits.rules
        listed = () if self._settings.text is None else (rules["max_df"],)
        unlisted = set(rules.values()).difference(listed)
        return self._settings.pruned or any(group.rule in unlisted for group in self.losses.groups)

    @property
    def left_out(self) -> tuple[WordGroup, ...]:
        """All words that were left out."""
        found = list(self.losses.groups)
        if self.stopped:
            which = f"{list_name((self._settings.text or {}).get('stop_words') or ())} stop words"
            best = tuple(sorted(self.stopped, key=lambda word: (-self.stopped[word], word))[:EXAMPLES])
            found.insert(0, WordGroup(which, len(self.stopped), float(self.stopped.total()), best))
        if self.n_unknown:
            found.append(WordGroup(LACKING, None, self.n_unknown))
        return tuple(found)

    # ------------------------------------------------------------------ words that are strings

    def _finish_words(self, n_docs: int, tally: WordTally, needed: NeededWords | None) -> None:
        self._require_names(True)
        found, common = tally.finish(n_docs, self.limits, self.losses, self._known)
        if needed is not None and len(common.words):
            found, common = self._keep_needed(found, common, needed(common, found))
        self.common = common.words.tolist()
        self.losses.add(self.limits.rules["max_df"], common)
        found = found.take(self._allowed(found))
        if self._known is not None:
            self._extend_known(found)
        else:
            self._set(found.take(falling(found.words, found.tokens)))

    def _keep_needed(
        self, found: WordCounts, common: WordCounts, needed: Set[str]
    ) -> tuple[WordCounts, WordCounts]:
        """The words to keep, and the words in too many documents, once the words that documents need are kept."""
        kept = np.array([word in needed for word in common.words], bool)
        if not kept.any():
            return found, common
        self.kept_common.add(self.limits.rules["max_df"], common.take(kept))
        found = joined(found, common.take(kept))
        found = found.take(np.argsort(found.words, kind="stable"))
        limits = VocabularySettings(max_features=self.limits.max_features)
        beyond = dropped_words(found.documents, found.tokens, 0, limits)["max_features"]
        self.losses.add(self.limits.rules["max_features"], found.take(beyond))
        return found.take(~beyond), common.take(~kept)

    def _allowed(self, counts: WordCounts) -> np.ndarray:
        """Mask (n_words,) of the words that earlier documents have, or were not left without."""
        left_out = self._settings.left_out
        if not left_out:
            return np.ones(len(counts.words), bool)
        allowed = np.array([word not in left_out for word in counts.words], bool)
        if self._known is not None:
            allowed |= self._known.index_of(counts.words) >= 0
        self.losses.add(LEFT_OUT, counts.take(~allowed))
        return allowed

    def _extend_known(self, found: WordCounts) -> None:
        """Known words first, with their counts so far; new ones after them, unless the vocabulary is closed."""
        known = self._known
        assert known is not None and known.words is not None
        ids = known.index_of(found.words)
        before = known.counted
        df, tf = before[0].copy(), before[1].copy()
        here = ids >= 0
        df[ids[here]] += found.documents[here]
        tf[ids[here]] += found.tokens[here]
        new = found.take(~here)
        new = new.take(falling(new.words, new.tokens))
        if not self._settings.new_words:
            self.losses.add(LACKING if self.closed else PRUNED, new)
            new = new.take(slice(0, 0))
        words, tokens, documents = (
            np.concatenate(pair) for pair in zip((known.words, tf, df), new, strict=True)
        )
        self._set(WordCounts(words, tokens, documents))
        self.n_entries -= int(before[0].sum())

    def _set(self, counts: WordCounts) -> None:
        self.vocabulary = Vocabulary(counts.words, None, counts.documents.astype(np.int64), counts.tokens)
        self.n_entries = int(counts.documents.sum())

    # ------------------------------------------------------------------ ids fixed by the source

    def _finish_columns(self, n_docs: int, tally: ColumnTally) -> None:
        words = None if self._reader.vocabulary is None else word_array(self._reader.vocabulary)
        if words is not None:
            tally.add(WordCounts(np.array([len(words) - 1]), np.zeros(1), np.zeros(1, np.int64)))
        n_columns = len(tally.tokens)
        self._require_names(words is not None)
        counts = WordCounts(np.arange(n_columns) if words is None else words, tally.tokens, tally.documents)
        keep = np.ones(n_columns, bool) if words is None else self._allowed(counts)
        if not self.limits.idle:
            known = None  # columns that the corpus has already: they stay, regardless of the limits
            if self._known is not None:
                ids = np.arange(n_columns) if words is None else self._known.index_of(words)
                known = (ids >= 0) & (ids < self._known.size)
            dropped = dropped_words(tally.documents, tally.tokens, n_docs, self.limits, known)
            for name, mask in dropped.items():
                self.losses.add(self.limits.rules[name], counts.take(mask & keep))
                keep &= ~mask
            self.common = [] if words is None else sorted(words[dropped["max_df"]].tolist())
        source = Vocabulary(words, n_columns, tally.documents, tally.tokens)
        if self._known is not None and words is not None:
            present = np.flatnonzero(keep & (tally.documents > 0))
            self._extend_known(WordCounts(words[present], tally.tokens[present], tally.documents[present]))
            self._new_ids = source.mapping_to(self.vocabulary)
            return
        given = words is not None and getattr(self._reader, "kind", None) in _WORDS
        self.closed = self.closed or (given and self._known is None)
        stays = words is None or given or self._reader.name in _MATRICES
        order = np.arange(n_columns) if stays else falling(words, tally.tokens)
        order = order[keep[order]]
        if self._known is not None:
            self._widen_known(tally, keep)
        elif len(order) < n_columns or words is not None:
            self.vocabulary = source.taken(order)
        else:
            self.vocabulary = source
        self.n_entries = int(tally.documents[order].sum())
        self._new_ids = np.full(n_columns, -1, np.int32)
        self._new_ids[order] = np.arange(len(order), dtype=np.int32)

    def _widen_known(self, tally: ColumnTally, keep: np.ndarray) -> None:
        """Columns without names keep their numbers; there may be more of them now."""
        known = self._known
        assert known is not None
        size = max(known.size, len(tally.tokens))
        df, tf = np.zeros(size, np.int64), np.zeros(size)
        for documents, tokens in (known.counted, (tally.documents * keep, tally.tokens * keep)):
            df[: len(documents)] += documents
            tf[: len(tokens)] += tokens
        self.vocabulary = Vocabulary(None, size, df, tf)

    def _require_names(self, named: bool) -> None:
        if self._known is not None and self._known.named != named:
            kinds = ("columns without names", "words")
            remedy = f"give {argument('vocabulary', ...)} for the source"
            raise VocabularyMismatch(
                f"the corpus has {kinds[not named]}, but the source has {kinds[named]}; "
                + ("append a source without a vocabulary" if named else remedy)
            )

    # ------------------------------------------------------------------ authors

    @property
    def n_authors(self) -> int:
        return 0 if self.author_vocabulary is None else self.author_vocabulary.size

    def _finish_authors(self) -> None:
        """In descending order of documents; ties in order of first appearance."""
        if not self._any_authors:
            return
        found = self._authors.in_order()
        names = found.words[np.argsort(-found.documents, kind="stable")]
        if self._known_authors is None:
            self.author_vocabulary = Vocabulary(names)
        else:
            new = names[self._known_authors.index_of(names) < 0]
            self.author_vocabulary = self._known_authors.extended(new)

    # ------------------------------------------------------------------ for the next stages

    def spilled(self) -> Spilled:
        """Final names in a scratch file, for the tasks that sort runs."""
        arrays: dict[str, np.ndarray] = {}
        if self._new_ids is not None:
            arrays["new_ids"] = self._new_ids
        elif self.vocabulary.words is not None:
            arrays["words"] = self.vocabulary.words
        if self.author_vocabulary is not None and self.author_vocabulary.words is not None:
            arrays["authors"] = self.author_vocabulary.words
        return spill(self._scratch / "names", arrays)

    def subtract(self, dropped: WordCounts) -> None:
        """Counts, by final id, of documents that were dropped."""
        df, tf = self.vocabulary.counted
        df[dropped.words] -= dropped.documents
        tf[dropped.words] -= dropped.tokens
