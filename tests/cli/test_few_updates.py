"""`bigtopic train` says when an online method makes so few updates that it learns nearly nothing."""

import pytest

from .conftest import run


def said(corpus, path, *options):
    return run("train", corpus, path / "m.zarr", "--topics", 2, "--threads", 1, *options).stderr


@pytest.mark.parametrize(
    "options, told",
    [
        ((), "online-vb made 1 update (batch size 5000, 200 documents): "),
        (("--held-out", 0.1, "--passes", 9), "online-vb made 9 updates (batch size 5000, 180 documents): "),
        (("--batch-size", 100), "online-vb made 2 updates (batch size 100, 200 documents): "),
    ],
)
def test_few_updates_are_said_with_what_to_set(options, told, corpus, tmp_path):
    assert said(corpus, tmp_path, "--method", "SVI", *options) == (
        f"{told}for more, set a smaller --batch-size, or more --passes\n"
    )


@pytest.mark.parametrize(
    "options",
    [
        ("--method", "online-vb", "--passes", 10),
        ("--method", "online-vb", "--batch-size", 20),
        ("--method", "vb", "--passes", 2),  # one update a pass by design
        ("--method", "cgs", "--passes", 2),
        ("--method", "sgs"),  # its sweeps, or inner iterations, are inside of an update
        ("--method", "svb"),
    ],
)
def test_nothing_is_said_of_enough_or_of_large_updates(options, corpus, tmp_path):
    assert not said(corpus, tmp_path, *options)
