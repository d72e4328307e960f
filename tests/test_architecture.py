"""The layers of the package, read from its source: who imports whom, where heavy packages are, how long files are."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "bigtopic"
FILES = sorted(PACKAGE.rglob("*.py"))

# A layer may import those in the lines above it; the names inside one line may not import each other.
LAYERS = [
    {"wording", "documents"},
    {"types", "errors"},
    {"arrays"},
    {"support"},
    {"storage", "models", "kernels", "schemes"},
    {"corpus", "methods", "optimize"},
    {"parallel"},
    {"plan", "ingestion"},
    {"state", "datasets"},
    {"learning"},
    {"inference"},
    {"evaluation"},
    {"questions", "evaluate"},
    {"plots"},
    {"report"},
    {"explore"},
    {"estimators"},
    {"foreign"},
    {"cli"},
    {"__main__"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
FORBIDDEN = {"datasets": {"models", "kernels", "schemes"}}
MAX_LINES = 501
MAX_FOLDER_LINES = 3000  # subfolders apart


def module_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in FILES}


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports(path: Path, inside_functions: bool = True) -> tuple[str, ...]:
    """Dotted names that a file imports, for types too; `from a import b` gives a.b."""
    names: list[str] = []
    for node in ast.walk(tree(path)) if inside_functions else at_import(tree(path)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return tuple(names)


def at_import(root: ast.AST) -> Iterator[ast.AST]:
    """What is run, or looked at for types, when a file is imported."""
    for child in ast.iter_child_nodes(root):
        if not isinstance(child, ast.FunctionDef | ast.Lambda):
            yield child
            yield from at_import(child)


def own_modules(path: Path, inside_functions: bool = True) -> Iterator[str]:
    """Modules of this package that a file imports."""
    for name in imports(path, inside_functions):
        if name.split(".")[0] == "bigtopic":
            yield name if name in MODULES else name.rpartition(".")[0]


def layer(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def top_level(path: Path) -> set[str]:
    return {name.split(".")[0] for name in imports(path)}


def test_imports_go_one_way():
    found = {(path, layer(module_of(path)), layer(module)) for path in FILES for module in own_modules(path)}
    assert not [
        f"{path}: {mine} must not import {theirs or 'from the package root'}"
        for path, mine, theirs in sorted(found)
        if mine != theirs and mine  # the package itself only fetches its public names when asked
        if not theirs or LEVEL[theirs] >= LEVEL[mine] or theirs in FORBIDDEN.get(mine, ())
    ]


def test_every_layer_is_known():
    assert {layer(module) for module in MODULES} - {""} <= set(LEVEL)


def test_no_module_imports_itself_through_others():
    graph = {name: set(own_modules(path)) - {name} for name, path in MODULES.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"import cycle: {' -> '.join(error.args[1])}")


FOLDERS = sorted(
    {path.parent.parent for path in FILES if path.name == "__init__.py"} - {PACKAGE.parent, PACKAGE}
)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_subfolders_do_not_import_each_other_in_circles(folder):
    graph: dict[str, set[str]] = {}
    for path in FILES:
        if path.is_relative_to(folder) and path.parent != folder:
            mine = path.relative_to(folder).parts[0]
            graph.setdefault(mine, set()).update(subfolders(folder, path) - {mine})
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"import cycle: {' -> '.join(error.args[1])}")


def subfolders(folder: Path, path: Path) -> set[str]:
    """Subfolders of a folder from which a file imports."""
    imported = (MODULES[module] for module in own_modules(path))
    return {
        other.relative_to(folder).parts[0]
        for other in imported
        if other.is_relative_to(folder) and other.parent != folder
    }


def test_numba_stays_in_kernels():
    allowed = [
        path for path in FILES if path.name == "_kernels.py" or path.is_relative_to(PACKAGE / "kernels")
    ]
    users = [path for path in FILES if "numba" in top_level(path)]
    assert users and set(users) <= set(allowed)


def test_one_module_knows_distributed():
    users = []
    for path in FILES:
        names = set(imports(path))
        if any(name.startswith(("dask.distributed", "distributed")) for name in names):
            users.append(path.relative_to(PACKAGE).as_posix())
    assert users == ["parallel/cluster.py"]


def test_matplotlib_is_imported_when_a_plot_is_drawn():
    at_top = [path for path in FILES if any(n.startswith("matplotlib") for n in imports(path, False))]
    assert [path.relative_to(PACKAGE).as_posix() for path in at_top] == ["plots/_picture.py"]
    by_top = {module for path in FILES for module in own_modules(path, inside_functions=False)}
    assert "bigtopic.plots._picture" not in by_top


def test_the_inner_layers_know_nothing_of_schedulers_and_files():
    pure = ("kernels", "schemes", "models")
    found = {path: top_level(path) & {"dask", "zarr", "distributed", "fsspec"} for path in FILES}
    assert not [path for path, names in found.items() if names and layer(module_of(path)) in pure]


def test_kernels_and_schemes_call_no_blas():
    """It starts threads of its own in each of ours, and its last bit depends on how many there are."""
    products = [
        path
        for path in FILES
        if module_of(path).split(".")[1:2] in (["kernels"], ["schemes"])
        for node in ast.walk(tree(path))
        if isinstance(node, ast.MatMult)
        or (isinstance(node, ast.Attribute) and node.attr in {"dot", "einsum", "matmul"})
    ]
    assert not products


def test_kernels_do_not_mention_dask_or_zarr():
    kernels = [path for path in FILES if path.is_relative_to(PACKAGE / "kernels")]
    for path in kernels:
        text = path.read_text(encoding="utf-8").lower()
        assert "dask" not in text and "zarr" not in text, path


def test_nothing_pickled_is_loaded():
    assert not [
        path for path in FILES if top_level(path) & {"pickle", "cloudpickle", "dill", "joblib", "shelve"}
    ]
    for path in FILES:
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
                assert isinstance(node.value, ast.Constant) and node.value.value is False, path


def test_files_are_short():
    sizes = {str(path): len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    assert {path: n for path, n in sizes.items() if n >= MAX_LINES} == {}


def test_folders_are_one_subject():
    sizes = Counter[str]()
    for path in FILES:
        sizes[str(path.parent.relative_to(PACKAGE))] += len(path.read_text(encoding="utf-8").splitlines())
    assert {folder: n for folder, n in sizes.items() if n > MAX_FOLDER_LINES} == {}


def test_importing_the_package_is_fast_and_light():
    script = (
        "import sys, time; start = time.perf_counter(); import bigtopic; "
        "print(time.perf_counter() - start); print(*sys.modules)"
    )
    seconds, loaded = [], ""
    for _ in range(3):  # the fastest of three: other processes may hold the machine
        run = [sys.executable, "-c", script]
        output = subprocess.run(run, capture_output=True, text=True, check=True, cwd=PACKAGE.parent).stdout
        first, loaded = output.split("\n")[:2]
        seconds.append(float(first))
    assert min(seconds) < 0.3
    heavy = {"numpy", "numba", "zarr", "dask", "distributed", "scipy", "pandas", "fsspec", "click"}
    assert not heavy & set(loaded.split())


def test_every_path_of_the_table_where_to_look_exists():
    page = (PACKAGE.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.search(r"^### Where to look\n\n(?:\|.*\n){2}((?:\|.*\n)+)", page, re.MULTILINE)[1].splitlines()
    assert len(rows) > 20
    assert not [(row.split("|")[1].strip(), path) for row in rows for path in missing_paths(row)]


def missing_paths(row: str) -> list[str]:
    """Files and folders of a row that do not exist; one is in the package, or in the folder of one before it."""
    places, missing = [PACKAGE], []
    for path in re.findall(r"`([\w/]+(?:\.py|/))`", row):
        found = next((place / path for place in places if (place / path).exists()), None)
        if found is None:
            missing.append(path)
        else:
            places.append(found if path.endswith("/") else found.parent)
    return missing


def test_a_path_that_is_missing_is_noticed():
    row = "| a corpus | `corpus/store.py` (`Corpus`), `select.py`, `nope.py`; `corpus/stored/`, `schema.py` | `nope/` |"
    assert missing_paths(row) == ["nope.py", "nope/"]
