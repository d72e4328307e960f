"""Cards for notebooks: every topic and every column is there, and text from data is escaped."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from bigtopic.corpus.memory import from_matrix
from bigtopic.estimators.lda import LDA
from bigtopic.evaluation import coherence, prevalence
from bigtopic.ingestion.ingest import ingest
from bigtopic.report import html_page, summarise

N_TOPICS = 130
NASTY = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(["water", "bank", "violin", "choir"], 9)) for _ in range(20)]
    path = tmp_path_factory.mktemp("corpus") / "c.zarr"
    columns = {f"{NASTY} {i}": range(20) for i in range(12)}
    return ingest(texts, path, ids=[f"{NASTY}{i}" for i in range(20)], columns=columns, n_threads=1)


@pytest.fixture(scope="module")
def model(corpus):
    return LDA(N_TOPICS, method="online-cvb0", max_iter=1, client=False, n_threads=1).fit(corpus)


def rows(html):
    """The number of rows; the HTML is well formed, and nothing in it came from data as markup."""
    assert "<script>" not in html
    opened = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attributes: opened.append(tag)
    parser.handle_endtag = lambda tag: opened.remove(tag)
    parser.feed(html)
    assert opened == []
    return html.count("<tr>")


def test_a_model_shows_all_topics(model):
    html = model._repr_html_()
    assert rows(html) > N_TOPICS and f"<td style='text-align:left'>{N_TOPICS - 1}</td>" in html
    assert "8 most probable words" in html
    assert "LDA" in LDA()._repr_html_()


def test_a_corpus_shows_all_columns(corpus):
    html = corpus._repr_html_()
    assert rows(html) == 7 and html.count("&lt;script&gt;") == 12
    assert "tokens or more" in html


def test_the_lengths_of_some_documents_are_said_to_be_of_some():
    html = from_matrix(np.ones((20_001, 2)))._repr_html_()
    assert "of the first 20,000" in html and "of the first" not in from_matrix(np.ones((9, 2)))._repr_html_()


def test_a_summary_shows_all_topics_and_no_empty_columns(model, corpus):
    html = summarise(model, corpus, measures="npmi", client=False, n_threads=1)._repr_html_()
    assert rows(html) > N_TOPICS and "&lt;script&gt;" in html and "share" in html and "authors" not in html
    assert "share" not in summarise(model)._repr_html_()


def test_results_show_all_topics(model, corpus):
    for result in (coherence(model, corpus, n_top=3), prevalence(model, corpus, client=False, n_threads=1)):
        html = result._repr_html_()
        assert type(result).__name__ in html and (result.per_topic is None or rows(html) > N_TOPICS)


def test_a_page_is_shown_in_a_frame_of_its_own(model):
    page = html_page(summarise(model), title=NASTY)
    frame = page._repr_html_()
    assert re.fullmatch(r'<iframe sandbox="allow-scripts" srcdoc="[^"<>]*" style="[^"]*"></iframe>', frame)
