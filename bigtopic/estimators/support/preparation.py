"""What comes before learning: checks of settings and documents, held-out documents, and the size and the new words of
streams."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bigtopic.corpus.memory import MemoryPart, from_matrix
from bigtopic.corpus.select import n_test_documents
from bigtopic.corpus.store import Corpus
from bigtopic.corpus.text.stopwords import languages, words_of
from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.errors import OR_NONE, InputError, SettingError, argument, either, warn
from bigtopic.estimators.inputs import as_corpus, require_positive
from bigtopic.methods.method import SMALLEST_BATCH, Method
from bigtopic.schemes.dirichlet import LEAST, MOST, SHAPES
from bigtopic.state.axes import mapping
from bigtopic.state.contract.declarations import array_specs
from bigtopic.state.model import TopicModel
from bigtopic.state.new_model import begin_rows, count_documents
from bigtopic.support.numbers import is_number, is_whole
from bigtopic.wording import counted

__all__ = [
    "as_counted",
    "check_corpus",
    "check_settings",
    "end_pass",
    "grow",
    "held_out",
    "n_documents",
    "refuse_empty",
    "scale",
    "warn_of_left_out",
    "warn_of_small_calls",
]

_FREQUENT = 200  # words that are looked at
_DOMINANT = 0.2  # share of the tokens; stop words are half of prose
_SEVERAL = 5  # different ones: names of columns may happen to be on a list
ORDERS = ("shuffled", "stored")
_POSITIVE = (
    "batch_size", "max_iter", "slice_size", "replicas", "replica_updates", "evaluate_every", "patience", "n_threads",
    "max_doc_update_iter",
)  # fmt: skip
_NUMBERS: Sequence[tuple[str, Callable[[float], bool], str]] = (
    ("max_time", lambda value: value > 0, "above 0"),
    ("total_samples", lambda value: value > 0, "above 0"),
    ("tol", lambda value: value >= 0, "at least 0"),
    ("mean_change_tol", lambda value: value >= 0, "at least 0"),
)
_FILTERS = "options of 'bigtopic ingest' such as --min-df and --stop-words"


def check_settings(estimator: Any) -> None:
    """Check the settings before anything is computed.

    Raises
    ------
    SettingError
        Names the argument, the value found and the allowed values.
    """
    for name in estimator._counts:
        require_positive(name, getattr(estimator, name))
    for name in _POSITIVE:
        if (value := getattr(estimator, name)) is not None:
            require_positive(name, value, OR_NONE)
    for name, fits, bound in _NUMBERS:
        value = getattr(estimator, name)
        if value is not None and not (is_number(value) and abs(value) < np.inf and fits(value)):
            raise SettingError(f"{argument(name, value)}: must be a number, {bound}{OR_NONE}")
    share = estimator.average
    if share is not None and not (isinstance(share, bool | int | float | np.number) and 0 <= share <= 1):
        raise SettingError(
            f"{argument('average', share)}: must be a share of the run's updates, from 0 to 1{OR_NONE}"
        )
    if not isinstance(estimator.options, Mapping | None):
        raise SettingError(f"{argument('options', estimator.options)}: must be {{name: value}}{OR_NONE}")
    callbacks = estimator.callbacks
    if not isinstance(callbacks, Sequence) or not all(map(callable, callbacks)):
        raise SettingError(f"callbacks={callbacks!r:.60}: must be a list of functions of an event")
    if estimator.order not in ORDERS:
        raise SettingError(f"order={estimator.order!r}: must be one of {', '.join(map(repr, ORDERS))}")
    for name in estimator._priors:
        prior, learn = getattr(estimator, name), f"learn_{name}"
        if isinstance(prior, str):
            learns = f"; {argument(learn, 'asymmetric')} learns it" if learn in estimator.get_params() else ""
            raise SettingError(f"{argument(name, prior)}: must be a number or an array of numbers{learns}")
        if (shape := getattr(estimator, learn)) is not None:
            _check_learned(name, shape, prior)
    for name in ("patience", "evaluate_every"):
        if estimator.validation is None and (value := getattr(estimator, name)) is not None:
            raise SettingError(
                f"{argument(name, value)}: scores need {argument('validation', ...)}: held-out documents, or a share "
                "of the corpus"
            )
    if estimator.asynchronous not in (None, True, False):
        raise SettingError(
            f"{argument('asynchronous', estimator.asynchronous)}: must be True or False{OR_NONE}"
        )
    if (value := estimator.staleness) is not None and not (is_whole(value) and value >= 0):
        raise SettingError(
            f"{argument('staleness', value)}: must be a whole number of updates, 0 or more{OR_NONE}"
        )
    if value is not None and not estimator._or_method("asynchronous"):
        raise SettingError(f"{argument('staleness', value)}: needs {argument('asynchronous', True)}")
    if estimator.replicas is None and (value := estimator.replica_updates) is not None:
        raise SettingError(
            f"{argument('replica_updates', value)}: needs {argument('replicas', ...)}, the number of copies of the "
            "topics"
        )


def _check_learned(name: str, shape: Any, prior: Any) -> None:
    learn = argument(f"learn_{name}", shape)
    if not isinstance(shape, str) or shape not in SHAPES:
        raise SettingError(f"{learn}: must be one of {', '.join(map(repr, SHAPES))}{OR_NONE}")
    most = 0 if shape == "symmetric" else 1
    if np.ndim(prior) > most:
        raise SettingError(
            f"{argument(name)} has shape {np.shape(prior)}, but {learn} begins with a number"
            f"{' or a vector' if most else ''}; give that, or leave the prior out"
        )
    # other values are refused with the model
    numbers = [one for one in np.asarray(prior, object).ravel() if isinstance(one, int | float | np.number)]
    if not all(LEAST <= one <= MOST for one in numbers):
        raise SettingError(
            f"{argument(name, prior)}: a learned prior stays between {LEAST:g} and {MOST:g}; begin with one in this "
            "range, or leave the prior out"
        )


def check_corpus(corpus: Corpus) -> None:
    """Refuse a corpus without tokens, and warn of one that is mostly stop words.

    Raises
    ------
    InputError
    """
    refuse_empty(corpus)
    vocabulary = corpus.vocabulary
    if not vocabulary.named or vocabulary.frequency is None:
        return
    # Stop words that are many of the tokens would be what the topics are made of.
    frequent = np.argsort(-vocabulary.frequency, kind="stable")[:_FREQUENT]
    counts = dict(zip(vocabulary[frequent], vocabulary.frequency[frequent], strict=True))
    found = {name: [word for word in counts if word in words_of(name)] for name in languages()}
    tokens = {name: sum(counts[word] for word in words) for name, words in found.items()}
    most = max(tokens, key=lambda name: tokens[name])
    share = tokens[most] / float(vocabulary.frequency.sum())
    if share > _DOMINANT and len(found[most]) >= _SEVERAL:
        warn(
            f"{share:.0%} of the tokens are {most} stop words ({', '.join(found[most][:3])}, ...), which will dominate "
            "the topics; "
            + either(
                f"drop them with corpus.filter_vocabulary(drop=bigtopic.stop_words({most!r})), or pass "
                f"stop_words={most!r} to "
                "ingest",
                f"pass --stop-words {most} to 'bigtopic ingest'",
            )
        )


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


def held_out(validation: Any, corpus: Corpus, seed: int) -> tuple[Corpus, Corpus | None]:
    """Training and validation documents: those given, or a share of the corpus."""
    if validation is None:
        return corpus, None
    if isinstance(validation, int | float) and not isinstance(validation, bool):
        return corpus.split(n_test_documents(validation, corpus.n_docs, "validation"), seed)
    return corpus, as_corpus(validation, shuffle=False, text=corpus.text_settings or {})


SHORT_STREAM = 4000  # documents
OUTWEIGH = 10  # tokens for each of the prior
_SHOWN = 5  # words


def n_documents(model: TopicModel, corpus: Corpus, declared: float | None, n_seen: float) -> float:
    """Assumed size of a stream: as declared, else the documents seen so far, at least enough to separate topics.

    If the topic-word prior outweighs the tokens, every topic is the same mixture, and a single pass over documents does
    not separate them: the first documents therefore count as part of a stream with `OUTWEIGH` times as many tokens as
    the prior, but at most `SHORT_STREAM` documents, so that a prior that is meant to be strong remains strong.
    """
    if declared is not None:
        return float(declared)
    tokens = OUTWEIGH * float(model.topic_words.prior_totals.sum())
    return max(float(n_seen), min(SHORT_STREAM, tokens * corpus.n_docs / max(corpus.n_tokens, 1.0)))


def scale(model: TopicModel, factor: float) -> None:
    """Scale a start that is a share of the corpus' tokens from the first documents to the whole stream."""
    for name, spec in array_specs(model.method).items():
        if spec.start is not None and spec.start[1] is not None and factor != 1.0:
            model.params[name].multiply(factor)


def as_counted(model: TopicModel, corpus: Corpus) -> Corpus:
    """Documents in memory in the order in which `fit` counted them, if it did and the model remembers them."""
    state, in_memory = model.document_state, all(isinstance(part, MemoryPart) for part in corpus.parts)
    if state is not None and corpus.author_vocabulary is None and in_memory:
        shuffled = from_matrix(corpus.to_scipy(), corpus.vocabulary, random_state=model.seed)
        if state.has_counted(shuffled.parts, shuffled.vocabulary, model.cursor):
            return replace(shuffled, text_settings=corpus.text_settings)
    return corpus


def end_pass(model: TopicModel) -> None:
    """End a pass that was cut short: other documents do not continue it."""
    if model.cursor.inside_pass:
        if model.document_state is not None:
            model.document_state = model.document_state.to_write(model.cursor)
            model.document_state.leave_pass(model.cursor)
        model.cursor = model.cursor.next_pass()


def grow(model: TopicModel, axes: Mapping[str, Vocabulary], *, of_all: bool = False) -> None:
    """Extend each axis by the names of more documents, and add their frequencies.

    With `of_all`, the frequencies are of all documents, earlier ones included, and replace the known ones.

    Raises
    ------
    VocabularyMismatch
        When words have no names and the widths differ.
    """
    for axis, new in axes.items():
        known = model.axes[axis]
        model.axes[axis] = max(known, new, key=len) if axis == "row" else _extended(known, new, of_all)
    for name, array in model.params.arrays.items():
        if array.axis in axes:
            n_rows = array.n_rows
            array.grow(len(model.axes[array.axis]))
            begin_rows(model, name, n_rows)
    count_documents(model.method, model.params.arrays, model.axes)


def _extended(known: Vocabulary, new: Vocabulary, of_all: bool) -> Vocabulary:
    """The known names followed by the new ones, with their joint frequencies, or the frequencies of `new` alone."""
    ids = mapping(new, known)
    if ids is not None and (ids < 0).any():
        assert new.words is not None
        known = known.extended(new.words[ids < 0].tolist())
        ids = mapping(new, known)
    if known.frequency is None:  # frequencies of a part of the documents would be wrong
        return known
    seen = slice(None) if ids is None else ids
    counts = tuple(np.zeros_like(counts) if of_all else counts.copy() for counts in known.counted)
    for own, more in zip(counts, new.counted, strict=True):
        own[seen] += more
    return known.with_counts(*counts)


def warn_of_left_out(model: TopicModel, corpus: Corpus) -> None:
    """Warn of words that are new to the model because they were left out of the texts of its first documents."""
    if not (model.vocabulary.named and corpus.vocabulary.named):
        return
    words = sorted(model.left_out)
    unknown = (model.vocabulary.index_of(words) < 0) & (corpus.vocabulary.index_of(words) >= 0)
    found = [word for word, new in zip(words, unknown, strict=True) if new]
    if found:
        shown = ", ".join([*found[:_SHOWN], *["..."] * (len(found) > _SHOWN)])
        warn(
            f"partial_fit: the documents have words that were left out of the first documents ({shown}), which become "
            "words of the topics"
            + either("; to leave them out, pass corpus.filter_vocabulary(drop=[...])", "")
        )


def warn_of_small_calls(method: Method, n_calls: int, n_seen: int) -> None:
    """Warn, at the second call of a stream, that updates of few documents are noisy; the last call may be short."""
    has_step_size = any(hasattr(scheme, "learning_decay") for scheme in method.schemes.values())
    if n_calls == 2 and n_seen < n_calls * SMALLEST_BATCH and has_step_size:
        warn(
            f"partial_fit: each call is an update of the topics, and updates of fewer than {SMALLEST_BATCH} documents "
            "are noisy; collect documents and pass several hundred at a time"
        )
