"""Whether a model is the one that something was made with: its topics, or those that it had before it learned more."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from bigtopic.corpus.vocabulary import fingerprint_words
from bigtopic.state.model import TopicModel

__all__ = ["has_topics_of", "is_earlier", "model_identity"]

_ROWS = 1 << 12  # of each array that are hashed; the totals are those of all rows


def model_identity(model: TopicModel) -> dict[str, Any]:
    """What tells a model from others, as JSON: the same after it was saved and loaded, on every machine."""
    return {
        "method": model.method.name,
        "components": dict(model.components),
        "seed": model.seed,
        "words": len(model.vocabulary),
        "vocabulary": model.vocabulary.fingerprint,
        "updates": model.cursor.step,
        "topics": _hash(model),
    }


def has_topics_of(identity: Mapping[str, Any], model: TopicModel) -> bool:
    """Whether an identity is that of a model with these topics."""
    now = model_identity(model)
    return _has_words_of(identity, model) and all(
        identity.get(name) == now[name] for name in ("components", "topics")
    )


def is_earlier(identity: Mapping[str, Any], model: TopicModel) -> bool:
    """Whether an identity is that of a run of which the model is a continuation: fewer updates, with the same method,
    seed, numbers of topics and first words."""
    now, updates = model_identity(model), identity.get("updates")
    if not isinstance(updates, int) or updates >= now["updates"]:
        return False
    same = ("method", "components", "seed")
    return _has_words_of(identity, model) and all(identity.get(name) == now[name] for name in same)


def _has_words_of(identity: Mapping[str, Any], model: TopicModel) -> bool:
    """Whether the first words of the model are those of an identity, or were named since."""
    n_words, words = identity.get("words"), model.vocabulary.words
    if not isinstance(n_words, int) or not 0 <= n_words <= len(model.vocabulary):
        return False
    names = None if words is None else words[:n_words]
    return identity.get("vocabulary") in [fingerprint_words(known, n_words) for known in (names, None)]


def _hash(model: TopicModel) -> str:
    """32 hexadecimal digits of the params."""
    digest = hashlib.blake2b(digest_size=16)
    for name, array in sorted(model.params.arrays.items()):
        digest.update(f"{name}:{array.raw.shape}".encode())
        for values in (array.raw[:: array.n_rows // _ROWS + 1], array.scale, array.sums):
            digest.update(np.ascontiguousarray(values).data)
    return digest.hexdigest()
