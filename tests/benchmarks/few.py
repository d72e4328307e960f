"""Few topics, and few documents: held-out scores of the default or another method, of `vb` and of scikit-learn.

Every system is told the number of topics and a seed, nothing else: priors, passes and schedules are its own.

    python -m tests.benchmarks few --data FOLDER [--topics 2,3,5] [--documents 200,all] [--method online-cvb0]
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import corpora
import numpy as np
import results

HEAD = ("corpus", "documents", "topics", "nats per token", "better than vb by", "than scikit-learn by",
        "than the unigram model by")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    corpora.add_options(parser, "ap,bbc,dblp,demo,lines")
    parser.add_argument("--topics", default="2,3,5")
    parser.add_argument("--documents", default="200,all", help="to learn from")
    parser.add_argument("--method", help="the default method unless given")
    parser.add_argument("--seeds", type=int, default=5)
    results.add_option(parser)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    rows: list[tuple[str, ...]] = [HEAD]
    figures = []
    for name in given.corpora.split(","):
        corpus = corpora.load(name, given.data, given.folder)
        for documents in given.documents.split(","):
            for n_components in map(int, given.topics.split(",")):
                scores = [
                    compare(name, corpus, documents, n_components, seed, given.method)
                    for seed in range(given.seeds)
                ]
                rows.append((name, documents, str(n_components), *cells(scores)))
                figures.append(
                    {"corpus": name, "documents": documents, "topics": n_components, "scores": scores}
                )
                print(" | ".join(rows[-1]), flush=True)
    caption = f"Nats per held-out token, means of {given.seeds} seeds and standard errors of the paired differences."
    results.report(given, f"few-{given.method or 'auto'}", caption, rows, figures)


def compare(
    name: str, corpus: Any, documents: str, n_components: int, seed: int, method: str | None
) -> dict[str, float]:
    """Held-out nats per token of each system, for one seed."""
    from bigtopic.evaluation import log_predictive

    train, test = corpora.split(name, corpus, seed)
    train = train if documents == "all" else train[: int(documents)]
    scores = {}
    for system, fit in {"ours": _own(method), **PEERS}.items():
        result = log_predictive(fit(train, n_components, seed), test, random_state=seed, vocabulary=train)
        scores[system] = result.value
    assert result.unigram is not None
    return {**scores, "unigram": result.unigram}


def cells(scores: list[dict[str, float]]) -> list[str]:
    """Our mean, and by how much it is better than each of the others."""
    own = np.array([score["ours"] for score in scores])
    found = [f"{own.mean():.4f}"]
    for other in ("vb", "scikit-learn", "unigram"):
        by = own - np.array([score[other] for score in scores])
        found.append(f"{by.mean():.4f} ± {by.std(ddof=1) / np.sqrt(len(by)):.4f}")
    return found


def _own(method: str | None) -> Callable[[Any, int, int], Any]:
    def fit(train: Any, n_components: int, seed: int) -> Any:
        from bigtopic.estimators.lda import LDA

        return LDA(
            n_components, method=method, random_state=seed, client=False, n_threads=2, progress=False
        ).fit(train)

    return fit


def _scikit_learn(train: Any, n_components: int, seed: int) -> Any:
    from sklearn.decomposition import LatentDirichletAllocation

    return LatentDirichletAllocation(n_components, random_state=seed).fit(train.to_scipy("stored"))


PEERS = {"vb": _own("vb"), "scikit-learn": _scikit_learn}


if __name__ == "__main__":
    main()
