"""`bigtopic task`: authors and items are ranked, documents classified; and records are split for it."""

import json
from collections import Counter

import pytest

import bigtopic as bt
from bigtopic import evaluate
from bigtopic.estimators.persistence import load_model

from .conftest import run


@pytest.fixture(scope="module")
def writers(corpus):
    """Two models of authors."""
    paths = [corpus.parent / f"writers-{n}.zarr" for n in (2, 3)]
    for n, path in enumerate(paths, 2):
        run("train", corpus, path, "--method", "author-vb", "--topics", n, "--passes", 5)
    return paths


@pytest.fixture(scope="module")
def labelled(corpus, source):
    """The documents with a column of labels."""
    rows = [json.loads(line) for line in source.read_text().splitlines()]
    path = source.with_name("labelled.jsonl")
    path.write_text("".join(json.dumps({**row, "kind": row["authors"][0][:3]}) + "\n" for row in rows))
    run("ingest", path, source.with_name("labelled.zarr"))
    return source.with_name("labelled.zarr")


def test_authors_are_ranked(writers, corpus):
    asked = ("task", "authors", writers[0], corpus, "--k", 1)
    found = evaluate.rank_authors(load_model(writers[0]), corpus, k=1)
    assert json.loads(run(*asked, "--json").stdout) == json.loads(json.dumps(found.to_dict()))
    shown = run(*asked).stdout
    assert (
        f"  reciprocal rank  {found.value:.4f} ± " in shown
        and "precision@1" in shown
        and "popularity" in shown
    )


def test_models_are_compared(writers, corpus):
    asked = ("task", "authors", *writers, corpus)
    heading, *rows = run(*asked, "--k", 2).stdout.splitlines()
    assert heading.split() == ["model", "reciprocal", "rank", "difference", "popularity"]
    assert len(rows) == 2 and sum("reference" in row for row in rows) == 1
    found = json.loads(run(*asked, "--k", 2, "--json").stdout)
    other, best = (load_model(path) for path in writers)
    pair = evaluate.rank_authors(other, corpus, 2).minus(evaluate.rank_authors(best, corpus, 2))
    told = found["models"][str(writers[0])]
    if found["reference"] == str(writers[1]):
        assert (told["difference"], told["difference_standard_error"]) == pair["reciprocal rank"]
    else:
        assert told["difference"] == 0


def test_documents_are_classified(model, labelled):
    asked = ("task", "classes", model, labelled, "--labels", "kind", "--folds", 2)
    found = evaluate.classification_accuracy(load_model(model), labelled, "kind", n_folds=2)
    assert json.loads(run(*asked, "--json").stdout) == found.to_dict()
    assert f"  accuracy        {found.value:.4f} ± " in run(*asked).stdout


def test_items_of_rows_are_ranked(corpus, tmp_path):
    seen, held_out, pairs = (tmp_path / name for name in ("seen.zarr", "held-out.zarr", "pairs.zarr"))
    run("split", corpus, seen, held_out, "--records", "--test-size", 0.4)
    whole, parts = bt.open_corpus(corpus), [bt.open_corpus(path) for path in (seen, held_out)]
    assert [part.n_docs for part in parts] == [200, 200]
    for name in ("d0", "d7"):
        divided = sum((Counter(part.document(name).counts) for part in parts), Counter())
        assert divided == whole.document(name).counts
    run(
        "train",
        seen,
        pairs,
        "--method",
        "dual-online",
        "--row-topics",
        2,
        "--column-topics",
        2,
        "--passes",
        1,
    )
    asked = ("task", "items", pairs, held_out, "--train", seen, "--k", 3)
    found = evaluate.rank_items(load_model(pairs), parts[1], parts[0], k=3)
    assert json.loads(run(*asked, "--json").stdout) == json.loads(json.dumps(found.to_dict()))


@pytest.mark.parametrize(
    "typed, said",
    [
        (["task", "songs", "MODEL", "CORPUS"], "'songs' is not one of 'authors', 'items', 'classes'"),
        (
            ["task", "authors", "MODEL", "CORPUS"],
            "give a model of authors ('bigtopic train --method author-vb')",
        ),
        (
            ["task", "items", "MODEL", "CORPUS"],
            "give a model of dual topics ('bigtopic train --method dual-mf')",
        ),
        (["task", "classes", "MODEL", "CORPUS"], "task 'classes' needs --labels"),
        (["task", "classes", "MODEL", "CORPUS", "--labels", "kind"], "kind"),
        (
            ["task", "authors", "MODEL", "CORPUS", "--labels", "kind"],
            "--labels is of task classes, not of 'authors'",
        ),
        (
            ["task", "classes", "MODEL", "CORPUS", "--k", "2"],
            "--k is of task authors and items, not of 'classes'",
        ),
        (["task", "authors", "MODEL", "MODEL", "CORPUS"], "is given twice"),
        (
            ["task", "authors", "WRITER", "CORPUS", "--k", "9"],
            "--k 9: must be a whole number from 1 to the model's 2",
        ),
        (
            ["split", "CORPUS", "a.zarr", "b.zarr", "--records", "--test-size", "3"],
            "--test-size 3: must be a share",
        ),
    ],
)
def test_mistakes_are_one_clear_message(typed, said, corpus, model, writers, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    paths = {"MODEL": model, "CORPUS": corpus, "WRITER": writers[0]}
    shown = run(*(paths.get(word, word) for word in typed), code=2).output
    assert said in " ".join(shown.split()) and "Traceback" not in shown and not list(tmp_path.iterdir())
