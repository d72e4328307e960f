"""Whether a run is the one that was begun: what is written down of its corpus and settings, and what differs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from bigtopic.errors import argument

__all__ = ["corpus_identity", "differences", "identity_hash"]


def corpus_identity(corpus: Any) -> dict[str, Any]:
    """Sizes and fingerprints that tell whether a corpus is the one that a run began with."""
    return {
        "documents": corpus.n_docs,
        "words": corpus.n_words,
        "vocabulary": corpus.vocabulary.fingerprint,
        "content": [part.fingerprint for part in corpus.parts],
    }


def identity_hash(identity: Mapping[str, Any]) -> str:
    """32 hexadecimal digits that tell a run from others."""
    return hashlib.blake2b(json.dumps(identity, sort_keys=True).encode(), digest_size=16).hexdigest()


def differences(old: Any, new: Mapping[str, Any], where: str = "") -> list[str]:
    """A phrase for each setting that differs, in their new order; of what has another name, the name alone.

    What is of one kind, a method or a scheme, has the same settings in one version of bigtopic, not in all.
    """
    if not isinstance(old, dict):
        return [f"{where or 'the root'} is damaged"]
    if old.get("name") != new.get("name"):
        return [_difference(f"{where}.name", old.get("name"), new.get("name"))]
    found, same_kind = [], "kind" in old and old["kind"] == new.get("kind")
    for name in dict.fromkeys([*new, *old]):
        path, before, now = f"{where}.{name}" if where else name, old.get(name), new.get(name)
        if same_kind and (name not in old or name not in new):
            found.append(f"{path} is {'gone' if name in old else 'new'} since the run began")
        elif isinstance(before, dict) and isinstance(now, dict):
            found += differences(before, now, path)
        elif before != now:
            found.append(_difference(path, before, now))
    return found


def _difference(path: str, before: Any, now: Any) -> str:
    shown = [f"{value!r:.60}" for value in (before, now)]
    if shown[0] == shown[1] or isinstance(before, dict | list) or isinstance(now, dict | list):
        return f"{path} is another one"
    setting = path.removeprefix("settings.")
    shown_path = argument(setting) if setting != path and "." not in setting else path
    return f"{shown_path} was {shown[0]}, is {shown[1]}"
