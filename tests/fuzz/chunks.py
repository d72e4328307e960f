"""Mutations inside the chunks of a store of ours: lengths and checksums stay right, so that they reach the decoders
and the loops behind them.
"""

from __future__ import annotations

import json
from random import Random
from typing import Any

import google_crc32c
import numpy as np
from fuzz.mutate import Files, mutate_bytes
from numcodecs.blosc import Blosc
from numcodecs.zstd import Zstd

__all__ = ["mutate_chunk"]

_HEADER = 16  # bytes: version, of the format; flags; size of a type; length, of a block, compressed
_FREE = (0, 1, 2, 3, 8, 9, 10, 11)  # those of the header that are not lengths of the whole
_HOSTILE = (-1, 0, 1, 2, 5, 127, 255, 1 << 20, (1 << 31) - 1, -(1 << 31), (1 << 62), -(1 << 62))


def mutate_chunk(files: Files, rng: Random) -> tuple[Files, str]:
    """One mutation of one chunk of a store that is intact."""
    name = rng.choice(sorted(name for name in files if "/c/" in name))
    array = name.partition("/c/")[0]
    dtype = json.loads(files[f"{array}/zarr.json"])["data_type"]
    if dtype == "string":
        return _strings(files, name, rng)
    action = rng.choice([_bits, _header, None])
    if action is None:
        return _values(files, name, array, dtype, rng)
    return {**files, name: _checked(action(files[name][:-4], rng))}, f"{name}: {action.__name__.strip('_')}"


def _checked(body: bytes) -> bytes:
    return body + google_crc32c.value(body).to_bytes(4, "little")


def _bits(body: bytes, rng: Random) -> bytes:
    """Other bits among the compressed bytes."""
    out = bytearray(body)
    for _ in range(rng.choice([1, 1, 4, 40])):
        out[rng.randrange(_HEADER, len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def _header(body: bytes, rng: Random) -> bytes:
    """Another byte of the header, but for the two lengths that are compared."""
    out = bytearray(body)
    out[rng.choice(_FREE)] = rng.choice([0, 1, 2, 4, 8, 64, 127, 128, 255, rng.randrange(256)])
    return bytes(out)


def _values(files: Files, name: str, array: str, dtype: str, rng: Random) -> tuple[Files, str]:
    """Other values, well compressed; the manifest of a corpus knows them."""
    values = np.frombuffer(Blosc().decode(files[name][:-4]), dtype).copy()
    for _ in range(rng.choice([1, 1, 3])):
        new = values[rng.randrange(len(values))] if rng.random() < 0.3 else rng.choice(_HOSTILE)
        with np.errstate(over="ignore"):
            values[rng.randrange(len(values))] = np.int64(new).astype(dtype)
    found = {**files, name: _checked(Blosc(cname="zstd").encode(values))}
    _tell_manifest(found, array, values)
    return found, f"{name}: values"


def _tell_manifest(files: Files, array: str, values: np.ndarray) -> None:
    from bigtopic.corpus.stored.writer import crc32_of

    document: Any = json.loads(files["zarr.json"])
    for part in document["attributes"].get("bigtopic", {}).get("parts", []):
        if array.startswith(part["path"] + "/"):
            part["crc32"][array.removeprefix(part["path"] + "/")] = f"{crc32_of(values):08x}"
    files["zarr.json"] = json.dumps(document).encode()


def _strings(files: Files, name: str, rng: Random) -> tuple[Files, str]:
    """Other bytes in the frame, or in what it decompresses to."""
    if rng.random() < 0.3:
        data, how = mutate_bytes(files[name], rng)
    else:
        data, how = mutate_bytes(bytes(Zstd().decode(files[name])), rng)
        data, how = bytes(Zstd().encode(data)), f"inside, {how}"
    return {**files, name: data}, f"{name}: {how}"
