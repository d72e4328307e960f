"""What delayed updates cost in score: the default method with some largest delays, on real corpora and on drawn ones.

Each delay is taken as given, however few minibatches a pass has; "rule" is the default, which follows from them.
Drawn documents are those of `replicas`: of a known LDA, scored on others. `--first`, `--growth` and `--made-up` change
how a delay grows, and how steps make up for it.

python -m tests.benchmarks delay --data FOLDER [--corpora ap,bbc,demo] [--topics 100] [--seeds 3]
python -m tests.benchmarks delay --docs 10000,50000,120000,1000000 --delays 1,3,7,15,31,rule [--batch 500] [--seeds 24]
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import corpora
import numpy as np
import replicas
import results

from bigtopic.corpus.memory import from_matrix
from bigtopic.corpus.store import Corpus
from bigtopic.estimators.lda import LDA
from bigtopic.evaluation import log_predictive
from bigtopic.methods import get
from bigtopic.plan import delays
from bigtopic.schemes import schedule

RULE = delays.ROUNDS


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder with ap/, bbc/ and dblp/")
    parser.add_argument("--corpora", default="ap,bbc,demo")
    parser.add_argument("--docs", help="numbers of drawn documents, instead of corpora")
    parser.add_argument("--delays", default="0,1,rule")
    parser.add_argument("--first", type=int, help="updates missed from the ninth on, instead of the rule")
    parser.add_argument("--growth", type=int, default=delays.GROWTH, help="updates for each more")
    parser.add_argument("--made-up", type=float, default=schedule.MADE_UP)
    parser.add_argument(
        "--batch", type=int, help="documents of a minibatch; the method's default unless given"
    )
    parser.add_argument("--passes", default="1,default")
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "bigtopic-benchmark")
    results.add_option(parser)
    given = parser.parse_args()
    given.folder.mkdir(exist_ok=True)
    delays.GROWTH, schedule.MADE_UP = given.growth, given.made_up
    if given.first is not None:
        delays.first_delay = lambda delay: given.first
    columns = given.delays.split(",")
    rows = [("corpus", "passes", *[f"delay {column}" for column in columns])]
    figures = {}
    for name in (given.docs or given.corpora).split(","):
        for passes in given.passes.split(","):
            found = [scores(given, name, passes, column) for column in columns]
            rows.append((name, passes, *[f"{np.mean(of_seeds):.4f}" for of_seeds in found]))
            figures[f"{name}, {passes}"] = dict(zip(columns, found, strict=True))
            print(*rows[-1], flush=True)
    caption = f"Held-out nats per token, K = {given.topics}; means of {given.seeds} seeds."
    results.report(given, "delay", caption, rows, figures)


def scores(given: argparse.Namespace, name: str, passes: str, delay: str) -> list[float]:
    """One for each seed."""
    delays.ROUNDS = RULE if delay == "rule" else 1
    method = get(None) if delay == "rule" else replace(get(None), delay=int(delay))
    found = []
    for seed, (train, test) in enumerate(splits(given, name)):
        model = LDA(
            given.topics,
            method=method,
            batch_size=given.batch,
            max_iter=None if passes == "default" else int(passes),
            random_state=seed,
            client=False,
            progress=False,
        ).fit(train)
        known = {} if given.docs else {"train": train, "vocabulary": train.vocabulary}
        found.append(log_predictive(model, test, random_state=seed, client=False, **known).value)
    return found


def splits(given: argparse.Namespace, name: str) -> Iterator[tuple[Corpus, Corpus]]:
    """Documents to learn from and those held out, for each seed."""
    for seed in range(given.seeds):
        if given.docs:
            held_out = replicas.TRUTH.documents(replicas.N_HELD_OUT, first=replicas.HELD_OUT).counts
            yield replicas.stored(given.folder, int(name)), from_matrix(held_out)
        else:
            yield corpora.split(name, corpora.load(name, given.data, given.folder), seed)


if __name__ == "__main__":
    main()
