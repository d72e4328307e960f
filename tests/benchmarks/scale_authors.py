"""Seconds and memory of the author-topic model on many documents by many authors, in batch and online.

Documents are drawn from a known author-topic model, three authors each, and stored once. Each method then makes its
passes in a process of its own. Memory is that of the process and all it started, from its start on. After each pass,
the perplexity of documents that are in no corpus, given their authors, and the share of the gap that is closed between
words alone (0 %) and the model that the documents are drawn from (100 %), in nats; seconds are without it.

    python -m tests.benchmarks scale_authors
    python -m tests.benchmarks scale_authors --docs 40000 --authors 10000
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import results
from sampling import run_watched

from bigtopic.datasets import KnownAuthors

N_WORDS, N_TOPICS, AUTHORS_PER_DOC, MEAN_LENGTH = 50_000, 100, 3, 50
BLOCK = 50_000  # documents that are drawn at once
N_HELD_OUT = 2000
METHODS = ("online-author-cvb0", "online-author-vb", "author-vb")
HEAD = (
    "method",
    "passes",
    "seconds",
    "documents/s",
    "M tokens/s",
    "peak MB",
    "perplexity",
    "of the gap closed",
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--docs", type=int, default=2_000_000)
    parser.add_argument("--authors", type=int, default=500_000)
    parser.add_argument("--passes", type=int, default=20)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "bigtopic-benchmark")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    results.add_option(parser)
    given = parser.parse_args()
    if given.child:
        return CHILDREN[given.child[0]](*given.child[1:])
    given.folder.mkdir(exist_ok=True)
    store = stored(given.folder, given.docs, given.authors)
    found = [measured(store, method, given) for method in given.methods.split(",")]
    caption = (
        f"{given.docs:,} documents of about {MEAN_LENGTH} words by {AUTHORS_PER_DOC} of {given.authors:,} authors, "
        f"{N_WORDS:,} words, {N_TOPICS} topics; {given.threads} threads. Perplexity without topics "
        f"{found[0]['unigram']:,.0f}, of the true model {found[0]['truth']:,.0f}"
    )
    results.report(given, "scale-authors", caption, [HEAD, *(row(figures) for figures in found)], found)


def truth(n_authors: int) -> KnownAuthors:
    """What the documents are drawn from."""
    return KnownAuthors(N_WORDS, n_authors, N_TOPICS, AUTHORS_PER_DOC, MEAN_LENGTH)


def stored(folder: Path, n_docs: int, n_authors: int) -> Path:
    """The corpus, made in a process of its own unless it is there."""
    from bigtopic.corpus.store import open_corpus
    from bigtopic.errors import CorpusVersionError

    store = folder / f"authors-{n_docs}-{n_authors}.zarr"
    try:
        if open_corpus(store).n_docs == n_docs:
            return store
    except CorpusVersionError:
        pass
    line, peak = run("make", store, n_docs, n_authors)
    print(f"{line}, peak {peak / 1e6:.0f} MB", flush=True)
    return store


def make(store: str, n_docs: str, n_authors: str) -> None:
    """The process that makes a corpus, block by block."""
    from bigtopic.ingestion.ingest import ingest

    begun, drawn = time.perf_counter(), truth(int(n_authors))
    for first in range(0, int(n_docs), BLOCK):
        block = drawn.corpus(min(BLOCK, int(n_docs) - first), first)
        how = {"append": True} if first else {"overwrite": True}
        corpus = ingest(block, store, client=False, progress=False, **how)
    print(f"{corpus!r}: {time.perf_counter() - begun:.0f} s")


def measured(store: Path, method: str, given: argparse.Namespace) -> dict[str, Any]:
    """Train in a process of its own."""
    from bigtopic.corpus.store import open_corpus

    corpus, drawn = open_corpus(store), truth(given.authors)
    unigram = unigram_perplexity(corpus, drawn.corpus(N_HELD_OUT, given.docs))
    best = drawn.perplexity(N_HELD_OUT, given.docs)
    line, peak = run("train", method, store, given.passes, given.threads, given.docs, given.authors)
    seconds, *perplexities = map(float, line.split())
    closed = [math.log(unigram / one) / math.log(unigram / best) for one in perplexities]
    figures = {
        "method": method,
        "passes": len(perplexities),
        "seconds": seconds,
        "peak": peak,
        "n_docs": corpus.n_docs,
        "n_tokens": corpus.n_tokens,
        "perplexities": perplexities,
        "closed": closed,
        "unigram": unigram,
        "truth": best,
    }
    print(f"unigram {unigram:,.0f}, truth {best:,.0f}; after each pass:", flush=True)
    print(*(f"{one:,.0f} ({share:.0%})" for one, share in zip(perplexities, closed, strict=True)), flush=True)
    print(*(f"{head}: {cell}" for head, cell in zip(HEAD, row(figures), strict=True)), sep="; ", flush=True)
    return figures


def unigram_perplexity(corpus: Any, held_out: Any) -> float:
    """Of the words' shares of the corpus, each counted once more than it occurs."""
    import numpy as np

    tokens = corpus.vocabulary.counted[1] + 1.0
    shares = dict(zip(corpus.vocabulary.words.tolist(), np.log(tokens / tokens.sum()), strict=True))
    counts = np.asarray(held_out.to_scipy().sum(axis=0)).ravel()
    logs = np.array([shares.get(word, 0.0) for word in held_out.vocabulary.words.tolist()])
    return float(np.exp(-(counts @ logs) / counts[logs < 0].sum()))


def train(method: str, store: str, n_passes: str, n_threads: str, n_docs: str, n_authors: str) -> None:
    """The measured process: prints its seconds, and the perplexity after each pass."""
    from bigtopic.corpus.store import open_corpus
    from bigtopic.estimators.author_topic import AuthorTopicModel

    def model(passes: int, **settings: Any) -> AuthorTopicModel:
        settings |= {
            "method": method,
            "max_iter": passes,
            "tol": 0.0,
            "client": False,
            "n_threads": int(n_threads),
        }
        return AuthorTopicModel(N_TOPICS, progress=False, **settings)

    def score(event: Any) -> None:
        if event.kind == "pass":
            paused = time.perf_counter()
            perplexities.append(learner.author_perplexity(held_out))
            pauses.append(time.perf_counter() - paused)

    model(1).fit(KnownAuthors(1000, 100, N_TOPICS).corpus(500))  # compiled code is loaded
    corpus, held_out = open_corpus(store), truth(int(n_authors)).corpus(N_HELD_OUT, int(n_docs))
    perplexities: list[float] = []
    pauses: list[float] = []
    learner, begun = model(int(n_passes), callbacks=[score]), time.perf_counter()
    learner.fit(corpus)
    print(time.perf_counter() - begun - sum(pauses), *perplexities, flush=True)


CHILDREN = {"make": make, "train": train}


def run(child: str, *arguments: Any) -> tuple[str, int]:
    """One of `CHILDREN` in a process of its own: the line it prints when it is done, and its peak memory in bytes."""
    return run_watched([sys.executable, __file__, "--child", child, *map(str, arguments)])


def row(figures: dict[str, Any]) -> tuple[str, ...]:
    """One line of the table."""
    docs, tokens = (figures["passes"] * figures[name] / figures["seconds"] for name in ("n_docs", "n_tokens"))
    return (
        figures["method"],
        str(figures["passes"]),
        results.figure(figures["seconds"], 3),
        results.figure(docs, 3),
        results.figure(tokens / 1e6, 3),
        f"{figures['peak'] / 1e6:.0f}",
        f"{figures['perplexities'][-1]:,.0f}",
        f"{figures['closed'][-1]:.1%}",
    )


if __name__ == "__main__":
    main()
