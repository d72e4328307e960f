"""New documents and new authors for a fitted author-topic model."""

from __future__ import annotations

from functools import partial
from typing import Any, Self

import numpy as np

from bigtopic.corpus.store import Corpus
from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.errors import InputError, SettingError, argument, either
from bigtopic.estimators import starts
from bigtopic.estimators.authors import AuthorQueries
from bigtopic.estimators.begin import streams
from bigtopic.estimators.inputs import require_positive
from bigtopic.estimators.learning import TopicLearning
from bigtopic.estimators.reading import FittedArray
from bigtopic.inference.new_authors import learn_authors
from bigtopic.models.author_topic import AUTHOR_TOPICS
from bigtopic.plan.counting import counted_authors
from bigtopic.state.axes import axes_of
from bigtopic.state.model import TopicModel
from bigtopic.state.views import mean_rows
from bigtopic.types import Block

__all__ = ["AuthorUpdates"]


class AuthorUpdates(TopicLearning, AuthorQueries):
    """Estimators of authors that go on learning."""

    def _new_model(self, corpus: Any, seed: int) -> TopicModel:
        self._check_signed(corpus)
        return super()._new_model(corpus, seed)

    def partial_fit(self, X: Any, y: Any = None, *, vocabulary: Any = None) -> Self:
        """Continue learning as `LDA.partial_fit` does, from documents that have authors, of whom some may be new."""
        corpus = self._next_documents(X, vocabulary)
        self._check_signed(corpus)
        return super().partial_fit(corpus)

    def _check_signed(self, corpus: Corpus) -> None:
        """Refuse documents without authors, or with more than there is room for, before anything is learned. One pass
        that reads."""
        from bigtopic.kernels.support.authors import unsigned
        from bigtopic.kernels.support.entry import whole_number

        method, given = self._method_and_options()
        options = {**method.load_kernel().options, **given}
        room = whole_number(options, "most_authors", 1) if "most_authors" in options else None
        if corpus.author_vocabulary is not None:  # otherwise the axes of the model are refused
            found = [*self._over(corpus, partial(_check_authors, room=room))]
            if rows := [row for row in found if row is not None]:
                raise unsigned(min(rows))

    def update(
        self,
        corpus: Any,
        *,
        first_new: int | None = None,
        only_new: bool = False,
        max_iter: int | None = None,
    ) -> Self:
        """Go on with a corpus to which documents were appended, perhaps of new authors and with new words.

        So that authors do not forget their earlier documents, a method with minibatches learns from all documents, old
        and new, of every author of the new ones; a batch method, and one that remembers documents, from all. Step
        sizes go on where they were.

        Parameters
        ----------
        corpus : the earlier documents and the new ones, as `bigtopic.append` leaves them
        first_new : source row of the first new document, such as `corpus.n_docs` before the append; None for the number
            of documents seen so far, where these are the first ones of the corpus
        only_new : learn from the new documents alone; other authors stay as they are. For methods with minibatches that
            remember no documents
        max_iter : passes over these documents; None for the estimator's

        Raises
        ------
        InputError
            When there are no new documents, one of them has no author, or those before are not what was learned from.
        ModelError
            When the method remembers documents, and not all of the earlier ones.
        SettingError
            When `max_iter` is below 1, or the method needs all documents and `only_new` is set.
        """
        self._check()
        if max_iter is not None:
            require_positive("max_iter", max_iter)
        model = self._fitted()
        needs_all = self._or_method("batch_size") is None or model.document_state is not None
        if only_new and needs_all:
            raise SettingError(
                f"only_new=True: method {model.method.name!r} always learns from all documents; leave only_new out, or "
                f"fit with {argument('method', 'online-author-cvb0')}, which learns from the new ones alone"
            )
        corpus = self._documents(corpus)
        first = self.n_docs_seen_ if first_new is None else first_new
        rows = corpus.rows()
        new = corpus.select(rows=rows[rows >= first])
        if not new.n_docs:
            raise InputError(
                f"there are no documents from row {first} on; append them to the corpus"
                f"{either(', or give first_new=', '')}"
            )
        self._check_signed(new)
        self._check_earlier(corpus.select(rows=rows[rows < first]), first, exactly=first_new is None)
        if model.document_state is not None:
            n_earlier = corpus.n_docs - new.n_docs
            model.document_state.require_counted(corpus.parts, corpus.vocabulary, model.cursor, n_earlier)
        streams.end_pass(model)
        axes = axes_of(model.method.model, corpus, self._client(), self.n_threads)
        streams.grow(model, axes, of_all=True)
        chosen = (
            new if only_new else corpus if needs_all else corpus.select(rows=_rows_of_authors(corpus, new))
        )
        n_passes = max_iter or self._passes(chosen)
        self._learn(chosen, n_passes, None, total=corpus.n_docs)
        self.n_docs_seen_ = corpus.n_docs
        self.n_iter_ += n_passes
        return self

    def _check_earlier(self, earlier: Corpus, first: int, exactly: bool) -> None:
        """Refuse documents that are not those learned from, as far as the numbers of each author's documents tell."""
        known = self._fitted().axes["author"]
        if known.frequency is None:
            return
        if not earlier.n_docs:
            raise InputError(
                f"all documents are from row {first} on, and those that the model has learned from are not there: give "
                "the corpus of fit with documents appended; partial_fit learns from new documents alone"
            )
        found = counted_authors(earlier, self._client(), self.n_threads)
        assert found.words is not None
        names = known.extended(found.words[found.mapping_to(known) < 0].tolist())
        seen, there = (_documents_of_each(names, one) for one in (known, found))
        wrong = there != seen if exactly else (there == 0) & (seen > 0)
        if wrong.any():
            assert names.words is not None
            worst = int(np.argmax(wrong))
            raise InputError(
                f"the documents before row {first} are not those that the model has learned from: {there[worst]} of "
                f"them are by {names.words[worst]!r}, and it has seen {seen[worst]}; give the corpus of fit with "
                "documents appended"
                f"{either(', and first_new=, the source row of the first of these, if fit had a part of it', '')}"
            )

    def transform_authors(self, X: Any, *, max_iter: int = 100, tol: float = 1e-3) -> FittedArray:
        """Topics of the authors of these documents: of those that the model knows, then of new ones.

        The topics of new authors are inferred with all that the model knows held fixed. Their documents may have known
        authors, too.

        Parameters
        ----------
        X : corpus with authors, or its path
        max_iter : passes over the documents at most
        tol : stop when a pass moves the new authors by less than this, in tokens (mean over authors and topics)

        Returns
        -------
        FittedArray
            values (n_authors, n_components), rows sum to 1; names (n_authors,)

        Raises
        ------
        InputError
            When there are no documents, or one of them has no author.
        SettingError
            When `max_iter` is below 1.
        """
        require_positive("max_iter", max_iter)
        corpus = self._known_corpus(X)
        starts.check_corpus(corpus)
        self._check_signed(corpus)
        found = learn_authors(self._fitted(), corpus, max_iter, tol, self._client(), self.n_threads)
        topics = mean_rows(found.params[AUTHOR_TOPICS], None)[:, : found.n_components]
        return FittedArray(topics, found.axes["author"].words)


def _check_authors(docs: Block, room: int | None) -> int | None:
    """The first row of the source without authors; documents with more than there is room for are refused."""
    from bigtopic.kernels.support.authors import authors_within, first_unsigned

    row = first_unsigned(docs)
    if row is None and room is not None:
        authors_within(docs, room)
    return row


def _documents_of_each(names: Vocabulary, counted: Vocabulary) -> np.ndarray:
    """Documents of each of these authors, int64 (n_names,); 0 for those that are not among the counted."""
    n_docs = np.zeros(len(names), np.int64)
    n_docs[counted.mapping_to(names)] = counted.counted[0]
    return n_docs


def _rows_of_authors(corpus: Corpus, named: Corpus) -> np.ndarray:
    """Source rows of all documents of the authors that are named in others."""
    wanted = np.zeros(corpus.n_authors, bool)
    for block in named.blocks():
        wanted[block.authors] = True
    rows = [np.zeros(0, np.int64)]
    for block in corpus.blocks():
        if block.author_indptr is not None and block.authors is not None:
            n_wanted = np.concatenate([[0], np.cumsum(wanted[block.authors])])[block.author_indptr]
            rows.append(block.rows[np.diff(n_wanted) > 0])
    return np.concatenate(rows)
