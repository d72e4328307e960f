"""A stream of a million documents with drift built in: memory, words, time, score, stable topics, and the drift found.

Documents are drawn from a known model of 20 topics of 200 words. All the time, rare words of topics are replaced by new
ones, and words that occur once come in. Events are built in: a topic changes all its words, one grows, one shrinks, one
splits, one dies, and one is born. After each window, the drift report is compared with the events, and the next call's
documents are scored by the model of the stream and by one that learned from the last window alone.

    python -m tests.benchmarks stream
    python -m tests.benchmarks stream --calls 100 --window 10
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import results
from scipy.optimize import linear_sum_assignment

N_TOPICS, N_WORDS, LENGTH = 20, 200, 20
SPARE = 2  # topics of the truth that are empty at first: the half of the one that splits, and the one that is born
MORE = 2  # topics of the model that the truth does not need
SETTLED, LATE = 10, 20  # windows
# (share of the calls, what, topic of the truth)
EVENTS = (
    (0.2, "grew", 7), (0.3, "moved", 5), (0.4, "split", 3), (0.5, "shrank", 8), (0.6, "died", 9), (0.7, "born", 21),
)  # fmt: skip
STILL = [k for k in range(N_TOPICS) if k not in (3, 5, 7, 8, 9)]
# Reports that also find an event: a topic that changes all its words dies, and its documents are another topic's.
ALSO = {"moved": ("died",), "born": ("grew",)}
HEAD = (
    "calls", "RSS, MB", "words known", "words seen", "CPU seconds a call", "nats per token", "last window's model",
    "difference", "topics at their number",
)  # fmt: skip


@dataclass
class Stream:
    """The truth, which changes from call to call.

    words : int64 (n_topics, N_WORDS), numbers of the words of each topic, most probable first
    """

    n_calls: int
    n_docs: int
    draw: np.random.Generator
    shares: np.ndarray = field(default_factory=lambda: np.repeat([1.0, 0.0], [N_TOPICS, SPARE]))
    n_seen: int = N_TOPICS * N_WORDS
    call: int = 0

    def __post_init__(self) -> None:
        self.words = np.arange((N_TOPICS + SPARE) * N_WORDS).reshape(-1, N_WORDS)
        self.n_seen = self.words.size
        self.weights = 1.0 / (np.arange(N_WORDS) + 10.0)
        self.due = {round(share * self.n_calls): (what, k) for share, what, k in EVENTS}

    def _new(self, n: int) -> np.ndarray:
        self.n_seen += n
        return np.arange(self.n_seen - n, self.n_seen)

    def _event(self, what: str, k: int) -> None:
        if what == "moved":
            self.words[k] = self._new(N_WORDS)
        elif what == "split":  # every second word, and half of the share
            self.words[N_TOPICS, ::2], self.words[k, ::2] = self.words[k, ::2], self._new(N_WORDS // 2)
            self.words[N_TOPICS, 1::2] = self._new(N_WORDS // 2)
            self.shares[[k, N_TOPICS]] = 0.5
        else:
            self.shares[k] = {"grew": 3.0, "shrank": 0.3, "died": 0.0, "born": 1.0}[what]

    def topics(self) -> np.ndarray:
        """p(word | topic) of the words there were so far, (n_topics, n_seen)."""
        dense = np.zeros((len(self.words), self.n_seen))
        np.put_along_axis(dense, self.words, np.broadcast_to(self.weights, self.words.shape), 1)
        return dense / self.weights.sum()

    def batch(self) -> Any:
        """The documents of the next call, as a corpus."""
        from bigtopic.corpus.memory import from_matrix

        if self.call in self.due:
            self._event(*self.due[self.call])
        self.call += 1
        draw, rare = self.draw, self.draw.integers(0, N_TOPICS, 2)
        self.words[rare, draw.integers(N_WORDS // 2, N_WORDS, 2)] = self._new(2)
        alive = np.flatnonzero(self.shares)
        prior = 0.1 * self.shares[alive]
        theta = draw.gamma(prior, size=(self.n_docs, len(alive))) + 1e-12
        lengths = draw.poisson(LENGTH, self.n_docs) + 1
        of = np.repeat(np.arange(self.n_docs), lengths)
        below = np.cumsum(theta, axis=1)
        topics = alive[(draw.random(len(of)) * below[of, -1])[:, None].__gt__(below[of]).sum(axis=1)]
        slots = np.searchsorted(np.cumsum(self.weights), draw.random(len(of)) * self.weights.sum())
        tokens = self.words[topics, slots]
        tokens[draw.integers(0, len(of), 50)] = self._new(50)  # words that occur once
        ids, columns = np.unique(tokens, return_inverse=True)
        from scipy.sparse import csr_array

        counts = csr_array((np.ones(len(of)), (of, columns)), shape=(self.n_docs, len(ids)))
        return from_matrix(counts, [f"w{i}" for i in ids], shuffle=False)


def joined(batches: list[Any]) -> Any:
    """The documents of several calls as one corpus."""
    from scipy.sparse import coo_array

    from bigtopic.corpus.memory import from_matrix

    words = {w: i for i, w in enumerate(dict.fromkeys(w for one in batches for w in one.vocabulary))}
    parts, first = [], 0
    for one in batches:
        found = one.to_scipy().tocoo()
        columns = np.array([words[w] for w in one.vocabulary])[found.col]
        parts.append((found.data, found.row + first, columns))
        first += one.n_docs
    data, rows, columns = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return from_matrix(coo_array((data, (rows, columns)), shape=(first, len(words))).tocsr(), [*words])


def closeness(stream: Stream, model: Any) -> np.ndarray:
    """sum_w sqrt(p_w q_w) of each topic of the truth, p, and of the model, q."""
    truth, ids = stream.topics(), np.array([int(word[1:]) for word in model.vocabulary_])
    found: np.ndarray = np.sqrt(truth[:, ids]) @ np.sqrt(model.get_topics().T)
    return found


@dataclass
class Found:
    """What a run showed; see `HEAD`."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    # call, what, topic, topics of the truth, whether the truth's share changed so
    reports: list[tuple[int, str, int, list[int], bool]] = field(default_factory=list)
    events: list[tuple[int, str, int]] = field(default_factory=list)  # call, what, topic of the truth
    n_windows: int = 0
    recall: float = 0.0
    precision: float = 0.0


def run(
    n_calls: int, n_docs: int, window: int, half_life: float, max_words: int, method: str | None, seed: int = 0,
    n_rows: int = 10, quiet: bool = False,
) -> Found:  # fmt: skip
    """Learn from a stream; documents, windows and half-life as in the options of the command."""
    from bigtopic import LDA, evaluate

    stream, found = Stream(n_calls, n_docs, np.random.default_rng(seed)), Found()
    here: dict[str, Any] = {
        "client": False,
        "progress": False,
        "random_state": seed,
        "method": method or "online-cvb0",
    }
    size = N_TOPICS + SPARE + MORE
    model = LDA(size, half_life=half_life, max_words=max_words, **here)
    recent: list[Any] = []
    snapshots: list[Any] = []
    shares: list[np.ndarray] = []
    slowly: set[Any] = set()
    first: np.ndarray | None = None
    seconds: list[float] = []
    scored = [round(n_calls * (i + 1) / n_rows) // window * window for i in range(n_rows)]
    for call in range(1, n_calls + 1):
        batch = stream.batch()
        if recent and call - 1 in scored:
            found.rows[-1] |= against_window(model, recent, batch, size, here, evaluate)
        begun = time.process_time()
        model.partial_fit(batch, score=True)
        seconds.append(time.process_time() - begun)
        recent = [*recent, batch][-window:]
        if call % window:
            continue
        snapshots = [*snapshots, model.snapshot(joined(recent))][-SETTLED - 1 :]
        found.n_windows += 1
        close = closeness(stream, model)
        place = linear_sum_assignment(-close)[1]
        shares = [*shares, stream.shares / stream.shares.sum()][-3:]
        if found.n_windows == 3:  # topics have settled
            snapshots = snapshots[-1:]
            first = place
        if first is not None and found.n_windows > 3:
            note(found, evaluate.drift(*snapshots[-2:]).events, first, place, shares[::2], call)
            split = {
                event for event in evaluate.drift(snapshots[0], snapshots[-1]).events if event[0] == "split"
            }
            note(found, split - slowly, first, place, shares[::2], call)
            slowly = split
        if call in scored:
            # Where two topics of the model share one of the truth, either may be the closer one
            kept = 0 if first is None else sum(close[k, first[k]] > close[k].max() - 0.02 for k in STILL)
            scores = [row["score"] for row in model.history_[-window:] if "score" in row]
            found.rows.append(
                {
                    "call": call, "rss": rss(), "words": len(model.vocabulary_), "seen": stream.n_seen,
                    "seconds": float(np.median(seconds[-window:])), "score": float(np.mean(scores)), "kept": int(kept),
                }
            )  # fmt: skip
            if not quiet:
                print(found.rows[-1], flush=True)
    found.rows[-1] |= against_window(model, recent, stream.batch(), size, here, evaluate)
    found.events = [(at, *event) for at, event in stream.due.items() if at > 3 * window]
    judge(found, window)
    return found


def against_window(
    model: Any, recent: list[Any], batch: Any, size: int, here: Any, evaluate: Any
) -> dict[str, Any]:
    """Scores of new documents by the stream's model and by one of the last window, and their paired difference."""
    from bigtopic import LDA

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fresh = LDA(size, **here).fit(joined(recent))
        table = evaluate.compare({"stream": model, "window": fresh}, batch, n_threads=1)
    value, error = table.difference("log-predictive", "stream", "window")
    both = {name: table.scores["log-predictive"][name].value for name in ("stream", "window")}
    return {"own": both["stream"], "window": both["window"], "difference": value, "error": error}


def note(
    found: Found, events: Any, first: np.ndarray, place: np.ndarray, shares: list[Any], call: int
) -> None:
    """Record the events of a report with the topics of the truth that the topic was first, or is now, and whether their
    share of the truth changed as it says."""
    change = shares[-1] / np.maximum(shares[-2], 1e-12) - 1
    for what, k in events:
        truth = sorted(
            {*np.flatnonzero(first[:N_TOPICS] == k).tolist(), *np.flatnonzero(place == k).tolist()}
        )
        sign = {"grew": 1, "shrank": -1}.get(what, 0)
        found.reports.append((call, what, int(k), truth, any(sign * change[i] > 0.02 for i in truth)))


def judge(found: Found, window: int) -> None:
    """Recall over the events, and precision over the reports.

    An event is found if a report says so within two windows; a split, within `SETTLED`. A report is right if the
    share of its topic changed so in the truth, or the topic had an event in the last `LATE` windows, because the
    model's topics go on making room for each other.
    """
    hits = set()
    right = 0
    for call, what, _, truth, true in found.reports:
        near = [event for event in found.events if call - LATE * window < event[0] <= call]
        own = [e for e in near if e[2] in truth or (e[1] == "split" and N_TOPICS in truth)]
        right += true or bool(own)
        own = [e for e in own if e[0] > call - (SETTLED if what == "split" else 2) * window]
        hits |= {e for e in own if what == e[1] or what in ALSO.get(e[1], ())}
    found.recall = len(hits) / max(1, len(found.events))
    found.precision = right / max(1, len(found.reports))


def rss() -> float:
    """Resident memory of this process, in MB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--docs", type=int, default=1000, help="documents of a call")
    parser.add_argument("--window", type=int, default=20, help="calls of a window")
    parser.add_argument("--half-life", type=float, default=20_000, help="documents")
    parser.add_argument("--max-words", type=int, default=6000)
    parser.add_argument("--method")
    parser.add_argument("--seed", type=int, default=0)
    results.add_option(parser)
    given = parser.parse_args()
    settings = given.docs, given.window, given.half_life, given.max_words, given.method, given.seed
    found = run(given.calls, *settings)
    for one in found.reports:
        print(*one)
    rows: list[tuple[str, ...]] = [HEAD]
    rows.extend(
            (
                f"{row['call']:,}", f"{row['rss']:.0f}", f"{row['words']:,}", f"{row['seen']:,}",
                results.figure(row["seconds"]), f"{row['own']:.4f}", f"{row['window']:.4f}",
                f"{row['difference']:+.4f} ± {row['error']:.4f}", f"{row['kept']} of {len(STILL)}",
            )
        for row in found.rows
    )  # fmt: skip
    caption = (
        f"{given.calls:,} calls of {given.docs:,} documents of about {LENGTH} tokens, half-life "
        f"{given.half_life:,.0f} documents, at most {given.max_words:,} words, windows of {given.window} calls. Of "
        f"{len(found.events)} events, {found.recall:.0%} found; of {len(found.reports)} reports in "
        f"{found.n_windows - 3} windows, {found.precision:.0%} right"
    )
    results.report(given, "stream", caption, rows, vars(found))


if __name__ == "__main__":
    main()
