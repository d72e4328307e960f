"""What other libraries read in a file that was accepted: another answer than theirs is a defect.

They are asked only then: what they accept, and how they refuse, is their affair.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from reference.parsers import Document, Unsure

__all__ = ["PEERS", "ask"]

Reading = list[dict[int, float]]


def ask(name: str, path: Path, words: Sequence[str] | None) -> list[Document]:
    """The documents as another library reads them; `words` are the names of ids, None for the ids themselves.

    Raises
    ------
    Unsure
        When it cannot say.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [_named(document, words) for document in PEERS[name](path)]
    except Exception as error:  # theirs
        raise Unsure(f"{name}: {error}") from error


def _named(document: dict[Any, float], words: Sequence[str] | None) -> Document:
    counts = {key: n for key, n in document.items() if np.float32(n) != 0}
    return {
        key if isinstance(key, str) else str(key) if words is None else words[key]: n
        for key, n in counts.items()
    }


def _rows(matrix: Any) -> Reading:
    from scipy.sparse import csr_matrix

    rows = csr_matrix(matrix, dtype=np.float64)
    rows.sum_duplicates()
    parts = zip(rows.indptr, rows.indptr[1:], strict=False)
    return [dict(zip(rows.indices[a:b].tolist(), rows.data[a:b].tolist(), strict=True)) for a, b in parts]


def _bags(corpus: Any) -> Reading:
    documents: Reading = []
    for bag in corpus:
        documents.append({})
        for word, n in bag:
            documents[-1][word] = documents[-1].get(word, 0.0) + n
    return documents


def scipy_market(path: Path) -> Reading:
    from scipy.io import mmread

    return _rows(mmread(path, spmatrix=True))


def sklearn_svmlight(path: Path) -> Reading:
    from sklearn.datasets import load_svmlight_file

    return _rows(load_svmlight_file(str(path))[0])


def gensim_lda_c(path: Path) -> Reading:
    from gensim.corpora import BleiCorpus

    words = path.with_name("peer-words.txt")
    words.write_text("".join(f"{i}\n" for i in range(1000)))
    try:
        return _bags(BleiCorpus(str(path), fname_vocab=str(words)))
    finally:
        words.unlink()


def gensim_uci(path: Path) -> Reading:
    from gensim.corpora.ucicorpus import UciReader

    reader = UciReader(str(path))
    reader.transposed = True
    return _bags([bag for _, bag in reader])


def anndata_store(path: Path) -> list[dict[str, float]]:
    import anndata

    found = (anndata.read_zarr if path.is_dir() else anndata.read_h5ad)(path)
    names = found.var_names.tolist()
    return [{names[w]: n for w, n in row.items()} for row in _rows(found.X)]


def stdlib_csv(path: Path) -> list[dict[str, float]]:
    import csv

    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = [row for row in csv.reader(file, strict=True) if row]
    return _table(header, rows, r"\S+")


def stdlib_json(path: Path) -> list[dict[str, float]]:
    import json

    records = [json.loads(line) for line in path.read_text("utf-8").split("\n") if line.strip()]
    names = {tuple(record) for record in records}
    if len(names) != 1:
        raise ValueError("fields that come and go")
    header = next(iter(names))
    return _table(header, [list(record.values()) for record in records], r"\S+")


def arrow_parquet(path: Path) -> list[dict[str, float]]:
    import pyarrow.parquet as pq

    table = pq.read_table(path, use_threads=False)
    rows = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
    return _table(table.column_names, rows, _DEFAULT)


def openpyxl_book(path: Path) -> list[dict[str, float]]:
    from openpyxl import load_workbook

    header, *rows = load_workbook(path).active.values
    return _table(header, [row for row in rows if any(cell is not None for cell in row)], _DEFAULT)


_DEFAULT = r"[a-z]+\d\d"
"""Words that the tokeniser takes as they are."""


def _table(header: Sequence[Any], rows: Sequence[Sequence[Any]], word: str) -> list[dict[str, float]]:
    """Documents of the tables in `seeds`, whose header is intact."""
    if any(len(row) != len(header) for row in rows):
        raise ValueError("another number of cells")
    if tuple(header) == ("document", "word", "count"):
        documents: dict[str, dict[str, float]] = {}
        for name, term, n in rows:
            if any(cell is None or str(cell) != str(cell).strip() or cell == "" for cell in (name, term, n)):
                raise ValueError("blanks and empty cells")
            document = documents.setdefault(str(name), {})
            document[str(term)] = document.get(str(term), 0.0) + float(n)
        return list(documents.values())
    (body,) = {"text", "tokens", "counts"} & {*header}
    found = [row[list(header).index(body)] for row in rows]
    if body == "text":
        return [_counted(text, word) for text in found]
    if body == "counts":
        return [{term: float(n) for term, n in document.items()} for document in found]
    if not all(isinstance(token, str) for tokens in found for token in tokens):
        raise ValueError("tokens of another type")
    return [dict(Counter(map(str, tokens))) for tokens in found]


def _counted(text: str, word: str = r"\S+") -> dict[str, float]:
    """Words between blanks; raises ValueError where another tokeniser may see others."""
    if re.fullmatch(r"[\x20-\x7e\t\r\n]*", text) is None:
        raise ValueError("characters that are folded or joined in more than one way")
    words = text.lower().split()
    if not all(re.fullmatch(word, own) for own in words):
        raise ValueError("words that may be divided")
    return dict(Counter(words))


def stdlib_mailbox(path: Path) -> list[dict[str, float]]:
    from mailbox import mbox

    data = path.read_bytes()
    begun = re.findall(rb"(?:\A|\n\n)From \S+ \w+ \w+ +\d+ \d\d:\d\d:\d\d \d{4}\n[\w-]+: ", data)
    if b"\r" in data or len(begun) != len(re.findall(rb"^From ", data, re.MULTILINE)):
        raise ValueError("a line that may begin a message")
    documents = []
    with closing(mbox(path, create=False)) as messages:
        found = list(messages)
    for message in found:
        if message.is_multipart() or message.get_content_type() != "text/plain" or message.defects:
            raise ValueError("more than a text")
        body = message.get_payload(decode=True).decode("utf-8")
        documents.append(_counted(f"{message.get('Subject', '')}\n{body}"))
    return documents


def etree_mediawiki(path: Path) -> list[dict[str, float]]:
    from xml.etree import ElementTree

    documents = []
    for page in ElementTree.parse(path).iterfind("{*}page"):
        if page.findtext("{*}ns") == "0" and page.find("{*}redirect") is None:
            text = page.findall("{*}revision/{*}text")[-1].text or ""
            if re.fullmatch(r"[\w ]*", text) is None:
                raise ValueError("markup")
            documents.append(_counted(text))
    return documents


def scipy_tenx(path: Path) -> list[dict[str, float]]:
    if path.is_dir():
        import csv

        from scipy.io import mmread

        with (path / "features.tsv").open(encoding="utf-8", newline="") as file:
            names = [row[1] for row in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]
        rows = _rows(mmread(path / "matrix.mtx", spmatrix=True).T)
    else:
        import h5py
        from scipy.sparse import csc_matrix

        with h5py.File(path) as file:
            group = file["matrix"]
            names = [name.decode() for name in group["features/name"][:]]
            parts = tuple(group[name][:] for name in ("data", "indices", "indptr"))
            rows = _rows(csc_matrix(parts, shape=tuple(group["shape"][:])).T)
    if len({*names}) != len(names):
        raise ValueError("two genes of one name")
    return [{names[w]: n for w, n in row.items()} for row in rows]


PEERS: dict[str, Callable[[Path], list[Any]]] = {
    "matrix_market": scipy_market,
    "svmlight": sklearn_svmlight,
    "lda_c": gensim_lda_c,
    "bag_of_words": gensim_uci,
    "anndata": anndata_store,
    "csv": stdlib_csv,
    "json_lines": stdlib_json,
    "parquet": arrow_parquet,
    "xlsx": openpyxl_book,
    "mbox": stdlib_mailbox,
    "mediawiki": etree_mediawiki,
    "tenx": scipy_tenx,
}
"""By format; those of tables read the layouts in `seeds`. Lines of text have their parser in `reference.parsers`."""
