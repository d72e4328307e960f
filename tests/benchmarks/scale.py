"""Seconds, memory and held-out score of one pass over a corpus of PubMed's size, a tenth and a hundredth of it.

Documents are drawn from a known LDA of 100 topics with Zipf's word frequencies, about as many, as long and as wide
as PubMed's abstracts. The three corpora have the same topics; they are stored once. Each is then passed over once by
the first phase of the default method, or of others, in a process of its own. Topics are scored by document completion
on documents that are in no corpus, next to the topics the documents were drawn from and to the unigram model; what
counts is the share of the gap between the two that one pass closes. Memory is that of the process and all it started.

    python -m tests.benchmarks scale
    python -m tests.benchmarks scale --docs 820000 --dask --curves
    python -m tests.benchmarks scale --docs 820000 --methods auto,online-cvb0
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import results
from sampling import run_watched

from bigtopic.datasets import KnownLDA

TRUTH = KnownLDA(
    n_words=141_000,
    n_components=100,
    mean_length=89,
    length_spread=0.8,
    doc_topic_prior=0.05,
    topic_word_prior=0.007,
    zipf_exponent=1.15,
)
HELD_OUT, N_HELD_OUT = 1 << 40, 1000  # first document that is in no corpus, and how many
PARTS = (100, 10, 1)
MODES = {"threads": "two threads", "dask": "Dask, two workers"}
HEAD = (
    "documents", "where", "seconds", "documents/s", "M tokens/s", "peak MB", "nats per token", "of the gap closed",
)  # fmt: skip


class Pass(NamedTuple):
    """What one pass over one corpus took and gave.

    n_docs, n_tokens, nnz : of the corpus
    mode : a key of MODES
    method : None for the default
    seconds : of `fit`
    peak : bytes
    score, error, unigram, true : nats per held-out token; the standard error is of the score's distance to the true
        topics, paired by document
    """

    n_docs: int
    n_tokens: float
    nnz: int
    mode: str
    method: str | None
    seconds: float
    peak: int
    score: float
    error: float
    unigram: float
    true: float

    @property
    def closed(self) -> float:
        """Share of the gap between the unigram model and the true topics."""
        return (self.score - self.unigram) / (self.true - self.unigram)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--docs", type=int, default=8_200_000, help="of the largest corpus")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "bigtopic-benchmark")
    parser.add_argument("--methods", help="one after the other; the default method unless given")
    parser.add_argument("--dask", action="store_true", help="also on a local Dask cluster")
    parser.add_argument("--curves", action="store_true", help="draw the curves into docs/images/")
    parser.add_argument("--stores", action="store_true", help="make the corpora and end there")
    parser.add_argument("--threads", type=int, default=2, help="to make the corpora with")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    results.add_option(parser)
    given = parser.parse_args()
    if given.child:
        return CHILDREN[given.child[0]](*given.child[1:])
    given.folder.mkdir(exist_ok=True)
    stores = [stored(given.folder, given.docs // part, given.threads) for part in PARTS]
    if given.stores:
        return
    modes = [mode for mode in MODES if mode == "threads" or given.dask]
    methods = given.methods.split(",") if given.methods else [None]
    passes = [one_pass(given.folder, store, mode, m) for store in stores for mode in modes for m in methods]
    last = passes[-1]
    caption = (
        f"{last.n_docs:,} documents, {TRUTH.n_words:,} words, {last.n_tokens:,.0f} tokens, {last.nnz:,} entries, and "
        f"parts of them; {TRUTH.n_components} topics, one pass. Unigram {last.unigram:.4f}, true topics {last.true:.4f}"
    )
    figures = [{**p._asdict(), "closed": p.closed} for p in passes]
    picture = draw(passes) if given.curves else None
    results.report(given, "scale", caption, [HEAD, *map(row, passes)], figures, picture)


def stored(folder: Path, n_docs: int, n_threads: int) -> Path:
    """The corpus of the first documents, made in a process of its own unless it is there."""
    from bigtopic.corpus.store import open_corpus
    from bigtopic.errors import CorpusVersionError

    digest = hashlib.blake2b(repr(TRUTH).encode(), digest_size=4).hexdigest()
    store = folder / f"scale-{digest}-{n_docs}.zarr"
    try:
        open_corpus(store)
    except CorpusVersionError:
        line, peak = run("make", store, n_docs, n_threads)
        print(f"{line}, peak {peak / 1e6:.0f} MB", flush=True)
    return store


def make(store: str, n_docs: str, n_threads: str) -> None:
    """The process that makes a corpus."""
    from bigtopic.ingestion.ingest import ingest

    array = TRUTH.dask_array(int(n_docs))
    begun = time.perf_counter()
    corpus = ingest(array, store, client=False, n_threads=int(n_threads))
    seconds = time.perf_counter() - begun
    print(f"{corpus!r}: {seconds:.0f} s on {n_threads} threads, {corpus.nnz / seconds / 1e6:.2f} M entries/s")


def one_pass(folder: Path, store: Path, mode: str, method: str | None) -> Pass:
    """Train in a process of its own, score here."""
    from bigtopic.corpus.memory import from_matrix
    from bigtopic.corpus.store import open_corpus
    from bigtopic.estimators.persistence import load_model
    from bigtopic.evaluation import log_predictive

    url = folder / "scale-model.zarr"
    seconds, peak = run("train", mode, store, url, method or "")
    corpus = open_corpus(store)
    held_out = from_matrix(TRUTH.documents(N_HELD_OUT, first=HELD_OUT).counts)
    score, true = (
        log_predictive(model, held_out, train=corpus, client=False) for model in (load_model(url), TRUTH)
    )
    error = score.minus(true)[1]
    sizes = corpus.n_docs, corpus.n_tokens, corpus.nnz
    found = Pass(*sizes, mode, method, float(seconds), peak, score.value, error, true.unigram, true.value)
    print(*(f"{head}: {cell}" for head, cell in zip(HEAD, row(found), strict=True)), sep="; ", flush=True)
    return found


def train(mode: str, store: str, url: str, method: str) -> None:
    """The measured process: compiled code is loaded before the clock starts."""
    import numpy as np

    from bigtopic.corpus.store import open_corpus
    from bigtopic.estimators.lda import LDA
    from bigtopic.methods import get

    first = {f"{phase.phase}.max_iter": 0 for phase in get(method or None).then}

    def fit(documents: Any, **where: Any) -> Any:
        settings = {"method": method or None, "options": first, "max_iter": 1, "progress": False}
        return LDA(TRUTH.n_components, **settings, **where).fit(documents)

    def timed(**where: Any) -> None:
        corpus = open_corpus(store)
        for _ in range(4):  # on a cluster, in both workers
            fit(np.eye(100), **where)
        begun = time.perf_counter()
        model = fit(corpus, **where)
        print(time.perf_counter() - begun, flush=True)  # memory is no longer watched
        model.save(url, overwrite=True)

    if mode == "threads":
        return timed(client=False, n_threads=2)
    from dask.distributed import Client

    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        timed(client=client)


CHILDREN = {"make": make, "train": train}


def run(child: str, *arguments: Any) -> tuple[str, int]:
    """One of `CHILDREN` in a process of its own: the line it prints when it is done, and its peak memory in bytes."""
    return run_watched([sys.executable, __file__, "--child", child, *map(str, arguments)])


def row(found: Pass) -> tuple[str, ...]:
    """One line of the table."""
    return (
        f"{found.n_docs:,}",
        MODES[found.mode] + (f", {found.method}" if found.method else ""),
        results.figure(found.seconds, 3),
        results.figure(found.n_docs / found.seconds, 3),
        results.figure(found.n_tokens / found.seconds / 1e6, 3),
        f"{found.peak / 1e6:.0f}",
        f"{found.score:.4f} ± {found.error:.4f}",
        f"{100 * found.closed:.1f} %",
    )


def draw(passes: list[Pass]) -> str:
    """Seconds, and memory, against documents; the path of the picture below docs/."""
    from plots import OURS, canvas, label, save

    figure, panels = canvas(2, figsize=(9, 3.8))
    for axes, unit, value in (
        (panels[0], "seconds of one pass", lambda p: p.seconds),
        (panels[1], "peak memory, MB", lambda p: p.peak / 1e6),
    ):
        for mode, style in (("threads", "o-"), ("dask", "s--")):
            points = [(p.n_docs, value(p)) for p in passes if p.mode == mode]
            if points:
                axes.plot(*zip(*points, strict=True), style, color=OURS, linewidth=2, markersize=4)
                label(axes, MODES[mode], *points[-1], OURS)
        axes.set(xscale="log", yscale="log", xlabel="documents", ylabel=unit)
        axes.set_ylim(min(map(value, passes)) / 4, max(map(value, passes)) * 4)
        axes.set_xlim(
            min(p.n_docs for p in passes) / 2, max(p.n_docs for p in passes) * 12
        )  # room for labels
        axes.yaxis.set_major_formatter(lambda number, _: f"{number:,.0f}")
    return save(figure, "scale")


if __name__ == "__main__":
    main()
