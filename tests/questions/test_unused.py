"""Topics that a model does not use: found among topics of known truth, and flagged wherever topics are shown."""

import json
import re

import numpy as np
import pytest

import bigtopic as bt
from bigtopic.cli import main
from bigtopic.datasets import lda_corpus
from bigtopic.questions.table import Table
from bigtopic.report import html_page, summarise, text_table

QUIET = {"client": False, "n_threads": 1, "progress": False}


def drawn(seed, n_docs=1000, n_words=5000):
    return lda_corpus(n_docs, n_words, 10, mean_length=80, random_state=seed)


def distances(model, truth):
    """Total variation distance of each topic from each true one, (n_components, 10)."""
    topics = model.get_topics().astype(float)
    return np.stack([np.abs(topics - one).sum(axis=1) / 2 for one in truth.components], axis=1)


def check_none_is_a_true_topic(model, truth):
    apart, unused = distances(model, truth), model.unused_topics_
    assert not {*unused} & {*apart.argmin(axis=0)}  # the topics that are nearest to each true one
    assert not len(unused) or apart[unused].min() > 0.4  # nor is it most of another
    return len(unused)


@pytest.mark.costly(2)
@pytest.mark.parametrize("seed", range(5))
def test_most_of_fifty_topics_of_ten_drawn_ones_are_unused(seed):
    truth = drawn(seed)
    model = bt.LDA(50, method="online-cvb0", random_state=seed, **QUIET).fit(bt.from_matrix(truth.counts))
    assert check_none_is_a_true_topic(model, truth) >= 30


@pytest.mark.costly(2)
@pytest.mark.parametrize(
    "method, settings, least",
    [
        ("vb", {}, 30),
        ("cgs", {"max_iter": 100}, 20),
        ("ilr", {}, 30),
        ("cvb0", {}, 10),  # it divides true topics, and such parts are used
        ("sgs", {}, 10),
        ("v-oem", {}, 10),
        ("g-oem", {}, 10),
        ("online-vb", {"batch_size": 100, "max_iter": 20}, 0),
        ("online-ope", {"batch_size": 100, "max_iter": 20}, 0),
        ("ml-ope", {"batch_size": 100, "max_iter": 20}, 0),
        ("streaming-vb", {"batch_size": 100}, 0),
    ],
)
def test_no_method_calls_a_true_topic_unused(method, settings, least):
    """Those that made few updates, or keep no sizes of topics, have none."""
    truth = drawn(0, n_docs=300, n_words=1000)
    model = bt.LDA(50, method=method, **settings, **QUIET).fit(bt.from_matrix(truth.counts))
    assert check_none_is_a_true_topic(model, truth) >= least


@pytest.fixture(scope="module")
def model():
    truth = drawn(0, n_docs=300, n_words=1000)
    return bt.LDA(50, method="online-cvb0", **QUIET).fit(bt.from_matrix(truth.counts))


def test_they_are_flagged_where_topics_are_shown(model):
    unused = {*model.unused_topics_.tolist()}
    assert 20 < len(unused) < 50
    info = Table.of(model.topic_info(n_top=3)).columns
    assert {k for k, flag in zip(info["topic"], info["unused"], strict=True) if flag} == unused
    assert max(np.array(info["share"])[[*unused]]) < 1 / 50
    for k, text in model.show_topics(3):
        assert text.startswith("(unused) ") == (k in unused)
        assert text.removeprefix("(unused) ") == " ".join(word for word, _ in model.topics(3)[k])
    assert model._repr_html_().count("(unused)") == len(unused)
    frame = model.topics_frame(2)
    assert {*frame.topic[frame.unused]} == unused


def test_they_are_flagged_in_the_table_and_on_the_page(model):
    unused, summary = {*model.unused_topics_.tolist()}, summarise(model)
    assert {topic.number for topic in summary.topics if topic.unused} == unused
    lines = text_table(summary, 100).splitlines()
    assert lines[0].split()[:3] == ["topic", "use", "words"]
    assert {int(line.split()[0]) for line in lines[1:] if line.split()[1] == "unused"} == unused
    page = html_page(summary)
    assert f"<dt>unused topics</dt><dd>{len(unused)}</dd>" in page
    assert {int(k) for k in re.findall(r'id="topic-(\d+)" class="unused"', page)} == unused
    assert page.count(" · unused</span>") == len(unused) and "Unused topics have few tokens" in page
    assert summary._repr_html_().count(">unused<") == len(unused)


def test_nothing_is_flagged_where_all_are_used(corpus):
    used = bt.LDA(4, method="online-cvb0", max_iter=5, **QUIET).fit(corpus)
    assert used.unused_topics_.tolist() == [] and not any("unused" in text for _, text in used.show_topics())
    summary = summarise(used)
    assert "unused" not in text_table(summary).lower()
    assert "unused topics" not in html_page(summary).lower() and "· unused" not in html_page(summary)
    others = summarise(used.get_topics())  # an array has no tokens
    assert not any(topic.unused for topic in others.topics)


def test_a_saved_model_knows_them(model, tmp_path):
    model.save(tmp_path / "model.zarr")
    again = bt.load_model(tmp_path / "model.zarr")
    np.testing.assert_array_equal(again.unused_topics_, model.unused_topics_)


def test_authors_and_row_topics(tmp_path):
    truth = drawn(1, n_docs=300, n_words=1000)
    signed = bt.from_matrix(truth.counts).with_authors({str(d): [f"a{d % 150}"] for d in range(300)})
    authors = bt.AuthorTopicModel(40, method="author-vb", max_iter=60, **QUIET).fit(signed)
    check_none_is_a_true_topic(authors, truth)
    dual = bt.DualTopicModel(3, 6, max_iter=3, **QUIET).fit(truth.counts)
    joint = dual._model.params["joint"]
    rows = np.array([[900, 0, 90, 300, 9, 500], [90, 700, 0, 30, 900, 5], [0, 0, 0, 0, 0, 0]], float)
    rows[2] = rows.sum(axis=0) / 100
    joint.raw[:, :6] = rows
    joint.fold()
    assert dual.unused_topics_.tolist() == [2]


def test_one_line_after_fitting_says_how_many(model, corpus, capfd):
    truth = bt.from_matrix(drawn(0, n_docs=300, n_words=1000).counts)
    n_unused = len(model.unused_topics_)
    told = {**QUIET, "progress": None}
    again = bt.LDA(50, method="online-cvb0", **told).fit(truth)
    line = f"{n_unused} of 50 topics unused: few tokens, of words that chance may explain; unused_topics_"
    assert capfd.readouterr().err == f"{line} lists them\n"
    again.set_params(progress=False).fit(truth)  # silent
    again.partial_fit(truth)  # a stream may go on
    bt.LDA(4, method="online-cvb0", max_iter=5, **told).fit(corpus)  # nothing to say
    assert capfd.readouterr().err == ""


def test_the_shell_flags_them(model, tmp_path):
    from click.testing import CliRunner

    model.save(tmp_path / "model.zarr")
    path, run = str(tmp_path / "model.zarr"), CliRunner().invoke
    unused = {*model.unused_topics_.tolist()}
    found = json.loads(run(main, ["topics", path, "--json"]).stdout)
    assert {topic["topic"] for topic in found if topic["unused"]} == unused
    lines = run(main, ["topics", path]).stdout.splitlines()
    assert sum(" unused " in line for line in lines[1:]) == len(unused)
