"""How a model declares its global arrays. The runtime owns them; a model only describes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bigtopic.types import ArraySpec

__all__ = ["DOC_TOPIC_PRIOR", "ArraySpec", "Model"]

DOC_TOPIC_PRIOR = "doc_topic_prior"


@dataclass(frozen=True)
class Model:
    """A model: its name, its global arrays, and what it counts.

    Attributes
    ----------
    components : names of the component counts. `n_components` is the first; documents' topics have as many columns,
        unless a kernel says otherwise
    mixing : the array, of first component count by another one, by which topics mix distributions over words: p(word |
        topic k) is in proportion to sum_j mixing_kj words_wj. None if these distributions are the topics
    """

    name: str
    arrays: Mapping[str, ArraySpec]
    components: tuple[str, ...] = ("topic",)
    mixing: str | None = None
