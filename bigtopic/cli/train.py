"""`bigtopic train`: learn topics from a corpus."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from shlex import quote
from typing import Any

from click import Choice, FloatRange, IntRange, UsageError, get_current_context, option
from click import command as verb

from bigtopic.cli.support import parameters, terminal
from bigtopic.cli.support.parameters import (
    COUNT,
    PATH,
    as_json,
    completed,
    connected,
    duration,
    is_given,
    number,
    parallel,
    paths,
)
from bigtopic.cli.support.stores import corpus_at, is_model, is_result_of, model_at, require_writable
from bigtopic.errors import SettingError, argument
from bigtopic.wording import counted

_OF_EVERY_RUN = {  # options that --continue-from leaves open
    "corpus", "model", "max_iter", "max_time", "continue_from", "documents", "overwrite", "as_json", "scheduler",
    "n_threads",
}  # fmt: skip


def _half_life(value: Any) -> float | str:
    """A number of documents, or a time, as `half_life=` takes it."""
    text = str(value)
    if text.isdecimal():
        return int(text)
    return float(text) if text.replace(".", "", 1).isdecimal() else text


_SHOWN = 100  # topics in the table after training
_SHAPE = Choice(["symmetric", "asymmetric"])


@verb("train", short_help="Learn topics from a corpus.")
@paths("corpus", "model")
@option("--topics", "n_components", type=COUNT, default=100, help="Number of topics.")
@option("--row-topics", "n_row_topics", type=COUNT, help="Of dual topics; default 10.")
@option("--column-topics", "n_column_topics", type=COUNT, help="Of dual topics; default 10.")
@option(
    "--method",
    shell_complete=completed(lambda: import_module("bigtopic.methods").names()),
    help="Learning method, see 'bigtopic methods'; default auto, which suits most corpora.",
)
@option(
    "--passes",
    "max_iter",
    type=COUNT,
    help="Passes over the corpus, of the first phase if the method has several; default the method's.",
)
@option(
    "--max-time",
    type=duration,
    help="Time limit, such as 90s, 10m or 1h30m; it starts anew with each --resume.",
)
@option("--batch-size", type=COUNT, help="Documents per update; default the method's.")
@option(
    "--doc-topic-prior",
    type=float,
    help="In the literature alpha, of documents or authors; default the method's.",
)
@option("--topic-word-prior", type=float, help="In the literature eta; default the method's.")
@option("--row-topic-prior", type=float, help="Of dual topics; default the method's.")
@option("--column-topic-prior", type=float, help="Of dual topics; default the method's.")
@option("--joint-prior", type=float, help="Of dual topics; default the method's.")
@option("--learn-doc-topic-prior", type=_SHAPE, help="Learn alpha: one number, or one per topic.")
@option("--learn-topic-word-prior", type=_SHAPE, help="Learn eta: one number, or one per word.")
@option("--learning-decay", type=float, help="In the literature kappa; default the method's.")
@option("--learning-offset", type=float, help="In the literature tau; default the method's.")
@parameters.method_options(
    "A further setting of the method, such as decay=0.9, or of a later phase, such as sampling.max_iter=0; may be "
    "repeated. See 'bigtopic methods NAME'."
)
@option(
    "--average",
    type=FloatRange(0, 1),
    help="Write the mean of the topics over this share of the updates, at the end; 0.5 for the last half.",
)
@option(
    "--replicas",
    type=COUNT,
    help="Copies of the topics that learn side by side, each from its own minibatches; default 32 on corpora of about "
    "16,000 minibatches or more with the default method, otherwise 1.",
)
@option("--replica-updates", type=COUNT, help="Updates of a replica between exchanges; default 8.")
@option(
    "--asynchronous",
    is_flag=True,
    default=None,
    help="Minibatches move the topics whenever they are done; the result depends on who is faster.",
)
@option(
    "--staleness",
    type=IntRange(0),
    help="Updates that a minibatch of an asynchronous run may miss; default no bound.",
)
@option(
    "--held-out",
    "validation",
    type=number,
    help="Share (0.1) or number (100) of documents to hold out and score after every pass.",
)
@option("--patience", type=COUNT, help="Stop after this many scores without improvement.")
@option("--checkpoint", type=PATH, metavar="PATH", help="Folder in which to save the run while it learns.")
@option("--checkpoint-every", type=duration, default="10m", help="Time between saves.")
@option("--resume", is_flag=True, help="Continue the run in --checkpoint, if there is one.")
@option("--init", type=PATH, metavar="MODEL", help="Start from the topics of another model, matched by word.")
@option(
    "--continue-from",
    type=PATH,
    metavar="MODEL",
    help="Go on with this model, with the documents that were appended to CORPUS since.",
)
@option(
    "--documents",
    type=Choice(["new", "all"]),
    default="new",
    help="Documents of CORPUS from which --continue-from learns.",
)
@option(
    "--follow",
    is_flag=True,
    help="Learn from documents as they come, without end: CORPUS may then also be a folder, or - for standard input.",
)
@option(
    "--window",
    type=COUNT,
    default=1000,
    help="Most documents that --follow scores and learns from at a time.",
)
@option(
    "--save-every",
    type=duration,
    default="1m",
    help="Time between saves of --follow, and the longest that documents wait.",
)
@option(
    "--until-idle",
    type=duration,
    help="End --follow when no documents have come for this long; default never.",
)
@option(
    "--half-life",
    type=_half_life,
    metavar="NUMBER|DURATION",
    help="Documents, or time (30min, 12h, 7d), after which --follow weighs a document half; default never.",
)
@option(
    "--max-words",
    type=COUNT,
    help="Largest vocabulary of --follow; beyond it, the words of least weight are forgotten; default no bound.",
)
@parameters.overwrite("MODEL")
@as_json
@parameters.random_state
@parallel
def command(
    corpus: str,
    model: str,
    follow: bool,
    window: int,
    save_every: float,
    until_idle: float | None,
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
    as dual-mf), which have other options.

    Ctrl-C ends the training early, writes the topics learned so far and exits with 130; SIGTERM does the same and exits
    with 143. After these and --max-time, a line on standard error says how many passes were made. With --checkpoint and
    --resume, repeating the command of a killed run continues it from its last checkpoint, to the same topics; the
    command of a complete run writes its MODEL again.

    Methods that remember documents from pass to pass (such as cgs and ilr) keep that on disk: in the --checkpoint
    folder, or without one in the temporary folder (TMPDIR). Before they begin, a line on standard error says how many
    bytes that may take, if 100 MB or more.

    With --continue-from, the model goes on with the documents that were appended to CORPUS since it learned, in one
    pass or --passes; methods that need all documents (batch methods such as vb) learn from all. A line on standard
    error says which it took. A model of the default method, which ends with sampling, learns from the new ones and then
    samples anew from all. The model keeps its settings; --max-time, --scheduler and --threads apply to this run.

    With --follow, the model learns from documents as they are appended to CORPUS, put into a folder or written to
    standard input (JSON lines, or a text per line), and a line says of each window how well it was predicted before,
    and what changed. MODEL is always complete; the same command goes on with it. Ctrl-C and SIGTERM save it.

    \b
    Examples:
        bigtopic train articles.zarr topics.zarr --topics 100
        bigtopic train articles.zarr topics.zarr --method online-vb --max-time 10m --held-out 0.05
        bigtopic train stream.zarr topics.zarr --method sgs --option decay=0.9 --option patience=5
        bigtopic train articles.zarr topics.zarr --checkpoint run.ckpt --resume
        bigtopic train articles.zarr topics.zarr --continue-from topics.zarr --overwrite
        bigtopic train incoming/ topics.zarr --follow --half-life 7d --max-words 50000
        bigtopic train s3://bucket/articles.zarr topics.zarr --scheduler tcp://10.0.0.1:8786
    """
    from bigtopic.cli.support import facts
    from bigtopic.cli.support.follow import check_options, learn_from
    from bigtopic.cli.support.group import INTERRUPTED, TERMINATED
    from bigtopic.learning.stopping import ended_by_sigterm
    from bigtopic.report import summarise
    from bigtopic.state.checkpoints.checkpoint import Checkpoint
    from bigtopic.storage.place import Place

    check_options(follow)
    if follow:
        limits = {"window": window, "save_every": save_every, "until_idle": until_idle, "as_json": as_json}
        with connected(scheduler, n_threads) as work:
            kind, chosen = kind_and_settings(random_state=random_state, **given)
            code = learn_from(corpus, model, kind(**chosen, **work), chosen, continue_from, **limits)
        get_current_context().exit(code)
    _check(checkpoint, continue_from, given)
    resumed = resume and checkpoint is not None and is_model(model)
    replace = overwrite or (resumed and is_result_of(str(checkpoint), model))
    require_writable(model, "model", replace)
    saved = None if checkpoint is None else Checkpoint(checkpoint, seconds=checkpoint_every)
    if saved is not None and f"{Place.of(saved.path).url}/".startswith(f"{Place.of(model).url}/"):
        raise SettingError(
            f"{argument('checkpoint', checkpoint)}: {model} is the path of the model; choose another folder"
        )
    opened, learned = corpus_at(corpus), True
    with connected(scheduler, n_threads) as work, ended_by_sigterm() as terminated:
        if continue_from is None:
            kind, chosen = kind_and_settings(random_state=random_state, **work, **given)
            estimator = kind(**chosen)
            estimator.fit(opened, checkpoint=saved, resume=resume)
        else:
            estimator, learned = _continued(continue_from, opened, documents, given, work)
    estimator.set_params(client=None, validation=None)
    estimator.save(model, overwrite=True)  # what may be replaced was checked before
    if continue_from is None:
        terminal.aside(facts.cut_short(estimator, terminated.is_set()) or facts.few_updates(estimator))
    context = get_current_context()
    if as_json:
        terminal.to_json(facts.facts_of_model(estimator, model))
    else:
        summary = summarise(estimator)
        terminal.table(summary.largest(_SHOWN))
        if (n_more := len(summary.topics) - _SHOWN) > 0:
            terminal.line(f"and {counted(n_more, 'more topic')}; bigtopic topics {quote(model)} prints all")
        terminal.line("")
        terminal.figures({**facts.progress_lines(estimator), "model": model})
    if terminated.is_set():
        context.exit(TERMINATED)
    if learned and estimator.run_["ended"] == "interrupt":
        context.exit(INTERRUPTED)


def _check(checkpoint: str | None, continue_from: str | None, settings: Mapping[str, Any]) -> None:
    """Refuse options that have no effect without another, or beside it."""
    if continue_from is None and is_given("documents"):
        raise UsageError("--documents needs --continue-from, the model that goes on with them")
    for param in get_current_context().command.params if continue_from is not None else ():
        if param.name not in _OF_EVERY_RUN and is_given(str(param.name)):
            raise UsageError(
                f"{param.opts[0]} has no effect beside --continue-from: the model keeps its settings; leave it out"
            )
    if checkpoint is None and is_given("checkpoint_every"):
        raise UsageError("--checkpoint-every needs --checkpoint, the folder in which to save the run")
    if settings["replicas"] is None and settings["replica_updates"] is not None:
        raise UsageError("--replica-updates needs --replicas, their number")


def kind_and_settings(method: Any, **settings: Any) -> tuple[Any, dict[str, Any]]:
    """The class of the estimator for the model that the method learns, and its settings; for methods of authors, alpha
    is the authors'.

    Parameters
    ----------
    method : its name, or several of one model, in a list; None for the default

    Raises
    ------
    SettingError
        When an option is given that this model does not have.
    """
    from bigtopic.estimators.persistence import kind_for
    from bigtopic.methods import get

    first, *others = map(get, method if isinstance(method, list) else [method])
    kind = kind_for(first)
    if apart := [other.name for other in others if kind_for(other) is not kind]:
        raise SettingError(
            f"{argument('method', apart[0])}: learns another model than {first.name!r}; compare methods of one model"
        )
    known = kind().get_params()
    chosen: dict[str, Any] = {}
    for name, value in settings.items():
        of_authors = name.replace("doc_topic", "author_topic")
        own = of_authors if of_authors in known else name
        if own in known and value is not None:  # else the model's own
            chosen[own] = value
        elif value is not None and is_given(name):
            raise SettingError(
                f"{argument(name)}: method {first.name!r} learns the model {kind.__name__}, which has no such "
                "option"
            )
    return kind, {"method": method or known["method"], **chosen}


def _continued(
    model: str, corpus: Any, documents: str, given: Mapping[str, Any], work: Mapping[str, Any]
) -> tuple[Any, bool]:
    """The estimator at `model`, which has gone on with the corpus, and whether it has learned; says which documents it
    took."""
    from bigtopic.cli.support.facts import went_on
    from bigtopic.estimators.support import run_record

    estimator = model_at(model)
    known = run_record.is_same(estimator.run_, corpus)
    first = 0 if documents == "all" and not known else run_record.first_new_row(estimator.run_, corpus)
    new, n_docs = run_record.since(corpus, first).n_docs, counted(corpus.n_docs, "document")
    if not new and documents == "new":
        terminal.aside(
            f"{model} has learned from all {n_docs} of {corpus.url}: nothing is new, its topics stay as they are"
        )
        return estimator, False
    before, n_passes = estimator.max_time, estimator.n_iter_
    # Scores of held-out documents ended with the run that held them out.
    estimator.set_params(**work, max_time=given["max_time"], patience=None, evaluate_every=None)
    everything = {"only_new": False} if documents == "all" and known else {}
    estimator.update(corpus, first_new=first, max_iter=given["max_iter"], **everything)
    terminal.aside(went_on(estimator, model, corpus, new, estimator.n_iter_ - n_passes))
    return estimator.set_params(max_time=before), True
