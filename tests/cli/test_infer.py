"""`bigtopic infer`: raw text and counted sources meet the words, and the tokeniser, of the model."""

import json

import click
import numpy as np
import pytest

from bigtopic.cli.infer import _check
from bigtopic.corpus.store import open_corpus
from bigtopic.estimators.lda import LDA
from bigtopic.estimators.persistence import load_model
from bigtopic.ingestion.ingest import ingest

from .conftest import run


def test_infer_takes_a_corpus_and_raw_text(model, corpus, tmp_path):
    anndata = pytest.importorskip("anndata")
    run("infer", model, corpus, tmp_path / "theta.zarr")
    assert anndata.read_zarr(tmp_path / "theta.zarr").shape == (200, 2)
    (tmp_path / "new.txt").write_text("boat water mill, new bridge\nchoir, organ: opera in concert\n")
    run("infer", model, tmp_path / "new.txt", tmp_path / "new.zarr")
    theta = anndata.read_zarr(tmp_path / "new.zarr").X.toarray()
    assert theta.argmax(axis=1)[0] != theta.argmax(axis=1)[1]
    assert theta.max(axis=1).min() > 0.7


@pytest.fixture
def phrases(tmp_path):
    """A corpus with collocations of its own, in which "york" alone never occurs, and its model."""
    path = tmp_path / "phrases.txt"
    path.write_text("new york bridge\nold town music\n" * 20)
    run("ingest", path, tmp_path / "phrases.zarr", "--collocations", 0.5)
    run("train", tmp_path / "phrases.zarr", tmp_path / "phrases-topics.zarr", "--topics", 2)
    return tmp_path / "phrases-topics.zarr"


def theta_of(path):
    return pytest.importorskip("anndata").read_zarr(path).X.toarray()


def test_infer_joins_the_collocations_of_the_model_and_no_others(phrases, tmp_path):
    texts = ["new york new york", "old town music old town music", "music of a new york"]
    (tmp_path / "new.txt").write_text("\n".join(texts) + "\n")
    run("infer", phrases, tmp_path / "new.txt", tmp_path / "new.zarr")
    expected = load_model(phrases).transform(texts)
    assert expected.max(axis=1)[:2].min() > 0.7
    np.testing.assert_array_equal(theta_of(tmp_path / "new.zarr"), expected)


def test_infer_matches_the_words_of_a_source_that_has_its_own_ids(model, tmp_path):
    (tmp_path / "docword.new.txt").write_text("2\n3\n3\n1 1 9\n2 2 9\n2 3 1\n")
    (tmp_path / "vocab.new.txt").write_text("opera\nboat\nunheard\n")
    run("infer", model, tmp_path / "docword.new.txt", tmp_path / "theta.zarr")
    expected = load_model(model).transform(["opera " * 9, "boat " * 9])
    np.testing.assert_allclose(theta_of(tmp_path / "theta.zarr"), expected, atol=1e-6)


def test_infer_takes_the_column_with_the_text(model, corpus, tmp_path):
    (tmp_path / "new.csv").write_text(
        "story,other,n\nboat water mill,choir sang there,1\nchoir opera concert,boat in water,2\n"
    )
    asked = ("infer", model, tmp_path / "new.csv", tmp_path / "theta.zarr")
    assert "name it with --text-column" in run(*asked, code=2).output
    run(*asked, "--text-column", "story")
    expected = load_model(model).transform(["boat water mill", "choir opera concert"])
    np.testing.assert_allclose(theta_of(tmp_path / "theta.zarr"), expected, atol=1e-6)
    shown = run("infer", model, corpus, tmp_path / "other.zarr", "--text-column", "story", code=2).output
    assert "--text-column story: " in shown and "is a corpus, whose words are counted already" in shown


def test_infer_refuses_documents_the_model_knows_nothing_of(model, tmp_path):
    (tmp_path / "new.txt").write_text("le violon et le bateau\n" * 80)
    shown = run("infer", model, tmp_path / "new.txt", tmp_path / "theta.zarr", code=2).output
    assert "does not know 100%" in shown and not (tmp_path / "theta.zarr").exists()


def test_infer_draws_from_the_random_state(corpus, tmp_path):
    run("train", corpus, tmp_path / "ope.zarr", "--method", "online-ope", "--topics", 3)
    found = []
    for number, options in enumerate([(), ("--random-state", 0), ("--seed", 7)]):
        run("infer", tmp_path / "ope.zarr", corpus, tmp_path / f"{number}.zarr", *options)
        found.append(theta_of(tmp_path / f"{number}.zarr"))
    np.testing.assert_array_equal(found[0], found[1])
    assert (found[2] != found[0]).any()
    expected = load_model(tmp_path / "ope.zarr").transform(open_corpus(corpus), random_state=7)
    np.testing.assert_array_equal(found[2], np.where(expected >= 0.01, expected, 0))


def test_infer_cannot_split_text_by_a_function_that_is_not_stored(tmp_path):
    corpus = ingest(["a-b c", "b c"], tmp_path / "c.zarr", tokenizer=str.split, n_threads=1)
    LDA(2, max_iter=1, client=False).fit(corpus).save(tmp_path / "m.zarr")
    (tmp_path / "new.txt").write_text("a-b\n")
    shown = run("infer", tmp_path / "m.zarr", tmp_path / "new.txt", tmp_path / "theta.zarr", code=2).output
    assert "split" in shown and "ingest the documents in Python" in shown


def test_ids_of_pairs_mean_the_words_that_the_model_learned_them_as(tmp_path):
    bags = [[(1, 2), (3, 3)], [(2, 4), (3, 1)]]
    fitted = LDA(2, max_iter=2, random_state=0).fit(bags * 30, vocabulary=["zebra", "cat", "dog", "ape"])
    fitted.save(str(tmp_path / "m.zarr"))
    (tmp_path / "bags.jsonl").write_text("".join(f"{json.dumps(bag)}\n" for bag in bags))
    shown = run("infer", tmp_path / "m.zarr", tmp_path / "bags.jsonl", "-", "--min-probability", 0).stdout
    table = np.loadtxt(shown.splitlines()[1:], delimiter=",")
    assert np.allclose(table[:, 1:], fitted.transform(bags), atol=1e-5)


def test_dots_in_a_url_are_not_those_of_a_path():
    _check("s3://bucket/x/../day.csv", "s3://bucket/day.csv", False, False)
    for documents, theta in (("s3://bucket/a/", "s3://bucket/a"), ("x/../a.csv", "a.csv")):
        with pytest.raises(click.UsageError, match="is both DOCUMENTS and THETA"):
            _check(documents, theta, False, False)


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["theta.csv"], "exists; choose another path, or pass --overwrite"),
        (["theta.zarr", "--to", "cvs"], "did you mean 'csv'"),
        (["-", "--to", "parquet"], "must be written to a path"),
        (["new.zarr", "--min-probability", 1], "--min-probability"),
        (["mine.zarr", "--overwrite"], "is not a store of topics"),
        (["-", "--overwrite"], "no effect if THETA is -"),
        (["-", "--json"], "no effect if THETA is -"),
        (["documents.csv", "--overwrite"], "is both DOCUMENTS and THETA"),
    ],
)
def test_infer_refuses_before_documents_are_read(arguments, said, model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("bigtopic.cli.infer._as_corpus", None)
    (tmp_path / "theta.csv").write_text("mine")
    (tmp_path / "mine.zarr").write_text("mine")
    shown = run("infer", model, "documents.csv", *arguments, code=2).output
    assert said in shown
