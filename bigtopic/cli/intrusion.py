"""`bigtopic intrusion`: questions for raters, which word or document does not belong to a topic, and their score."""

from __future__ import annotations

from typing import Any

from click import Choice, UsageError, argument, get_current_context, option
from click import command as verb

from bigtopic.cli.support import parameters, terminal
from bigtopic.cli.support.parameters import COUNT, PATH, as_json, connected, is_given, parallel
from bigtopic.cli.support.stores import corpus_at, model_at
from bigtopic.wording import counted

_SCORING = {"action", "files", "key", "as_json"}  # options of both, and of `score`


@verb("intrusion", short_help="Ask raters which word does not belong, and score answers.")
@argument("action", type=Choice(["write", "score"]))
@argument("files", nargs=-1, required=True, type=PATH)
@option("--corpus", type=PATH, help="Ask about the documents of this corpus, not about words.")
@option("--n-top", type=COUNT, default=5, help="Top words of a topic in a question.")
@option("--n-documents", type=COUNT, default=4, help="Documents of a topic in a question, with --corpus.")
@option(
    "--key",
    type=PATH,
    help="Solution of the questions; default the file that ends in .key.csv beside the first one.",
)
@parameters.random_state
@as_json
@parallel
def command(
    action: str,
    files: tuple[str, ...],
    corpus: str | None,
    n_top: int,
    n_documents: int,
    key: str | None,
    random_state: int,
    as_json: bool,
    scheduler: str | None,
    n_threads: int | None,
) -> None:
    """Write questions for human or machine raters, or score their answers.

    \b
    write MODEL QUESTIONS   a question for each topic: its top words, or documents, and an intruder
    score ANSWERS...        how often raters found the intruders; a file for each rater

    QUESTIONS ends in .csv. Raters write the number of the intruder into the column "answer"; they must not see the
    solution, which is beside the questions and ends in .key.csv.

    \b
    Examples:
        bigtopic intrusion write topics.zarr words.csv
        bigtopic intrusion write topics.zarr documents.csv --corpus articles.zarr
        bigtopic intrusion score ann.csv bob.csv --key words.key.csv
    """
    _check(action, files, corpus)
    if action == "score":
        _score(files, key, as_json)
        return
    from bigtopic.evaluate import document_intrusion, word_intrusion

    (model, questions), documents = files, corpus_at(corpus)
    estimator = model_at(model)
    if documents is None:
        wrote, solution = word_intrusion(estimator, questions, n_top, random_state)
    else:
        with connected(scheduler, n_threads) as work:
            wrote, solution = document_intrusion(
                estimator, documents, questions, n_documents, random_state, **work
            )
    said = f"Wrote {wrote}, and the solution, which raters must not see, {solution}"
    terminal.result({"questions": str(wrote), "key": str(solution)}, said, as_json)


def _check(action: str, files: tuple[str, ...], corpus: str | None) -> None:
    """Refuse what the action does not read."""
    for param in get_current_context().command.params if action == "score" else ():
        if param.name not in _SCORING and is_given(str(param.name)):
            raise UsageError(f"{param.opts[0]} is of 'write', not of 'score': leave it out")
    if action == "score":
        return
    if is_given("key"):
        raise UsageError("--key is of 'score', not of 'write': the solution is beside the questions")
    if len(files) != 2:
        raise UsageError(
            "give a model and the file of the questions: bigtopic intrusion write MODEL QUESTIONS"
        )
    wrong = "n_documents" if corpus is None else "n_top"
    if is_given(wrong):
        raise UsageError(
            f"--{wrong.replace('_', '-')} has no effect {'without' if corpus is None else 'with'} --corpus"
        )


def _score(answers: tuple[str, ...], key: str | None, as_json: bool) -> None:
    from bigtopic.evaluate import score_intrusion
    from bigtopic.support.table import Table

    found = score_intrusion(list(answers), key)
    if as_json:
        terminal.to_json(found.to_dict())
        return
    left_out = f", {found.n_unanswered:,} left out" if found.n_unanswered else ""
    given = f"{counted(found.n_answers, 'answer')} of {counted(found.n_raters, 'rater')}{left_out}"
    terminal.figures({"precision": found.text(), "answers": given})
    terminal.line("")
    topics: dict[str, Any] = {"topic": range(len(found.per_topic)), "precision": found.per_topic.tolist()}
    terminal.frame(Table(topics), as_json=False)
