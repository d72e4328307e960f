"""What a user mistyped is named as the user typed it, with the nearest name that exists."""

import pytest

from .conftest import run


@pytest.mark.parametrize(
    "arguments, meant",
    [
        (["trian", "x"], "there is no verb 'trian'; did you mean 'train'?"),
        (["train", "CORPUS", "m.zarr", "--tpics", "3"], "--topics"),
        (["ingest", "SOURCE"], "Missing argument 'CORPUS'"),
        (["train", "CORPUS", "m.zarr", "--method", "online-cbv0"], "did you mean 'online-cvb0'"),
        (["ingest", "SOURCE", "c.zarr", "--format", "jsonlines"], "did you mean 'json_lines'"),
        (["ingest", "SOURCE", "c.zarr", "--text-column", "txt"], "did you mean 'text'?"),
        (["plot", "histroy", "MODEL", "--out", "a.svg"], "did you mean 'history'?"),
    ],
)
def test_the_nearest_name_is_given(arguments, meant, source, corpus, model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    paths = {"CORPUS": corpus, "MODEL": model, "SOURCE": source}
    assert meant in run(*(paths.get(argument, argument) for argument in arguments), code=2).output


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["train", "CORPUS", "m.zarr", "--method", "vb", "--learning-decay", "2"], "--learning-decay"),
        (
            ["ingest", "SOURCE", "c.zarr", "--token-pattern", "(a)(b)"],
            "--token-pattern '(a)(b)' has 2 groups",
        ),
        (["ingest", "SOURCE", "c.zarr", "--ngrams", "3-2"], "--ngrams must be"),
        (["train", "CORPUS", "m.zarr", "--doc-topic-prior", "-1"], "--doc-topic-prior"),
        (["train", "CORPUS", "m.zarr", "--checkpoint-every", "5m"], "--checkpoint-every needs --checkpoint,"),
        (["train", "CORPUS", "m.zarr", "--replica-updates", "4"], "--replica-updates needs --replicas,"),
    ],
)
def test_messages_name_the_options(arguments, said, source, corpus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    paths = {"CORPUS": corpus, "SOURCE": source}
    shown = run(*(paths.get(argument, argument) for argument in arguments), code=2).output
    assert said in shown and "_" not in shown.replace(str(tmp_path), "").replace(str(source), "")


def test_an_interrupted_verb_ends_with_130(monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("bigtopic.corpus.store.open_corpus", interrupted)
    assert run("info", "nothing.zarr", code=130).output == "Interrupted\n"
