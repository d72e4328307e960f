"""Case number n: a format, and what a generator seeded with n makes of it."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import pickle
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from fuzz import arrays, hdf5, stores
from fuzz import documents as objects
from fuzz.mutate import Files, mutate_bytes, mutate_files
from fuzz.oracle import Case, Refused, judge, snapshot
from fuzz.peers import PEERS, ask
from fuzz.seeds import SEEDS, WORDS, Seed
from reference.parsers import PARSERS

__all__ = ["FORMATS", "format_of", "ingest_object", "make_bases", "prepare"]

_PACK: dict[str, Callable[[bytes], bytes]] = {
    "gz": partial(gzip.compress, mtime=0),
    "bz2": bz2.compress,
    "xz": lzma.compress,
}
Run = Callable[[], Refused | None]
Bases = tuple[dict[str, Seed], dict[str, Files]]

_SOURCE_NAMES = (
    "the source holds no documents",
    "no word is left",
    "ids ends",
    "ids has",
    "columns=",
    "vocabulary=",
    "corpus.zarr",
)
_OBJECT_NAMES = (
    *_SOURCE_NAMES, "the iterable", "the matrix", "the array", "the source", "vocabulary", "authors", "columns",
    "min_df", "max_df", "max_features", "min_doc_length", "random_state", "stop_words", "ngram_range", "token_pattern",
    "encoding", "collocations",
)  # fmt: skip
"""What an error about an argument, not about a file, may name."""


def make_bases(folder: Path) -> Bases:
    """Everything that mutations begin with; made once."""
    return {name: make() for name, make in SEEDS.items()}, stores.make_stores(folder)


def _ingest(source: Any, target: Path, keywords: dict[str, Any]) -> Any:
    import bigtopic

    return bigtopic.ingest(source, target, client=False, n_threads=1, progress=False, **keywords)


def _judged(source: Any, keywords: dict[str, Any], folder: Path, case_of: dict[str, Any]) -> Run:
    """Ingest into a folder of the case; a refusal leaves everything as it was."""
    target = folder / "corpus.zarr"
    case = Case(run=lambda: _ingest(source, target, keywords), **case_of)
    return lambda: judge(case, lambda: snapshot(folder))


def _resolved(keywords: dict[str, Any], folder: Path) -> dict[str, Any]:
    return {name: folder / value if isinstance(value, Path) else value for name, value in keywords.items()}


def _file_case(name: str, bases: Bases, folder: Path, rng: Random) -> tuple[str, Run]:
    """A source of files whose bytes, or JSON, are mutated; sometimes compressed, sometimes appended to a corpus."""
    seed = bases[0][name]
    files, how = _unconsolidated(seed.files, rng), []
    for _ in range(rng.choice([0, 1, 1, 1, 1, 2, 3])):
        files, what = mutate_files(files, rng, list(seed.mutated) or None)
        how.append(what)
    entry, plain = seed.entry, files.get(seed.entry)
    if (
        plain is not None
        and not seed.format.startswith(("anndata", "saved", "parquet", "tenx", "xlsx"))
        and rng.random() < 0.2
    ):
        entry, files, intact, what = _packed(entry, files, rng)
        how.append(what)
        plain = plain if intact else None
    (folder / "in").mkdir()
    stores.write(folder / "in", files)
    if "/" in next(iter(files)) and rng.random() < 0.15:
        from fuzz.mutate import mutate_tree

        (folder / "in" / "outside").mkdir()
        how.append(mutate_tree(folder / "in" / entry, folder / "in" / "outside", rng))
    keywords = _resolved(seed.keywords, folder / "in")
    forced = rng.random() < 0.7
    if forced:
        keywords["format"] = seed.format
    expected = None
    if forced and seed.parser is not None and plain is not None:
        expected = lambda: PARSERS[seed.parser](plain, WORDS)  # noqa: E731
    if rng.random() < 0.1:
        stores.copy_good(folder, bases[1])
        keywords, expected = {**keywords, "append": True}, None
        for given in ("token_pattern", "ngram_range"):
            keywords.pop(given, None)
    names = [path.rsplit("/", 1)[-1] for path in (entry, *files)]
    case: dict[str, Any] = {"named": [*names, *_SOURCE_NAMES], "expected": expected, "how": ", ".join(how)}
    own_words = seed.mutated or any("vocab." in name for name in files)  # in a file that others do not read
    if forced and seed.format in PEERS and entry == seed.entry and not own_words and "append" not in keywords:
        words = keywords.get("vocabulary")
        case["peer"] = lambda: ask(seed.format, folder / "in" / entry, words)
    return f"{', '.join(how)}{' (forced)' if forced else ''}", _judged(
        folder / "in" / entry, keywords, folder, case
    )


def _unconsolidated(files: Files, rng: Random) -> Files:
    """Without Zarr's copy of all metadata, half of the time, so that those of the arrays are read."""
    if rng.random() < 0.5:
        return files
    files = {name: data for name, data in files.items() if not name.endswith(".zmetadata")}
    if "toy.zarr/zarr.json" in files:
        document = json.loads(files["toy.zarr/zarr.json"])
        document.pop("consolidated_metadata", None)
        files["toy.zarr/zarr.json"] = json.dumps(document).encode()
    return files


def _packed(entry: str, files: Files, rng: Random) -> tuple[str, Files, bool, str]:
    """The entry compressed, and the compressed bytes perhaps mutated."""
    pack = {**_PACK, "zst": _zstandard}
    suffix = rng.choice(sorted(pack))
    data, what = pack[suffix](files[entry]), suffix
    intact = rng.random() < 0.4
    if not intact:
        data, done = mutate_bytes(data, rng)
        what = f"{suffix}: {done}"
    rest = {name: value for name, value in files.items() if name != entry}
    return f"{entry}.{suffix}", {**rest, f"{entry}.{suffix}": data}, intact, what


def _zstandard(data: bytes) -> bytes:
    import zstandard

    return zstandard.compress(data)


_BOMBS = {"toy.txt": "text", "toy.jsonl": "json_lines", "toy.csv": "csv", "toy.tsv": "csv", "toy.dat": "lda_c",
          "toy.svm": "svmlight", "docword.toy.txt": "bag_of_words", "toy.mtx": "matrix_market"}  # fmt: skip


def line_bomb(bases: Bases, folder: Path, rng: Random) -> tuple[str, Run]:
    """A few hundred thousand bytes that decompress to 3 GB without a line end: as any file of text."""
    (folder / "in").mkdir()
    name = rng.choice([*_BOMBS, "folder", "words.txt", "ids.txt"])
    source, path = folder / "in" / f"{name}.gz", folder / "in" / f"{name}.gz"
    keywords: dict[str, Any] = {}
    if name == "folder":
        source = folder / "in/texts"
        source.mkdir()
        path = source / "toy.txt.gz"
    elif name in _BOMBS:
        keywords = {"format": _BOMBS[name]} if rng.random() < 0.5 else {}
    else:
        keywords = {"vocabulary" if name == "words.txt" else "ids": path}
        source = folder / "in/toy.txt"
        source.write_bytes(b"a b\nc\n")
    path.write_bytes(_bomb())
    case = {"named": [path.name], "expected": None, "how": name}
    return name, _judged(source, keywords, folder, case)


@cache
def _bomb() -> bytes:
    block = gzip.compress(b"7" * (1 << 26), 1, mtime=0)
    return block * 48


def npz_arrays(bases: Bases, folder: Path, rng: Random) -> tuple[str, Run]:
    data, how, parts = arrays.make_npz(rng)
    (folder / "in").mkdir()
    (folder / "in/toy.npz").write_bytes(data)
    case = {
        "named": ["toy.npz", *_SOURCE_NAMES],
        "expected": lambda: arrays.matrix_documents(parts),
        "how": how,
    }
    return how, _judged(folder / "in/toy.npz", {"vocabulary": WORDS}, folder, case)


def h5ad_arrays(bases: Bases, folder: Path, rng: Random) -> tuple[str, Run]:
    """A sound HDF5 file; bytes of a file outside must never be read as counts."""
    (folder / "in").mkdir()
    path, secret = folder / "in/toy.h5ad", folder / "in/secret"
    secret.write_bytes(b"\x07" * 500)
    path.write_bytes(bases[0][rng.choice(["h5ad", "h5ad", "h5ad_by_column"])].files["toy.h5ad"])
    how, parts = hdf5.make_h5ad(path, secret, rng)

    def expected() -> Any:
        from reference.parsers import Invalid, Unsure

        if parts is not None:
            return arrays.matrix_documents(parts)
        raise Invalid(how) if how.startswith(("h5_external", "h5_virtual")) else Unsure(how)

    case = {"named": ["toy.h5ad", *_SOURCE_NAMES], "expected": expected, "how": how}
    return how, _judged(path, {}, folder, case)


def zarr_code(bases: Bases, folder: Path, rng: Random) -> tuple[str, Run]:
    """A Zarr v2 array whose filter runs code when it is decoded."""
    files = dict(bases[0]["zarr_v2"].files)
    array = rng.choice(["obs/_index", "var/_index", "X/data", "X/indptr", "obs/year"])
    document = json.loads(files[f"toy.zarr/{array}/.zarray"])
    document |= {"filters": [{"id": rng.choice(["pickle", "json2", "msgpack2"])}], "compressor": None}
    if rng.random() < 0.7:
        document["dtype"] = "|O"
    files[f"toy.zarr/{array}/.zarray"] = json.dumps(document).encode()
    (folder / "in").mkdir()
    for chunk in [name for name in files if name.startswith(f"toy.zarr/{array}/0")]:
        files[chunk] = pickle.dumps(_Touch(str(folder / "in/code-was-run")))
    files.pop("toy.zarr/.zmetadata", None)
    stores.write(folder / "in", files)
    case = {"named": ["toy.zarr", *_SOURCE_NAMES], "expected": None, "how": array}
    run = _judged(folder / "in/toy.zarr", {}, folder, case)

    def checked() -> Refused | None:
        from fuzz.oracle import Failure

        try:
            return run()
        finally:
            if (folder / "in/code-was-run").exists():
                raise Failure("code in a file was run")

    return array, checked


class _Touch:
    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (Path(self.path),)


def parquet_tables(bases: Bases, folder: Path, rng: Random) -> tuple[str, Run]:
    data, how = objects.make_parquet(rng)
    (folder / "in").mkdir()
    (folder / "in/toy.parquet").write_bytes(data)
    case = {"named": ["toy.parquet", *_SOURCE_NAMES], "expected": None, "how": how}
    return how, _judged(folder / "in/toy.parquet", {}, folder, case)


def matrix(bases: Bases, folder: Path, rng: Random) -> tuple[str, Run]:
    """A matrix in memory, to a store or to a corpus in memory."""
    import bigtopic

    source, how, expected = arrays.make_matrix(rng)
    case = {"named": _OBJECT_NAMES, "expected": expected, "how": how}
    if rng.random() < 0.3:
        # Fractions are weights there.
        values = source.data if hasattr(source, "tocsr") else None
        if values is not None and (values.dtype.kind != "f" or not (values == np.floor(values)).all()):
            case["expected"] = None
        in_memory = Case(run=lambda: bigtopic.from_matrix(source, WORDS), **case)
        return f"from_matrix: {how}", lambda: judge(in_memory, lambda: snapshot(folder))
    return how, _judged(source, {"vocabulary": WORDS}, folder, case)


def documents(bases: Bases, folder: Path, rng: Random) -> tuple[str, Run]:
    kind = rng.choice(sorted(objects.DOCUMENTS))
    source, how = objects.mutate_documents(objects.DOCUMENTS[kind](rng), rng)
    return f"{kind}, {how}", ingest_object(source, {}, folder)


def ingest_object(source: Any, keywords: dict[str, Any], folder: Path) -> Run:
    """Any object, with any settings."""
    case = {"named": _OBJECT_NAMES, "expected": None, "how": ""}
    return _judged(source, keywords, folder, case)


FORMATS: dict[str, Callable[[Bases, Path, Random], tuple[str, Run]]] = {}


def _register() -> None:
    def of_files(name: str) -> Callable[[Bases, Path, Random], tuple[str, Run]]:
        return lambda bases, folder, rng: _file_case(name, bases, folder, rng)

    def of_store(make: Any) -> Callable[[Bases, Path, Random], tuple[str, Run]]:
        return lambda bases, folder, rng: make(bases[1], folder, rng)

    FORMATS.update({name: of_files(name) for name in SEEDS})
    for make in (line_bomb, npz_arrays, h5ad_arrays, zarr_code, parquet_tables, matrix, documents):
        FORMATS[make.__name__] = make
    FORMATS.update({name: of_store(make) for name, make in stores.STORES.items()})


_register()


@cache
def _cycle() -> list[str]:
    """Each format once a round, the stores and crafted arrays more often, the slow bomb every fourth round."""
    often = {"corpus_read": 6, "corpus_write": 5, "model": 5, "topics": 2, "h5ad_arrays": 3, "npz_arrays": 2,
             "parquet_tables": 2, "matrix": 2, "documents": 3}  # fmt: skip
    one = [name for name in FORMATS for _ in range(often.get(name, 1)) if name != "line_bomb"]
    return one * 4 + ["line_bomb"]


def format_of(number: int) -> str:
    """Formats take turns, so that any run of numbers has them all."""
    return _cycle()[number % len(_cycle())]


def prepare(number: int, bases: Bases, folder: Path) -> tuple[str, Run]:
    """Write the input of a case to a folder; returns what was done and the function that reads and judges it."""
    return FORMATS[format_of(number)](bases, folder, Random(number))
