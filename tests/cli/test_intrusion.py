"""`bigtopic intrusion`: questions are written, and answers scored."""

import csv
import json

import pytest

from bigtopic import evaluate
from bigtopic.estimators.persistence import load_model

from .conftest import run


def answered(questions, path, answer):
    with questions.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows({**row, "answer": answer} for row in rows)
    return path


@pytest.fixture
def questions(model, tmp_path):
    run("intrusion", "write", model, tmp_path / "words.csv", "--n-top", 3, "--seed", 4)
    return tmp_path / "words.csv"


def test_questions_about_words_are_those_of_the_library(questions, model, tmp_path):
    same = evaluate.word_intrusion(load_model(model), tmp_path / "same.csv", n_top=3, random_state=4)
    key = questions.with_name("words.key.csv")
    assert [path.read_bytes() for path in (questions, key)] == [path.read_bytes() for path in same]


def test_questions_about_documents(model, corpus, tmp_path):
    asked = (
        "intrusion",
        "write",
        model,
        tmp_path / "d.csv",
        "--corpus",
        corpus,
        "--n-documents",
        2,
        "--json",
    )
    assert json.loads(run(*asked).stdout) == {
        "questions": str(tmp_path / "d.csv"),
        "key": str(tmp_path / "d.key.csv"),
    }
    assert "document_3" in (tmp_path / "d.csv").read_text(encoding="utf-8-sig")


def test_answers_are_scored(questions, tmp_path):
    files = [answered(questions, tmp_path / f"{n}.csv", n) for n in (1, 2)]
    key = questions.with_name("words.key.csv")
    found = evaluate.score_intrusion(files, key)
    shown = run("intrusion", "score", *files, "--key", key)
    assert f"  precision  {found.text()}" in shown.stdout and "4 answers of 2 raters" in shown.stdout
    assert len(shown.stdout.splitlines()) == 6  # and a line for each topic
    told = json.loads(run("intrusion", "score", *files, "--key", key, "--json").stdout)
    assert told == json.loads(json.dumps(found.to_dict()))


@pytest.mark.parametrize(
    "typed, said",
    [
        (["ask", "m", "q.csv"], "'ask' is not one of 'write', 'score'"),
        (
            ["write", "MODEL"],
            "give a model and the file of the questions: bigtopic intrusion write MODEL QUESTIONS",
        ),
        (["write", "MODEL", "q.txt"], "q.txt: give a name of the questions that ends in .csv"),
        (["write", "MODEL", "q.csv", "--key", "k.csv"], "--key is of 'score', not of 'write'"),
        (["write", "MODEL", "q.csv", "--n-documents", "3"], "--n-documents has no effect without --corpus"),
        (
            ["write", "MODEL", "q.csv", "--n-top", "99"],
            "--n-top: must be between 1 and the vocabulary's 16 words",
        ),
        (["score", "a.csv", "--n-top", "3"], "--n-top is of 'write', not of 'score'"),
        (["score", "no.csv"], "no.key.csv"),
        (
            ["score", "MINE", "--key", "MINE"],
            "give a file that 'bigtopic intrusion write' wrote, saved as CSV",
        ),
    ],
)
def test_mistakes_are_one_clear_message(typed, said, model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.csv").write_text("a,b\n1,2\n")
    shown = run(
        "intrusion", *({"MODEL": model, "MINE": "mine.csv"}.get(word, word) for word in typed), code=2
    ).output
    assert said in " ".join(shown.split()) and "Traceback" not in shown
    assert [path.name for path in tmp_path.iterdir()] == ["mine.csv"]
