"""Coherence of 500 topics on a million documents: counts in one pass, and from postings that are built once.

Documents are those of `scale`. A topic's 10 top words are drawn from the 20,000 most frequent words, evenly over the
logarithm of their rank. The pass is what `coherence` does with a corpus, the rest what it does with the postings of the
corpus, once they are built. Both give the same value. Each is timed in a process of its own, three times, of which the
fastest counts; processor seconds are the sum over threads, and memory is that of the process with the pages of the
index that it read.

    python -m tests.benchmarks coherence
    python -m tests.benchmarks coherence --docs 100000 --topics 50
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import results
from sampling import run_watched
from scale import stored

N_TOP, MOST_FREQUENT = 10, 20_000
HEAD = ("what", "threads", "seconds", "of processors", "peak MB", "on disk MB")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--docs", type=int, default=1_000_000)
    parser.add_argument("--topics", type=int, default=500)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "bigtopic-benchmark")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    results.add_option(parser)
    given = parser.parse_args()
    if given.child:
        return CHILDREN[given.child[0]](*given.child[1:])
    given.folder.mkdir(exist_ok=True)
    store = stored(given.folder, given.docs, 2)
    index = given.folder / "coherence.postings"
    rows, figures, values = [HEAD], [], set()
    for what, child, n_threads in (
        ("one pass", "one_pass", 1),
        ("one pass", "one_pass", 2),
        ("postings, built", "build", 1),
        ("postings, asked", "asked", 1),
        ("postings, asked", "asked", 2),
    ):
        command = [
            sys.executable,
            __file__,
            "--child",
            child,
            *map(str, (store, index, given.topics, n_threads)),
        ]
        line, peak = run_watched(command)
        found = json.loads(line)
        values.add(found["value"])
        on_disk = index.stat().st_size if child != "one_pass" else 0
        rows.append(
            (
                what,
                str(n_threads),
                results.figure(found["seconds"], 3),
                results.figure(found["processors"], 3),
                f"{peak / 1e6:.0f}",
                f"{on_disk / 1e6:.0f}",
            )
        )
        figures.append({"what": what, "threads": n_threads, "peak": peak, "on_disk": on_disk, **found})
    index.unlink()
    assert len(values - {None}) == 1, "postings give another value"
    caption = f"{given.topics} topics of {N_TOP} top words, {given.docs:,} documents"
    results.report(given, "coherence", caption, rows, figures)


def inputs(store: str, n_topics: str) -> tuple[Any, np.ndarray]:
    """The corpus, whose words are given names, and the ids of the topics' top words."""
    from bigtopic.corpus.store import open_corpus
    from bigtopic.corpus.vocabulary import Vocabulary

    corpus = open_corpus(store)
    df, tf = corpus.vocabulary.counted
    names = np.array([f"w{word}" for word in range(corpus.n_words)], object)
    ranks = np.exp(np.linspace(0, np.log(MOST_FREQUENT), int(n_topics) * N_TOP)).astype(np.int64) - 1
    ranks = np.random.default_rng(0).permutation(ranks).reshape(int(n_topics), N_TOP)
    ids = np.argsort(-df, kind="stable")[ranks]
    return replace(corpus, vocabulary=Vocabulary(names, corpus.n_words, df, tf)), ids


def fastest(work: Callable[[], Any]) -> dict[str, Any]:
    """Seconds and processor seconds of the fastest of three runs, and the value that the last returned."""
    runs = []
    for _ in range(3):
        begun, used = time.perf_counter(), time.process_time()
        found = work()
        runs.append((time.perf_counter() - begun, time.process_time() - used))
    seconds, processors = min(runs)
    value = None if found is None else f"{found.value:.12g}"
    return {"seconds": seconds, "processors": processors, "value": value}


def measured(store: str, path: str, n_topics: str, n_threads: str, *, postings: bool) -> None:
    """What `coherence` does with the corpus, or with its postings."""
    from bigtopic.evaluation import coherence, index

    corpus, ids = inputs(store, n_topics)
    topics = [[f"w{word}" for word in topic] for topic in ids]
    documents = index(corpus, path) if postings else corpus
    coherence(topics[:1], documents if postings else corpus[:100], client=False)  # loads compiled code
    found = fastest(lambda: coherence(topics, documents, "umass", client=False, n_threads=int(n_threads)))
    print(json.dumps(found), flush=True)


def build(store: str, path: str, n_topics: str, n_threads: str) -> None:
    """Write the postings."""
    from bigtopic.evaluation import index

    corpus, _ = inputs(store, n_topics)
    index(corpus[:100], path)  # loads compiled code

    def work() -> None:
        Path(path).unlink()
        index(corpus, path)

    print(json.dumps(fastest(work)), flush=True)


CHILDREN = {
    "one_pass": partial(measured, postings=False),
    "build": build,
    "asked": partial(measured, postings=True),
}


if __name__ == "__main__":
    main()
