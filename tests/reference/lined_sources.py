"""Sources of any size in every format that has lines, whose documents have ids, authors, a date and numbers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import numpy as np

N_WORDS, LENGTH = 2000, 60
NAMES = [f"Author {i}" for i in range(500)]


def documents(n_docs: int) -> Iterator[tuple[dict[str, Any], np.ndarray]]:
    """Each document's id, authors and columns, and the ids of its words, (LENGTH,)."""
    rng = np.random.default_rng(0)
    for i in range(n_docs):
        fields = {
            "id": f"doc-{i:07d}",
            "authors": [NAMES[i % 500], NAMES[i * 7 % 500]],
            "date": f"{1990 + i % 30}-{1 + i % 12:02d}-{1 + i % 28:02d}",
            "year": 1990 + i % 30,
            "score": i % 97 / 8,
        }
        yield fields, (N_WORDS * rng.random(LENGTH) ** 2).astype(int)


def text_of(words: np.ndarray) -> str:
    return " ".join(f"word{word}" for word in words.tolist())


def beside(n_docs: int) -> dict[str, Any]:
    """What belongs to the documents, as it is given beside a source that cannot hold it."""
    fields = [fields for fields, _ in documents(n_docs)]
    columns = {name: [own[name] for own in fields] for name in ("date", "year", "score")}
    return {
        "ids": [own["id"] for own in fields],
        "authors": [own["authors"] for own in fields],
        "columns": columns,
    }


def text(path: Path, n_docs: int) -> dict[str, Any]:
    with path.open("w") as file:
        file.writelines(text_of(words) + "\n" for _, words in documents(n_docs))
    return beside(n_docs)


def text_utf16(path: Path, n_docs: int) -> dict[str, Any]:
    with path.open("w", encoding="utf-16") as file:
        file.writelines(text_of(words) + "\n" for _, words in documents(n_docs))
    return beside(n_docs)


def json_lines(path: Path, n_docs: int) -> dict[str, Any]:
    with path.open("w") as file:
        file.writelines(
            json.dumps({**fields, "text": text_of(words)}) + "\n" for fields, words in documents(n_docs)
        )
    return {}


def json_array(path: Path, n_docs: int, indent: int | None = None) -> dict[str, Any]:
    with path.open("w") as file:
        json.dump(
            [{**fields, "text": text_of(words)} for fields, words in documents(n_docs)], file, indent=indent
        )
    return {}


def json_pretty(path: Path, n_docs: int) -> dict[str, Any]:
    return json_array(path, n_docs, indent=2)


def json_values(path: Path, n_docs: int) -> dict[str, Any]:
    with path.open("w") as file:
        file.writelines(
            json.dumps({**fields, "text": text_of(words)}, indent=2) + "\n"
            for fields, words in documents(n_docs)
        )
    return {}


def csv(path: Path, n_docs: int, delimiter: str = ",") -> dict[str, Any]:
    with path.open("w") as file:
        file.write(delimiter.join(["id", "authors", "date", "year", "score", "text"]) + "\n")
        for fields, words in documents(n_docs):
            fields["authors"] = "; ".join(fields["authors"])
            file.write(delimiter.join([*map(str, fields.values()), text_of(words)]) + "\n")
    return {}


def tsv(path: Path, n_docs: int) -> dict[str, Any]:
    return csv(path, n_docs, "\t")


def csv_triples(path: Path, n_docs: int) -> dict[str, Any]:
    with path.open("w") as file:
        file.write("document,word,count\n")
        for fields, words in documents(n_docs):
            file.writelines(f"{fields['id']},word{word},{n}\n" for word, n in Counter(words.tolist()).items())
    return _without_ids(n_docs)


def lda_c(path: Path, n_docs: int) -> dict[str, Any]:
    with path.open("w") as file:
        for _, words in documents(n_docs):
            pairs = Counter(words.tolist())
            file.write(" ".join([str(len(pairs)), *(f"{word}:{n}" for word, n in pairs.items())]) + "\n")
    return {**beside(n_docs), "vocabulary": [f"word{i}" for i in range(N_WORDS)]}


def svmlight(path: Path, n_docs: int) -> dict[str, Any]:
    with path.open("w") as file:
        for fields, words in documents(n_docs):
            pairs = sorted(Counter(words.tolist()).items())
            file.write(
                " ".join([str(fields["year"]), *(f"{word + 1}:{n}" for word, n in pairs), "#", fields["id"]])
                + "\n"
            )
    return {**beside(n_docs), "vocabulary": [f"word{i}" for i in range(N_WORDS)]}


def vowpal_wabbit(path: Path, n_docs: int) -> dict[str, Any]:
    with path.open("w") as file:
        for fields, words in documents(n_docs):
            pairs = " ".join(f"word{word}:{n}" for word, n in Counter(words.tolist()).items())
            file.write(f"{fields['year']} '{fields['id']}|words {pairs}\n")
    return _without_ids(n_docs)


def mallet(path: Path, n_docs: int) -> dict[str, Any]:
    with path.open("w") as file:
        file.writelines(
            f"{fields['id']}\tyear{fields['year']}\t{text_of(words)}\n" for fields, words in documents(n_docs)
        )
    return _without_ids(n_docs)


def mbox(path: Path, n_docs: int) -> dict[str, Any]:
    with path.open("w") as file:
        for fields, words in documents(n_docs):
            date = datetime.fromisoformat(fields["date"])
            file.write(
                f"From a@b.org {date:%a %b %d %H:%M:%S %Y}\nFrom: a@b.org\nDate: {format_datetime(date)}\n"
                f"Message-ID: <{fields['id']}>\n\n{text_of(words)}\n\n"
            )
    given = _without_ids(n_docs)
    del given["columns"]["date"]
    return given


def mediawiki(path: Path, n_docs: int) -> dict[str, Any]:
    page = (
        "<page><title>{0}</title><ns>0</ns><id>{1}</id><revision><id>{1}</id>"
        "<timestamp>2015-01-01T00:00:00Z</timestamp><text>{2}</text></revision></page>\n"
    )
    with path.open("w") as file:
        file.write('<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/">\n')
        file.write("<siteinfo><sitename>w</sitename></siteinfo>\n")
        for i, (fields, words) in enumerate(documents(n_docs), 1):
            file.write(page.format(fields["id"], i, text_of(words)))
        file.write("</mediawiki>\n")
    return _without_ids(n_docs)


def _without_ids(n_docs: int) -> dict[str, Any]:
    """What belongs to documents whose ids are in the source."""
    given = beside(n_docs)
    del given["ids"]
    return given


def _triples(path: Path, n_docs: int, head: str) -> dict[str, Any]:
    n_entries = sum(len({*words.tolist()}) for _, words in documents(n_docs))
    with path.open("w") as file:
        file.write(head.format(n_docs, N_WORDS, n_entries))
        for i, (_, words) in enumerate(documents(n_docs), 1):
            pairs = sorted(Counter(words.tolist()).items())
            file.writelines(f"{i} {word + 1} {n}\n" for word, n in pairs)
    return {**beside(n_docs), "vocabulary": [f"word{i}" for i in range(N_WORDS)]}


def bag_of_words(path: Path, n_docs: int) -> dict[str, Any]:
    return _triples(path, n_docs, "{}\n{}\n{}\n")


def matrix_market(path: Path, n_docs: int) -> dict[str, Any]:
    return _triples(path, n_docs, "%%MatrixMarket matrix coordinate integer general\n{} {} {}\n")


WRITERS: dict[str, Callable[[Path, int], dict[str, Any]]] = {
    "text.txt": text,
    "utf16.txt": text_utf16,
    "json_lines.jsonl": json_lines,
    "array.json": json_array,
    "pretty.json": json_pretty,
    "values.json": json_values,
    "csv.csv": csv,
    "tsv.tsv": tsv,
    "csv_triples.csv": csv_triples,
    "lda_c.dat": lda_c,
    "svmlight.svm": svmlight,
    "vowpal_wabbit.vw": vowpal_wabbit,
    "mallet.txt": mallet,
    "mbox.mbox": mbox,
    "mediawiki.xml": mediawiki,
    "bag_of_words.txt": bag_of_words,
    "matrix_market.mtx": matrix_market,
}
"""By the name of the file: writes a number of documents, and returns the further arguments of `ingest`."""
