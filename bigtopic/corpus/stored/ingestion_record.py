"""What an ingest took a source for, what it made of it, and what it left out: in one line, and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from bigtopic.storage.json_rules import listing, mapping, number, optional, record, text, whole
from bigtopic.wording import counted, printable

__all__ = ["EXAMPLES", "INGESTION", "Ingestion", "WordGroup"]

EXAMPLES = 5  # words of each rule


@dataclass(frozen=True)
class WordGroup:
    """Words that a rule is about.

    Attributes
    ----------
    rule : "english stop words", "words in fewer than 2 documents"
    words, tokens : how many there are; `words` is None where only tokens were counted
    examples : the most frequent words, at most five
    """

    rule: str
    words: int | None
    tokens: float
    examples: tuple[str, ...] = ()

    def __str__(self) -> str:
        figures = [] if self.words is None else [counted(self.words, "word")]
        shown = ", ".join([*self.examples, *["..."] * (len(self.examples) < (self.words or 0))])
        return f"{self.rule} ({', '.join([*figures, counted(self.tokens, 'token')])}{f': {shown}' if shown else ''})"


@dataclass(frozen=True)
class Ingestion:
    """What the last ingest, append or `compact` of a corpus took and left out.

    Attributes
    ----------
    documents, tokens : that were stored
    words, new_words : words of the corpus, and how many of them it did not have before
    documents_before : of the corpus that was appended to; 0 for a new one
    format : that the source was read as; taken : what was guessed of it, {"header": "the first row"}
    left_out : words that were left out, by rule
    kept : words that a rule would have left out, were they not all that some documents have
    empty_documents : documents that are stored without a word
    short_documents : documents that were left out for `min_doc_length`
    skipped, replaced : documents left out because the corpus had their ids, and documents of the corpus that were
        removed because new ones had their ids
    """

    documents: int
    tokens: float
    words: int
    new_words: int
    documents_before: int
    format: str
    taken: Mapping[str, str] = field(default_factory=dict)
    left_out: tuple[WordGroup, ...] = ()
    kept: tuple[WordGroup, ...] = ()
    empty_documents: int = 0
    short_documents: int = 0
    skipped: int = 0
    replaced: int = 0

    def __str__(self) -> str:
        """One line, safe for a terminal."""
        taken = "".join(f", {name.replace('_', ' ')}: {value}" for name, value in self.taken.items())
        groups = {"left out": self.left_out, "kept though common": self.kept}
        documents = {
            "without words": self.empty_documents,
            "left out as too short": self.short_documents,
            "left out, as the corpus has their ids": self.skipped,
        }
        pieces = [
            self._figures(),
            f"read as {self.format}{taken}",
            *(f"{what}: {', '.join(map(str, found))}" for what, found in groups.items() if found),
            *(f"{counted(n, 'document')} {what}" for what, n in documents.items() if n),
        ]
        return printable("; ".join(pieces))

    def _figures(self) -> str:
        documents, tokens = counted(self.documents, "document"), counted(self.tokens, "token")
        if not self.documents_before:
            return f"{documents}, {counted(self.words, 'word')}, {tokens}"
        words = f"{counted(self.words, 'word')}, {self.new_words:,} of them new"
        if self.replaced:
            added = counted(max(self.documents - self.replaced, 0), "document")
            return f"{added} added to {self.documents_before:,} and {self.replaced:,} replaced, {tokens}; {words}"
        return f"{documents} added to {self.documents_before:,}, {tokens}; {words}"

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Ingestion:
        """The record that `to_dict` gave, which follows the rules `INGESTION`; unknown fields are ignored."""
        known = {one.name: values[one.name] for one in fields(cls) if one.name in values}
        for name in ("left_out", "kept"):
            known[name] = tuple(
                WordGroup(group["rule"], group["words"], group["tokens"], tuple(group["examples"]))
                for group in known[name]
            )
        return cls(**known)


_GROUPS = listing(
    record({"rule": text(), "words": optional(whole()), "tokens": number(0.0), "examples": listing(text())})
)
INGESTION = record(
    {
        **dict.fromkeys(("documents", "words", "new_words", "documents_before"), whole()),
        **dict.fromkeys(("empty_documents", "short_documents", "skipped", "replaced"), whole()),
        "tokens": number(0.0),
        "format": text(),
        "taken": mapping(text(), text()),
        "left_out": _GROUPS,
        "kept": _GROUPS,
    }
)
"""The rules of its JSON, in a manifest."""
