"""Which words to keep: by document frequency, by rank, by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from bigtopic.errors import SettingError, argument
from bigtopic.wording import counted

__all__ = ["VocabularySettings", "common_words", "dropped_words", "in_documents", "kept_words", "narrowed"]

_COMMON = 0.5  # share of the documents, as in gensim's filter_extremes
_MANY = 100  # documents from which on a share says something


@dataclass(frozen=True)
class VocabularySettings:
    """Limits on the words of a corpus; the names and meanings are scikit-learn's.

    Parameters
    ----------
    min_df : drop words in fewer documents than this, a number (int) or a share (float) of the documents
    max_df : drop words in more documents than this, a number (int) or a share (float) of the documents; None sets no
        limit, until `settled` chooses one for raw text
    max_features : keep at most this many of the rest, those with the most tokens; None keeps all
    """

    min_df: float = 1
    max_df: float | None = 1.0
    max_features: int | None = None

    def __post_init__(self) -> None:
        for name in ("min_df", "max_df", "max_features"):
            value = getattr(self, name)
            if isinstance(value, np.generic):
                object.__setattr__(self, name, value.item())
        for name in ("min_df", "max_df"):
            value = getattr(self, name)
            if value is None and name == "max_df":
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

    def settled(self, n_docs: int) -> VocabularySettings:
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


def kept_words(
    document_frequency: np.ndarray,
    frequency: np.ndarray,
    n_docs: int,
    settings: VocabularySettings,
    known: np.ndarray | None = None,
) -> np.ndarray:
    """Mask (n_words,) of the words to keep. Ties of `max_features` go to the lower id.

    `known` is a mask of words that stay in any case; the settings are then for the others.
    """
    dropped = dropped_words(document_frequency, frequency, n_docs, settings, known)
    keep: np.ndarray = ~np.logical_or.reduce([*dropped.values()])
    return keep


def dropped_words(
    document_frequency: np.ndarray,
    frequency: np.ndarray,
    n_docs: int,
    settings: VocabularySettings,
    known: np.ndarray | None = None,
) -> dict[str, np.ndarray]:
    """{limit: mask (n_words,) of the words that it drops}; no word is in two of them. See `kept_words`."""
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
    share : of its tokens, that of the words that are left
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
