"""What exchanges cost in score, and gain in time on threads of one process: the default method with some numbers of
rounds in an exchange, of replicas, and of updates between their exchanges.

Documents are drawn from a known LDA of 100 topics; others are scored. `--concurrent` and `--share` change the rules: an
exchange has at most so many rounds before replicas begin, and a replica misses at most one in `share` of the updates
before an exchange.

    python -m tests.benchmarks replicas [--docs 1000000] [--replicas 1x1,4x8,16x8] [--seeds 1] [--share 4,16]
    python -m tests.benchmarks replicas --concurrent 1,32 --replicas 1x1
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from bigtopic.corpus.memory import from_matrix
from bigtopic.corpus.store import Corpus, open_corpus
from bigtopic.datasets import KnownLDA
from bigtopic.errors import CorpusVersionError
from bigtopic.ingestion.ingest import ingest
from bigtopic.methods import get
from bigtopic.plan import exchanges

TRUTH = KnownLDA(
    n_words=30_000,
    n_components=100,
    mean_length=60,
    length_spread=0.8,
    doc_topic_prior=0.05,
    topic_word_prior=0.02,
    zipf_exponent=1.1,
)
HELD_OUT, N_HELD_OUT = 1 << 40, 1500  # first document that is in no corpus, and how many


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--docs", type=int, default=1_000_000)
    parser.add_argument("--replicas", default="1x1,4x1,4x8,16x1,16x8,64x1,64x8", help="replicas x updates")
    parser.add_argument("--method", help="the default unless given; its first phase")
    parser.add_argument("--passes", type=int, help="the method's default unless given")
    parser.add_argument("--threads", type=int, help="all processors unless given")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--share", default=f"{exchanges.MISSED_SHARE}")
    parser.add_argument("--concurrent", default=f"{exchanges.CONCURRENT}")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "bigtopic-benchmark")
    given = parser.parse_args()
    corpus = stored(given.folder, given.docs)
    held_out = from_matrix(TRUTH.documents(N_HELD_OUT, first=HELD_OUT).counts)
    rules = itertools.product(given.share.split(","), given.concurrent.split(","), given.replicas.split(","))
    for share, concurrent, sizes in rules:
        exchanges.MISSED_SHARE, exchanges.CONCURRENT = int(share), int(concurrent)
        n_replicas, n_updates = map(int, sizes.split("x"))
        settings = {"max_iter": given.passes, "replicas": n_replicas, "replica_updates": n_updates}
        settings |= {"n_threads": given.threads, "method": given.method}
        settings["options"] = {f"{phase.phase}.max_iter": 0 for phase in get(given.method).then}
        scores, seconds = np.array(
            [learned(corpus, held_out, random_state=seed, **settings) for seed in range(given.seeds)]
        ).T
        print(
            f"share {share}, concurrent {concurrent}: {n_replicas:3d} replicas, {n_updates:2d} updates: "
            f"{scores.mean():.4f} ± {scores.std(ddof=min(1, len(scores) - 1)) / len(scores) ** 0.5:.4f}, "
            f"{np.median(seconds):.1f} s",
            flush=True,
        )


def stored(folder: Path, n_docs: int) -> Corpus:
    """The first documents, made unless they are there."""
    store = folder / f"replicas-{n_docs}.zarr"
    try:
        return open_corpus(store)
    except CorpusVersionError:
        folder.mkdir(parents=True, exist_ok=True)
        return ingest(TRUTH.dask_array(n_docs), store, client=False)


def learned(corpus: Corpus, held_out: Corpus, **settings: Any) -> tuple[float, float]:
    """Held-out nats per token after a fit, and its seconds."""
    from bigtopic.estimators.lda import LDA
    from bigtopic.evaluation import log_predictive

    begun = time.perf_counter()
    model = LDA(TRUTH.n_components, client=False, progress=False, **settings).fit(corpus)
    seconds = time.perf_counter() - begun
    return log_predictive(model, held_out, client=False).value, seconds


if __name__ == "__main__":
    main()
