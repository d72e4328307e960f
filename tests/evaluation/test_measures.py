"""Measures as data: found in their folder, several in one pass, results as a table and as JSON."""

import json
import operator
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from bigtopic.corpus.memory import MemoryPart, from_matrix
from bigtopic.corpus.text.text_settings import TextSettings
from bigtopic.datasets import lda_corpus
from bigtopic.errors import SettingError
from bigtopic.estimators.lda import LDA
from bigtopic.evaluation import (
    Evaluation,
    Measure,
    Prevalence,
    Score,
    Setting,
    bound,
    coherence,
    log_predictive,
    measure,
    measures,
    prevalence,
)
from bigtopic.evaluation.base import Result

TRUTH = lda_corpus(400, 60, 5, mean_length=12, topic_word_prior=0.1, random_state=2)


def with_texts(corpus):
    """The corpus, whose documents' texts are their words in alphabetical order."""
    words, (part,) = np.array(corpus.vocabulary[:], object), corpus.parts
    block = part.block
    tokens = np.split(
        np.repeat(words[block.words], block.counts.astype(int)),
        np.cumsum(part.tokens(0, None))[:-1].astype(int),
    )
    part = replace(part, document_texts=np.array([" ".join(text) for text in tokens], object))
    return replace(corpus, parts=[part], text_settings=TextSettings().to_dict())


CORPUS = with_texts(from_matrix(TRUTH.counts, [f"w{i:02d}" for i in range(60)]))
MODEL = LDA(5, method="vb", max_iter=2, client=False, n_threads=1).fit(CORPUS)  # which every measure takes
EVERY = measures.names()
COHERENCE = ("c-npmi", "c-uci", "c-v", "lcp", "npmi", "pmi", "umass")


def entropy(name="doc-entropy", **card):
    """Mean entropy of documents' topics."""

    def of_block(state, documents):
        theta = documents.doc_topics.astype(np.float64)
        return np.array([-(theta * np.log(theta)).sum(), len(theta)])

    return Measure(
        name,
        prepare=lambda subject, settings: None,
        of_block=of_block,
        combine=operator.add,
        finish=lambda state, total: Score(total[0] / total[1]),
        doc_topics=True,
        **card,
    )


def distinct(n_top=3):
    """Share of distinct words among the top words: looks at topics only."""
    return Measure(
        "distinct",
        prepare=lambda subject, settings: subject.source.gather(np.arange(subject.source.n_words)),
        of_block=None,
        combine=None,
        finish=lambda topics, _: Score(
            len(np.unique(np.argsort(-topics, axis=0)[:n_top])) / topics.shape[1] / n_top
        ),
    )


def bits(result):
    return {
        name: value.tobytes()
        if isinstance(value, np.ndarray)
        else bits(value)
        if isinstance(value, Result)
        else value
        for name, value in vars(result).items()
    }


@pytest.mark.parametrize("name", EVERY)
def test_every_file_defines_a_measure_of_its_name(name):
    found = measures.load(name)
    assert found.name == name and measures.load(found) is found
    assert found.title and found.meaning
    assert len({measures.load(other).title for other in EVERY}) == len(EVERY)


@pytest.mark.parametrize("name", EVERY)
def test_results_are_numbers_lines_and_json(name):
    found = measure(MODEL, CORPUS, [name], train=CORPUS)
    result = found[name]
    assert isinstance(result, Result) and np.isfinite(result.value)
    assert result.per_topic is None or result.per_topic.shape == (5,)
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))[name]["value"] == result.value
    lines = repr(found).splitlines()
    assert lines[0].startswith(measures.load(name).title) and len(lines) == len(found.lines())
    assert found._repr_html_().count("<tr>") == len(lines)


def test_one_pass_gives_the_bits_of_each_measure_alone(monkeypatch):
    monkeypatch.setattr("bigtopic.evaluation.subject._ENTRIES", 700)
    together = measure(MODEL, CORPUS, EVERY, n_threads=2, repeats=2, n_top=7, n_documents=4)
    alone = {
        "bound": bound(MODEL, CORPUS),
        "log-predictive": log_predictive(MODEL, CORPUS, repeats=2),
        **{name: coherence(MODEL, CORPUS, name, 7) for name in COHERENCE},
        "prevalence": prevalence(MODEL, CORPUS, 4),
    }
    assert set(alone) <= set(together)
    for name, result in alone.items():
        assert bits(together[name]) == bits(result)


def test_a_block_is_read_once_and_what_measures_share_is_computed_once(monkeypatch):
    calls = Counter()

    def counted(target):
        owner, name = target.rsplit(".", 1) if isinstance(target, str) else target
        original = getattr(owner, name)

        def call(*arguments):
            calls[name] += 1
            return original(*arguments)

        monkeypatch.setattr(owner, name, call)

    from bigtopic.evaluation import _kernels, subject

    monkeypatch.setattr("bigtopic.evaluation.subject._ENTRIES", 1000)
    n_blocks = len(list(CORPUS.spans(1000)))
    for target in ((MemoryPart, "read"), (_kernels, "count_pairs"), (subject, "fold_in")):
        counted(target)
    measure(TRUTH.components, CORPUS, ["npmi", "umass", "prevalence", entropy()], n_threads=1)
    assert n_blocks > 2
    assert calls == {"read": n_blocks, "count_pairs": n_blocks, "fold_in": n_blocks}


def test_measures_with_other_settings_or_questions_do_not_share():
    one, other = entropy("one"), entropy("other")
    found = measure(TRUTH.components, CORPUS, [one, other])
    assert not one.asks_the_same(other) and found["one"] == found["other"]
    assert measures.load("npmi").asks_the_same(measures.load("umass"))
    assert not measures.load("npmi").asks_the_same(measures.load("prevalence"))


def test_a_measure_of_ones_own_sees_every_document(monkeypatch):
    monkeypatch.setattr("bigtopic.evaluation.subject._ENTRIES", 1000)
    found = measure(np.ones((5, 60)), CORPUS, [entropy()])
    assert found["doc-entropy"].value == pytest.approx(np.log(5), rel=1e-6)


def test_a_measure_of_topics_needs_no_documents():
    apart = np.kron(np.eye(2), [3.0, 2.0, 1.0])
    assert measure(apart, measures=[distinct()])["distinct"].value == 1
    assert measure(apart[[0, 0]], CORPUS, measures=[distinct()])["distinct"].value == 1 / 2
    for name in EVERY:
        if measures.load(name).of_block is not None:
            with pytest.raises(SettingError, match="corpus: a measure of documents needs one"):
                measure(np.eye(6), measures=[name])


def test_names_and_settings_are_checked():
    defaults = [name for name in EVERY if measures.load(name).default]
    assert {"log-predictive", "npmi"} <= {*defaults} and {"prevalence", "umass"}.isdisjoint(defaults)
    assert [one.name for one in measures.defaults()] == defaults
    assert list(measure(TRUTH.components, CORPUS)) == defaults
    with pytest.raises(SettingError, match=r"^there is no measure 'perplexity'; ask for 'log-predictive'"):
        measure(TRUTH.components, CORPUS, "perplexity")
    with pytest.raises(SettingError, match=r"there is no measure 'pnmi'; there are: .*npmi"):
        measure(TRUTH.components, CORPUS, ["pnmi"])
    with pytest.raises(
        SettingError, match="ratio: is not a setting of these measures; their settings are: n_top"
    ):
        measure(TRUTH.components, CORPUS, ["npmi"], ratio=0.5)
    colour = entropy(settings={"colour": Setting("red", "Of nothing.", ("red", "blue"))})
    with pytest.raises(SettingError, match=r"^colour: must be one of 'red', 'blue', found 'green'"):
        measure(TRUTH.components, CORPUS, [colour], colour="green")


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"n_top": "5"}, "n_top: must be a whole number, found '5'"),
        ({"n_top": 5.0}, "n_top: must be a whole number, found 5.0"),
        ({"n_top": True}, "n_top: must be a whole number, found True"),
        ({"repeats": 1.5}, "repeats: must be a whole number, found 1.5"),
        ({"random_state": 0.5}, "random_state: must be a whole number, found 0.5"),
        ({"ratio": "half"}, "ratio: must be a number, found 'half'"),
        ({"ratio": True}, "ratio: must be a number, found True"),
        ({"split": np.array(["token", "type"])}, "split: must be one of 'token', 'type', found array"),
        ({"n_documents": -1}, "n_documents: must be a whole number of at least 0, found -1"),
        ({"n_documents": None}, "n_documents: must be a whole number, found None"),
        ({"note": 3}, "note: must be text, found 3"),
        ({"exact": 1}, "exact: must be True or False, found 1"),
    ],
)
def test_a_setting_has_the_type_of_its_default(setting, message):
    own = entropy(settings={"note": Setting("", "Of nothing."), "exact": Setting(False, "Of nothing.")})
    with pytest.raises(SettingError, match=f"^{message}"):
        measure(MODEL, CORPUS, [*EVERY, own], **setting)


PLAIN = {
    "name": "plain",
    "prepare": lambda subject, settings: None,
    "of_block": lambda state, documents: 1.0,
    "combine": operator.add,
    "finish": lambda state, total: Score(total),
}


@pytest.mark.parametrize(
    ("card", "message"),
    [
        ({"name": None}, "measure None: name must be text, found None"),
        ({"name": ""}, "measure '': name must be text, found ''"),
        ({"title": 5}, "measure 'plain': title must be text, found 5"),
        ({"unit": None}, "measure 'plain': unit must be text, found None"),
        ({"prepare": None}, "measure 'plain': prepare must be a function, found None"),
        ({"finish": Score(1.0)}, r"measure 'plain': finish must be a function, found Score\(value=1.0\)"),
        ({"of_block": 3}, "measure 'plain': of_block must be a function or None, found 3"),
        ({"start": 0.0}, "measure 'plain': start must be a function or None, found 0.0"),
        ({"combine": None}, "measure 'plain': of_block and combine go together; give both, or neither"),
        ({"settings": ["n_top"]}, r"measure 'plain': settings must be \{name: Setting\}, found \['n_top'\]"),
        ({"settings": {"n_top": 10}}, r"measure 'plain': settings\['n_top'\] must be a Setting, found 10"),
        (
            {"settings": {"kind": Setting("a", "Of nothing.", ("b", "c"))}},
            r"measure 'plain': settings\['kind'\]: must be one of 'b', 'c', found 'a'",
        ),
    ],
    ids=lambda value: "" if isinstance(value, str) else "-".join(value),
)
def test_a_measure_that_cannot_work_is_refused_when_it_is_made(card, message):
    with pytest.raises(SettingError, match=f"^{message}"):
        Measure(**{**PLAIN, **card})


@pytest.mark.parametrize("given", [3, [None], [np.mean]], ids=["number", "none", "function"])
def test_measures_are_names_or_measures(given):
    with pytest.raises(SettingError, match=r"^measures: must be names or Measure objects, found "):
        measure(TRUTH.components, CORPUS, given)


@pytest.mark.parametrize("found", [1.5, None, Score("much")], ids=str)
def test_a_measure_returns_a_result(found):
    own = Measure(**{**PLAIN, "finish": lambda state, total: found})
    with pytest.raises(SettingError, match=r"measure 'plain': finish returned .*such as Score"):
        measure(TRUTH.components, CORPUS, own)


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (Score(float("inf")), "the value inf; values are finite, or nan"),
        (Score(1.0, np.zeros(4)), r"per_topic of shape \(4,\); it must be an array of shape \(5,\)"),
        (Score(1.0, np.zeros((5, 1))), r"per_topic of shape \(5, 1\)"),
        (Score(1.0, [0.0] * 5), r"per_topic \[0.0, .*it must be an array of shape \(5,\)"),
        (Score(1.0, np.array([0, 1, 2, 3, np.inf])), "per_topic with float64 values .*inf.*finite, or nan"),
        (Score(1.0, np.array(list("abcde"))), "per_topic with <U1 values"),
    ],
    ids=str,
)
def test_results_of_the_wrong_kind_are_refused_and_name_the_measure(result, message):
    own = Measure(**{**PLAIN, "finish": lambda state, total: result})
    with pytest.raises(SettingError, match=f"^measure 'plain': finish returned {message}"):
        measure(TRUTH.components, CORPUS, own)


def test_a_result_may_be_nan():
    own = Measure(**{**PLAIN, "finish": lambda state, total: Score(float("nan"), np.full(5, np.nan))})
    assert np.isnan(measure(TRUTH.components, CORPUS, own)["plain"].value)


@pytest.mark.parametrize("function", ["prepare", "start", "of_block", "combine", "finish"])
def test_an_exception_of_a_measure_names_it(function):
    def fail(*arguments):
        raise ZeroDivisionError("of the user")

    own = Measure(**{**PLAIN, function: fail})
    with pytest.raises(ZeroDivisionError) as raised, pytest.MonkeyPatch.context() as patch:
        patch.setattr("bigtopic.evaluation.subject._ENTRIES", 700)
        measure(TRUTH.components, CORPUS, own, n_threads=1)
    assert raised.value.__notes__ == [f"in measure 'plain': {function}"]


def test_a_default_number_of_words_is_at_most_the_vocabulary():
    corpus = with_texts(from_matrix(TRUTH.counts[:, :6], [f"w{i}" for i in range(6)]))
    topics = LDA(5, method="vb", max_iter=2, client=False, n_threads=1).fit(corpus)
    assert measure(topics, corpus, EVERY)["npmi"].n_top == 6
    assert measure(topics, corpus)["npmi"].to_dict() == measure(topics, corpus, n_top=6)["npmi"].to_dict()
    with pytest.raises(SettingError, match=r"^n_top=10: the model has only 6 words"):
        measure(topics, corpus, ["npmi"], n_top=10)


def test_a_number_is_of_the_type_of_its_default():
    seen = []
    settings = {"whole": Setting(1, "Of nothing."), "real": Setting(0.5, "Of nothing.")}
    card = {"prepare": lambda subject, settings: seen.append(settings), "settings": settings}
    measure(TRUTH.components, CORPUS, Measure(**{**PLAIN, **card}), whole=np.int8(3), real=2)
    assert seen == [{"whole": 3, "real": 2.0}]
    assert [type(value) for value in seen[0].values()] == [int, float]


def test_topics_of_documents_are_for_measures_that_declare_them():
    own = Measure(**{**PLAIN, "of_block": lambda state, documents: documents.tokens.sum()})
    with pytest.raises(SettingError, match="doc_topics=True"):
        measure(TRUTH.components, CORPUS, own, n_threads=1)


def test_two_measures_of_one_name_are_refused():
    one, other = entropy("npmi"), measures.load("npmi")
    with pytest.raises(SettingError, match="measures: two of them are named 'npmi'; give one another name"):
        measure(TRUTH.components, CORPUS, [one, "npmi"])
    assert list(measure(TRUTH.components, CORPUS, [other, "npmi", other])) == ["npmi"]


def test_numbers_of_numpy_are_numbers():
    settings = {"n_top": np.int32(5), "repeats": np.int64(2), "n_documents": np.uint8(0)}
    plain = {"n_top": 5, "repeats": 2, "n_documents": 0}
    found = measure(MODEL, CORPUS, EVERY, **settings).to_dict()
    assert found == measure(MODEL, CORPUS, EVERY, **plain).to_dict()


def test_one_name_is_enough():
    expected = measure(TRUTH.components, CORPUS, ["npmi"]).to_dict()
    assert measure(TRUTH.components, CORPUS, "npmi").to_dict() == expected
    assert list(measure(TRUTH.components, CORPUS, entropy())) == ["doc-entropy"]


def test_an_unknown_measure_is_told_the_names_as_they_are_written():
    with pytest.raises(SettingError) as raised:
        measures.load("log-predictiv")
    there = f"there is no measure 'log-predictiv'; there are: {', '.join(EVERY)}"
    assert str(raised.value) == f"{there}; did you mean 'log-predictive'?"


def test_measures_with_the_same_title_each_have_a_line():
    found = measure(TRUTH.components, CORPUS, ["npmi", entropy(title="NPMI")])
    assert list(found.lines()) == ["NPMI", "NPMI (doc-entropy)"]
    assert len(repr(found).splitlines()) == found._repr_html_().count("<tr>") == 2


def test_the_table_is_safe_for_a_terminal_and_a_notebook():
    nasty = "<script>\x1b[31m"
    found = Evaluation([(entropy(title=nasty, unit="<b>"), Score(float("nan"), np.array([1.0, np.nan])))])
    assert "\x1b" not in repr(found) and "<script>" not in found._repr_html_() + "<b>"[3:]
    assert "&lt;b&gt;" in found._repr_html_()
    assert found.to_dict() == {"doc-entropy": {"value": None, "per_topic": [1.0, None]}}


def test_the_effective_number_of_topics():
    no_rows = np.zeros((3, 0))
    for share, expected in (([0.5, 0, 0.5], 2), ([0, 1, 0], 1), ([1 / 3] * 3, 3)):
        assert Prevalence(np.array(share), None, no_rows, no_rows).value == pytest.approx(expected)


def test_a_callback_measures_by_name_while_a_model_learns():
    model = LDA(5, method="online-cvb0", max_iter=3, batch_size=100, random_state=0, client=False)
    found = []

    def watch(event):
        if event.kind == "pass":
            found.append(measure(model, CORPUS, ["npmi", "log-predictive"], client=False))

    model.set_params(callbacks=[watch]).fit(CORPUS)
    assert len(found) == 3
    for pass_number, seen in enumerate(found, start=1):
        again = LDA(
            5, method="online-cvb0", max_iter=pass_number, batch_size=100, random_state=0, client=False
        ).fit(CORPUS)
        assert seen.to_dict() == measure(again, CORPUS, ["npmi", "log-predictive"], client=False).to_dict()


@pytest.mark.distributed
def test_three_workers_give_the_same_bits():
    from dask.distributed import Client

    asked = [*EVERY, entropy()]
    expected = measure(MODEL, CORPUS, asked, client=False)
    with Client(n_workers=3, threads_per_worker=1, processes=False, dashboard_address=":0") as client:
        found = measure(MODEL, CORPUS, asked, client=client)
    assert {name: bits(result) for name, result in found.items()} == {
        name: bits(result) for name, result in expected.items()
    }
