"""Dupuy and Bach, "Online but accurate inference for latent variable models with local Gibbs sampling", rerun.

    python examples/papers/goem.py [--data fetched|demo|synthetic|PATH] [--full | --toy] [--out results]

The measure is the paper's: the mean over test documents of -log p(document), by left-to-right. Here it is the
sequential form, which is consistent, of documents cut to 100 tokens. It needs no inference of the methods. All make one
pass, and learn the prior of the documents' topics. Minibatches have 100 documents; of SPLDA 25, because an update takes
it as long for one. Steps are t^-0.5 (0.51 for OLDA and VarGibbs, which warn of 0.5; SPLDA averages). On drawn data, the
model that drew them is the ceiling, and topics are compared with its own. Topics of texts are listed side by side: of
the data, or, if they are drawn, of docstrings of this machine. A seed is another split and another start.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import bigtopic as bt

sys.path.insert(0, str(Path(__file__).parent))

from _claims import Claim, announce, arguments, corpus_of, docstrings, figure, report, write

QUIET: dict[str, Any] = {"client": False, "n_threads": 1, "progress": False}
DECAY: dict[str, Any] = {"learning_decay": 0.51}
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "OLDA": ("online-vb", DECAY),
    "SVB": ("svb", {}),
    "SPLDA": ("splda", {"batch_size": 25, "learning_offset": 4.0}),
    "V-OEM": ("v-oem", {}),
    "V-OEM++": ("v-oem++", {}),
    "G-OEM": ("g-oem", {}),
    "G-OEM, constant averaged steps": (
        "g-oem",
        {
            "average": 0.5,
            "options": {
                "topic_words.learning_decay": None,
                "topic_words.learning_scale": 0.05,
                "doc_topic_prior.begin": 1.0,
            },
        },
    ),
    "VarGibbs": ("online-cgs", DECAY),
    "LDS": ("lds", {"options": {"doc_topic_prior.begin": 0.5}}),  # its steps are short
}
BAYESIAN = ("OLDA", "SVB")  # variational, with distributions of topics
UNIT = "nats a document"

Splits = Sequence[tuple[bt.Corpus, bt.Corpus]]


@dataclass(frozen=True)
class Size:
    """Numbers of topics; drawn documents, words and topics; test documents, their tokens at most, and particles;
    documents of a minibatch."""

    topics: tuple[int, ...] = (8, 16, 32, 64)
    drawn: tuple[int, int, int] = (10_000, 1000, 8)
    n_test: int = 500
    max_tokens: int = 100
    particles: int = 20
    batch_size: int = 100


TOY = Size((2, 3), (150, 60, 3), 10, 10, 2, 5)
FULL = Size(drawn=(1_000_000, 1000, 8))


def learned(size: Size, K: int, name: str, train: bt.Corpus, seed: int) -> bt.LDA:
    """A model after one pass."""
    method, how = METHODS[name]
    settings = {
        "batch_size": size.batch_size,
        "max_iter": 1,
        "learn_doc_topic_prior": "asymmetric",
        **QUIET,
        **how,
    }
    return bt.LDA(K, method=method, random_state=seed, **settings).fit(train)


def loss(model: Any, test: bt.Corpus, size: Size, **how: Any) -> float:
    """-log p(document), nats, mean over documents."""
    settings = {"particles": size.particles, "max_tokens": size.max_tokens, "client": False, **how}
    return -float(bt.evaluate.left_to_right(model, test, **settings).per_document)


def figure_1(splits: Splits, size: Size, out: Path, truth: Any) -> list[Claim]:
    """The loss against the number of topics."""
    found = {(name, K): np.empty(len(splits)) for K in size.topics for name in METHODS}
    distances: dict[str, list[float]] = {name: [] for name in METHODS}
    for seed, (train, test) in enumerate(splits):
        for name, K in found:
            model = learned(size, K, name, train, seed)
            found[name, K][seed] = loss(model, test, size)
            if truth is not None and truth.n_components == K:
                distances[name].append(_distance(model, truth))
    rows = [{"K": K} | {name: found[name, K].mean() for name in METHODS} for K in size.topics]
    floor = None
    if truth is not None:
        floor = np.array([loss(truth, test, size, vocabulary=test) for _, test in splits])
        rows = [row | {"truth": floor.mean()} for row in rows]
        write(out, "distances", [{"method": name, "L1 to the true topics": np.mean(own)}
                                 for name, own in distances.items()])  # fmt: skip
    write(out, "figure-1", rows)
    curves = {name: (size.topics, [found[name, K].mean() for K in size.topics]) for name in METHODS}
    figure(out, "figure-1", {"one pass": curves}, ("topics", f"-log p, {UNIT}"))
    return [*_claims_of(found, size), *_claims_of_truth(found, floor, size)]


def _claims_of(found: dict[tuple[str, int], np.ndarray], size: Size) -> list[Claim]:
    claims = []
    for K in size.topics:
        where = f"Figure 1, K = {K}"
        best = np.min([found[name, K] for name in METHODS if not name.startswith("G-OEM")], axis=0)
        claims += [
            Claim(where, "G-OEM has the highest log p of all", best - found["G-OEM", K], UNIT),
            Claim(where, "boosting helps V-OEM", found["V-OEM", K] - found["V-OEM++", K], UNIT),
            Claim(where, "Gibbs beats variational local steps: G-OEM over V-OEM", found["V-OEM", K] - found["G-OEM", K],
                  UNIT),
            Claim(where, "Gibbs beats variational local steps: VarGibbs over OLDA",
                  found["OLDA", K] - found["VarGibbs", K], UNIT),
        ]  # fmt: skip
    first, last = size.topics[0], size.topics[-1]
    worse = {name: found[name, last] - found[name, first] for name in (*BAYESIAN, "G-OEM")}
    for name in BAYESIAN:
        beside = worse[name] - worse["G-OEM"]
        claims += [
            Claim("Figure 1", f"{name} gets worse from {first} to {last} topics", worse[name], UNIT),
            Claim(
                "Figure 1", f"(ours) {name} loses more than G-OEM from {first} to {last} topics", beside, UNIT
            ),
        ]
    return claims


def _claims_of_truth(
    found: dict[tuple[str, int], np.ndarray], floor: np.ndarray | None, size: Size
) -> list[Claim]:
    if floor is None:
        return []
    least = np.min([found[name, K] for name in METHODS for K in size.topics], axis=0)
    return [Claim("(ours)", "no model has a higher log p than the truth", least - floor, UNIT)]


def topic_lists(texts: bt.Corpus, size: Size, out: Path) -> None:
    """Ten words of each topic of G-OEM, beside the closest topic of OLDA."""
    g_oem, olda = (learned(size, size.topics[1], name, texts, 0) for name in ("G-OEM", "OLDA"))
    matched = bt.evaluate.align(g_oem, olda)
    mine, theirs = (_words(model) for model in (g_oem, olda))
    write(out, "topics", [
        {"G-OEM": mine[k], "OLDA": theirs[j], "distance": matched.per_topic[k]} for k, j in enumerate(matched.topics)
    ])  # fmt: skip


def _words(model: bt.LDA, n: int = 10) -> list[str]:
    ids, _ = bt.evaluate.top_words(bt.evaluate.topics_of(model), n)
    return [" ".join(str(model.vocabulary_[i]) for i in own) for own in ids]


def _distance(model: bt.LDA, truth: Any) -> float:
    """L1 distance of matched topics, mean."""
    return float(bt.evaluate.align(model, truth.components_, "l1").value)


def main(given: argparse.Namespace) -> None:
    size = TOY if given.toy else FULL if given.full else Size()
    n_docs, n_words, n_topics = size.drawn
    truth = bt.datasets.KnownLDA(n_words, n_topics, mean_length=60 if n_docs > 1000 else 20)

    def drawn() -> bt.Corpus:
        return bt.from_matrix(truth.documents(n_docs).counts, shuffle=False)

    corpus = corpus_of(given, "imdb", drawn)
    known = truth if given.data == "synthetic" or (given.toy and given.data == "demo") else None
    splits = [corpus.split(min(size.n_test, corpus.n_docs // 5), seed) for seed in range(given.seeds)]
    fits = len(METHODS) * len(size.topics)
    probe = splits[0]
    K = size.topics[len(size.topics) // 2]
    announce(
        given,
        corpus,
        lambda: loss(learned(size, K, "G-OEM", probe[0], 0), probe[1], size),
        given.seeds * fits,
    )
    texts = corpus if known is None or given.toy else docstrings(given.out)
    topic_lists(texts, size, given.out)
    report(given.out, figure_1(splits, size, given.out, known))


if __name__ == "__main__":
    main(arguments(__doc__, "synthetic"))
