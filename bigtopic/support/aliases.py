"""Names that other libraries use: an error about an unknown argument or attribute suggests ours."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import wraps
from inspect import Parameter, signature
from typing import Any, TypeVar, cast

from bigtopic.errors import ArgumentError, did_you_mean

__all__ = [
    "ATTRIBUTES",
    "METHODS",
    "OF_CORPORA",
    "OF_THE_MODULE",
    "answering",
    "check_constructor",
    "missing",
    "of_argument",
    "of_attribute",
]

_Target = TypeVar("_Target", bound=Callable[..., Any])

Names = Mapping[str, str]  # {our name: names in other libraries}

ARGUMENTS: Names = {
    "n_components": "num_topics n_topics nr_topics topics k K",
    "n_row_topics": "n_components",
    "n_column_topics": "n_components",
    "max_iter": "passes n_iter num_iterations epochs n_epochs",
    "max_doc_update_iter": "iterations max_doc_iter",
    "mean_change_tol": "gamma_threshold",
    "batch_size": "chunksize chunk_size minibatch_size",
    "doc_topic_prior": "alpha",
    "author_topic_prior": "alpha",
    "topic_word_prior": "eta beta",
    "learn_doc_topic_prior": "optimize_interval",
    "learning_decay": "decay kappa",
    "learning_offset": "offset tau0",
    "method": "learning_method algorithm",
    "evaluate_every": "eval_every",
    "tol": "perp_tol",
    "random_state": "seed random_seed",
    "n_threads": "n_jobs workers num_threads",
    "progress": "verbose",
    "max_time": "timeout time_limit",
    "client": "distributed",
    "min_probability": "minimum_probability",
    "n_top": "num_words n_words topn top_n n_top_words",
    "vocabulary": "id2word dictionary",
    "min_df": "no_below min_count min_cf",
    "max_df": "no_above",
    "max_features": "keep_n",
    "drop": "stop_words stopwords",
    "test_size": "train_size",
    "measure": "coherence measures scoring metric",
    "folds": "cv n_folds n_splits",
}

# Arguments of the constructors of other libraries' models
SOURCES: Names = {
    "the documents go to fit(documents)": "corpus texts documents X",
    "words belong to the corpus: bigtopic.ingest(source, store, vocabulary=)": "id2word dictionary vocabulary",
    "authors belong to the corpus: bigtopic.ingest(source, store, authors=)": "author2doc doc2author",
}

OF_INGEST = "text_column id_column author_column document_column word_column count_column ids authors"

METHODS: Names = {  # in small letters, with hyphens
    "'vb'": "batch batch-vb",
    "'online-vb'": "online",
    "'cgs'": "mallet lda-cgs collapsed-gibbs collapsed-gibbs-sampling gibbs-sampling",
}

ATTRIBUTES: Names = {
    "n_components": "num_topics n_topics k",
    "vocabulary_": "id2word dictionary used_vocabs",
    "n_features_in_": "num_terms",
    "doc_topic_prior_": "alpha",
    "topic_word_prior_": "eta",
    "components_, or get_topics() for probabilities": "topic_word_ state expElogbeta",
    "topics(n_top)": "print_topics get_topic_words",
    "show_topic(topic, n_top)": "print_topic get_topic get_topic_terms",
    "transform(documents)": "get_document_topics inference infer doc_topic_",
    "transform(documents).argmax(axis=1)": "predict fit_predict labels_",
    "find_topics(word)": "get_term_topics",
    "topic_changes(other)": "diff",
    "score(documents)": "log_perplexity ll_per_word",
    "bigtopic.evaluate.bound(model, documents)": "bound",
    "fit(documents)": "train",
    "bigtopic.load_model(path)": "load",
    "get_feature_names_out()": "get_feature_names",
    "author_topics(names)": "get_author_topics",
    "a method of AuthorTopicModel": "author_topics similar_authors predict_authors",
    "topic_info()": "get_topic_info get_topic_freq",
    "plot('topics')": "visualize_topics visualize_barchart",
    "bigtopic.evaluate.coherence(model, corpus)": "coherence get_coherence",
}

OF_CORPORA: Names = {
    "n_docs": "num_docs n_documents n_samples",
    "n_words": "num_terms n_features num_vocabs",
    "vocabulary": "id2word dictionary token2id vocab",
    "nnz": "num_nnz",
    "to_scipy().toarray()": "toarray todense to_numpy",
    "filter_vocabulary(min_df=, max_df=, max_features=)": "filter_extremes",
    "split(test_size)": "sample train_test_split",
    "bigtopic.ingest(source, store), which stores what it reads": "save serialize",
}

OF_THE_MODULE: Names = {
    "LDA": "LdaModel LdaMulticore LDAModel LatentDirichletAllocation",
    "ingest(source, store), which counts words": "Dictionary CountVectorizer",
    "evaluate.coherence(model, corpus)": "CoherenceModel",
    "load_model(path) or open_corpus(path)": "load read",
    "corpus.split(test_size)": "train_test_split",
}


def of_attribute(name: str, known: Iterable[str], names: Names) -> str:
    """The end of a message about an unknown attribute: our name for it, else a name spelt like it; "" for neither."""
    ours = _ours(name, names)
    return f"; use {ours[0]}" if ours else did_you_mean(name, [n for n in known if not n.startswith("_")])


def of_argument(name: str, known: Collection[str]) -> str:
    """As `of_attribute`, about an unknown argument."""
    ours = [each for each in _ours(name, ARGUMENTS) if each in known]
    return f"; use {' and '.join(ours)}" if ours else did_you_mean(name, known)


def _ours(name: str, names: Names) -> list[str]:
    return [ours for ours, theirs in names.items() if name in theirs.split()]


def missing(owner: object, name: str, names: Names) -> Any:
    """An attribute that was not found, for `__getattr__`; one whose property raised AttributeError raises it again."""
    if name.startswith("_") or hasattr(type(owner), name):
        return object.__getattribute__(owner, name)
    answer = of_attribute(name, dir(owner), names)
    raise AttributeError(f"{type(owner).__name__} has no attribute {name!r}{answer}")


def check_constructor(kind: type, args: Sequence[Any], given: Collection[str]) -> None:
    """Refuse arguments that the constructor of a model does not have.

    Raises
    ------
    ArgumentError
    """
    known = signature(kind).parameters
    if any(each.kind is Parameter.VAR_KEYWORD for each in known.values()):
        return
    for name in given:
        if name not in known:
            source = _ours(name, SOURCES)
            answer = f"; {source[0]}" if source else of_argument(name, known)
            raise ArgumentError(f"{kind.__name__}() has no argument {name!r}{answer}")
    unnamed = [name for name, each in known.items() if each.kind is Parameter.POSITIONAL_OR_KEYWORD]
    if len(args) > len(unnamed):
        raise ArgumentError(
            f"{kind.__name__}() takes only {' and '.join(unnamed)} without a name; give the next as "
            f"{list(known)[len(unnamed)]}={args[len(unnamed)]!r:.60}"
        )


def answering(target: _Target) -> _Target:
    """Make a function that is given an unknown argument suggest our name for it.

    Raises
    ------
    ArgumentError
    """
    parameters = signature(target).parameters

    @wraps(target)
    def call(*args: Any, **given: Any) -> Any:
        for name in given.keys() - parameters.keys():
            answer = _of_settings(name, args[0]) if args else ""
            if not answer and name in OF_INGEST.split():
                stored = f"bigtopic.ingest(documents, 'corpus.zarr', {name}={given[name]!r:.60})"
                answer = f"; it is about the documents: {stored} stores them as a corpus to pass instead"
            raise ArgumentError(
                f"{target.__name__}() has no argument {name!r}{answer or of_argument(name, parameters)}"
            )
        return target(*args, **given)

    return cast(_Target, call)


def _of_settings(name: str, estimator: Any) -> str:
    """The setting of the estimator that the argument of a method may mean."""
    known = estimator.get_params() if hasattr(estimator, "get_params") else ()
    ours = [each for each in (name, *_ours(name, ARGUMENTS)) if each in known]
    return f"; give {ours[0]} to {type(estimator).__name__}()" if ours else ""
