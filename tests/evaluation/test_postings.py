"""Postings give the counts of a pass, are written once, and replace only their own kind."""

from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from bigtopic.corpus.memory import from_matrix
from bigtopic.datasets import lda_corpus
from bigtopic.errors import SettingError, StoreError
from bigtopic.evaluation import coherence, index
from bigtopic.storage.output_file import output_file

TRUTH = lda_corpus(400, 60, 5, mean_length=12, topic_word_prior=0.1, random_state=2)
NAMES = [f"w{i}" for i in range(60)]
CORPUS = from_matrix(TRUTH.counts, NAMES)


@pytest.mark.parametrize(
    "documents", [CORPUS, CORPUS.select(rows=np.arange(65)), CORPUS.filter_vocabulary(drop=["w3", "w7"])]
)
def test_counts_are_those_of_a_pass(documents, tmp_path):
    postings = index(documents, tmp_path / "words.postings")
    topics = [["w3", "w1", "elsewhere", "w2"], ["w9", "w9", "w8", "w10"]]
    for model, n_top in ((TRUTH.components, 8), (topics, 4)):
        for measure in ("npmi", "umass", "lcp", "pmi"):
            given = {"vocabulary": None if model is topics else CORPUS, "n_threads": 2}
            ours, passed = (
                coherence(model, where, measure, n_top, **given) for where in (postings, documents)
            )
            np.testing.assert_array_equal(ours.per_topic, passed.per_topic)
            assert (
                ours.value == passed.value and ours.omitted == passed.omitted and ours.n_docs == passed.n_docs
            )


def test_the_file_lists_the_documents_of_each_word(tmp_path):
    postings = index(CORPUS, tmp_path / "words.postings")
    stored = CORPUS.to_scipy(order="stored").tocsc()
    np.testing.assert_array_equal(postings.starts, stored.indptr)
    np.testing.assert_array_equal(postings.documents, stored.indices)
    assert (tmp_path / "words.postings").stat().st_size == 64 + 8 * 61 + 4 * CORPUS.nnz


def test_a_file_is_written_once_for_each_corpus(tmp_path):
    path = tmp_path / "words.postings"
    index(CORPUS, path)
    written = path.stat().st_ino, path.stat().st_mtime_ns
    assert repr(index(CORPUS, path)).startswith(f"Postings({path}: ")
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == written
    whole = path.read_bytes()
    for damaged in (whole[:-1], whole[:100], whole[:40], whole[:64] + bytes([255]) * 8 + whole[72:]):
        path.write_bytes(damaged)
        index(CORPUS, path)
        assert path.read_bytes() == whole
    part = CORPUS[:100]
    np.testing.assert_array_equal(index(part, path).starts, part.to_scipy().tocsc().indptr)
    assert [found.name for found in tmp_path.iterdir()] == ["words.postings"]


def test_nothing_else_is_replaced_and_windows_need_text(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text("precious")
    with pytest.raises(StoreError, match="exists but is not an index of postings"):
        index(CORPUS, path)
    assert path.read_text() == "precious"
    with pytest.raises(SettingError, match="path='memory://words': an index is read from a local file"):
        index(CORPUS, "memory://words")
    with pytest.raises(
        SettingError, match="measure='c-v': counts windows of text, which postings do not have"
    ):
        coherence(TRUTH.components, index(CORPUS, tmp_path / "new"), "c-v")


def test_another_process_may_put_its_own_index_there_meanwhile(tmp_path, monkeypatch):
    path, other, written = tmp_path / "words.postings", from_matrix(np.eye(9)), []

    @contextmanager
    def slow(place, check):
        with output_file(place, check) as draft:
            yield draft
        if not written:
            written.append(path)
            Path(index(other, tmp_path / "other").path).replace(path)

    monkeypatch.setattr("bigtopic.evaluation.postings.output_file", slow)
    np.testing.assert_array_equal(
        index(CORPUS, path).documents, CORPUS.to_scipy(order="stored").tocsc().indices
    )
    assert len(written) == 1


@pytest.mark.parametrize("n_threads", [0, -1, 1.5, "2", True])
def test_threads_are_a_number(n_threads, tmp_path):
    for where in (CORPUS, index(CORPUS, tmp_path / "words.postings")):
        with pytest.raises(SettingError, match=r"n_threads=.*: must be a whole number, 1 or more"):
            coherence(TRUTH.components, where, n_top=3, n_threads=n_threads, client=False)
