"""The start of a fit: check settings and documents, hold out some of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bigtopic.corpus.select import n_test_documents
from bigtopic.corpus.store import Corpus
from bigtopic.corpus.text.stopwords import languages, words_of
from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.errors import OR_NONE, InputError, SettingError, argument, either, warn
from bigtopic.schemes.dirichlet import LEAST, MOST, SHAPES
from bigtopic.wording import counted

__all__ = ["check_corpus", "check_settings", "held_out", "refuse_empty"]

_FREQUENT = 200  # words that are looked at
_DOMINANT = 0.2  # share of the tokens; stop words are half of prose
_SEVERAL = 5  # different ones: names of columns may happen to be on a list
ORDERS = ("shuffled", "stored")
_FILTERS = "options of 'bigtopic ingest' such as --min-df and --stop-words"


def check_settings(estimator: Any) -> None:
    """Check the settings before anything is computed.

    Raises
    ------
    SettingError
        Names the argument, the value found and the allowed values.
    """
    for name in (
        *estimator._counts,
        "batch_size",
        "max_iter",
        "slice_size",
        "replicas",
        "replica_updates",
        "evaluate_every",
        "patience",
        "n_threads",
    ):
        _whole(name, getattr(estimator, name), optional=name not in estimator._counts)
    for name in ("max_time", "total_samples"):
        _number(name, getattr(estimator, name), above=0)
    _number("tol", estimator.tol, least=0)
    _number("mean_change_tol", estimator.mean_change_tol, least=0)
    _share("average", estimator.average)
    _whole("max_doc_update_iter", estimator.max_doc_update_iter, optional=True)
    if not isinstance(estimator.options, Mapping | None):
        raise SettingError(f"{argument('options', estimator.options)}: must be {{name: value}}{OR_NONE}")
    callbacks = estimator.callbacks
    if not isinstance(callbacks, Sequence) or not all(map(callable, callbacks)):
        raise SettingError(f"callbacks={callbacks!r:.60}: must be a list of functions of an event")
    if estimator.order not in ORDERS:
        raise SettingError(f"order={estimator.order!r}: must be one of {', '.join(map(repr, ORDERS))}")
    settings = estimator.get_params()
    for name in estimator._priors:
        if isinstance(settings[name], str):
            learns = (
                f"; {argument(f'learn_{name}', 'asymmetric')} learns it"
                if f"learn_{name}" in settings
                else ""
            )
            raise SettingError(
                f"{argument(name, settings[name])}: must be a number or an array of numbers{learns}"
            )
        _learned(name, getattr(estimator, f"learn_{name}"), getattr(estimator, name))
    for name in ("patience", "evaluate_every"):
        if estimator.validation is None and (value := getattr(estimator, name)) is not None:
            raise SettingError(
                f"{argument(name, value)}: scores need {argument('validation', ...)}: held-out documents, or a share "
                "of the corpus"
            )
    if estimator.replicas is None and (value := estimator.replica_updates) is not None:
        raise SettingError(
            f"{argument('replica_updates', value)}: needs {argument('replicas', ...)}, the number of copies of the "
            "topics"
        )


def _whole(name: str, value: Any, optional: bool) -> None:
    if value is None and optional:
        return
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise SettingError(
            f"{argument(name, value)}: must be a whole number, 1 or more{OR_NONE if optional else ''}"
        )


def _number(name: str, value: Any, *, above: float | None = None, least: float | None = None) -> None:
    if value is None:
        return
    good = (
        isinstance(value, int | float | np.number)
        and not isinstance(value, bool)
        and -np.inf < value < np.inf
    )
    if not good or (above is not None and value <= above) or (least is not None and value < least):
        bound = f"above {above}" if above is not None else f"at least {least}"
        raise SettingError(f"{argument(name, value)}: must be a number, {bound}{OR_NONE}")


def _share(name: str, value: Any) -> None:
    if value is not None and not (isinstance(value, bool | int | float | np.number) and 0 <= value <= 1):
        raise SettingError(
            f"{argument(name, value)}: must be a share of the run's updates, from 0 to 1{OR_NONE}"
        )


def _learned(name: str, shape: Any, prior: Any) -> None:
    if shape is None:
        return
    if not isinstance(shape, str) or shape not in SHAPES:
        raise SettingError(
            f"{argument(f'learn_{name}', shape)}: must be one of {', '.join(map(repr, SHAPES))}{OR_NONE}"
        )
    most = 0 if shape == "symmetric" else 1
    if np.ndim(prior) > most:
        raise SettingError(
            f"{argument(name)} has shape {np.shape(prior)}, but {argument(f'learn_{name}', shape)} begins with a number"
            f"{' or a vector' if most else ''}; give that, or leave the prior out"
        )
    # what is no number is refused elsewhere
    values = np.asarray(prior, object).ravel()
    wrong = [one for one in values if isinstance(one, int | float | np.number) and not LEAST <= one <= MOST]
    if wrong:
        raise SettingError(
            f"{argument(name, prior)}: a prior that is learned stays from {LEAST:g} to {MOST:g}; begin with such a "
            "one, or leave the prior out"
        )


def check_corpus(corpus: Corpus) -> None:
    """Refuse a corpus without tokens, and warn of one that is mostly stop words.

    Raises
    ------
    InputError
    """
    refuse_empty(corpus)
    _warn_of_stop_words(corpus.vocabulary)


def refuse_empty(corpus: Corpus) -> None:
    """Refuse a corpus without tokens: most schemes would move the topics back to their prior.

    Raises
    ------
    InputError
    """
    if corpus.n_docs == 0 or corpus.n_words == 0 or corpus.nnz == 0:
        found = f"{counted(corpus.n_docs, 'document')}{' without words' if corpus.n_docs else ''}"
        raise InputError(
            f"there is nothing to learn from: {found}; check the source and "
            f"{either('settings such as min_df and stop_words', _FILTERS)}"
        )


def _warn_of_stop_words(vocabulary: Vocabulary) -> None:
    """Say when stop words of a language are many of the tokens: they would be what the topics are made of."""
    if not vocabulary.named or vocabulary.frequency is None:
        return
    frequent = np.argsort(-vocabulary.frequency, kind="stable")[:_FREQUENT]
    counts = dict(zip(vocabulary[frequent], vocabulary.frequency[frequent], strict=True))
    found = {name: [word for word in counts if word in words_of(name)] for name in languages()}
    tokens = {name: sum(counts[word] for word in words) for name, words in found.items()}
    most = max(tokens, key=lambda name: tokens[name])
    share = tokens[most] / float(vocabulary.frequency.sum())
    if share > _DOMINANT and len(found[most]) >= _SEVERAL:
        warn(
            f"{share:.0%} of the tokens are {most} stop words ({', '.join(found[most][:3])}, ...), which will dominate "
            f"the topics; "
            + either(
                f"drop them with corpus.filter_vocabulary(drop=bigtopic.stop_words({most!r})), or pass "
                f"stop_words={most!r} to "
                "ingest",
                f"pass --stop-words {most} to 'bigtopic ingest'",
            )
        )


def held_out(validation: Any, corpus: Corpus, seed: int) -> tuple[Corpus, Corpus | None]:
    """Training and validation documents: those given, or a share of the corpus."""
    if validation is None:
        return corpus, None
    if isinstance(validation, int | float) and not isinstance(validation, bool):
        return corpus.split(n_test_documents(validation, corpus.n_docs, "validation"), seed)
    from bigtopic.estimators.inputs import as_corpus

    return corpus, as_corpus(validation, shuffle=False, text=corpus.text_settings or {})
