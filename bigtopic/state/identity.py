"""Whether a run, or the model that something was made with, is the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

import numpy as np

from bigtopic.corpus.vocabulary import fingerprint_words
from bigtopic.errors import argument
from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.model import TopicModel
from bigtopic.state.sparse.array import SparseArray

__all__ = ["corpus_identity", "differences", "identity_hash", "model_identity", "relation"]


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

    Methods or schemes of one kind have the same settings within one version of bigtopic, but not across versions.
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


_ROWS = 1 << 12  # of each array that are hashed; totals cover all rows
_LISTS = 1 << 8  # that are copied at once


def model_identity(model: TopicModel) -> dict[str, Any]:
    """What tells a model from others, as JSON: the same after it was saved and loaded, on every machine."""
    return {
        "method": model.method.name,
        "components": dict(model.components),
        "seed": model.seed,
        "words": len(model.vocabulary),
        "vocabulary": model.vocabulary.fingerprint,
        "phase": model.cursor.phase,
        "updates": model.cursor.step,
        "topics": _hash(model),
    }


def relation(identity: Mapping[str, Any], model: TopicModel) -> str:
    """How a model is related to the one that an identity belongs to.

    Returns
    -------
    "same" if it has these topics, "earlier" if the model continues its run: with more updates, or in another phase, and
    the same method, seed, numbers of topics and first words; else "other"
    """
    now, words = model_identity(model), model.vocabulary.words
    n_words, updates = identity.get("words"), identity.get("updates")
    if not isinstance(n_words, int) or not 0 <= n_words <= len(model.vocabulary):
        return "other"
    names = None if words is None else words[:n_words]  # which may have been named since
    if identity.get("vocabulary") not in [fingerprint_words(known, n_words) for known in (names, None)]:
        return "other"
    same = {name for name, value in now.items() if identity.get(name) == value}
    if same >= {"components", "topics"}:
        return "same"
    moved = identity.get("phase", 0) != now["phase"]  # where updates count anew
    earlier = isinstance(updates, int) and (moved or updates < now["updates"])
    return "earlier" if earlier and same >= {"method", "components", "seed"} else "other"


def _hash(model: TopicModel) -> str:
    """32 hexadecimal digits of the params."""
    digest = hashlib.blake2b(digest_size=16)
    for name, array in sorted(model.params.arrays.items()):
        digest.update(f"{name}:{array.raw.shape}".encode())
        for values in chain(_some_rows(array), (array.scale, array.sums)):
            digest.update(np.ascontiguousarray(values).data)
    return digest.hexdigest()


def _some_rows(array: LazyArray) -> Iterator[np.ndarray]:
    """Rows of an array that are evenly spaced; of sparse rows the lists, and what was dropped."""
    step = array.n_rows // _ROWS + 1
    if not isinstance(array, SparseArray):
        yield array.raw[::step]
        return
    ids = np.arange(0, array.n_rows, step, dtype=np.int32)
    for start in range(0, len(ids), _LISTS):
        yield from array.raw.lists(ids[start : start + _LISTS])
    yield np.array([array.dropped])
