"""Pages, tables and pictures of topics that are lists, and of more topics than they show."""

import json
import re
from contextlib import closing

import numpy as np
import pytest
from many import N_TOPICS, corpus_of_many, sparse_and_dense

import bigtopic as bt
from bigtopic import plots
from bigtopic.explore.topics import Topics
from bigtopic.plots import topic_map
from bigtopic.report import html, html_page, summarise
from bigtopic.report.contents import contents
from bigtopic.support import cards


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    documents = [
        {"id": f"d{i}", "text": " ".join(f"w{w:03}" for w in row.indices), "year": 2000 + i % 3}
        for i, row in enumerate(corpus_of_many().to_scipy())
    ]
    path = tmp_path_factory.mktemp("many") / "corpus.zarr"
    return bt.ingest(documents, path, keep_text=True, max_df=1.0, progress=False, client=False)


@pytest.fixture(scope="module")
def models(corpus):
    return sparse_and_dense(corpus)


def test_a_page_holds_what_a_page_of_dense_rows_holds(models):
    found, known = (contents(summarise(model)) for model in models)
    for own, other in zip(found["topics"], known["topics"], strict=True):
        assert {w for w, *_ in own["words"]} == {w for w, *_ in other["words"]}
        assert own["size"] == pytest.approx(other["size"], rel=1e-3)
        assert (own["x"], own["y"]) == pytest.approx((other["x"], other["y"]), abs=2e-3)
    for k, own in found["similar"].items():
        np.testing.assert_allclose([s for _, s in own], [s for _, s in known["similar"][k]], atol=2e-3)
    assert found["index"]["words"] == known["index"]["words"]
    for own, other in zip(found["index"]["topics"], known["index"]["topics"], strict=True):
        np.testing.assert_allclose(own[1::2], other[1::2][: len(own) // 2], rtol=2e-3)
        assert (
            not other[len(own) :] or max(other[len(own) + 1 :: 2]) < 0.05
        )  # topics without statistics of the word


@pytest.mark.parametrize("which", [0, 1])
def test_a_page_of_many_topics_shows_the_largest(which, models, corpus, monkeypatch):
    monkeypatch.setattr(html, "MOST_TOPICS", 7)
    model = models[which]
    summary = summarise(model, corpus, time="year", by="year")
    largest = [topic.number for topic in summary.topics[:7]]
    page = html_page(summary)
    assert re.findall(r'id="topic-(\d+)"', page) == [*map(str, largest)]
    assert f"{N_TOPICS}, the 7 largest on this page" in page
    data = json.loads(re.search(r'id="data">(.*?)</script>', page)[1])
    assert [topic["topic"] for topic in data["topics"]] == largest
    assert set(data["time"]["share"]) == set(data["groups"][0]["error"]) == {*map(str, largest)}
    np.testing.assert_allclose(
        data["time"]["share"][str(largest[1])], summary.time.share[:, largest[1]], rtol=1e-3
    )
    listed = [k for own in data["similar"].values() for k, _ in own]
    listed += [k for own in data["index"]["topics"] for k in own[::2]]
    listed += [k for own in data["documents"].values() for k, _ in own["topics"]]
    assert {*listed} <= {*largest} and data["documents"]
    for topic in data["topics"]:
        assert [row for row, _, _ in topic["documents"]] == list(
            summary.topics[largest.index(topic["topic"])].rows
        )
        assert all(str(row) in data["documents"] for row, *_ in topic["documents"])
    sizes = np.argsort(-model.topic_source().weights, kind="stable")[:7]
    without = re.findall(r'id="topic-(\d+)"', html_page(summarise(model)))
    assert without == [*map(str, sorted(sizes))]


def test_the_explorer_knows_what_is_like_a_topic_without_all_pairs(models):
    found, known = (Topics(model) for model in models)
    assert found._alike is None and known._alike.shape == (N_TOPICS, N_TOPICS)
    for k in (0, 31):
        np.testing.assert_allclose(
            *([score for _, score in own.similar(k)] for own in (found, known)), atol=2e-3
        )
        assert [w for w, *_ in found.words(k)] == [w for w, *_ in known.words(k)]
    np.testing.assert_allclose(found.places, known.places, atol=2e-3)
    assert found.first_words == known.first_words
    shares = np.zeros(N_TOPICS)
    shares[[4, 9]] = 0.3, 0.7
    counts = dict.fromkeys(["w001", "w002", "w003", "unknown"], 1.0)
    own = found.of_words(counts, shares)
    assert (
        own == known.of_words(counts, shares) and {*own.values()} <= {4, 9, None} and own["unknown"] is None
    )
    assert {*found.of_words(counts, np.zeros(N_TOPICS)).values()} <= {0, None}


def test_an_exploration_answers(models, corpus, tmp_path):
    with closing(models[0].explore(corpus, index=tmp_path)) as exploration:
        explorer = exploration._explorer
        about = explorer.topic(3)
        assert len(about["similar"]) == 8 and about["words"]
        assert len(explorer.model()["topics"]) == N_TOPICS
        explorer.merge({"topics": [3, 4]})
        assert len(explorer.topic(3)["similar"]) == 8


def test_pictures_show_the_largest(models, monkeypatch):
    model = models[0]
    monkeypatch.setattr(topic_map, "_MOST", 9)
    figure = model.plot("topic-map")
    assert len(figure.axes[0].patches) == 9 and "The 9 largest of 60 topics" in figure.get_suptitle()
    figure = model.plot("hierarchy", n_topics=5)
    assert len(figure.axes[0].get_yticks()) == 5
    assert plots.load("hierarchy").settings["n_topics"].default == 500


def test_a_notebook_gets_the_first_rows_of_a_table(models, monkeypatch):
    assert "more rows" not in models[0]._repr_html_()
    monkeypatch.setattr(cards, "MOST_ROWS", 10)
    assert "and 50 more rows" in models[0]._repr_html_() and models[0]._repr_html_().count("<tr>") < 20
