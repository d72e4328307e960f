"""`bigtopic infer`: the topics of documents."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from tempfile import TemporaryDirectory
from typing import Any

import click

from bigtopic.cli._options import as_json, connected, parallel, random_state
from bigtopic.cli._pipes import STANDARD, source_file
from bigtopic.cli._values import FUNCTION, PATH, completed, settings
from bigtopic.wording import counted


@click.command("infer", short_help="Write the topics of documents.")
@click.argument("model", type=PATH)
@click.argument("documents", type=PATH)
@click.argument("theta", type=PATH)
@click.option(
    "--min-probability", type=float, default=0.01, show_default=True, help="Leave out smaller entries."
)
@click.option("--top-k", type=int, help="Keep only the largest entries of each document.")
@click.option("--text-column", help="Column with the text, in records and tables.")
@click.option(
    "--token-pattern", help="The pattern used to tokenise the model's texts, if it was a custom one."
)
@click.option(
    "--token-filter", type=FUNCTION, help="The filter of tokens of the model's texts, if there was one."
)
@click.option(
    "--to",
    "format",
    help="Format of THETA: zarr, csv, tsv, jsonl, parquet or h5ad; default its ending, or csv for -.",
)
@click.option(
    "--inference",
    shell_complete=completed(lambda: import_module("bigtopic.kernels").names()),
    help="The kernel that infers the topics of documents, such as ope; default the method's.",
)
@settings("An option of that kernel, such as eps=1e-6; may be repeated. See 'bigtopic methods NAME'.")
@click.option("--overwrite", is_flag=True, help="Replace THETA if it exists.")
@random_state
@as_json
@parallel
def command(
    model: str,
    documents: str,
    theta: str,
    min_probability: float,
    top_k: int | None,
    text_column: str | None,
    token_pattern: str | None,
    token_filter: Any,
    format: str | None,
    inference: str | None,
    options: Mapping[str, Any] | None,
    overwrite: bool,
    random_state: int,
    as_json: bool,
    scheduler: str | None,
    n_threads: int | None,
) -> None:
    """Write the topics of DOCUMENTS under MODEL to THETA, an AnnData store with one sparse row per document.

    DOCUMENTS is a corpus, or any source that `bigtopic ingest` reads without options other than --text-column; text is
    tokenised like the model's training texts. If THETA ends in .csv, .tsv, .jsonl, .parquet or .h5ad, it is a file of
    that kind, with the documents' ids and columns. - is standard input or output.

    \b
    Examples:
        bigtopic infer topics.zarr articles.zarr theta.zarr
        bigtopic infer topics.zarr new.csv theta.parquet --text-column body
        bigtopic infer topics.zarr articles.zarr theta.zarr --inference ope --option n_iter=100
        cat new.jsonl | bigtopic infer topics.zarr - - --to jsonl
    """
    from bigtopic.cli import _show
    from bigtopic.estimators.persistence import load_model
    from bigtopic.estimators.topic_stores.output import check_target

    _check(documents, theta, as_json, overwrite)
    target = sys.stdout.buffer if theta == STANDARD else theta
    chosen: dict[str, Any] = {
        "min_probability": min_probability,
        "top_k": top_k,
        "format": format or ("csv" if theta == STANDARD else None),
        "overwrite": overwrite,
    }
    check_target(target, **chosen)
    estimator = load_model(model, token_pattern=token_pattern)
    read = _as_corpus(documents, estimator, text_column, token_filter, n_threads)
    with connected(scheduler) as client, read as corpus:
        estimator.set_params(client=client, n_threads=n_threads)
        written = estimator.transform_to(
            corpus, target, inference=inference, options=options, random_state=random_state, **chosen
        )
    if theta == STANDARD:
        return
    if as_json:
        _show.to_json({"wrote": written, "documents": len(corpus)})
    else:
        _show.line(f"Wrote the topics of {counted(len(corpus), 'document')} to {written}")


def _check(documents: str, theta: str, as_json: bool, overwrite: bool) -> None:
    """Refuse options and paths that do not go together."""
    if theta == STANDARD and (as_json or overwrite):
        raise click.UsageError("--json and --overwrite have no effect if THETA is -: leave them out")
    if theta == STANDARD:
        return
    from bigtopic.storage.place import Place

    if documents != STANDARD and Place.of(documents).real == Place.of(theta).real:
        raise click.UsageError(f"{theta} is both DOCUMENTS and THETA: give THETA another path")


@contextmanager
def _as_corpus(
    source: str, estimator: Any, text_column: str | None, token_filter: Any, n_threads: int | None
) -> Iterator[Any]:
    """The corpus at `source`, or a temporary one made from it; the model matches its words.

    Raises
    ------
    SettingError
        When an option is given that has no effect on a corpus.
    """
    from bigtopic.cli._stores import is_corpus
    from bigtopic.corpus.store import open_corpus
    from bigtopic.errors import SettingError, argument

    if is_corpus(source):
        for given in (
            text_column and argument("text_column", text_column),
            token_filter and argument("token_filter"),
        ):
            if given:
                raise SettingError(
                    f"{given}: {source} is a corpus, whose words are counted already; leave it out"
                )
        yield open_corpus(source)
        return
    from bigtopic.corpus.readers import open_source
    from bigtopic.ingestion.ingest import ingest

    own = _text_settings(estimator._fitted().text or {}, token_filter)
    with source_file(source) as path, TemporaryDirectory(prefix="bigtopic-infer-") as folder:
        words = estimator._pair_words  # what the ids of pairs meant when the model learned
        if words is not None and getattr(open_source(path), "kind", None) == "pairs":
            own["vocabulary"] = list(words)
        yield ingest(
            path,
            f"{folder}/corpus.zarr",
            text_column=text_column,
            shuffle=False,
            client=False,
            n_threads=n_threads,
            max_df=1.0,
            **own,
        )


def _text_settings(stored: Mapping[str, Any], token_filter: Any) -> dict[str, Any]:
    """The tokeniser settings of the model, collocations included, as `ingest` takes them; no document is dropped."""
    from bigtopic.corpus.text.text_settings import TextSettings
    from bigtopic.errors import ModelError, SettingError, argument

    if token_filter is not None and stored.get("token_filter") is None:
        raise SettingError(
            f"{argument('token_filter')}: the texts of the model were tokenised without one; leave it out"
        )
    try:
        found = TextSettings.like(stored, token_filter=token_filter)
    except SettingError as error:
        if stored.get("tokenizer") is None:
            raise
        raise ModelError(
            f"{error.message}. A tokenizer cannot be passed here: ingest the documents in Python with "
            "bigtopic.ingest and the function, and pass that corpus"
        ) from error
    _check_filter(stored.get("token_filter"), found.to_dict()["token_filter"])
    return {name: value for name, value in vars(found).items() if name != "min_doc_length"}


def _check_filter(recorded: str | None, given: str | None) -> None:
    """Refuse another filter of tokens, by its name; that of a script may have moved to a module."""
    module, _, name = str(recorded).partition(":")
    if given == recorded or (module == "__main__" and str(given).endswith(f":{name}")):
        return
    from bigtopic.errors import SettingError, argument

    raise SettingError(
        f"{argument('token_filter')} {given}: the texts of the model were tokenised with {recorded}; pass the same "
        "function"
    )
