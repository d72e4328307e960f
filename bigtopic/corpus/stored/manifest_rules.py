"""Allowed values of each manifest field: a store may come from any source, and compiled loops trust its figures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from bigtopic.corpus.columns import array_name
from bigtopic.corpus.stored.schema import COLUMN_TYPES, MOST_NUMBERS, MOST_WORDS
from bigtopic.corpus.summary.ingestion_record import INGESTION
from bigtopic.errors import InputError
from bigtopic.storage.json_rules import (
    FieldError,
    anything,
    either,
    flag,
    listing,
    mapping,
    number,
    one_of,
    optional,
    record,
    text,
    whole,
)

__all__ = ["TEXT", "check_manifest"]

_MOST_DOCUMENTS = (1 << 31) - 1  # of a part: positions in it are int32

# Arrays are files below the part: no name may lead elsewhere, or to the metadata of the folder.
_SEGMENT = r"(?!\.{1,2}(?:/|$)|zarr\.json(?:/|$))[^/\\\x00]+"
_ARRAY = text(
    rf"(?s)X/(?:indptr|indices|data)|authors/(?:indptr|indices)|text/(?:indptr|utf8)|obs/{_SEGMENT}",
    "an array of X, obs, authors or text",
)
_HEX8 = text(r"[0-9a-f]{8}", "8 hexadecimal digits")
_HEX32 = text(r"[0-9a-f]{32}", "32 hexadecimal digits")


_NUMBER = r"[0-9]{8,12}(-[0-9a-f]{12})?"


def _path(folder: str) -> Any:
    return text(
        f"{folder}/{_NUMBER}", f"{folder}/ and a number of 8 to 12 digits, perhaps with the id of a writer"
    )


_LAYER = text(f"authors/{_NUMBER}/{_NUMBER}", "authors/ and two numbers of 8 to 12 digits")


def _column_name(value: Any, where: str) -> None:
    try:
        array_name(value)
    except InputError as error:
        raise FieldError(f"{where}: {error}") from error


def _names(folder: str) -> Any:
    return record({"path": _path(folder), "size": whole(0, MOST_WORDS), "named": flag, "fingerprint": _HEX32})


_PART = record(
    {
        "path": _path("parts"),
        "n_docs": whole(0, _MOST_DOCUMENTS),
        "nnz": whole(),
        "n_tokens": number(),
        "n_bytes": whole(),
        "crc32": record(
            dict.fromkeys(("X/indptr", "X/indices", "X/data", "obs/source_row", "obs/n_tokens"), _HEX8)
        ),
    },
    {"authors": optional(_LAYER)},
)
_CHECKSUMS = mapping(_ARRAY, _HEX8)

_WORDS = listing(text())
_PAIRS = listing(listing(text(), length=2))
TEXT = record(
    {},
    {
        "token_pattern": text(),
        "lowercase": flag,
        "stop_words": optional(either(_WORDS, one_of("english"))),
        "ngram_range": listing(whole(1, 1000), length=2),
        "collocations": optional(either(_PAIRS, number(-1.0, 1.0))),
        "token_filter": optional(text()),
        "tokenizer": optional(text()),
        "min_doc_length": whole(),
        "encoding": text(),
        "encoding_errors": one_of("strict", "replace", "ignore"),
        "rules": whole(1, 2),
        "collocation_pairs": _PAIRS,
        "known_share": number(0.0, 1.0 + 1e-9),
        "max_df": number(0.0),
        "common_words": _WORDS,
    },
)
"""Settings of a tokeniser, in a corpus or a model."""

_RULES = record(
    {
        "n_docs": whole(),
        "n_words": whole(),
        "nnz": whole(),
        "n_tokens": number(),
        "generation": whole(0, MOST_NUMBERS - 1),
        "next_part": whole(0, MOST_NUMBERS),
        "n_rows": whole(),
        "seed": whole(-(1 << 63), (1 << 64) - 1),
        "shuffled": flag,
        "vocabulary": _names("vocabulary"),
        "authors": optional(_names("authors")),
        "columns": mapping(_column_name, one_of(*COLUMN_TYPES)),
        "has_ids": flag,
        "text": optional(TEXT),
        "words": record({}, {"closed": flag, "pruned": flag}),
        "parts": listing(_PART),
    },
    {"replaced": listing(_path("authors")), "ingestion": optional(INGESTION)},
)


def check_manifest(values: Mapping[str, Any], where: str) -> None:
    """Check every field, then their consistency.

    Raises
    ------
    FieldError
        Naming the field.
    """
    _RULES(values, where)
    for name in ("text", "words"):
        anything(values[name], f"{where} {name}")
    for i, part in enumerate(values["parts"]):
        _CHECKSUMS(part["crc32"], f"{where} parts[{i}].crc32")
    _check_paths(values, where)
    _check_sums(values, where)


def _check_paths(values: Mapping[str, Any], where: str) -> None:
    paths = [part["path"] for part in values["parts"]]
    for first, second in pairwise(sorted(paths)):
        if first == second:
            raise FieldError(f"{where} parts lists {first} twice")
    last = max((int(path.split("/")[1].split("-")[0]) for path in paths), default=-1)
    if values["next_part"] <= last:
        raise FieldError(f"{where} next_part is {values['next_part']}, but part {last} already exists")


def _check_sums(values: Mapping[str, Any], where: str) -> None:
    expected = {"n_words": values["vocabulary"]["size"]}
    for name in ("n_docs", "nnz", "n_tokens"):
        expected[name] = sum(part[name] for part in values["parts"])
    for name, value in expected.items():
        if not math.isclose(values[name], value, rel_tol=1e-9 if name == "n_tokens" else 0.0):
            raise FieldError(
                f"{where} {name} is {values[name]}, but the manifest's other figures give {value}"
            )
    if values["n_rows"] < values["n_docs"]:
        raise FieldError(
            f"{where} n_rows is {values['n_rows']}, but {values['n_docs']} documents need one row each"
        )
