"""`bigtopic ingest`: make a corpus from any source."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from click import (
    BadParameter,
    Choice,
    Command,
    Context,
    HelpFormatter,
    IntRange,
    Parameter,
    UsageError,
    argument,
    option,
)
from click import command as verb

from bigtopic.cli.support import parameters, terminal
from bigtopic.cli.support.parameters import (
    COUNT,
    PATH,
    as_json,
    completed,
    connected,
    number,
    parallel,
    paths,
    source_file,
)
from bigtopic.cli.support.stores import is_model, model_at


def _ngrams(ctx: Context, parameter: Parameter, value: str) -> tuple[int, int]:
    shortest, _, longest = value.partition("-")
    longest = longest or shortest
    if not shortest.isdigit() or not longest.isdigit():
        raise BadParameter(f"{value!r} is not a range of lengths such as 1-2")
    return int(shortest), int(longest)


def _division(ctx: Context, parameter: Parameter, value: str | None) -> int | str | None:
    return int(value) if value is not None and value.isdecimal() else value


def _with_corpus(ctx: Context, parameter: Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """The sources; the only path that is given goes to the last argument, CORPUS, but is surely a source."""
    if not value:
        raise UsageError("Missing argument 'CORPUS': give SOURCE and then CORPUS, the path of the new corpus")
    return value


def _formats() -> Mapping[str, Any]:
    from bigtopic.corpus.readers.formats import known_formats

    return known_formats()


class _WithFormats(Command):
    """The verb; its help lists the formats, which are looked up when it is shown."""

    def format_epilog(self, ctx: Context, formatter: HelpFormatter) -> None:
        with formatter.section("Formats"):
            of_files = (name for name, format in _formats().items() if format.match)
            formatter.write_text(", ".join(of_files))


@verb("ingest", cls=_WithFormats, short_help="Make a corpus from documents in any format.")
@argument("sources", nargs=-1, callback=_with_corpus, metavar="SOURCE...", type=PATH)
@paths("corpus")
@option(
    "--format",
    "format",
    shell_complete=completed(_formats),
    help="Format, such as bag_of_words, json_lines, csv, text; detected by default.",
)
@option(
    "--vocabulary",
    help="File with a word per line, or a model: names of word ids, or for text the only words to keep.",
)
@option(
    "--text-column",
    multiple=True,
    help="Column with the text, in records and tables; give it again to join several.",
)
@option("--id-column", help="Column with the document's name, in records and tables.")
@option(
    "--column",
    "columns",
    multiple=True,
    help="Further column to keep; may be repeated. All are kept by default.",
)
@option("--author-column", help="Column with the authors or tags, in records and tables.")
@option(
    "--author-separator",
    help="What stands between names in a text with several authors, such as ','; '' takes it for one name. By default, "
    "it is divided where that is certain.",
)
@option(
    "--split-documents",
    callback=_division,
    help="Divide long texts into pieces of this many words, or into 'paragraphs'.",
)
@option(
    "--header/--no-header",
    default=None,
    help="Whether the first row of a table names its columns; judged by the rows below it by default.",
)
@option("--document-column", help="Column with the document, in rows of document, word and count.")
@option("--word-column", help="Column with the word, in rows of document, word and count.")
@option("--count-column", help="Column with the count, in rows of document, word and count.")
@option(
    "--stop-words",
    default="auto",
    help="A language such as 'english', 'auto' for the text's own, 'none', or a file with a word per line.",
)
@option("--token-pattern", help=r"Regular expression of a token; default two or more word characters.")
@parameters.token_filter(
    "Function of a token that returns what to count, or None to drop it: a stemmer, a lemmatiser."
)
@option("--keep-case", is_flag=True, help="Do not lower-case text.")
@option(
    "--ngrams",
    "ngram_range",
    callback=_ngrams,
    default="1-1",
    help="Lengths of terms; 1-2 also takes pairs of words.",
)
@option(
    "--collocations",
    type=float,
    help="Join adjacent words whose normalised mutual information is above this, such as 0.5.",
)
@option("--encoding", default="utf-8", help="Encoding of text files.")
@option(
    "--encoding-errors",
    type=Choice(["strict", "replace", "ignore"]),
    default="strict",
    help="What to do with bytes that cannot be decoded.",
)
@option(
    "--min-df",
    type=number,
    help="Drop words in fewer documents than this number, or a share such as 0.001. With --append, takes new words "
    "where some were dropped before.",
)
@option(
    "--max-df",
    type=number,
    help="Drop words in more documents than this number, or a share such as 0.5, the default for text of 100 documents "
    "or more, which keeps the words of documents that have no others.",
)
@option("--max-features", type=COUNT, help="Keep only the most frequent words.")
@option("--min-doc-length", type=IntRange(0), default=0, help="Drop documents with fewer tokens left.")
@option("--layer", help="Layer of an AnnData file with the counts; default X.")
@option("--use-raw", is_flag=True, help="Read the counts from raw of an AnnData file.")
@option("--weights", is_flag=True, help="Accept fractional counts.")
@option("--keep-text", is_flag=True, default=None, help="Store the text, too, so that it can be shown again.")
@option("--keep-order", is_flag=True, help="Keep the documents in the order of the source.")
@option("--append", is_flag=True, help="Add to CORPUS.")
@option(
    "--on-duplicate",
    type=Choice(["error", "skip", "replace"]),
    default="error",
    help="What --append does with a document whose id CORPUS has already.",
)
@parameters.overwrite("CORPUS")
@as_json
@parameters.random_state
@parallel
def command(
    sources: tuple[str, ...],
    corpus: str,
    keep_case: bool,
    keep_order: bool,
    as_json: bool,
    scheduler: str | None,
    n_threads: int | None,
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
    from bigtopic.cli.support.facts import corpus_lines, facts_of_corpus
    from bigtopic.ingestion.ingest import ingest
    from bigtopic.parallel.progress import shown

    given = {name: value for name, value in settings.items() if value not in (None, ())}
    if len(given.get("text_column", ())) == 1:
        given["text_column"] = given["text_column"][0]
    if "vocabulary" in given and is_model(given["vocabulary"]):
        given["vocabulary"] = model_at(given["vocabulary"]).vocabulary_
    if given["stop_words"] == "none":
        given["stop_words"] = None
    with connected(scheduler, n_threads) as work, ExitStack() as stack:
        found = [stack.enter_context(source_file(source)) for source in sources]
        made = ingest(
            found[0] if len(found) == 1 else found,
            corpus,
            lowercase=not keep_case,
            shuffle=not keep_order,
            **work,
            **given,
        )
    if not shown(None):  # else it has been said
        terminal.aside(str(made.ingestion_))
    facts = facts_of_corpus(made)
    terminal.result(facts, corpus_lines(facts), as_json)
