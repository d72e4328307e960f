"""`--option` sets every setting of methods, and `bigtopic methods NAME` lists them."""

import json
import shlex
from dataclasses import replace

import numpy as np
import pytest
from click import Context
from reference.settings import defaults, method_for, needed, other

from bigtopic import methods
from bigtopic.cli import main
from bigtopic.corpus.store import open_corpus
from bigtopic.estimators.persistence import load_model
from bigtopic.methods import get, names
from bigtopic.methods.settings import settings_of, with_settings
from bigtopic.schemes.add import DecayAdd

from .conftest import run


def each_once():
    """(method, option), one for each option of a kernel and each setting of a scheme."""
    found = {}
    for name in names():
        for row in settings_of(replace(get(name), then=())):
            place, _, setting = row["option"].rpartition(".")
            method = method_for(name, row["option"])
            kernel = method.load_kernel() if "learning" in row["read"] else method.load_inference()
            of = type({**method.schemes}.get(place)).__name__ if place in method.schemes else row["read"]
            found.setdefault((of if place else kernel.name, setting), (name, row["option"]))
    return list(found.values())


def test_every_kernel_of_a_method_and_every_scheme_is_among_them():
    seen = {option.rpartition(".")[2] for _, option in each_once()}
    assert {
        "decay",
        "n_iter",
        "eps",
        "burn_in",
        "samples",
        "max_sweeps",
        "patience",
        "stop",
        "local_decay",
    } <= seen
    assert {"most_authors", "replicas", "learning_scale", "hold", "end", "own_steps", "step_size"} <= seen


@pytest.mark.costly(4)
@pytest.mark.parametrize(
    ("name", "option"),
    [
        pytest.param(*row, marks=[pytest.mark.slow] if number % 8 else [])
        for number, row in enumerate(each_once())
    ],
)
def test_every_setting_is_set_from_the_shell(name, option, corpus, tmp_path):
    method = method_for(name, option)
    (row,) = [row for row in settings_of(replace(get(name), then=())) if row["option"] == option]
    given = {option: other(row["default"]), **needed(method, option)}
    counts = (
        ["--topics", 2] if len(method.model.components) == 1 else ["--row-topics", 2, "--column-topics", 2]
    )
    learn = (
        [f"--{row['read'].replace('_', '-').replace('author', 'doc')}", "symmetric"]
        if "learn_" in row["read"]
        else []
    )
    passes = 5 if learn and method.batch_size != 1 else 1  # priors rest at first
    told = [word for pair in given.items() for word in ("--option", "{}={}".format(*pair))]
    run("train", corpus, tmp_path / "m.zarr", "--method", name, "--passes", passes, *counts, *learn, *told)
    model = load_model(tmp_path / "m.zarr")._model
    changed, options = with_settings(method, given)
    assert model.method == changed and options.items() <= model.options.items()
    assert defaults(changed) | options == defaults(method) | given


def test_a_run_with_options_is_repeated(corpus, tmp_path):
    options = ["--option", "decay=0.95", "--option", "max_sweeps=7", "--option", "forgetting_decay=none"]
    run("train", corpus, tmp_path / "m.zarr", "--method", "sgs", "--topics", 2, *options)
    command = json.loads(run("info", tmp_path / "m.zarr", "--json").output)["command"]
    assert "--option decay=0.95 --option max_sweeps=7 --option forgetting_decay=None" in command
    run(*shlex.split(command.replace("MODEL", str(tmp_path / "again.zarr")))[1:])
    (tmp_path / "run.toml").write_text(
        'method = "sgs"\ntopics = 2\noption = ["decay=0.95", "max_sweeps=7"]\n'
    )
    for name, file in (("third.zarr", tmp_path / "m.zarr"), ("fourth.zarr", tmp_path / "run.toml")):
        run("train", corpus, tmp_path / name, "--config", file)
    made = [load_model(tmp_path / name) for name in ("m.zarr", "again.zarr", "third.zarr", "fourth.zarr")]
    for model in made[1:]:
        np.testing.assert_array_equal(model.components_, made[0].components_)
        assert model._model.method.schemes["topic_words"] == DecayAdd(0.95)


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (["decay"], "write it as name=value, such as decay=0.9"),
        (["=3"], "write it as name=value"),
        (["decay=0.9", "decay=0.8"], "decay is given twice"),
        (["decay=2"], "must be above 0 and at most 1"),
        (["decay=fast"], "decay='fast'"),
        (["decya=0.9"], "did you mean 'decay'"),
        (["hold=3"], "does not read it while forgetting_decay is None"),
        (["max_sweeps=many"], "option max_sweeps is 'many'"),
    ],
)
def test_what_is_not_a_setting_is_refused(typed, message, corpus, tmp_path):
    options = [word for each in typed for word in ("--option", each)]
    shown = run("train", corpus, tmp_path / "m.zarr", "--method", "sgs", *options, code=2).output
    assert message in " ".join(shown.split()) and not (tmp_path / "m.zarr").exists()


@pytest.mark.parametrize(
    ("method", "prior"), [("online-vb", "doc_topic_prior"), ("online-author-vb", "author_topic_prior")]
)
@pytest.mark.filterwarnings("default")
def test_a_prior_at_rest_is_named_as_it_was_typed(method, prior, corpus, tmp_path):
    typed = ["--method", method, "--topics", 2, "--passes", 1, "--batch-size", 100]
    shown = run("train", corpus, tmp_path / "m.zarr", *typed, "--learn-doc-topic-prior", "symmetric").stderr
    assert "Warning: --learn-doc-topic-prior: nothing is learned" in shown
    assert f"--batch-size, or smaller values than --option {prior}.begin=3.0" in shown


def test_a_method_in_full():
    shown = run("methods", "sgs").stdout
    assert shown == f"{methods('sgs')!r}\n" and "topic_words.decay = 0.7" in shown
    assert json.loads(run("methods", "sgs", "--json").stdout) == methods("sgs")
    assert "bigtopic methods" in run("methods", "magic", code=2).output


def test_topics_of_documents_are_inferred_by_another_kernel(model, corpus, tmp_path):
    chosen = ["--inference", "ope", "--option", "n_iter=20", "--option", "eps=1e-3", "--min-probability", 0]
    run("infer", model, corpus, tmp_path / "theta.csv", *chosen)
    written = np.loadtxt(tmp_path / "theta.csv", delimiter=",", skiprows=1, usecols=(-2, -1))
    options = {"n_iter": 20, "eps": 1e-3}
    topics = load_model(model).transform(open_corpus(corpus), inference="ope", options=options)
    np.testing.assert_allclose(written, topics, rtol=1e-4)
    shown = run("infer", model, corpus, tmp_path / "none.csv", "--inference", "opa", code=2).output
    assert "did you mean 'ope'" in shown and not (tmp_path / "none.csv").exists()
    shown = run("infer", model, corpus, tmp_path / "none.csv", "--option", "n_iter=3", code=2).output
    assert "kernel 'cvb0', which infers topics of documents, has none of that name" in " ".join(shown.split())


@pytest.mark.parametrize("name", sorted(main.list_commands(Context(main))))
def test_help_names_what_an_option_takes(name):
    command = main.get_command(Context(main), name)
    with Context(command) as context:
        assert not [param.name for param in command.params if param.make_metavar(context).startswith("_")]
