"""Damaged and crafted stores: corpora, models, topics. They are read, and changed in every way there is."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np
from fuzz.chunks import mutate_chunk
from fuzz.mutate import Files, mutate_files, mutate_tree
from fuzz.oracle import Failure, Refused, attempt, check_corpus, snapshot
from fuzz.seeds import COUNTS, WORDS, folder_bytes

__all__ = ["STORES", "make_stores"]

NAME = "kept.zarr"
"""Every error about a mutated store names it."""
_QUIET: dict[str, Any] = {"client": False, "n_threads": 1, "progress": False}


@cache
def make_stores(folder: Path) -> dict[str, Files]:
    """A corpus of counts, one of texts appended to once and given authors, models, one of them with sparse rows, and a
    store of topics, as bytes."""
    import bigtopic
    from bigtopic.state import new_model

    ids, n = [f"d{i}" for i in range(len(COUNTS))], len(COUNTS)
    columns = {"label": [f"l{i % 2}" for i in range(n)], "year": range(n)}
    authors = [["x", "y"][: 1 + i % 2] for i in range(n)]
    counts = bigtopic.ingest(
        COUNTS, folder / "counts", vocabulary=WORDS, ids=ids, authors=authors, columns=columns, **_QUIET
    )
    bigtopic.ingest(["a cat sat on a mat", "the dog ran", "dog and cat"], folder / "texts", **_QUIET)
    bigtopic.append(folder / "texts", ["a new dog", "cat"], **_QUIET).with_authors({"x": [0, 4], "y": [4]})
    model = bigtopic.LDA(2, method="online-cvb0", max_iter=2, **_QUIET).fit(counts)
    model.save(folder / "model")
    model.transform_to(counts, folder / "topics")
    with patch.object(new_model, "SPARSE_FROM", 2):
        lists = bigtopic.LDA(2, method="sparse-cvb0", max_iter=2, options={"candidates": 1}, **_QUIET)
        lists.fit(counts).save(folder / "lists")
    return {name: folder_bytes(folder / name) for name in ("counts", "texts", "model", "lists", "topics")}


def _prepare(name: str, stores: dict[str, Files], folder: Path, rng: Random) -> tuple[Path, Path, str]:
    """A mutated store, a folder that is not part of it, and what was done."""
    outside = folder / "outside"
    (outside / "mine").mkdir(parents=True)
    (outside / "mine" / "thesis.txt").write_bytes(b"years of work")
    files, how, root = dict(stores[name]), [], folder / NAME
    if name != "topics" and rng.random() < 0.25:  # the chunks of topics are compressed otherwise
        files, what = mutate_chunk(files, rng)
        how.append(what)
    for _ in range(rng.choice([0, 1, 1, 1, 2])):
        described = [file for file in files if file.endswith("zarr.json")]
        names = ["zarr.json"] if rng.random() < 0.45 else described if rng.random() < 0.5 else None
        files, what = mutate_files(files, rng, names)
        how.append(what)
    write(root, files)
    if rng.random() < 0.35:
        how.append(mutate_tree(root, outside, rng))
    return root, outside, ", ".join(how)


def write(root: Path, files: Files) -> None:
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)


def _foreign(root: Path, known: Files) -> dict[str, bytes]:
    """Files in a store that no version of the library put there."""
    found = snapshot(root)
    return {
        name: data
        for name, data in found.items()
        if isinstance(data, bytes) and Path(name).name in ("thesis.txt", "notes.txt")
    }


def corpus_read(
    stores: dict[str, Files], folder: Path, rng: Random
) -> tuple[str, Callable[[], Refused | None]]:
    """Every way to read a corpus; nothing is changed by it."""
    import bigtopic

    root, outside, how = _prepare(rng.choice(["counts", "texts"]), stores, folder, rng)

    def run() -> Refused | None:
        before = snapshot(root, outside)
        found = attempt(lambda: _read(bigtopic.open_corpus(root)), [NAME])
        if snapshot(root, outside) != before:
            raise Failure("reading a store changed it")
        return found if isinstance(found, Refused) else None

    return f"read: {how}", run


def _read(corpus: Any) -> Any:
    repr(corpus)
    corpus._repr_html_()
    documents = check_corpus(corpus)
    block = corpus.read(0, 3)
    if len(block.indptr) != min(3, corpus.n_docs) + 1:
        raise Failure("a run of documents has another length")
    corpus[0]
    corpus.split(0.5)
    if corpus.authors is not None and len(corpus.authors) != corpus.n_authors:
        raise Failure("authors have another number")
    if corpus.vocabulary.named:
        frequencies = corpus.vocabulary.counted[1]
        if not np.isfinite(frequencies).all():
            raise Failure("frequencies of words are not finite")
    return documents


def corpus_write(
    stores: dict[str, Files], folder: Path, rng: Random
) -> tuple[str, Callable[[], Refused | None]]:
    """Append, attach authors, compact or overwrite; a store that could be read before can be read after."""
    import bigtopic

    name, first = rng.choice([("counts", "d0"), ("texts", "0")])
    root, outside, how = _prepare(name, stores, folder, rng)
    action = rng.choice(["append", "append", "with_authors", "compact", "overwrite", "ingest"])
    new = ["some new words", "a cat"]
    actions: dict[str, Callable[[], Any]] = {
        "append": lambda: bigtopic.append(root, new, **_QUIET),
        "with_authors": lambda: bigtopic.open_corpus(root).with_authors({first: ["z"]}),
        "compact": lambda: bigtopic.compact(root, **_QUIET),
        "overwrite": lambda: bigtopic.ingest(new, root, overwrite=True, **_QUIET),
        "ingest": lambda: bigtopic.ingest(new, root, **_QUIET),
    }

    def run() -> Refused | None:
        before = attempt(lambda: _read(bigtopic.open_corpus(root)), [NAME])
        theirs = snapshot(outside), _foreign(root, {})
        result = attempt(actions[action], [NAME, f"{first!r}, is in the corpus"])
        if (snapshot(outside), _foreign(root, {})) != theirs:
            raise Failure(f"{action} changed files that are not ours", how)
        return _after_write(action, before, result, lambda: bigtopic.open_corpus(root), len(new))

    return f"{action}: {how}", run


def _after_write(
    action: str, before: Any, result: Any, opened: Callable[[], Any], n_new: int
) -> Refused | None:
    if isinstance(result, Refused):
        after = attempt(lambda: _read(opened()), [NAME])
        if not isinstance(before, Refused) and after != before:
            raise Failure(f"a refused {action} changed the corpus", f"{result.message}\n{after}")
        return result
    if action == "ingest" and not isinstance(before, Refused):
        raise Failure("ingest into a corpus that is there")
    # Damage that the action had no reason to look at stays where it was; documents that contradict each other, with
    # the right checksums, are seen by `verify` alone.
    after = attempt(lambda: _read(result), [NAME])
    if isinstance(after, Refused):
        if isinstance(before, Refused) and action in ("append", "with_authors", "compact"):
            return after
        raise Failure(f"a corpus is damaged after {action}", after.message)
    expected = {"append": None if isinstance(before, Refused) else len(before) + n_new, "overwrite": n_new}
    if expected.get(action) is not None and len(after) != expected[action]:
        raise Failure(f"{len(after)} documents after {action}, not {expected[action]}")
    same = action in ("with_authors", "compact") and not isinstance(before, Refused)
    if same and _bags(after) != _bags(before):
        raise Failure(f"{action} changed documents", f"{before}\n{after}")
    return None


def _bags(documents: Any) -> list[Any]:
    return [sorted(document.items()) for document in documents]


def model(stores: dict[str, Files], folder: Path, rng: Random) -> tuple[str, Callable[[], Refused | None]]:
    """Load a model and use it, or save one over it."""
    import bigtopic

    name = rng.choice(["model", "lists"])
    root, outside, how = _prepare(name, stores, folder, rng)
    over = rng.random() < 0.3
    good = folder / "good"
    write(good, stores[name])

    def run() -> Refused | None:
        theirs = snapshot(outside), _foreign(root, {})
        if over:
            loaded = bigtopic.load_model(good)
            result = attempt(lambda: loaded.save(root, overwrite=True), [NAME])
            if not isinstance(result, Refused):
                _use(bigtopic.load_model(root))
        else:
            result = attempt(lambda: _use(bigtopic.load_model(root)), [NAME])
        if (snapshot(outside), _foreign(root, {})) != theirs:
            raise Failure("a model changed files that are not ours", how)
        return result if isinstance(result, Refused) else None

    return f"{name}, {'save over' if over else 'load'}: {how}", run


def _use(loaded: Any) -> None:
    loaded.client, loaded.n_threads, loaded.progress = False, 1, False
    topics = loaded.transform(COUNTS)
    if (
        topics.shape[0] != len(COUNTS)
        or not np.isfinite(topics).all()
        or not np.allclose(topics.sum(axis=1), 1)
    ):
        raise Failure("a loaded model gives what are no topics", str(topics[:2]))
    if not np.isfinite(loaded.components_).all() or (loaded.components_ < 0).any():
        raise Failure("a loaded model has topics that are not finite and positive")


def topics(stores: dict[str, Files], folder: Path, rng: Random) -> tuple[str, Callable[[], Refused | None]]:
    """Write topics over a store of topics, or read it."""
    import bigtopic

    root, outside, how = _prepare("topics", stores, folder, rng)
    for name in ("counts", "model"):
        write(folder / name, stores[name])

    def run() -> Refused | None:
        loaded = bigtopic.load_model(folder / "model")
        loaded.client, loaded.n_threads, loaded.progress = False, 1, False
        corpus = bigtopic.open_corpus(folder / "counts")
        before, listing = snapshot(root, outside), sorted(path.name for path in folder.iterdir())
        theirs = snapshot(outside)
        if rng.random() < 0.5:
            result = attempt(lambda: _similar(loaded, root), [NAME])
        else:
            result = attempt(lambda: loaded.transform_to(corpus, root, overwrite=rng.random() < 0.8), [NAME])
        if isinstance(result, Refused) and snapshot(root, outside) != before:
            raise Failure("what was refused changed what was there", result.message)
        if snapshot(outside) != theirs or sorted(path.name for path in folder.iterdir()) != listing:
            raise Failure("files that are not ours were changed, or some were left", how)
        return result if isinstance(result, Refused) else None

    return f"over: {how}", run


def _similar(loaded: Any, root: Path) -> None:
    found = loaded.similar_documents([0.5, 0.5], root)
    if not all(0 <= score <= 1 for _, score in found):
        raise Failure("similarities outside 0 .. 1", str(found))


STORES = {make.__name__: make for make in (corpus_read, corpus_write, model, topics)}


def copy_good(folder: Path, stores: dict[str, Files]) -> Path:
    """A corpus to append to."""
    write(folder / "corpus.zarr", stores["texts"])
    return folder / "corpus.zarr"


def remove(root: Path) -> None:
    shutil.rmtree(root, ignore_errors=True)
