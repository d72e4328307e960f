"""Latent Dirichlet allocation: translates the user's parameter names and decides nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bigtopic.estimators.learning import TopicLearning
from bigtopic.learning.events import Callback
from bigtopic.methods import Method

__all__ = ["LDA"]


class LDA(TopicLearning):
    """Topics of a corpus, learned by any of the methods in `bigtopic.methods()`.

    Parameters
    ----------
    n_components : number of topics; in the literature K
    method : name of a method, or a `bigtopic.Method`; None for "auto", which learns online, then samples, and suits
        most corpora; "online-cvb0" takes a tenth of its time, or less
    doc_topic_prior : number or (n_components,); None for the method's default, which differs between methods, see
        `bigtopic.methods()`. In the literature alpha
    topic_word_prior : number, (n_words,), or (n_components, n_words); None for the method's default, likewise. In the
        literature eta. `bigtopic.seed_prior` builds one from seed words
    learn_doc_topic_prior, learn_topic_word_prior : learn that prior, beginning with the one given: "symmetric" for one
        number, "asymmetric" for one per topic or word; None keeps it. Some methods cannot, see 'Learned priors' in
        the documentation
    batch_size : largest number of documents per update; a pass is divided evenly. None for the method's default, which
        may grow with `n_components`
    max_iter : passes over the corpus; None for the method's default. `batch_size`, `max_iter`, `tol`, `init`, replicas
        and `asynchronous` are of the first phase of a method that has several, such as "auto"; `options` set the others
    max_time : time limit in seconds; it truncates the run after the update in which they pass, and changes nothing
        before that. All phases count, and compiling on first use; what a resumed run took before does not
    tol : stop when a pass changes less than this: relative growth of the bound, or, without one, mean total variation
        distance of the topics; None for the method's default, 0 never
    learning_decay : of the step size (offset + t) ** -decay of update t of online methods; with decays up to 0.5 they
        need not converge; None for the method's default. In the literature kappa
    learning_offset : of that step size; a larger one makes the first steps smaller; None for the method's default. In
        the literature tau
    average : the topics of the fitted model are the mean over this share of the run's updates, at its end: 0.5 for the
        last half, True for all; None for the method's default, 0 for the latest topics. It is of each phase.
        See 'Averaged topics' in the documentation
    replicas : copies of the topics that learn side by side, each from its own minibatches, so that a whole cluster
        learns from short minibatches; None for 32 on corpora of 15,872 minibatches or more with the default method,
        otherwise 1. It changes the result, which is the same on any number of workers. See 'Replicas' in the
        documentation
    replica_updates : updates of each replica before their changes are added; None for 8 if `replicas` is given. It
        changes the result, too
    asynchronous : minibatches move the topics whenever they are done, so nothing waits for a slow worker, and the
        result depends on who is faster; None for the method's default, which only dsgs turns on. See 'Asynchronous
        learning' in the documentation
    staleness : updates that a minibatch may miss then, at most; None for no bound
    max_words : largest vocabulary that `partial_fit` and `update` leave; beyond it, the words of least weight are
        forgotten. None for no bound
    half_life : `partial_fit` and `update` forget: documents weigh half as much after this many others (10_000), or
        after a duration ("12h", "7d", "2w"), which needs the `time` of documents; None to forget as the method does. An
        update by n documents leaves 0.5 ** (n / half_life) of what methods that add knew; the step size of online
        methods does not fall below 1 - 0.5 ** (n / half_life). `fit` does not forget. `replicas` must be
        None or 1. See 'Streams' in the documentation
    max_doc_update_iter : largest number of local iterations per document, of methods that learn with such; None for the
        method's default
    mean_change_tol : mean change below which they stop earlier, likewise
    options : further settings of the method, {name: value}, see `bigtopic.methods(name)`: of its kernels, and of its
        schemes, in all that have it ("decay") or in one ("topic_words.decay"); of a later phase with its name before
        them ("sampling.max_iter", "sampling.sweeps"), where max_iter=0 leaves the phase out
    total_samples : number of documents in the stream that `partial_fit` sees in pieces; for None see `partial_fit`
    init : start from the topics of another model (an estimator, the path of a model, a scikit-learn or gensim model,
        or an array (n_components, n_words)), matched by word, or by column where it has no words, as an array; None
        starts from random topics. Methods that count labels or responsibilities draw the first ones from it, and count
        documents alone; those that add to a random start (streaming-vb, svb, ...) keep its weight, `components_`; the
        others rescale it to the corpus, and say so
    random_state : the same seed gives bit-identical topics on any number of workers; None draws a seed, as does a
        `numpy.random.RandomState`
    order : "shuffled", or "stored" to follow the order of the store
    slice_size : largest number of documents per kernel call; None for the method's default. Methods whose topics begin
        anew in each minibatch (sgs, streaming-ilr, cdf, svb-progressive) always take a whole one
    validation : held-out documents (a corpus or matrix), or a share of the corpus, to score while learning
    evaluate_every : updates between scores; None for one score per pass
    patience : stop after this many scores without an improvement, in each phase; None disables early stopping
    callbacks : functions that are called with each event (`bigtopic.learning.events.Event`), and
        `bigtopic.evaluate.Watch`, which measures the model
    progress : show a progress bar; None shows it in terminals and notebooks. False also silences the line that says how
        much disk a method needs that remembers documents
    client : a Dask client or its address; None for the current one, if there is one; False for threads
    n_threads : threads in this process; None for all processors. Does not change the result

    Attributes
    ----------
    components_ : (n_components, n_words), topic weights, not normalised; `get_topics()` returns probabilities
    exp_dirichlet_component_ : (n_components, n_words), exp of the expected log probabilities
    vocabulary_ : `Vocabulary`, the words of the columns
    history_ : list of dict, one per pass and per score, and per measurement of a `Watch` within a pass, with its
        "phase" where the method has several; of a stream, one per call, the last 10,000 of them
    doc_topic_prior_, topic_word_prior_ : as used, or learned, in a shape in which they can be given again
    n_iter_ : passes done, over all phases
    n_batch_iter_ : updates done, over all phases; where `partial_fit` or `update` goes back to the first phase, the
        updates of that phase
    n_features_in_ : n_words
    random_state_ : the seed used
    run_ : dict, the record of the fit: settings, corpus, versions, how it ended; see "The record of a run" in the
        documentation

    Examples
    --------
    >>> import numpy as np
    >>> counts = np.kron(np.eye(2, dtype=int), np.full((20, 5), 3))
    >>> model = LDA(2, max_iter=20, random_state=0).fit(counts)
    >>> model.transform(counts).argmax(axis=1).reshape(2, 20).std(axis=1)
    array([0., 0.])
    """

    doc_topic_prior: float | np.ndarray | None
    learn_doc_topic_prior: str | None

    def __init__(
        self,
        n_components: int = 10,
        *,
        method: str | Method | None = None,
        doc_topic_prior: float | np.ndarray | None = None,
        topic_word_prior: float | np.ndarray | None = None,
        learn_doc_topic_prior: str | None = None,
        learn_topic_word_prior: str | None = None,
        batch_size: int | None = None,
        max_iter: int | None = None,
        max_time: float | None = None,
        tol: float | None = None,
        learning_decay: float | None = None,
        learning_offset: float | None = None,
        average: float | None = None,
        replicas: int | None = None,
        replica_updates: int | None = None,
        asynchronous: bool | None = None,
        staleness: int | None = None,
        max_words: int | None = None,
        half_life: float | str | None = None,
        max_doc_update_iter: int | None = None,
        mean_change_tol: float | None = None,
        options: Mapping[str, Any] | None = None,
        total_samples: float | None = None,
        init: Any = None,
        random_state: int | np.random.RandomState | None = 0,
        order: str = "shuffled",
        slice_size: int | None = None,
        validation: Any = None,
        evaluate_every: int | None = None,
        patience: int | None = None,
        callbacks: Sequence[Callback] = (),
        progress: bool | None = None,
        client: Any = None,
        n_threads: int | None = None,
    ) -> None:
        self._keep(locals())
