"""What kind of store is at a path."""

from __future__ import annotations

import json

__all__ = ["is_corpus", "is_model"]


def is_corpus(url: str) -> bool:
    """Whether a corpus is there, of whatever version."""
    return "bigtopic" in _attributes(url)


def is_model(url: str) -> bool:
    """Whether a model is there, of whatever version."""
    return "bigtopic-model" in _attributes(url)


def _attributes(url: str) -> dict:
    """Attributes of the root of a Zarr store; empty when there is none."""
    from bigtopic.corpus.storage import Place

    try:
        return json.loads((Place.of(url) / "zarr.json").read()).get("attributes", {})
    except (OSError, ValueError):
        return {}
