"""What a report says, and that nothing in a corpus can break the page or the terminal."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from bigtopic.corpus.memory import MemoryPart, from_matrix
from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.datasets import lda_corpus
from bigtopic.errors import SettingError, StoreError, VocabularyMismatch
from bigtopic.estimators.lda import LDA
from bigtopic.evaluation import Measure, Score, Setting, coherence, prevalence
from bigtopic.ingestion.ingest import ingest
from bigtopic.report import Summary, Topic, html_page, summarise, text_table, write_html

TRUTH = lda_corpus(200, 50, 4, mean_length=40, random_state=1)
WORDS = [f"word{i}" for i in range(50)]


def authored():
    corpus = from_matrix(TRUTH.counts, WORDS, ids=[f"paper-{i}" for i in range(200)])
    (part,) = corpus.parts
    block = replace(part.block, author_indptr=np.arange(201), authors=(part.block.rows % 2).astype(np.int32))
    part = MemoryPart("all", block, part.document_ids)
    return replace(corpus, parts=[part], author_vocabulary=Vocabulary(["ann", "bo"]))


@pytest.fixture(scope="module")
def summary():
    corpus = authored()
    return summarise(TRUTH.components, corpus, test=corpus, vocabulary=WORDS, n_words=6)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"n_documents": -1}, "n_documents: must be a whole number of at least 0, found -1"),
        ({"n_documents": 2.5}, "n_documents: must be a whole number of at least 0, found 2.5"),
        ({"n_words": 0}, "n_words: must be a whole number of at least 1, found 0"),
        ({"n_words": "5"}, "n_words: must be a whole number of at least 1, found '5'"),
    ],
    ids=str,
)
def test_numbers_are_refused_by_the_names_they_were_given_under(option, message):
    with pytest.raises(SettingError, match=f"^{message}"):
        summarise(TRUTH.components, authored(), vocabulary=WORDS, measures="npmi", **option)


def test_a_summary_says_what_the_measures_say(summary):
    corpus = authored()
    shares = prevalence(TRUTH.components, corpus, vocabulary=WORDS).share
    scores = coherence(TRUTH.components, corpus, vocabulary=WORDS).per_topic
    assert [topic.share for topic in summary.topics] == sorted(shares, reverse=True)
    for topic in summary.topics:
        order = np.argsort(-TRUTH.components[topic.number], kind="stable")[:6]
        assert [word for word, _ in topic.words] == [WORDS[i] for i in order]
        assert topic.npmi == pytest.approx(scores[topic.number])
        assert topic.share == pytest.approx(shares[topic.number])
        assert sum(share for _, share in topic.authors) == pytest.approx(1, abs=1e-5)
        for name, weight in topic.documents:
            assert TRUTH.doc_topics[int(name.removeprefix("paper-")), topic.number] > 0.5
            assert weight > 0.5


def test_a_measure_asked_for_needs_its_documents():
    with pytest.raises(SettingError, match="'npmi' needs documents; give corpus="):
        summarise(TRUTH.components, vocabulary=WORDS, measures=["npmi"])
    one_word = summarise(np.ones((2, 1)), from_matrix([[2], [3]]))  # no pairs: the defaults without NPMI
    assert list(one_word.results) == [] and one_word.coherence is None
    found = summarise(TRUTH.components, authored(), vocabulary=WORDS, measures=["umass", "npmi"])
    assert list(found.results) == ["umass", "npmi"]
    assert text_table(found, 120).splitlines()[0].split()[:4] == ["topic", "share", "UMass", "NPMI"]


def distinct(n_top, title="distinct"):
    """Number of top words of all topics: looks at topics only."""
    return Measure(
        "distinct",
        prepare=lambda subject, settings: settings["n_top"] * subject.source.n_components,
        of_block=None,
        combine=None,
        finish=lambda number, _: Score(float(number)),
        settings={"n_top": Setting(n_top, "Words of a topic.")},
        title=title,
    )


def test_each_measure_has_its_own_settings():
    corpus = authored()
    found = summarise(TRUTH.components, corpus, vocabulary=WORDS, measures=["npmi", distinct(25)]).results
    assert found["distinct"].value == 4 * 25 and found["npmi"].n_top == 10
    assert summarise(TRUTH.components, measures=distinct(70)).results["distinct"].value == 4 * 50
    summary = summarise(TRUTH.components, corpus, vocabulary=WORDS, measures="npmi", n_top=5)
    scores = coherence(TRUTH.components, corpus, n_top=5, vocabulary=WORDS).per_topic
    assert [topic.npmi for topic in summary.topics] == [scores[topic.number] for topic in summary.topics]
    with pytest.raises(
        SettingError, match=r"^ratio: is not a setting of these measures; their settings are: n_top"
    ):
        summarise(TRUTH.components, corpus, vocabulary=WORDS, measures="npmi", ratio=0.3)


def test_measures_with_the_same_title_each_have_a_figure():
    asked = ["npmi", distinct(25, title="NPMI")]
    page = html_page(summarise(TRUTH.components, authored(), vocabulary=WORDS, measures=asked))
    assert "<dt>NPMI</dt>" in page and "<dt>NPMI (distinct)</dt><dd>100.000</dd>" in page


def test_without_a_corpus_there_are_words_alone():
    summary = summarise(TRUTH.components, vocabulary=WORDS)
    assert [topic.number for topic in summary.topics] == [0, 1, 2, 3]
    assert summary.topics[0].share is None
    assert "Topic 3" in html_page(summary)
    assert text_table(summary).splitlines()[0].split() == ["topic", "words"]


NASTY = "</script><script>alert('x')</script>\"&"


def nasty_summary():
    topics = [Topic(0, [(NASTY, 0.5), ("b", 0.25)], 1.0, {NASTY: 0.5}, [(NASTY, 1.0)], [(NASTY, 0.9)])]
    history = [{"n_tokens": 10, "score": -9.0}, {"n_tokens": 20, "score": -8.5}]
    return Summary(topics, 2, 1, 3.0, history=history)


def without_scripts(page):
    return re.sub("<script.*?</script>", "", page, flags=re.DOTALL)


class _Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.counts, self.addresses = [], {}, []

    def handle_starttag(self, tag, attributes):
        self.counts[tag] = self.counts.get(tag, 0) + 1
        self.addresses += [value for name, value in attributes if name in ("src", "href", "action")]
        if tag not in ("meta", "input", "line", "circle", "polyline"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in ("line", "circle", "polyline"):
            assert self.open.pop() == tag


def test_every_text_is_escaped_and_the_page_needs_nothing_else():
    page = html_page(nasty_summary(), title=NASTY, subtitle=NASTY, figures={NASTY: NASTY}, author_noun=NASTY)
    assert NASTY not in page
    tags = _Tags()
    tags.feed(page)
    assert tags.open == []
    assert tags.counts["script"] == 4  # the data, BokehJS, its interface, and our own
    assert all(address.startswith("#") for address in tags.addresses)
    assert not re.search(r"https?://|url\(|@import", without_scripts(page))


def test_the_curve_is_drawn_from_two_values_on():
    summary = nasty_summary()
    page = without_scripts(html_page(summary))
    assert page.count("<circle") == 2
    assert "From -9.000 to -8.500 in 20 tokens" in page
    assert "<svg" not in without_scripts(html_page(replace(summary, history=summary.history[:1])))


def test_the_page_names_every_topic_and_is_written_whole(summary, tmp_path):
    path = write_html(summary, tmp_path / "new" / "page.html", title="Rivers")
    page = path.read_text(encoding="utf-8")
    assert page.rstrip().endswith("</html>")
    for topic in summary.topics:
        assert f'id="topic-{topic.number}"' in page
        assert f'data-choose="{topic.number}"' in page


def test_only_a_page_is_replaced(summary, tmp_path):
    data = tmp_path / "articles.jsonl"
    data.write_text('{"text": "mine"}')
    with pytest.raises(StoreError, match=r"articles\.jsonl exists but is not an HTML page"):
        write_html(summary, data)
    with pytest.raises(StoreError, match="is not an HTML page"):
        write_html(summary, tmp_path)
    assert data.read_text() == '{"text": "mine"}'
    with pytest.raises(
        SettingError, match=r"^foo: is not a setting.*: title, subtitle, figures, author_noun$"
    ):
        write_html(summary, tmp_path / "page.html", foo=1)
    page = write_html(summary, tmp_path / "page.html", title="first")
    assert "second" in write_html(summary, page, title="second").read_text()


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_table_fits_the_terminal(summary, width):
    lines = text_table(summary, width).splitlines()
    assert len(lines) == 1 + len(summary.topics)
    assert max(map(len, lines)) <= width
    assert all(summary.topics[i].words[0][0] in line for i, line in enumerate(lines[1:]))


def test_the_table_leaves_columns_that_are_unknown_out_and_cuts_between_words(summary):
    heading = text_table(summary, 120).splitlines()[0].split()
    assert heading == ["topic", "share", "NPMI", "words", "most", "in"]
    narrow = text_table(summary, 60).splitlines()[1]
    assert {word for word in narrow.split() if word.startswith("word")} <= {
        w for w, _ in summary.topics[0].words
    }


def test_a_word_cannot_command_the_terminal():
    topic = Topic(0, [("\x1b[31mred\n", 1.0)])
    table = text_table(Summary([topic], 1))
    assert "\x1b" not in table
    assert len(table.splitlines()) == 2


# ------------------------------------------------------------------ shares in groups of documents


def fitted(records, path):
    corpus = ingest(records, path, max_df=1.0, keep_text=True, client=False, n_threads=1, progress=False)
    here = {"client": False, "n_threads": 1, "progress": False, "random_state": 0}
    return LDA(2, method="online-cvb0", max_iter=2, **here).fit(corpus), corpus


def test_shares_of_authors_leave_the_documents_without_authors_to_nobody():
    corpus = authored()
    (part,) = corpus.parts
    has_one = part.block.rows < 150
    indptr = np.concatenate([[0], np.cumsum(has_one)])
    authors = (part.block.rows[has_one] % 2).astype(np.int32)
    block = replace(part.block, author_indptr=indptr, authors=authors)
    corpus = replace(corpus, parts=[MemoryPart("some", block, part.document_ids)])
    found = prevalence(TRUTH.components, corpus, vocabulary=WORDS)
    assert found.n_tokens == pytest.approx(corpus.n_tokens)
    tokens = corpus.to_scipy(order="source").sum(axis=1).ravel()
    assert found.author_tokens.sum() == pytest.approx(np.asarray(tokens).ravel()[:150].sum(), rel=1e-5)
    for topic in summarise(TRUTH.components, corpus, vocabulary=WORDS).topics:
        k = topic.number
        expected = found.author_tokens[:, k] / (found.share[k] * found.n_tokens)
        assert sorted(share for _, share in topic.authors) == pytest.approx(sorted(expected))
        assert sum(share for _, share in topic.authors) < 0.99


def test_groups_say_what_they_leave_out(tmp_path):
    records = [
        {"text": "water bank" if i % 2 else "violin choir", "number": i % 50 if i < 75 else None}
        | {"section": "a" if i < 90 else "", "authors": ["ann", "bo"] if i < 40 else []}
        | {"when": f"{1 + i % 28}.3.2005"}
        for i in range(100)
    ]
    model, corpus = fitted(records, tmp_path / "c.zarr")
    by = ["number", "section", "authors"]
    summary = summarise(model, corpus, by=by, time="when", freq="month", date_format="%d.%m.%Y")
    number, section, authors = summary.groups
    assert (len(number.groups), number.n_groups, number.n_without) == (40, 50, 25)
    assert number.n_documents.sum() == 65 and (number.groups == sorted(number.groups))
    assert (section.groups, section.n_groups, section.n_without) == (["a"], 1, 10)
    assert (list(authors.n_documents), authors.n_groups, authors.n_without) == ([40, 40], 2, 60)
    assert (summary.time.groups, summary.time.n_groups, summary.time.n_without) == (["2005-03"], 1, 0)
    table = model.topics_over("section", corpus)
    np.testing.assert_array_equal(section.share[0], np.asarray(table["share"]))
    np.testing.assert_array_equal(section.standard_error[0], np.asarray(table["standard_error"]))
    theta = model.transform_to(corpus, tmp_path / "theta.zarr", overwrite=True)
    stored = summarise(model, corpus, by="authors", theta=theta).groups[0]
    assert (stored.n_groups, stored.n_without) == (2, 60)
    with pytest.raises(SettingError, match=r"2005', which is not a date.*; give date_format='%d.%m.%Y'$"):
        summarise(model, corpus, time="when", freq="day")
    with pytest.raises(SettingError, match="date_format: has no effect without time; give time="):
        summarise(model, corpus, date_format="%d.%m.%Y")
    with pytest.raises(SettingError, match=r"^column 'authors': authors are not dates"):
        summarise(model, corpus, time="authors")


def test_a_page_needs_words_with_names(tmp_path):
    """Texts are coloured by the topics of their words."""
    sklearn = pytest.importorskip("sklearn.decomposition")
    _, corpus = fitted(["water bank delta", "violin choir opera"] * 10, tmp_path / "c.zarr")
    theirs = sklearn.LatentDirichletAllocation(2, max_iter=2).fit(corpus.to_scipy())
    with pytest.raises(VocabularyMismatch, match=r"have no names; give vocabulary=corpus, if"):
        summarise(theirs, corpus)
    assert "Topic 1" in html_page(summarise(theirs, corpus, vocabulary=corpus))
