"""NumPy's file formats, checked before memory is allocated for what headers claim. Nothing pickled is loaded."""

from __future__ import annotations

import math
import tokenize
import zipfile
import zlib
from typing import IO

import numpy as np

from bigtopic.corpus.readers.containers.files import File
from bigtopic.corpus.sparse import check_claim
from bigtopic.errors import InputError

__all__ = ["DAMAGED", "check_archive", "check_stream"]

# What NumPy, zipfile and SciPy raise when a file is not what it says.
DAMAGED = (
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    AttributeError,
    EOFError,
    OverflowError,
    MemoryError,
    SyntaxError,
    RecursionError,
    RuntimeError,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)
_REMEDY = "save it again, large ones with scipy.sparse.save_npz(..., compressed=False)"


def _claimed(stream: IO[bytes], what: str) -> tuple[int, int]:
    """Bytes of the header of an array, and of the values it announces."""
    version = np.lib.format.read_magic(stream)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(stream)
    if dtype.hasobject or dtype.kind in "VM" or any(length < 0 for length in shape):
        kind = "Object arrays" if dtype.hasobject else f"arrays of {dtype} and shape {shape}"
        raise InputError(f"{what} is not a saved matrix: {kind} are not read, only numbers")
    return stream.tell(), math.prod(shape) * dtype.itemsize


def check_stream(stream: IO[bytes], file: File) -> None:
    """An `.npy` must hold what its header says; of a compressed one that is known only in the end."""
    header, claimed = _claimed(stream, file.path)
    if file.compression is None and header + claimed > file.size:
        raise InputError(f"{file.path} announces {claimed} bytes, but {file.size - header} follow; {_REMEDY}")
    check_claim(claimed, file.size, file.path, _REMEDY)


def check_archive(stream: IO[bytes], file: File) -> None:
    """Every member of an `.npz`: an array of plain numbers or text, as long as its header says."""
    with zipfile.ZipFile(stream) as archive:
        for member in archive.infolist():
            what = f"{file.path}, member {member.filename!r}"
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or member.flag_bits & 1:
                raise InputError(f"{what} has a compression that NumPy never writes; {_REMEDY}")
            check_claim(member.file_size, min(member.compress_size, file.size), what, _REMEDY)
            with archive.open(member) as opened:
                header, claimed = _claimed(opened, what)
            if header + claimed != member.file_size:
                raise InputError(
                    f"{what} announces {claimed} bytes, but {member.file_size - header} follow; {_REMEDY}"
                )
