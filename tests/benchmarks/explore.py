"""Seconds, memory and disk of the server behind `bigtopic explore`, over a store of topics of many documents.

The documents have eight topics each, a date, a section and an id; their topics are drawn, not inferred, and are written
to the store directly. With --texts there is a corpus, too, with a short text of each. One process makes the index.
Another one, which finds it, says how long imports and the model take, how long the server takes from then until the
page has its topics, and how long each answer takes, by HTTP, when it is asked for the first time and once more. The
memory is all that the process has at its peak, Python and the libraries (about 200 MB) included; pages of the index
that the system keeps in memory for it count, too.

    python -m tests.benchmarks explore --docs 1000000
    python -m tests.benchmarks explore --docs 10000000 --folder /a/disk/with/space
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import results

N_WORDS, N_TOPICS, N_EACH, LENGTH = 20_000, 100, 8, 8
BATCH = 1 << 18
SECTIONS = [f"section {i}" for i in range(40)]
ANSWERS = {
    "model": "model",
    "words of a topic": "topic/7",
    "documents of a topic": "topic/7/documents?n=20",
    "the same, of a section": "topic/7/documents?n=20&where=section%3Dsection%203",
    "the same, of a day": "topic/7/documents?n=20&where=date%3D2003-07-04",
    "topic by year": "topic/7/time?freq=year",
    "topic by day": "topic/7/time?freq=day",
    "topic by section": "topic/7/groups?column=section",
    "words that begin": "words?q=word12&n=20",
    "first documents": "documents?n=20",
    "documents led by a topic": "documents?topic=7&n=20",
    "documents of a section in two years": "documents?where=section%3Dsection%203&where=date%3D2003..2004&n=20",
    "documents by the beginning of an id": "documents?q=d123&n=20",
    "documents with a rare word": "documents?q=word9999&n=20",
    "documents with a frequent word": "documents?q=word3&n=20",
    "documents with three words": "documents?q=word3%20word5%20word40&n=20",
    "a document by id": "document?id=d777",
    "a document by row": "document?row=778",
}
AFTER = {
    "merged topics: the model": "model",
    "merged topics: documents": "topic/7/documents?n=20",
    "merged topics: by year": "topic/7/time?freq=year",
}
HEAD = ("what", "first, seconds", "again, seconds")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--docs", type=int, default=1_000_000)
    parser.add_argument("--texts", action="store_true", help="ingest a corpus of short texts, too")
    parser.add_argument("--folder", type=Path, help="where to write; default the temporary folder")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    results.add_option(parser)
    given = parser.parse_args()
    if given.child:
        return print(json.dumps({"index": index, "answers": answers}[given.child[0]](Path(given.child[1]))))
    if given.folder is not None:
        given.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bigtopic-explore-", dir=given.folder) as name:
        folder = Path(name)
        make(folder, given.docs, given.texts)
        made, found = (in_process(what, folder) for what in ("index", "answers"))
        sizes = {what: size(folder / what) for what in ("theta.zarr", "corpus.zarr", "indexes")}
    caption = (
        f"{given.docs:,} documents with {N_EACH} of {N_TOPICS} topics; the store of topics has "
        f"{sizes['theta.zarr'] / 1e6:,.0f} MB, the corpus {sizes['corpus.zarr'] / 1e6:,.0f} MB, the index "
        f"{sizes['indexes'] / 1e6:,.0f} MB. Making the index took {made['seconds']:.1f} s and "
        f"{made['peak'] / 1e6:,.0f} MB of memory; the server then took {found['peak'] / 1e6:,.0f} MB."
    )
    rows = [HEAD, *((what, *(f"{one:.3f}" for one in own), "")[:3] for what, own in found["seconds"].items())]
    results.report(
        given,
        "explore-texts" if given.texts else "explore",
        caption,
        rows,
        {"index": made, "answers": found, "bytes": sizes},
    )


def in_process(what: str, folder: Path) -> dict[str, Any]:
    """What a process of its own says."""
    command = [sys.executable, __file__, "--child", what, str(folder)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def size(path: Path) -> int:
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def make(folder: Path, n_docs: int, texts: bool) -> None:
    """A model, a store of topics and, if they are asked for, texts."""
    import bigtopic as bt
    from bigtopic.estimators.topic_stores.contents import write_batches
    from bigtopic.state.identity import model_identity
    from bigtopic.storage.place import Place

    settings = {"max_df": 1.0, "client": False, "n_threads": 2, "keep_text": True}
    start = perf_counter()
    if texts:
        corpus = bt.ingest(records(n_docs), folder / "corpus.zarr", **settings)
    else:
        corpus = bt.ingest(records(20_000), folder / "sample.zarr", **settings)
    sample = corpus.run(0, 5000, order="stored")
    model = bt.LDA(N_TOPICS, method="online-cvb0", max_iter=1, client=False).fit(sample)
    model.save(folder / "model.zarr")
    place = Place.of(folder / "theta.zarr")
    write_batches(place, drawn(n_docs), ["date", "section"], N_TOPICS, model_identity(model._fitted()))
    print(f"made in {perf_counter() - start:.0f} s", file=sys.stderr)


def records(n_docs: int) -> Iterator[dict[str, Any]]:
    """Documents whose words follow Zipf's law."""
    rng = np.random.default_rng(0)
    shares = np.cumsum(1.0 / (np.arange(N_WORDS) + 11.0))
    for start in range(0, n_docs, 10_000):
        words = np.searchsorted(shares, rng.random((min(10_000, n_docs - start), LENGTH)) * shares[-1])
        for i, own in enumerate(words.tolist(), start):
            yield {"id": f"d{i}", "text": " ".join([f"word{w}" for w in own])}


def drawn(n_docs: int) -> Iterator[Any]:
    """Topics of the documents, with their dates and sections, in the source's order."""
    from bigtopic.estimators.topic_stores.contents import Batch

    rng, first = np.random.default_rng(1), np.datetime64("1995-01-01")
    names = np.array(SECTIONS, object)
    for start in range(0, n_docs, BATCH):
        n = min(BATCH, n_docs - start)
        rows = np.arange(start, start + n)
        topics = rng.integers(1, 12, (n, N_EACH)).cumsum(axis=1) + rng.integers(-1, 11, (n, 1))
        shares = rng.standard_gamma(0.5, (n, N_EACH)).astype(np.float32) + np.float32(1e-6)
        shares /= shares.sum(axis=1, keepdims=True)
        days = (first + rng.integers(0, 9000, n)).astype(str).astype(object)
        documents = {
            "source_row": rows,
            "document_id": np.array([f"d{i}" for i in rows.tolist()], object),
            "column date": days,
            "column section": names[rng.integers(0, len(SECTIONS), n)],
        }
        indptr = np.arange(n + 1, dtype=np.int64) * N_EACH
        yield Batch(indptr, topics.ravel().astype(np.int32), shares.ravel(), documents)


def index(folder: Path) -> dict[str, float]:
    """The process that makes the index."""
    model, documents = opened(folder)
    start = perf_counter()
    with begun(model, documents, folder):
        return {"seconds": perf_counter() - start, "peak": peak()}


def answers(folder: Path) -> dict[str, Any]:
    """The process that finds it."""
    start = perf_counter()
    model, documents = opened(folder)
    loaded = perf_counter()
    with begun(model, documents, folder) as exploration:
        ask = client(exploration.url)
        ask("model")
        seconds = {
            "imports and the model": [loaded - start],
            "the server, with its first answer": [perf_counter() - loaded],
        }
        for what, path in ANSWERS.items():
            seconds[what] = [timed(ask, path), timed(ask, path)]
        seconds["merging two topics"] = [timed(ask, "merge", {"topics": [7, 50]})]
        for what, path in AFTER.items():
            seconds[what] = [timed(ask, path), timed(ask, path)]
        waited = perf_counter()
        exploration._explorer.wait()
        seconds["until merged topics are exact"] = [perf_counter() - waited]
        return {"seconds": seconds, "peak": peak()}


def opened(folder: Path) -> tuple[Any, Any]:
    """The model and, if there is one, the corpus."""
    import bigtopic as bt

    model = bt.load_model(folder / "model.zarr").set_params(client=False, n_threads=2)
    corpus = folder / "corpus.zarr"
    return model, bt.open_corpus(corpus) if corpus.exists() else None


def begun(model: Any, documents: Any, folder: Path) -> Any:
    return model.explore(documents, theta=folder / "theta.zarr", index=folder / "indexes")


def peak() -> int:
    sys.path.insert(0, str(Path(__file__).parents[1]))
    import peaks

    return peaks.status("VmHWM")


def client(url: str) -> Any:
    """Asks a server that it has entered."""
    address = urlsplit(url)
    connection = HTTPConnection("127.0.0.1", address.port)
    connection.request("GET", f"/?{address.query}")
    answer = connection.getresponse()
    answer.read()
    headers = {"Cookie": answer.headers["Set-Cookie"].partition(";")[0], "X-Bigtopic": "1"}

    def ask(path: str, body: Any = None) -> Any:
        method, data = ("GET", None) if body is None else ("POST", json.dumps(body))
        connection.request(method, f"/api/{path}", data, headers)
        answer = connection.getresponse()
        found = json.loads(answer.read())
        if answer.status != 200:
            raise SystemExit(f"{path}: {found}")
        return found

    return ask


def timed(ask: Any, *arguments: Any) -> float:
    start = perf_counter()
    ask(*arguments)
    return perf_counter() - start


if __name__ == "__main__":
    main()
