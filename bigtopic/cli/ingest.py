"""`bigtopic ingest`: make a corpus from any source."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import click

from bigtopic.cli._options import (
    FUNCTION,
    PATH,
    as_json,
    completed,
    connected,
    number,
    parallel,
    random_state,
    source_file,
)
from bigtopic.support import discovery


def _ngrams(context: click.Context, parameter: click.Parameter, value: str) -> tuple[int, int]:
    shortest, _, longest = value.partition("-")
    if not shortest.isdigit() or not (longest or shortest).isdigit():
        raise click.BadParameter(f"{value!r} is not a range of lengths such as 1-2")
    return int(shortest), int(longest or shortest)


def _division(context: click.Context, parameter: click.Parameter, value: str | None) -> int | str | None:
    return int(value) if value is not None and value.isdecimal() else value


def _with_corpus(
    context: click.Context, parameter: click.Parameter, value: tuple[str, ...]
) -> tuple[str, ...]:
    """The sources; the only path that is given goes to the last argument, CORPUS, but is surely a source."""
    if not value:
        raise click.UsageError(
            "Missing argument 'CORPUS': give SOURCE and then CORPUS, the path of the new corpus"
        )
    return value


class _WithFormats(click.Command):
    """The verb; its help lists the formats, which are looked up when it is shown."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Formats"):
            formatter.write_text(", ".join(discovery.names("bigtopic.corpus.readers.formats", "match")))


@click.command("ingest", cls=_WithFormats, short_help="Make a corpus from documents in any format.")
@click.argument("sources", nargs=-1, callback=_with_corpus, metavar="SOURCE...", type=PATH)
@click.argument("corpus", type=PATH)
@click.option(
    "--format",
    "format",
    shell_complete=completed(lambda: discovery.modules("bigtopic.corpus.readers.formats")),
    help="Format, such as bag_of_words, json_lines, csv, text; detected by default.",
)
@click.option(
    "--vocabulary",
    help="File with a word per line, or a model: names of word ids, or for text the only words to keep.",
)
@click.option(
    "--text-column",
    multiple=True,
    help="Column with the text, in records and tables; give it again to join several.",
)
@click.option("--id-column", help="Column with the document's name, in records and tables.")
@click.option(
    "--column",
    "columns",
    multiple=True,
    help="Further column to keep; may be repeated. All are kept by default.",
)
@click.option("--author-column", help="Column with the authors or tags, in records and tables.")
@click.option(
    "--author-separator",
    help="What stands between names in a text with several authors, such as ','; '' takes it for one name. By default, "
    "it is divided where that is certain.",
)
@click.option(
    "--split-documents",
    callback=_division,
    help="Divide long texts into pieces of this many words, or into 'paragraphs'.",
)
@click.option(
    "--header/--no-header",
    default=None,
    help="Whether the first row of a table names its columns; judged by the rows below it by default.",
)
@click.option("--document-column", help="Column with the document, in rows of document, word and count.")
@click.option("--word-column", help="Column with the word, in rows of document, word and count.")
@click.option("--count-column", help="Column with the count, in rows of document, word and count.")
@click.option(
    "--stop-words",
    default="auto",
    show_default=True,
    help="A language such as 'english', 'auto' for that of the text, 'none', or a file with a word per line.",
)
@click.option("--token-pattern", help=r"Regular expression of a token; default two or more word characters.")
@click.option(
    "--token-filter",
    type=FUNCTION,
    help="Function of a token that returns what to count, or None to drop it: a stemmer, a lemmatiser.",
)
@click.option("--keep-case", is_flag=True, help="Do not lower-case text.")
@click.option(
    "--ngrams",
    "ngram_range",
    callback=_ngrams,
    default="1-1",
    show_default=True,
    help="Lengths of terms; 1-2 also takes pairs of words.",
)
@click.option(
    "--collocations",
    type=float,
    help="Join adjacent words whose normalised mutual information is above this, such as 0.5.",
)
@click.option("--encoding", default="utf-8", show_default=True, help="Encoding of text files.")
@click.option(
    "--encoding-errors",
    type=click.Choice(["strict", "replace", "ignore"]),
    default="strict",
    show_default=True,
    help="What to do with bytes that cannot be decoded.",
)
@click.option(
    "--min-df",
    type=number,
    help="Drop words in fewer documents than this number, or a share such as 0.001. With --append, takes new words "
    "where some were dropped before.",
)
@click.option(
    "--max-df",
    type=number,
    help="Drop words in more documents than this number, or a share such as 0.5, the default for text of 100 documents "
    "or more, which keeps what is all that a document has.",
)
@click.option("--max-features", type=click.IntRange(1), help="Keep only the most frequent words.")
@click.option(
    "--min-doc-length",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Drop documents with fewer tokens left.",
)
@click.option("--layer", help="Layer of an AnnData file with the counts; default X.")
@click.option("--use-raw", is_flag=True, help="Read the counts from raw of an AnnData file.")
@click.option("--weights", is_flag=True, help="Accept fractional counts.")
@click.option(
    "--keep-text", is_flag=True, default=None, help="Store the text, too, so that it can be shown again."
)
@click.option("--keep-order", is_flag=True, help="Keep the documents in the order of the source.")
@click.option("--append", is_flag=True, help="Add to CORPUS.")
@click.option(
    "--on-duplicate",
    type=click.Choice(["error", "skip", "replace"]),
    default="error",
    show_default=True,
    help="What --append does with a document whose id CORPUS has already.",
)
@click.option("--overwrite", is_flag=True, help="Replace CORPUS if it exists.")
@as_json
@random_state
@parallel
def command(
    sources: tuple[str, ...],
    corpus: str,
    keep_case: bool,
    keep_order: bool,
    as_json: bool,
    scheduler: str | None,
    **settings: Any,
) -> None:
    """Make CORPUS from files, globs, folders or URLs of one format, compressed or not; - reads standard input, where
    tables need --format csv.

    \b
    Examples:
        bigtopic ingest docword.pubmed.txt.gz pubmed.zarr --vocabulary vocab.pubmed.txt
        bigtopic ingest articles.jsonl.gz articles.zarr --text-column body --author-column authors
        bigtopic ingest notes/ notes.zarr --stop-words german --min-df 5 --max-df 0.2
        curl https://example.org/articles.jsonl.gz | bigtopic ingest - articles.zarr
    """
    from bigtopic.cli import _show
    from bigtopic.cli._facts import corpus_lines, facts_of_corpus, say
    from bigtopic.cli._stores import is_model
    from bigtopic.ingestion.ingest import ingest
    from bigtopic.parallel.progress import shown

    given = {name: value for name, value in settings.items() if value not in (None, ())}
    if "text_column" in given and len(given["text_column"]) == 1:
        given["text_column"] = given["text_column"][0]
    if "vocabulary" in given and is_model(given["vocabulary"]):
        from bigtopic.estimators.persistence import load_model

        given["vocabulary"] = load_model(given["vocabulary"]).vocabulary_
    if given["stop_words"] == "none":
        given["stop_words"] = None
    with connected(scheduler) as client, ExitStack() as stack:
        paths = [stack.enter_context(source_file(source)) for source in sources]
        made = ingest(
            paths[0] if len(paths) == 1 else paths,
            corpus,
            lowercase=not keep_case,
            shuffle=not keep_order,
            client=client,
            **given,
        )
    if not shown(None):  # else it has been said
        say(str(made.ingestion_))
    facts = facts_of_corpus(made)
    if as_json:
        _show.to_json(facts)
    else:
        _show.figures(corpus_lines(facts))
