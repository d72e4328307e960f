"""Calls of the public interface for a type checker, which must object to those with a comment, in its words."""

import numpy as np

import bigtopic as bt
from bigtopic.evaluate import coherence, log_predictive


def right() -> None:
    corpus = bt.ingest(["some text"], "corpus.zarr", min_df=2, progress=False)
    longer: bt.Corpus = bt.append("corpus.zarr", ["more text"])
    bt.compact("corpus.zarr")
    train, test = bt.open_corpus("corpus.zarr").split(test_size=0.2)
    matrix = bt.from_matrix(np.eye(3), vocabulary=["a", "b", "c"])
    model = bt.LDA(10, method="online-vb", random_state=np.random.RandomState(0)).fit(train)
    model.partial_fit(longer).set_output(transform="pandas").save("model.zarr")
    words: list[list[tuple[str, float]]] = model.topics(n_top=5)
    model.show_topic(0, 3)
    model.transform(test, order="stored")
    path: str = model.transform_to(corpus, "theta.zarr", top_k=3)
    model.similar_documents("a text", path)
    score: float = model.score(matrix) + model.perplexity(matrix)
    prior = bt.seed_prior([["sun"], [word for word, _ in words[0]]], corpus, 10, base=score)
    bt.AuthorTopicModel(5, topic_word_prior=prior).fit(corpus, checkpoint=bt.Checkpoint("run.ckpt"))
    bt.DualTopicModel(3, n_column_topics=4).fit(corpus).recommend(0, n=3)
    loaded = bt.load_model("model.zarr")
    assert isinstance(loaded, bt.AuthorTopicModel)
    loaded.author_topics(["Ann", "Bob"]).argmax(axis=1)
    coherence(loaded, "corpus.zarr").per_topic.max()
    log_predictive(model, test, repeats=2).minus(bt.evaluate.log_predictive(loaded, test))
    bt.report.write_html(bt.report.summarise(model, corpus), "page.html")
    print(len(bt.methods()), bt.plots.names(), bt.datasets.docstrings(["email"]), bt.errors.InputError)


def wrong(model: bt.LDA, corpus: bt.Corpus) -> None:
    bt.LDA(n_componentz=3)  # Unexpected keyword argument "n_componentz"
    bt.LDA("ten")  # incompatible type "str"; expected "int"
    bt.LDA(10, "vb")  # Too many positional arguments
    bt.LDA(10, random_state="zero")  # incompatible type "str"
    bt.LatentDirichlet(10)  # Module has no attribute "LatentDirichlet"
    bt.ingest(["some text"])  # Missing positional argument "store"
    bt.open_corpus()  # Missing positional argument "url"
    model.transfrom(corpus)  # has no attribute "transfrom"
    model.topics(num_words=5)  # Unexpected keyword argument "num_words"
    model.fit()  # Missing positional argument "X"
    model.fit(corpus, passes=5)  # Unexpected keyword argument "passes"
    model.author_topics("Ann")  # has no attribute "author_topics"
    bt.load_model("model.zarr").author_topics("Ann")  # has no attribute "author_topics"
    corpus.n_documents()  # has no attribute "n_documents"
    corpus.split(test_size="half")  # incompatible type "str"; expected "float"
    bt.evaluate.coherence(corpus, model)  # expected "Corpus | str | PathLike[str] | Postings"
    bt.evaluate.perplexity(model, corpus)  # Module has no attribute "perplexity"
