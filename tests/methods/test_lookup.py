"""Methods are found by their names and by those of papers."""

from __future__ import annotations

import numpy as np
import pytest

from bigtopic import methods as table
from bigtopic.errors import SettingError
from bigtopic.estimators.author_topic import AuthorTopicModel
from bigtopic.estimators.lda import LDA
from bigtopic.methods import get, names

X = np.kron(np.eye(2, dtype=int), np.full((20, 5), 3))


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("G-OEM:olda", "online-vb"),
        ("g-oem:OLDA", "online-vb"),
        ("SVI", "online-vb"),
        ("Online-VB", "online-vb"),
        ("ope:Online-CVB0", "scvb0"),
        ("ope:Streaming-VB", "streaming-vb"),
        ("broderick:SVB", "svb"),
        ("sgs:SVB", "svb-progressive"),
        ("sgs:Streaming-VB", "svb-progressive"),
        ("VarGibbs", "online-cgs"),
        ("G-OEM++", "g-oem++"),
        ("SGRLD", "lds"),
        ("griffiths:Gibbs", "cgs"),
        ("rosen-zvi:Gibbs", "author-cgs"),
    ],
)
def test_names_of_papers(name, method):
    assert get(name) is get(method)


def test_names_of_methods_are_never_ambiguous():
    for row in table():
        assert get(row["method"]).name == row["method"]


def test_an_alias_with_its_paper_means_one_method():
    forms = [alias.lower() for row in table() for alias in get(row["method"]).aliases]
    assert len(set(forms)) == len(forms)
    assert all(get(form).name not in forms and form.count(":") == 1 for form in forms)


@pytest.mark.parametrize(
    ("name", "forms"),
    [
        ("Online-CVB0", r"online-cvb0, ope:Online-CVB0 \(scvb0\)"),
        (
            "Streaming-VB",
            r"streaming-vb, ope:Streaming-VB \(streaming-vb\), sgs:Streaming-VB \(svb-progressive\)",
        ),
    ],
)
def test_a_name_of_two_methods_is_an_error_with_their_papers(name, forms):
    with pytest.raises(SettingError, match=rf"method='{name}' is ambiguous; choose one of: {forms}$"):
        get(name)


@pytest.mark.parametrize("name", ["OLDA", "olda"])
def test_a_name_of_a_method_and_of_one_that_is_not_offered_is_an_error(name):
    message = r"is ambiguous; choose one of: g-oem:OLDA \(online-vb\); alsumait:OLDA is not offered: .*'sgs'.*'decay'"
    with pytest.raises(SettingError, match=message):
        get(name)
    with pytest.raises(SettingError, match="alsumait:OLDA is not offered; method='sgs'"):
        get(f"alsumait:{name}")


@pytest.mark.parametrize("name", ["gibbs", "Gibbs"])
def test_methods_of_the_estimator_are_named_first(name):
    cgs, authors = r"griffiths:Gibbs \(cgs\)", r"rosen-zvi:Gibbs \(author-cgs\)"
    for kind, forms in ((LDA, f"{cgs}, {authors}"), (AuthorTopicModel, f"{authors}, {cgs}")):
        with pytest.raises(SettingError, match=f"'{name}' is ambiguous; choose one of: {forms}$"):
            kind(2, method=name).fit(X)
    with pytest.raises(SettingError, match=f"choose one of: {cgs}, {authors}$"):
        get(name)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("online_vb", "online-vb"),
        ("ope:OLDA", "g-oem:OLDA"),
        ("batch", "vb"),
        ("online", "online-vb"),
        ("Batch VB", "vb"),
        ("batch_vb", "vb"),
        ("LDA-CGS", "cgs"),
        ("mallet", "cgs"),
        ("MALLET", "cgs"),
        ("collapsed-gibbs", "cgs"),
        ("Collapsed Gibbs sampling", "cgs"),
        ("gibbs_sampling", "cgs"),
    ],
)
def test_a_name_like_others_is_told_them(name, meant):
    with pytest.raises(
        SettingError, match=rf"{name}' is not known, see bigtopic.methods\(\); .* '{meant}'"
    ) as caught:
        get(name)
    assert len(str(caught.value)) < 120


@pytest.mark.parametrize("name", [":", "", "magic", 3])
def test_an_unknown_name_lists_names(name):
    with pytest.raises(
        SettingError, match=r"is not known; choose one of: .*cdf, .*vb; or a paper's name: .*OLDA"
    ):
        get(name)


def test_an_estimator_takes_a_paper_s_name_and_the_model_has_the_method(tmp_path):
    settings = {"client": False, "random_state": 0}
    model = LDA(2, method="SVI", **settings).fit(X)
    np.testing.assert_array_equal(
        model.components_, LDA(2, method="online-vb", **settings).fit(X).components_
    )
    assert model._model.method is get("online-vb") and model.get_params()["method"] == "SVI"


def test_the_table_tells_cost_use_and_other_names():
    text, html = " ".join(repr(table()).split()), table()._repr_html_()
    for row in table():
        assert row["complexity"] and row["use"] and row["family"], row["method"]
        assert f"{row['method']} {row['summary']} use: {row['use']} cost: {row['complexity']}" in text
    assert "g-oem:OLDA" in html


def test_the_table_fits_a_terminal():
    lines = repr(table()).splitlines()
    assert max(map(len, lines)) <= 100 and not any(line != line.rstrip() for line in lines)
    assert {line.split()[0] for line in lines if not line.startswith((" ", "-"))} == {"method", *names()}
