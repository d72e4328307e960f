"""Every answer beside one from the definitions, over documents with text, dates and groups, in either order."""

import numpy as np
import pytest

import bigtopic as bt
from bigtopic.questions.words import relevant_words

from .conftest import QUIET


def test_the_model(client, model, dense, asked, records):
    found = client.answer("model")
    assert found["title"] == "T <1>" and found["n_docs"] == 300 and found["n_tokens"] == asked.n_tokens
    assert found["has_text"] and found["time"] == "date" and not found["can_undo"]
    assert found["indexing"] is None and found["figures"]["documents"] == "300"
    topics, on_map = found["topics"], model.topic_map()
    np.testing.assert_allclose([one["share"] for one in topics], dense.mean(axis=0))
    assert [one["words"] for one in topics] == [[word for word, _ in own] for own in model.topics(8)]
    assert [one["label"] for one in topics] == model.topic_labels_ and not any(one["named"] for one in topics)
    np.testing.assert_allclose([one["x"] for one in topics], list(on_map["x"]))
    np.testing.assert_allclose([one["y"] for one in topics], list(on_map["y"]))
    assert [one["unused"] for one in topics] == list(on_map["unused"])
    columns = {one["name"]: one for one in found["columns"]}
    assert {name: one["kind"] for name, one in columns.items()} == {
        "year": "number",
        "date": "date",
        "kind": "text",
        "score": "number",
    }
    assert sorted(columns["kind"]["values"]) == ["a=b", "long", "short"] and columns["date"]["values"] is None
    assert (
        sorted(columns["year"]["values"]) == list(range(1996, 2003)) and len(columns["score"]["values"]) == 50
    )


@pytest.mark.parametrize("topic", range(5))
def test_a_topic(client, model, topic):
    found = client.answer(f"topic/{topic}")
    words = relevant_words(model.topic_source(), 30)[topic]
    assert [word for word, _, _ in found["words"]] == [word for word, _, _ in words]
    np.testing.assert_allclose([own[1:] for own in found["words"]], [own[1:] for own in words])
    similar = model.similar_topics(topic, 8)
    assert [other for other, _ in found["similar"]] == list(similar["other"])
    np.testing.assert_allclose([how for _, how in found["similar"]], list(similar["similarity"]))


CONDITIONS = {
    "kind=long": lambda one: one["kind"] == "long",
    "kind=a=b": lambda one: one["kind"] == "a=b",
    "year=1999": lambda one: one["year"] == 1999,
    "year=1999..2000": lambda one: 1999 <= one["year"] <= 2000,
    "year=..1997": lambda one: one["year"] <= 1997,
    "date=1998": lambda one: (one["date"] or "").startswith("1998"),
    "date=1998-03": lambda one: (one["date"] or "").startswith("1998-03"),
    "date=1998-Q1": lambda one: (one["date"] or "")[:7] in ("1998-01", "1998-02", "1998-03"),
    "date=1998..1999-02": lambda one: "1998" <= (one["date"] or "") < "1999-03",
    "date=": lambda one: one["date"] is None,
    "score=10..20.5": lambda one: one["score"] is not None and 10 <= one["score"] <= 20.5,
    "score=": lambda one: one["score"] is None,
}


@pytest.mark.parametrize("where", [[], *([one] for one in CONDITIONS), ["kind=long", "date=1998"]])
def test_documents_of_a_topic(client, dense, records, where):
    for topic in range(5):
        found = client.answer(f"topic/{topic}/documents", n=7, where=where)
        meets = np.array([all(CONDITIONS[one](each) for one in where) for each in records])
        shares = np.sort(dense[meets & (dense[:, topic] > 0), topic])[::-1][:7]
        np.testing.assert_allclose([one["share"] for one in found], shares)
        for one in found:
            assert meets[one["row"]] and one["id"] == records[one["row"]]["id"]
            assert dense[one["row"], topic] == pytest.approx(one["share"])
            assert records[one["row"]]["text"].startswith(one["excerpt"].rstrip("…"))


def test_documents_beyond_those_that_are_kept(
    explored, model, asked, theta, dense, records, monkeypatch, tmp_path
):
    """A condition that few of them meet has others searched for."""
    for module in ("tally", "explorer"):
        monkeypatch.setattr(f"bigtopic.explore.{module}.KEPT", 10)
    with explored(model, asked, theta, folder=tmp_path) as one:
        path = "/api/topic/2/documents?n=15&where=kind%3Dlong"
        answer = one.client.request("GET", path)
        assert answer.headers["X-Bigtopic-Complete"] == "yes"
        found = one.client.answer("topic/2/documents", n=15, where="kind=long")
        meets = np.array([each["kind"] == "long" for each in records])
        np.testing.assert_allclose([each["share"] for each in found], np.sort(dense[meets, 2])[::-1][:15])
        assert len({each["id"] for each in found}) == 15
        monkeypatch.setattr("bigtopic.explore.explorer._SECONDS", -1.0)
        monkeypatch.setattr("bigtopic.estimators.topic_stores.stored_topics.DOCUMENTS", 16)
        assert one.client.request("GET", path).headers["X-Bigtopic-Complete"] == "no"


@pytest.mark.parametrize("freq", ["decade", "year", "quarter", "month", "week", "day"])
def test_over_time(client, model, theta, freq):
    for topic in (0, 3):
        found = client.answer(f"topic/{topic}/time", freq=freq)
        wanted = model.topics_over("date", theta=theta, freq=freq, topics=topic)
        assert found["column"] == "date" and found["freq"] == freq and freq in found["freqs"]
        assert found["periods"] == list(wanted["date"]) and found["n"] == list(wanted["n_documents"])
        same(found, wanted)


def same(found, wanted):
    np.testing.assert_allclose(found["share"], list(wanted["share"]))
    errors = [np.nan if error is None else error for error in found["error"]]
    np.testing.assert_allclose(errors, list(wanted["standard_error"]), atol=1e-9)


def test_over_time_in_periods_of_its_choice(client):
    found = client.answer("topic/0/time")
    assert found["freq"] == "quarter" and len(found["periods"]) >= 12
    assert "choose one of decade, year" in client.refused("topic/0/time", freq="hour")


@pytest.mark.parametrize("column", ["kind", "year", "score"])
def test_groups(client, model, theta, records, column):
    found = client.answer("topic/1/groups", column=column)
    wanted = model.topics_over(column, theta=theta, topics=1)
    order = [list(wanted[column]).index(group) for group in found["groups"]]
    assert len(found["groups"]) == min(30, len(set(order)), len(wanted[column])) or column == "score"
    assert found["n"] == sorted(found["n"], reverse=True)
    for name, own in (("share", "share"), ("n", "n_documents")):
        np.testing.assert_allclose(found[name], np.array(list(wanted[own]))[order])
    errors = [np.nan if error is None else error for error in found["error"]]
    np.testing.assert_allclose(errors, np.array(list(wanted["standard_error"]))[order], atol=1e-9)
    assert "choose one of: " in client.refused("topic/1/groups", column="date")
    assert "did you mean 'kind'" in client.refused("topic/1/groups", column="kinds")


AUTHORS = [
    [],
    ["Ida"],
    ["Otto", "Bela <b>"],
    ["Ida", "Otto"],
    ["Olga"],
    ["Otto"],
    ["Ida"],
    ["Otto"],
]  # in turn
N_DOCS_OF = {"Otto": 4, "Ida": 3, "Bela <b>": 1, "Olga": 1}  # of eight


@pytest.mark.parametrize("most", [1000, 2])
def test_groups_of_authors(explored, model, theta, records, dense, tmp_path, monkeypatch, most):
    """From the definitions, also for merged topics; of many authors, those with most documents."""
    monkeypatch.setattr("bigtopic.explore.authors.MOST_VALUES", most)
    given = [{**one, "authors": AUTHORS[number % 8]} for number, one in enumerate(records)]
    own = {"author_column": "authors", "max_df": 1.0, **QUIET}
    corpus = bt.ingest(given, tmp_path / "authored.zarr", **own)
    names = [*N_DOCS_OF][:most]

    def check(client, shares):
        found = client.answer("topic/1/groups", column="authors")
        assert found["groups"] == names
        for name, n, share, error in zip(names, *(found[of] for of in ("n", "share", "error")), strict=True):
            theirs = shares[[name in one["authors"] for one in given]]
            assert n == len(theirs) and share == pytest.approx(theirs.mean())
            assert error == pytest.approx(theirs.std(ddof=1) / np.sqrt(n))

    with explored(model, corpus, theta, folder=tmp_path / "index") as one:
        check(one.client, dense[:, 1])
        one.client.edit("merge", topics=[1, 4])
        one.explorer.wait()
        check(one.client, dense[:, 1] + dense[:, 4])
        columns = {column["name"]: column for column in one.client.answer("model")["columns"]}
        assert columns["authors"] == {"name": "authors", "kind": "authors", "values": names}
        assert "no column 'authors'" in one.client.refused("documents", where="authors=Ida")


def test_other_authors_have_another_index(explored, model, theta, records, tmp_path):
    own = {"max_df": 1.0, **QUIET}
    corpus = bt.ingest(records, tmp_path / "corpus.zarr", **own)
    for names in (["Ida", "Otto"], ["Ida", "Bela"], ["Bela", "Ida"]):
        corpus.with_authors({f"doc-{number}": [names[number % 3 > 1]] for number in range(20, 300)})
        with explored(model, bt.open_corpus(corpus.url), theta, folder=tmp_path / "index") as one:
            assert one.client.answer("topic/1/groups", column="authors")["groups"] == names


def test_words(client, model):
    source = model.topic_source()
    found = client.answer("words", q="W1", n=5)
    frequency = dict(zip(source.vocabulary[:], source.vocabulary.frequency.tolist(), strict=True))
    begins = sorted((w for w in frequency if w.startswith("w1")), key=lambda w: -frequency[w])
    assert [frequency[one["word"]] for one in found] == [frequency[word] for word in begins[:5]]
    for one in found:
        wanted = model.find_topics(one["word"], 5)
        assert one["count"] == frequency[one["word"]]
        np.testing.assert_allclose([p for _, p in one["topics"]], list(wanted["probability"]), rtol=1e-5)
    inside = [one["word"] for one in client.answer("words", q="1", n=100)]
    assert set(inside) == {word for word in frequency if "1" in word}
    assert client.answer("words", q="\x00'\"") == []


def test_a_document(client, model, asked, theta, dense, records):
    for number in (1, 5, 6, 7, 8, 30):
        found = client.answer("document", id=records[number]["id"])
        assert found == client.answer("document", row=number)
        assert (found["id"], found["row"]) == (records[number]["id"], number)
        wanted = {k: float(share) for k, share in enumerate(dense[number]) if share > 0}
        assert dict(map(tuple, found["topics"])) == pytest.approx(wanted)
        shares = [share for _, share in found["topics"]]
        assert shares == sorted(shares, reverse=True)
        own = {name: records[number][name] for name in ("year", "kind", "score")}
        assert {name: found["columns"][name] for name in own} == own
        assert found["columns"]["date"] == (records[number]["date"] or "")
        assert "".join(text for text, _ in found["pieces"]) == records[number]["text"]
        counts = asked.document(records[number]["id"]).counts
        assert found["n_tokens"] == sum(counts.values())
        rows = model.topic_source().gather(np.arange(len(asked.vocabulary), dtype=np.int32))
        ids = dict(zip(asked.vocabulary[:], range(len(asked.vocabulary)), strict=True))
        for text, topic in found["pieces"]:
            if topic is not None:
                assert topic == int(np.argmax(rows[ids[text.lower()]] * dense[number]))
        assert sum(topic is not None for _, topic in found["pieces"]) >= 0.9 * sum(counts.values()) - 2


def test_a_document_that_is_not_there(client):
    assert "there is no document 'nope'" in client.refused("document", id="nope")
    for row in ("300", "-1", "x", "9" * 30, ""):
        assert "there is no such document" in client.refused("document", row=row)
    assert "there is no such document" in client.refused("document")


def test_mistakes(client):
    for topic in ("5", "-1", "x", "1.5", "9" * 50):
        assert "from 0 to 4" in client.refused(f"topic/{topic}")
        assert "from 0 to 4" in client.refused(f"topic/{topic}/documents")
        assert "from 0 to 4" in client.refused("documents", topic=topic)
    for n in ("0", "-3", "x", "101", "1e3"):
        assert "from 1 to 100" in client.refused("topic/1/documents", n=n)
    assert "there is no column 'kin'" in client.refused("documents", where="kin=long")
    assert "columns: year, date" in client.refused("topic/1/documents", where="kin=long")
    assert "write COLUMN=VALUE" in client.refused("documents", where="kind")
    assert "holds whole numbers" in client.refused("documents", where="year=often")
    assert "offset" in client.refused("documents", offset="301")


def test_topics_alone(explored, model, theta, dense):
    """Without a corpus, what needs one is absent."""
    with explored(model, None, theta) as one:
        found = one.client.answer("model")
        assert not found["has_text"] and found["n_tokens"] is None and found["time"] == "date"
        document = one.client.answer("document", row=3)
        assert document["pieces"] is None and document["n_tokens"] is None
        assert {each["excerpt"] for each in one.client.answer("topic/1/documents")} == {None}
        found = one.client.answer("documents", q="doc-12")
        assert [each["id"] for each in found["documents"]][:1] == ["doc-12"] and found["n"] == 11
        word = model.topics(1)[3][0][0]
        found = one.client.answer("documents", q=word.upper(), n=3)
        topic = int(model.find_topics(word, 1)["topic"][0])
        np.testing.assert_allclose(
            [dense[each["row"], topic] for each in found["documents"]], np.sort(dense[:, topic])[::-1][:3]
        )
        assert found["n"] is None
