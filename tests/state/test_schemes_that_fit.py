"""A scheme that would make nonsense of a kernel's statistics is refused before a document is read, and those named
that fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

from bigtopic import kernels, schemes
from bigtopic.errors import ModelError, SettingError
from bigtopic.estimators.lda import LDA
from bigtopic.methods import get
from bigtopic.schemes.add import Add
from bigtopic.schemes.langevin import LazyLangevin
from bigtopic.schemes.newton import Newton
from bigtopic.schemes.own_prior import OwnPrior

X = np.kron(np.eye(2, dtype=int), np.full((20, 5), 3))
TAKING = ["add", "add_to_prior"]
OF_TOTALS = sorted({*schemes.names()} - {*TAKING, "fixed_point", "newton", "own_prior", "own_row_prior"})


def fit(method):
    return LDA(2, method=method, client=False, n_threads=1, max_iter=1, random_state=0).fit(X)


def refused(method, says):
    with pytest.raises(SettingError, match=says):
        LDA(2, method=method, client=False).fit(object())


@pytest.mark.parametrize("scheme", OF_TOTALS)
@pytest.mark.parametrize("name", ["cgs", "ilr", "cvb"])
def test_changes_of_counts_are_added_and_nothing_else(name, scheme):
    method = get(name)
    own = replace(method, schemes={**method.schemes, "topic_words": schemes.load(scheme)()})
    refused(own, rf"method '{name}'.*kernel '{name}' returns changes.*choose one of: {', '.join(TAKING)}$")


def test_kernels_that_remember_documents_return_changes():
    remembering = [name for name in kernels.names() if kernels.load(name).state == "run"]
    assert remembering == [name for name in kernels.names() if kernels.load(name).changes]
    assert [name for name in schemes.names() if hasattr(schemes.load(name), "takes_changes")] == TAKING


@dataclass(frozen=True)
class Twice(Add):
    """A scheme by a user, in two steps."""

    takes_changes: ClassVar[bool] = True


def test_a_custom_scheme_may_take_changes():
    own = replace(get("cgs"), schemes={"topic_words": Twice()})
    np.testing.assert_array_equal(fit(own).components_, fit(get("cgs")).components_)


@pytest.mark.parametrize("scheme", [get("lds").schemes["topic_words"], LazyLangevin()])
def test_samples_have_their_prior_in_the_scheme(scheme):
    own = replace(get("online-cgs"), schemes={"topic_words": scheme}, init={})
    refused(own, r"has the prior of 'topic_words' as a setting.*prior=None, as in .*lda_samples")


@pytest.mark.parametrize("name", ["online-vb", "cgs", "plsa"])
def test_a_scheme_that_only_sets_a_prior_belongs_elsewhere(name):
    own = replace(get(name), schemes={"topic_words": OwnPrior()})
    refused(own, r"sets the prior of its array and.*prior_schemes.*choose one of: add\b(?!.*own_prior)")


@pytest.mark.parametrize("name", ["online-vb", "g-oem", "plsa"])
def test_a_prior_of_documents_is_learned_from_expected_logarithms_alone(name):
    own = replace(get(name), schemes={"topic_words": Newton()})
    refused(
        own,
        r"takes sums of E\[log theta\], and the statistics of 'topic_words' are something else; choose one of: "
        r"add\b(?!.*newton)",
    )


@pytest.mark.parametrize("scheme", [Add(), get("online-vb").schemes["topic_words"]], ids=repr)
def test_expected_logarithms_that_are_added_leave_no_prior(scheme):
    own = get("online-vb")
    own = replace(own, schemes={**own.schemes, "doc_topic_prior": scheme})
    with pytest.raises(
        ModelError, match=r"'doc_topic_prior', at update 1: after it, the prior of documents'"
    ):
        fit(own)


def test_a_scheme_that_would_keep_a_start_as_if_documents_had_it_is_refused():
    @dataclass(frozen=True)
    class Kept:
        takes_changes: ClassVar[bool] = True
        dtype: ClassVar[str] = "float64"

        def step(self, array, stats, info):
            array.add(stats)

    own = replace(get("cgs"), schemes={"topic_words": Kept()})
    fit(own)
    with pytest.raises(
        SettingError, match=r"init: method 'cgs' counts documents.*Kept would keep.*forgets_start"
    ):
        LDA(2, method=own, init=np.ones((2, 10)), client=False).fit(X)
