"""Foreign Zarr stores, v2 and v3, checked before Zarr opens them: a file may name a codec that runs code, and Blosc
trusts the length that a chunk claims. Compressed chunks are checked before memory is allocated for what they claim.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from bigtopic.corpus.sparse import ALWAYS, check_claim, most_bytes
from bigtopic.errors import InputError
from bigtopic.storage.chunks import DENSEST, content_size
from bigtopic.storage.json_rules import (
    FieldError,
    any_of,
    anything,
    listing,
    one_of,
    optional,
    record,
    text,
    whole,
)
from bigtopic.storage.place import Place, zarr_store

__all__ = ["METADATA", "open_checked"]

_TYPES = ("bool", *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)))
_TYPES += ("float16", "float32", "float64", "string")
_CODECS = ("bytes", "vlen-utf8", "blosc", "zstd", "gzip", "crc32c")
_MOST_IN_CHUNK = 1 << 31
METADATA = ("zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata")
_DEPTH = 4

_REMEDY = "get it again, or write the store again with anndata"
_DEFLATED = 1032  # bytes that a byte of gzip or zlib can stand for
_STEP = 1 << 20
_COMPRESSORS = ("blosc", "lz4", "zstd", "gzip", "zlib")

_STRINGS = record({"id": one_of("vlen-utf8")})
_V2 = record(
    {
        "zarr_format": whole(2, 2),
        "shape": listing(whole()),
        "chunks": listing(whole(1)),
        "dtype": text(r"[<>|][biufSU][0-9]{1,4}|\|O", "a type of numbers or strings"),
        "compressor": optional(record({"id": one_of(*_COMPRESSORS)})),
        "filters": optional(any_of(listing(one_of(), length=0), listing(_STRINGS, length=1))),
        "order": one_of("C", "F"),
    }
)


# Of chunks inside a shard the lengths cannot be seen here, so Blosc is not allowed there.
_INNER = listing(record({"name": one_of(*(name for name in _CODECS if name != "blosc"))}))
_SHARD = record({"codecs": _INNER, "index_codecs": _INNER, "chunk_shape": listing(whole(1))})
_V3 = record(
    {
        "zarr_format": whole(3, 3),
        "shape": listing(whole()),
        "data_type": one_of(*_TYPES),
        "chunk_grid": record(
            {"name": one_of("regular"), "configuration": record({"chunk_shape": listing(whole(1))})}
        ),
        "codecs": any_of(
            listing(record({"name": one_of("sharding_indexed"), "configuration": _SHARD}), length=1),
            listing(record({"name": one_of(*_CODECS)})),
        ),
    },
    {"storage_transformers": listing(one_of(), length=0)},
)


def open_checked(place: Place, names: Sequence[str], whole: bool = False, streamed: str = "X") -> Any:
    """The Zarr group at a place; of its members only those named may be read.

    Parameters
    ----------
    names : paths of these members
    whole : whether every chunk was written, so that one that is missing is an error, not fill values
    streamed : path of the matrix that is read in runs of rows, never whole

    Raises
    ------
    InputError
        Naming the array that has a codec, a type or a size that is not allowed; when it is read, the chunk that is
        damaged or missing.
    """
    import zarr

    version = 3 if _json(place, "zarr.json") is not None else 2
    compressed = {
        path: codec
        for name in names
        for path, about in _arrays(place, name, version, _DEPTH)
        if (codec := _check(place, path, about, version, streamed)) is not None
    }
    store = _checking_store(zarr_store(place, read_only=True), place.url, compressed, whole)
    return zarr.open_group(store, mode="r", zarr_format=version, use_consolidated=False)  # type: ignore[arg-type]


def _arrays(place: Place, path: str, version: int, depth: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every array at or below a path, with its metadata."""
    here = place / path
    about = _json(here, "zarr.json" if version == 3 else ".zarray")
    is_array = version == 2 or (about is not None and about.get("node_type") == "array")
    attributes = (about or {}).get("attributes", {}) if version == 3 else _json(here, ".zattrs") or {}
    _check_names(f"{place.url}/{path}", attributes)
    if about is not None and is_array:
        yield path, about
    elif depth:
        for name in here.names():
            if name not in METADATA:
                yield from _arrays(place, f"{path}/{name}", version, depth - 1)


def _json(place: Place, name: str) -> dict[str, Any] | None:
    try:
        found = json.loads((place / name).read())
    except FileNotFoundError:
        return None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place.url}/{name} is not JSON ({error}); write the store again") from error
    if not isinstance(found, dict):
        raise InputError(f"{place.url}/{name} is not an object; write the store again")
    return found


def _check_names(what: str, attributes: Any) -> None:
    """A table says which of its members are columns: those must be below it, where everything is checked."""
    if not isinstance(attributes, dict):
        raise InputError(f"{what}: its attributes are not an object; write the store again")
    order = attributes.get("column-order", [])
    named = [attributes.get("_index"), attributes.get("categories")]
    for name in named + (order if isinstance(order, list) else []):
        if isinstance(name, str) and (name.startswith("/") or ".." in name.split("/")):
            raise InputError(
                f"{what} names {name!a} as one of its columns, which is elsewhere; write it again"
            )


def _check(place: Place, path: str, about: dict[str, Any], version: int, streamed: str) -> str | None:
    """Refuse an array that is not allowed; what its chunks are compressed by, if they are."""
    what = f"{place.url}/{path}"
    try:
        anything(about.get("attributes"), f"{what}: attributes")
        (_V3 if version == 3 else _V2)(about, what)
        if version == 3:
            chunk, kind = about["chunk_grid"]["configuration"]["chunk_shape"], about["data_type"]
            codecs = [codec["name"] for codec in about["codecs"] if codec["name"] in _COMPRESSORS]
            if len(codecs) > 1:  # bombs inside bombs have no bound
                raise FieldError(f"{what}: the codecs compress {len(codecs)} times")
        else:
            chunk, kind = about["chunks"], about["dtype"]
            codecs = [about["compressor"]["id"]] if about["compressor"] else []
            if (kind == "|O") != bool(about["filters"]):
                raise FieldError(f"{what}: objects need the filter vlen-utf8, and nothing else has filters")
    except FieldError as error:
        raise InputError(f"{error}; write the store again with anndata") from error
    shape = about["shape"]
    if len(chunk) != len(shape) or math.prod(chunk) > _MOST_IN_CHUNK:
        raise InputError(f"{what}: chunks of shape {chunk} are too large for an array of shape {shape}")
    claimed = math.prod(shape) * _item_bytes(kind)
    if claimed > ALWAYS and path not in (streamed, f"{streamed}/data", f"{streamed}/indices"):
        check_claim(claimed, (place / path).n_bytes(), what, "write the store again with anndata")
    return codecs[0] if codecs else None


def _item_bytes(kind: str) -> int:
    """Of a type as Zarr 2 writes it ("<f8", "<U10", "|O"), or Zarr 3 ("float64", "bool", "string")."""
    if kind in ("|O", "string", "bool"):
        return 1 if kind == "bool" else 8
    digits = int("".join(filter(str.isdigit, kind)))
    return digits * (4 if "U" in kind else 1) if kind[0] in "<>|" else digits // 8


def _checking_store(store: Any, url: str, compressed: Mapping[str, str], whole: bool) -> Any:
    from zarr.storage import WrapperStore

    class CheckingStore(WrapperStore):
        """Looks at every compressed chunk; `compressed` has the codec by the path of the array."""

        async def get(self, key: str, prototype: Any, byte_range: Any = None) -> Any:
            found = await super().get(key, prototype, byte_range)
            name = PurePosixPath(key)
            if found is None and whole and name.name not in METADATA:
                raise InputError(f"{url}/{key} is missing; write the store again")
            if found is not None and name.name not in METADATA:
                codec = next(
                    (compressed[path] for path in map(str, name.parents) if path in compressed), None
                )
                if codec is not None:
                    _check_frame(found.to_bytes(), codec, f"{url}/{key}")
            return found

    return CheckingStore(store)


def _check_frame(frame: bytes, codec: str, what: str) -> None:
    """Refuse a chunk that is cut short, or decompresses to far more than its length allows."""
    if codec == "blosc":  # which reads as far as its header says
        stored = _integer(frame, 12)
        if len(frame) < 16 or stored not in (len(frame), len(frame) - 4):  # a checksum may follow
            raise InputError(
                f"{what} is damaged: it is cut short or says that it has {stored} bytes; {_REMEDY}"
            )
    check_claim(_size_of(frame, codec), len(frame), what, _REMEDY)


def _integer(frame: bytes, at: int) -> int:
    return int.from_bytes(frame[at : at + 4], "little")


def _size_of(frame: bytes, codec: str) -> int:
    """Bytes that a chunk decompresses to, or the most that they can be."""
    if codec in ("blosc", "lz4"):
        return _integer(frame, 4 if codec == "blosc" else 0)
    if codec == "zstd":
        said = content_size(frame)
        return len(frame) * DENSEST if said is None else said
    most = most_bytes(len(frame))
    return 0 if len(frame) * _DEFLATED <= most else _inflated(frame, most)


def _inflated(frame: bytes, most: int) -> int:
    """Bytes of gzip or zlib, which do not say how many: counted up to the first too many."""
    n, rest = 0, frame
    try:
        while rest and n <= most:  # gzip may have several members
            inflater = zlib.decompressobj(32 + zlib.MAX_WBITS)
            while not inflater.eof and n <= most:
                piece = inflater.decompress(rest, _STEP)
                rest = inflater.unconsumed_tail
                n += len(piece)
                if not piece and not rest:
                    return n
            rest = inflater.unused_data
    except zlib.error:  # for the decoder to say
        pass
    return n
