"""TLS: what has no certificate of the cluster is refused, and told what to set."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import dask
import pytest
from click.testing import CliRunner

from bigtopic.cli import main
from bigtopic.errors import SettingError
from bigtopic.parallel import cluster

CERTIFICATES = Path(__file__).parents[2] / "examples" / "kubernetes" / "certificates.sh"
DASK = [sys.executable, "-m", "dask"]
SECONDS = 120
VARIABLES = [f"DASK_DISTRIBUTED__COMM__TLS__{name}" for name in ("CA_FILE", "CLIENT__CERT", "CLIENT__KEY")]


def test_without_a_certificate_the_error_names_the_variables(tmp_path):
    with pytest.raises(SettingError) as told:
        cluster.resolve_client("tls://127.0.0.1:1")
    assert all(variable in str(told.value) for variable in VARIABLES)
    done = CliRunner().invoke(
        main, ["ingest", __file__, str(tmp_path / "c.zarr"), "--scheduler", "tls://127.0.0.1:1"]
    )
    assert done.exit_code == 2 and done.output.startswith("Error: --scheduler tls://127.0.0.1:1: TLS needs")
    for name, variable in zip(("ca-file", "client.cert", "client.key"), VARIABLES, strict=True):
        paths = {f"distributed.comm.tls.{one}": __file__ for one in ("ca-file", "client.cert", "client.key")}
        missing = str(tmp_path / "missing.pem")
        configured = dask.config.set({**paths, f"distributed.comm.tls.{name}": missing})
        with configured, pytest.raises(SettingError) as told:
            cluster.resolve_client("tls://127.0.0.1:1")
        assert f"{variable} is {missing!r}, which cannot be read" in str(told.value)


@pytest.fixture
def secure(tmp_path):
    """A scheduler and a worker that require TLS, and the environment of a process with a certificate, by authority."""
    environments = {
        "none": {name: value for name, value in os.environ.items() if not name.startswith("DASK_")}
    }
    for authority in ("ours", "others"):
        folder = tmp_path / authority
        subprocess.run(["sh", str(CERTIFICATES), str(folder)], check=True, capture_output=True)
        files = {"CA_FILE": "ca.crt"}
        for role in ("SCHEDULER", "WORKER", "CLIENT"):
            files |= {f"{role}__CERT": "tls.crt", f"{role}__KEY": "tls.key"}
        tls = {f"DASK_DISTRIBUTED__COMM__TLS__{name}": str(folder / file) for name, file in files.items()}
        required = {"DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "True"}
        environments[authority] = {**environments["none"], **tls, **required}
    file = tmp_path / "scheduler.json"
    serve = [*DASK, "scheduler", "--host", "127.0.0.3", "--port", "0", "--no-dashboard"]
    with ExitStack() as stack:
        running = []
        for command in (
            [*serve, "--scheduler-file", str(file)],
            [*DASK, "worker", "--scheduler-file", str(file)],
        ):
            running.append(
                subprocess.Popen(command, env=environments["ours"], cwd=tmp_path, stderr=subprocess.DEVNULL)
            )
            stack.callback(running[-1].wait)
            stack.callback(running[-1].terminate)
            end = time.monotonic() + SECONDS
            while not file.exists():
                assert time.monotonic() < end
                time.sleep(0.1)
        yield json.loads(file.read_text())["address"], environments


@pytest.mark.slow
@pytest.mark.distributed
def test_what_has_no_certificate_of_the_cluster_is_refused(secure, tmp_path):
    address, environments = secure
    assert address.startswith("tls://127.0.0.3:")
    (tmp_path / "texts.txt").write_text("the boat on the river\na choir sang at the opera\n")

    def ingest(authority, scheduler=address):
        command = [sys.executable, "-m", "bigtopic", "ingest", "texts.txt", f"{authority}.zarr"]
        settings = {"env": environments[authority], "cwd": tmp_path, "capture_output": True, "text": True}
        done = subprocess.run([*command, "--scheduler", scheduler], timeout=SECONDS, check=False, **settings)
        return done.returncode, done.stderr

    code, told = ingest("ours")
    assert code == 0, told
    code, told = ingest("none")
    assert code == 2 and all(variable in told for variable in VARIABLES)
    code, told = ingest("others")
    assert code == 2 and "whether the authority in" in told and VARIABLES[0] in told and "certificate" in told
    code, told = ingest("none", address.replace("tls://", "tcp://"))
    assert code == 2 and "which begins with tls:// if the cluster uses TLS" in told
    assert not list(tmp_path.glob("none.zarr")) and not list(tmp_path.glob("others.zarr"))

    for authority, reason in (
        ("none", "perhaps check your TLS configuration"),
        ("others", "certificate verify failed"),
    ):
        command = [*DASK, "worker", address, "--death-timeout", "5"]
        settings = {"env": environments[authority], "cwd": tmp_path, "capture_output": True, "text": True}
        done = subprocess.run(command, timeout=SECONDS, check=False, **settings)
        assert reason in done.stderr and "Registered to" not in done.stderr
