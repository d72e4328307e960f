"""Names of what a store has besides its arrays."""

from __future__ import annotations

__all__ = ["FOLDERS", "JOURNAL", "LOCK", "WRITER"]

FOLDERS = ("parts", "vocabulary", "authors")  # of a corpus: what writers create in them belongs to a commit
LOCK = ".bigtopic.lock"
JOURNAL = ".bigtopic.journal"
WRITER = "bigtopic-writer"  # behind a URL, the attribute of the root that says who wrote it last
