"""`bigtopic train`: learn topics from a corpus."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from bigtopic.cli._options import (
    PATH,
    as_json,
    completed,
    connected,
    duration,
    is_given,
    number,
    parallel,
    random_state,
    settings,
)
from bigtopic.wording import counted

_OF_EVERY_RUN = {  # options that --continue-from leaves open
    "corpus",
    "model",
    "max_iter",
    "max_time",
    "continue_from",
    "documents",
    "overwrite",
    "as_json",
    "scheduler",
    "n_threads",
}
_SHAPE = click.Choice(["symmetric", "asymmetric"])


@click.command("train", short_help="Learn topics from a corpus.")
@click.argument("corpus", type=PATH)
@click.argument("model", type=PATH)
@click.option(
    "--topics",
    "n_components",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    help="Number of topics.",
)
@click.option("--row-topics", "n_row_topics", type=click.IntRange(1), help="Of dual topics; default 10.")
@click.option(
    "--column-topics", "n_column_topics", type=click.IntRange(1), help="Of dual topics; default 10."
)
@click.option(
    "--method",
    shell_complete=completed(lambda: import_module("bigtopic.methods").names()),
    help="Learning method, see 'bigtopic methods'; the default suits most corpora.",
)
@click.option(
    "--passes", "max_iter", type=click.IntRange(1), help="Passes over the corpus; default the method's."
)
@click.option(
    "--max-time", type=duration, help="Time limit, such as 90s, 10m or 1h30m; each --resume has it again."
)
@click.option("--batch-size", type=click.IntRange(1), help="Documents per update; default the method's.")
@click.option(
    "--doc-topic-prior",
    type=float,
    help="In the literature alpha, of documents or authors; default the method's.",
)
@click.option("--topic-word-prior", type=float, help="In the literature eta; default the method's.")
@click.option("--row-topic-prior", type=float, help="Of dual topics; default the method's.")
@click.option("--column-topic-prior", type=float, help="Of dual topics; default the method's.")
@click.option("--joint-prior", type=float, help="Of dual topics; default the method's.")
@click.option("--learn-doc-topic-prior", type=_SHAPE, help="Learn alpha: one number, or one per topic.")
@click.option("--learn-topic-word-prior", type=_SHAPE, help="Learn eta: one number, or one per word.")
@click.option("--learning-decay", type=float, help="In the literature kappa; default the method's.")
@click.option("--learning-offset", type=float, help="In the literature tau; default the method's.")
@settings("A further setting of the method, such as decay=0.9; may be repeated. See 'bigtopic methods NAME'.")
@click.option(
    "--average",
    type=click.FloatRange(0, 1),
    help="Write the mean of the topics over this share of the updates, at the end; 0.5 for the last half.",
)
@click.option(
    "--replicas",
    type=click.IntRange(1),
    help="Copies of the topics that learn side by side, each from its own minibatches; default 32 on corpora of about "
    "16,000 minibatches or more with the default method, otherwise 1.",
)
@click.option(
    "--replica-updates", type=click.IntRange(1), help="Updates of a replica between exchanges; default 8."
)
@click.option(
    "--held-out",
    "validation",
    type=number,
    help="Share (0.1) or number (100) of documents to hold out and score after every pass.",
)
@click.option("--patience", type=click.IntRange(1), help="Stop after this many scores without improvement.")
@click.option(
    "--checkpoint", type=PATH, metavar="PATH", help="Folder in which to save the run while it learns."
)
@click.option(
    "--checkpoint-every", type=duration, default="10m", show_default=True, help="Time between saves."
)
@click.option("--resume", is_flag=True, help="Continue the run in --checkpoint, if there is one.")
@click.option(
    "--init", type=PATH, metavar="MODEL", help="Start from the topics of another model, matched by word."
)
@click.option(
    "--continue-from",
    type=PATH,
    metavar="MODEL",
    help="Go on with this model, with the documents that were appended to CORPUS since.",
)
@click.option(
    "--documents",
    type=click.Choice(["new", "all"]),
    default="new",
    show_default=True,
    help="Documents of CORPUS from which --continue-from learns.",
)
@click.option("--overwrite", is_flag=True, help="Replace MODEL if it exists.")
@as_json
@random_state
@parallel
def command(
    corpus: str,
    model: str,
    checkpoint: str | None,
    checkpoint_every: float,
    resume: bool,
    continue_from: str | None,
    documents: str,
    overwrite: bool,
    as_json: bool,
    random_state: int,
    scheduler: str | None,
    n_threads: int | None,
    **given: Any,
) -> None:
    """Learn topics from CORPUS and write them to MODEL.

    The method says what is learned: topics of documents, of authors (such as author-vb), or of rows and columns (such
    as dual-mf), which have options of their own.

    Ctrl-C ends the training early, writes the topics learned so far and exits with 130; SIGTERM does the same and exits
    with 143. After these and --max-time, a line on standard error says how many passes were made. With --checkpoint and
    --resume, repeating the command of a killed run continues it from its last checkpoint, to the same topics; the
    command of a complete run writes its MODEL again.

    Methods that remember documents from pass to pass (such as cgs and ilr) keep that on disk: in the --checkpoint
    folder, or without one in the temporary folder (TMPDIR). Before they begin, a line on standard error says how many
    bytes that may take, if 100 MB or more.

    With --continue-from, the model goes on with the documents that were appended to CORPUS since it learned, in one
    pass or --passes; methods that need all documents (batch methods such as vb) learn from all. A line on standard
    error says which it took. The model keeps its settings; --max-time, --scheduler and --threads are those of this run.

    \b
    Examples:
        bigtopic train articles.zarr topics.zarr --topics 100
        bigtopic train articles.zarr topics.zarr --method online-vb --max-time 10m --held-out 0.05
        bigtopic train stream.zarr topics.zarr --method sgs --option decay=0.9 --option patience=5
        bigtopic train articles.zarr topics.zarr --checkpoint run.ckpt --resume
        bigtopic train articles.zarr topics.zarr --continue-from topics.zarr --overwrite
        bigtopic train s3://bucket/articles.zarr topics.zarr --scheduler tcp://10.0.0.1:8786
    """
    from bigtopic.cli import _facts, _show
    from bigtopic.cli._group import INTERRUPTED, TERMINATED
    from bigtopic.cli._stores import is_model, is_result_of, require_lock, require_room
    from bigtopic.corpus.store import open_corpus
    from bigtopic.errors import CorpusExists, SettingError, argument
    from bigtopic.learning.stopping import ended_by_sigterm
    from bigtopic.report import summarise
    from bigtopic.state.checkpoints.checkpoint import Checkpoint
    from bigtopic.storage.place import Place

    _check(checkpoint, continue_from, given)
    if not is_model(model):
        require_room(model)
    elif not overwrite and not (resume and checkpoint is not None and is_result_of(checkpoint, model)):
        raise CorpusExists(
            f"{model} is already a model; pass --overwrite to replace it, or give another path"
        )
    else:
        require_lock(model)
    saved = None if checkpoint is None else Checkpoint(checkpoint, seconds=checkpoint_every)
    if saved is not None and f"{Place.of(saved.path).url}/".startswith(f"{Place.of(model).url}/"):
        raise SettingError(
            f"{argument('checkpoint', checkpoint)}: {model} is the path of the model; choose another folder"
        )
    opened = open_corpus(corpus)
    with connected(scheduler) as client, ended_by_sigterm() as terminated:
        work = {"client": client, "n_threads": n_threads}
        if continue_from is None:
            estimator = _estimator(random_state=random_state, **work, **given).fit(
                opened, checkpoint=saved, resume=resume
            )
        else:
            estimator = _continued(continue_from, opened, documents, given, work)
    estimator.set_params(client=None, validation=None)
    estimator.save(model, overwrite=True)  # what may be replaced was checked before
    if continue_from is None:
        _facts.say(_facts.cut_short(estimator, terminated.is_set()) or _facts.few_updates(estimator))
    if as_json:
        from bigtopic.cli._facts import facts_of_model

        _show.to_json(facts_of_model(estimator, model, click.get_current_context().command))
    else:
        _show.table(summarise(estimator))
        click.echo()
        _show.figures(_figures(estimator, model))
    if terminated.is_set():
        click.get_current_context().exit(TERMINATED)
    if estimator.run_["ended"] == "interrupt":
        click.get_current_context().exit(INTERRUPTED)


def _check(checkpoint: str | None, continue_from: str | None, settings: Mapping[str, Any]) -> None:
    """Refuse options that have no effect without another, or beside it."""
    if continue_from is None and is_given("documents"):
        raise click.UsageError("--documents needs --continue-from, the model that goes on with them")
    if continue_from is not None:
        for option in click.get_current_context().command.params:
            if option.name not in _OF_EVERY_RUN and is_given(str(option.name)):
                raise click.UsageError(
                    f"{option.opts[0]} has no effect beside --continue-from: the model keeps its settings; leave it out"
                )
    if checkpoint is None and is_given("checkpoint_every"):
        raise click.UsageError("--checkpoint-every needs --checkpoint, the folder in which to save the run")
    if settings["replicas"] is None and settings["replica_updates"] is not None:
        raise click.UsageError("--replica-updates needs --replicas, their number")


def _estimator(method: str | None, **settings: Any) -> Any:
    """An estimator of the model that the method learns; for methods of authors, alpha is the authors'.

    Raises
    ------
    SettingError
        When an option is given that this model does not have.
    """
    from bigtopic.errors import SettingError, argument
    from bigtopic.estimators.persistence import kind_for
    from bigtopic.methods import get

    kind = kind_for(get(method))
    known = kind().get_params()
    settings = {name: value for name, value in settings.items() if value is not None}  # else the model's own
    for name in [*settings]:
        of_authors = name.replace("doc_topic", "author_topic")
        if of_authors in known:
            settings[of_authors] = settings.pop(name)
        elif name not in known and not is_given(name):
            del settings[name]
        elif name not in known:
            raise SettingError(
                f"{argument(name)}: method {get(method).name!r} learns the model {kind.__name__}, which has no such "
                "option"
            )
    return kind(method=method or known["method"], **settings)


def _continued(
    model: str, corpus: Any, documents: str, given: Mapping[str, Any], work: Mapping[str, Any]
) -> Any:
    """The estimator at `model`, which has gone on with the corpus; says which documents it took."""
    from bigtopic.cli import _facts
    from bigtopic.estimators.persistence import load_model
    from bigtopic.estimators.support import run_record

    estimator = load_model(model)
    known = run_record.is_same(estimator.run_, corpus)
    first = 0 if documents == "all" and not known else run_record.first_new_row(estimator.run_, corpus)
    new, n_docs = run_record.since(corpus, first).n_docs, counted(corpus.n_docs, "document")
    if not new and documents == "new":
        _facts.say(
            f"{model} has learned from all {n_docs} of {corpus.url}: nothing is new, its topics stay as they are"
        )
        return estimator
    before, n_passes = estimator.max_time, estimator.n_iter_
    # Scores of held-out documents ended with the run that held them out.
    estimator.set_params(**work, max_time=given["max_time"], patience=None, evaluate_every=None)
    everything = {"only_new": False} if documents == "all" and known else {}
    estimator.update(corpus, first_new=first, max_iter=given["max_iter"], **everything)
    _facts.say(_facts.went_on(estimator, model, corpus, new, estimator.n_iter_ - n_passes))
    return estimator.set_params(max_time=before)


def _figures(estimator: Any, model: str) -> dict[str, str]:
    from bigtopic.cli._facts import learned

    scores = [row["score"] for row in estimator.history_ if row.get("score") is not None]
    tokens, seconds = learned(estimator) or (0.0, 0.0)
    return {
        "held-out score": f"{scores[-1]:.4f} nats per token" if scores else "",
        "learned from": f"{counted(tokens, 'token')} in {seconds:.1f} s",
        "tokens per second": f"{tokens / max(seconds, 1e-9):,.0f}",
        "model": model,
    }
