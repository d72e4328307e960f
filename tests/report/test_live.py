"""The panel of a notebook: what it shows is what the run says, and it shows it while the run goes on."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from bigtopic.corpus.memory import from_matrix
from bigtopic.datasets import lda_corpus
from bigtopic.errors import SettingError
from bigtopic.estimators.lda import LDA
from bigtopic.learning.events import Event
from bigtopic.report import LivePanel

CORPUS = from_matrix(
    lda_corpus(120, 40, 3, mean_length=30, random_state=3).counts, [f"w<{i}>" for i in range(40)]
)
HERE = {"client": False, "n_threads": 1, "progress": False, "random_state": 0}


class Output:
    """Stands in for the place below a cell."""

    def __init__(self):
        self.shown, self.places = [], []

    def __call__(self, data, raw, display_id):
        assert raw and display_id
        self.places.append(data)
        self.update(data, raw)
        return self

    def update(self, data, raw):
        self.shown.append(data["text/html"])


@pytest.fixture
def notebook(monkeypatch):
    output = Output()
    shell = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=1))
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=output))
    return output


def test_it_shows_phases_speed_scores_and_words_as_they_form(notebook):
    panel = LivePanel(CORPUS, n_topics=2)
    model = LDA(3, method="auto", validation=0.2, callbacks=[panel], **HERE).fit(CORPUS)
    assert any("<td style='text-align:left'>online</td>" in shown.replace("<bdi>", "").replace("</bdi>", "")
               for shown in notebook.shown)  # fmt: skip
    figures = panel.figures()
    assert figures["phase"] == "sampling" and figures["state"].startswith("ended: ")
    npmi = [row["measures"]["npmi"] for row in model.history_ if "measures" in row][-1]
    assert float(figures["npmi"]) == pytest.approx(npmi, abs=1e-4)
    score = [row["score"] for row in model.history_ if row.get("score") is not None][-1]
    assert figures["held-out score"] == f"{score:.4f} nats per token"
    last = notebook.shown[-1]
    for k in np.argsort(-model.topic_source().weights)[:2]:
        word = model.show_topic(int(k), 1)[0][0]
        assert word.replace("<", "&lt;").replace(">", "&gt;") in last and word not in last
    assert figures["time left"] == "" and any("s at most" in shown for shown in notebook.shown)


def test_the_curve_is_drawn_from_two_scores_on_and_begins_anew(notebook):
    panel = LivePanel(CORPUS)
    own = {"method": "online-cvb0", "validation": 0.2, "max_iter": 3, "callbacks": [panel]}
    model = LDA(3, **own, **HERE).fit(CORPUS)
    scores = [row["score"] for row in model.history_ if row.get("score") is not None]
    assert len(scores) > 1 and notebook.shown[-1].count("<circle") == len(scores)
    assert f"<title>{scores[-1]:.3f} after " in notebook.shown[-1]
    LDA(3, **own, **HERE).fit(CORPUS)
    assert notebook.shown[-1].count("<circle") == len(scores)
    LDA(3, **{**own, "validation": None}, **HERE).fit(CORPUS)
    assert "<svg" not in notebook.shown[-1] and "dashboard" not in notebook.shown[-1]


def test_a_bound_is_drawn_where_there_is_no_score(notebook):
    LDA(3, method="vb", max_iter=3, callbacks=[LivePanel(CORPUS)], **HERE).fit(CORPUS)
    assert "Variational bound" in notebook.shown[-1] and notebook.shown[-1].count("<circle") == 3


def test_a_dashboard_is_linked_to_and_nothing_else(notebook):
    panel = LivePanel(CORPUS)
    for address, shown in (
        ('http://a/"><script>', 'href="http://a/&quot;&gt;&lt;script&gt;"'),
        ("javascript:alert(1)", "<bdi>javascript:alert(1)</bdi>"),
    ):
        panel(Event("start", 0, 0, 0.0, 0, 0, dashboard=address))
        assert shown in notebook.shown[-1] and "<script" not in notebook.shown[-1]
        assert "href='javascript" not in notebook.shown[-1] and 'href="javascript' not in notebook.shown[-1]


@pytest.mark.distributed
def test_on_a_client_there_is_its_dashboard(notebook, one_worker):
    events = []
    here = {**HERE, "client": one_worker, "callbacks": [LivePanel(CORPUS), events.append]}
    LDA(3, method="online-cvb0", max_iter=1, **here).fit(CORPUS)
    assert one_worker.dashboard_link.startswith("http") and events[0].dashboard == one_worker.dashboard_link
    assert f'href="{one_worker.dashboard_link}"' in notebook.shown[-1]


def test_nothing_is_shown_outside_of_notebooks_and_nothing_changes(capsys):
    panel = LivePanel(every=2)
    watched = LDA(3, method="online-cvb0", max_iter=2, callbacks=[panel], **HERE).fit(CORPUS)
    alone = LDA(3, method="online-cvb0", max_iter=2, **HERE).fit(CORPUS)
    np.testing.assert_array_equal(watched.components_, alone.components_)
    assert capsys.readouterr().out == "" and "updates" in repr(panel)
    assert any("diversity" in row.get("measures", {}) for row in watched.history_)
    assert repr(LivePanel()) == "LivePanel()" and "Learning" in LivePanel()._repr_html_()


def test_mistakes_are_refused():
    with pytest.raises(SettingError, match=r"^n_topics=0: must be a whole number of at least 1"):
        LivePanel(n_topics=0)
    with pytest.raises(SettingError, match="'npmi' is a measure of documents"):
        LivePanel(measures="npmi")


def test_a_second_run_begins_anew(notebook):
    panel = LivePanel(CORPUS)
    LDA(3, method="auto", validation=0.2, max_iter=2, callbacks=[panel], **HERE).fit(CORPUS)
    assert panel.figures()["held-out score"] and panel.figures()["npmi"]
    places, seen = len(notebook.places), []
    model = LDA(
        3, method="online-cvb0", max_iter=2, callbacks=[panel, lambda event: seen.append(repr(panel))], **HERE
    )
    model.fit(CORPUS)
    assert "held-out score" not in seen[0] and "npmi" not in seen[0]
    assert "held-out score" not in repr(panel) and "npmi" in repr(panel)
    assert places == 1 and len(notebook.places) == 2  # below the cell of the second fit
