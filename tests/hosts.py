"""Workers on other hosts, as far as the library can tell: at another address, with files and a network of their own."""

from __future__ import annotations

import multiprocessing
import os
import secrets
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from ipaddress import ip_network
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

REPOSITORY = Path(__file__).parents[1]
HOST = "127.0.0.2"
TEMPORARY = tempfile.gettempdir()
SECONDS = 300  # that a worker may take to come: machines are busy, and tests are many
LENGTH = 29  # bits that the addresses of a network have in common: it has six, for this process and its hosts
FOR_TESTS = ip_network("198.18.0.0/15")  # reserved for tests of networks

# What tasks need, so that forks need not import it.
PRELOADED = (
    "distributed.cli.dask_worker",
    "bigtopic.ingestion.job",
    "bigtopic.learning.executors.graphs",
    "bigtopic.learning.executors.whole",
    "bigtopic.learning.train",
    "bigtopic.kernels.collapsed.cvb0",
    "bigtopic.kernels.sampling.cgs",
    "bigtopic.kernels.variational.vb",
)

# Private memory and temporary folders. Folders to keep stay visible when they lie in one of them.
PRIVATE_FILES = """
set -e
number=0
for kept in {kept}; do
    mkdir kept-$number
    mount --bind "$kept" kept-$number
    number=$((number + 1))
done
mount -t tmpfs -o size=256m tmpfs /dev/shm
mount -t tmpfs -o size=256m tmpfs {temporary}
number=0
for kept in {kept}; do
    [ -d "$kept" ] || {{ mkdir -p "$kept"; mount --bind kept-$number "$kept"; }}
    number=$((number + 1))
done
cd /
exec "$@"
"""


class Host(NamedTuple):
    """A network namespace, and its address."""

    network: str
    address: str


class Fork:
    """A forked process, with what tests use of `subprocess.Popen`."""

    def __init__(self, process: Any) -> None:
        self._process = process
        self.pid: int = process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def kill(self) -> None:
        self._process.kill()

    def wait(self) -> None:
        self._process.join()


@cache
def forks() -> Any:
    """Where processes are forked from one that has imported what workers need."""
    from distributed.utils import get_mp_context

    get_mp_context()  # which chooses other modules, the first time
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(PRELOADED))
    return context


@cache
def why_no_namespaces() -> str | None:
    """Why this process cannot give a worker files of its own, or None when it can."""
    if shutil.which("unshare") is None:
        return "there is no unshare here"
    done = subprocess.run(
        ["unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/dev/shm"], capture_output=True, check=False
    )
    return "mount namespaces need root" if done.returncode else None


@cache
def why_no_networks() -> str | None:
    """Why this process cannot give a worker a network of its own, or None when it can."""
    if why_no_namespaces() or shutil.which("ip") is None:
        return "network namespaces need root and iproute2"
    name = f"bt{uuid4().hex[:8]}"
    if subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False).returncode:
        return "network namespaces need root"
    subprocess.run(["ip", "netns", "del", name], check=True)
    return None


@contextmanager
def scheduler(host: str = HOST) -> Iterator[Any]:
    """Client of a cluster that has no workers yet; it is nobody's default."""
    from dask.distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=0, host=host, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@contextmanager
def worker(
    client: Any,
    *,
    host: str = HOST,
    private_files: bool = False,
    kept: Sequence[Path] = (),
    network: str | None = None,
    n_threads: int = 1,
    **environment: str,
) -> Iterator[Fork | subprocess.Popen[bytes]]:
    """One more worker process, forked unless files, a network or an environment of its own have it begin anew.

    Parameters
    ----------
    private_files : with a `/dev/shm` and a folder of temporary files of its own (see `why_no_namespaces`)
    kept : folders that it sees all the same, besides the repository and Python
    network : name of the network namespace to run in, where `host` is
    **environment : variables of the process
    """
    options = [client.scheduler.address, "--no-nanny", "--nthreads", str(n_threads), "--host", host]
    options += ["--no-dashboard", "--memory-limit", "0", "--name", name := uuid4().hex]
    command = [sys.executable, "-m", "distributed.cli.dask_worker", *options]
    if private_files:
        folders = " ".join(shlex.quote(str(folder)) for folder in (REPOSITORY, sys.prefix, *kept))
        script = PRIVATE_FILES.format(kept=folders, temporary=shlex.quote(TEMPORARY))
        command = ["unshare", "-m", "sh", "-c", script, "sh", *command]
    if network is not None:
        command = ["ip", "netns", "exec", network, *command]
    with tempfile.TemporaryDirectory(prefix="bigtopic-worker-", dir="/var/tmp") as folder:
        variables = (
            os.environ | {"PYTHONPATH": str(REPOSITORY), "DASK_TEMPORARY_DIRECTORY": folder} | environment
        )
        process: Fork | subprocess.Popen[bytes]
        if private_files or network is not None or environment:
            quiet = subprocess.DEVNULL
            process = subprocess.Popen(command, env=variables, cwd=folder, stdout=quiet, stderr=quiet)
        else:
            forked = forks().Process(target=_work, args=(options, variables, folder), daemon=True)
            forked.start()
            process = Fork(forked)
        try:
            _wait_for(client, name, process)
            yield process
        finally:
            process.kill()
            process.wait()


class Apart:
    """A cluster of two workers in a process of its own, which may be killed, and begun again at the same address."""

    def __init__(self) -> None:
        with socket.socket() as free:
            free.bind((HOST, 0))
            self._port = free.getsockname()[1]
        self.address = f"tcp://{HOST}:{self._port}"
        self._process: Any = None

    def begin(self) -> None:
        self._process = forks().Process(target=_serve, args=(self._port,), daemon=True)
        self._process.start()

    def kill(self) -> None:
        self._process.kill()
        self._process.join()


def _serve(port: int) -> None:
    from dask.distributed import LocalCluster

    where = {"processes": False, "protocol": "tcp://", "host": HOST, "scheduler_port": port}
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", **where):
        time.sleep(12 * SECONDS)


def _work(options: list[str], variables: Mapping[str, str], folder: str) -> None:
    """The command of a worker in a fork, which has had other variables and may import what tests import."""
    import dask
    from distributed.cli.dask_worker import main

    os.environ.clear()
    os.environ.update(variables)
    os.chdir(folder)
    for descriptor in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
    tests = Path(__file__).parent
    sys.path[:] = [
        str(REPOSITORY),
        *(path for path in sys.path if tests not in (Path(path), *Path(path).parents)),
    ]
    dask.config.refresh()
    main(options, standalone_mode=False)


def _wait_for(client: Any, name: str, process: Fork | subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + SECONDS
    while all(worker["name"] != name for worker in client.scheduler_info(n_workers=-1)["workers"].values()):
        assert process.poll() is None and time.monotonic() < end, "the worker does not come"
        time.sleep(0.05)


@contextmanager
def private_networks(n_hosts: int) -> Iterator[tuple[str, list[Host]]]:
    """The address of this process on a bridge, and hosts that are joined to it, each by a pair of devices."""
    first = FOR_TESTS[secrets.randbelow(FOR_TESTS.num_addresses >> 3) << 3]
    here, *there = map(str, ip_network(f"{first}/{LENGTH}").hosts())
    bridge = f"bt{uuid4().hex[:8]}"
    with ExitStack() as stack:
        _ip("link", "add", bridge, "type", "bridge")
        stack.callback(_ip, "link", "del", bridge)
        _ip("addr", "add", f"{here}/{LENGTH}", "dev", bridge)
        _ip("link", "set", bridge, "up")
        yield here, [stack.enter_context(_joined(bridge, address)) for address in there[:n_hosts]]


@contextmanager
def _joined(bridge: str, address: str) -> Iterator[Host]:
    name = f"bt{uuid4().hex[:8]}"  # of the namespace, and of the device on this side
    _ip("netns", "add", name)
    try:
        _ip("link", "add", name, "type", "veth", "peer", "name", "bt0", "netns", name)
        _ip("link", "set", name, "master", bridge, "up")
        _ip("-n", name, "addr", "add", f"{address}/{LENGTH}", "dev", "bt0")
        for device in ("bt0", "lo"):
            _ip("-n", name, "link", "set", device, "up")
        yield Host(name, address)
    finally:
        _ip("netns", "del", name)  # and the devices with it, once no process is left there


def unplug(host: Host) -> None:
    """Let everything that is sent to a host, or from there, get lost."""
    _ip("link", "set", host.network, "down")


def plug(host: Host) -> None:
    """End what `unplug` began."""
    _ip("link", "set", host.network, "up")


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)
