"""Files that only the driver sees are an error that names them, before anything is written where nobody finds it."""

from __future__ import annotations

import gzip
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from bigtopic.corpus.memory import from_matrix
from bigtopic.corpus.store import open_corpus
from bigtopic.errors import ClusterError, InputError
from bigtopic.estimators.lda import LDA
from bigtopic.evaluation import coherence, log_predictive
from bigtopic.ingestion import job
from bigtopic.ingestion.ingest import append, compact, ingest
from bigtopic.ingestion.parse import parse_tasks
from bigtopic.learning.executors import whole

sys.path.insert(0, str(Path(__file__).parents[1]))

import hosts

pytestmark = pytest.mark.distributed
TEXTS = [f"document number {number} of {number % 7} kinds" for number in range(50)]
REMEDY = "client=False"


@pytest.fixture
def everywhere() -> Iterator[Path]:
    """A folder that workers with temporary files of their own see, too."""
    folder = tempfile.mkdtemp(prefix="bigtopic-test-", dir="/var/tmp")
    yield Path(folder)
    shutil.rmtree(folder)


def lines(folder: Path) -> Path:
    path = folder / "documents.txt"
    path.write_text("\n".join(TEXTS))
    return path


def a_folder(folder: Path) -> Path:
    (folder / "texts").mkdir()
    for number, text in enumerate(TEXTS):
        (folder / "texts" / f"{number}.txt").write_text(text)
    return folder / "texts"


def records(folder: Path) -> Path:
    path = folder / "documents.jsonl"
    path.write_text("\n".join(f'{{"text": "{text}"}}' for text in TEXTS))
    return path


def table(folder: Path) -> Path:
    path = folder / "documents.csv"
    path.write_text("text,number\n" + "\n".join(f"{text},1" for text in TEXTS))
    return path


def pairs(folder: Path) -> Path:
    path = folder / "documents.ldac"
    path.write_text("\n".join("2 0:1 3:2" for _ in TEXTS))
    return path


def annotated(folder: Path) -> Path:
    anndata = pytest.importorskip("anndata")
    path = folder / "documents.h5ad"
    anndata.AnnData(csr_matrix(np.eye(50, dtype=np.float32))).write_h5ad(path)
    return path


def annotated_zarr(folder: Path) -> Path:
    anndata = pytest.importorskip("anndata")
    path = folder / "documents.zarr"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of formats that will be the default
        anndata.AnnData(csr_matrix(np.eye(50, dtype=np.float32))).write_zarr(path)
    return path


def triples(folder: Path) -> Path:
    path = folder / "documents.mtx"
    rows = "\n".join(f"{number} 1 2" for number in range(1, 51))
    path.write_text(f"%%MatrixMarket matrix coordinate integer general\n50 3 50\n{rows}\n")
    return path


def svmlight(folder: Path) -> Path:
    path = folder / "documents.svmlight"
    path.write_text("\n".join("0 1:1 3:2" for _ in TEXTS))
    return path


FORMATS = [lines, a_folder, records, table, pairs, annotated, annotated_zarr, triples, svmlight]


@pytest.mark.parametrize("make", FORMATS)
def test_a_source_that_only_the_driver_sees_is_named(
    make: Callable[[Path], Path], tmp_path: Path, everywhere: Path, other_host: Any
) -> None:
    source = make(tmp_path)
    with pytest.raises(ClusterError, match=REMEDY) as caught:
        ingest(source, everywhere / "c.zarr", client=other_host)
    assert str(source) in str(caught.value)
    assert not (everywhere / "c.zarr").exists()
    assert ingest(source, everywhere / "c.zarr", client=False).n_docs == 50


def packed(folder: Path) -> Path:
    path = folder / "documents.txt.gz"
    path.write_bytes(gzip.compress("\n".join(TEXTS).encode()))
    return path


def parquet(folder: Path) -> Path:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    path = folder / "documents.parquet"
    pandas.DataFrame({"text": TEXTS}).to_parquet(path)
    return path


@pytest.mark.parametrize("make", [packed, parquet, lambda _: TEXTS])
def test_what_the_driver_reads_itself_need_not_be_seen(make, tmp_path, everywhere, other_host):
    corpus = ingest(make(tmp_path), everywhere / "c.zarr", client=other_host)
    assert corpus.fingerprint == ingest(TEXTS, tmp_path / "c.zarr", client=False).fingerprint


@pytest.mark.parametrize("where", ["store", "scratch"])
def test_a_store_that_workers_would_write_elsewhere_is_refused(where, tmp_path, everywhere, other_host):
    places = {"store": everywhere / "c.zarr", "scratch": everywhere}
    places[where] = tmp_path / "out"
    with pytest.raises(ClusterError, match=REMEDY) as caught:
        ingest(TEXTS, places["store"], scratch=places["scratch"], client=other_host)
    assert str(tmp_path / "out") in str(caught.value)
    assert not places["store"].exists() and not list(everywhere.iterdir())


def test_a_corpus_that_only_the_driver_sees_is_named(tmp_path, other_host):
    corpus = ingest(TEXTS, tmp_path / "c.zarr", client=False)
    near, far = (LDA(2, method="online-cvb0", max_iter=1, client=client) for client in (False, other_host))
    near.fit(corpus)
    far.fit(from_matrix(corpus.to_scipy(), corpus.vocabulary[:]))
    for work in (
        lambda: far.fit(corpus),
        lambda: far.transform(corpus),
        lambda: log_predictive(near, corpus, client=other_host),
        lambda: coherence(near, corpus, client=other_host),
        lambda: compact(corpus, client=other_host),
        lambda: append(corpus, TEXTS, client=other_host),
    ):
        with pytest.raises(ClusterError, match=REMEDY) as caught:
            work()
        assert str(tmp_path / "c.zarr") in str(caught.value)
    assert open_corpus(tmp_path / "c.zarr").fingerprint == corpus.fingerprint


def test_a_corpus_in_the_memory_of_the_driver_is_named(one_worker):
    corpus = ingest(TEXTS, "memory://out-of-reach.zarr", client=False)
    with pytest.raises(ClusterError, match=r"memory://out-of-reach.zarr \(FileNotFoundError"):
        LDA(2, method="online-cvb0", max_iter=1, client=one_worker).fit(corpus)


def test_a_worker_that_joined_without_the_corpus_is_named(tmp_path, monkeypatch):
    """It was not there when the others were asked; the parts that it misses are not damaged."""
    if reason := hosts.why_no_namespaces():
        pytest.skip(reason)
    monkeypatch.setattr(whole, "CHUNK_SECONDS", 0.01)
    corpus = ingest(TEXTS, tmp_path / "c.zarr", client=False)
    with hosts.scheduler() as client, ExitStack() as late, ExitStack() as first:
        first.enter_context(hosts.worker(client))

        def replace(event: Any) -> None:
            if event.kind == "round" and event.step == 2:
                late.enter_context(hosts.worker(client, private_files=True))
                first.close()

        model = LDA(2, method="online-cvb0", max_iter=9, batch_size=10, client=client, callbacks=[replace])
        with pytest.raises(
            ClusterError, match=r"worker tcp://\S+ cannot open the corpus at \S+ .*client=False"
        ):
            model.fit(corpus)


def test_a_worker_that_joined_without_the_store_writes_nothing(tmp_path, everywhere, monkeypatch):
    """It was not there when the others were asked, and it sees the scratch files."""
    if reason := hosts.why_no_namespaces():
        pytest.skip(reason)
    merged = job._merged
    with hosts.scheduler() as client, ExitStack() as late, ExitStack() as first:
        first.enter_context(hosts.worker(client))

        def replace(*arguments: Any) -> Any:
            late.enter_context(hosts.worker(client, private_files=True))
            first.close()
            return merged(*arguments)

        monkeypatch.setattr(job, "_merged", replace)
        with pytest.raises(ClusterError, match=f"does not see {tmp_path}.*{REMEDY}"):
            ingest(TEXTS, tmp_path / "c.zarr", scratch=everywhere, client=client)
    assert not list(tmp_path.iterdir()) and not list(everywhere.iterdir())


def test_a_source_that_is_gone_for_everybody_is_no_matter_of_the_cluster(tmp_path, one_worker, monkeypatch):
    source = lines(tmp_path)

    def remove(*arguments: Any) -> Any:
        source.unlink()
        return parse_tasks(*arguments)

    monkeypatch.setattr(job, "parse_tasks", remove)
    for client in (False, one_worker):
        source = lines(tmp_path)
        with pytest.raises(InputError, match=f"{source} cannot be read") as caught:
            ingest(source, tmp_path / "c.zarr", client=client)
        assert REMEDY not in str(caught.value)
