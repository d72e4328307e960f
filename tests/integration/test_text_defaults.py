"""Raw text without settings: the stop words of its language and its most common words are left out, visibly."""

from __future__ import annotations

import json
import warnings

import dask.bag
import numpy as np
import pyarrow
import pytest
from click.testing import CliRunner
from fsspec.implementations.memory import MemoryFileSystem
from pyarrow import parquet

from bigtopic.cli import main
from bigtopic.corpus.store import open_corpus
from bigtopic.corpus.text.stopwords import language_of, languages, stop_words, words_of
from bigtopic.errors import BigtopicWarning, SettingError
from bigtopic.estimators.inputs import as_corpus
from bigtopic.estimators.lda import LDA
from bigtopic.ingestion.ingest import append, ingest

PROSE = {
    "dutch": "De regering zei maandag dat zij de belastingen niet zal verhogen, maar de oppositie heeft om een "
    "stemming in de kamer gevraagd, omdat het geld voor de scholen op is.",
    "english": "The government said on Monday that it would not raise taxes, but the opposition has called for a "
    "vote in the house, because the money for the schools is gone.",
    "french": "Le gouvernement a déclaré lundi qu'il n'augmenterait pas les impôts, mais l'opposition demande un "
    "vote de la chambre, parce que l'argent pour les écoles n'est plus dans la caisse.",
    "german": "Die Regierung hat am Montag erklärt, dass sie die Steuern nicht erhöhen wird, aber die Opposition "
    "fordert eine Abstimmung in der Kammer, weil das Geld für die Schulen fehlt.",
    "italian": "Il governo ha detto lunedì che non alzerà le tasse, ma l'opposizione ha chiesto un voto della "
    "camera, perché il denaro per le scuole non è più nella cassa.",
    "portuguese": "O governo disse na segunda-feira que não vai aumentar os impostos, mas a oposição pediu uma "
    "votação na câmara, porque o dinheiro para as escolas não está mais na caixa.",
    "spanish": "El gobierno dijo el lunes que no subirá los impuestos, pero la oposición ha pedido una votación en "
    "la cámara, porque el dinero para las escuelas ya no está en la caja.",
}
OTHER = {
    "danish": "Regeringen sagde mandag, at den ikke vil hæve skatterne, men oppositionen har krævet en afstemning i "
    "folketinget, fordi pengene til skolerne er brugt.",
    "polish": "Rząd powiedział w poniedziałek, że nie podniesie podatków, ale opozycja wezwała do głosowania w sejmie.",
    "code": "def as_corpus(data, shuffle): return [f(x) for x in data if isinstance(x, Corpus)]",
    "lemmas": "government monday raise tax opposition vote house money school",
    "nothing": "",
}
ENGLISH = [f"The cat of number n{i % 7} sat on the mat with a dog." for i in range(120)]


@pytest.fixture(autouse=True)
def empty_memory():
    """Stores of `memory://` live as long as the process."""
    yield
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]


@pytest.mark.parametrize("language", PROSE)
def test_the_language_of_prose_is_found(language):
    assert language_of([PROSE[language]]) == language
    assert language_of(OTHER[name] for name in OTHER) is None


@pytest.mark.parametrize("name", OTHER)
def test_other_text_has_no_stop_words(name):
    assert language_of([OTHER[name]]) is None


def test_every_language_has_a_list_of_function_words():
    assert languages() == sorted(PROSE)
    for name in languages():
        words = words_of(name)
        assert 180 < len(words) < 600 and all(word == word.lower() and word.isalpha() for word in words), name
        assert stop_words(name) == sorted(words)
    with pytest.raises(SettingError, match=r"klingon.*english"):
        stop_words("klingon")


def test_text_is_without_the_stop_words_of_its_language_and_without_its_common_words(tmp_path):
    corpus = ingest(ENGLISH, tmp_path / "c.zarr")
    assert sorted(corpus.vocabulary) == [f"n{i}" for i in range(7)]  # cat, mat and dog are everywhere
    said = "english stop words, words in more than 50% of the documents (cat, dog, mat, number, sat)"
    assert said in repr(corpus) and said in corpus._repr_html_()
    shown = CliRunner().invoke(main, ["info", str(tmp_path / "c.zarr")]).output
    assert said in shown
    stored = json.loads((tmp_path / "c.zarr" / "zarr.json").read_text())["attributes"]["bigtopic"]
    assert (
        stored["text"]["stop_words"] == "english"
        and stored["text"]["max_df"] == stored["words"]["max_df"] == 0.5
    )
    model = LDA(2, method="online-cvb0", max_iter=1, client=False).fit(corpus)
    model.save(tmp_path / "m.zarr")
    assert said in CliRunner().invoke(main, ["info", str(tmp_path / "m.zarr")]).output


def test_few_documents_have_no_common_words():
    assert {"cat", "mat", "dog"} < set(ingest(ENGLISH[:99], "memory://few.zarr").vocabulary)


def test_settings_win():
    asked = ingest(ENGLISH, "memory://all.zarr", stop_words=None, max_df=1.0)
    assert {"the", "of", "cat"} < set(asked.vocabulary) and "left out" not in repr(asked)
    german = repr(ingest(ENGLISH, "memory://german.zarr", stop_words="german", max_df=100))
    assert "german stop words, words in more than 100 documents (cat, dog, mat, number, of, ...)" in german
    listed = ingest(ENGLISH, "memory://listed.zarr", stop_words=["cat", "dog"], max_df=1.0)
    assert "left out: 2 stop words" in repr(listed) and "mat" in listed.vocabulary


def test_stop_words_are_lower_cased_like_the_text(tmp_path):
    corpus = ingest(["Die KATZE", "die Katze ruht"], tmp_path / "c.zarr", stop_words=["Die", "RUHT"])
    assert list(corpus.vocabulary) == ["katze"] and corpus.text_settings["stop_words"] == ["die", "ruht"]
    assert list(append(corpus, ["Die Katze"], stop_words=["Die", "RUHT"]).vocabulary) == ["katze"]
    as_written = ingest(["Die die"], "memory://cased-text.zarr", stop_words=["Die"], lowercase=False)
    tokens = ingest([["Die", "die"]], "memory://cased-tokens.zarr", stop_words=["Die"])
    assert list(as_written.vocabulary) == list(tokens.vocabulary) == ["die"]


def test_no_word_of_a_given_vocabulary_is_left_out():
    words = ["the", "cat", "dog"]
    stored = ingest(ENGLISH, "memory://chosen.zarr", vocabulary=words)
    read = as_corpus(ENGLISH, shuffle=True, vocabulary=words, limited=True)
    for corpus in (stored, read):
        assert list(corpus.vocabulary) == words and "left out" not in repr(corpus)


@pytest.mark.parametrize(
    "source",
    [
        [text.split() for text in ENGLISH],
        [dict.fromkeys(text.split(), 1) for text in ENGLISH],
        [{"doc": str(i), "word": word, "count": 1} for i in range(120) for word in ("the", "of")],
    ],
    ids=["tokens", "counters", "triples"],
)
def test_what_is_not_raw_text_stays_as_it_is(source, tmp_path):
    if "doc" in source[0]:
        rows = "".join(f"{row['doc']},{row['word']},{row['count']}\n" for row in source)
        (tmp_path / "triples.csv").write_text("doc,word,count\n" + rows)
        source = tmp_path / "triples.csv"
    corpus = ingest(source, "memory://given.zarr", overwrite=True)
    assert {"the", "of"} <= set(corpus.vocabulary) and "left out" not in repr(corpus)


def test_common_words_do_not_come_back(tmp_path):
    ingest(ENGLISH, tmp_path / "c.zarr")
    corpus = append(tmp_path / "c.zarr", ["the cat is new"] * 3)
    assert {"cat", "the"}.isdisjoint(corpus.vocabulary) and "new" in corpus.vocabulary


_ALL_WORDS = ["the", "cat", "new"]


@pytest.mark.parametrize(
    ("source", "settings"),
    [
        (["the cat is new"], {"vocabulary": _ALL_WORDS}),
        ([[(0, 1), (1, 1), (2, 1)]], {"vocabulary": _ALL_WORDS}),
        ([dict.fromkeys(_ALL_WORDS, 1)], {}),
        ("corpus", {}),
    ],
)
def test_words_left_out_do_not_come_back_with_other_sources(source, settings, tmp_path):
    corpus = ingest(ENGLISH, tmp_path / "c.zarr")
    if source == "corpus":
        source = ingest([_ALL_WORDS], "memory://tokens.zarr", overwrite=True)
    longer = append(corpus, source, **settings)
    assert set(longer.vocabulary) == {*corpus.vocabulary, "new"}
    assert longer[120:].n_tokens == 1 and longer.vocabulary.frequency.sum() == longer.n_tokens
    assert set(append(longer, ["new cat"]).vocabulary) == set(longer.vocabulary)


def test_a_model_warns_of_a_corpus_with_words_that_were_left_out(tmp_path):
    model = LDA(2, method="online-cvb0", max_iter=1, client=False).fit(ENGLISH)
    tokens = ingest([_ALL_WORDS] * 64, tmp_path / "c.zarr")
    with pytest.warns(BigtopicWarning, match=r"left out of the first documents \(cat, the\).*drop="):
        model.partial_fit(tokens)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(tokens)  # whose words it now knows
        model.partial_fit(np.ones((64, len(model.vocabulary_))))


def _stored(corpus, folder):
    return ingest(corpus, folder / "b.zarr", max_df=0.5)


def _filtered(corpus, folder):
    return ingest(corpus.filter_vocabulary(max_df=0.5, drop=["n1"]), folder / "b.zarr")


@pytest.mark.parametrize("make", [_stored, _filtered])
def test_words_left_out_of_a_corpus_do_not_come_back(make, tmp_path):
    corpus = make(ingest(ENGLISH, "memory://all.zarr", max_df=1.0, overwrite=True), tmp_path)
    longer = append(corpus, ["the cat is new", *ENGLISH[:7]])
    assert set(longer.vocabulary) == {*corpus.vocabulary, "new"}


def test_the_words_that_a_view_leaves_out_are_shown(tmp_path):
    corpus = ingest(ENGLISH, "memory://all.zarr", max_df=1.0, overwrite=True)
    common = corpus.filter_vocabulary(max_df=0.9)
    assert "words in more than 90% of the documents (cat, dog, mat, number, sat)" in repr(common)
    for view, shown in ((corpus, "n1"), (common, "cat, dog, mat, n1, number, ...")):
        assert f"english stop words, dropped words ({shown})" in repr(view.filter_vocabulary(drop=["n1"]))


def test_the_words_of_a_corpus_that_are_left_out_again_are_expected_in_new_texts(tmp_path):
    corpus = ingest(ENGLISH, "memory://all.zarr", overwrite=True, max_df=1.0)
    few = ingest(corpus, tmp_path / "c.zarr", max_features=1)
    share = few.n_tokens / corpus.n_tokens
    assert few.text_settings["known_share"] == pytest.approx(share * corpus.text_settings["known_share"])
    LDA(2, method="online-cvb0", max_iter=1, client=False).fit(few).transform(ENGLISH)


def test_appended_text_is_tokenised_like_the_corpus_and_has_no_common_words(tmp_path):
    ingest([PROSE["german"]] * 3, tmp_path / "c.zarr")
    corpus = append(tmp_path / "c.zarr", ["Die Katze und the hund"] * 200)
    assert {"katze", "the", "hund"} < set(corpus.vocabulary) and "und" not in corpus.vocabulary
    with pytest.raises(SettingError, match="leave out stop_words"):
        append(tmp_path / "c.zarr", ["more"], stop_words="english")
    assert open_corpus(tmp_path / "c.zarr").text_settings["stop_words"] == stop_words("german")


@pytest.mark.parametrize(
    ("option", "left"), [("none", {"the", "cat"}), ("english", {"cat"}), ("auto", {"cat"})]
)
def test_the_command_has_the_same_defaults(tmp_path, option, left):
    (tmp_path / "t.txt").write_text("\n".join(ENGLISH[:50]))
    store = str(tmp_path / "c.zarr")
    done = CliRunner().invoke(main, ["ingest", str(tmp_path / "t.txt"), store, "--stop-words", option])
    assert done.exit_code == 0, done.output
    assert set(open_corpus(store).vocabulary) & {"the", "cat"} == left


def _bag(texts, folder):
    return dask.bag.from_delayed([dask.delayed(list)(part) for part in ([], texts)])


def _batches(texts, folder):
    batch = pyarrow.record_batch({"text": texts})
    return pyarrow.RecordBatchReader.from_batches(batch.schema, [batch[:0], batch])


def _parquet(texts, folder):
    table = pyarrow.table({"text": texts})
    for name, rows in (("a", table[:0]), ("b", table)):
        parquet.write_table(rows, folder / f"{name}.parquet")
    return folder


@pytest.mark.parametrize("make", [_bag, _batches, _parquet])
def test_a_source_may_begin_with_an_empty_piece(make, tmp_path):
    texts = ingest(make(ENGLISH[:20], tmp_path), "memory://t.zarr", client=False, overwrite=True)
    assert texts.text_settings["stop_words"] == "english" and "the" not in texts.vocabulary
    split = make([text.split() for text in ENGLISH], tmp_path)
    tokens = ingest(split, "memory://t.zarr", client=False, overwrite=True)
    assert tokens.n_docs == 120 and "the" in tokens.vocabulary


def test_html_is_noticed_in_texts(tmp_path):
    pages = ["Plain text.", *["<p>A page with <b>words</b>&nbsp;and tags.</p>"] * 5]
    with pytest.warns(BigtopicWarning, match=r"document 1 of the iterable holds HTML \(5 of .* pandoc"):
        ingest(pages, "memory://html.zarr")
    (tmp_path / "t.csv").write_text("id,text\n" + "".join(f"{i},{page}\n" for i, page in enumerate(pages)))
    with pytest.warns(BigtopicWarning, match=r"t\.csv, line 3 holds HTML"):
        ingest(tmp_path / "t.csv", "memory://csv.zarr")
    long = "A long text that has one tag, <b>. " + 99 * "And many words. "
    about = ["How to write <br> in a page", long, *["No tags, and 3 < 4 > 2, here."] * 20]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ingest(about, "memory://about.zarr")
