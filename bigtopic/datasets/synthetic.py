"""Documents drawn from latent Dirichlet allocation itself: the truth is known. In memory, in blocks, in a file.

    topics_kw  ~ Gamma(topic_word_prior) / (w + 11) ** zipf_exponent, each topic normalised; w = 0, 1, ...
    length_d   ~ Poisson(rate), rate ~ Gamma(mean mean_length, standard deviation length_spread * mean_length)
    theta_d    ~ Dirichlet(doc_topic_prior);  per token: z ~ theta_d, w ~ topics_z

With exponent 0 a topic is a symmetric Dirichlet draw. With another, word frequencies of the whole corpus
follow Zipf's law with a flat head (Mandelbrot), as text without its stop words does, and rare words are as
unevenly divided among the topics as frequent ones, so that they keep their frequency.

The topics of a document's tokens come from the Polya urn that integrates theta out; theta is then drawn from
its posterior given them. The joint distribution is the same, and a token costs one urn draw and one look-up in
an alias table, whatever the number of topics. Random numbers are keyed by (random_state, document): a document does not
depend on which others are drawn, or by whom.

References
----------
Blei, Ng, Jordan: Latent Dirichlet allocation. JMLR 3 (2003), section 3.
Blackwell, MacQueen: Ferguson distributions via Polya urn schemes. Annals of Statistics 1 (1973).
Vose: A linear algorithm for generating random numbers with a given distribution. IEEE TSE 17 (1991).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import special
from scipy.sparse import csr_array

from bigtopic.corpus.order import checked_seed, document_keys, mix
from bigtopic.errors import SettingError, argument
from bigtopic.storage.output_file import output_file
from bigtopic.storage.place import Place
from bigtopic.support.deprecations import renamed, renamed_attribute
from bigtopic.support.numbers import is_number, is_whole

__all__ = [
    "KnownLDA",
    "SyntheticCorpus",
    "check_range",
    "check_settings",
    "keyed_uniform",
    "lda_corpus",
    "write_bag_of_words",
]

_HEAD = 11  # of Zipf's law: the most frequent word is no more than a few per cent of text without stop words
_CHUNK_TOKENS = 1 << 20
_STREAM = 0x64726177  # added to the seed: orders and splits of the same seed are independent of the draws
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class SyntheticCorpus(NamedTuple):
    """Documents and the truth they were drawn from.

    counts : csr_array (n_docs, n_words) float32
    components : (n_components, n_words) float64, rows sum to 1
    doc_topics : (n_docs, n_components) float64, rows sum to 1
    """

    counts: csr_array
    components: np.ndarray
    doc_topics: np.ndarray


@renamed(seed="random_state")
@dataclass(frozen=True)
class KnownLDA:
    """A model whose topics are known. Its `components_` and `doc_topic_prior_` let measures treat it as fitted.

    Parameters
    ----------
    n_words, n_components : sizes
    mean_length : mean tokens per document; documents without any are not drawn
    length_spread : relative standard deviation of the documents' mean lengths; 0 makes lengths Poisson
    doc_topic_prior : symmetric Dirichlet parameter of a document's topics; in the literature alpha
    topic_word_prior : Gamma shape of a topic's words, the symmetric Dirichlet parameter when the exponent is 0;
        the smaller, the fewer words a topic has. In the literature eta
    zipf_exponent : how steeply word frequencies fall with the word's id; about 1 for text, 0 for none
    random_state : seed of topics and documents

    Raises
    ------
    SettingError
        When a size is not a whole number of at least 1, a length or prior is not positive, another setting is negative,
        or `random_state` is not a whole number.

    Examples
    --------
    >>> model = KnownLDA(n_words=50, n_components=3)
    >>> model.documents(100).counts.shape, model.components_.shape
    ((100, 50), (3, 50))
    """

    n_words: int
    n_components: int
    mean_length: float = 100.0
    length_spread: float = 0.0
    doc_topic_prior: float = 0.1
    topic_word_prior: float = 0.05
    zipf_exponent: float = 0.0
    random_state: int = 0

    seed = renamed_attribute("seed", "random_state")

    def __post_init__(self) -> None:
        check_settings(self, "length_spread", "zipf_exponent")

    @property
    def components_(self) -> np.ndarray:
        """The topics: (n_components, n_words) float64, rows sum to 1. Drawn again at every access."""
        return np.stack([_topic(self, k) for k in range(self.n_components)])

    @property
    def doc_topic_prior_(self) -> np.ndarray:
        """float64 (n_components,)."""
        return np.full(self.n_components, float(self.doc_topic_prior))

    def documents(self, n_docs: int, first: int = 0) -> SyntheticCorpus:
        """The documents `first` to `first + n_docs - 1`, in memory.

        Raises
        ------
        SettingError
            When `n_docs` is not a whole number greater than 0, or `first` not one of 0 or more.
        """
        check_range(n_docs, first)
        drawn = _draw(self, first, n_docs)
        return SyntheticCorpus(drawn.counts, self.components_, _doc_topics(self, drawn))

    def dask_array(self, n_docs: int, first: int = 0) -> Any:
        """The same documents as a Dask array (n_docs, n_words) of CSR blocks, each drawn when it is computed.

        A block has about a million tokens, and `ingest` reads the array block by block: a corpus of any size can
        be made without a file. The topics are drawn once in every process.

        Raises
        ------
        SettingError
            When `n_docs` is not a whole number greater than 0, or `first` not one of 0 or more.

        Examples
        --------
        >>> from bigtopic import ingest
        >>> ingest(KnownLDA(n_words=50, n_components=3).dask_array(1000), "memory://drawn.zarr").n_docs
        1000
        """
        import dask.array

        lengths = tuple(length for _, length in _spans(self, n_docs, first))
        return dask.array.map_blocks(
            _block,
            self,
            first,
            chunks=(lengths, (self.n_words,)),
            dtype=np.float32,
            meta=csr_array((0, 0), dtype=np.float32),
        )


@renamed(seed="random_state")
def lda_corpus(n_docs: int, n_words: int, n_components: int, **settings: Any) -> SyntheticCorpus:
    """A corpus drawn from LDA, in memory, with its true topics.

    Parameters
    ----------
    n_docs, n_words, n_components : sizes
    **settings : see `KnownLDA`

    Returns
    -------
    SyntheticCorpus

    Raises
    ------
    SettingError
        As `KnownLDA`, or when `n_docs` is not positive.

    Examples
    --------
    >>> from bigtopic.datasets import lda_corpus
    >>> lda_corpus(100, 50, 3).counts.shape
    (100, 50)
    """
    return KnownLDA(n_words, n_components, **settings).documents(n_docs)


def write_bag_of_words(
    path: str | Path, model: KnownLDA, n_docs: int, storage_options: Mapping[str, Any] | None = None
) -> int:
    """Write the first documents as a UCI bag-of-words file (`docword`), a million tokens in memory at a time.

    Parameters
    ----------
    path : or URL of the file, which is replaced if it exists
    model : the model to draw from
    n_docs : number of documents
    storage_options : for fsspec, of a URL

    Returns
    -------
    int
        Non-zeros written.

    Raises
    ------
    SettingError
        When `n_docs` is not positive.
    StoreError
        When the path is inside a store, or the system refuses to write.
    """
    from bigtopic.datasets._kernels import bag_of_words_lines

    spans = _spans(model, n_docs, 0)
    header = f"{n_docs}\n{model.n_words}\n{{:012d}}\n"
    n_written = 0
    place = Place.of(path, storage_options)
    with output_file(place, lambda: None) as draft, Path(draft.url).open("wb") as file:
        file.write(header.format(0).encode())
        for start, length in spans:
            counts = _draw(model, start, length).counts
            file.write(bag_of_words_lines(counts, start))
            n_written += counts.nnz
        file.seek(0)  # the header is of fixed width: written again once the figure is known
        file.write(header.format(n_written).encode())
    return n_written


def check_settings(model: Any, *may_be_zero: str) -> None:
    """Check a known model, a dataclass: whole sizes and other numbers are positive and finite, `random_state` is whole.

    Raises
    ------
    SettingError
        Names the first setting that is not; `may_be_zero` names those that may be 0.
    """
    for one in fields(model):
        name, value = one.name, getattr(model, one.name)
        if name == "random_state":
            checked_seed(value)
        elif one.type == "int":
            check_size(name, value)
        elif not is_number(value):
            raise SettingError(f"{argument(name)}: must be one number, found {value!r:.60}")
        elif not (0 < value < np.inf or (value == 0 and name in may_be_zero)):
            least = "0 or more" if name in may_be_zero else "greater than 0"
            raise SettingError(f"{argument(name, value)}: must be {least} and finite")


def check_size(name: str, size: Any) -> None:
    """Raise SettingError unless this argument is a whole number greater than 0."""
    if not is_whole(size) or size < 1:
        raise SettingError(f"{argument(name, size)}: must be a whole number, 1 or more")


def check_range(n_docs: int, first: int) -> None:
    """Raise SettingError unless these are a number of documents and the first of them."""
    check_size("n_docs", n_docs)
    if not is_whole(first) or first < 0:
        raise SettingError(f"{argument('first', first)}: must be a whole number, 0 or more")


def _spans(model: KnownLDA, n_docs: int, first: int) -> list[tuple[int, int]]:
    """First document and number of documents of each chunk."""
    check_range(n_docs, first)
    step = max(1, int(_CHUNK_TOKENS / model.mean_length))
    stop = first + n_docs
    return [(start, min(step, stop - start)) for start in range(first, stop, step)]


def _block(model: KnownLDA, first: int, block_info: Any = None) -> csr_array:
    """One block of `KnownLDA.dask_array`."""
    start, stop = block_info[None]["array-location"][0]
    return _draw(model, first + start, stop - start).counts


class _Tables(NamedTuple):
    """What documents are drawn with.

    words : uint32 (n_components, n_words, 2), alias tables
    lengths : float64 (longest,), probability of a length of at most 1, 2, ... tokens
    """

    words: np.ndarray
    lengths: np.ndarray


@lru_cache(maxsize=2)
def _tables(model: KnownLDA) -> _Tables:
    from bigtopic.datasets._kernels import fill_alias_table

    words = np.empty((model.n_components, model.n_words, 2), np.uint32)
    for k in range(model.n_components):
        fill_alias_table(_topic(model, k), words[k])
    return _Tables(words, _length_probabilities(model.mean_length, model.length_spread))


def _topic(model: KnownLDA, k: int) -> np.ndarray:
    """p(word | topic k), float64 (n_words,). In logarithms: a small shape gives weights below the least float."""
    rng = np.random.default_rng([model.random_state % (1 << 64), k])
    log_weights = np.log(rng.standard_gamma(model.topic_word_prior + 1, model.n_words))
    log_weights -= rng.standard_exponential(model.n_words) / model.topic_word_prior
    log_weights -= model.zipf_exponent * np.log(np.arange(model.n_words) + _HEAD)
    weights = np.exp(log_weights - log_weights.max())
    return weights / weights.sum()


def _length_probabilities(mean: float, spread: float) -> np.ndarray:
    """P(length <= 1, 2, ... | length >= 1): Poisson, or negative binomial with 1 / spread**2 failures."""
    lengths = np.arange(int(mean * (2 + 40 * spread**2) + 20 * mean**0.5) + 20)
    if spread == 0:
        below = special.pdtr(lengths, mean)
    else:
        failures = spread**-2
        below = special.betainc(failures, lengths + 1, failures / (failures + mean))
    return (below[1:] - below[0]) / (1 - below[0])


class _Drawn(NamedTuple):
    """Documents, and how they were drawn: keys uint64 (n_docs,), starts int64 (n_docs + 1,), first token of each
    document, topics int32 (n_tokens,)."""

    counts: csr_array
    keys: np.ndarray
    starts: np.ndarray
    topics: np.ndarray


def _draw(model: KnownLDA, first: int, n_docs: int) -> _Drawn:
    """Documents first .. first + n_docs - 1. Draw 0 of a document's key is its length, 2 n + 1 and 2 n + 2 are its
    n-th token, what follows is its theta."""
    from bigtopic.datasets._kernels import draw_documents

    tables = _tables(model)
    keys = document_keys(model.random_state + _STREAM, np.arange(first, first + n_docs))
    lengths = 1 + np.searchsorted(tables.lengths, keyed_uniform(keys, np.zeros(1, np.uint64)))
    starts = np.concatenate([[0], np.cumsum(lengths)])
    topics, words = np.empty((2, starts[-1]), np.int32)
    counts = np.empty(starts[-1], np.float32)
    indptr = np.zeros(n_docs + 1, np.int64)
    draw_documents(keys, starts, tables.words, float(model.doc_topic_prior), topics, words, counts, indptr)
    entries = (counts[: indptr[-1]], words[: indptr[-1]], indptr)
    return _Drawn(csr_array(entries, shape=(n_docs, model.n_words)), keys, starts, topics)


def _doc_topics(model: KnownLDA, drawn: _Drawn) -> np.ndarray:
    """theta given the topics of the tokens: Dirichlet(doc_topic_prior + tokens of each topic), by inversion."""
    n_docs, n_components = len(drawn.keys), model.n_components
    lengths = np.diff(drawn.starts)
    cells = np.repeat(np.arange(n_docs) * n_components, lengths) + drawn.topics
    tokens = np.bincount(cells, minlength=n_docs * n_components).reshape(n_docs, n_components)
    draws = (1 + 2 * lengths[:, None] + np.arange(n_components)).astype(np.uint64)
    weights = special.gammaincinv(model.doc_topic_prior + tokens, keyed_uniform(drawn.keys[:, None], draws))
    return weights / weights.sum(axis=1, keepdims=True)


def keyed_uniform(keys: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """Numbers strictly between 0 and 1, float64: these draws of these keys."""
    return ((mix(keys + (draws + np.uint64(1)) * _GOLDEN) >> np.uint64(11)) + 0.5) * 2.0**-53
