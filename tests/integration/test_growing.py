"""Corpora that grow: what an append does with words that were dropped, and with documents that are there already."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

import bigtopic as bt
from bigtopic.cli import main
from bigtopic.errors import CorpusDamaged, InputError, SettingError

HERE = {"n_threads": 1, "client": False, "progress": False}
RARE = ["cat dog", "cat dog", "cat bird", "dog fish"]  # bird and fish are in one document each
PEOPLE = ["Ann", "Bob", "Cleo"]


def _bytes(path):
    return {file: file.read_bytes() for file in path.rglob("*") if file.is_file()}


def _as_dicts(corpus):
    """All there is of each document, but for its row."""
    return sorted(
        (one.id, sorted(one.counts.items()), sorted(one.authors or ()), one.text, sorted(one.columns.items()))
        for one in corpus
    )


def _record(number, version):
    """A document with everything that a store can keep."""
    return {
        "id": f"d{number}",
        "text": f"word{number} word{number} version{version} shared",
        "authors": [PEOPLE[number % 3], PEOPLE[(number + version) % 3]],
        "year": 1990 + number + version,
        "score": number / 4,
    }


def _check(corpus):
    """The store is as written, and the counts of its words are those of its documents."""
    corpus.verify()
    counts = corpus.to_scipy()
    df, tf = corpus.vocabulary.counted
    assert df.tolist() == np.asarray((counts > 0).sum(axis=0)).ravel().tolist()
    assert tf.tolist() == np.asarray(counts.sum(axis=0)).ravel().tolist()


# ---------------------------------------------------------------------- words


@pytest.mark.parametrize("limits", [{"min_df": 2}, {"min_df": 0.5}, {"max_features": 2}])
@pytest.mark.parametrize("rewrite", [False, True])
@pytest.mark.parametrize(
    "more", [["bird fish new"], [["bird", "fish", "new"]], [{"bird": 1, "fish": 1, "new": 1}]]
)
def test_words_that_limits_dropped_do_not_come_back(limits, rewrite, more, tmp_path):
    corpus = bt.ingest(RARE, tmp_path / "c.zarr", **limits, **HERE)
    corpus = bt.append(corpus, ["cat"], **HERE)
    corpus = bt.compact(corpus, **HERE) if rewrite else corpus
    corpus = bt.append(corpus, more, **HERE)
    assert sorted(corpus.vocabulary) == ["cat", "dog"]
    (group,) = corpus.ingestion_.left_out
    assert (group.rule, group.words, group.tokens) == (
        "words that the corpus lacks, which may have been dropped",
        3,
        3,
    )
    assert sorted(group.examples) == ["bird", "fish", "new"]


def test_limits_of_an_append_take_the_new_words_that_pass_them(tmp_path):
    corpus = bt.ingest(RARE, tmp_path / "c.zarr", min_df=2, **HERE)
    assert sorted(bt.append(corpus, ["new bird", "new"], min_df=2, **HERE).vocabulary) == [
        "cat",
        "dog",
        "new",
    ]
    assert sorted(bt.append(corpus, ["more"], min_df=1, **HERE).vocabulary) == ["cat", "dog", "more", "new"]
    assert sorted(bt.append(corpus, ["later"], **HERE).vocabulary) == ["cat", "dog", "more", "new"]


def test_where_no_word_was_dropped_new_ones_are_taken(tmp_path):
    corpus = bt.ingest(["cat dog"] * 2, tmp_path / "c.zarr", min_df=2, **HERE)
    assert sorted(bt.append(corpus, ["new"], **HERE).vocabulary) == ["cat", "dog", "new"]


@pytest.mark.parametrize(
    ("filters", "taken"),
    [({"min_df": 2}, False), ({"keep": ["cat"]}, False), ({"drop": ["cat"]}, True), ({"max_df": 2}, True)],
)
def test_words_that_a_view_left_out_do_not_come_back(filters, taken, tmp_path):
    view = bt.ingest(RARE, tmp_path / "all.zarr", **HERE).filter_vocabulary(**filters)
    corpus = bt.ingest(view, tmp_path / "c.zarr", **HERE)
    words = sorted(corpus.vocabulary)
    longer = bt.append(corpus, ["cat dog bird fish new"], **HERE)
    assert sorted(longer.vocabulary) == sorted([*words, "new"] if taken else words)


def test_words_of_counts_that_were_too_common_do_not_come_back(tmp_path):
    counts = [{"cat": 1, "dog": 1}, {"cat": 1}, {"cat": 1, "fish": 2}]
    corpus = bt.ingest(counts, tmp_path / "c.zarr", max_df=2, **HERE)
    assert sorted(bt.append(corpus, counts[:1], **HERE).vocabulary) == ["dog", "fish"]


# ---------------------------------------------------------------------- documents


def test_the_same_day_twice_is_refused_and_changes_nothing(tmp_path):
    day = [_record(number, 0) for number in range(5)]
    bt.ingest(day[:2], tmp_path / "c.zarr", **HERE)
    bt.append(tmp_path / "c.zarr", day[2:], **HERE)
    before = _bytes(tmp_path)
    with pytest.raises(InputError, match=r"has a document 'd3' already; .* pass on_duplicate='skip'"):
        bt.append(tmp_path / "c.zarr", [_record(7, 0), *day[3:]], **HERE)
    assert _bytes(tmp_path) == before
    with pytest.raises(SettingError, match="on_duplicate='keep'"):
        bt.append(tmp_path / "c.zarr", day, on_duplicate="keep", **HERE)


@pytest.mark.parametrize("url", ["folder", "memory"])
def test_documents_that_are_there_are_skipped(url, tmp_path):
    store = tmp_path / "c.zarr" if url == "folder" else "memory://skipped.zarr"
    day = [_record(number, 0) for number in range(5)]
    first = bt.ingest(day[:3], store, keep_text=True, overwrite=True, **HERE)
    assert first.ingestion_.skipped == 0
    changed = [_record(number, 1) for number in range(5)]
    longer = bt.append(first, changed, on_duplicate="skip", **HERE)
    _check(longer)
    alone = bt.ingest([*day[:3], *changed[3:]], tmp_path / "alone.zarr", keep_text=True, **HERE)
    assert _as_dicts(longer) == _as_dicts(alone)
    assert sorted(longer.vocabulary) == sorted(alone.vocabulary) and longer.n_authors == alone.n_authors
    assert (longer.ingestion_.documents, longer.ingestion_.skipped) == (2, 3)
    again = bt.append(longer, changed, on_duplicate="skip", **HERE)
    _check(again)
    assert _as_dicts(again) == _as_dicts(alone) and len(again.parts) == len(longer.parts)
    assert (again.ingestion_.documents, again.ingestion_.skipped) == (0, 5)


@pytest.mark.parametrize("url", ["folder", "memory"])
@pytest.mark.parametrize("gone", [[0], [0, 1, 2], [4], [0, 1, 2, 3, 4], [1, 4]])
def test_documents_that_are_there_are_replaced(gone, url, tmp_path):
    store = tmp_path / "c.zarr" if url == "folder" else "memory://replaced.zarr"
    day = [_record(number, 0) for number in range(5)]
    bt.ingest(day[:3], store, keep_text=True, overwrite=True, **HERE)
    corpus = bt.append(store, day[3:], **HERE)
    new = [*(_record(number, 1) for number in gone), _record(9, 1)]
    corpus = bt.append(store, new, on_duplicate="replace", **HERE)
    _check(corpus)
    kept = [one for number, one in enumerate(day) if number not in gone]
    alone = bt.ingest([*kept, *new], tmp_path / "alone.zarr", keep_text=True, **HERE)
    assert _as_dicts(corpus) == _as_dicts(alone)
    assert corpus.document_ids().tolist()[-len(new) :] == [one["id"] for one in new]
    assert corpus.ingestion_.replaced == len(gone)
    if url == "folder":
        assert len([*(store / "parts").glob("0*")]) == len(corpus.parts)
        compacted = bt.compact(store, **HERE)
        assert _as_dicts(compacted) == _as_dicts(alone)


def test_authors_that_were_attached_later_stay_with_their_documents(tmp_path):
    ids = ["a", "b", "c"]
    corpus = bt.ingest(["cat", "dog", "cow"], tmp_path / "c.zarr", ids=ids, **HERE)
    corpus.with_authors({"a": ["Ann"], "b": ["Bob"], "c": ["Ann", "Bob"]})
    corpus = bt.append(
        tmp_path / "c.zarr", ["ox"], ids=["b"], authors={"b": ["Cleo"]}, on_duplicate="replace", **HERE
    )
    _check(corpus)
    assert {one.id: sorted(one.authors) for one in corpus} == {
        "a": ["Ann"],
        "b": ["Cleo"],
        "c": ["Ann", "Bob"],
    }


def test_a_column_of_another_type_goes_into_parts_that_are_written_anew(tmp_path):
    rows = [{"id": name, "text": "cat", "n": n} for name, n in (("a", 1), ("b", 2))]
    bt.ingest(rows, tmp_path / "c.zarr", **HERE)
    corpus = bt.append(
        tmp_path / "c.zarr", [{"id": "a", "text": "dog", "n": "x"}], on_duplicate="replace", **HERE
    )
    _check(corpus)
    assert {one.id: one.columns["n"] for one in corpus} == {"a": "x", "b": "2"}


def test_ids_that_come_twice_in_one_source_are_pieces_of_one_document(tmp_path):
    corpus = bt.ingest(["cat", "dog", "cow"], tmp_path / "c.zarr", ids=["a", "a", "b"], **HERE)
    corpus = bt.append(corpus, ["ox", "hen", "emu"], ids=["a", "a", "c"], on_duplicate="replace", **HERE)
    _check(corpus)
    assert [(one.id, [*one.counts]) for one in corpus] == [
        ("b", ["cow"]),
        ("a", ["ox"]),
        ("a", ["hen"]),
        ("c", ["emu"]),
    ]


@pytest.mark.parametrize("opened", [lambda c: c.to_scipy(), lambda c: c[0], lambda c: c.document_ids()])
def test_a_corpus_that_was_open_while_parts_were_written_anew_is_to_be_opened_again(opened, tmp_path):
    corpus = bt.ingest(["cat dog", "dog"], tmp_path / "c.zarr", ids=["a", "b"], **HERE)
    bt.append(tmp_path / "c.zarr", ["cow"], ids=["b"], on_duplicate="replace", **HERE)
    with pytest.raises(CorpusDamaged, match="missing; open the corpus again, if it was written to since"):
        opened(corpus)
    opened(bt.open_corpus(tmp_path / "c.zarr"))


@pytest.mark.parametrize("url", ["folder", "memory"])
def test_rows_of_documents_that_are_gone_are_not_given_again_after_compact(url, tmp_path):
    store = tmp_path / "c.zarr" if url == "folder" else "memory://rows.zarr"
    settings = {"min_doc_length": 2, "stop_words": None, "overwrite": True}
    corpus = bt.ingest(["wet cat", "wet dog", "wet cow"], store, ids=["a", "b", "c"], **settings, **HERE)
    bt.append(corpus, ["ox"], ids=["c"], on_duplicate="replace", **HERE)
    compacted = bt.compact(store, **HERE)
    assert sorted(compacted.rows().tolist()) == [0, 1]
    corpus = bt.append(store, ["wet hen"], ids=["d"], **HERE)
    assert sorted(corpus.rows().tolist()) == [0, 1, 4]


def test_rows_are_not_ids(tmp_path):
    corpus = bt.ingest(["cat", "dog"], tmp_path / "c.zarr", **HERE)
    corpus = bt.append(corpus, ["cow"], ids=["1"], **HERE)
    assert bt.append(corpus, ["ox", "hen"], **HERE).n_docs == 5
    with pytest.raises(InputError, match="'1' already"):
        bt.append(corpus, ["cow"], ids=["1"], **HERE)


# ---------------------------------------------------------------------- what is said


def test_the_closing_line_says_what_was_left_out_and_stays_with_the_corpus(tmp_path):
    texts = [f"the cat of n{i % 3} r{i}" for i in range(120)] + ["the of", ""]
    corpus = bt.ingest(texts, tmp_path / "c.zarr", stop_words="english", min_df=2, max_df=0.5, **HERE)
    said = str(corpus.ingestion_)
    assert said == (
        "122 documents, 3 words, 120 tokens; read as iterable; left out: "
        "english stop words (2 words, 242 tokens: of, the), "
        "words in fewer than 2 documents (120 words, 120 tokens: r0, r1, r10, r100, r101, ...), "
        "words in more than 50% of the documents (1 word, 120 tokens: cat); 2 documents without words"
    )
    assert corpus.ingestion_ == bt.open_corpus(tmp_path / "c.zarr").ingestion_
    stored = json.loads((tmp_path / "c.zarr" / "zarr.json").read_text())["attributes"]["bigtopic"]
    assert stored["ingestion"] == json.loads(json.dumps(corpus.ingestion_.to_dict()))


def test_threads_and_limits_of_memory_change_nothing_of_what_is_said(tmp_path, limits):
    texts = [f"common w{i % 7} x{i % 50} r{i}" for i in range(300)]
    settings = {"min_df": 2, "max_features": 20, "stop_words": None}
    whole = bt.ingest(texts, tmp_path / "a.zarr", **settings, **HERE).ingestion_
    limits(words=50, chunk_docs=40)
    settings["n_threads"] = 2
    assert bt.ingest(texts, tmp_path / "b.zarr", **{**HERE, **settings}).ingestion_ == whole
    assert [group.rule for group in whole.left_out][1:] == [
        "words beyond the 20 most frequent",
        "words in more than 50% of the documents",
    ]


def test_the_line_is_said_with_the_bar_and_in_the_shell(tmp_path, capsys):
    bt.ingest(["a cat"], tmp_path / "c.zarr", **HERE)
    assert capsys.readouterr() == ("", "")
    bt.ingest(["a cat"], tmp_path / "d.zarr", **{**HERE, "progress": True})
    assert "1 document, 1 word, 1 token; read as iterable\n" in capsys.readouterr().err
    (tmp_path / "t.csv").write_text("id,text\nx,cat\ny,dog dog\n")
    (tmp_path / "tags.csv").write_text("id,text,tags\nx,cat,p\ny,dog dog,q\n")
    tags = bt.ingest(tmp_path / "tags.csv", tmp_path / "f.zarr", **HERE)
    assert "text column: text, author column: tags" in str(tags.ingestion_)
    verb = ["ingest", str(tmp_path / "t.csv"), str(tmp_path / "e.zarr"), "--json"]
    done = CliRunner().invoke(main, verb)
    assert done.stderr.startswith("2 documents, 2 words, 3 tokens; read as csv")
    assert json.loads(done.stdout)["ingestion"]["tokens"] == 3
    done = CliRunner().invoke(main, [*verb, "--append"])
    assert done.exit_code == 2 and "pass --on-duplicate skip" in done.stderr
    done = CliRunner().invoke(main, [*verb, "--append", "--on-duplicate", "skip"])
    assert done.exit_code == 0 and "2 documents left out, as the corpus has their ids" in done.stderr
    assert json.loads(done.stdout)["ingestion"]["skipped"] == 2


def test_a_given_vocabulary_and_short_documents_are_said(tmp_path):
    corpus = bt.ingest(
        ["cat cat emu", "dog", ""], tmp_path / "c.zarr", vocabulary=["cat", "dog"], min_doc_length=1, **HERE
    )
    said = str(corpus.ingestion_)
    assert (
        "words that the given vocabulary lacks (1 token)" in said
        and "1 document left out as too short" in said
    )
    longer = bt.append(corpus, [{"cat": 1, "emu": 2}], **HERE)
    assert "words that the given vocabulary lacks (1 word, 2 tokens: emu)" in str(longer.ingestion_)
