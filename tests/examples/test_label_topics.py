"""Topics are named by a function: the example's, with a stand-in for its language model."""

import runpy
import sys
from pathlib import Path

import pytest

import bigtopic as bt
from bigtopic.errors import SettingError

EXAMPLE = Path(__file__).parents[2] / "examples" / "label_topics.py"
TEXTS = ["water bank delta flood " * 3, "violin choir opera organ " * 3] * 10


@pytest.fixture(scope="module")
def example():
    return runpy.run_path(str(EXAMPLE))


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    path = tmp_path_factory.mktemp("labels") / "corpus.zarr"
    return bt.ingest(TEXTS, path, keep_text=True, max_df=1.0, client=False, progress=False)


@pytest.fixture
def model(corpus):
    here = {"client": False, "n_threads": 1, "progress": False, "random_state": 0}
    return bt.LDA(2, method="online-cvb0", max_iter=20, **here).fit(corpus)


def test_a_prompt_has_words_and_beginnings_of_documents(example, model, corpus):
    asked = []

    def generate(prompt):
        asked.append(prompt)
        return '\n "Rivers." \nas their banks flood' if "delta" in prompt.split("Texts")[0] else "*Music*"

    model.set_topic_labels(example["namer"](generate), corpus, n_top=4, n_documents=2)
    river = int(model.find_topics("delta", 1)["topic"][0])
    assert model.topic_labels_[river] == "Rivers" and model.topic_labels_[1 - river] == "Music"
    assert asked[river].count("- water bank delta flood water") == 2
    words = asked[river].split("words: ")[1].splitlines()[0]
    assert set(words.split(", ")) == {"water", "bank", "delta", "flood"}


def test_a_label_is_a_few_words_of_one_line(example):
    label = example["label"]
    assert label("\x1b[1mRivers\x07") == "[1mRivers"
    assert label("") == label(" \n ") == "" and label("x" * 500) == "x" * 60


def test_the_script_prints_and_saves_labels(example, model, corpus, tmp_path, monkeypatch, capsys):
    path = str(tmp_path / "model.zarr")
    model.save(path)
    script = example["main"]
    script.__globals__["local_model"] = lambda name: lambda prompt: f"by {name}"
    arguments = ["label_topics.py", path, "--corpus", corpus.url, "--language-model", "stand-in", "--save"]
    monkeypatch.setattr(sys, "argv", arguments)
    script()
    assert capsys.readouterr().out.splitlines() == ["0 by stand-in", "1 by stand-in"]
    assert bt.load_model(path).topic_labels_ == ["by stand-in"] * 2


def test_a_function_without_documents_gets_words_alone(model, corpus):
    found = []
    model.set_topic_labels(lambda words, documents: found.append((words, documents)) or " ".join(words[:2]))
    assert [documents for _, documents in found] == [[], []]
    assert model.topic_labels_ == [" ".join(words[:2]) for words, _ in found]
    with pytest.raises(SettingError, match="topic 0 has 5; give text"):
        model.set_topic_labels(lambda words, documents: 5)
    silent = bt.from_matrix(corpus.to_scipy(), corpus.vocabulary)
    with pytest.raises(SettingError, match=r"^X: its documents have no texts"):
        model.set_topic_labels(lambda words, documents: "a", silent)


def test_what_is_missing_is_said_before_a_model_is_read(example, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "transformers", None)
    monkeypatch.setattr(sys, "argv", ["label_topics.py", "no-such-model.zarr"])
    script = runpy.run_path(str(EXAMPLE))["main"]
    with pytest.raises(SystemExit) as ended:
        script()
    assert "pip install transformers torch" in f"{ended.value.code}{capsys.readouterr().err}"
