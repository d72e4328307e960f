"""Authors in a file of their own: a JSON object, or a table of documents and names."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

from bigtopic.corpus.readers.containers.files import File
from bigtopic.errors import InputError
from bigtopic.wording import counted

__all__ = ["authors_of_file"]

_LIMIT = 1 << 28  # bytes: some 10 million pairs
_HEADER = ["document", "author"]


def authors_of_file(path: str, options: Mapping[str, Any] | None = None) -> Any:
    """What `Corpus.with_authors` takes, from a file that may be compressed.

    Parameters
    ----------
    path : JSON as `with_authors` takes it; or CSV, with tabs TSV, of two columns: document id and author, a row for
        each pair. A first row "document,author" is the header
    options : passed to fsspec

    Raises
    ------
    InputError
        When it is neither; names the line.
    """
    file = File(path, options)
    if not file.exists():
        raise InputError(f"{path} does not exist or is not a file; check the path")
    try:
        text = file.content(_LIMIT, "authors; pass them to Corpus.with_authors in Python").decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.start} is not UTF-8; convert it with iconv") from None
    return _from_json(text, path) if text.lstrip()[:1] in ("{", "[") else _from_table(text, path)


def _from_json(text: str, path: str) -> Any:
    def once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value in pairs:
            if name in found:
                raise InputError(f"{path} lists {name!r} twice; join the two lists")
            found[name] = value
        return found

    try:
        return json.loads(text, object_pairs_hook=once)
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path}, line {error.lineno}, is not JSON: {error.msg}; correct it, or give a table of two columns"
        ) from None
    except RecursionError:
        raise InputError(f"{path} nests lists or objects too deeply; lists of names are enough") from None


def _from_table(text: str, path: str) -> list[tuple[str, str]]:
    first = text.partition("\n")[0]
    rows = csv.reader(io.StringIO(text, newline=""), delimiter="\t" if "\t" in first else ",", strict=True)
    pairs: list[tuple[str, str]] = []
    try:
        for row in rows:
            if row == _HEADER and not pairs:
                continue
            if len(row) != 2:
                raise InputError(
                    f"{path}, line {rows.line_num}, has {counted(len(row), 'column')}; give two, document id and author"
                )
            pairs.append((row[0], row[1]))
    except csv.Error as error:
        raise InputError(f"{path}, line {rows.line_num}: {error}; correct it") from None
    return pairs
