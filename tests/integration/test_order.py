"""What a user receives lines up, document by document, whatever it is asked of and however the corpus is stored."""

import pickle

import numpy as np
import pytest
from scipy import sparse

from bigtopic.cli import main
from bigtopic.corpus.memory import from_matrix
from bigtopic.corpus.store import open_corpus
from bigtopic.errors import SettingError
from bigtopic.estimators.lda import LDA
from bigtopic.estimators.topic_stores import contents
from bigtopic.evaluation import log_predictive, prevalence
from bigtopic.ingestion import job
from bigtopic.ingestion.ingest import append, ingest

N_DOCS, N_WORDS, N_TOPICS = 400, 30, 3


@pytest.fixture(scope="module")
def counts():
    """Documents of three sections, each with ten words of its own; the sections are in the source in any order."""
    rng = np.random.default_rng(0)
    rates = np.full((N_DOCS, N_WORDS), 0.01)
    for row in range(N_DOCS):
        rates[row, 10 * section(row) : 10 * section(row) + 10] = 2
    return sparse.csr_matrix(rng.poisson(rates).astype(np.float32))


def section(row):
    return row * row % 3 if row < 300 else 2


WORDS = [f"w{i}" for i in range(N_WORDS)]
COLUMNS = {
    "section": [f"s{section(row)}" for row in range(N_DOCS)],
    "row": list(range(N_DOCS)),
    "weight": [row / 4 for row in range(N_DOCS)],
    "odd": [row % 2 == 1 for row in range(N_DOCS)],
}
IDS = [f"d{row}" for row in range(N_DOCS)]


@pytest.fixture(scope="module", params=["one part", "many parts", "appended", "in order"])
def corpus(request, counts, tmp_path_factory):
    path = tmp_path_factory.mktemp("order") / "corpus.zarr"
    settings = {"vocabulary": WORDS, "n_threads": 2, "shuffle": request.param != "in order"}
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "many parts":
            patch.setattr(job, "PART_ENTRIES", 500)
        if request.param != "appended":
            return ingest(counts, path, ids=IDS, columns=COLUMNS, **settings)
        ingest(
            counts[:250], path, ids=IDS[:250], columns={k: v[:250] for k, v in COLUMNS.items()}, **settings
        )
        rest = {name: values[250:] for name, values in COLUMNS.items()}
        return append(path, counts[250:], ids=IDS[250:], columns=rest, vocabulary=WORDS, n_threads=2)


@pytest.fixture(scope="module")
def model(counts):
    return LDA(N_TOPICS, method="vb", max_iter=5, random_state=0, client=False, n_threads=2).fit(counts)


def views(corpus):
    train, test = corpus.split(0.3, random_state=2)
    yield from (corpus, train, test, corpus[50:350], test[10:60], corpus.select(section=["s0", "s2"]))
    yield from (corpus.run(30, 200, order="stored"), train.select(rows=range(100, 300)), corpus[7:7])


def test_what_a_corpus_gives_is_in_the_order_of_the_source(corpus, counts):
    for view in views(corpus):
        rows = view.rows()
        assert (np.diff(rows) > 0).all()
        assert view.document_ids().tolist() == [IDS[row] for row in rows]
        columns = view.read_columns()
        for name, values in COLUMNS.items():
            assert columns[name].tolist() == [values[row] for row in rows]
            assert view.read_column(name).tolist() == columns[name].tolist()
        assert (view.to_scipy() != counts[rows]).nnz == 0
        block = view.read()
        assert block.rows.tolist() == rows.tolist()
        assert block.words.tolist() == counts[rows].indices.tolist()
        documents = list(view)
        assert [document.row for document in documents] == rows.tolist()
        assert [document.id for document in documents] == view.document_ids().tolist()
        assert [sum(document.counts.values()) for document in documents] == counts[rows].sum(1).A1.tolist()
        for i in range(-len(view), len(view), 37):
            assert view[i] == documents[i]
        assert view[5:20].rows().tolist() == rows[5:20].tolist()
        assert view.read(5, 20).rows.tolist() == rows[5:20].tolist()


def test_the_stored_order_is_given_when_asked_for(corpus, counts):
    for view in views(corpus):
        rows = view.rows(order="stored")
        assert rows.tolist() == [row for block in view.blocks() for row in block.rows]
        assert view.document_ids(order="stored").tolist() == [IDS[row] for row in rows]
        assert view.read_columns(["row"], order="stored")["row"].tolist() == rows.tolist()
        assert view.read_column("row", order="stored").tolist() == rows.tolist()
        assert view.read(order="stored").rows.tolist() == rows.tolist()
        assert (view.to_scipy(order="stored") != counts[rows]).nnz == 0


@pytest.mark.parametrize("ask", ["rows", "document_ids", "read_columns", "read", "run", "to_scipy"])
def test_there_are_two_orders(corpus, ask):
    with pytest.raises(SettingError, match="order='sorted': give 'source' or 'stored'"):
        getattr(corpus, ask)(order="sorted")
    with pytest.raises(SettingError, match="order='sorted'"):
        corpus.read_column("row", order="sorted")
    with pytest.raises(SettingError, match="call read_column"):
        corpus.read_columns("row")


def test_iteration_gathers_runs_of_the_source(corpus, monkeypatch):
    from bigtopic.corpus import documents as module

    monkeypatch.setattr(module, "PART_ENTRIES", 700)
    assert [document.row for document in corpus] == list(range(N_DOCS))


def test_topics_line_up_with_columns_and_ids(corpus, counts, model):
    expected = model.transform(counts)
    means = [expected[[section(row) == s for row in range(N_DOCS)]].mean(0) for s in range(3)]
    assert min(mean.max() for mean in means) > 0.8  # the model tells the sections
    for view in views(corpus):
        theta = model.transform(view)
        np.testing.assert_array_equal(theta, expected[view.rows()])
        sections = view.read_column("section")
        for s in set(sections.tolist()):
            assert theta[sections == s].mean(0).argmax() == means[int(s[1])].argmax()


def test_topics_line_up_with_a_table(corpus, model):
    pandas = pytest.importorskip("pandas")
    means = (
        pandas.DataFrame(model.transform(corpus)).groupby(corpus.read_columns(["section"])["section"]).mean()
    )
    assert sorted(means.to_numpy().argmax(1).tolist()) == [0, 1, 2] and means.to_numpy().max(1).min() > 0.8


@pytest.mark.parametrize(
    ("order", "bucket", "every"), [("source", 64, 1), ("source", 1 << 18, 3), ("stored", 64, 3)]
)
def test_stores_of_topics_carry_ids_and_columns(corpus, model, tmp_path, monkeypatch, bucket, order, every):
    """Of every view, or of every third one."""
    anndata = pytest.importorskip("anndata")
    monkeypatch.setattr(contents, "BUCKET_DOCUMENTS", bucket)
    for number, view in enumerate([*views(corpus)][::every]):
        url = model.transform_to(view, tmp_path / f"theta{number}.zarr", order=order)
        assert sorted(path.name for path in (tmp_path / f"theta{number}.zarr").iterdir()) == [
            "X", "obs", "var", "zarr.json",
        ]  # fmt: skip
        found = anndata.read_zarr(url)
        rows = view.rows(order=order)
        assert found.obs_names.tolist() == [IDS[row] for row in rows]
        expected = model.transform(view, order=order, sparse=True)
        assert found.X.shape == expected.shape == (len(view), N_TOPICS)
        if len(view):
            assert (expected != found.X).nnz == 0
            assert list(found.obs.columns) == ["source_row", *COLUMNS]
            assert [found.obs[name].dtype.kind for name in ("row", "weight", "odd")] == ["i", "f", "b"]
            for name, values in COLUMNS.items():
                assert found.obs[name].tolist() == [values[row] for row in rows]


def test_topics_pass_through_scratch_in_bounded_pieces(corpus, model, tmp_path, monkeypatch):
    """No more documents than a bucket holds are joined, and the scratch files are gone."""
    if not corpus.shuffled:
        pytest.skip("its order is the source's")
    sizes, joined = [], contents._joined
    monkeypatch.setattr(
        contents,
        "_joined",
        lambda some: sizes.append(sum(b.n_docs for b in some)) or joined(some),
    )
    monkeypatch.setattr(contents, "BUCKET_DOCUMENTS", 50)
    monkeypatch.setattr("bigtopic.plan.slices.SLICE_ENTRIES", 200)
    model.transform_to(corpus, tmp_path / "theta.zarr")
    assert sizes.count(50) >= N_DOCS // 50 and not (tmp_path / "theta.zarr" / "scratch").exists()


def test_scores_of_documents_are_in_the_order_of_the_source(corpus, counts, model):
    for view in views(corpus):
        if len(view) > 0:
            scores = log_predictive(model, view, client=False, n_threads=2)
            assert scores.rows.tolist() == [row for row in view.rows() if row in set(scores.rows)]
            assert (scores.tokens <= counts[scores.rows].sum(1).A1).all()


def test_representative_documents_are_named_rightly(corpus, counts, model):
    theta = model.transform(counts)
    for topic, documents in enumerate(model.representative_documents(corpus, n_documents=4)):
        for name, share in documents:
            assert share == pytest.approx(theta[IDS.index(name), topic], rel=1e-6)
    found = prevalence(model, corpus, 4, client=False)
    assert set(found.rows.ravel().tolist()) <= set(range(N_DOCS))


def test_matrices_have_an_order_too(counts, model):
    shuffled = from_matrix(counts, WORDS, ids=IDS)
    assert shuffled.rows(order="stored").tolist() != list(range(N_DOCS)) == shuffled.rows().tolist()
    assert shuffled.document_ids().tolist() == IDS and shuffled[3].id == "d3"
    np.testing.assert_array_equal(model.transform(shuffled), model.transform(counts))


def test_the_command_line_writes_the_order_of_the_source(corpus, model, tmp_path):
    anndata = pytest.importorskip("anndata")
    model.save(tmp_path / "model.zarr")
    main(
        ["infer", str(tmp_path / "model.zarr"), corpus.url, str(tmp_path / "theta.zarr")],
        standalone_mode=False,
    )
    found = anndata.read_zarr(tmp_path / "theta.zarr")
    assert found.obs_names.tolist() == IDS and found.obs["section"].tolist() == COLUMNS["section"]


def test_a_corpus_that_is_appended_has_rows_of_its_own(corpus, counts, tmp_path):
    ingest(counts[:100], tmp_path / "c.zarr", vocabulary=WORDS, ids=IDS[:100], n_threads=1)
    longer = append(tmp_path / "c.zarr", corpus[100:150], n_threads=1)
    assert longer.document_ids().tolist() == IDS[:150]
    assert len(set(longer.rows().tolist())) == 150
    assert (longer.to_scipy() != counts[:150]).nnz == 0


def test_views_are_lazy(corpus, monkeypatch):
    opened = open_corpus(corpus.url)

    def read(*_):
        raise AssertionError("documents were read")

    monkeypatch.setattr("bigtopic.corpus.stored.stored_part.StoredPart.read", read)
    assert len(opened[:100]) == 100 and opened[3:90].rows().tolist() == list(range(3, 90))
    assert (
        len(pickle.dumps(opened)) < len(pickle.dumps(open_corpus(corpus.url))) + 500
    )  # without the positions


@pytest.mark.distributed
def test_topics_line_up_when_workers_are_elsewhere(corpus, counts, model, tmp_path, other_address):
    anndata = pytest.importorskip("anndata")
    remote = LDA(N_TOPICS, method="vb", max_iter=5, random_state=0, client=other_address).fit(corpus)
    theta = remote.transform(corpus)
    np.testing.assert_array_equal(theta, remote.set_params(client=False).transform(counts))
    remote.set_params(client=other_address)
    found = anndata.read_zarr(remote.transform_to(corpus, tmp_path / "theta.zarr", min_probability=0.0))
    np.testing.assert_array_equal(found.X.toarray(), theta)
    assert found.obs["section"].tolist() == COLUMNS["section"] and found.obs_names.tolist() == IDS
