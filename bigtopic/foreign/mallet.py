"""MALLET: topics that it wrote as text, and text files that it and its readers know.

It counts the tokens of each word in each topic by collapsed Gibbs sampling, so the model goes on with `cgs`. Models
that MALLET saved with `--output-model` are serialised Java objects and are not read.

References
----------
McCallum: MALLET, a machine learning for language toolkit. 2002.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bigtopic.corpus.readers.containers.files import File
from bigtopic.errors import InputError, SettingError, StoreError
from bigtopic.estimators.lda import LDA
from bigtopic.foreign._fitted import Weights, fitted, weights_of
from bigtopic.foreign._mallet_files import Counts, read_counts, read_state, read_topic_keys, read_weights
from bigtopic.foreign._tokens import Tokens, tokens_of
from bigtopic.storage.output_file import output_file, path_or_url
from bigtopic.storage.place import Place

__all__ = ["from_mallet", "to_mallet"]

_ALPHA_SUM, _BETA = 5.0, 0.01  # MALLET's defaults
_N_KEYS = 20  # words of a topic, as MALLET's
WEIGHTS, KEYS, DOC_TOPICS = "topic-word-weights.txt", "topic-keys.txt", "doc-topics.txt"
DOCUMENTS, STATE = "documents.txt", "state.gz"


def from_mallet(
    path: str | Path,
    *,
    topic_keys: str | Path | None = None,
    doc_topic_prior: Any = None,
    topic_word_prior: Any = None,
) -> LDA:
    """Read a model from a text file of MALLET.

    Parameters
    ----------
    path : the file of `--output-state`, which has the priors; else of `--topic-word-weights-file`, or of
        `--word-topic-counts-file`, which lack topics without tokens. Plain or compressed; path or URL
    topic_keys : the file of `--output-topic-keys`, for its document-topic prior
    doc_topic_prior : a number or (n_components,); None for that of the files, else MALLET's default, 5 / n_components
    topic_word_prior : a number; None for that of the file (of weights the smallest one), else MALLET's default, 0.01

    Returns
    -------
    LDA
        Fitted; `partial_fit` adds the tokens of more documents, and keeps the priors.

    Raises
    ------
    InputError
        When the file is none of these, is damaged, or a line is malformed; names the line.
    SettingError
        When a prior is not allowed.
    """
    file = File(str(path))
    found = read_state(file) or read_weights(file) or read_counts(file)
    if found is None:
        raise InputError(
            f"{path} is not a text file of a MALLET model; give that of --output-state, --topic-word-weights-file or "
            "--word-topic-counts-file"
        )
    n_components = len(found.tokens)
    prior = _prior(found, topic_keys) if doc_topic_prior is None else doc_topic_prior
    if np.shape(prior) not in ((), (n_components,)):
        raise SettingError(
            f"the document-topic prior has shape {np.shape(prior)}, but {path} has {n_components} topics; give "
            "a number, or one for each"
        )
    if topic_word_prior is None:
        topic_word_prior = _BETA if found.topic_word_prior is None else found.topic_word_prior
    weights = Weights(
        found.tokens,
        np.full(n_components, prior, np.float64),
        np.asarray(topic_word_prior, np.float64),
        found.words,
    )
    return fitted(weights, n_docs=found.n_docs, method="cgs")


def _prior(found: Counts, topic_keys: str | Path | None) -> Any:
    if topic_keys is not None:
        return read_topic_keys(File(str(topic_keys)))
    return _ALPHA_SUM / len(found.tokens) if found.doc_topic_prior is None else found.doc_topic_prior


def to_mallet(
    model: LDA,
    folder: str | Path,
    X: Any = None,
    *,
    state: bool = False,
    storage_options: Mapping[str, Any] | None = None,
) -> list[Path | str]:
    """Write a model as text files of MALLET, for tools that read these and, with `state`, for MALLET itself.

    What `from_mallet` reads from them has the same topics. MALLET, from 2.0.8 on, imports `documents.txt` and goes on
    from `state.gz`:

        mallet import-file --input documents.txt --output documents.mallet \\
            --line-regex '^(\\S+) (\\S+) (.*)$' --keep-sequence --preserve-case --encoding UTF-8 --token-regex '\\S+'
        mallet train-topics --input documents.mallet --input-state state.gz --no-inference true \\
            --inferencer-filename topics.inferencer

    Parameters
    ----------
    model : a fitted `LDA`
    folder : or URL of one; made if it does not exist
    X : documents, as `transform` takes them, for the file of their topics; in memory
    state : write every token of the model too, as documents of one topic each. Soft counts, those of variational Bayes
        for example, are rounded to whole tokens; the counts of `cgs` are whole
    storage_options : for fsspec, of a URL

    Returns
    -------
    list of Path, or of URLs
        topic-word-weights.txt, topic-keys.txt; with `X`, doc-topics.txt; with `state`, documents.txt and state.gz.

    Raises
    ------
    SettingError
        When `model` is not an `LDA`, a word or the id of a document holds a tab or a line end or, with a state, a word
        holds white space, or no word has a whole token in a topic.
    StoreError
        When one of the files exists or would be inside a store, or the system refuses to write.
    """
    weights, target = weights_of(model), Place.of(folder, storage_options)
    words = list(weights.words or ())
    _check_names("model: word", words)
    files: dict[str, Iterable[str]] = {WEIGHTS: _weights(weights, words), KEYS: _keys(model)}
    if X is not None:
        corpus = model._documents(X)
        _check_names("X: document", corpus.document_ids("source").tolist())
        files[DOC_TOPICS] = _doc_topics(model, corpus)
    if state:
        tokens = _of_one_word_each(tokens_of(model))
        files |= {DOCUMENTS: _documents(tokens), STATE: _state(tokens)}
    places = [target / name for name in files]
    for place in places:
        _check_free(place)
    for place, lines in zip(places, files.values(), strict=True):
        _write(place, lines)
    return [path_or_url(place) for place in places]


def _check_names(what: str, names: Iterable[str]) -> None:
    if odd := next((name for name in names if {*"\t\r\n"} & {*name}), None):
        raise SettingError(f"{what} {odd!r} holds a tab or a line end, which would break MALLET's lines")


def _of_one_word_each(tokens: Tokens) -> Tokens:
    if odd := next((word for word in tokens.words if len(word.split()) != 1 or word.strip() != word), None):
        raise SettingError(
            f"model: word {odd!r} holds white space, which divides words in MALLET's state; leave out `state`, or join "
            "the parts of such words before training"
        )
    return tokens


def _weights(weights: Weights, words: list[str]) -> Iterator[str]:
    for k, row in enumerate((weights.statistics + weights.topic_word_prior).astype(np.float32)):
        yield from (f"{k}\t{word}\t{value}\n" for word, value in zip(words, row, strict=True))


def _keys(model: LDA) -> Iterator[str]:
    for k, alpha in enumerate(model.doc_topic_prior_.tolist()):
        yield f"{k}\t{alpha}\t{' '.join(word for word, _ in model.show_topic(k, _N_KEYS))}\n"


def _doc_topics(model: LDA, corpus: Any) -> Iterator[str]:
    ids = corpus.document_ids("source").tolist()
    for d, (name, shares) in enumerate(zip(ids, model.transform(corpus), strict=True)):
        yield "\t".join([str(d), str(name), *map(str, shares.tolist())]) + "\n"


def _documents(tokens: Tokens) -> Iterator[str]:
    for topic, columns in tokens.documents():
        yield f"topic{topic} - {' '.join(tokens.words[v] for v in columns.tolist())}\n"


def _state(tokens: Tokens) -> Iterator[str]:
    """MALLET numbers words by their first tokens."""
    numbers: dict[int, int] = {}
    yield "#doc source pos typeindex type topic\n"
    yield f"#alpha : {' '.join(map(str, tokens.doc_topic_prior.tolist()))} \n"
    yield f"#beta : {tokens.topic_word_prior}\n"
    for d, (topic, columns) in enumerate(tokens.documents()):
        for i, v in enumerate(columns.tolist()):
            yield f"{d} NA {i} {numbers.setdefault(v, len(numbers))} {tokens.words[v]} {topic}\n"


def _check_free(place: Place) -> None:
    if place.exists():
        raise StoreError(f"{place.url} exists; nothing was written: give another folder")


def _write(place: Place, lines: Iterable[str]) -> None:
    opener: Callable[..., Any] = gzip.open if place.url.endswith(".gz") else open
    with (
        output_file(place, partial(_check_free, place)) as draft,
        opener(draft.url, "wt", encoding="utf-8", newline="\n") as file,
    ):
        file.writelines(lines)
