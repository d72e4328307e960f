"""TLS: what has no certificate of the cluster is refused, and told what to set."""

from __future__ import annotations

import dask
import pytest
from click.testing import CliRunner

from bigtopic.cli import main
from bigtopic.errors import SettingError
from bigtopic.parallel import cluster

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
