"""Workers on other hosts, as far as the library can tell: at another address, with files and a network of their own."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

REPOSITORY = Path(__file__).parents[1]
HOST = "127.0.0.2"
SECONDS = 60

# Private memory and temporary folders; the repository and Python stay visible when they lie in one of them.
PRIVATE_FILES = """
set -e
mount -t tmpfs -o size=256m tmpfs /dev/shm
mkdir /dev/shm/repository /dev/shm/python
mount --bind {repository} /dev/shm/repository
mount --bind {python} /dev/shm/python
mount -t tmpfs -o size=256m tmpfs {temporary}
[ -d {repository} ] || {{ mkdir -p {repository}; mount --bind /dev/shm/repository {repository}; }}
[ -d {python}/bin ] || {{ mkdir -p {python}; mount --bind /dev/shm/python {python}; }}
cd /
exec "$@"
"""


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
    network: str | None = None,
    n_threads: int = 1,
    **environment: str,
) -> Iterator[subprocess.Popen[bytes]]:
    """One more worker process.

    Parameters
    ----------
    private_files : with a `/dev/shm` and a folder of temporary files of its own (see `why_no_namespaces`)
    network : name of the network namespace to run in, where `host` is
    **environment : variables of the process
    """
    command = [sys.executable, "-m", "distributed.cli.dask_worker", client.scheduler.address, "--no-nanny"]
    command += ["--nthreads", str(n_threads), "--host", host, "--no-dashboard", "--memory-limit", "0"]
    if private_files:
        settings = {"repository": REPOSITORY, "python": sys.prefix, "temporary": tempfile.gettempdir()}
        script = PRIVATE_FILES.format(**{name: shlex.quote(str(value)) for name, value in settings.items()})
        command = ["unshare", "-m", "sh", "-c", script, "sh", *command]
    if network is not None:
        command = ["ip", "netns", "exec", network, *command]
    n_before = len(client.nthreads())
    with tempfile.TemporaryDirectory(prefix="bigtopic-worker-", dir="/var/tmp") as folder:
        variables = {"PYTHONPATH": str(REPOSITORY), "DASK_TEMPORARY_DIRECTORY": folder, **environment}
        process = subprocess.Popen(
            command,
            env=os.environ | variables,
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            client.wait_for_workers(n_before + 1, timeout=SECONDS)
            yield process
        finally:
            process.kill()
            process.wait()


@contextmanager
def private_network() -> Iterator[tuple[str, str, str]]:
    """A network namespace joined to this one by a pair of devices: its name, the address here, the address there."""
    name = f"bt{uuid4().hex[:8]}"
    number = 1 + uuid4().int % 250
    here, there = f"10.213.{number}.1", f"10.213.{number}.2"
    with ExitStack() as stack:
        _ip("netns", "add", name)
        stack.callback(_ip, "netns", "del", name)  # and the devices with it
        _ip("link", "add", name, "type", "veth", "peer", "name", "bt0", "netns", name)
        _ip("addr", "add", f"{here}/30", "dev", name)
        _ip("link", "set", name, "up")
        for arguments in (
            ("addr", "add", f"{there}/30", "dev", "bt0"),
            ("link", "set", "bt0", "up"),
            ("link", "set", "lo", "up"),
        ):
            _ip("-n", name, *arguments)
        yield name, here, there


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)
