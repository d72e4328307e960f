r"""Which characters of a text each character of its canonical spelling comes from.

`canonical` composes characters, leaves invisible ones out and lower-cases, so that words are at other places in the
canonical spelling than in the text. Both are cut into clusters: a character with the marks, the invisible characters
and the jamo that it may compose with, and whatever a joiner connects it with. The spellings of the clusters, one after
the other, are the spelling of the text, so a character comes from the cluster whose spelling it is in. If the spelling
of a cluster is the cluster itself, it comes from the very character.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from bigtopic.corpus.text.segmentation import IGNORED, JOINERS, canonical, marks

__all__ = ["Aligned", "aligned"]

_JAMO = "\u1160-\u11ff\ud7b0-\ud7ff"  # vowels and final consonants of Hangul, not marks, but composed


class Aligned(NamedTuple):
    """The spelling of a text; for each of its characters, where what it comes from starts and stops in the text."""

    spelling: str
    starts: Sequence[int]
    stops: Sequence[int]


@cache
def _clusters() -> re.Pattern[str]:
    """Clusters of a text. A joiner is not part of a word unless a letter or a mark follows it."""
    tail = rf"(?:[{marks()}{IGNORED}{_JAMO}]|[{JOINERS}][{JOINERS}{IGNORED}]*\w?)"
    return re.compile(rf"[^{JOINERS}]{tail}*|{tail}+")


def aligned(text: str, lowercase: bool, composed: bool = True) -> Aligned:
    """The canonical spelling of a text, and where it comes from.

    Parameters
    ----------
    lowercase : as of `canonical`
    composed : False only lower-cases, as the first version of the rules for words did
    """
    lower = text.lower() if lowercase else text
    if lower.isascii() and text.isascii():
        return Aligned(lower, range(len(text)), range(1, len(text) + 1))
    # Some characters have two in lower case.
    origins = [i for i, character in enumerate(text) for _ in (character.lower() if lowercase else character)]
    if not composed:
        return Aligned(lower, origins, [i + 1 for i in origins])
    spelt: dict[str, str] = {}
    spellings, starts, stops = list[str](), list[int](), list[int]()
    for found in _clusters().finditer(lower):
        cluster, own = found[0], origins[found.start() : found.end()]
        if cluster not in spelt:
            spelt[cluster] = canonical(cluster, lowercase)
        spelling = spelt[cluster]
        spellings.append(spelling)
        if spelling == cluster:
            starts += own
            stops += [i + 1 for i in own]
        else:
            starts += [own[0]] * len(spelling)
            stops += [own[-1] + 1] * len(spelling)
    return Aligned("".join(spellings), starts, stops)
