"""What other libraries read in a file that was accepted: another answer than theirs is a defect.

They are asked only then: what they accept, and how they refuse, is their affair.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
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


PEERS: dict[str, Callable[[Path], list[Any]]] = {
    "matrix_market": scipy_market,
    "svmlight": sklearn_svmlight,
    "lda_c": gensim_lda_c,
    "bag_of_words": gensim_uci,
    "anndata": anndata_store,
}
"""By format; texts and tables have their own parsers in `reference.parsers`, over `json`."""
