"""Intrusion sets: who may be an intruder, what spreadsheets see, and the score of answers that come back."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest

from bigtopic.corpus.memory import from_matrix
from bigtopic.datasets import lda_corpus
from bigtopic.errors import InputError, SettingError, StoreError
from bigtopic.evaluation import document_intrusion, prevalence, score_intrusion, top_words, word_intrusion
from bigtopic.evaluation.source import topics_of
from bigtopic.evaluation.subject import Documents, Subject
from bigtopic.evaluation.tasks.intrusion import _safe
from bigtopic.ingestion.ingest import ingest

TRUTH = lda_corpus(60, 40, 6, mean_length=20, topic_word_prior=0.1, random_state=4)
WORDS = ["=1+1", "@sum", "-x", "a;=b", 'say "so"', "naïve", *(f"w{i}" for i in range(34))]
SOURCE = topics_of(TRUTH.components, WORDS)


def rows_of(path):
    with Path(path).open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def answered(questions, key, path, wrong=(), blank=(), delimiter=",", encoding="utf-8"):
    """A copy of the questions with the right answers, but for some topics."""
    solutions = {row["question"]: row for row in rows_of(key)}
    rows = rows_of(questions)
    for row in rows:
        solution = solutions[row["question"]]
        topic, right = int(solution["topic"]), int(solution["intruder"])
        row["answer"] = "" if topic in blank else str(right % 6 + 1 if topic in wrong else right)
    with Path(path).open("w", encoding=encoding, newline="", errors="replace") as file:
        writer = csv.DictWriter(file, rows[0], delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_an_intruder_is_a_top_word_of_another_topic_and_improbable_in_this_one(tmp_path):
    questions, key = word_intrusion(SOURCE, tmp_path / "words.csv", random_state=7)
    assert (questions, key) == (tmp_path / "words.csv", tmp_path / "words.key.csv")
    tops, solutions = top_words(SOURCE, 5)[0], {row["question"]: row for row in rows_of(key)}
    asked = rows_of(questions)
    assert len(asked) == 6 and all(row["answer"] == "" for row in asked)
    topics, positions = [], []
    safe = {_safe(word): i for i, word in enumerate(WORDS)}
    for row in asked:
        solution = solutions[row["question"]]
        topic, position = int(solution["topic"]), int(solution["intruder"])
        shown = [safe[row[f"word_{i}"]] for i in range(1, 7)]
        intruder = shown.pop(position - 1)
        assert sorted(shown) == sorted(tops[topic]) and intruder in set(tops.ravel()) - set(shown)
        pool = sorted(SOURCE.topic_words[i, topic] for i in set(tops.ravel()) - set(shown))
        assert SOURCE.topic_words[intruder, topic] <= pool[(len(pool) + 1) // 2 - 1]
        topics.append(topic)
        positions.append(position)
    assert sorted(topics) == list(range(6)) and topics != list(range(6)) and len(set(positions)) > 2
    again = word_intrusion(SOURCE, tmp_path / "again.csv", random_state=7)
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in (questions, key)]
    other = word_intrusion(SOURCE, tmp_path / "other.csv", random_state=8)
    assert other[0].read_bytes() != questions.read_bytes()


def test_documents_of_a_topic_and_one_of_another(tmp_path):
    corpus = from_matrix(TRUTH.counts, WORDS)
    questions, key = document_intrusion(SOURCE, corpus, tmp_path / "docs.csv", 3, client=False, n_threads=1)
    solutions = {row["question"]: row for row in rows_of(key)}
    own = prevalence(SOURCE, corpus, 3, client=False).rows
    theta = Documents(corpus.read(), Subject(SOURCE, corpus).inference).doc_topics
    shown = {}
    for document in corpus:
        words = sorted(document.counts, key=lambda word, n=document.counts: -n[word])
        shown[_safe(" ".join(words))] = document.row
    for row in rows_of(questions):
        topic, position = (int(solutions[row["question"]][name]) for name in ("topic", "intruder"))
        rows = [shown[row[f"document_{i}"]] for i in range(1, 5)]
        intruder = rows.pop(position - 1)
        assert sorted(rows) == sorted(own[topic]) and intruder in own
        assert theta[intruder, topic] <= np.median([theta[i, topic] for i in set(own.ravel()) - set(rows)])


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("  @sum\n\tx", "'@sum x"),
        ("＝cmd", "'＝cmd"),
        ("a;=b", "a;'=b"),
        ('a; "=b', "a; \"'=b"),
        ('"-x', "\"'-x"),
        ("a-b = c", "a-b = c"),
        ("a\x1b[31m", "a\\x1b[31m"),
    ],
)
def test_cells_are_not_formulas(text, cell):
    assert _safe(text) == cell


@pytest.fixture
def written(tmp_path):
    return word_intrusion(SOURCE, tmp_path / "words.csv")


def test_answers_of_several_raters_are_scored_as_spreadsheets_save_them(written, tmp_path):
    questions, key = written
    first = answered(questions, key, tmp_path / "first.csv", wrong={1, 2}, blank={5})
    second = answered(questions, key, tmp_path / "second.csv", {2}, {5}, delimiter=";", encoding="cp1252")
    found = score_intrusion([first, str(second)], key)
    expected = [1, 0.5, 0, 1, 1, np.nan]
    np.testing.assert_array_equal(found.per_topic, expected)
    assert found.value == np.nanmean(expected)
    assert found.standard_error == pytest.approx(np.std(expected[:5], ddof=1) / np.sqrt(5))
    assert (found.chance, found.n_raters, found.n_answers, found.n_unanswered) == (1 / 6, 2, 10, 2)
    assert found.baselines == {"chance": 1 / 6} and ", chance 0.1667)" in repr(found)
    assert found.details() == {"rated": "10 answers of 2 raters, 2 left out"}
    answered(questions, key, questions)
    assert score_intrusion(questions).value == 1


def test_answers_that_cannot_be_scored_name_the_line(written, tmp_path):
    questions, key = written
    text = questions.read_text(encoding="utf-8-sig")
    with pytest.raises(InputError, match="answers: no question has an answer"):
        score_intrusion(questions)
    lines = text.splitlines()
    cases = {
        f"{lines[0]}\n{lines[1]}9\n": r"line 2: the answer 9 must be the number of a choice, 1 to 6",
        f"{lines[0]}\n{lines[1]}2\n{lines[1]}2\n": "line 3: question 'q1' .* is there twice",
        f"{lines[0]}\n{lines[1]}two\n": "line 2: answer 'two' must be a whole number",
        text.replace("set-", "set-0"): "line 2: question 'q1' of set .* is not in .*words.key.csv",
        "word,answer\na,1\n": "line 1: there is no column 'set'",
    }
    for content, message in cases.items():
        (tmp_path / "answers.csv").write_text(content, encoding="utf-8")
        with pytest.raises(InputError, match=message):
            score_intrusion(tmp_path / "answers.csv", key)
    with pytest.raises(
        SettingError, match=r"^key: there is no .*answers\.key\.csv beside the answers; give the path"
    ):
        score_intrusion(tmp_path / "answers.csv")
    with pytest.raises(StoreError, match="cannot be read"):
        score_intrusion(tmp_path / "absent.csv", key)
    key.write_text("\n".join(key.read_text(encoding="utf-8-sig").splitlines()[:-1]), encoding="utf-8")
    with pytest.raises(InputError, match="does not have a question for each topic"):
        score_intrusion(questions)
    key.write_text("set,question,topic,intruder,choices\ns,q1,0,1,0\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"line 2: there is no choice 1"):
        score_intrusion(questions)
    for nothing in ([], None):
        with pytest.raises(SettingError, match="answers: give the path"):
            score_intrusion(nothing)
    with pytest.raises(SettingError, match="answers: a file is there twice; give one for each rater"):
        score_intrusion([questions, str(questions)], key)
    with pytest.raises(SettingError, match="int is not a path"):
        score_intrusion(5)


def test_sets_that_cannot_be_written_are_refused_and_leave_nothing(tmp_path, written):
    questions, _ = written
    before = questions.read_bytes()
    with pytest.raises(StoreError, match=r"words.csv exists but is not an empty file"):
        word_intrusion(SOURCE, questions, random_state=1)
    assert questions.read_bytes() == before
    (tmp_path / "taken.key.csv").write_text("mine")
    with pytest.raises(StoreError, match=r"taken.key.csv exists"):
        word_intrusion(SOURCE, tmp_path / "taken.csv")
    assert not (tmp_path / "taken.csv").exists()
    for name in ("words.txt", "words.key.csv"):
        with pytest.raises(SettingError, match=r"ends in \.csv, and not in .key.csv"):
            word_intrusion(SOURCE, tmp_path / name)
    with pytest.raises(SettingError, match="no other topic has a top word that topic 0 lacks"):
        word_intrusion(np.ones((3, 9)), tmp_path / "same.csv")
    with pytest.raises(SettingError, match="n_top: must be between 1"):
        word_intrusion(SOURCE, tmp_path / "many.csv", n_top=41)
    corpus = from_matrix(TRUTH.counts, WORDS)
    for n in (0, 60, 1.5):
        with pytest.raises(SettingError, match=f"n_documents={n}: must be a whole number from 1 to 59"):
            document_intrusion(SOURCE, corpus, tmp_path / "docs.csv", n)


def test_documents_show_their_text_where_it_was_kept(tmp_path):
    texts = [
        f'=HYPERLINK("x{i}")\n{word} {word}  {word} {"y" * 1000}' for i, word in enumerate(["ant", "bee"] * 3)
    ]
    corpus = ingest(texts, tmp_path / "texts.zarr", keep_text=True, progress=False)
    topics = topics_of(np.array([[9.0, 1], [1, 9]]), ["ant", "bee"])
    questions, _ = document_intrusion(topics, corpus, tmp_path / "docs.csv", 2, client=False, n_threads=1)
    cells = [row[f"document_{i}"] for row in rows_of(questions) for i in (1, 2, 3)]
    assert all(re.fullmatch(r"'=HYPERLINK\(\"x\d\"\) (ant|bee) \1 \1 y+…", cell) for cell in cells)
    assert {len(cell) for cell in cells} == {1001}
