"""Files in the folders of families that are not what they should be."""

import sys
from importlib import import_module

import pytest

from bigtopic import kernels, plots, schemes
from bigtopic.errors import SettingError
from bigtopic.evaluation import measures

FAMILIES = {
    "bigtopic.evaluation.measures": (measures.load, "MEASURE"),
    "bigtopic.plots": (plots.load, "PLOT"),
    "bigtopic.schemes": (schemes.load, "SCHEME"),
    "bigtopic.kernels": (kernels.load, "KERNEL"),
}


@pytest.fixture
def put(tmp_path, monkeypatch):
    """Put a file `zz_y.py` into the folder of a package, until the test ends."""
    added = []

    def put(package, text):
        (tmp_path / "zz_y.py").write_text(text)
        module = import_module(package)
        monkeypatch.setattr(module, "__path__", [*module.__path__, str(tmp_path)])
        added.append(f"{package}.zz_y")

    yield put
    for name in added:
        sys.modules.pop(name, None)
        vars(import_module(name.rpartition(".")[0])).pop("zz_y", None)


@pytest.mark.parametrize("package", FAMILIES)
def test_a_file_that_defines_nothing_is_named_with_what_it_must_define(package, put):
    load, attribute = FAMILIES[package]
    put(package, "")
    file = package.replace(".", "/") + "/zz_y.py"
    with pytest.raises(SettingError, match=rf"^file {file} must define {attribute}; .* underscore$"):
        load("zz_y")


def test_so_is_a_file_of_methods(put):
    put("bigtopic.methods.families", "")
    from bigtopic.methods.table import _rows

    with pytest.raises(SettingError, match=r"^file bigtopic/methods/families/zz_y.py must define METHODS"):
        _rows("zz_y")


@pytest.mark.parametrize("name", ["zz_y", "zz", "ZZ-y"])
def test_a_measure_has_the_name_of_its_file_with_hyphens(name, put):
    text = "from bigtopic.evaluation import measures\nfrom dataclasses import replace\n"
    put("bigtopic.evaluation.measures", f"{text}MEASURE = replace(measures.load('npmi'), name={name!r})\n")
    with pytest.raises(SettingError, match=rf"zz_y.py defines MEASURE with name='{name}'.*write name='zz-y'"):
        measures.load("zz-y")


def test_a_plot_too(put):
    put("bigtopic.plots", "from bigtopic.plots import Plot\nPLOT = Plot('pie', print)\n")
    with pytest.raises(SettingError, match=r"zz_y.py defines PLOT with name='pie'.*write name='zz-y'"):
        plots.load("zz-y")


def test_a_kernel_has_the_name_of_its_file(put):
    text = "from dataclasses import replace\nfrom bigtopic import kernels\n"
    put("bigtopic.kernels", f"{text}KERNEL = replace(kernels.load('vb'), name='zz-y')\n")
    with pytest.raises(SettingError, match=r"zz_y.py defines KERNEL with name='zz-y'.*write name='zz_y'"):
        kernels.load("zz_y")


def test_a_variant_has_the_name_it_is_listed_by(put):
    text = (
        "from dataclasses import replace\nfrom bigtopic import kernels\nKERNEL = replace(kernels.load('vb'), "
    )
    put("bigtopic.kernels", f"{text}name='zz_y')\nFURTHER = {{'zz_y_mean': KERNEL}}\n")
    with pytest.raises(
        SettingError, match=r"FURTHER\['zz_y_mean'\] with name='zz_y': write name='zz_y_mean'"
    ):
        kernels.load("zz_y_mean")
