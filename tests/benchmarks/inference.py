"""Documents a second of `transform`, and how well the topics it finds predict the rest of each document.

Topics are learnt here and handed to the others, so that all have the same. Speed: many documents, in the system's own
form before the clock starts, on two threads or processes where it has them. Score: document completion; each system
sees the same half of the tokens of each document and one function predicts the other half, so that what differs is
inference.

Tomotopy can be given topics only as priors of words, which slow it down: it is timed with topics of its own.

    python -m tests.benchmarks inference
    python -m tests.benchmarks inference --corpora demo --peers scikit-learn
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import corpora
import numpy as np
import results
from peers import PEERS, document_pairs, document_tokens
from scipy.sparse import csr_matrix
from timing import Timer

N_DOCS, N_WORDS, N_DISTINCT = 11_000, 10_000, 100  # of the synthetic corpus
N_SCORED = 3000
HEAD = (
    "system",
    "documents a second",
    "bigtopic is times faster",
    "nats per held-out token",
    "bigtopic is better by",
)
SLOW = {"gensim": 4000, "tomotopy": 400}  # documents of one timed run


class Trained(NamedTuple):
    """components : topic weights (n_components, n_words); prior : of topics in documents; a seed for the others."""

    model: Any
    components: np.ndarray
    prior: float

    @property
    def n_components(self) -> int:
        return len(self.components)


class System(NamedTuple):
    """prepare : counts (n_docs, n_words) to the system's own form; infer : that to (n_docs, n_components)."""

    prepare: Callable[[Any], Any]
    infer: Callable[[Any], np.ndarray]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpora", default="zipf,demo", help="zipf: documents of 100 distinct words each")
    parser.add_argument("--data", type=Path, help="folder with ap/, bbc/ and dblp/, for these")
    parser.add_argument("--peers", default="scikit-learn,gensim,tomotopy")
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "bigtopic-benchmark")
    results.add_option(parser)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    timer = Timer(2)
    for name in given.corpora.split(","):
        compare(given, name, timer)
    print(f"\n{timer}")


def compare(given: argparse.Namespace, name: str, timer: Timer) -> None:
    """One corpus, all systems."""
    counts = (
        zipf_documents()
        if name == "zipf"
        else corpora.load(name, given.data, given.folder).to_scipy("stored")
    )
    counts = counts[np.diff(counts.indptr) > 1]
    trained = train(counts[N_SCORED:], given.topics)
    systems = {"bigtopic": System(lambda counts: counts, trained.model.transform)}
    for peer in filter(None, given.peers.split(",")):
        missing = PEERS[peer].missing()
        if missing:
            print(f"{peer} is left out: {missing}")
        else:
            systems[peer] = MAKERS[peer](trained)
    observed, held_out = halves(counts[:N_SCORED])
    scores = {label: score(s.infer(s.prepare(observed)), trained, held_out) for label, s in systems.items()}
    tokens = held_out.sum(axis=1).A1
    if "tomotopy" in systems:
        systems["tomotopy"] = tomotopy_of_its_own(trained, counts)
    rates = speeds(systems, counts, timer, given.runs)
    rows = [HEAD]
    for label, rate in rates.items():
        share = results.with_spread(np.median(rates["bigtopic"]) / rate)
        value, _ = ratio(scores[label], tokens)
        by, error = ratio(scores["bigtopic"] - scores[label], tokens)
        rest = ("", "") if label == "bigtopic" else (share, f"{by:.4f} ± {error:.4f}")
        rows.append((label, results.with_spread(rate), rest[0], f"{value:.4f}", rest[1]))
    caption = (
        f"{name}: {counts.shape[0]:,} documents, {counts.nnz / counts.shape[0]:.0f} distinct words each; "
        f"{given.topics} topics, {tokens.sum():,.0f} held-out tokens"
    )
    found = {
        label: {"rates": rate.tolist(), "score": ratio(scores[label], tokens)}
        for label, rate in rates.items()
    }
    results.report(given, f"inference-{name}", caption, rows, found)


def train(counts: Any, n_components: int) -> Trained:
    """A default model of these documents."""
    from bigtopic.estimators.lda import LDA

    model = LDA(n_components, method="online-cvb0", client=False, n_threads=2, progress=False).fit(counts)
    return Trained(model, model.components_.astype(np.float64), float(model.doc_topic_prior_[0]))


def speeds(systems: dict[str, System], counts: Any, timer: Timer, runs: int) -> dict[str, np.ndarray]:
    """Documents a second of each timed run."""
    sizes = {label: min(SLOW.get(label, N_DOCS), counts.shape[0]) for label in systems}
    ready = {label: system.prepare(counts[: sizes[label]]) for label, system in systems.items()}
    times = timer.alternate({k: (lambda k=k: systems[k].infer(ready[k])) for k in systems}, runs)
    return {label: sizes[label] / times[label].seconds for label in systems}


def score(doc_topics: np.ndarray, trained: Trained, held_out: Any) -> np.ndarray:
    """Log probability, in nats, of the counts of each document under its topics and the means of the topics' words."""
    topics = np.ascontiguousarray((trained.components / trained.components.sum(axis=1, keepdims=True)).T)
    rows = np.repeat(np.arange(held_out.shape[0]), np.diff(held_out.indptr))
    doc_topics = doc_topics / doc_topics.sum(axis=1, keepdims=True)
    predicted = np.einsum("ik,ik->i", doc_topics[rows], topics[held_out.indices])
    return np.bincount(rows, held_out.data * np.log(predicted), held_out.shape[0])


def ratio(total: np.ndarray, tokens: np.ndarray) -> tuple[float, float]:
    """sum(total) / sum(tokens) and its standard error over documents."""
    value = total.sum() / tokens.sum()
    return float(value), float(np.sqrt(((total - value * tokens) ** 2).sum()) / tokens.sum())


def halves(counts: Any) -> tuple[Any, Any]:
    """Each token observed or held out, with equal chances; documents with nothing observed are left out."""
    observed, rest = counts.copy(), counts.copy()
    observed.data = np.random.default_rng(1).binomial(counts.data.astype(np.int64), 0.5).astype(np.float32)
    rest.data = counts.data - observed.data
    for half in (observed, rest):
        half.eliminate_zeros()
    some = np.diff(observed.indptr) > 0
    return observed[some], rest[some]


def zipf_documents(n_topics: int = 100) -> Any:
    """CSR (N_DOCS, N_WORDS): exactly N_DISTINCT words in each, drawn from a mixture of topics; word w is about as
    frequent as 1 / (w + 10)."""
    rng = np.random.default_rng(0)
    topics = rng.standard_gamma(0.1, (n_topics, N_WORDS)) / np.arange(10, N_WORDS + 10)
    topics = (topics / topics.sum(axis=1, keepdims=True)).astype(np.float32)
    words = np.empty((N_DOCS, N_DISTINCT), np.int32)
    for d in range(0, N_DOCS, 500):
        size = len(words[d : d + 500])
        chances = rng.dirichlet(np.full(n_topics, 0.1), size).astype(np.float32) @ topics + np.float32(1e-12)
        # The smallest of exponential waiting times are a draw without replacement.
        waiting = rng.standard_exponential((size, N_WORDS), np.float32) / chances
        words[d : d + 500] = np.sort(np.argpartition(waiting, N_DISTINCT, axis=1)[:, :N_DISTINCT], axis=1)
    numbers = rng.geometric(0.6, words.size).astype(np.float32)
    ends = np.arange(N_DOCS + 1) * N_DISTINCT
    return csr_matrix((numbers, words.ravel(), ends), shape=(N_DOCS, N_WORDS))


def _scikit_learn(trained: Trained) -> System:
    from scipy.special import psi
    from sklearn.decomposition import LatentDirichletAllocation

    model = LatentDirichletAllocation(trained.n_components, doc_topic_prior=trained.prior, n_jobs=2)
    model.partial_fit(csr_matrix(np.ones((1, trained.components.shape[1]))))
    weights = trained.components
    model.components_ = weights
    model.exp_dirichlet_component_ = np.exp(psi(weights) - psi(weights.sum(axis=1, keepdims=True)))
    return System(lambda counts: counts, model.transform)


def _gensim(trained: Trained) -> System:
    from gensim.models import LdaModel

    n_components, n_words = trained.components.shape
    model = LdaModel(
        num_topics=n_components,
        id2word={i: str(i) for i in range(n_words)},
        alpha=[trained.prior] * n_components,
        random_state=0,
    )
    model.state.sstats = (trained.components - model.eta).astype(model.dtype)
    model.sync_state()
    return System(lambda counts: list(document_pairs(counts)), lambda docs: model.inference(docs)[0])


def _tomotopy(trained: Trained) -> System:
    """The topics as priors of words, next to one document that holds every word once."""
    model = _new_tomotopy(trained)
    model.add_doc([str(i) for i in range(trained.components.shape[1])])
    for word, weights in enumerate(trained.components.T):
        model.set_word_prior(str(word), weights.tolist())
    model.train(0)
    return _tomotopy_system(model)


def tomotopy_of_its_own(trained: Trained, counts: Any) -> System:
    """Topics after 50 iterations on these documents."""
    model = _new_tomotopy(trained)
    for words in document_tokens(counts):
        model.add_doc(words)
    model.train(50, workers=2)
    return _tomotopy_system(model)


def _new_tomotopy(trained: Trained) -> Any:
    import tomotopy

    model = tomotopy.LDAModel(k=trained.n_components, alpha=trained.prior, eta=0.05, seed=0)
    model.optim_interval = 0
    return model


def _tomotopy_system(model: Any) -> System:
    return System(
        lambda counts: [model.make_doc(words) for words in document_tokens(counts)],
        lambda docs: np.asarray(model.infer(docs, workers=2)[0]),
    )


MAKERS = {"scikit-learn": _scikit_learn, "gensim": _gensim, "tomotopy": _tomotopy}

if __name__ == "__main__":
    main()
