"""The `zarr.json` of one of our arrays, checked before the array is used.

Our stores are Zarr v3 with only the codecs of the format page: the metadata are interpreted here and not by Zarr or
numcodecs, so a codec that a file names is never looked up. Zarr v2 files beside them are ignored.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from bigtopic.storage.json_rules import FieldError, Rule, listing, one_of, record, text, whole

__all__ = ["ArrayMetadata", "parse_metadata"]

NUMBERS = ("bytes", "blosc", "crc32c")
STRINGS = ("vlen-utf8", "zstd")
ITEM_BYTES = {"int64": 8, "int32": 4, "float64": 8, "float32": 4, "bool": 1, "uint8": 1, "string": 1}
MOST_CHUNK_BYTES = 1 << 26  # of numbers, decoded; a writer makes chunks of at most a quarter
MOST_STRINGS = 1 << 18  # of a chunk


@dataclass(frozen=True)
class ArrayMetadata:
    """shape, chunk : elements along each dimension, chunks cut across the first one only; data_type : Zarr's name"""

    shape: tuple[int, ...]
    chunk: tuple[int, ...]
    data_type: str

    @property
    def text(self) -> bool:
        return self.data_type == "string"


def _regular(name: str, configuration: Rule) -> Rule:
    return record({"name": one_of(name), "configuration": configuration})


_CONFIGURATION = record({}, {"endian": one_of("little")})
_RULES = record(
    {
        "zarr_format": whole(3, 3),
        "node_type": one_of("array"),
        "shape": listing(whole()),
        "data_type": one_of(*ITEM_BYTES),
        "chunk_grid": _regular("regular", record({"chunk_shape": listing(whole(1))})),
        "chunk_key_encoding": _regular("default", record({}, {"separator": one_of("/")})),
        "codecs": listing(record({"name": text()}, {"configuration": _CONFIGURATION})),
    },
    {"storage_transformers": listing(text(), length=0)},
)


def parse_metadata(data: bytes, where: str) -> ArrayMetadata:
    """The metadata of an array, from the bytes of its `zarr.json`.

    Raises
    ------
    FieldError
        Names the field that differs from what our writer writes.
    """
    try:
        values = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise FieldError(f"{where} is not JSON ({error})") from error
    _RULES(values, f"{where}:")
    shape, chunk = values["shape"], values["chunk_grid"]["configuration"]["chunk_shape"]
    found = ArrayMetadata(tuple(shape), tuple(chunk), values["data_type"])
    _check_codecs(values["codecs"], found, where)
    _check_chunks(found, where)
    return found


def _check_codecs(codecs: list[dict], found: ArrayMetadata, where: str) -> None:
    names, expected = tuple(codec["name"] for codec in codecs), STRINGS if found.text else NUMBERS
    if names != expected:
        raise FieldError(f"{where}: the codecs are {ascii(names)[:200]}, but must be {expected}")


def _check_chunks(found: ArrayMetadata, where: str) -> None:
    shape, chunk = found.shape, found.chunk
    if not shape or len(shape) != len(chunk) or shape[1:] != chunk[1:]:
        raise FieldError(f"{where}: chunks of shape {chunk} do not cut an array of shape {shape} into rows")
    n_values = 1
    for length in chunk:
        n_values *= length
    if n_values * ITEM_BYTES[found.data_type] > (MOST_STRINGS if found.text else MOST_CHUNK_BYTES):
        raise FieldError(f"{where}: chunks of shape {chunk} are larger than any that bigtopic writes")
