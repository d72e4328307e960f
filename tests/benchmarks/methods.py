"""Every learning method of LDA on the same documents: held-out score, coherence, diversity, time; at two settings each.

"paper" are the settings of the table of methods. "ours" are the priors of `online-cvb0` where a method has
them, and where it has a step size also its minibatches, passes and step size. All are scored by one
evaluator on the same held-out tokens. What is measured is kept in a folder, so that a run that was ended goes on.

    python -m tests.benchmarks methods --data FOLDER --json FILE [--draw]
    python -m tests.benchmarks methods --corpora demo --topics 20 --methods online-cvb0,cgs --runs 1
"""

from __future__ import annotations

import argparse
import hashlib
import json
import warnings
from dataclasses import asdict, dataclass
from typing import Any

import corpora
import numpy as np
import results
from timing import Sample, Timer

HEAD = ("method", "settings", "nats per token", "NPMI", "diversity", "seconds", "tokens a second", "passes")
OTHERS = ("author topic", "dual")  # families of other models
LEAST_TOKENS = 30_000  # held out
LONG = 5.0  # seconds of training, after which a method is not fitted again
TOP = 25  # words of each topic, of which diversity is the share of different ones (Dieng, Ruiz, Blei 2020)


@dataclass
class Found:
    """One method at one setting.

    score, error : held-out nats per token, and its standard error
    seconds : of each training
    tokens : learnt from, in all passes
    reason : what ended the training
    """

    method: str
    settings: str
    score: float
    error: float
    npmi: float
    diversity: float
    seconds: list[float]
    tokens: float
    passes: float
    reason: str
    measured: str


class Trial:
    """The documents of one corpus, to learn from and held out, and one number of topics."""

    def __init__(self, name: str, corpus: Any, n_components: int, seed: int) -> None:
        from bigtopic.methods import get

        self.name, self.n_components, self.seed = name, n_components, seed
        # half of a document's tokens are held out, rounded down
        enough = 2.3 * LEAST_TOKENS * corpus.n_docs / corpus.n_tokens
        n_test = min(max(corpora.HELD_OUT[name], round(enough)), corpus.n_docs // 2)
        self.train, self.test = corpus.split(test_size=n_test, random_state=seed)
        self.default = get("online-cvb0")

    def judge(self, topics: Any) -> Any:
        """Document completion with the prior of `online-cvb0` for all methods."""
        from bigtopic.evaluation import log_predictive

        prior = self.default.prior("doc_topic_prior", self.n_components)
        words = self.train.vocabulary
        return log_predictive(
            topics, self.test, seed=self.seed, train=self.train, vocabulary=words, doc_topic_prior=prior
        )

    def settings(self, method: Any, which: str) -> dict[str, Any]:
        """Of the estimator; see the module."""
        from bigtopic.schemes.schedule import LearningRate

        if which == "paper":
            return {}
        known = {spec.prior for spec in method.model.arrays.values()}
        own = [n for n in ("doc_topic_prior", "topic_word_prior") if n in known]
        told: dict[str, Any] = {
            n: self.default.prior(n, self.n_components) for n in own if method.priors.get(n) not in (0.0, 1.0)
        }
        if method.batch_size and isinstance(method.schemes["topic_words"], LearningRate):
            size = min(method.batch_size, self.default.batch_size_for(len(self.train)))
            passes = self.default.max_iter_for(len(self.train), size)
            told |= {"batch_size": size, "max_iter": passes, "learning_decay": 0.7, "learning_offset": 1.0}
        return told

    def measure(self, method: Any, which: str, given: argparse.Namespace, timer: Timer) -> Found:
        """Fit so many times, and score the last."""
        told = self.settings(method, which)
        self._fit(method, {**told, "max_iter": 1, "max_time": 2.0})  # compiles
        events: list[Any] = []
        told = {**told, "max_time": given.max_time, "callbacks": [events.append]}
        samples: list[Sample] = []
        while len(samples) < given.runs and sum(sample.seconds for sample in samples) < LONG:
            samples.append(timer.measure(lambda: self._fit(method, told)))
        model = samples[-1].result
        score, topics = self.judge(model), model.get_topics()
        from bigtopic.evaluation import coherence

        return Found(
            method.name,
            which,
            score.value,
            score.standard_error,
            coherence(model, self.train).value,
            diversity(topics),
            [sample.seconds for sample in samples],
            float(events[-1].n_tokens),
            events[-1].n_docs / len(self.train),
            events[-1].reason,
            results.now(),
        )

    def _fit(self, method: Any, settings: dict[str, Any]) -> Any:
        from bigtopic.estimators.lda import LDA

        here = {"random_state": self.seed, "client": False, "n_threads": 2, "progress": False}
        return LDA(self.n_components, method=method, **here, **settings).fit(self.train)


def diversity(topics: np.ndarray) -> float:
    """The share of different words among the top words of all topics."""
    top = np.argsort(-topics, axis=1, kind="stable")[:, :TOP]
    return len(np.unique(top)) / top.size


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    corpora.add_options(parser, "ap,bbc,dblp,demo")
    parser.add_argument("--topics", default="20,100")
    parser.add_argument("--methods", help="default all of LDA")
    parser.add_argument("--settings", default="paper,ours")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--runs", type=int, default=3, help="fits of each, for the time; fewer where they take long"
    )
    parser.add_argument("--max-time", type=float, default=600.0, help="seconds after which a fit is ended")
    parser.add_argument("--draw", action="store_true", help="draw score against time into docs/images/")
    parser.add_argument("--fresh", action="store_true", help="measure again what is kept")
    results.add_option(parser)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    timer = Timer(2)
    for name in given.corpora.split(","):
        try:
            corpus = corpora.load(name, given.data, given.folder)
        except SystemExit as missing:
            print(f"{name} is left out: {missing}")
            continue
        for n_components in map(int, given.topics.split(",")):
            compare(Trial(name, corpus, n_components, given.seed), given, timer)
    print(f"\n{timer}")


def compare(trial: Trial, given: argparse.Namespace, timer: Timer) -> None:
    """One corpus and one number of topics."""
    from bigtopic import methods

    baseline = trial.judge(np.ones((1, len(trial.train.vocabulary))))
    named = [row["method"] for row in methods.methods() if row["family"] not in OTHERS]
    chosen = given.methods.split(",") if given.methods else named
    found = [
        kept(trial, methods.get(name), which, given, timer)
        for name in chosen
        for which in given.settings.split(",")
    ]
    label = f"methods-{trial.name}-{trial.n_components}"
    picture = None
    if given.draw:
        from plots import draw_methods

        points = [(f.method, f.settings, float(np.median(f.seconds)), f.score) for f in found]
        picture = draw_methods(label, points, baseline.unigram)
    caption = (
        f"{trial.name}: {len(trial.train):,} documents to learn from with {trial.train.n_tokens:,.0f} tokens, "
        f"{trial.n_components} topics, {baseline.n_tokens:,.0f} held-out tokens; unigram model {baseline.unigram:.4f}"
    )
    results.report(given, label, caption, rows(found), [asdict(f) for f in found], picture)


def kept(trial: Trial, method: Any, which: str, given: argparse.Namespace, timer: Timer) -> Found:
    """Measured now, or what is kept of the same unless `fresh`."""
    priors = [method.prior(n, trial.n_components) for n in sorted(method.priors)]
    learns = (method.kernel, dict(method.schemes), method.batch_size, method.slice_size, method.inner)
    ends = (method.max_iter, method.tol, given.runs, given.max_time)
    told = (trial.settings(method, which), priors, dict(method.options), trial.n_components, trial.seed)
    known = (trial.train.fingerprint, trial.test.fingerprint, learns, ends, told)
    digest = hashlib.blake2b(repr(known).encode(), digest_size=8).hexdigest()
    path = given.folder / "methods" / f"{trial.name}-{trial.n_components}-{method.name}-{which}-{digest}.json"
    if path.exists() and not given.fresh:
        return Found(**json.loads(path.read_text(encoding="utf-8")))
    found = trial.measure(method, which, given, timer)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(found)), encoding="utf-8")
    print(f"{trial.name}, {trial.n_components} topics: {' | '.join(cells(found))}", flush=True)
    return found


def rows(found: list[Found]) -> list[tuple[str, ...]]:
    """The table, best scores first."""
    return [HEAD, *map(cells, sorted(found, key=lambda f: -f.score))]


def cells(found: Found) -> tuple[str, ...]:
    """One line of the table."""
    ended = "" if found.reason != "max_time" else ", ended by time"
    return (
        found.method,
        found.settings,
        f"{found.score:.4f} ± {found.error:.4f}",
        f"{found.npmi:.3f}",
        f"{found.diversity:.2f}",
        results.with_spread(found.seconds),
        results.figure(found.tokens / float(np.median(found.seconds))),
        f"{found.passes:.3g}{ended}",
    )


if __name__ == "__main__":
    main()
