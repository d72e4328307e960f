"""What people call a topic is what every face of the model calls it."""

import json
import re

import numpy as np
import pytest
from click.testing import CliRunner
from matplotlib.text import Text

from bigtopic.cli import main
from bigtopic.corpus.memory import from_matrix
from bigtopic.estimators.dual_topic import DualTopicModel
from bigtopic.estimators.lda import LDA
from bigtopic.estimators.persistence import load_model
from bigtopic.evaluation import coherence, measure, prevalence
from bigtopic.ingestion.ingest import ingest
from bigtopic.report import html_page, summarise, text_table

LABEL, OTHER = "Rivers & <deltas>", "Choirs"
TEXTS = [["water", "bank", "delta"] * 3, ["violin", "choir", "opera"] * 3] * 10


def without_scripts(page):
    return re.sub("<script.*?</script>", "", page, flags=re.DOTALL)


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    """Paths of a corpus, and of a model with one label."""
    folder = tmp_path_factory.mktemp("labelled")
    corpus = ingest(TEXTS, folder / "corpus.zarr", client=False, n_threads=1)
    model = LDA(2, method="online-cvb0", max_iter=2, client=False, n_threads=1).fit(corpus)
    model.set_topic_labels({1: LABEL}).save(folder / "model.zarr")
    return str(folder / "corpus.zarr"), str(folder / "model.zarr")


@pytest.fixture
def model(stores):
    return load_model(stores[1]).set_params(client=False, n_threads=1)


def shell(*arguments):
    found = CliRunner().invoke(main, list(map(str, arguments)), catch_exceptions=False)
    assert found.exit_code == 0
    return found.stdout


def drawn(figure):
    return "\n".join(text.get_text() for text in figure.findobj(Text))


FACES = {
    "text_table": lambda model, corpus: text_table(summarise(model), 120),
    "text_table of a corpus": lambda model, corpus: text_table(summarise(model, corpus, n_threads=1), 120),
    "show_topics": lambda model, corpus: "\n".join(text for _, text in model.show_topics()),
    "topics_frame": lambda model, corpus: "\n".join(model.topics_frame()["label"]),
    "topic_info": lambda model, corpus: "\n".join(model.topic_info()["label"]),
    "plot topics": lambda model, corpus: drawn(model.plot("topics")),
    "plot prevalence": lambda model, corpus: drawn(model.plot("prevalence", corpus)),
}
FACES |= {
    "prevalence": lambda model, corpus: "\n".join(prevalence(model, corpus, n_threads=1).details()),
    "measures": lambda model, corpus: repr(measure(model, corpus, "prevalence", n_threads=1)),
}
PAGES = {
    "card of a result": lambda model, corpus: coherence(model, corpus, n_top=2, n_threads=1)._repr_html_(),
    "page": lambda model, corpus: without_scripts(html_page(summarise(model))),
    "page of a corpus": lambda model, corpus: without_scripts(
        html_page(summarise(model, corpus, n_threads=1))
    ),
    "card of the model": lambda model, corpus: model._repr_html_(),
    "card of a summary": lambda model, corpus: summarise(model)._repr_html_(),
}


@pytest.mark.parametrize("face", [*FACES, *PAGES])
def test_a_label_is_shown(face, model, stores):
    shown = {**FACES, **PAGES}[face](model, stores[0])
    assert (LABEL if face in FACES else "Rivers &amp; &lt;deltas&gt;") in shown
    assert LABEL in shown or face in PAGES
    bare = {**FACES, **PAGES}[face](model.set_topic_labels({1: ""}), stores[0])
    assert "Rivers" not in bare and "None" not in bare


def test_an_empty_label_takes_the_label_away(model):
    words = LDA.topic_labels_.fget(model.set_topic_labels({0: OTHER, 1: ""}))
    assert words[0] == OTHER and len(words[1].split()) == 3


@pytest.mark.parametrize("options", [[], ["--corpus"]], ids=["words", "corpus"])
def test_the_shell_shows_it(options, stores):
    corpus, path = stores
    options = [*options, corpus] if options else []
    assert LABEL in shell("topics", path, *options)
    assert LABEL in shell("evaluate", path, corpus, "--measure", "prevalence")
    found = json.loads(shell("topics", path, *options, "--json"))
    assert {one["topic"]: one["label"] for one in found} == {0: None, 1: LABEL}


def test_the_shell_writes_it_into_pages_and_pictures(stores, tmp_path):
    corpus, path = stores
    shell("report", path, tmp_path / "page.html")
    shell("plot", "prevalence", path, corpus, "--out", tmp_path / "a.svg")
    for name in ("page.html", "a.svg"):
        assert "Rivers &amp; &lt;deltas&gt;" in (tmp_path / name).read_text()


def test_row_topics_have_labels_too():
    counts = from_matrix(np.kron([[5, 0], [0, 4]], np.ones((10, 10), int)))
    model = DualTopicModel(2, 2, max_iter=2, client=False).fit(counts).set_topic_labels([OTHER, "River"])
    axes = model.plot("joint").axes[0]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == [f"0  {OTHER}", "1  River"]
    assert OTHER in text_table(summarise(model), 120)


def test_a_long_label_leaves_room_for_words(model):
    table = text_table(summarise(model.set_topic_labels({0: "label " * 30})), 60)
    assert max(map(len, table.splitlines())) <= 60 and "label" in table
    assert all(any(word in line for word in TEXTS[0] + TEXTS[1]) for line in table.splitlines()[1:])


def test_spaces_around_a_label_are_taken_off():
    model = LDA(2, max_iter=1, client=False, n_threads=1, progress=False).fit(np.ones((4, 3)))
    model.set_topic_labels({0: "  rivers ", 1: "   "})
    assert model.topic_labels_[0] == "rivers" and model._labels == ["rivers", None]
