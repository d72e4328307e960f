"""Figures of runs on the pages that Prometheus reads."""

from __future__ import annotations

import re
from types import SimpleNamespace
from urllib.request import urlopen

import dask
import pytest

import bigtopic as bt
from bigtopic.errors import MissingExtra
from bigtopic.learning.events import Event
from bigtopic.parallel import prometheus

MODULE = "bigtopic.parallel.prometheus"


def figures(url):
    """{name: value} of our lines on a page."""
    text = urlopen(f"{url}/metrics", timeout=30).read().decode()
    found = re.findall(r"^(bigtopic_\w+?) (\S+)$", text, re.MULTILINE)
    return {name: float(value) for name, value in found if not name.endswith("_created")}


@pytest.mark.distributed
def test_pages_of_scheduler_and_worker(corpus):
    from dask.distributed import Client, LocalCluster

    preload = {"distributed.scheduler.preload": [MODULE], "distributed.worker.preload": [MODULE]}
    where = {"dashboard_address": "127.0.0.1:0", "worker_dashboard_address": "127.0.0.1:0"}
    with (
        dask.config.set(preload),
        LocalCluster(n_workers=1, threads_per_worker=1, processes=False, **where) as local,
        Client(local, set_as_default=False) as client,
    ):
        told = []
        client.subscribe_topic(prometheus.TOPIC, lambda event: told.append(event[1]))
        model = bt.LDA(
            2, method="vb", max_iter=3, random_state=0, client=client, progress=False, validation=0.1
        )
        model.fit(corpus)
        of_all = figures(f"http://127.0.0.1:{client.scheduler_info()['services']['dashboard']}")
        row = model.history_[-1]
        assert of_all["bigtopic_updates_total"] == row["step"] == 3
        assert of_all["bigtopic_tokens_total"] == row["n_tokens"]
        assert of_all["bigtopic_score"] == pytest.approx(
            [r["score"] for r in model.history_ if "score" in r][-1]
        )
        # Scheduler and worker are one process here, whose page has both
        assert of_all["bigtopic_worker_tokens_total"] >= of_all["bigtopic_tokens_total"]
        assert sum(one["n_updates"] for one in told) == 3


def test_reports_are_of_what_is_new_and_rare(monkeypatch):
    sent, now = [], [100.0]
    monkeypatch.setattr(prometheus.Reporter, "_send", lambda self, report, last: sent.append((report, last)))
    monkeypatch.setattr(prometheus.time, "monotonic", lambda: now[0])
    report = prometheus.Reporter(None)
    for seconds, kind, step, score in (
        (0.0, "start", 70, None),  # resumed
        (0.1, "round", 71, None),
        (0.2, "round", 72, None),
        (1.5, "round", 73, None),
        (1.6, "score", 73, -7.5),
        (1.7, "end", 73, None),
    ):
        now[0] = 100.0 + seconds
        report(Event(kind, step, 1, seconds, 10 * step, 100.0 * step, score=score))
    assert [message["n_updates"] for message, _ in sent] == [0, 3, 0, 0]
    assert [message["n_tokens"] for message, _ in sent] == [0.0, 300.0, 0.0, 0.0]
    assert [message.get("score") for message, _ in sent] == [None, None, -7.5, None]
    assert [wait for _, wait in sent] == [False, False, False, True]


def test_without_the_package_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "prometheus_client", None)
    with pytest.raises(MissingExtra, match=r"bigtopic\[prometheus\]"):
        prometheus.dask_setup(SimpleNamespace())
