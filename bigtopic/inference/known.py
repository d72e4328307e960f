"""Which words of documents a model does not know, and whether it knows too few of them to say anything.

A model knows its words, and the words left out of its training texts: stop words, and words that were too common or
named. Words that were too rare are unknown, so even of its training texts it knows only a share of the tokens.

Documents of which it knows less than half of that share are in another language or tokenised otherwise, if they have
`ENOUGH` tokens. Few tokens look so by chance: of held-out titles and news articles, up to 21 % of the pieces of 10
tokens, 2 % of 100 tokens and none of 300, to models of 200 to 20,000 documents of the same corpus that know a third
of its tokens or more.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.errors import VocabularyMismatch, either, warn
from bigtopic.plan.counting import counted_vocabulary
from bigtopic.state.axes import mapping

__all__ = ["ENOUGH", "check_known", "unknown_tokens", "unknown_words"]

ENOUGH = 300  # tokens
_SHELL = "pass --vocabulary MODEL to 'bigtopic ingest'"


def unknown_words(model: Any, vocabulary: Vocabulary) -> np.ndarray:
    """Mask (n_words,) of the words that a model does not know.

    Parameters
    ----------
    model : `TopicModel`, or any `TopicSource`; without `left_out`, it knows its words alone

    Raises
    ------
    VocabularyMismatch
        When words have no names and the widths differ.
    """
    ids = mapping(vocabulary, model.vocabulary)
    if ids is None:
        return np.zeros(len(vocabulary), bool)
    unknown: np.ndarray = ids < 0
    left_out = vocabulary.index_of(getattr(model, "left_out", ()))
    unknown[left_out[left_out >= 0]] = False
    return unknown


def unknown_tokens(
    model: Any, corpus: Any, *, client: Any = None, n_threads: int | None = None
) -> tuple[float, float]:
    """How many of the corpus' tokens are of words that the model does not know, and how many there are.

    Both are 0 where it knows every word: then nothing is counted.
    """
    unknown = unknown_words(model, corpus.vocabulary)
    if not unknown.any():
        return 0.0, 0.0
    # Of exactly these documents: a view may be the part of a multilingual corpus in the model's language.
    frequency = counted_vocabulary(corpus, client, n_threads).frequency
    assert frequency is not None
    return float(np.sum(frequency[unknown])), float(np.sum(frequency))


def check_known(model: Any, n_unknown: float, n_tokens: float) -> None:
    """Warn of tokens that the model does not know, and refuse documents of which it knows too few; see the module.

    Raises
    ------
    VocabularyMismatch
        When it knows less than half as large a share of at least `ENOUGH` tokens as of its training texts.
    """
    share = n_unknown / n_tokens if n_tokens else 0.0
    known = (1.0 - share) / getattr(model, "known_share", 1.0)
    if known < 0.5 and n_tokens >= ENOUGH:
        raise VocabularyMismatch(
            f"the model does not know {share:.0%} of the {n_tokens:,.0f} tokens; pass documents in the language and "
            "with the tokeniser settings of its training texts; if they hold many words that training left out as too "
            f"rare, {either('ingest them with vocabulary=model', _SHELL)}"
        )
    if known < 0.8:
        warn(f"{share:.0%} of the tokens are unknown to the model and left out")
