"""The `zarr.json` of our Zarr v3 groups and arrays.

The attributes of the root group say what a store is. The metadata of an array are checked before it is used. Our arrays
have only the codecs of the format page: the metadata are interpreted here and not by Zarr or numcodecs, so a codec that
a file names is never looked up. Zarr v2 files beside them are ignored.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from bigtopic.storage.json_rules import FieldError, Rule, listing, one_of, record, text, whole
from bigtopic.storage.place import Place

__all__ = [
    "DRAFT",
    "ROOT",
    "ArrayMetadata",
    "NotAGroup",
    "chunk_file",
    "chunk_numbers",
    "group_attributes",
    "group_json",
    "parse_metadata",
    "replace_group",
]

ROOT = "zarr.json"
DRAFT = "zarr.json.partial"


class NotAGroup(ValueError):
    """The file is not the JSON of a Zarr group with attributes."""


def group_attributes(place: Place) -> dict[str, Any] | None:
    """Attributes of the group at a place, wherever it is; None where no file says anything.

    Raises
    ------
    NotAGroup
        When the file is something else.
    """
    try:
        attributes = json.loads((place / ROOT).read())["attributes"]
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise NotAGroup("it is not JSON, or has no attributes") from error
    if not isinstance(attributes, dict):
        raise NotAGroup("its attributes are not an object")
    return attributes


def group_json(attributes: Mapping[str, Any] | None = None) -> bytes:
    """The `zarr.json` of a group with these attributes."""
    return json.dumps(
        {"zarr_format": 3, "node_type": "group", "attributes": attributes or {}}, indent=1
    ).encode()


def replace_group(place: Place, attributes: Mapping[str, Any], *, sweep: bool = False) -> None:
    """Make these the attributes of the group in a folder, durably and in one step.

    Parameters
    ----------
    sweep : remove the draft that a killed process may have left. For folders without a journal: with one, the draft
        is listed there, and removed when it is ours
    """
    if sweep:
        (place / DRAFT).remove()
    (place / ROOT).replace(group_json(attributes))


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


def chunk_file(array: Place, number: int, n_dimensions: int = 1) -> Place:
    """The file of a chunk of the array at a place; chunks are cut across the first dimension only."""
    return array / (f"c/{number}" + "/0" * (n_dimensions - 1))


def chunk_numbers(start: int, stop: int, size: int) -> range:
    """The chunks of this size that hold the values, or rows, `start` to `stop`."""
    return range(start // size, -(-stop // size) if stop > start else 0)


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
    shape, chunk = tuple(values["shape"]), tuple(values["chunk_grid"]["configuration"]["chunk_shape"])
    found = ArrayMetadata(shape, chunk, values["data_type"])
    names, expected = tuple(codec["name"] for codec in values["codecs"]), STRINGS if found.text else NUMBERS
    if names != expected:
        raise FieldError(f"{where}: the codecs are {ascii(names)[:200]}, but must be {expected}")
    if not shape or len(shape) != len(chunk) or shape[1:] != chunk[1:]:
        raise FieldError(f"{where}: chunks of shape {chunk} do not cut an array of shape {shape} into rows")
    if prod(chunk) * ITEM_BYTES[found.data_type] > (MOST_STRINGS if found.text else MOST_CHUNK_BYTES):
        raise FieldError(f"{where}: chunks of shape {chunk} are larger than any that bigtopic writes")
    return found
