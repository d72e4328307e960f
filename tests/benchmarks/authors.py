"""The author-topic model: bound and seconds next to gensim's, and how the time of a pass grows.

gensim: three methods of variational Bayes and gensim's AuthorTopicModel, with the same documents, priors and passes.
One function computes the bound of all, from the weights of topics and authors. growth: seconds of a pass against
documents, authors of a document, vocabulary, words of a document and topics, one of them growing at a time. loops: the
parts of a pass, on one thread, next to one that writes out the responsibilities of every author and topic.

    python -m tests.benchmarks authors --draw
    python -m tests.benchmarks authors --corpora drawn --documents 300 --topics 10 --passes 2 --seeds 1 --runs 1
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import author_loops
import corpora
import numpy as np
import results
from peers import PEERS, document_pairs
from timing import Stopwatch, Timer

from bigtopic import evaluation
from bigtopic.corpus.store import Corpus
from bigtopic.datasets import KnownAuthors
from bigtopic.estimators.author_topic import AuthorTopicModel
from bigtopic.models.author_topic import AUTHOR_TOPICS
from bigtopic.models.lda import TOPIC_WORDS

METHODS = ("author-vb", "online-author-vb", "online-author-vb-local")
BOUNDS = ("corpus", "system", "bound, nats per token", "above gensim's by", "seconds", "times faster")
GROWTH = ("grows", "from", "to", "times", *(f"{method}, times as long" for method in METHODS))
LOOPS = (
    "words", "responsibilities written out, ms", "factorised, ms", "times faster", "E[log beta]", "E[log theta], gamma",
    "a pass is times faster",
)  # fmt: skip
BASE = {"documents": 5000, "authors": 2, "vocabulary": 5000, "words": 50, "topics": 32}
LABELS = ("documents", "authors of a document", "vocabulary", "words of a document", "topics")
N_AUTHORS = 500


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--corpora", default="demo,drawn", help="of gensim; drawn: four authors a document")
    parser.add_argument("--documents", type=int, default=5000, help="drawn ones, and the fewest of growth")
    parser.add_argument("--topics", type=int, default=50, help="of gensim")
    parser.add_argument("--passes", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=3, help="of gensim")
    parser.add_argument("--runs", type=int, default=7, help="that count, of growth and loops")
    parser.add_argument("--factors", default="1,2,4,8", help="of growth")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "bigtopic-benchmark")
    parser.add_argument("--draw", action="store_true", help="draw growth into docs/images/")
    results.add_option(parser)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    for part in given.parts.split(","):
        if part not in PARTS:
            raise SystemExit(f"--parts: no {part!r}; there are {', '.join(PARTS)}")
        PARTS[part](given)


def fit(corpus: Corpus, method: str, n_components: int, passes: int, **settings: Any) -> AuthorTopicModel:
    """Ours, on two threads; every pass is made."""
    model = AuthorTopicModel(
        n_components,
        method=method,
        max_iter=passes,
        tol=0.0,
        client=False,
        n_threads=2,
        progress=False,
        **settings,
    )
    return model.fit(corpus)


# ---------------------------------------------------------------- next to gensim


def bounds(given: argparse.Namespace) -> None:
    """Bounds after the same passes, and seconds."""
    if missing := PEERS["gensim-authors"].missing():
        print(f"gensim is left out: {missing}")
        return
    rows: list[tuple[str, ...]] = [BOUNDS]
    timer, figures = Timer(), []
    for name in given.corpora.split(","):
        corpus = authored(name, given)
        found = [compare(corpus, given, timer, seed) for seed in range(given.seeds)]
        figures.append({"corpus": name, "found": found})
        rows += [(f"{name}, {corpus.n_docs:,} documents", *cells(found, system)) for system in found[0]]
        print(*(" | ".join(row) for row in rows[-len(found[0]) :]), sep="\n", flush=True)
    caption = (
        f"{given.topics} topics, priors 1 / topics, {given.passes} passes, {given.seeds} seeds; seconds are medians "
        "(quartiles), two threads"
    )
    results.report(given, "authors-gensim", caption, rows, figures)


def authored(name: str, given: argparse.Namespace) -> Corpus:
    """A corpus by name."""
    if name == "drawn":
        return KnownAuthors(5000, given.documents // 10, given.topics).corpus(given.documents)
    return corpora.load(name, None, given.folder)


def compare(
    corpus: Corpus, given: argparse.Namespace, timer: Timer, seed: int
) -> dict[str, tuple[float, float]]:
    """(bound, seconds) of each system."""
    same = dict.fromkeys(("author_topic_prior", "topic_word_prior"), 1 / given.topics)
    found = {}
    for method in METHODS:
        fit(corpus[:50], method, given.topics, 1)  # compiled code is loaded
        sample = timer.quietest(
            lambda method=method: fit(corpus, method, given.topics, given.passes, random_state=seed, **same)
        )
        found[method] = bound(sample.result, corpus), sample.seconds
    words, authors, seconds = gensim(corpus, given.topics, given.passes, seed)
    model = AuthorTopicModel(given.topics, method="author-vb", **same)
    found["gensim"] = bound(with_weights(model, corpus, words, authors), corpus), seconds
    return found


def bound(model: AuthorTopicModel, corpus: Corpus) -> float:
    """The evidence lower bound, in nats per token, of the model's weights."""
    return evaluation.bound(model, corpus).value


def gensim(corpus: Corpus, n_components: int, passes: int, seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Weights of words and of authors, (n_words, n_components) and (n_authors, n_components), and seconds."""
    from gensim.models import AuthorTopicModel as Theirs

    documents = list(document_pairs(corpus.to_scipy("source")))
    authors = {d: document.authors for d, document in enumerate(corpus)}
    model = Theirs(
        num_topics=n_components,
        id2word={i: str(i) for i in range(corpus.n_words)},
        passes=passes,
        alpha=[1 / n_components] * n_components,
        eta=1 / n_components,
        eval_every=None,
        random_state=seed,
    )
    with Stopwatch() as clock:
        model.update(documents, doc2author=authors)
    rows = [model.author2id[author] for author in corpus.authors]
    return model.state.get_lambda().T, model.state.gamma[rows], clock.seconds


def with_weights(model: AuthorTopicModel, corpus: Corpus, words: Any, authors: Any) -> AuthorTopicModel:
    """The model as if it had learned these weights, priors included."""
    model._model = model._new_model(corpus, 0)
    for name, weights in ((TOPIC_WORDS, words), (AUTHOR_TOPICS, authors)):
        array = model._model.params[name]
        array.raw[:, : array.n_components] = weights - 1 / array.n_components
        array.scale[:] = 1.0
        array.fold()
    return model


def cells(found: list[dict[str, tuple[float, float]]], system: str) -> list[str]:
    """What a row says of a system, over the seeds."""
    (own, seconds), (other, theirs) = (np.transpose([one[s] for one in found]) for s in (system, "gensim"))
    if system == "gensim":
        return [system, f"{own.mean():.4f}", "", results.with_spread(seconds), ""]
    above = f"{(own - other).mean():.4f}"
    return [
        system,
        f"{own.mean():.4f}",
        above,
        results.with_spread(seconds),
        results.with_spread(theirs / seconds),
    ]


# ---------------------------------------------------------------- how time grows


def growth(given: argparse.Namespace) -> None:
    """Seconds of a pass, one size growing at a time."""
    factors = [int(factor) for factor in given.factors.split(",")]
    base = BASE | {"documents": given.documents}
    figures = []
    for axis, label in zip(base, LABELS, strict=True):
        tasks = {factor: sized(base | {axis: factor * base[axis]}) for factor in factors}
        seconds = dict.fromkeys(((method, factor) for method in METHODS for factor in factors), np.inf)
        for _ in range(given.runs):  # by turns
            for method, factor in seconds:
                seconds[method, factor] = min(seconds[method, factor], pass_seconds(method, *tasks[factor]))
        values = [factor * base[axis] for factor in factors]
        curves = {method: [seconds[method, factor] for factor in factors] for method in METHODS}
        figures.append({"grows": label, "values": values, "seconds": curves})
        print(label, values, curves, flush=True)
    caption = (
        f"One pass over {base['documents']:,} documents of {base['words']} words by {base['authors']} authors, "
        f"vocabulary {base['vocabulary']:,}, {base['topics']} topics, or one of these larger; fastest pass, two threads"
    )
    picture = draw(figures) if given.draw else None
    results.report(given, "authors-growth", caption, [GROWTH, *map(growth_row, figures)], figures, picture)


def sized(sizes: dict[str, int]) -> tuple[Corpus, int]:
    """Documents of these sizes, and the number of topics."""
    truth = KnownAuthors(sizes["vocabulary"], N_AUTHORS, 32, sizes["authors"], sizes["words"])
    return truth.corpus(sizes["documents"]), sizes["topics"]


def pass_seconds(method: str, corpus: Corpus, n_components: int) -> float:
    """The fastest of some passes of a run, without its start."""
    ends = []
    fit(
        corpus,
        method,
        n_components,
        5,
        callbacks=[lambda e: ends.append(e.seconds) if e.kind == "pass" else None],
    )
    return min(b - a for a, b in pairwise(ends))


def growth_row(found: dict[str, Any]) -> tuple[str, ...]:
    """One line of the table."""
    first, last = found["values"][0], found["values"][-1]
    longer = [results.figure(s[-1] / s[0]) for s in found["seconds"].values()]
    return (found["grows"], f"{first:,}", f"{last:,}", f"{last // first}", *longer)


def draw(figures: list[dict[str, Any]]) -> str:
    """Milliseconds against each size; the path of the picture below docs/."""
    from plots import OURS, canvas, save

    figure, panels = canvas(len(figures), figsize=(3 * len(figures), 2.8))
    for axes, found in zip(panels, figures, strict=True):
        for (method, seconds), style in zip(found["seconds"].items(), ("o-", "s--", "^:"), strict=True):
            axes.plot(found["values"], 1e3 * np.array(seconds), style, color=OURS, markersize=4, label=method)
        axes.set(xlabel=found["grows"], xlim=(0, None), ylim=(0, None))
        axes.locator_params(axis="x", nbins=4)
    panels[0].set_ylabel("ms of a pass")
    panels[0].legend(frameon=False, fontsize="small")
    return save(figure, "authors-growth")


# ---------------------------------------------------------------- the parts of a pass


def loops(given: argparse.Namespace) -> None:
    """The parts of a pass, and how long it takes with responsibilities written out."""
    rows: list[tuple[str, ...]] = [LOOPS]
    timer, figures = Timer(n_threads=1), []
    for n_words in (2000, 10_000, 50_000):
        truth = KnownAuthors(n_words, N_AUTHORS, given.topics)
        timings = timer.alternate(author_loops.stages(truth, given.documents), given.runs)
        seconds = {name: timing.median for name, timing in timings.items()}
        figures.append({"vocabulary": n_words, "seconds": seconds})
        rows.append(loops_row(n_words, seconds))
        print(" | ".join(rows[-1]), flush=True)
    caption = (
        f"{given.documents:,} documents of about 100 words by four authors each, {given.topics} topics, one thread; "
        "medians. Shares of a factorised pass"
    )
    results.report(given, "authors-loops", caption, rows, figures)


def loops_row(n_words: int, seconds: dict[str, float]) -> tuple[str, ...]:
    """One line of the table."""
    slow, fast, beta, gamma = seconds.values()
    whole = fast + beta + gamma
    return (
        f"{n_words:,}",
        *(results.figure(1e3 * s, 3) for s in (slow, fast)),
        results.figure(slow / fast),
        *(f"{part / whole:.0%}" for part in (beta, gamma)),
        results.figure((slow + beta + gamma) / whole),
    )


PARTS = {"gensim": bounds, "growth": growth, "loops": loops}


if __name__ == "__main__":
    main()
