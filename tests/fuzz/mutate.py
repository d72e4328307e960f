"""Mutations of bytes, of JSON documents and of folders, each drawn from a `random.Random` and described in a word."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

__all__ = ["mutate_bytes", "mutate_files", "mutate_json", "mutate_tree"]

NUMBERS = [
    b"-1", b"0", b"1", b"2", b"7", b"0.5", b"-0", b"+3", b"007", b"1e2", b"1e-60", b"1e39", b"1e400", b"-1e400",
    b"nan", b"inf", b"-inf", b"0x10", b"1_000", b"2147483647", b"2147483648", b"4294967296", b"4294967297",
    b"9223372036854775807", b"9223372036854775808", b"18446744073709551617", b"1000000000000", b"3" * 400, b"",
]  # fmt: skip
TOKENS = [
    b"\0", b"\xff", b"\xff\xfe", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\xc0\x80", b"\xf4\x90\x80\x80",
    b"\x85", b"\x1b[31m", b"\n", b"\r", b"\r\n", b"\n\n", b"\t", b" ", b":", b",", b";", b"|", b'"', b"'", b"#", b"%",
    b"{", b"}", b"[", b"]", b"\\", b"\\ud800", b"null", b"NaN", b"<html>", b"../../etc/passwd", b"{}", b"[]",
    b"a" * 70_000, b"[" * 100_000, b'{"a":' * 100_000, b"1" * 20_000, b" " * 70_000, b"\n" * 5_000,
]  # fmt: skip


def mutate_bytes(data: bytes, rng: Random) -> tuple[bytes, str]:
    """One mutation of a file's bytes."""
    action = rng.choice(_ACTIONS)
    return action(data, rng), action.__name__.strip("_")


def _flip(data: bytes, rng: Random) -> bytes:
    out = bytearray(data)
    for _ in range(rng.choice([1, 1, 4])):
        if out:
            out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def _set(data: bytes, rng: Random) -> bytes:
    if not data:
        return data
    at = rng.randrange(len(data))
    return data[:at] + bytes([rng.choice([0, 1, 10, 32, 45, 48, 57, 58, 127, 128, 255])]) + data[at + 1 :]


def _span(data: bytes, rng: Random) -> tuple[int, int]:
    start = rng.randrange(len(data) + 1)
    return start, min(len(data), start + rng.choice([1, 2, 4, 8, 30, 200]))


def _delete(data: bytes, rng: Random) -> bytes:
    start, stop = _span(data, rng)
    return data[:start] + data[stop:]


def _duplicate(data: bytes, rng: Random) -> bytes:
    start, stop = _span(data, rng)
    return data[:stop] + data[start:stop] * rng.choice([1, 1, 3, 50]) + data[stop:]


def _splice(data: bytes, rng: Random) -> bytes:
    start, stop = _span(data, rng)
    at = rng.randrange(len(data) + 1)
    return data[:at] + data[start:stop] + data[at:]


def _insert(data: bytes, rng: Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice(TOKENS) + data[at:]


def _truncate(data: bytes, rng: Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _empty(data: bytes, rng: Random) -> bytes:
    return rng.choice([b"", b"\n", b"\0", data[:4], data * 2])


def _number(data: bytes, rng: Random) -> bytes:
    """Another number in the place of one."""
    found = list(re.finditer(rb"\d+(?:\.\d+)?", data))
    if not found:
        return data
    match = rng.choice(found[:4] if rng.random() < 0.3 else found)
    if rng.random() < 0.3 and len(match[0]) < 10 and match[0].isdigit():
        new = b"%d" % (int(match[0]) + rng.choice([-1, 1, 2]))
    else:
        new = rng.choice(NUMBERS)
    return data[: match.start()] + new + data[match.end() :]


def _lines(data: bytes, rng: Random) -> bytes:
    """Lines dropped, repeated, swapped, or without their end."""
    lines = data.split(b"\n")
    a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
    action = rng.randrange(5)
    if action == 0:
        del lines[a]
    elif action == 1:
        lines.insert(b, lines[a])
    elif action == 2:
        lines[a], lines[b] = lines[b], lines[a]
    elif action == 3:
        lines.reverse()
    else:
        return data.rstrip(b"\n")
    return b"\n".join(lines)


def _blank(data: bytes, rng: Random) -> bytes:
    """Other white space in the place of some."""
    found = list(re.finditer(rb"\s", data))
    if not found:
        return data
    match = rng.choice(found)
    return (
        data[: match.start()]
        + rng.choice([b"", b"  ", b"\t", b"\n", b"\r\n", b"\x0b", b","])
        + data[match.end() :]
    )


def _name(data: bytes, rng: Random) -> bytes:
    """Something else in the place of the id of a pair."""
    found = list(re.finditer(rb"\d+(?=:)", data))
    if not found:
        return data
    match = rng.choice(found)
    new = rng.choice(
        [b"banana", b"u3", b"3u", b"qid", b"qid:3", b"-3", b"3.5", b"e", b"\xff", b"\xe4pfel", b""]
    )
    return data[: match.start()] + new + data[match.end() :]


def _header(data: bytes, rng: Random) -> bytes:
    """Bytes that are not UTF-8 in a word of the first line."""
    first, end, rest = data.partition(b"\n")
    found = list(re.finditer(rb"[A-Za-z]", first))
    if not found:
        return data
    at = rng.choice(found).start()
    return (
        first[:at] + rng.choice([b"\xe4", b"\xff", b"\xed\xa0\x80", b"\xc3"]) + first[at + 1 :] + end + rest
    )


_ACTIONS: list[Callable[[bytes, Random], bytes]] = [
    _flip, _set, _delete, _duplicate, _splice, _insert, _truncate, _empty,
    _number, _number, _number, _lines, _lines, _blank, _name, _header,
]  # fmt: skip


# ------------------------------------------------------------------ JSON

_VALUES: list[Callable[[], Any]] = [
    lambda: None, lambda: True, lambda: 0, lambda: -1, lambda: -5, lambda: 1, lambda: 3, lambda: 0.5, lambda: 2**31,
    lambda: 2**63, lambda: 10**12, lambda: 10**20, lambda: 10**400, lambda: 1e308, lambda: float("nan"),
    lambda: float("inf"), lambda: "", lambda: "x", lambda: "3", lambda: "../../outside", lambda: "/etc/passwd",
    lambda: "a\0b", lambda: "\ud800", lambda: "\x1b[31m", lambda: "a" * 5000, lambda: "|O", lambda: "object",
    lambda: "float64", list, dict, lambda: [1, 2], lambda: [-5], lambda: {"a": 1}, lambda: _nested(500),
]  # fmt: skip


def _nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def mutate_json(data: bytes, rng: Random) -> tuple[bytes, str]:
    """One mutation of a JSON document, or of its bytes."""
    if rng.random() < 0.15:
        return mutate_bytes(data, rng)
    document = json.loads(data)
    places = list(_places(document, ()))
    if not places:
        return mutate_bytes(data, rng)
    path, parent, key = rng.choice(places)
    action = rng.choice(["replace", "replace", "replace", "drop", "nudge", "swap", "add"])
    if action == "drop":
        del parent[key]
    elif action == "nudge" and isinstance(parent[key], (int, float)):
        parent[key] += rng.choice([-1, 1, 7])
    elif action == "nudge" and isinstance(parent[key], (list, str)):
        parent[key] = parent[key] + parent[key]
    elif action == "swap" and isinstance(parent, dict):
        other = rng.choice(list(parent))
        parent[key], parent[other] = parent[other], parent[key]
    elif action == "add" and isinstance(parent, dict):
        parent[rng.choice(["extra", "zarr.json", "../x", ""])] = rng.choice(_VALUES)()
    else:
        parent[key] = rng.choice(_VALUES)()
    return json.dumps(document, ensure_ascii=True).encode(), f"{action} {'/'.join(map(str, path))}"


def _places(value: Any, path: tuple[Any, ...]) -> Any:
    """(path, parent, key) of every value inside a document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key), value, key
        yield from _places(item, (*path, key))


# ------------------------------------------------------------------ folders

Files = dict[str, bytes]


def mutate_files(files: Files, rng: Random, names: list[str] | None = None) -> tuple[Files, str]:
    """One mutation of one of some files: of its JSON if it is such, else of its bytes."""
    name = rng.choice(sorted(files) if names is None else names)
    is_json = name.rsplit("/", 1)[-1] in ("zarr.json", ".zarray", ".zattrs", ".zgroup", ".zmetadata")
    try:
        new, how = (mutate_json if is_json else mutate_bytes)(files[name], rng)
    except (ValueError, RecursionError):  # it has been mutated before
        new, how = mutate_bytes(files[name], rng)
    return {**files, name: new}, f"{name}: {how}"


def mutate_tree(root: Path, outside: Path, rng: Random) -> str:
    """One mutation of what is where, in a folder that is written already; `outside` is not part of it."""
    files = sorted(path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    folders = sorted(path for path in root.rglob("*") if path.is_dir() and not path.is_symlink())
    file, folder = rng.choice(files), rng.choice(folders or [root / "none"])
    action = rng.choice(_TREE)
    action(file, folder, root, outside, rng)
    shown = folder if "folder" in action.__name__ else file
    return f"{action.__name__.strip('_')} {shown.relative_to(root)}"


def _drop_file(file: Path, folder: Path, root: Path, outside: Path, rng: Random) -> None:
    file.unlink()


def _drop_folder(file: Path, folder: Path, root: Path, outside: Path, rng: Random) -> None:
    import shutil

    shutil.rmtree(folder, ignore_errors=True)


def _file_to_folder(file: Path, folder: Path, root: Path, outside: Path, rng: Random) -> None:
    file.unlink()
    file.mkdir()


def _folder_to_file(file: Path, folder: Path, root: Path, outside: Path, rng: Random) -> None:
    import shutil

    shutil.rmtree(folder, ignore_errors=True)
    folder.write_bytes(b"x")


def _file_to_pipe(file: Path, folder: Path, root: Path, outside: Path, rng: Random) -> None:
    file.unlink()
    os.mkfifo(file)


def _file_to_link(file: Path, folder: Path, root: Path, outside: Path, rng: Random) -> None:
    target = outside / "linked"
    target.write_bytes(file.read_bytes())
    file.unlink()
    file.symlink_to(rng.choice([target, outside / "nothing", file, Path("/dev/zero"), Path("/dev/null")]))


def _folder_to_link(file: Path, folder: Path, root: Path, outside: Path, rng: Random) -> None:
    import shutil

    if folder.is_dir():
        shutil.move(folder, outside / "moved")
        folder.symlink_to(rng.choice([outside / "moved", outside / "mine", folder.parent]))


def _add_file(file: Path, folder: Path, root: Path, outside: Path, rng: Random) -> None:
    names = [
        "notes.txt",
        "data.partial",
        "state-mine",
        "parts",
        ".lock",
        "vocabulary",
        ".scratch-x",
        "zarr.json",
        "c",
    ]
    path = rng.choice([root, file.parent]) / rng.choice(names)
    if not path.exists():
        path.write_bytes(rng.choice([b"years of work", b"", b"{}", b'{"attributes": {}}']))


def _add_folder(file: Path, folder: Path, root: Path, outside: Path, rng: Random) -> None:
    path = root / rng.choice(["parts/mine", "vocabulary/mine", "authors/mine", "state-mine", "mine", "obs"])
    if not path.exists() and path.parent.is_dir():
        path.mkdir()
        (path / "thesis.txt").write_bytes(b"years of work")


def _copy_file(file: Path, folder: Path, root: Path, outside: Path, rng: Random) -> None:
    """The bytes of another file of the same name."""
    others = [path for path in sorted(root.rglob(file.name)) if path.is_file() and not path.is_symlink()]
    file.write_bytes(rng.choice(others).read_bytes())


_TREE = [
    _drop_file, _drop_folder, _file_to_folder, _folder_to_file, _file_to_pipe, _file_to_link, _folder_to_link,
    _add_file, _add_folder, _copy_file,
]  # fmt: skip
