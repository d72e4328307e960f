"""What asynchronous updates cost in score, send, and gain, next to synchronous ones and replicas.

scores   four worker processes against one after the other, and against the same staleness in order; paired by seeds
bytes    bytes of a pull and a push against the rows of the minibatch, pickled as Dask does, whatever the vocabulary
driver   seconds of a worker and of the driver (with the scheduler) for a push, by minibatch size: their ratio is the
         number of workers that keep the driver busy
slow     pushes a second of three workers before and after the fourth is slowed tenfold; pushes sleep, so that the
         workers do not share this machine's processors
choice   synchronous, replicas and asynchronous on the same documents, on two workers with files of their own: score,
         time, bytes over the network (counted at the loopback device: nothing else may use it), and whether two fits
         have the same bits. Needs root and `unshare`

    python -m tests.benchmarks asynchronous [--parts scores,bytes,driver,slow,choice] [--corpora demo] [--data PATH]
        [--seeds 5] [--docs 300000] [--seconds 20]
"""

from __future__ import annotations

import argparse
import os
import pickle
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import corpora
import numpy as np
import replicas
import results
from scipy.sparse import csr_array

from bigtopic.corpus.memory import from_matrix
from bigtopic.corpus.store import Corpus
from bigtopic.errors import BigtopicWarning
from bigtopic.learning import history, pushes
from bigtopic.learning.executors import asynchronous
from bigtopic.learning.new_run import make_run
from bigtopic.plan.cursor import Arrival
from bigtopic.plan.exchanges import PROMPT
from bigtopic.plan.reading import BlockReader

sys.path.insert(0, str(Path(__file__).parents[1]))

import hosts

TOPICS = 50
SERIAL_BOUND, EMULATION_BOUND = 0.03, 0.005  # nats per token
FADING = {"topic_words.decay": 0.9, "max_sweeps": 50}
METHODS: dict[str, dict[str, Any]] = {
    "dsgs": {"method": "sgs", "options": FADING, "batch_size": 150},
    "svb": {"method": "svb", "batch_size": 150},
}
WORKERS = 4
SLEEP, SLOWED = 0.2, 10  # seconds of a push, and how many times as long one worker takes


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--docs", type=int, default=300_000, help="of choice, drawn from a known LDA")
    parser.add_argument("--seconds", type=float, default=20, help="of each run of slow")
    corpora.add_options(parser, "demo")
    results.add_option(parser)
    given = parser.parse_args()
    for part in given.parts.split(","):
        PARTS[part](given)


def learned(corpus: Corpus, seed: int, client: Any = False, **settings: Any) -> Any:
    """A model after a pass."""
    from bigtopic.estimators.lda import LDA

    fixed = {"n_components": TOPICS, "max_iter": 1, "random_state": seed, "client": client, "progress": False}
    return LDA(**{**fixed, **settings}).fit(corpus)


@contextmanager
def workers(n: int) -> Iterator[Any]:
    """Client of so many worker processes of one thread."""
    from dask.distributed import Client

    settings = {"threads_per_worker": 1, "dashboard_address": ":0", "memory_limit": 0}
    with Client(n_workers=n, set_as_default=False, **settings) as client:
        yield client


@contextmanager
def in_order(in_flight: int) -> Iterator[None]:
    """Asynchronous runs of threads are in order: each push but the first ones misses `in_flight` - 1 others."""
    usual = asynchronous.EXECUTOR

    def make(run: Any, client: Any, n_threads: int) -> Any:
        place = asynchronous.Threads(run, n_threads)
        return asynchronous.AsynchronousExecutor(run, place, in_flight, in_order=True)

    asynchronous.EXECUTOR = replace(usual, make=make)
    try:
        yield
    finally:
        asynchronous.EXECUTOR = usual


@contextmanager
def arriving() -> Iterator[list[tuple[float, Arrival]]]:
    """The pushes of this process from now on, and when they moved the topics."""
    usual, found = history.PushFigures.add, list[tuple[float, Arrival]]()

    def add(self: Any, arrival: Arrival) -> None:
        found.append((time.perf_counter(), arrival))
        usual(self, arrival)

    history.PushFigures.add = add  # type: ignore[method-assign]
    try:
        yield found
    finally:
        history.PushFigures.add = usual  # type: ignore[method-assign]


def scores(given: argparse.Namespace) -> None:
    """Four workers against one after the other, and against the same staleness in order."""
    head = ("corpus", "method", "one after the other", "in order", f"{WORKERS} workers", "staleness", "stale",
            "workers - serial", "workers - in order", f"bounds {SERIAL_BOUND}, {EMULATION_BOUND}")  # fmt: skip
    rows, figures = [head], []
    with workers(WORKERS) as client:
        for name in given.corpora.split(","):
            corpus = corpora.load(name, given.data, given.folder)
            for label, settings in METHODS.items():
                found = np.array(
                    [_scored(name, corpus, seed, client, settings) for seed in range(given.seeds)]
                )
                serial, ordered, real, staleness, stale = found.T
                losses = [_mean_and_error(real - other) for other in (serial, ordered)]
                kept = (
                    abs(loss) <= bound
                    for (loss, _), bound in zip(losses, (SERIAL_BOUND, EMULATION_BOUND), strict=True)
                )
                cells = [f"{np.mean(one):.4f}" for one in (serial, ordered, real)]
                cells += [f"{staleness.mean():.1f}", f"{stale.mean():.0%}"]
                cells += [f"{mean:+.4f} ± {error:.4f}" for mean, error in losses]
                rows.append((name, label, *cells, ", ".join("kept" if one else "exceeded" for one in kept)))
                figures.append({"corpus": name, "method": label, "found": found.tolist()})
    sizes = ", ".join(f"{one['batch_size']}" for one in METHODS.values())
    caption = (
        f"Held-out nats per token after a pass, K = {TOPICS}, minibatches of {sizes}; means of {given.seeds} seeds, "
        "paired differences with standard errors"
    )
    results.report(given, "asynchronous-scores", caption, rows, figures)


def _scored(name: str, corpus: Corpus, seed: int, client: Any, settings: dict[str, Any]) -> tuple[float, ...]:
    """Scores one after the other, in order and on workers; mean staleness, and the share of pushes with any."""
    from bigtopic.evaluation import log_predictive

    train, test = corpora.split(name, corpus, seed)
    real = learned(train, seed, client, asynchronous=True, **settings)
    staleness = real.history_[-1]["staleness"]
    with in_order(same_staleness(staleness["mean"], real.n_batch_iter_)):
        ordered = learned(train, seed, asynchronous=True, n_threads=2, **settings)
    models = learned(train, seed, n_threads=2, **settings), ordered, real
    values = [log_predictive(model, test, client=False).value for model in models]
    return *values, staleness["mean"], staleness["stale"]


def same_staleness(mean: float, n_pushes: int) -> int:
    """Minibatches in flight whose pushes, in order, miss so many updates on average."""

    def missed(n: int) -> float:
        return (n * (n - 1) / 2 + (n_pushes - PROMPT - n) * (n - 1)) / n_pushes

    return min(range(1, n_pushes - PROMPT), key=lambda n: abs(missed(n) - mean))


def _mean_and_error(values: np.ndarray) -> tuple[float, float]:
    return float(values.mean()), float(values.std(ddof=1) / len(values) ** 0.5) if len(values) > 1 else np.nan


def bytes_of_rows(given: argparse.Namespace) -> None:
    """Bytes against rows, for some numbers of topics, minibatch sizes and vocabularies."""
    head = (
        "method",
        "K",
        "pulled, bytes a row",
        "pushed, bytes a row",
        "R² of both",
        "pull, ten times the words",
    )
    rows, figures = [head], []
    corpus = corpora.load("demo", given.data, given.folder)
    for label, settings in METHODS.items():
        for topics in (50, 100):
            found = carried(corpus, settings, topics, (25, 50, 100, 200, 400, 800))
            wide = carried(widened(corpus, 10 * corpus.n_words), settings, topics, (400,))[0]
            narrow = carried(widened(corpus, corpus.n_words), settings, topics, (400,))[0]
            n_rows, pulled, pushed = found.T
            slopes = [np.polyfit(n_rows, one, 1)[0] for one in (pulled, pushed)]
            r2 = np.corrcoef(n_rows, pulled + pushed)[0, 1] ** 2
            change = f"{wide[1] / narrow[1] - 1:+.2%}"
            rows.append((label, f"{topics}", *(f"{slope:,.0f}" for slope in slopes), f"{r2:.5f}", change))
            figures.append({"method": label, "topics": topics, "rows and bytes": found.tolist()})
    caption = (
        "Slopes of the pickled bytes of a pull and of its push over their rows; minibatches of 25 to 800 documents of "
        f"{corpus.n_words:,} words"
    )
    results.report(given, "asynchronous-bytes", caption, rows, figures)


def widened(corpus: Corpus, n_words: int) -> Corpus:
    """The same documents, and words that are in none."""
    counts = corpus.to_scipy().tocsr()
    wide = csr_array((counts.data, counts.indices, counts.indptr), shape=(counts.shape[0], n_words))
    return from_matrix(wide, random_state=0)


def carried(corpus: Corpus, settings: dict[str, Any], topics: int, batch_sizes: Sequence[int]) -> np.ndarray:
    """Rows that a minibatch needs, and bytes of its pull and of its push, for each size; of topics after a pass."""
    model, found = learned(corpus, 0, n_components=topics, **settings)._model, []
    for n in batch_sizes:
        sizes = {"batch_size": n, "slice_size": n, "max_iter": 1, "order": "shuffled"}
        run = make_run(model, corpus, asynchronous=True, **sizes)
        rnd = next(run.plan.rounds(0))
        read = BlockReader(run.parts).block
        minibatch = pushes.read_minibatch(run, rnd, pushes.shapes_of(model.params), read)
        arrays = pushes.pulled(model.params, minibatch.ids)
        push = pushes.pushed(run, minibatch, arrays, model.cursor, lambda: ("here", 1))
        n_bytes = (len(pickle.dumps(one, protocol=5)) for one in (arrays, push))
        found.append((len(minibatch.ids["word"]), *n_bytes))
    return np.array(found)


def driver(given: argparse.Namespace) -> None:
    """Seconds of a worker and of the driver for a push."""
    head = "method", "documents", "kB a push", "worker, ms", "driver, ms", "workers that keep the driver busy"
    rows, figures = [head], []
    corpus = corpora.load("demo", given.data, given.folder)
    with workers(1) as client:
        for label, settings in METHODS.items():
            for batch_size in (50, 200, 800):
                with arriving() as found:
                    sizes = {**settings, "batch_size": batch_size, "asynchronous": True, "max_iter": 3}
                    learned(corpus, 0, client, **{**sizes, "max_iter": 1})  # compiled code is there
                    found.clear()
                    begun = time.process_time()
                    learned(corpus, 0, client, **sizes)
                    took = (time.process_time() - begun) / len(found)
                compute = float(np.mean([one.seconds for _, one in found]))
                size = float(np.mean([one.n_bytes for _, one in found]))
                cells = (
                    f"{size / 1e3:,.0f}",
                    f"{1e3 * compute:.1f}",
                    f"{1e3 * took:.1f}",
                    f"{compute / took:.0f}",
                )
                rows.append((label, f"{batch_size}", *cells))
                figures.append(
                    {
                        "method": label,
                        "documents": batch_size,
                        "compute": compute,
                        "driver": took,
                        "bytes": size,
                    }
                )
    caption = f"Seconds for a push, K = {TOPICS}; of the driver: processor time, its scheduler's included"
    results.report(given, "asynchronous-driver", caption, rows, figures)


def slow(given: argparse.Namespace) -> None:
    """Pushes a second before and after one of four workers is slowed."""
    head = (
        "method",
        "others, pushes a second",
        "with a slow one",
        "change",
        "slow one",
        "pushes",
        "stale",
        "largest staleness",
    )
    rows, figures = [head], []
    corpus = corpora.load("demo", given.data, given.folder)
    for label, settings in METHODS.items():
        with workers(WORKERS) as client:
            there = sorted(client.nthreads())
            client.run(sleeping, SLEEP)
            learned(corpus, 0, client, asynchronous=True, **settings)  # compiled code is there
            rates = [_rates(given, client, corpus, settings)]
            client.run(sleeping, SLEEP * SLOWED, workers=[there[0]])
            rates.append(_rates(given, client, corpus, settings))
        before, after = (sum(rate[worker] for worker in there[1:]) for rate, _ in rates)
        staleness = np.array([one.staleness for one in rates[1][1]])
        stale = f"{(staleness > 0).sum()}"
        cells = f"{before:.2f}", f"{after:.2f}", f"{after / before - 1:+.1%}", f"{rates[1][0][there[0]]:.2f}"
        rows.append((label, *cells, f"{len(staleness)}", stale, f"{staleness.max()}"))
        figures.append({"method": label, "before": before, "after": after, "staleness": staleness.tolist()})
    caption = (
        f"Four workers, of which one is slowed; a push takes {SLEEP} seconds, in most of which it sleeps"
    )
    results.report(given, "asynchronous-slow", caption, rows, figures)


def _rates(
    given: argparse.Namespace, client: Any, corpus: Corpus, settings: dict[str, Any]
) -> tuple[Counter[str], list[Arrival]]:
    """Pushes a second of each worker, after the first ones, and all pushes."""
    import warnings

    with arriving() as found, warnings.catch_warnings():
        warnings.simplefilter("ignore", BigtopicWarning)  # which names the slow one
        limits = {"max_iter": 1000, "max_time": given.seconds}
        learned(corpus, 0, client, asynchronous=True, **{**settings, "batch_size": 20, **limits})
    steady = found[2 * WORKERS + 8 : -2 * WORKERS]
    seconds = steady[-1][0] - steady[0][0]
    rates = Counter(one.worker for _, one in steady)
    return Counter({worker: n / seconds for worker, n in rates.items()}), [one for _, one in found]


def sleeping(seconds: float) -> None:
    """Let pushes of this process take so long."""
    from bigtopic.learning import pushes

    usual = getattr(pushes, "usual", pushes.pushed)
    pushes.usual = usual  # type: ignore[attr-defined]

    def pushed(*arguments: Any) -> Any:
        begun = time.perf_counter()
        found = usual(*arguments)
        time.sleep(max(0.0, begun + seconds - time.perf_counter()))
        return replace(found, seconds=time.perf_counter() - begun)

    pushes.pushed = pushed


CHOICES: dict[str, dict[str, Any]] = {
    "online-cvb0, synchronous": {"method": "online-cvb0", "replicas": 1},
    "online-cvb0, 4 replicas": {"method": "online-cvb0", "replicas": 4, "replica_updates": 8},
    "online-cvb0, asynchronous": {"method": "online-cvb0", "asynchronous": True},
    "sgs, synchronous": {"method": "sgs", "options": FADING},
    "sgs, asynchronous (dsgs)": {"method": "sgs", "options": FADING, "asynchronous": True},
}


def choice(given: argparse.Namespace) -> None:
    """Synchronous, replicas and asynchronous."""
    head = "method", "score", "seconds", "tokens a second", "MB over the network", "the same bits twice"
    rows, figures = [head], []
    corpus = replicas.stored(given.folder, given.docs)
    held_out = from_matrix(replicas.TRUTH.documents(replicas.N_HELD_OUT, first=replicas.HELD_OUT).counts)
    kept = [given.folder, *[Path(os.environ[n]) for n in ("NUMBA_CACHE_DIR",) if n in os.environ]]
    with ExitStack() as stack:
        client = stack.enter_context(hosts.scheduler("127.0.0.10"))
        for number in (11, 12):
            address = f"127.0.0.{number}"
            stack.enter_context(hosts.worker(client, host=address, private_files=True, kept=kept))
        for label, settings in CHOICES.items():
            found = [_chosen(corpus, held_out, client, settings) for _ in range(3)][
                1:
            ]  # compiled code is there
            (bits, *_), (again, *_) = found
            seconds, tokens, n_bytes, score = np.median([one[1:] for one in found], axis=0)
            cells = f"{score:.4f}", f"{seconds:.1f}", results.figure(tokens), f"{n_bytes / 1e6:,.0f}"
            rows.append((label, *cells, "yes" if bits == again else "no"))
            figures.append({"method": label, "found": [one[1:] for one in found]})
            print(*rows[-1], flush=True)
    caption = (
        f"One pass over {given.docs:,} documents of a known LDA, K = {TOPICS}, minibatches of 500, two workers with "
        "files of their own; held-out nats per token; means of two fits"
    )
    results.report(given, "asynchronous-choice", caption, rows, figures)


def _chosen(
    corpus: Corpus, held_out: Corpus, client: Any, settings: dict[str, Any]
) -> tuple[bytes, float, float, float, float]:
    """Bits, seconds, tokens a second, bytes over the network, and score."""
    import warnings

    import psutil

    from bigtopic.evaluation import log_predictive

    def sent() -> int:
        return int(psutil.net_io_counters(pernic=True)["lo"].bytes_sent)

    before, begun = sent(), time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BigtopicWarning)  # of replicas that gain little
        model = learned(corpus, 0, client, batch_size=500, **settings)
    seconds, n_bytes = time.perf_counter() - begun, sent() - before
    score = log_predictive(model, held_out, client=False).value
    return model.components_.tobytes(), seconds, corpus.n_tokens / seconds, n_bytes, score


PARTS: dict[str, Callable[[argparse.Namespace], None]] = {
    "scores": scores, "bytes": bytes_of_rows, "driver": driver, "slow": slow, "choice": choice,
}  # fmt: skip

if __name__ == "__main__":
    main()
