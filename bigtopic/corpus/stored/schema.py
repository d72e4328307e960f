"""Names, types and sizes of the stored corpus: everything that a reader in another language must follow.

```
corpus.zarr/                zarr.json: attributes["bigtopic"] is the manifest, replaced in one write
  vocabulary/<generation>/  words, document_frequency, frequency
  authors/<generation>/     names, if any
    <number>/               indptr, indices: authors of that part, if they were attached later
  parts/<number>/
    X/                      AnnData csr_matrix 0.1.0: data, indices, indptr
    obs/                    AnnData dataframe 0.2.0: source_row, n_tokens, document_id and further columns
    text/                   indptr, utf8: the documents' text, if it was kept
    authors/                indptr, indices into the names, if any
```
Behind a URL, `<generation>` and `<number>` end with "-" and the token of their writer.
"""

from __future__ import annotations

__all__ = [
    "CHUNK",
    "COLUMN_TYPES",
    "FILL",
    "FORMAT",
    "FORMAT_VERSION",
    "MANIFEST",
    "MOST_NUMBERS",
    "MOST_WORDS",
    "PART_DOCUMENTS",
    "PART_ENTRIES",
    "STRING_CHUNK",
    "TYPES",
]

FORMAT = "bigtopic-corpus"
FORMAT_VERSION = 3  # 2 without text, 1 also without authors that were attached later
MANIFEST = "bigtopic"  # the attribute of the root group that holds the manifest

CHUNK = 1 << 18  # elements: 1 MiB of int32 before compression
STRING_CHUNK = 1 << 16  # strings
PART_ENTRIES = 1 << 23  # entries a part holds, about
MOST_WORDS = (1 << 31) - 1  # their ids are int32
MOST_NUMBERS = 10**12  # of commits and parts: their paths have at most 12 digits
PART_DOCUMENTS = 1 << 20  # documents a part holds at most, when they are stored in the source's order

TYPES = {
    "indptr": "int64",
    "indices": "int32",
    "data": "float32",
    "source_row": "int64",
    "n_tokens": "float64",
    "utf8": "uint8",
    "document_id": "string",
    "words": "string",
    "document_frequency": "int64",
    "frequency": "float64",
}
COLUMN_TYPES = ("int64", "float64", "bool", "string")

# A chunk that is missing reads as the fill value, so fill values are what no array may hold.
FILL = {
    "indices": -1,
    "indptr": -1,
    "data": 0,
    "source_row": -1,
    "n_tokens": -1,
    "document_frequency": -1,
    "utf8": 255,
}
