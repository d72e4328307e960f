"""Many topics: processor seconds of a pass, and memory, with sparse rows and with dense ones.

The online phase of `auto` on one thread, each run in a process of its own; its start is a run of one pass, whose time
is taken off. Models are scored on the held-out documents with the same fold-in. With `--method auto`, dense rows
are sampled, too, after each number of passes, so that their times say nothing.

    python -m tests.benchmarks topics --data FOLDER
    python -m tests.benchmarks topics --corpora demo --topics 1000,10000,100000 --rows sparse
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from typing import Any

import corpora

PASSES = 5
HEAD = (
    "corpus",
    "topics",
    "rows",
    "seconds per pass",
    "times the first",
    "peak MB",
    "model MB",
    "dropped",
    "score",
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    corpora.add_options(parser, "ap,bbc,demo")
    parser.add_argument("--topics", default="1000,10000")
    parser.add_argument("--rows", default="dense,sparse")
    parser.add_argument("--method", default="sparse-cvb0")
    parser.add_argument("--eta", type=float, help="the prior of topics' words")
    parser.add_argument("--kept", type=int, default=8, help="candidates of a document that remain")
    parser.add_argument(
        "--one", help="of these corpora, topics and rows, in this process, after so many passes"
    )
    given = parser.parse_args()
    if given.one:
        print(json.dumps(_measured(given, int(given.one))))
        return
    print("| " + " | ".join(HEAD) + " |\n|---|---:|---|---:|---:|---:|---:|---:|---:|")
    for name in given.corpora.split(","):
        corpora.load(name, given.data, given.folder)
        usual = None
        for n_topics in map(int, given.topics.split(",")):
            for rows in given.rows.split(","):
                found = _run(given, name, n_topics, rows)
                usual = usual or found["seconds"]
                print(
                    f"| `{name}` | {n_topics} | {rows} | {found['seconds']:.2f} | {found['seconds'] / usual:.1f} "
                    f"| {found['peak']:.0f} | {found['model']:.0f} | {found['dropped']:.2%} | {found['score']:.4f} |",
                    flush=True,
                )


def _run(given: argparse.Namespace, name: str, n_topics: int, rows: str) -> dict[str, float]:
    """The figures of both processes."""
    of = ["--corpora", name, "--topics", str(n_topics), "--rows", rows, "--folder", str(given.folder)]
    of += ["--method", given.method, "--kept", str(given.kept)]
    of += ["--eta", str(given.eta)] if given.eta is not None else []
    of += ["--data", str(given.data)] if given.data else []
    command = [sys.executable, "-m", "tests.benchmarks", "topics", *of, "--one"]
    _, short, whole = (
        json.loads(subprocess.run([*command, str(n)], capture_output=True, text=True, check=True).stdout)
        for n in (1, 1, 1 + PASSES)  # the first one may compile
    )
    return {**whole, "seconds": (whole["seconds"] - short["seconds"]) / PASSES}


def _measured(given: argparse.Namespace, passes: int) -> dict[str, Any]:
    from bigtopic.estimators.lda import LDA
    from bigtopic.evaluation import log_predictive
    from bigtopic.state import new_model

    new_model.SPARSE_FROM = 1 if given.rows == "sparse" else sys.maxsize
    new_model.SPARSE_BYTES = sys.maxsize
    train, test = corpora.split(given.corpora, corpora.load(given.corpora, given.data, given.folder), 0)
    begun = time.process_time()
    model = LDA(
        int(given.topics), method=given.method, topic_word_prior=given.eta, max_iter=passes, random_state=0,
        options={"kept": given.kept}, n_threads=1, progress=False,
    )  # fmt: skip
    model.fit(train)
    seconds = time.process_time() - begun
    peak, array = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3, model._fitted().topic_words
    score = log_predictive(model, test, random_state=0, train=train).value if passes > 1 else 0.0
    dropped = model.history_[-1].get("dropped", 0.0)
    return {"seconds": seconds, "peak": peak, "model": array.nbytes / 1e6, "dropped": dropped, "score": score}


if __name__ == "__main__":
    main()
