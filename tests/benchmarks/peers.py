"""Other systems, each as a function that trains once and says what its topics were at growing effort.

All get the same documents in the same random order, the same priors and two processors; every other setting is the
system's own default, or its documentation's where it has none. Only training counts: documents are in the system's own
form before the clock starts (Vowpal Wabbit alone reads its text file while it learns), processes and virtual machines
are warm, and no time is spent on scores or perplexities on the way.

A system is an entry of `PEERS`; its function is `(task, efforts) -> list[Point]`. The packages are those of the extra
`benchmarks`; Spark also needs Java (Debian: the package default-jre-headless).
"""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from timing import Stopwatch

__all__ = [
    "PEERS", "Peer", "Point", "Task", "document_pairs", "document_tokens", "tomotopy_model", "tomotopy_topics",
]  # fmt: skip


class Task(NamedTuple):
    """What a system is given.

    counts : scipy CSR (n_docs, n_words), whole numbers
    authors : the names of each document's authors, or None
    """

    counts: Any
    n_components: int
    doc_topic_prior: float
    topic_word_prior: float
    seed: int
    authors: list[list[str]] | None = None

    def unseen(self) -> np.ndarray:
        """Whether a word of the vocabulary is in none of the documents, bool (n_words,)."""
        return np.bincount(self.counts.indices, minlength=self.counts.shape[1]) == 0


class Point(NamedTuple):
    """A system after some effort: seconds of training so far, and topics (n_components, n_words), not normalised."""

    effort: int
    seconds: float
    topics: np.ndarray


Train = Callable[[Task, Sequence[int]], list[Point]]


@dataclass(frozen=True)
class Peer:
    """A system.

    package : the distribution to install
    unit : of its effort
    efforts : where its curve has points; the last is the one it is judged by
    """

    package: str
    unit: str
    efforts: tuple[int, ...]
    train: Train
    needs_java: bool = False
    needs_authors: bool = False

    @property
    def version(self) -> str:
        return version(self.package)

    def missing(self) -> str | None:
        """What to do to have it, or None when it is there."""
        try:
            version(self.package)
        except PackageNotFoundError:
            return f"pip install {self.package} (or this project with the extra `benchmarks`)"
        if self.needs_java and not shutil.which("java"):
            return "install Java; on Debian: apt-get install default-jre-headless"
        return None


def _scikit_learn(task: Task, efforts: Sequence[int]) -> list[Point]:
    """LatentDirichletAllocation, learning_method="online", n_jobs=2."""
    from sklearn.decomposition import LatentDirichletAllocation

    def new(seed: int) -> Any:
        return LatentDirichletAllocation(
            task.n_components,
            doc_topic_prior=task.doc_topic_prior,
            topic_word_prior=task.topic_word_prior,
            learning_method="online",
            total_samples=task.counts.shape[0],
            n_jobs=2,
            random_state=seed,
        )

    new(0).partial_fit(task.counts[:2])  # starts its processes
    model, clock, points = new(task.seed), Stopwatch(), []
    for passes in range(1, efforts[-1] + 1):
        with clock:
            model.partial_fit(task.counts)
        if passes in efforts:
            points.append(_point(passes, clock, model.components_))
    return points


def _gensim_single(task: Task, efforts: Sequence[int]) -> list[Point]:
    """LdaModel."""
    from gensim.models import LdaModel

    return _gensim(LdaModel, task, efforts)


def _gensim_multicore(task: Task, efforts: Sequence[int]) -> list[Point]:
    """LdaMulticore, workers=2."""
    from gensim.models import LdaMulticore

    return _gensim(LdaMulticore, task, efforts, workers=2)


def _gensim_authors(task: Task, efforts: Sequence[int]) -> list[Point]:
    """AuthorTopicModel; its topics are scored as those of the others."""
    from gensim.models import AuthorTopicModel

    assert task.authors is not None
    documents_of: dict[str, list[int]] = {}
    for document, names in enumerate(task.authors):
        for name in names:
            documents_of.setdefault(name, []).append(document)
    return _gensim(AuthorTopicModel, task, efforts, {"author2doc": documents_of})


def _gensim(
    kind: Any, task: Task, efforts: Sequence[int], learn_from: dict[str, Any] | None = None, **more: Any
) -> list[Point]:
    """One call of `update` with all passes, so that its step size is that of the paper; watched at each update."""
    n_docs, n_words = task.counts.shape
    documents = list(document_pairs(task.counts))
    clock, points = Stopwatch(), []

    class Watched(kind):  # type: ignore[misc]
        n_docs_done = 0

        def do_mstep(self, rho: float, other: Any, extra_pass: bool = False) -> None:
            super().do_mstep(rho, other, extra_pass)
            self.n_docs_done += other.numdocs
            passes, rest = divmod(self.n_docs_done, n_docs)
            if rest == 0 and passes in efforts:
                with clock.paused():
                    points.append(_point(passes, clock, self.get_topics()))

    model = Watched(
        num_topics=task.n_components,
        id2word={i: str(i) for i in range(n_words)},
        passes=efforts[-1],
        alpha=[task.doc_topic_prior] * task.n_components,
        eta=task.topic_word_prior,
        eval_every=None,
        random_state=task.seed,
        **more,
    )
    with clock:
        model.update(documents, **(learn_from or {}))
    return points


def _tomotopy(task: Task, efforts: Sequence[int]) -> list[Point]:
    """LDAModel, workers=2."""
    model, clock, points, done = tomotopy_model(task), Stopwatch(), [], 0
    for iterations in efforts:
        with clock, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # results differ between runs when there are two workers
            model.train(iterations - done, workers=2)
        done = iterations
        points.append(_point(iterations, clock, tomotopy_topics(model, task)))
    return points


def tomotopy_model(task: Task) -> Any:
    """LDAModel that has the documents, optim_interval=0: the priors stay what they are."""
    import tomotopy

    model = tomotopy.LDAModel(
        k=task.n_components, alpha=task.doc_topic_prior, eta=task.topic_word_prior, seed=task.seed
    )
    model.optim_interval = 0
    for words in document_tokens(task.counts):
        model.add_doc(words)
    return model


def tomotopy_topics(model: Any, task: Task) -> np.ndarray:
    """Its counts and prior, also for words that are in none of its documents."""
    words = np.array([int(word) for word in model.used_vocabs])
    totals = np.asarray(model.get_count_by_topics()) + task.topic_word_prior * len(words)
    topics = np.full((task.n_components, task.counts.shape[1]), task.topic_word_prior, np.float32)
    for k, total in enumerate(totals):
        topics[k, words] = np.asarray(model.get_topic_word_dist(k)) * total
    return topics


def document_tokens(counts: Any) -> list[list[str]]:
    """Each document as a list of words; a word's name is its column."""
    words = np.repeat(counts.indices, counts.data.astype(np.int64)).astype(str)
    ends = np.concatenate([[0], np.cumsum(counts.data.astype(np.int64))])[counts.indptr]
    return [words[a:b].tolist() for a, b in pairwise(ends)]


def _spark(task: Task, efforts: Sequence[int]) -> list[Point]:
    """MLlib's LDA, optimizer="online", local[2]; a run for each effort, after one that warms the virtual machine."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.driver.memory", "6g")
    for name in ("spark.ui.enabled", "spark.ui.showConsoleProgress"):
        builder = builder.config(name, "false")
    session = builder.getOrCreate()
    try:
        session.sparkContext.setLogLevel("ERROR")
        return _spark_runs(session, task, efforts)
    finally:
        session.stop()


def _spark_runs(session: Any, task: Task, efforts: Sequence[int]) -> list[Point]:
    from pyspark.ml.clustering import LDA
    from pyspark.ml.linalg import Vectors

    n_words = task.counts.shape[1]
    rows = [(Vectors.sparse(n_words, pairs),) for pairs in document_pairs(task.counts)]
    frame = session.createDataFrame(rows, ["features"]).cache()
    frame.count()

    def fit(iterations: int) -> Any:
        return LDA(
            k=task.n_components,
            maxIter=iterations,
            optimizer="online",
            docConcentration=[task.doc_topic_prior],
            topicConcentration=task.topic_word_prior,
            optimizeDocConcentration=False,
            seed=task.seed,
        ).fit(frame)

    fit(2)
    points = []
    for iterations in efforts:
        with Stopwatch() as clock:
            model = fit(iterations)
        points.append(_point(iterations, clock, model.topicsMatrix().toArray().T))
    return points


def _vowpal_wabbit(task: Task, efforts: Sequence[int]) -> list[Point]:
    """Minibatch, power_t and initial_t of its tutorial, one thread; a run for each effort."""
    from vowpalwabbit import Workspace

    n_docs, n_words = task.counts.shape
    points = []
    with tempfile.TemporaryDirectory(prefix="bigtopic-vw-") as folder:
        source = Path(folder) / "documents.txt"
        with source.open("w") as file:
            for pairs in document_pairs(task.counts):
                file.write("| " + " ".join(f"{word}:{count}" for word, count in pairs) + "\n")
        for passes in efforts:
            settings = {
                "data": source, "passes": passes, "lda": task.n_components, "lda_D": n_docs,
                "lda_alpha": task.doc_topic_prior, "lda_rho": task.topic_word_prior, "minibatch": 256,
                "power_t": 0.5, "initial_t": 1, "bit_precision": max(1, (n_words - 1).bit_length()),
                "random_seed": task.seed, "cache_file": Path(folder) / f"{passes}.cache",
            }  # fmt: skip
            words = [text for name, value in settings.items() for text in (f"--{name}", str(value))]
            with Stopwatch() as clock:
                model = Workspace(arg_list=[*words, "--kill_cache", "--holdout_off", "--quiet"])
            topics = np.array(
                [[model.get_weight(w, k) for w in range(n_words)] for k in range(task.n_components)]
            )
            model.finish()
            topics[:, task.unseen()] = task.topic_word_prior
            points.append(_point(passes, clock, topics))
    return points


def document_pairs(counts: Any) -> Iterator[list[tuple[int, int]]]:
    """Each document as [(column, count), ...]."""
    words, numbers = counts.indices.tolist(), counts.data.astype(np.int64).tolist()
    for a, b in pairwise(counts.indptr.tolist()):
        yield list(zip(words[a:b], numbers[a:b], strict=True))


def _point(effort: int, clock: Stopwatch, topics: Any) -> Point:
    return Point(effort, clock.seconds, np.array(topics, np.float32))


_TEN = tuple(range(1, 11))
PEERS = {
    "scikit-learn": Peer("scikit-learn", "passes", _TEN, _scikit_learn),
    "gensim": Peer("gensim", "passes", _TEN, _gensim_single),
    "gensim-multicore": Peer("gensim", "passes", _TEN, _gensim_multicore),
    "gensim-authors": Peer("gensim", "passes", _TEN, _gensim_authors, needs_authors=True),
    "tomotopy": Peer("tomotopy", "iterations", (10, 20, 50, 100, 200, 350, 500), _tomotopy),
    "spark": Peer("pyspark", "iterations", (10, 30, 100), _spark, needs_java=True),
    "vowpal-wabbit": Peer("vowpalwabbit", "passes", (1, 3, 10), _vowpal_wabbit),
}
