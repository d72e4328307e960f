"""The job of a day in the shell, with its page and table behind a URL."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

import bigtopic as bt

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parents[2] / "examples" / "daily.sh"


def day(path, number, n_docs=80):
    draw = random.Random(number)
    kinds = (
        ["river", "boat", "water", "mill", "bridge", "bank"],
        ["choir", "opera", "song", "violin", "concert", "stage"],
    )
    with path.open("w") as file:
        for i in range(n_docs):
            record = {
                "id": f"{number}-{i}",
                "text": " ".join(draw.choices(kinds[i % 2], k=12)),
                "day": number,
            }
            file.write(json.dumps(record) + "\n")


def test_a_day_twice_and_the_next(bucket, tmp_path):
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": bucket.options["endpoint_url"],
        "BUCKET": bucket.url("topics"),
        "TOPICS": "2",
    }

    def run(name):
        command = ["sh", str(SCRIPT), f"{name}.jsonl"]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        corpus = bt.open_corpus(tmp_path / "news.zarr")
        return corpus, bt.load_model(tmp_path / "topics.zarr"), done.stderr

    for number in (1, 2):
        day(tmp_path / f"day{number}.jsonl", number)
    corpus, first, _ = run("day1")
    assert len(corpus) == 80 and first.n_docs_seen_ == 80
    corpus, again, said = run("day1")
    assert len(corpus) == 80 and "80 documents" in said and "nothing is new" in said
    assert (again.components_ == first.components_).all()
    corpus, second, _ = run("day2")
    assert len(corpus) == 160 and second.n_docs_seen_ == 160
    assert not (second.components_ == first.components_).all()
    assert bucket.list_keys() == ["topics/day1.csv", "topics/day2.csv", "topics/topics.html"]
    table = bucket.get("topics/day2.csv").decode().splitlines()
    assert (
        len(table) == 81 and table[0].startswith("document_id,day,topic_0") and table[1].startswith("2-0,2,")
    )
    assert bucket.get("topics/topics.html").startswith(b"<!doctype html>")
