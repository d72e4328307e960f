"""Seconds and memory of each question about documents, over a store of topics of a million of them.

The documents have ids, text, authors and columns; their topics are drawn, not inferred, with about five for each. Every
question is asked once, in a process of its own that has loaded the model and pandas. The seconds are those of the first
answer; those of processors leave out what other programs took of a busy machine. The memory is all that the process has
at its peak, Python and the libraries (about 200 MB) included.

    python -m tests.benchmarks questions
    python -m tests.benchmarks questions --docs 100000
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
import results

N_WORDS, N_TOPICS, LENGTH = 20_000, 100, 30
QUESTIONS: dict[str, Callable[[Any, Any, str], Any]] = {
    "documents about a topic, with their text": lambda m, c, t: m.documents(5, c, n=50, theta=t),
    "the same, of ten years": lambda m, c, t: m.documents(
        5, c, n=50, theta=t, where={"year": slice(2000, 2009)}
    ),
    "topics by year": lambda m, c, t: m.topics_over("year", theta=t),
    "topics by month of a date": lambda m, c, t: m.topics_over("date", theta=t, freq="month"),
    "topics by class": lambda m, c, t: m.topics_over("kind", theta=t),
    "topics by number, in ten bins": lambda m, c, t: m.topics_over("score", theta=t, bins=10),
    "topics by author": lambda m, c, t: m.topics_over("authors", c, theta=t),
    "correlation of topics": lambda m, c, t: m.topic_correlation(theta=t),
    "a document and its words": lambda m, c, t: m.document("d77", c, theta=t),
    "all topics, with shares": lambda m, c, t: m.topic_info(theta=t),
    "all topics, with coherence": lambda m, c, t: m.topic_info(c),
    "topics of a word": lambda m, c, t: m.find_topics(m.vocabulary_[9999]),
    "hierarchy of topics": lambda m, c, t: m.topic_tree(),
    "similar documents": lambda m, c, t: m.similar_documents("d77", t),
}
HEAD = ("question", "seconds", "of processors", "peak MB")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--docs", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, help="where to write; default the temporary folder")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    results.add_option(parser)
    given = parser.parse_args()
    if given.child:
        return ask(*given.child)
    with tempfile.TemporaryDirectory(prefix="bigtopic-questions-", dir=given.folder) as folder:
        n_bytes = make(Path(folder), given.docs)
        found = {name: answered(folder, name) for name in QUESTIONS}
    rows = [HEAD, *(row(name, one) for name, one in found.items())]
    caption = (
        f"{given.docs:,} documents of {LENGTH} words, {N_TOPICS} topics, {N_WORDS:,} words; the store of topics has "
        f"{n_bytes / 1e6:.0f} MB."
    )
    results.report(given, "questions", caption, rows, found)


def make(folder: Path, n_docs: int) -> int:
    """The corpus, a model and the store of topics; the bytes of the latter."""
    import bigtopic as bt
    from bigtopic.estimators.topic_stores.output import write_topics

    settings = {"keep_text": True, "max_df": 1.0, "client": False, "n_threads": 2}
    corpus = bt.ingest(records(n_docs), folder / "corpus.zarr", **settings)
    model = bt.LDA(N_TOPICS, method="online-cvb0", max_iter=1, client=False).fit(
        corpus.run(0, 5000, order="stored")
    )
    model.save(folder / "model.zarr")
    settings = {"min_probability": 0.01, "top_k": None, "order": "source", "overwrite": False}
    url = write_topics(folder / "theta.zarr", drawn(corpus), corpus, N_TOPICS, **settings)
    return sum(path.stat().st_size for path in Path(url).rglob("*") if path.is_file())


def records(n_docs: int) -> Iterator[dict[str, Any]]:
    """Documents whose words follow Zipf's law."""
    rng = np.random.default_rng(0)
    shares = np.cumsum(1.0 / (np.arange(N_WORDS) + 11.0))
    for start in range(0, n_docs, 10_000):
        words = np.searchsorted(shares, rng.random((min(10_000, n_docs - start), LENGTH)) * shares[-1])
        for i, own in enumerate(words.tolist(), start):
            yield {
                "id": f"d{i}",
                "text": " ".join([f"word{w}" for w in own]),
                "authors": [f"author {i % 5000}", f"author {i % 4999}"],
                "year": 1990 + i % 30,
                "date": f"{1990 + i % 30}-{i % 12 + 1:02}-{i % 28 + 1:02}",
                "kind": ("news", "letter", "report")[i % 3],
                "score": i % 997 / 7,
            }


def drawn(corpus: Any) -> Iterator[Any]:
    """Topics of the documents in stored order, from a Dirichlet distribution that favours few."""
    from bigtopic.inference.infer import Inferred

    rng, rows = np.random.default_rng(1), corpus.rows(order="stored")
    for start in range(0, len(rows), 10_000):
        own = rows[start : start + 10_000]
        theta = rng.standard_gamma(0.03, (len(own), N_TOPICS)).astype(np.float32) + np.float32(1e-9)
        yield Inferred(own, theta / theta.sum(axis=1, keepdims=True), np.full(len(own), float(LENGTH)))


def answered(folder: str, name: str) -> dict[str, float]:
    """What a process of its own says of a question."""
    command = [sys.executable, __file__, "--child", folder, name]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def row(name: str, one: dict[str, float]) -> tuple[str, ...]:
    return name, f"{one['seconds']:.2f}", f"{one['processors']:.2f}", f"{one['peak'] / 1e6:.0f}"


def ask(folder: str, name: str) -> None:
    """The process."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    import pandas  # noqa: F401  (in which answers come; half a second)
    import peaks

    import bigtopic as bt

    corpus, theta = bt.open_corpus(f"{folder}/corpus.zarr"), f"{folder}/theta.zarr"
    model = bt.load_model(f"{folder}/model.zarr").set_params(client=False, n_threads=2)
    start, busy = perf_counter(), process_time()
    QUESTIONS[name](model, corpus, theta)
    found = {"seconds": perf_counter() - start, "processors": process_time() - busy}
    print(json.dumps(found | {"peak": peaks.status("VmHWM")}))


if __name__ == "__main__":
    main()
