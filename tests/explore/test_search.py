"""Search by words, ids and conditions; whatever is typed is text and not a query."""

from contextlib import closing
from itertools import chain

import numpy as np
import pytest

import bigtopic as bt
from bigtopic.explore import texts as texts_module
from bigtopic.explore.texts import MOST_WORDS, Texts, write_ids, write_texts

from .conftest import AWKWARD, QUIET


@pytest.fixture(scope="session")
def theta(stores):
    return stores("stored")


def ids_of(found):
    return [one["id"] for one in found["documents"]]


def with_words(records, *words):
    return {one["id"] for one in records if {*words} <= {*one["text"].lower().replace(".", " ").split()}}


@pytest.mark.parametrize("words", [("w3",), ("w3", "w10"), ("ending", "w7"), ("w3", "nowhere")])
def test_all_words(client, records, words):
    found = client.answer("documents", q=" ".join(words).upper(), n=100)
    wanted = with_words(records, *words)
    assert found["n"] == len(wanted) and len(found["documents"]) == min(100, len(wanted))
    assert {*ids_of(found)} <= wanted


def test_words_are_searched_once(client, records):
    wanted = client.answer("documents", q="w3 w10", n=100)
    assert client.answer("documents", q="w3 w10 " * 1000, n=100) == wanted


def test_only_so_many_words_are_searched(client, records):
    assert client.answer("documents", q="w3 w10")["words_left_out"] == 0
    words = ["w3", "w10", *(f"nowhere{i}" for i in range(MOST_WORDS - 1))]
    found = client.answer("documents", q=" ".join(words))
    assert (found["n"], found["words_left_out"]) == (0, 1)
    words = [*dict.fromkeys(max((one["text"] for one in records), key=len).split())]
    assert len(words) < MOST_WORDS
    assert client.answer("documents", q=" ".join(words))["n"]


def test_a_long_search_is_ended(client, exploration, monkeypatch):
    monkeypatch.setattr(texts_module, "_SECONDS", -1.0)
    monkeypatch.setattr(texts_module, "_STEPS", 1)
    assert "fewer words" in client.refused("documents", q="w3")
    monkeypatch.undo()
    assert client.answer("documents", q="w3")["n"]


def test_a_phrase(client, records):
    found = client.answer("documents", q='"w3 w3 w4"', n=100)
    wanted = {one["id"] for one in records if "w3 w3 w4" in one["text"]}
    assert found["n"] == len(wanted) > 0 and {*ids_of(found)} <= wanted


def test_documents_with_their_topics(client, dense):
    for one in client.answer("documents", q="w3")["documents"]:
        order = np.argsort(-dense[one["row"]], kind="stable")[:3]
        wanted = {int(k): dense[one["row"], k] for k in order if dense[one["row"], k] > 0}
        assert dict(map(tuple, one["topics"])) == pytest.approx(wanted)


def test_pages(client, records):
    whole = ids_of(client.answer("documents", q="ending", n=100))
    pages = [ids_of(client.answer("documents", q="ending", n=7, offset=offset)) for offset in (0, 7, 14)]
    assert [*chain(*pages)] == whole[:21]
    everything = client.answer("documents", n=100, offset=250)
    assert everything["n"] == 300 and len(everything["documents"]) == 50
    assert client.answer("documents", offset=300)["documents"] == []


def test_topic_and_conditions(client, records, dense):
    leads = dense.argmax(axis=1)
    for q, words in (("", ()), ("ending", ("ending",))):
        named = with_words(records, *words)
        wanted = {
            one["id"]
            for number, one in enumerate(records)
            if one["id"] in named and leads[number] == 2 and one["kind"] == "short"
        }
        found = client.answer("documents", q=q, topic=2, where="kind=short", n=100)
        assert {*ids_of(found)} == wanted and found["n"] == len(wanted) > 0
    found = client.answer("documents", topic=2, n=10)
    shares = [dense[one["row"], 2] for one in found["documents"]]
    np.testing.assert_allclose(shares, np.sort(dense[leads == 2, 2])[::-1][:10])
    assert found["n"] == (leads == 2).sum()


@pytest.mark.parametrize("number", AWKWARD)
def test_ids(client, number):
    found = client.answer("documents", q=AWKWARD[number])
    assert found["documents"][0]["id"] == AWKWARD[number]
    assert client.answer("documents", q=f" {AWKWARD[number]} ")["documents"][0]["id"] == AWKWARD[number]
    assert client.answer("documents", q="DOC-299")["documents"][0]["id"] == "doc-299"


HOSTILE = (
    '"', '""', "'", "w3 AND", "OR w3", "NOT w3", "NEAR(w3 w4)", "w3*", "^w3", "text:w3", "(w3", "w3)", "-w3", "w3 + w4",
    "{id text}: w3", '"w3', 'w3"', "\x00", "w3\x00w4", '"w3\x00"', "'; DROP TABLE texts; --", "%", "_", "\\", "*",
    "²", "\u0301", "\U0001f600", "w3" * 5000, "a " * 2000, "\U0010ffff", "\ufffe",
)  # fmt: skip


@pytest.mark.parametrize("q", HOSTILE, ids=repr)
def test_nothing_that_is_typed_is_a_query(client, records, q):
    found = client.answer("documents", q=q)
    assert found["n"] is None or found["n"] >= 0
    client.answer("words", q=q)
    client.refused("document", id=q + "?")
    assert client.answer("documents", q="w3")["n"] == len(with_words(records, "w3"))


def test_operators_are_words(client, records):
    assert client.answer("documents", q="w3 NOT w4")["n"] == 0
    assert client.answer("documents", q="w3*")["n"] == len(with_words(records, "w3"))


def test_many_matches_are_not_counted(exploration, monkeypatch):
    monkeypatch.setattr("bigtopic.explore.texts.MOST_COUNTED", 20)
    found = exploration.client.answer("documents", q="ending", n=30)
    assert found["n"] is None and len(found["documents"]) == 20


def test_a_corpus_without_texts(explored, synthetic, tmp_path):
    """Search goes by ids and through the topics of words; excerpts are frequent words."""
    names = [f"w{i}" for i in range(80)]
    corpus = bt.from_matrix(synthetic.counts, names)
    model = bt.LDA(4, method="online-cvb0", max_iter=3, **QUIET).fit(corpus)
    theta = model.transform_to(corpus, tmp_path / "theta.zarr")
    with explored(model, corpus, theta, folder=tmp_path / "index") as one:
        assert not one.client.answer("model")["has_text"]
        (first, *_) = one.client.answer("documents", q="12")["documents"]
        assert first["id"] == "12"
        row = synthetic.counts.toarray()[12]
        assert first["excerpt"].split()[0] in {names[i] for i in np.flatnonzero(row == row.max())}
        found = one.client.answer("documents", q=model.topics(1)[2][0][0])
        assert found["n"] is None and len(found["documents"]) == 20
        assert one.client.answer("document", id="12")["pieces"] is None


def test_pages_of_a_topic_are_its_documents(client, dense, monkeypatch):
    """In any steps, each document once."""
    monkeypatch.setattr("bigtopic.explore.explorer._STEP", 17)
    leads, found = np.flatnonzero(dense.argmax(axis=1) == 2), []
    for offset in range(0, len(leads) + 7, 7):
        found += [one["row"] for one in client.answer("documents", topic=2, n=7, offset=offset)["documents"]]
    assert sorted(found) == leads.tolist()


def test_pages_beyond_the_documents_that_are_kept(
    explored, model, asked, theta, dense, tmp_path, monkeypatch
):
    monkeypatch.setattr("bigtopic.explore.tally.KEPT", 10)
    monkeypatch.setattr("bigtopic.explore.explorer._STEP", 17)
    leads, found = np.flatnonzero(dense.argmax(axis=1) == 2), []
    with explored(model, asked, theta, folder=tmp_path) as one:
        for offset in range(0, len(leads) + 7, 7):
            answer = one.client.answer("documents", topic=2, n=7, offset=offset)
            found += [each["row"] for each in answer["documents"]]
    assert sorted(found) == leads.tolist() and len(leads) > 10


def test_accents_of_words_do_not_matter_and_the_word_itself_comes_first(explored, tmp_path):
    """The word "car" is rarer than sixty that begin with it."""
    names = ["car", *(f"car{i}" for i in range(60)), "Überfahrt", "résumé", "re\u0301sume\u0301s", "straße"]
    corpus = bt.from_matrix(np.tile(np.r_[1, np.arange(2, len(names) + 1)], (20, 1)), names)
    model = bt.LDA(2, method="online-cvb0", max_iter=2, **QUIET).fit(corpus)
    theta = model.transform_to(corpus, tmp_path / "theta.zarr")
    with explored(model, corpus, theta, folder=tmp_path / "index") as one:

        def found(asked):
            return [own["word"] for own in one.client.answer("words", q=asked, n=50)]

        assert found("CAR")[0] == "car" and len(found("car")) == 50
        assert found("uberF") == found("über") == found("u\u0308ber") == ["Überfahrt"]
        assert found("resume") == ["résumé", "re\u0301sume\u0301s"]
        assert found("STRASSE") == ["straße"] and found("\u0301") == []


UNSPACED = {
    "zh": "我喜欢北京的天气。", "ja": "東京都の天気は、Python3入門データ", "spaced": "天 气", "th": "ข้าวผัดอร่อยมาก",
    "th-white": "ขาวมาก", "ko": "한국어 텍스트", "hi": "हिन्दी भाषा", "fr": "résumé", "fr-marks": "re\u0301sume\u0301",
    "rare-三": "\U00020021\U00020022",
}  # fmt: skip
FOUND = {
    "天气": {"zh", "spaced"}, "北京": {"zh"}, "京天": set(), "喜欢 天气": {"zh"}, "天": {"zh", "ja", "spaced"},
    "京都": {"ja"}, "都の天": {"ja"}, "データ": {"ja"}, "python3": {"ja"}, "python3入門": {"ja"}, "入門Python3": set(),
    "ข้าว": {"th"}, "ขาว": {"th-white"}, "อร่อย": {"th"}, "한국어": {"ko"}, "국어": set(), "हिन्दी": {"hi"}, "हिन्द": set(),
    "resume": {"fr", "fr-marks"}, "\U00020022": {"rare-三"}, "三": {"rare-三"},
}  # fmt: skip


def test_parts_of_texts_without_spaces_between_words(tmp_path):
    """Any run of their characters is found, and words of other scripts as a whole."""
    records = [{"id": name, "text": text} for name, text in UNSPACED.items()]
    own = {"keep_text": True, "max_df": 1.0, "min_df": 1, "tokenizer": str.split, "shuffle": False, **QUIET}
    corpus = bt.ingest(records, tmp_path / "corpus.zarr", **own)
    write_ids(tmp_path / "texts.sqlite", [(0, [*UNSPACED])], lambda _: None)
    write_texts(tmp_path / "texts.sqlite", corpus, lambda _: None)
    with closing(Texts(tmp_path / "texts.sqlite")) as texts:
        found = {asked: {[*UNSPACED][row] for row in texts.matching(asked)[0]} for asked in FOUND}
    assert found == FOUND
