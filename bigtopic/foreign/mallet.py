"""MALLET: topics that it wrote as text, and text files that it and its readers know.

It counts the tokens of each word in each topic by collapsed Gibbs sampling, so the model goes on with `cgs`. Models
that MALLET saved with `--output-model` are serialised Java objects and are not read. The text of files is data, and
every fault names the file and its line:

    state         #doc source pos typeindex type topic      a line per token, after lines of alpha and beta; gzip
    weights       topic <tab> word <tab> weight             a line per topic and word, prior included
    counts        id word topic:count topic:count ...       a line per word
    topic keys    topic <tab> alpha <tab> word word ...     a line per topic

References
----------
McCallum: MALLET, a machine learning for language toolkit. 2002. The formats follow MALLET 2.0.8's
`ParallelTopicModel`.
"""

from __future__ import annotations

import gzip
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bigtopic.corpus.readers.containers.files import File
from bigtopic.errors import InputError, SettingError, StoreError
from bigtopic.estimators.lda import LDA
from bigtopic.foreign._fitted import Tokens, Weights, fitted, tokens_of, weights_of
from bigtopic.state.machine_memory import check_params
from bigtopic.storage.output_file import output_file, path_or_url
from bigtopic.storage.place import Place

__all__ = [
    "Counts",
    "from_mallet",
    "read_counts",
    "read_state",
    "read_topic_keys",
    "read_weights",
    "to_mallet",
]


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
    doc_topic_prior : a number or (n_components,); None for the files' own, else MALLET's default, 5 / n_components
    topic_word_prior : a number; None for the file's own (of weights the smallest one), else MALLET's default, 0.01

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
            f"{path} is not a text file of a MALLET model; give the file of --output-state, --topic-word-weights-file "
            "or --word-topic-counts-file"
        )
    n_components = len(found.tokens)
    prior = doc_topic_prior
    if prior is None and topic_keys is not None:
        prior = read_topic_keys(File(str(topic_keys)))
    elif prior is None:
        prior = _ALPHA_SUM / n_components if found.doc_topic_prior is None else found.doc_topic_prior
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
    state : write every token of the model too, as documents of one topic each. Soft counts, such as
        variational Bayes', are rounded to whole tokens; the counts of `cgs` are whole
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
        tokens = tokens_of(model)
        if odd := next((word for word in tokens.words if word.split() != [word]), None):
            raise SettingError(
                f"model: word {odd!r} holds white space, which divides words in MALLET's state; leave out `state`, or "
                "join the parts of such words before training"
            )
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


def _weights(weights: Weights, words: list[str]) -> Iterator[str]:
    for k, row in enumerate((weights.statistics + weights.topic_word_prior).astype(np.float32)):
        yield from (f"{k}\t{word}\t{value}\n" for word, value in zip(words, row, strict=True))


def _keys(model: LDA) -> Iterator[str]:
    topics = model.topics(_N_KEYS)
    for k, (alpha, words) in enumerate(zip(model.doc_topic_prior_.tolist(), topics, strict=True)):
        yield f"{k}\t{alpha}\t{' '.join(word for word, _ in words)}\n"


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


_LINE_BYTES = 1 << 24
_TOKENS = 1 << 20  # counted at once
_STATE = "#doc source pos typeindex type topic"


class Counts(NamedTuple):
    """What a file says of topics; None where it does not say.

    tokens : float64 (n_components, n_words), of each word in each topic
    """

    tokens: np.ndarray
    words: list[str]
    doc_topic_prior: np.ndarray | None = None
    topic_word_prior: float | None = None
    n_docs: int = 0


def read_state(file: File) -> Counts | None:
    """Of `--output-state`; None for another file."""
    lines = _lines(file)
    if next(lines, (0, ""))[1] != _STATE:
        return None
    alpha = _header(file, next(lines, (2, "")), "#alpha : ")
    beta = _header(file, next(lines, (3, "")), "#beta : ")[0]
    ids: dict[str, int] = {}
    keys, found, n_docs, last = array("q"), [], 0, ""
    for number, line in lines:
        try:
            document, _, _, word, topic = line.rsplit(" ", 4)
            keys.append(ids.setdefault(word, len(ids)) * len(alpha) + _below(topic, len(alpha)))
        except ValueError:
            raise _fault(
                file, number, line, f"doc source pos typeindex type topic, topics 0 .. {len(alpha) - 1}"
            ) from None
        n_docs, last = n_docs + (document != last), document
        if len(keys) == _TOKENS:
            found.append(np.unique(keys, return_counts=True))
            keys = array("q")
    found.append(np.unique(keys, return_counts=True))
    return Counts(_summed(file, found, len(ids), len(alpha)), list(ids), np.array(alpha), beta, n_docs)


def read_weights(file: File) -> Counts | None:
    """Of `--topic-word-weights-file`; None for another file. The prior is the smallest weight: most have no tokens."""
    ids: dict[str, int] = {}
    topics, words, weights = array("q"), array("q"), array("d")
    for number, line in _lines(file):
        try:
            topic, word, weight = line.split("\t")
            topics.append(_below(topic, 1 << 24))
            weights.append(_number(weight))
        except ValueError:
            if number == 1:
                return None
            raise _fault(file, number, line, "topic, word and weight, with tabs between them") from None
        words.append(ids.setdefault(word, len(ids)))
    if not ids:
        return None
    table = _table(file, topics, words, weights)
    prior = float(table.min())
    return Counts(table - prior, list(ids), None, prior)


def read_counts(file: File) -> Counts | None:
    """Of `--word-topic-counts-file`; None for another file."""
    ids: dict[str, int] = {}
    topics, rows, values = array("q"), array("q"), array("d")
    for number, line in _lines(file):
        try:
            id_, word, *pairs = line.split()
            if _below(id_, 1 << 31) != len(ids) or word in ids:
                raise ValueError
            for pair in pairs:
                topic, count = pair.split(":")
                topics.append(_below(topic, 1 << 24))
                values.append(_number(count))
                rows.append(len(ids))
        except ValueError:
            if number == 1:
                return None
            raise _fault(
                file, number, line, f"{len(ids)}, a new word, topic:count, topic:count ..."
            ) from None
        ids[word] = len(ids)
    if not topics:
        return None
    n_components = max(topics) + 1
    keys = np.asarray(rows) * n_components + np.asarray(topics)
    return Counts(_summed(file, [(keys, np.asarray(values))], len(ids), n_components), list(ids))


def read_topic_keys(file: File) -> np.ndarray:
    """The alpha of each topic, float64 (n_components,).

    Raises
    ------
    InputError
        When the file is not one of `--output-topic-keys`.
    """
    found: list[float] = []
    for number, line in _lines(file):
        try:
            topic, alpha, _ = line.split("\t", 2)
            if int(topic) != len(found):
                raise ValueError
            found.append(_number(alpha.replace(",", ".")))  # MALLET writes it as the user's country does
        except ValueError:
            raise _fault(file, number, line, f"topic {len(found)}, alpha and words, with tabs") from None
    if not found:
        raise InputError(f"{file.path} is empty; give the file of --output-topic-keys")
    return np.array(found)


def _lines(file: File) -> Iterator[tuple[int, str]]:
    """Numbers from 1 and texts of the lines that are not blank."""
    with file.open() as stream:
        number = 0
        while data := stream.readline(_LINE_BYTES):
            number += 1
            try:
                line = data.decode().rstrip("\r\n")
            except UnicodeDecodeError:
                raise InputError(
                    f"{file.path}, line {number}: not UTF-8; convert it with iconv (a model that MALLET saved is not "
                    "text: write it with --output-state)"
                ) from None
            if len(data) == _LINE_BYTES:
                raise InputError(
                    f"{file.path}, line {number}: longer than {_LINE_BYTES >> 20} MiB; no line of MALLET is"
                )
            if line:
                yield number, line


def _header(file: File, numbered: tuple[int, str], begin: str) -> list[float]:
    number, line = numbered
    try:
        if not line.startswith(begin):
            raise ValueError
        values = [_number(value) for value in line.removeprefix(begin).split()]
    except ValueError:
        values = []
    if not values:
        raise _fault(file, number, line, f"{begin.strip()} and numbers")
    return values


def _table(file: File, topics: array[int], words: array[int], weights: array[float]) -> np.ndarray:
    """Weights of every topic and word, which the file must hold once each."""
    n_components, n_words = max(topics) + 1, max(words) + 1
    check_params(n_words, n_components, 8)
    if n_components * n_words == len(weights):
        table = np.full((n_components, n_words), np.nan)
        table[topics, words] = weights
        if not np.isnan(table).any():
            return table
    raise InputError(
        f"{file.path} holds {len(weights)} weights, not one for each of {n_components} topics and {n_words} words; "
        "it was cut short, or two files were joined: write it again"
    )


def _summed(
    file: File, found: list[tuple[np.ndarray, np.ndarray]], n_words: int, n_components: int
) -> np.ndarray:
    """Sums of values by key = word * n_components + topic, as (n_components, n_words)."""
    if not n_words:
        raise InputError(f"{file.path} holds no words; train MALLET on documents first")
    check_params(n_words, n_components, 8)
    total = np.zeros(n_words * n_components)
    for keys, values in found:
        np.add.at(total, keys, values)
    return total.reshape(n_words, n_components).T


def _below(text: str, limit: int) -> int:
    value = int(text)
    if not 0 <= value < limit:
        raise ValueError
    return value


def _number(text: str) -> float:
    value = float(text)
    if not 0 <= value < np.inf:
        raise ValueError
    return value


def _fault(file: File, number: int, line: str, wanted: str) -> InputError:
    return InputError(f"{file.path}, line {number}: expected {wanted}; found {line[:60]!r}")
