"""Peak of resident memory of one run, in a process of its own, beside the estimate: `python tests/peaks.py CASE`.

CASE is a JSON object, see `measure`. Prints a JSON object: `measured` and `estimated`, bytes.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from bigtopic import methods
from bigtopic.corpus.memory import MemoryPart, from_matrix
from bigtopic.corpus.store import Corpus
from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.ingestion.ingest import ingest
from bigtopic.learning.memory.estimate import estimate_bytes
from bigtopic.learning.new_run import make_run
from bigtopic.learning.stopping import Limits
from bigtopic.learning.train import train
from bigtopic.methods import Method
from bigtopic.methods.method import UntilRest
from bigtopic.methods.settings import learning
from bigtopic.state.axes import axes_of
from bigtopic.state.model import TopicModel
from bigtopic.state.new_model import new_model
from bigtopic.support import buffers

# Iterations, sweeps and samples of a kernel cost time, and no memory.
FEW = {"max_doc_update_iter": 2, "max_sweeps": 2, "n_iter": 2, "burn_in": 1, "samples": 1}
INNER = 6  # later inner iterations take hardly more memory
LIBC = ctypes.CDLL(None)


def peak(**case: Any) -> dict[str, float]:
    """What `measure` says in a process of its own."""
    # glibc would come to keep freed arrays of up to 32 MB; so small a threshold makes resident what is allocated.
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": str(1 << 17)}
    command = [sys.executable, __file__, json.dumps(case)]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True, timeout=600)
    return json.loads(done.stdout)


def measure(
    method: str,
    n_components: int,
    n_threads: int,
    corpus: dict[str, float],
    stored: bool = False,
    tol: float = 0.0,
    n_parts: int = 1,
    average: float = 0.0,
    learns: str | None = None,
    n_authors: int = 500,
    **settings: Any,
) -> dict[str, float]:
    """Growth of the peak of resident memory by a model and its run, and the estimate.

    Parameters
    ----------
    method : of the table, or "module:name" of a module beside this file
    corpus : arguments of `matrix`
    stored : the corpus is on disk
    tol : of `Limits`
    n_parts : of a corpus in memory
    average : of the method
    learns : shape of the document-topic prior, if it is learned
    n_authors : of all documents, each of which has one to three
    settings : batch_size, slice_size, max_iter
    """
    own = _method(method)
    inner: Any = min(own.inner, INNER) if isinstance(own.inner, int) else own.inner
    if isinstance(inner, UntilRest):
        inner = replace(inner, most=min(inner.most, INNER))
    chosen = learning(replace(own, average=average, inner=inner), learns)
    with tempfile.TemporaryDirectory() as folder:
        counts = matrix(**corpus)
        documents = _in_memory(counts, n_authors, n_parts)
        documents = ingest(documents, Path(folder) / "c.zarr") if stored else documents
        few = _in_memory(matrix(int(corpus["n_words"]), 256, 20.0), n_authors)
        # Loads libraries and compiled functions: of rounds of two slices, of concurrent rounds, and of replicas.
        kinds = [{"batch_size": 2, "slice_size": 1}, {"batch_size": 1}] if chosen.batch_size else [{}]
        if settings.get("replicas", 1) > 1:
            kinds.append({"batch_size": 1, "replicas": 2, "replica_updates": 2})
        for rounds in kinds:
            _train(_model(chosen, few, 4), few, n_threads, rounds, tol)
        del counts
        base = settle()
        model = _model(chosen, documents, n_components)
        for array in model.params.arrays.values():
            array.raw += 0  # makes resident what begins with zeros, before a first update does
        run = _run(model, documents, settings)
        estimated = estimate_bytes(run, model.params, model.axes, n_threads, compares=tol > 0)
        settle()
        Path("/proc/self/clear_refs").write_text("5")
        _train(model, documents, n_threads, settings, tol)
        return {"measured": status("VmHWM") - base, "estimated": estimated}


def matrix(n_words: int, n_docs: int, length: float, seed: int = 0) -> csr_array:
    """Counts of documents whose words follow Zipf's law and whose lengths spread by a half."""
    rng = np.random.default_rng(seed)
    lengths = np.maximum(1, rng.gamma(4.0, length / 4.0, n_docs)).astype(np.int64)
    shares = np.cumsum(1.0 / (np.arange(n_words) + 11.0))
    words = np.searchsorted(shares, rng.random(lengths.sum()) * shares[-1])
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    counts = csr_array((np.ones(len(words), np.float32), words, indptr), (n_docs, n_words))
    counts.sum_duplicates()
    return counts


def _in_memory(counts: csr_array, n_authors: int, n_parts: int = 1) -> Corpus:
    """With one to three authors a document."""
    corpus = from_matrix(counts)
    rng = np.random.default_rng(1)
    block = corpus.parts[0].block
    writers = rng.integers(0, n_authors, (block.n_docs, 3))
    writers[:, 1:][rng.integers(1, 4, block.n_docs)[:, None] <= [1, 2]] = -1
    writers.sort(axis=1)
    kept = (writers >= 0) & (np.diff(writers, axis=1, prepend=-1) > 0)
    indptr = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
    block = type(block)(
        block.indptr, block.words, block.counts, block.rows, indptr, writers[kept].astype(np.int32)
    )
    names = Vocabulary([f"author {i}" for i in range(n_authors)])
    cuts = np.linspace(0, block.n_docs, n_parts + 1).astype(int).tolist()
    parts = [MemoryPart(f"part {i}", block[cuts[i] : cuts[i + 1]]) for i in range(n_parts)]
    return Corpus(parts, corpus.vocabulary, author_vocabulary=names)


def _method(name: str) -> Method:
    module, _, toy = name.rpartition(":")
    return import_module(module).METHODS[toy] if module else methods.get(name)


def _model(method: Method, corpus: Corpus, n_components: int) -> TopicModel:
    components = dict.fromkeys(method.model.components, n_components)
    few = {name: least for name, least in FEW.items() if name in method.load_kernel().options}
    return new_model(method, components, axes_of(method.model, corpus), n_tokens=corpus.n_tokens, options=few)


def _run(model: TopicModel, corpus: Corpus, settings: dict[str, Any]) -> Any:
    plan = {"batch_size": None, "slice_size": None, "max_iter": 1, **settings}
    return make_run(model, corpus, order="shuffled", **plan)


def _train(
    model: TopicModel, corpus: Corpus, n_threads: int, settings: dict[str, Any], tol: float = 0.0
) -> None:
    plan = dict(settings)
    train(model, corpus, Limits(plan.pop("max_iter", 1), tol=tol), n_threads=n_threads, client=None, **plan)


def settle() -> int:
    """Give back what is not used; bytes that are resident then."""
    gc.collect()
    buffers.rest()
    buffers._resting.clear()
    LIBC.malloc_trim(0)
    return status("VmRSS")


def status(name: str) -> int:
    found = re.search(rf"{name}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found
    return int(found[1]) * 1024


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent / "integration"))
    print(json.dumps(measure(**json.loads(sys.argv[1]))))
