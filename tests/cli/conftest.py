"""A small source, corpus and model, made once through the command line itself."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from bigtopic.cli import main

SUBJECTS = {
    "rivers": "water bank bridge flow boat mill flood delta".split(),  # noqa: SIM905
    "music": "violin chord concert melody choir tempo organ opera".split(),  # noqa: SIM905
}


def run(*arguments, code=0, stdin=None):
    """The result of `bigtopic ARGUMENTS...`, given bytes or text on standard input; the exit code must be `code`."""
    result = CliRunner().invoke(main, [str(argument) for argument in arguments], input=stdin)
    assert result.exit_code == code, result.output
    return result


@pytest.fixture(scope="session")
def source(tmp_path_factory):
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("source") / "documents.jsonl"
    with path.open("w") as file:
        for number in range(200):
            subject = ("rivers", "music")[number % 2]
            text = " ".join(rng.choice(SUBJECTS[subject], 20))
            file.write(json.dumps({"id": f"d{number}", "text": text, "authors": [f"{subject}-club"]}) + "\n")
    return path


@pytest.fixture(scope="session")
def corpus(source):
    path = source.parent / "documents.zarr"
    run("ingest", source, path)
    return path


@pytest.fixture(scope="session")
def model(corpus):
    path = corpus.parent / "topics.zarr"
    run("train", corpus, path, "--topics", 2, "--passes", 10, "--batch-size", 20, "--held-out", 0.1)
    return path
