"""What exchanges do to the topics, by dense loops written from docs/decisions/exchanges.md and replicas.md, over the
statistics that a run had. For the bits of executors, see `conformance/test_executors`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from bigtopic import methods as table
from bigtopic.corpus.store import Corpus
from bigtopic.learning.stopping import Limits
from bigtopic.learning.train import train
from bigtopic.schemes.interpolate import Interpolate
from bigtopic.state.model import TopicModel
from bigtopic.state.new_model import new_model
from bigtopic.types import Docs, Hyper, KernelResult, View

pytestmark = pytest.mark.usefixtures("replicas_of_large_corpora")

K = 4


class Watched:
    """A kernel that notes the statistics of each update 1, 2, ..., (n_words, K), and its documents."""

    def __init__(self, name: str, corpus: Corpus) -> None:
        self._kernel, self._words = table.get(name).load_kernel(), corpus.to_scipy()
        self.method = replace(table.get(name), kernel=replace(self._kernel, run=self, loop=None))
        self.stats: dict[int, np.ndarray] = {}
        self.n_docs: dict[int, int] = {}

    def __call__(self, docs: Docs, view: View, hyper: Hyper, seed: int, state: Any) -> KernelResult:
        found = self._kernel.run(docs, view, hyper, seed, state)
        ids = np.zeros(docs.n_words, int)
        ids[docs.words] = np.concatenate([np.sort(self._words[row].indices) for row in docs.rows])
        stats = self.stats.setdefault(hyper.step, np.zeros((self._words.shape[1], K)))
        stats[ids] += found.stats["topic_words"][:, :K]
        self.n_docs[hyper.step] = self.n_docs.get(hyper.step, 0) + docs.n_docs
        return found


def made(watched: Watched, corpus: Corpus, **replaced: Any) -> TopicModel:
    method = replace(watched.method, **replaced)
    return new_model(method, K, corpus.vocabulary, n_tokens=corpus.n_tokens, seed=0)


def statistics(model: TopicModel) -> np.ndarray:
    """Without the prior."""
    return model.topic_words.gather(None)[:, :K].astype(float) - model.topic_words.prior


def exchanges(n_rounds: int, n_passes: int, replicas: int, most: int) -> Iterator[tuple[bool, list[range]]]:
    """Whether it is of replicas, and the updates of each share, in passes of fewer than 13 * 64 updates."""
    done = 0
    for end in range(n_rounds, n_passes * n_rounds + 1, n_rounds):
        while done < end:
            long = min(done * replicas // (16 * (replicas - 1)), done // 15) if replicas > 1 else 0
            if long >= 2:
                n = min(long, replicas * most, end - done)
                n_shares = min(n, replicas)
            else:
                concurrent = n_rounds // 64 if n_rounds >= 256 else 1
                n = n_shares = 1 if done < 8 else min(concurrent, end - done)
            ends = [done + 1 + r * n // n_shares for r in range(n_shares + 1)]
            yield long >= 2, [range(*pair) for pair in pairwise(ends)]
            done += n


def step_size(scheme: Any, update: int, missed: int, n_updates: int) -> float:
    """s (tau + t)^-kappa, which makes up for missed updates; the steps of an exchange add up to 1 at most."""
    rate = (scheme.learning_offset + update) ** -scheme.learning_decay
    rate = 1 / max(1.0, 1 / rate - 2 * (missed - 1)) if missed > 1 else rate
    return min(rate, 1 / n_updates)


def interpolated(
    topics: np.ndarray, targets: Mapping[int, np.ndarray], scheme: Any, given: Any
) -> np.ndarray:
    """What replicas changed is added. Other shares have one update, and these follow one another."""
    for of_replicas, shares in given:
        before, n = topics, sum(map(len, shares))
        for updates in shares:
            own = before if of_replicas else topics
            for t in updates:
                early = 2 * (updates[0] - 1) < len(targets)  # in the first half of the run
                missed = early * (n - len(updates)) // 2 if of_replicas else t - shares[0][0]
                own = own + step_size(scheme, t, missed, n) * (targets[t] - own)
            topics = topics + (own - before) if of_replicas else own
    return topics


@pytest.mark.parametrize("name", ["online-cvb0", "online-vb", "online-ope", "g-oem"])
@pytest.mark.parametrize(
    ("batch_size", "replicas", "updates"), [(8, 1, 8), (1, 1, 8), (3, 3, 2), (2, 2, 8)], ids=str
)
def test_steps_of_an_exchange_are_those_of_the_equations(name, batch_size, replicas, updates, corpus):
    watched, n_passes = Watched(name, corpus), 2
    model = made(watched, corpus)
    start, scheme = statistics(model), watched.method.schemes["topic_words"]
    given = {"batch_size": batch_size, "replicas": replicas, "replica_updates": updates}
    train(model, corpus, Limits(n_passes), n_threads=1, **given)
    by_tokens = scheme.scale == "tokens"
    targets = {
        t: stats * (corpus.n_tokens / stats.sum() if by_tokens else corpus.n_docs / watched.n_docs[t])
        for t, stats in watched.stats.items()
    }
    shares = list(exchanges(-(-corpus.n_docs // batch_size), n_passes, replicas, updates))
    expected = interpolated(start, targets, scheme, shares)
    np.testing.assert_allclose(statistics(model), expected, rtol=1e-5, atol=1e-5)


class Pairs:
    """Each two rounds begin from the same params."""

    def exchange(self, done: int) -> tuple[int, bool]:
        return 2, False


def test_what_large_steps_leave_of_a_start_may_be_as_small_as_they_make_it(corpus):
    """Each exchange of two leaves a quarter: the scale of the rows becomes small in the middle of one."""
    watched = Watched("online-cvb0", corpus)
    scheme = Interpolate(learning_decay=None, learning_scale=1.0, scale="tokens")
    model = made(watched, corpus, schemes={"topic_words": scheme})
    train(model, corpus, Limits(1), batch_size=2, n_threads=1, schedule=Pairs())
    expected = 0.0
    for _, stats in sorted(watched.stats.items()):
        expected = (expected + stats * corpus.n_tokens / stats.sum()) / 2
    np.testing.assert_allclose(statistics(model), expected, rtol=1e-5, atol=1e-5)
