"""`bigtopic explore`: the address, the browser, and which path is which."""

import json
import os
import re
import signal
import subprocess
import sys
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

from .conftest import run


@pytest.fixture(scope="module")
def theta(model, corpus, tmp_path_factory):
    path = tmp_path_factory.mktemp("explore") / "theta.zarr"
    run("infer", model, corpus, path)
    return path


@pytest.fixture
def visited(monkeypatch, tmp_path):
    """What is asked of the server and of the browser; then Ctrl-C."""
    found = {"opened": []}

    def wait(exploration):
        found["exploration"] = exploration
        connection = HTTPConnection("127.0.0.1", exploration.port)
        connection.request("GET", f"/?{urlsplit(exploration.url).query}")
        cookie = connection.getresponse().headers["Set-Cookie"].partition(";")[0]
        connection.close()
        connection.request("GET", "/api/model", headers={"Cookie": cookie})
        found["model"] = json.loads(connection.getresponse().read())
        connection.close()
        raise KeyboardInterrupt

    monkeypatch.setattr("bigtopic.explore.Exploration.wait", wait)
    monkeypatch.setattr("webbrowser.open", found["opened"].append)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return found


def test_until_it_is_ended(model, theta, corpus, visited):
    shown = run("explore", model, theta, corpus).output
    (url,) = visited["opened"]
    assert url in shown and re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{43}", url)
    assert visited["model"]["title"] == "Topics: topics" and visited["model"]["n_docs"] == 200
    assert "closed" in repr(visited["exploration"])


def test_without_a_browser(model, theta, corpus, visited, tmp_path):
    chosen = ["--no-browser", "--index", tmp_path / "mine", "--title", "Mine", "--json"]
    shown = json.loads(run("explore", model, theta, *chosen).stdout)
    assert shown["url"].startswith("http://127.0.0.1:") and visited["opened"] == []
    assert visited["model"]["title"] == "Mine" and visited["model"]["n_tokens"] is None
    assert [path.name for path in (tmp_path / "mine").glob("*/*")] == ["index"]


def test_topics_are_inferred(model, corpus, visited):
    run("explore", model, corpus, "--no-browser")
    assert visited["model"]["n_docs"] == 200 and visited["model"]["n_tokens"] == 4000


def test_mistakes(model, theta, corpus, visited):
    assert "give THETA" in run("explore", model, code=2).output
    assert "the topics come before the corpus" in run("explore", model, corpus, theta, code=2).output
    assert "no store of topics" in run("explore", model, model, code=2).output
    assert "--port" in run("explore", model, theta, "--port", "70000", code=2).output


def test_interrupted(model, theta, tmp_path):
    """In a process of its own, by the signal of Ctrl-C."""
    command = [sys.executable, "-m", "bigtopic", "explore", model, theta, "--no-browser"]
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True
    )
    with process:
        try:
            assert "token=" in process.stdout.readline()
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=30)
        finally:
            process.kill()
    assert process.returncode == 0 and "Traceback" not in said
