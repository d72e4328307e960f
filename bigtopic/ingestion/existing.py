"""The corpus that is already at the place of an ingest: to be extended, replaced or left alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from bigtopic.corpus.store import Corpus
from bigtopic.corpus.stored.manifest import Manifest, PartRecord
from bigtopic.corpus.stored.stored_part import StoredPart
from bigtopic.errors import CorpusExists, CorpusLocked, argument
from bigtopic.storage.place import Place

__all__ = [
    "extended",
    "keeps_text",
    "pruned",
    "require_same_text",
    "require_unchanged",
    "with_rows",
    "word_limits",
]


def extended(root: Place, manifest: Manifest | None, overwrite: bool, append: bool) -> Manifest | None:
    """The corpus to extend, of the one that is there; None for a new corpus.

    Raises
    ------
    CorpusExists
        When there is one that is neither to be replaced nor to be extended.
    """
    if manifest is not None and not overwrite and not append:
        raise CorpusExists(
            f"there is a corpus at {root.url}; pass {argument('overwrite', True)} to replace it, "
            f"{argument('append', True)} to add to it, or give "
            "another path"
        )
    return manifest if append else None


def keeps_text(known: Manifest | None) -> bool:
    """Whether documents of the corpus to extend have their text."""
    return known is not None and any(part.has_text for part in known.parts)


def word_limits(source: Any, known: Manifest | None) -> Mapping[str, Any]:
    """The limits on words that are recorded with the corpus to extend, or with one that is the source."""
    if known is not None:
        return known.words
    return source.word_limits if isinstance(source, Corpus) else {}


def pruned(limits: Mapping[str, Any]) -> bool:
    """Whether words were dropped that are not listed, because there may be very many, so that no word is surely new."""
    return bool(limits.get("pruned", limits.get("min_df", 1) not in (0, 1) or limits.get("max_features")))


def require_unchanged(source: Any, root: Place, now: Manifest | None) -> None:
    """Refuse to rewrite a corpus in place without documents or authors that were added since it was opened."""
    if not isinstance(source, Corpus) or source.url != root.url or now is None:
        return
    records = [part.record for part in source.parts if isinstance(part, StoredPart)]
    if len(records) == len(source.parts) and _layers(records) != _layers(now.parts):
        raise CorpusLocked(
            f"{root.url} was changed by another writer since it was opened; open it again and try again"
        )


def with_rows(manifest: Manifest, source: Any, root: Place, before: Manifest | None) -> Manifest:
    """The manifest of a corpus that is rewritten in place: a row that it had is not given again, even if it is gone."""
    if not isinstance(source, Corpus) or source.url != root.url or before is None:
        return manifest
    return replace(manifest, n_rows=max(manifest.n_rows, before.n_rows))


def require_same_text(before: Manifest | None, now: Manifest | None, root: Place) -> None:
    """Refuse a tokeniser chosen for a corpus that was replaced, or made, while the source was being opened."""
    if (before is None, before and before.text) != (now is None, now and now.text):
        raise CorpusLocked(f"{root.url} was changed by another writer in the meantime; try again")


def _layers(records: Iterable[PartRecord]) -> dict[str, str | None]:
    """The authors attached to each part."""
    return {record.path: record.authors for record in records}
