"""Warnings name the line of the caller, outside of the package."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import pytest

import bigtopic as bt
from bigtopic.errors import BigtopicWarning

TEXTS = ["river bank boat water", "market stock money trade"] * 6


def of_unknown_words() -> None:
    model = bt.LDA(2, method="online-cvb0", max_iter=1, client=False, progress=False).fit(TEXTS)
    model.transform(["river boat zebra"])


def of_a_decay() -> None:
    bt.LDA(2, method="online-cvb0", learning_decay=0.5, client=False, progress=False).fit(TEXTS)


def of_markup() -> None:
    bt.LDA(2, method="online-cvb0", max_iter=1, client=False, progress=False).fit(
        [f"<p class=a>{text}</p>" for text in TEXTS]
    )


def of_small_updates() -> None:
    model = bt.LDA(2, client=False, progress=False)
    for _ in range(3):
        model.partial_fit(TEXTS)


@pytest.mark.parametrize("cause", [of_unknown_words, of_a_decay, of_markup, of_small_updates])
def test_the_line_that_called_the_package_is_named(cause: Callable[[], None]):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cause()
    assert caught and {issubclass(one.category, BigtopicWarning) for one in caught} == {True}
    assert {one.filename for one in caught} == {__file__}


def test_a_line_is_told_once():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        model = bt.LDA(2, method="online-cvb0", max_iter=1, client=False, progress=False).fit(TEXTS)
        for _ in range(3):
            model.transform(["river boat zebra"])
    assert len(caught) == 1


def test_a_filter_sees_the_words_that_are_shown():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="learning_decay=0.5: convergence")
        of_a_decay()
