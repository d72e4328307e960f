"""Words and their ids, and which words to keep: by document frequency, by rank, by name."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from bigtopic.errors import SettingError, VocabularyMismatch, argument
from bigtopic.wording import counted, printable

__all__ = [
    "Vocabulary",
    "VocabularySettings",
    "common_words",
    "dropped_words",
    "fingerprint_words",
    "in_documents",
    "narrowed",
    "word_array",
]


class ArraySource(Protocol):
    """Loads an array of a stored vocabulary when it is first needed."""

    def load(self, name: str) -> np.ndarray | None: ...


def word_array(words: Iterable[str]) -> np.ndarray:
    """Words as an object array (n_words,), never a fixed-width one."""
    words = words if isinstance(words, Sequence | np.ndarray) else list(words)
    array = np.empty(len(words), dtype=object)
    array[:] = words
    return array


def fingerprint_words(words: Sequence[str] | np.ndarray | None, size: int) -> str:
    """32 hex digits that identify the words and their order; of the width alone when columns have no names."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update(f"{size}:{'unnamed' if words is None else 'named'}".encode())
    words = () if words is None else words
    for start in range(0, len(words), 10_000):
        joined = "".join([f"{len(word)}:{word}" for word in words[start : start + 10_000]])
        digest.update(joined.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


class Vocabulary:
    """The words of a corpus or a model; the position of a word is its id.

    Parameters
    ----------
    words : the words by id, or None when columns have no names
    size : number of words; needed only when `words` is None
    document_frequency : int64 (size,), documents that hold the word
    frequency : float64 (size,), tokens of the word
    """

    def __init__(
        self,
        words: Iterable[str] | None = None,
        size: int | None = None,
        document_frequency: np.ndarray | None = None,
        frequency: np.ndarray | None = None,
    ) -> None:
        self.named = words is not None
        self._source: ArraySource | None = None
        self._arrays: dict[str, np.ndarray | None] = {
            "words": None if words is None else word_array(words),
            "document_frequency": document_frequency,
            "frequency": frequency,
        }
        assert self.named or size is not None
        stored = self._arrays["words"]
        self.size = len(stored) if stored is not None else int(size or 0)

    @classmethod
    def stored(cls, source: ArraySource, size: int, named: bool, fingerprint: str) -> Vocabulary:
        """A vocabulary whose arrays are read from `source` when they are first used."""
        vocabulary = cls(None, size)
        vocabulary.named = named
        vocabulary._source = source
        vocabulary._arrays = {}
        vocabulary.__dict__["fingerprint"] = fingerprint
        return vocabulary

    def _array(self, name: str) -> np.ndarray | None:
        if name not in self._arrays:
            assert self._source is not None
            self._arrays[name] = self._source.load(name)
        return self._arrays[name]

    def loaded(self) -> Vocabulary:
        """This vocabulary with all its arrays in memory: a model outlives its corpus."""
        for name in ("words", "document_frequency", "frequency"):
            if name != "words" or self.named:
                self._array(name)
        return self

    @property
    def words(self) -> np.ndarray | None:
        """The words by id, an object array (size,); None when columns have no names."""
        return self._array("words") if self.named else None

    @property
    def document_frequency(self) -> np.ndarray | None:
        """Documents that hold each word, int64 (size,); of the corpus as it was ingested, not of a view of it."""
        return self._array("document_frequency")

    @property
    def frequency(self) -> np.ndarray | None:
        """Tokens of each word, float64 (size,); of the corpus as it was ingested, not of a view of it."""
        return self._array("frequency")

    @property
    def counted(self) -> tuple[np.ndarray, np.ndarray]:
        """Document frequency and frequency, which must be known."""
        df, tf = self.document_frequency, self.frequency
        assert df is not None and tf is not None, "this vocabulary has no frequencies"
        return df, tf

    @cached_property
    def fingerprint(self) -> str:
        """Equal for vocabularies with the same words in the same order."""
        return fingerprint_words(self.words, self.size)

    @cached_property
    def _index(self) -> dict[str, int]:
        assert self.words is not None
        return {word: number for number, word in enumerate(self.words.tolist())}

    def index_of(self, words: Iterable[str]) -> np.ndarray:
        """Ids of these words, int32 (n,); -1 for a word that is not in the vocabulary.

        Raises
        ------
        VocabularyMismatch
            When the columns have no names.
        """
        if not self.named:
            raise VocabularyMismatch(
                "words cannot be looked up: the columns of this vocabulary have no names; "
                f"give {argument('vocabulary', ...)} when making the corpus"
            )
        get = self._index.get
        return np.fromiter((get(word, -1) for word in words), dtype=np.int32)

    def mask_of(self, words: Iterable[str]) -> np.ndarray:
        """Mask (size,) of these words, or of one; those that the vocabulary lacks are ignored."""
        ids = self.index_of([words] if isinstance(words, str) else words)
        mask = np.zeros(self.size, bool)
        mask[ids[ids >= 0]] = True
        return mask

    def mapping_to(self, other: Vocabulary) -> np.ndarray:
        """The id in `other` of each word of this vocabulary, int32 (size,); -1 for a word `other` lacks.

        Raises
        ------
        VocabularyMismatch
            When one of the two has no names and their widths differ.
        """
        if self.fingerprint == other.fingerprint:
            return np.arange(self.size, dtype=np.int32)
        if self.named and other.named:
            assert self.words is not None
            return other.index_of(self.words.tolist())
        if self.size != other.size:
            raise VocabularyMismatch(
                f"columns without names can only be matched by position, but there are {self.size} on one side "
                f"and {other.size} on the other; give both sides a vocabulary"
            )
        return np.arange(self.size, dtype=np.int32)

    def extended(self, new_words: Iterable[str]) -> Vocabulary:
        """This vocabulary with new words, of frequency 0, at the end."""
        assert self.words is not None
        new = word_array(new_words)
        zeros = np.zeros(len(new))
        df, tf = self.document_frequency, self.frequency
        return Vocabulary(
            np.concatenate([self.words, new]),
            None,
            None if df is None else np.concatenate([df, zeros.astype(np.int64)]),
            None if tf is None else np.concatenate([tf, zeros]),
        )

    def with_counts(self, document_frequency: np.ndarray | None, frequency: np.ndarray | None) -> Vocabulary:
        """The same words with other frequencies, or with none; their index is kept."""
        arrays = {"words": self.words, "document_frequency": document_frequency, "frequency": frequency}
        other = Vocabulary.__new__(Vocabulary)
        other.__dict__.update(self.__dict__, _source=None, _arrays=arrays)
        return other

    def taken(self, ids: np.ndarray) -> Vocabulary:
        """The vocabulary of these ids, in this order. Columns without names get their old number as a name."""
        df, tf = self.document_frequency, self.frequency
        words = [str(i) for i in ids.tolist()] if self.words is None else self.words[ids]
        return Vocabulary(words, None, None if df is None else df[ids], None if tf is None else tf[ids])

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, item: Any) -> Any:
        """The word with this id (its number, as a string, when columns have no names), or words of a slice or array."""
        if isinstance(item, int | np.integer):
            if not -self.size <= item < self.size:
                raise IndexError(f"word id {item} is outside 0 .. {self.size - 1}")
            return str(item % self.size) if self.words is None else self.words[item]
        if isinstance(item, str):
            raise SettingError(f"vocabulary[{item!r}]: give the id of a word; index_of([{item!r}]) finds it")
        ids = np.arange(self.size)[item]
        return [str(i) for i in ids] if self.words is None else self.words[ids].tolist()

    def __iter__(self) -> Iterator[str]:
        return iter(self[:])

    def __contains__(self, word: object) -> bool:
        return self.named and word in self._index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        state.pop("_index", None)  # rebuilt where it is needed; it triples the size
        if self._source is not None:
            state["_arrays"] = {}  # likewise
        return state

    def __repr__(self) -> str:
        shown = (
            ", ".join(self[: min(5, self.size)]) if self._source is None or "words" in self._arrays else "..."
        )
        size = counted(self.size, "word") if self.named else f"{counted(self.size, 'column')} without names"
        return f"Vocabulary({size}: {printable(shown)})"


_COMMON = 0.5  # share of the documents, as in gensim's filter_extremes
_MANY = 100  # documents from which on a share says something


@dataclass(frozen=True)
class VocabularySettings:
    """Limits on the words of a corpus; the names and meanings are scikit-learn's.

    Parameters
    ----------
    min_df : drop words in fewer documents than this, a number (int) or a share (float) of the documents
    max_df : drop words in more documents than this, a number (int) or a share (float) of the documents; None sets no
        limit, until `resolved` chooses one for raw text
    max_features : keep at most this many of the rest, those with the most tokens; None keeps all
    """

    min_df: float = 1
    max_df: float | None = 1.0
    max_features: int | None = None

    def __post_init__(self) -> None:
        for name in ("min_df", "max_df", "max_features"):
            value = getattr(self, name)
            if isinstance(value, np.generic):
                object.__setattr__(self, name, value := value.item())
            if name == "max_features" or (value is None and name == "max_df"):
                continue
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not value >= 0 or (isinstance(value, float) and value > 1):
                raise SettingError(
                    f"{argument(name, value)}: give a number of documents (an integer from 0) or a share of them "
                    "(a float from 0.0 to 1.0)"
                )
        most = self.max_features
        if most is not None and (isinstance(most, bool) or not isinstance(most, int) or most < 1):
            raise SettingError(
                f"{argument('max_features', most)}: give a whole number from 1, or None to keep all"
            )

    @property
    def idle(self) -> bool:
        """Whether no word that occurs can be dropped."""
        return self == VocabularySettings()

    def resolved(self, n_docs: int) -> VocabularySettings:
        """With a limit where none was chosen: words in more than half of many documents tell no topic."""
        if self.max_df is not None:
            return self
        return replace(self, max_df=_COMMON if n_docs >= _MANY else 1.0)

    @property
    def rules(self) -> dict[str, str]:
        """What each limit leaves out, for the user."""
        return {
            "min_df": f"words in fewer than {in_documents(self.min_df)}",
            "max_df": f"words in more than {in_documents(1.0 if self.max_df is None else self.max_df)}",
            "max_features": f"words beyond the {self.max_features or 0:,} most frequent",
        }

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def in_documents(limit: float) -> str:
    """A limit in words: 2 is "2 documents", 0.5 is "50% of the documents"."""
    return f"{100 * limit:g}% of the documents" if isinstance(limit, float) else counted(limit, "document")


def dropped_words(
    document_frequency: np.ndarray,
    frequency: np.ndarray,
    n_docs: int,
    settings: VocabularySettings,
    known: np.ndarray | None = None,
) -> dict[str, np.ndarray]:
    """{limit: mask (n_words,) of the words that it drops}; no word is in two of them.

    Ties of `max_features` go to the lower id. `known` is a mask of words that stay in any case; the settings are then
    for the others.
    """
    low = settings.min_df * n_docs if isinstance(settings.min_df, float) else settings.min_df
    new = np.ones(len(frequency), bool) if known is None else ~known
    rare, beyond = new & (document_frequency < low), np.zeros(len(frequency), bool)
    common = new & ~rare & common_words(document_frequency, n_docs, settings)
    candidates = np.flatnonzero(new & ~rare & ~common)
    if settings.max_features is not None:
        ranked = candidates[np.argsort(-frequency[candidates], kind="stable")]
        beyond[ranked[settings.max_features :]] = True
    return {"min_df": rare, "max_df": common, "max_features": beyond}


def common_words(document_frequency: np.ndarray, n_docs: int, settings: VocabularySettings) -> np.ndarray:
    """Mask (n_words,) of the words in more documents than `max_df`."""
    most = 1.0 if settings.max_df is None else settings.max_df
    mask: np.ndarray = document_frequency > (most * n_docs if isinstance(most, float) else most)
    return mask


def narrowed(
    text: Mapping[str, Any],
    share: float,
    limits: VocabularySettings,
    common: Iterable[str],
    dropped: Iterable[str] = (),
) -> dict[str, Any]:
    """The record of how text became words, after more of these words were left out.

    Parameters
    ----------
    text : the record so far
    share : the share of its tokens whose words are left
    limits : on the words
    common, dropped : the words that are too common for these limits, and those that were named, whatever their number
    """
    common, dropped = set(common), set(dropped)
    most = limits.max_df if common else text.get("max_df", limits.max_df)
    return {
        **text,
        "known_share": share * text.get("known_share", 1.0),
        "max_df": 1.0 if dropped else most,
        "common_words": sorted(common.union(dropped, text.get("common_words", ()))),
    }
