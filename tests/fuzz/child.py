"""A warm process that forks once for each case: `python tests/fuzz/child.py [number ...]`.

With numbers it runs these cases and shows what they are. Without, it serves: a JSON request per line on standard
input, a JSON reply per line on standard output. It has one thread whenever it forks; a child has a limit on memory
and is killed when its time is up.
"""

from __future__ import annotations

import base64
import gc
import json
import os
import pickle
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz.cases import Bases, _bomb, format_of, ingest_object, make_bases, prepare
from fuzz.oracle import Failure, Refused, only_our_warnings
from fuzz.server import ONE_THREAD

MEMORY_BYTES = 1 << 30  # above what the warm process has
SECONDS = float(os.environ.get("FUZZ_SECONDS", 20))


def main() -> None:
    if any(os.environ.get(name) != value for name, value in ONE_THREAD.items()):
        os.execve(sys.executable, sys.orig_argv, {**os.environ, **ONE_THREAD})
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        base = Path(name)
        bases = warm(base)
        if len(sys.argv) > 1:
            for number in map(int, sys.argv[1:]):
                reply = run_forked({"number": number}, bases, base)
                show(number, reply)
            return
        print("ready", flush=True)
        for line in sys.stdin:
            print(json.dumps(run_forked(json.loads(line), bases, base)), flush=True)


def show(number: int, reply: dict[str, Any]) -> None:
    print(f"--- case {number}: {reply['format']}: {reply.get('how')}")
    for name in ("outcome", "error", "cause", "message", "printed", "seconds"):
        if reply.get(name) not in (None, ""):
            print(f"{name}: {reply[name]}")
    for name, data in reply.get("files", {}).items():
        print(f"    {name}: {base64.b64decode(data)!r}")


# ------------------------------------------------------------------ before the first fork


def warm(base: Path) -> Bases:
    """Everything imported and compiled, and one thread left.

    What starts threads of its own (Arrow, HDF5 through AnnData) runs in a child; only its bytes come back.
    """
    import anndata.io
    import h5py
    import pandas
    import pyarrow.parquet
    import scipy.io  # noqa: F401
    import zstandard  # noqa: F401
    from numcodecs import blosc

    with suppress(ImportError):  # those that are asked what they read
        import gensim.corpora.ucicorpus  # noqa: F401
        import openpyxl  # noqa: F401
        import sklearn.datasets  # noqa: F401
    blosc.set_nthreads(1)
    pyarrow.set_cpu_count(1)
    del anndata, h5py, pandas
    (base / "bases").mkdir()
    bases = pickle.loads(_in_child(lambda: pickle.dumps(make_bases(base / "bases"))))
    done: set[str] = set()
    number = 0
    while len(done) < 12:  # the formats whose readers are compiled
        kind = format_of(number)
        if kind not in done and not kind.startswith(("parquet", "h5ad", "zarr", "line_bomb")):
            done.add(kind)
            _warm_one(number, bases, base)
        number += 1
    _compile(bases, base / "compile")
    _bomb()
    _end_threads()
    gc.collect()
    gc.freeze()
    return bases


def _warm_one(number: int, bases: Bases, base: Path) -> None:
    from fuzz.cases import _ingest
    from fuzz.seeds import SEEDS

    name = format_of(number)
    if name not in SEEDS:
        return
    from fuzz.cases import _resolved
    from fuzz.stores import write

    seed, folder = bases[0][name], base / f"warm-{name}"
    write(folder, seed.files)
    _ingest(folder / seed.entry, folder / "corpus.zarr", _resolved(seed.keywords, folder))


def _compile(bases: Bases, folder: Path) -> None:
    """Append, compact, and a model."""
    from fuzz.seeds import COUNTS
    from fuzz.stores import _QUIET, _use, write

    import bigtopic

    write(folder / "texts", bases[1]["texts"])
    write(folder / "model", bases[1]["model"])
    bigtopic.append(folder / "texts", ["a cat"], **_QUIET)
    bigtopic.compact(folder / "texts", **_QUIET).verify()
    bigtopic.from_matrix(COUNTS)
    _use(bigtopic.load_model(folder / "model"))
    repr(bigtopic.open_corpus(folder / "texts"))


def _end_threads() -> None:
    from zarr.core import sync

    sync.cleanup_resources()
    for _ in range(200):
        if _n_threads() == 1:
            return
        time.sleep(0.05)
    import threading

    raise SystemExit(f"{_n_threads()} threads are left: {threading.enumerate()}")


def _n_threads() -> int:
    """Threads of this process, those that Python does not know included."""
    return sum(1 for _ in Path("/proc/self/task").iterdir())


# ------------------------------------------------------------------ a case in a child


def run_forked(request: dict[str, Any], bases: Bases, base: Path) -> dict[str, Any]:
    """The outcome of a case: "accepted", "refused", or "failed" with a cause."""
    folder = Path(tempfile.mkdtemp(dir=base))
    began = time.monotonic()
    try:
        reply = _forked(request, bases, folder)
        reply["seconds"] = round(time.monotonic() - began, 2)
        if "number" in request:
            reply["format"] = format_of(request["number"])
        else:
            reply["format"] = "hypothesis"
        if reply["outcome"] == "failed":
            reply["files"] = _small_files(folder / "work/in")
        return reply
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _forked(request: dict[str, Any], bases: Bases, folder: Path) -> dict[str, Any]:
    assert _n_threads() == 1, "a thread would be lost in the child"
    (folder / "work").mkdir()
    (folder / "tmp").mkdir()
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read_end)
        _child(write_end, lambda: _case(request, bases, folder), folder)
    os.close(write_end)
    data, late = _read_all(read_end, time.monotonic() + SECONDS)
    if late:
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    how = (folder / "how").read_text() if (folder / "how").exists() else ""
    reply = {"how": how, "printed": (folder / "printed").read_text("utf-8", "replace")[:2000]}
    if late and "/h5py/_hl/attrs.py" in reply["printed"]:  # HDF5 reads some damaged attributes for ever
        return {**reply, "outcome": "refused", "error": "nothing: HDF5 hangs", "message": ""}
    if late:
        return {**reply, "outcome": "failed", "cause": f"hangs: {_stack(folder)}"}
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        return {**reply, "outcome": "failed", "cause": f"crash: {name} {_stack(folder)}"}
    if not data:
        return {**reply, "outcome": "failed", "cause": f"the process ended with status {status}"}
    reply = {**reply, **json.loads(data)}
    if reply["printed"] and reply["outcome"] != "failed":
        reply |= {"outcome": "failed", "cause": f"printed: {reply['printed'][:80]!r}"}
    left = sorted(path.name for path in (folder / "tmp").iterdir())
    if left and reply["outcome"] != "failed":
        reply |= {"outcome": "failed", "cause": "files left in the temporary folder", "message": str(left)}
    return reply


def _stack(folder: Path) -> str:
    """The innermost line of ours in what faulthandler wrote."""
    text = (folder / "printed").read_text("utf-8", "replace")
    lines = [line for line in text.splitlines() if "/bigtopic/" in line and line.lstrip().startswith("File")]
    if not lines:
        return ""
    name, _, rest = lines[0].rpartition("/bigtopic/")[2].partition('"')
    return f"at bigtopic/{name}{rest.replace(', line ', ':')}"


def _read_all(read_end: int, until: float) -> tuple[bytes, bool]:
    """What a child writes until it ends, or until its time is up."""
    parts = []
    with os.fdopen(read_end, "rb", buffering=0) as stream:
        while (left := until - time.monotonic()) > 0:
            if not select.select([stream], [], [], left)[0]:
                break
            part = stream.read(1 << 16)
            if not part:
                return b"".join(parts), False
            parts.append(part)
    return b"".join(parts), True


def _child(write_end: int, run: Callable[[], dict[str, Any]], folder: Path) -> None:
    """Never returns."""
    import faulthandler

    try:
        printed = os.open(folder / "printed", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        os.dup2(printed, 1)
        os.dup2(printed, 2)
        os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
        faulthandler.enable(file=2)
        faulthandler.dump_traceback_later(SECONDS - 1, file=2)  # where a hang is
        os.environ["TMPDIR"] = tempfile.tempdir = str(folder / "tmp")
        _limit()
        reply = run()
        sys.stdout.flush()
        sys.stderr.flush()
        os.write(write_end, json.dumps(reply).encode())
    except BaseException as error:
        reply = {"outcome": "failed", "cause": f"harness: {error!r}", "message": traceback.format_exc()}
        os.write(write_end, json.dumps(reply).encode())
    finally:
        os._exit(0)


def _limit() -> None:
    with open("/proc/self/status") as status:  # noqa: PTH123
        used = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmData"))
    resource.setrlimit(resource.RLIMIT_DATA, (used + MEMORY_BYTES, used + MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (MEMORY_BYTES, MEMORY_BYTES))


def _case(request: dict[str, Any], bases: Bases, folder: Path) -> dict[str, Any]:
    if "number" in request:
        how, run = prepare(request["number"], bases, folder / "work")
    else:
        source, keywords = pickle.loads(base64.b64decode(request["pickle"]))
        how, run = f"{source!r} {keywords!r}"[:2000], ingest_object(source, keywords, folder / "work")
    (folder / "how").write_text(how, "utf-8", "backslashreplace")
    try:
        with only_our_warnings():
            result = run()
    except Failure as failure:
        return {"outcome": "failed", "cause": failure.cause, "message": str(failure)}
    if isinstance(result, Refused):
        return {"outcome": "refused", "error": result.kind, "message": result.message[:500]}
    return {"outcome": "accepted"}


def _small_files(folder: Path) -> dict[str, str]:
    """The input, where it is short."""
    if not folder.is_dir():
        return {}
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink()][:12]
    return {
        path.relative_to(folder).as_posix(): base64.b64encode(path.read_bytes()).decode()
        for path in files
        if path.stat().st_size <= 1500 and path.name != "secret"
    }


def _in_child(make: Callable[[], bytes]) -> bytes:
    """What a function returns, made in a process of its own."""
    read_end, write_end = os.pipe()
    if os.fork() == 0:
        os.close(read_end)
        try:
            with os.fdopen(write_end, "wb") as stream:
                stream.write(make())
        finally:
            os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as stream:
        data = stream.read()
    os.wait()
    return data


if __name__ == "__main__":
    main()
