"""An S3 server of its own process on the loopback, and a bucket for each test."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest

SERVER = """
import threading
import time
from moto.server import ThreadedMotoServer

class Refusing:
    # what is asked for /-unavailable/SECONDS makes it answer 503 to everything so long
    def __init__(self, app):
        self.app, self.until, self.refused = app, 0.0, 0

    def __call__(self, environ, start):
        path = environ["PATH_INFO"]
        if path.startswith("/-unavailable/"):
            self.until, refused, self.refused = time.monotonic() + float(path[14:]), self.refused, 0
            start("200 OK", [("Content-Type", "text/plain")])
            return [str(refused).encode()]
        if time.monotonic() > self.until:
            return self.app(environ, start)
        self.refused += 1
        environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        body = b"<Error><Code>ServiceUnavailable</Code><Message>later</Message></Error>"
        start("503 Service Unavailable", [("Content-Length", str(len(body)))])
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]

server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
server._server.app = Refusing(server._server.app)
print(server.get_host_and_port()[1], flush=True)
threading.Event().wait()
"""


@dataclass(frozen=True)
class Bucket:
    """A bucket, what fsspec needs to reach it, and a client that knows nothing of fsspec."""

    name: str
    options: dict[str, Any]
    client: Any

    def url(self, key: str = "") -> str:
        return f"s3://{self.name}/{key}".rstrip("/")

    def list_keys(self, prefix: str = "") -> list[str]:
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.name, Prefix=prefix)
        return [entry["Key"] for page in pages for entry in page.get("Contents", [])]

    def contents(self, prefix: str = "") -> dict[str, bytes]:
        return {key: self.get(key) for key in self.list_keys(prefix)}

    def get(self, key: str) -> bytes:
        return self.client.get_object(Bucket=self.name, Key=key)["Body"].read()

    def put(self, key: str, data: bytes) -> None:
        self.client.put_object(Bucket=self.name, Key=key, Body=data)

    def restore(self, prefix: str, contents: dict[str, bytes]) -> None:
        """Make the objects below a prefix exactly these."""
        found = self.list_keys(prefix)
        for first in range(0, len(found), 1000):
            names = [{"Key": key} for key in found[first : first + 1000]]
            self.client.delete_objects(Bucket=self.name, Delete={"Objects": names})
        for key, data in contents.items():
            self.put(key, data)


def s3_options(endpoint: str) -> dict[str, Any]:
    return {
        "key": "testing",
        "secret": "testing",
        "endpoint_url": endpoint,
        "client_kwargs": {"region_name": "us-east-1"},
        "config_kwargs": {"retries": {"max_attempts": 1}, "connect_timeout": 5},
    }


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    """The address of a server that starts empty and ends with the tests."""
    server = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(server.stdout.readline())}"
    finally:
        server.kill()
        server.wait()
        server.stdout.close()


@pytest.fixture
def bucket(s3_endpoint: str) -> Bucket:
    """A new bucket; the server forgets all of them when it ends."""
    boto3 = pytest.importorskip("boto3")
    session = boto3.session.Session("testing", "testing", region_name="us-east-1")
    client = session.client("s3", endpoint_url=s3_endpoint)
    name = f"test-{uuid4().hex[:12]}"
    client.create_bucket(Bucket=name)
    yield Bucket(name, s3_options(s3_endpoint), client)
    client.close()
