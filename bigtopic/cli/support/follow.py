"""`bigtopic train --follow`: score what came, learn from it, say what changed, save the model, and wait for more."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import numpy as np
from click import UsageError, get_current_context

from bigtopic.cli.support import terminal
from bigtopic.cli.support.group import INTERRUPTED, TERMINATED
from bigtopic.cli.support.parameters import STANDARD, is_given
from bigtopic.cli.support.sources import Folder, GrowingCorpus, Source, StandardInput
from bigtopic.cli.support.stores import is_corpus, is_model, model_at, require_writable
from bigtopic.corpus.card import left_out
from bigtopic.corpus.store import open_corpus
from bigtopic.errors import CorpusLocked, InputError, SettingError, VocabularyMismatch, argument
from bigtopic.estimators.support import run_record
from bigtopic.evaluation import Snapshot, drift
from bigtopic.learning.stopping import ended_by_sigterm, interruptible
from bigtopic.storage.place import Place
from bigtopic.storage.writers import root_attributes
from bigtopic.wording import counted, printable

__all__ = ["check_options", "learn_from"]

_POLL = 1.0  # seconds
_SETTLED = 10.0  # seconds without a write after which a file is complete
_SHOWN = 4  # topics and new words of a line
_NEEDS_IT = ("window", "save_every", "until_idle", "half_life", "max_words")
_SAVED = "MODEL itself is saved while it learns, and the same command goes on with it; leave it out"
_ENDLESS = {  # options that have no meaning for what has no end, and what to do
    **dict.fromkeys(("max_iter", "average", "documents"), "documents are learned from once; leave it out"),
    **dict.fromkeys(("replicas", "replica_updates", "asynchronous", "staleness"), "there is one learner; leave it out"),
    **dict.fromkeys(("validation", "patience"), "documents are scored before they are learned from; leave it out"),
    **dict.fromkeys(("checkpoint", "checkpoint_every", "resume"), _SAVED),
    "overwrite": "the model goes on; to begin anew, remove it or give another path",
    "max_time": "end it with Ctrl-C, SIGTERM or --until-idle",
}  # fmt: skip


def check_options(follow: bool) -> None:
    """Refuse options that have no effect with --follow, or without it."""
    for param in get_current_context().command.params:
        name = str(param.name)
        if follow and name in _ENDLESS and is_given(name):
            raise UsageError(f"{param.opts[0]} has no effect with --follow: {_ENDLESS[name]}")
        if not follow and name in _NEEDS_IT and is_given(name):
            raise UsageError(f"{param.opts[0]} needs --follow, which learns from documents as they come")


def learn_from(
    path: str, model: str, fresh: Any, chosen: Mapping[str, Any], continue_from: str | None, **limits: Any
) -> int:
    """Learn from a source while it grows; returns the exit code.

    Parameters
    ----------
    fresh, chosen : an estimator that has learned nothing, and its settings
    limits : of a `_Follower`
    """
    typed = {n: v for n, v in chosen.items() if is_given(n.replace("author_topic", "doc_topic"))}
    known = is_model(model)
    require_writable(model, "model", overwrite=True)
    estimator = _estimator(model if known else continue_from, fresh, typed)
    source = _source(path, model, estimator, known, min(_SETTLED, limits["save_every"]))
    seen = counted(0 if estimator._model is None else estimator.n_docs_seen_, "document")
    terminal.aside(f"{model} ({seen} so far) learns from {source.name}; Ctrl-C ends it")
    follower = _Follower(estimator, model, source, **limits)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "partial_fit: each call")  # few may come in the time between saves
        warnings.filterwarnings("ignore", ".* of the tokens are unknown")  # they are learned next
        reason, code = follower.run()
    told = f"{model} learned from {counted(follower.n_docs, 'document')} and is saved"
    if not follower.n_docs:
        told = "nothing was new" if known else f"no documents came, so {model} was not written"
    terminal.aside(f"{told}; ended by {reason}")
    return code


def _estimator(before: str | None, fresh: Any, typed: Mapping[str, Any]) -> Any:
    """The estimator at a path, else the fresh one. A model keeps its settings, but for what makes it forget.

    Raises
    ------
    SettingError
        When the model has another value than was typed, or its method does not learn from streams.
    """
    estimator = fresh if before is None else model_at(before)
    for name, value in typed.items() if before is not None else ():
        kept = estimator.get_params().get(name)
        if name in ("half_life", "max_words"):
            estimator.set_params(**{name: value})
        elif name != "init" and kept != value:
            raise SettingError(
                f"{argument(name, value)}: {before} has {kept!r} and keeps it; leave it out, or give another path"
            )
    estimator.set_params(client=fresh.client, n_threads=fresh.n_threads, progress=False)
    # A window is learned as a whole, and scores of held-out documents ended with the run that held them out.
    estimator.set_params(max_time=None, patience=None, evaluate_every=None)._check()
    method = estimator._method_and_options()[0]
    streams = method.load_kernel().state != "run" and len(method.model.components) == 1
    if not (streams and estimator._or_method("batch_size")):
        raise SettingError(
            f"{argument('method', method.name)}: does not learn from documents as they come; choose another one, such "
            "as online-cvb0"
        )
    return estimator


def _source(path: str, model: str, estimator: Any, known: bool, settled: float) -> Source:
    """What is at a path, after what the estimator has learned from it.

    Raises
    ------
    SettingError
        When nothing there can grow, or the estimator is the one at `model` (`known`) and learned from something else.
    """

    def text() -> Any:
        return None if estimator._model is None else estimator._model.text or {}

    if path == STANDARD:
        return StandardInput(text)
    if f"{Place.of(model).real}/".startswith(f"{Place.of(path).real}/"):
        raise SettingError(f"{model} is inside {path}, from which it learns; give a path outside")
    corpus = open_corpus(path) if is_corpus(path) else None
    followed = (estimator.run_ or {}).get("followed", {})
    same = followed.get("source") == str(Path(path).resolve())
    if corpus is not None:
        same = run_record.is_same(estimator.run_, corpus)
    if known and not same:
        raise SettingError(
            f"{model} has not learned from {path}; give another path for the model, and "
            f"{argument('continue_from', model)} to begin with its topics"
        )
    if corpus is not None:
        if not same:
            run = run_record.begun(estimator, corpus, int(estimator.random_state))
            estimator.run_ = {**run, "corpus": {**run["corpus"], "documents": 0, "rows": 0}}
        return GrowingCorpus(path, lambda: estimator.run_ or {})
    if not Path(path).is_dir() or is_model(path):
        raise SettingError(
            f"{path} is neither a corpus nor a folder; follow one of these, or standard input: tail -f FILE | bigtopic "
            "train - MODEL --follow"
        )
    return Folder(path, followed if same else {}, text, settled)


@dataclass
class _Follower:
    """A model that learns from a source until this ends.

    Attributes
    ----------
    window : documents that are learned from at a time, at most
    save_every : seconds between saves, and for which documents wait for others, at most
    until_idle : seconds without documents after which it ends; None for never
    n_docs : documents of this run
    """

    estimator: Any
    model: str
    source: Source
    window: int
    save_every: float
    until_idle: float | None
    as_json: bool
    n_docs: int = 0
    _before: Snapshot | None = None
    _unsaved: bool = False
    _learning: bool = False

    def run(self) -> tuple[str, int]:
        """Learn until the end; what ended it, and the exit code."""
        self._mine, self._saved = self._attributes(), time.monotonic()
        with ended_by_sigterm() as terminated, interruptible() as stop, ThreadPoolExecutor(1) as pool:
            try:
                reason = self._until_end(pool, stop)
            finally:
                if self._unsaved and not self._learning:
                    self._save()
        if terminated.is_set():
            return "SIGTERM", TERMINATED
        return reason, INTERRUPTED if stop.is_set() else 0

    def _until_end(self, pool: Any, stop: Any) -> str:
        waiting, came, first, began = 0, time.monotonic(), time.monotonic(), datetime.now()
        while True:
            n, now = self.source.look(self.window), time.monotonic()
            came = now if n > waiting or self.source.unsettled else came  # the last document
            first = first if waiting else now  # the first that waits
            waiting, end = n, self._end(stop, now - came)
            # What was read of standard input would be gone
            takes = not stop.is_set() or isinstance(self.source, StandardInput)
            if n and takes and (end or n >= self.window or now - first >= self.save_every):
                self._aside("")
                corpus, record = self.source.take(self.window)
                if corpus is not None:
                    self._learning = True
                    # In another thread: Ctrl-C would end it in the middle of a window in this one.
                    pool.submit(self._learn, corpus, record).result()
                    self._learning = False
                waiting, came, began = 0, time.monotonic(), datetime.now()
            elif end:
                self._aside("")
                return end
            else:
                wait = f"; {counted(n, 'has', 'have')} come" if n else ""
                wait += "; a file is not complete yet" if self.source.unsettled else ""
                self._aside(f"waiting for documents from {self.source.name} since {began:%H:%M:%S}{wait}")
                self.source.wait(min(_POLL, self.save_every, self.until_idle or _POLL))
            if self._unsaved and time.monotonic() - self._saved >= self.save_every:
                self._save()

    def _end(self, stop: Any, idle: float) -> str | None:
        """What ends the run once nothing waits, after seconds without documents; None to go on."""
        if stop.is_set():
            return "Ctrl-C"
        if self.until_idle is not None and idle >= self.until_idle:
            return "--until-idle"
        return f"the end of {self.source.name}" if self.source.ended else None

    def _learn(self, corpus: Any, record: Any) -> None:
        """Score a window, learn from it, and tell."""
        estimator, after, first = self.estimator, None, self.estimator._model is None
        if corpus.n_tokens:
            if self._before is None and estimator._model is not None:  # the last window is of an earlier run
                with suppress(InputError, VocabularyMismatch):
                    self._before = estimator.snapshot(corpus)
            timed = {"time": datetime.now(UTC)} if isinstance(estimator.half_life, str) else {}
            estimator.partial_fit(corpus, score=True, **timed)
            if first and (without := left_out(estimator._model.text)):
                terminal.aside(f"left out from now on: {without}")
        else:
            estimator.run_ = run_record.continued(estimator.run_, corpus)
        if record is not None:
            estimator.run_ = {**(estimator.run_ or {}), "followed": record}
        self._unsaved, self.n_docs = estimator._model is not None, self.n_docs + corpus.n_docs
        if corpus.n_tokens:
            with suppress(InputError):  # all its words were forgotten
                after = estimator.snapshot(corpus)
            self._tell(corpus, (estimator.history_ or [{}])[-1], after)
            self._before = after or self._before

    def _tell(self, corpus: Any, row: Mapping[str, Any], after: Snapshot | None) -> None:
        """One line about a window."""
        changed, new = [], []
        if self._before is not None and after is not None:
            found = drift(self._before, after)
            rows = (dict(zip(found.columns, row, strict=True)) for row in found.rows())
            changed = [{**one, "words": _leading(after, one["topic"])} for one in rows if one["what"]]
            new = [{"word": word, "topic": topic} for word, tokens, topic in found.new_words if tokens]
        if self.as_json:
            shares = None if after is None else after.shares.tolist()
            terminal.json_line({
                "time": datetime.now().isoformat(timespec="seconds"), "documents": corpus.n_docs,
                "words": round(corpus.n_tokens), "score": row.get("score"), "changed": changed, "new_words": new,
                "documents_seen": self.estimator.n_docs_seen_, "vocabulary": len(self.estimator.vocabulary_),
                "forgotten": row.get("forgotten"), "shares": shares,
            })  # fmt: skip
            return
        said = [f"{counted(corpus.n_docs, 'document')}, {counted(corpus.n_tokens, 'word')}"]
        said += [] if row.get("score") is None else [f"score {row['score']:.4f}"]
        for one in changed[:_SHOWN]:
            partner, words = one["with"], " ".join(one["words"][:3])
            what = ", ".join(one["what"]) + ("" if partner is None else f" with {partner}")
            said.append(f"topic {one['topic']} ({words}) {what}")
        said += [f"{len(changed) - _SHOWN} more changed"] if len(changed) > _SHOWN else []
        if new:
            said.append(f"{counted(len(new), 'new word')}: {' '.join(one['word'] for one in new[:_SHOWN])}")
        terminal.line(f"{datetime.now():%H:%M:%S}  {'; '.join(said)}")

    def _save(self) -> None:
        """Write the model, in one step. Raises CorpusLocked if another process has written it in the meantime."""
        if self._attributes() != self._mine:
            raise CorpusLocked(f"another process has written {self.model} in the meantime; end one of them")
        self.estimator.set_params(progress=None).save(self.model, overwrite=True)
        self.estimator.set_params(progress=False)
        self._mine, self._unsaved, self._saved = self._attributes(), False, time.monotonic()

    def _attributes(self) -> Any:
        return root_attributes(Place.of(self.model), "a model")

    def _aside(self, text: str) -> None:
        """A line at a terminal that the next one replaces."""
        if sys.stderr is not None and sys.stderr.isatty():
            click.echo(f"\r\x1b[K{printable(text)}", nl=False, err=True)


def _leading(topics: Snapshot, topic: int) -> list[str]:
    best = np.argsort(-topics.topic_words[:, topic], kind="stable")[:8]
    return [str(topics.vocabulary[int(word)]) for word in best]
