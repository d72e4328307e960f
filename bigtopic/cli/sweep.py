"""`bigtopic sweep`: learn a model with each of several settings, and choose one."""

from __future__ import annotations

from copy import copy
from typing import Any

import click
from click import UsageError, argument, option
from click import command as verb

from bigtopic.cli.support import parameters, terminal
from bigtopic.cli.support.parameters import PATH, as_json, connected, is_given, number, parallel
from bigtopic.cli.support.settings import WithMeasures
from bigtopic.cli.support.stores import corpus_at, require_writable
from bigtopic.cli.train import command as train
from bigtopic.cli.train import kind_and_settings

_SEVERAL = {  # options of `bigtopic train` that may have several values here
    "n_components", "n_row_topics", "n_column_topics", "method", "max_iter", "batch_size", "doc_topic_prior",
    "topic_word_prior", "row_topic_prior", "column_topic_prior", "joint_prior", "learning_decay", "learning_offset",
    "random_state",
}  # fmt: skip
_ONE = {"max_time", "learn_doc_topic_prior", "learn_topic_word_prior", "options", "average"}


class _Several(click.ParamType):
    """Values of another type, with commas between; in a file of options also a list."""

    several = True

    def __init__(self, one: click.ParamType) -> None:
        self.one, self.name = one, f"{one.name},..."

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[Any]:
        values = value if isinstance(value, list) else [text.strip() for text in str(value).split(",")]
        if "" in values:
            self.fail(
                f"{value!r}: write values with commas between, and no spaces, such as 10,20", param, ctx
            )
        return [self.one.convert(text, param, ctx) for text in values]


class _WithMeasures(WithMeasures):
    meaning = "Measure of the held-out documents, higher is better; may be repeated: the first one decides."

    def usual(self) -> list[str]:
        return ["log-predictive"]


def _of_train(command: click.Command) -> click.Command:
    """The options of `bigtopic train` that set what is learned."""
    found = [copy(param) for param in train.params if param.name in _SEVERAL | _ONE]
    for param in found:
        if param.name in _SEVERAL:
            param.type = _Several(param.type)
        if param.name == "max_time":
            param.help = "Time limit of each candidate, such as 90s, 10m or 1h30m."
    command.params[2:2] = found  # after the arguments
    return command


@_of_train
@verb("sweep", cls=_WithMeasures, short_help="Learn models with several settings, and choose one.")
@argument("corpus", type=PATH)
@argument("model", required=False, type=PATH)
@option("--folds", type=int, help="Divide the documents into so many folds, and hold out each once.")
@option(
    "--test-size",
    type=number,
    default=0.1,
    help="Share (0.1) or number (100) of the documents to hold out, without --folds.",
)
@option("--plot", "out", type=PATH, help="Picture to write: a path or URL that ends in .pdf, .png or .svg.")
@parameters.overwrite("MODEL")
@as_json
@parallel
def command(
    corpus: str,
    model: str | None,
    measures: tuple[str, ...],
    folds: int | None,
    test_size: float,
    out: str | None,
    overwrite: bool,
    as_json: bool,
    scheduler: str | None,
    n_threads: int | None,
    method: list[str] | None,
    **given: Any,
) -> None:
    """Learn a model of CORPUS with each combination of settings, score all on the same held-out documents, and choose
    the one with the fewest topics within one standard error of the best.

    Write several values of an option with commas between: --topics 10,20,50. The chosen model learns from all
    documents and is written to MODEL, if that is given. A line on standard error says each score as soon as it is
    known.

    \b
    Examples:
        bigtopic sweep articles.zarr --topics 10,20,50,100
        bigtopic sweep articles.zarr topics.zarr --topics 10,20,50 --folds 5 --plot sweep.svg
        bigtopic sweep articles.zarr --topics 20,50 --doc-topic-prior 0.05,0.5 --random-state 0,1,2 --json
    """
    from bigtopic import plots
    from bigtopic.errors import require
    from bigtopic.estimators.search.sweep import sweep

    kind, chosen = kind_and_settings(method, **given)
    several = {
        name: values for name, values in chosen.items() if isinstance(values, list) and len(values) > 1
    }
    shared = {name: values[0] if isinstance(values, list) else values for name, values in chosen.items()}
    if not several:
        raise UsageError(
            "there is one candidate: give several values of an option, with commas between, such as --topics 10,20,50"
        )
    if folds is not None and is_given("test_size"):
        raise UsageError("--test-size has no effect beside --folds: leave one of them out")
    if model is not None:
        require_writable(model, "model", overwrite)
    if out is not None:
        require("matplotlib", "plots")
        plots.check_path(out)
    with connected(scheduler, n_threads) as work:
        one = kind(**{**shared, **work})
        found = sweep(corpus_at(corpus), one, measure=measures, folds=folds, test_size=test_size, **several)
    wrote: dict[str, str] = {}
    if model is not None:
        best: Any = found.best_estimator_
        best.set_params(client=None).save(model, overwrite=True)  # what is there was checked before
        wrote["model"] = model
    if out is not None:
        wrote["plot"] = str(plots.save(found.plot(), out))
    terminal.comparison(found, as_json, wrote)
