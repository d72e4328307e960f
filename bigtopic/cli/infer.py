"""`bigtopic infer`: the topics of documents."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from tempfile import TemporaryDirectory
from typing import Any

from click import UsageError, option
from click import command as verb

from bigtopic.cli.support import parameters, terminal
from bigtopic.cli.support.parameters import (
    STANDARD,
    as_json,
    completed,
    connected,
    parallel,
    paths,
    source_file,
)
from bigtopic.cli.support.stores import corpus_at, is_corpus, model_at
from bigtopic.errors import ModelError, SettingError, argument
from bigtopic.wording import counted


@verb("infer", short_help="Write the topics of documents.")
@paths("model", "documents", "theta")
@option("--min-probability", type=float, default=0.01, help="Leave out smaller entries.")
@option("--top-k", type=int, help="Keep only the largest entries of each document.")
@option("--text-column", help="Column with the text, in records and tables.")
@parameters.token_pattern
@parameters.token_filter("The filter of tokens of the model's texts, if there was one.")
@option(
    "--to",
    "format",
    help="Format of THETA: zarr, csv, tsv, jsonl, parquet or h5ad; default its ending, or csv for -.",
)
@option(
    "--inference",
    shell_complete=completed(lambda: import_module("bigtopic.kernels").names()),
    help="The kernel that infers the topics of documents, such as ope; default the method's.",
)
@parameters.method_options(
    "An option of that kernel, such as eps=1e-6; may be repeated. See 'bigtopic methods NAME'."
)
@parameters.overwrite("THETA")
@parameters.random_state
@as_json
@parallel
def command(
    model: str,
    documents: str,
    theta: str,
    text_column: str | None,
    token_pattern: str | None,
    token_filter: Any,
    format: str | None,
    overwrite: bool,
    as_json: bool,
    scheduler: str | None,
    n_threads: int | None,
    inference: str | None,
    options: Mapping[str, Any] | None,
    random_state: int,
    **entries: Any,
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
    from bigtopic.estimators.topic_stores.output import check_target

    _check(documents, theta, as_json, overwrite)
    piped = theta == STANDARD
    target, format = (sys.stdout.buffer, format or "csv") if piped else (theta, format)
    chosen: dict[str, Any] = {**entries, "format": format, "overwrite": overwrite}
    check_target(target, **chosen)
    estimator = model_at(model, token_pattern=token_pattern)
    read = _as_corpus(documents, estimator, text_column, token_filter, n_threads)
    with connected(scheduler, n_threads) as work, read as corpus:
        written = estimator.set_params(**work).transform_to(
            corpus, target, inference=inference, options=options, random_state=random_state, **chosen
        )
    if not piped:
        n_docs = len(corpus)
        said = f"Wrote the topics of {counted(n_docs, 'document')} to {written}"
        terminal.result({"wrote": written, "documents": n_docs}, said, as_json)


def _check(documents: str, theta: str, as_json: bool, overwrite: bool) -> None:
    """Refuse options and paths that do not go together."""
    from bigtopic.storage.place import Place

    if theta == STANDARD:
        if as_json or overwrite:
            raise UsageError("--json and --overwrite have no effect if THETA is -: leave them out")
    elif documents != STANDARD and Place.of(documents).real == Place.of(theta).real:
        raise UsageError(f"{theta} is both DOCUMENTS and THETA: give THETA another path")


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
    if is_corpus(source):
        if text_column or token_filter:
            given = argument("text_column", text_column) if text_column else argument("token_filter")
            raise SettingError(
                f"{given}: {source} is a corpus, whose words are counted already; leave it out"
            )
        yield corpus_at(source)
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

    recorded = stored.get("token_filter")
    if token_filter is not None and recorded is None:
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
    given = found.to_dict()["token_filter"]
    module, _, name = str(recorded).partition(":")
    moved = module == "__main__" and str(given).endswith(f":{name}")  # from a script to a module
    if given != recorded and not moved:
        raise SettingError(
            f"{argument('token_filter')} {given}: the texts of the model were tokenised with {recorded}; pass the same "
            "function"
        )
    return {name: value for name, value in vars(found).items() if name != "min_doc_length"}
