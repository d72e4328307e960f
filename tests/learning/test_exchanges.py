"""What exchanges do to the topics, by dense loops written from the equations of docs/decisions/exchanges.md and
replicas.md. For bits, see `conformance/test_executors`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bigtopic import methods as table
from bigtopic.corpus.store import Corpus
from bigtopic.learning.stopping import Limits
from bigtopic.learning.train import train
from bigtopic.schemes.interpolate import Interpolate
from bigtopic.state.model import TopicModel
from bigtopic.state.new_model import new_model
from bigtopic.types import Docs, Hyper, KernelResult, View

K = 4


class Seen:
    """The kernel of a method; notes the statistics of each update, (n_words, K), and by what share of the corpus'
    tokens a scheme of tokens divides them, and which means of the topics it saw."""

    def __init__(self, name: str, corpus: Corpus) -> None:
        self.kernel, self.counts = table.get(name).load_kernel(), corpus.to_scipy()
        self.method = replace(table.get(name), kernel=replace(self.kernel, run=self, loop=None))
        self.stats: dict[int, np.ndarray] = {}
        self.views: list[tuple[int, np.ndarray, np.ndarray]] = []

    def __call__(self, docs: Docs, view: View, hyper: Hyper, seed: int, state: Any) -> KernelResult:
        found = self.kernel.run(docs, view, hyper, seed, state)
        ids = np.zeros(docs.n_words, int)
        ids[docs.words] = np.concatenate([np.sort(self.counts[row].indices) for row in docs.rows])
        sums = self.stats.setdefault(hyper.step, np.zeros((self.counts.shape[1], K)))
        sums[ids] += found.stats["topic_words"][:, :K]
        self.views.append((hyper.step, ids, view.arrays["topic_words"][:, :K].astype(float)))
        return found


def weights(model: TopicModel) -> np.ndarray:
    return model.topic_words.gather(None)[:, :K].astype(float)


class Pairs:
    """Each two rounds begin from the same params."""

    def exchange(self, done: int) -> tuple[int, bool]:
        return 2, False


def test_large_steps_of_exchanges_fade_what_was_before_them_without_end(corpus):
    """An exchange of two leaves a quarter of the statistics before it, and a long run almost nothing of its first
    ones: the scale of the rows is folded between exchanges, wherever it becomes small."""
    seen = Seen("online-cvb0", corpus)
    schemes = {"topic_words": Interpolate(learning_decay=None, learning_scale=1.0, scale="tokens")}
    model = new_model(
        replace(seen.method, schemes=schemes), K, corpus.vocabulary, n_tokens=corpus.n_tokens, seed=0
    )
    train(model, corpus, Limits(1), batch_size=2, n_threads=1, schedule=Pairs())
    expected = np.zeros((len(corpus.vocabulary), K))
    for _, stats in sorted(seen.stats.items()):
        expected = (expected + stats * corpus.n_tokens / stats.sum()) / 2
    prior = model.topic_words.prior
    np.testing.assert_allclose(weights(model), prior + expected, rtol=1e-5)
