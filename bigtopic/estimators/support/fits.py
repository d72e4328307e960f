"""A fit goes through the phases of its method; to learn from more documents, its model goes back to the first.

A later phase sweeps over all documents of a corpus. Streams, and documents that were appended, have the first phase:
it goes on from the topics as they are, with the step size at which it ended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

from bigtopic.errors import SettingError, argument
from bigtopic.estimators.support import checkpoints, run_record
from bigtopic.estimators.support.later_phases import check_later, stays_here
from bigtopic.estimators.support.phases import Phase
from bigtopic.methods import get
from bigtopic.plan.cursor import Cursor
from bigtopic.state.checkpoints.checkpoint import CheckpointFolder
from bigtopic.state.model import TopicModel
from bigtopic.state.phases import next_phase

__all__ = ["CUT", "attach", "go_back", "in_first_phase", "learn", "learn_saved"]

CUT = ("interrupt", "max_time")  # reasons that end a fit, whatever phases are left


def learn(
    estimator: Any,
    phases: Sequence[Phase | None],
    corpus: Any,
    held_out: Any = None,
    saved: CheckpointFolder | None = None,
    counts: Mapping[str, float] | None = None,
    resumed: bool = False,
) -> None:
    """Learn in the phase that the model is in, if it is one of these, and in those after it.

    Parameters
    ----------
    phases : in their order; None for the first one of the method
    saved : the folder that keeps the run, if it is kept
    counts : of what was learned before in this run, if anything was
    resumed : whether the model was saved in its phase, with these counts
    """
    spent = counts["seconds"] if counts is not None and not resumed else 0.0
    begun, reason = perf_counter() - spent, "max_iter"
    now = estimator._fitted()
    workers = estimator._workers()
    phases = [
        replace(phase, here=stays_here(phase.method, workers["client"], saved, estimator.progress))
        if phase is not None and phase.number >= now.cursor.phase
        else phase
        for phase in phases
    ]
    n_passes = {0: estimator._passes(corpus)} | {phase.number: phase.max_iter for phase in phases if phase}
    check_later(
        now, corpus, n_passes.get(now.cursor.phase, 0),
        [phase for phase in phases if phase is not None and phase.number > now.cursor.phase],
        saved, **workers, progress=estimator.progress,
    )  # fmt: skip
    for phase in phases:
        model, number = estimator._fitted(), 0 if phase is None else phase.number
        if number < model.cursor.phase:
            continue
        if phase is not None and number > model.cursor.phase:
            following = phase.begun(model)
            attach(saved, following)
            estimator.run_ = run_record.phase_done(estimator.run_ or {}, model, counts or checkpoints.NOTHING)
            estimator._model, model, resumed = following, following, False
        left = n_passes[number] - model.cursor.pass_number
        scored = held_out is None or any("score" in row for row in estimator.history_[-1:])
        if left > 0 or not scored:
            known = counts if resumed else None
            saver = None if saved is None else checkpoints.SavedFit(estimator, saved, known)
            reason, counts = estimator._learn(
                corpus,
                left,
                held_out,
                saver=saver,
                phase=phase,
                before=None if resumed else counts,
                seconds=perf_counter() - begun,
            )
        if reason in CUT:
            break
    estimator.run_ = run_record.ended(
        estimator.run_ or {}, reason, counts or checkpoints.NOTHING, estimator.history_
    )


def learn_saved(
    estimator: Any,
    later: Sequence[Phase],
    corpus: Any,
    held_out: Any,
    saved: CheckpointFolder,
    seed: int,
    run: dict[str, Any],
) -> None:
    """A fit, or what is left of it, in a folder of checkpoints.

    Parameters
    ----------
    later : the phases after the first
    seed, run : of a fit that begins
    """
    all_phases = [
        estimator._method_and_options(),
        *((p.method, p.options) for p in estimator._later_phases()),
    ]
    found = checkpoints.newest(saved, estimator, all_phases, seed)
    if found is None:
        estimator._model, estimator.run_, counts = estimator._begun(corpus, seed), run, None
        attach(saved, estimator._model)
    else:
        estimator._model, counts = found[0], found[1].get("counts", checkpoints.NOTHING)
        estimator.run_ = {**run, "phases": found[1].get("run", {}).get("phases", [])}
        estimator.n_docs_seen_ = corpus.n_docs
    learn(estimator, [None, *later], corpus, held_out, saved, counts, resumed=found is not None)


def attach(saved: CheckpointFolder | None, model: TopicModel) -> None:
    """Keep what a model remembers of documents in the folder of its checkpoints."""
    if saved is not None and model.method.load_kernel().state == "run":
        saved.attach(model)


def go_back(estimator: Any) -> TopicModel:
    """The model of an estimator in the first phase of its method, with the topics that it has now.

    Raises
    ------
    SettingError
        When the estimator was given another method since.
    """
    model: TopicModel = estimator._fitted()
    name = get(estimator.method).name
    if name != model.method.name:
        raise SettingError(
            f"{argument('method', name)}: the model was learned by {model.method.name!r}, and goes on with that; set "
            "it again"
        )
    if not model.cursor.phase:
        return model
    estimator._model = found = in_first_phase(estimator)
    estimator.run_ = run_record.without_phases(estimator.run_)
    return found


def in_first_phase(estimator: Any) -> TopicModel:
    """A model in the first phase, where that ended, with the topics of a fitted estimator that is past it."""
    n_passes, n_updates = run_record.first_phase(estimator.run_) or _passes_and_updates(estimator)
    found = next_phase(estimator._fitted(), 0, *estimator._method_and_options())
    found.cursor = Cursor(n_passes, 0, n_updates)
    return found


def _passes_and_updates(estimator: Any) -> tuple[int, int]:
    """Of a first phase that no record tells of: as many as one pass has."""
    n_docs = max(1, estimator.n_docs_seen_)
    return 1, -(-n_docs // (estimator._batch_size(n_docs) or n_docs))
