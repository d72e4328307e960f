"""What people do wrong, out of habit or haste: each mistake is answered in at most two lines that say what to do."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import bigtopic as bt
from bigtopic.errors import BigtopicError

HERE = {"client": False, "n_threads": 1, "progress": False}
TEXTS = ["cat dog cat pet", "dog pet cat", "rain sun wind", "sun wind rain rain"] * 5

# what, call, words of the answer
MISTAKES = [
    # arguments under the names of gensim and scikit-learn
    ("num_topics", lambda at: bt.LDA(num_topics=10), "use n_components"),
    ("n_topics", lambda at: bt.LDA(n_topics=10), "use n_components"),
    ("passes", lambda at: bt.LDA(passes=10), "use max_iter"),
    ("iterations", lambda at: bt.LDA(iterations=50), "use max_doc_update_iter"),
    ("chunksize", lambda at: bt.LDA(chunksize=100), "use batch_size"),
    ("alpha", lambda at: bt.LDA(alpha=0.1), "use doc_topic_prior"),
    ("alpha of authors", lambda at: bt.AuthorTopicModel(alpha=0.1), "use author_topic_prior"),
    ("eta", lambda at: bt.LDA(eta=0.1), "use topic_word_prior"),
    ("learning_method", lambda at: bt.LDA(learning_method="batch"), "use method"),
    ("n_jobs", lambda at: bt.LDA(n_jobs=-1), "use n_threads"),
    ("verbose", lambda at: bt.LDA(verbose=1), "use progress"),
    ("seed", lambda at: bt.LDA(seed=1), "use random_state"),
    ("corpus in the constructor", lambda at: bt.LDA(corpus=at.corpus), "go to fit(documents)"),
    ("id2word", lambda at: bt.LDA(id2word={}), "bigtopic.ingest(source, store, vocabulary=)"),
    ("author2doc", lambda at: bt.AuthorTopicModel(author2doc={}), "bigtopic.ingest(source, store, authors=)"),
    ("n_components of two", lambda at: bt.DualTopicModel(n_components=5), "n_row_topics and n_column_topics"),
    ("misspelt", lambda at: bt.LDA(n_componentz=10), "did you mean 'n_components'?"),
    ("misspelt in set_params", lambda at: at.new.set_params(num_topics=3), "use n_components"),
    ("without a name", lambda at: bt.LDA(10, "vb"), "give the next as method='vb'"),
    ("settings in fit", lambda at: at.new.fit(at.corpus, max_iter=5), "give max_iter to LDA()"),
    ("passes in fit", lambda at: at.new.fit(at.corpus, passes=5), "give max_iter to LDA()"),
    ("num_words", lambda at: at.model.topics(num_words=5), "use n_top"),
    (
        "minimum_probability",
        lambda at: at.model.transform(TEXTS, minimum_probability=0),
        "use min_probability",
    ),
    ("train_size", lambda at: at.corpus.split(train_size=0.5), "use test_size"),
    ("stop words of a corpus", lambda at: at.corpus.filter_vocabulary(stop_words=["sun"]), "use drop"),
    (
        "coherence by name",
        lambda at: bt.evaluate.coherence(at.model, at.corpus, coherence="npmi"),
        "use measure",
    ),
    # methods and attributes under other names
    ("print_topics", lambda at: at.model.print_topics(), "topics(n_top)"),
    ("get_document_topics", lambda at: at.model.get_document_topics(TEXTS), "transform(documents)"),
    ("get_topic_terms", lambda at: at.model.get_topic_terms(0), "show_topic(topic, n_top)"),
    ("log_perplexity", lambda at: at.model.log_perplexity(TEXTS), "score(documents)"),
    ("get_topic_info", lambda at: at.model.get_topic_info(), "topic_info()"),
    ("update", lambda at: at.model.update(TEXTS), "partial_fit(documents)"),
    ("model.num_topics", lambda at: at.model.num_topics, "n_components"),
    ("model.id2word", lambda at: at.model.id2word, "vocabulary_"),
    ("predict", lambda at: at.model.predict(TEXTS), "transform(documents).argmax(axis=1)"),
    ("get_feature_names", lambda at: at.model.get_feature_names(), "get_feature_names_out()"),
    ("a misspelt method", lambda at: at.model.transfrom(TEXTS), "did you mean 'transform'"),
    ("authors of an LDA", lambda at: at.model.author_topics("Ann"), "AuthorTopicModel"),
    ("n_documents", lambda at: at.corpus.n_documents, "use n_docs"),
    ("corpus.vocab", lambda at: at.corpus.vocab, "use vocabulary"),
    ("LdaModel", lambda at: bt.LdaModel, "use LDA"),
    ("CoherenceModel", lambda at: bt.CoherenceModel, "evaluate.coherence(model, corpus)"),
    ("bt.load", lambda at: bt.load("model.zarr"), "load_model(path) or open_corpus(path)"),
    ("bt.Lda", lambda at: bt.Lda, "did you mean 'LDA'?"),
    # values
    ("a method of scikit-learn", lambda at: bt.LDA(2, method="batch").fit(at.corpus), "use 'vb'"),
    ("a misspelt name", lambda at: bt.LDA(2, method="online_vb").fit(at.corpus), "did you mean 'online-vb'"),
    ("topics as text", lambda at: bt.LDA("ten").fit(at.corpus), "must be a whole number"),
    (
        "a corpus as the number of topics",
        lambda at: bt.LDA(at.corpus).fit(at.corpus),
        "must be a whole number",
    ),
    (
        "alpha='auto'",
        lambda at: bt.LDA(doc_topic_prior="auto").fit(at.corpus),
        "learn_doc_topic_prior='asymmetric'",
    ),
    (
        "a prior of another size",
        lambda at: bt.LDA(2, doc_topic_prior=[0.1] * 3).fit(at.corpus),
        "one per topic, (2,)",
    ),
    ("time as text", lambda at: bt.LDA(max_time="10m").fit(at.corpus), "must be a number"),
    (
        "a Generator",
        lambda at: bt.LDA(random_state=np.random.default_rng(0)).fit(at.corpus),
        "a RandomState, or None",
    ),
    ("all held out", lambda at: bt.LDA(validation=1.0).fit(at.corpus), "give a share between 0 and 1"),
    ("no replicas", lambda at: bt.LDA(replica_updates=4).fit(at.corpus), "needs replicas="),
    (
        "no replicas of authors",
        lambda at: bt.AuthorTopicModel(replica_updates=4).fit(at.corpus),
        "needs replicas=",
    ),
    ("patience alone", lambda at: bt.LDA(patience=3).fit(at.corpus), "need validation="),
    ("2.5 words", lambda at: at.model.topics(2.5), "must be a whole number"),
    ("a topic by a word", lambda at: at.model.show_topic("cat"), "must be in 0 .. 1"),
    ("an author by a number", lambda at: at.authors.author_topics(3), "knows no author 3"),
    ("half", lambda at: at.corpus.split("half"), "a share between 0 and 1"),
    ("a word as an id", lambda at: at.corpus.vocabulary["cat"], "index_of(['cat'])"),
    ("seed words as a text", lambda at: bt.seed_prior({0: "cat"}, at.corpus, 2), "give a list of words"),
    ("an unknown container", lambda at: at.model.set_output(transform="frame"), "'default', 'pandas'"),
    # documents
    ("negative counts", lambda at: at.new.fit(-np.eye(3)), "row 0 of the matrix holds -1.0"),
    ("no words", lambda at: at.new.fit(["", ""]), "nothing to learn from: 2 documents without words"),
    ("NaN", lambda at: at.new.fit(np.full((3, 3), np.nan)), "replace such values by 0"),
    ("one dimension", lambda at: at.new.fit(np.ones(3)), "Reshape your data"),
    ("three dimensions", lambda at: at.new.fit(np.ones((2, 2, 2))), "two dimensions"),
    ("text for a list", lambda at: at.new.fit("the text of a document"), "a text goes into a list"),
    ("nothing", lambda at: at.new.fit(None), "NoneType is not a corpus"),
    ("no texts", lambda at: at.new.fit([]), "empty"),
    ("another width", lambda at: at.unnamed.transform(np.ones((3, 9))), "a matrix with the model's"),
    ("texts as a matrix", lambda at: bt.from_matrix(TEXTS), "texts go into bigtopic.ingest"),
    ("a file as a vocabulary", lambda at: bt.from_matrix(np.eye(3), "abc.txt"), "give a list of words"),
    ("no authors", lambda at: bt.AuthorTopicModel(2, **HERE).fit(TEXTS), "authors="),
    # the order of things
    ("transform before fit", lambda at: bt.LDA(2).transform(TEXTS), "call fit first"),
    ("components_ before fit", lambda at: bt.LDA(2).components_, "call fit first"),
    ("save before fit", lambda at: bt.LDA(2).save("model.zarr"), "call fit first"),
    ("model and corpus swapped", lambda at: bt.evaluate.measure(at.corpus, at.model), "give the model first"),
    ("store and source swapped", lambda at: bt.append(TEXTS, at.folder / "c.zarr"), "list is not a path"),
    (
        "a model as a summary",
        lambda at: bt.report.write_html(at.model, "a.html"),
        "bigtopic.report.summarise",
    ),
    # paths
    ("a number as a path", lambda at: bt.open_corpus(5), "give the path or the URL"),
    ("None as a path", lambda at: bt.open_corpus(None), "give the path or the URL"),
    ("a model as a path", lambda at: bt.load_model(at.model), "give the path or the URL"),
    ("a model without its ending", lambda at: bt.load_model(at.folder / "m"), "did you mean"),
    ("a corpus without its ending", lambda at: bt.open_corpus(at.folder / "c"), "did you mean"),
    ("a corpus as a model", lambda at: bt.load_model(at.folder / "c.zarr"), "bigtopic.open_corpus opens it"),
    ("a model as a corpus", lambda at: bt.open_corpus(at.folder / "m.zarr"), "bigtopic.load_model opens it"),
    ("a model over a corpus", lambda at: at.model.save(at.folder / "c.zarr"), "give another path"),
    ("a model over a model", lambda at: at.model.save(at.folder / "m.zarr"), "pass overwrite=True"),
    ("a corpus over a corpus", lambda at: bt.ingest(TEXTS, at.folder / "c.zarr"), "pass overwrite=True"),
]


@pytest.fixture(scope="module")
def at(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mistakes")
    corpus = bt.ingest(TEXTS, folder / "c.zarr", **HERE)
    model = bt.LDA(2, method="online-cvb0", max_iter=1, **HERE).fit(corpus)
    model.save(folder / "m.zarr")
    authors = bt.AuthorTopicModel(2, max_iter=1, **HERE)
    return SimpleNamespace(
        folder=folder,
        corpus=corpus,
        model=model,
        new=bt.LDA(2, **HERE),
        unnamed=bt.LDA(2, method="online-cvb0", max_iter=1, **HERE).fit(np.eye(6)),
        authors=authors.fit(corpus.with_authors({"Ann": [str(i) for i in range(20)]})),
    )


@pytest.mark.parametrize(
    ("call", "answer"), [mistake[1:] for mistake in MISTAKES], ids=[what for what, *_ in MISTAKES]
)
def test_a_mistake_is_answered(at, call, answer):
    with pytest.raises((BigtopicError, AttributeError)) as caught:
        call(at)
    message = str(caught.value)
    assert answer in message and len(message.replace(str(at.folder), "")) <= 240 and "\n" not in message
    assert not hasattr(at.new, "components_")


def test_there_are_sixty():
    assert len({what for what, *_ in MISTAKES}) == len(MISTAKES) >= 60
