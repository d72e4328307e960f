"""Every container of the examples runs as it is written, on a host of its own: it learns what one process learns,
although jobs are killed."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import fsspec
import pytest

import bigtopic as bt

sys.path.insert(0, str(Path(__file__).parent))

import containers as c
import hosts

pytestmark = [
    pytest.mark.slow,
    pytest.mark.distributed,
    pytest.mark.skipif(hosts.why_no_networks() is not None, reason=hosts.why_no_networks() or ""),
]
SECONDS = 300  # that anything may take
KEYS = {"AWS_ACCESS_KEY_ID": "laptop", "AWS_SECRET_ACCESS_KEY": "laptop", "AWS_DEFAULT_REGION": "us-east-1"}


def until(true: Callable[[], Any], what: str, *processes: Any) -> Any:
    """Wait until something is true; the processes go on meanwhile."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        with suppress(OSError):
            if found := true():
                return found
        assert all(process.poll() is None for process in processes), f"ended before {what}"
        time.sleep(0.1)
    raise AssertionError(f"no {what} in {SECONDS} seconds")


class Hosts:
    """Five hosts with names, and what runs there.

    Parameters
    ----------
    names : of the hosts
    there : their networks
    folder : for logs, volumes and working directories
    """

    def __init__(self, names: list[str], there: list[hosts.Host], folder: Path) -> None:
        self._hosts = dict(zip(names, there, strict=True))
        self.addresses = {name: host.address for name, host in self._hosts.items()}
        self._folder, self._running = folder, ExitStack()

    def start(self, container: c.Container, name: str) -> subprocess.Popen[bytes]:
        """Run a container on the host of this name."""
        folder = self._folder / name
        folder.mkdir(exist_ok=True)
        process = container.start(self._hosts[name], self.addresses, folder, self.log(name))
        self._running.callback(process.wait)
        return process

    def run(self, container: c.Container, name: str) -> str:
        """Run a container to its end; what it has written."""
        before = len(self.written(name))
        code = self.start(container, name).wait(SECONDS)
        assert code == 0, self.written(name)[before:]
        return self.written(name)[before:]

    def log(self, name: str) -> Path:
        return self._folder / f"{name}.log"

    def written(self, name: str) -> str:
        return self.log(name).read_text() if self.log(name).exists() else ""

    def get(self, name: str, port: int, path: str) -> str:
        """A page that a host serves."""
        with urlopen(f"http://{self.addresses[name]}:{port}{path}", timeout=10) as page:
            return str(page.read().decode())

    def updates(self, scheduler: str) -> float:
        """Updates of topics, as Prometheus reads them."""
        found = re.search(
            r"^bigtopic_updates_total (\S+)$", self.get(scheduler, 8787, "/metrics"), re.MULTILINE
        )
        return float(found[1]) if found else 0.0

    def kill(self, name: str, sent: signal.Signals = signal.SIGKILL) -> None:
        """Kill what runs on a host, as the end of a container does."""
        pids = subprocess.run(
            ["ip", "netns", "pids", self._hosts[name].network], check=True, capture_output=True
        )
        for pid in pids.stdout.split():
            with suppress(ProcessLookupError):
                os.kill(int(pid), sent)

    def close(self) -> None:
        """Kill all, and write what they have written, which pytest shows where a test fails."""
        for name in self._hosts:
            self.kill(name)
            print(f"--- {name}\n{self.written(name)[-4000:]}")
        self._running.close()


@pytest.fixture
def five(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Hosts]:
    with hosts.private_networks(5) as (_, there):
        found = Hosts(request.param, there, tmp_path)
        try:
            yield found
        finally:
            found.close()


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The volume of compiled code: what one container compiles, the others find."""
    return volume(tmp_path_factory.mktemp("compiled"))


def volume(path: Path) -> Path:
    """A new folder that belongs to the user of the image, as volumes do by `fsGroup`."""
    path.mkdir(exist_ok=True)
    os.chown(path, c.USER, c.USER)
    return path


def secret(path: Path) -> Path:
    """The folder of a secret: its files can be read, by the mode in the manifests."""
    for one in (path, *path.iterdir()):
        os.chown(one, 0, c.USER)
        one.chmod(0o750 if one == path else 0o440)
    return path


def store(five: Hosts) -> dict[str, Any]:
    """Start the S3 server of the compose file, and make its bucket; what fsspec needs to reach it."""
    services = c.services()
    process = five.start(c.of_service(services["s3"], {}), "s3")
    until(lambda: five.get("s3", 9000, "/moto-api/"), "S3 server", process)
    five.run(c.of_service(services["bucket"], {}), "s3")
    address = f"http://{five.addresses['s3']}:9000"
    return {
        "key": "laptop",
        "secret": "laptop",
        "endpoint_url": address,
        "client_kwargs": {"region_name": "us-east-1"},
    }


def documents(number: int, n_docs: int) -> str:
    draw = random.Random(number)
    kinds = [["".join(draw.choices("bcdfglmnprstvwz", k=5)) for _ in range(60)] for _ in range(20)]
    lines = []
    for i in range(n_docs):
        words = [word for kind in draw.sample(kinds, 2) for word in draw.choices(kind, k=30)]
        lines.append(json.dumps({"id": f"{number}-{i}", "text": " ".join(words)}))
    return "\n".join(lines) + "\n"


def learned_alone(five: Hosts, job: c.Container, options: dict[str, Any], *settings: str) -> Any:
    """What the job would have learned on its threads, in the same environment: BLAS computes by what is set there."""
    url = re.search(r"s3://corpora/(articles|pages).zarr", " ".join(job.command))
    assert url is not None
    command = ["bigtopic", "train", url[0], "s3://corpora/alone.zarr", *settings, "--overwrite"]
    five.run(replace(job, command=command), "job")
    return bt.load_model("s3://corpora/alone.zarr", storage_options=options)


@pytest.mark.parametrize("five", [["s3", "bigtopic-scheduler", "worker-1", "worker-2", "job"]], indirect=True)
def test_kubernetes(five, compiled, tmp_path):
    options = store(five)
    bucket = fsspec.filesystem("s3", **options)
    bucket.pipe_file("corpora/incoming/1.jsonl", documents(1, 2000).encode())
    subprocess.run(
        ["sh", str(c.KUBERNETES / "certificates.sh"), str(tmp_path / "tls")], check=True, capture_output=True
    )
    run, scratch, tls = volume(tmp_path / "run"), volume(tmp_path / "scratch"), secret(tmp_path / "tls")
    folders = {"tls": tls, "compiled": compiled, "scratch": scratch, "run": run}
    found = {one["kind"]: one for one in c.objects()}
    stored = {
        "bigtopic-dask": found["ConfigMap"]["data"],
        "bigtopic-store": {**KEYS, "AWS_ENDPOINT_URL": "http://s3:9000"},
    }

    def made(kind: str, place: str, number: int = 0, **injected: str) -> c.Container:
        pod = c.pods(found[kind])[place]
        return c.of_pod(pod, c.containers(pod)[number], stored, folders, injected)

    scheduler = five.start(made("DaskCluster", "scheduler"), "bigtopic-scheduler")
    until(lambda: five.get("bigtopic-scheduler", 8787, "/health") == "ok", "scheduler", scheduler)
    workers = []
    for name in ("worker-1", "worker-2"):
        operator = {
            "DASK_WORKER_NAME": f"bigtopic-default-{name}",
            "DASK_SCHEDULER_ADDRESS": "tcp://bigtopic-scheduler.default.svc.cluster.local:8786",
        }
        workers.append(five.start(made("DaskCluster", "worker", **operator), name))
        until(lambda name=name: five.get(name, 8788, "/health") == "ok", name, workers[-1])
    assert "tls://" in five.written("bigtopic-scheduler") and "tcp://" not in five.written(
        "bigtopic-scheduler"
    )
    until(lambda: five.written("bigtopic-scheduler").count("bigtopic-default-worker") >= 2, "workers")

    ingest, train = made("Job", "template", 0), made("Job", "template", 1)
    assert "2,000 documents" in five.run(ingest, "job")
    five.run(ingest, "job")  # once more, as in a pod that starts again
    url = "s3://corpora/articles.zarr"
    corpus = bt.open_corpus(url, storage_options=options)
    assert len(corpus) == 2000

    settings = "--topics", "200", "--held-out", "0.01"
    learned_alone(five, train, options, *settings)  # and compiled: the volume has it for all
    # The job is killed, then evicted, and started again each time
    for sent, code in ((signal.SIGKILL, -signal.SIGKILL), (signal.SIGTERM, 143)):
        before, job = five.updates("bigtopic-scheduler"), five.start(train, "job")
        until(lambda before=before: five.updates("bigtopic-scheduler") > before, "update", job)
        job.send_signal(sent)
        assert job.wait(SECONDS) == code
    assert any(run.rglob("step-*"))
    five.run(train, "job")
    model = bt.load_model("s3://corpora/topics.zarr", storage_options=options)
    alone = learned_alone(five, train, options, *settings)
    assert (model.components_ == alone.components_).all() and model.n_iter_ == alone.n_iter_

    for name in ("worker-1", "worker-2"):
        assert re.search(r"^bigtopic_worker_tokens_total \d", five.get(name, 8788, "/metrics"), re.MULTILINE)
    assert re.search(r"^bigtopic_score -\d", five.get("bigtopic-scheduler", 8787, "/metrics"), re.MULTILINE)

    # The next night, and a night without new documents
    bucket.pipe_file("corpora/incoming/2.jsonl", documents(2, 300).encode())
    append, learn_on = made("CronJob", "template", 0), made("CronJob", "template", 1)
    seen = []
    for _ in range(2):
        five.run(append, "job")
        said = five.run(learn_on, "job")
        assert len(bt.open_corpus(url, storage_options=options)) == 2300
        seen.append(bt.load_model("s3://corpora/topics.zarr", storage_options=options))
    assert seen[0].n_docs_seen_ == model.n_docs_seen_ + 300 and "nothing is new" in said
    assert (seen[0].components_ == seen[1].components_).all()
    assert seen[0].components_.shape[1] > alone.components_.shape[1]  # new words, too


@pytest.mark.parametrize("five", [["s3", "scheduler", "worker-1", "worker-2", "job"]], indirect=True)
def test_compose(five, compiled, tmp_path):
    options, services = store(five), c.services()
    volumes = {"compiled": compiled, "runs": volume(tmp_path / "runs")}
    made = {name: c.of_service(service, volumes) for name, service in services.items()}
    scheduler = five.start(made["scheduler"], "scheduler")
    until(lambda: five.get("scheduler", 8787, "/health") == "ok", "scheduler", scheduler)
    assert services["worker"]["deploy"]["replicas"] == 2
    for name in ("worker-1", "worker-2"):
        five.start(made["worker"], name)
    job = five.start(made["job"], "job")
    until(lambda: five.updates("scheduler"), "update", job)
    five.kill("job")
    said = five.run(made["job"], "job")
    model = bt.load_model("s3://corpora/topics.zarr", storage_options=options)
    alone = learned_alone(five, made["job"], options, "--topics", "20")
    assert (model.components_ == alone.components_).all()
    assert all(model.topics(1)[topic][0][0] in said for topic in range(20))
