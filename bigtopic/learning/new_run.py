"""Build a run from a model, a corpus and settings: its plan, and what every task and every step needs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from bigtopic import schemes
from bigtopic.errors import SettingError, argument, setting, warn
from bigtopic.learning.run import Run, Settings, Work
from bigtopic.methods import Method
from bigtopic.parallel.shared_files import require_shared
from bigtopic.plan.cursor import Cursor
from bigtopic.plan.exchanges import (
    ONE_BY_ONE,
    REPLICA_UPDATES,
    Schedule,
    concurrent_rounds,
    replicas_of_corpus,
    rounds_before,
    undivided_rounds,
)
from bigtopic.plan.slices import Plan
from bigtopic.schemes.dirichlet import LearnedPrior
from bigtopic.state.documents.document_state import DocumentState
from bigtopic.state.documents.state_files import REMEDY, resolved, state_sizes
from bigtopic.state.model import TopicModel
from bigtopic.types import Kernel

__all__ = ["make_run", "with_document_state"]


def make_run(
    model: TopicModel,
    corpus: Any,
    *,
    batch_size: int | None,
    slice_size: int | None,
    order: str,
    total_docs: float | None = None,
    max_iter: int | None = None,
    replicas: int | None = None,
    replica_updates: int | None = None,
    schedule: Schedule | None = None,
    asynchronous: bool = False,
    staleness: int | None = None,
    half_life: float | None = None,
) -> Run:
    """Build the immutable run over this corpus.

    Parameters
    ----------
    batch_size, slice_size : documents of an update and of a kernel call; None for the whole corpus and a default. The
        latter has no effect where a kernel needs whole minibatches
    order : "shuffled" or "stored"
    total_docs : the declared size of a stream; None for the corpus'
    max_iter : passes that the run will have, with the one that the model is in; None if unknown, and then the
        settings have no `n_steps`
    replicas : None if their number follows from the corpus
    replica_updates : None for `REPLICA_UPDATES`; without effect where `replicas` is None
    schedule : of exchanges, see `plan.exchanges`; None for the usual one
    asynchronous, staleness, half_life : see `learning.run.Settings`

    Raises
    ------
    SettingError
        When all inner iterations are burn-in, or when replicas or the exchanges of a schedule cannot share its updates.

    Warns
    -----
    BigtopicWarning
        When replicas have nothing to do: each pass is one update, or the run ends before they begin. When the run
        ends before a learned prior begins to move. When an asynchronous run has one update a pass.
    """
    method, kernel, hyper = model.method, model.method.load_kernel(), model.hyper()
    burn_in = kernel.burn_in(hyper.options)
    _check_burn_in(method, burn_in)
    if replicas is not None and replicas > 1:
        _check_replicas(model, replicas)
    if schedule is not None and (why := _why_one_by_one(method, kernel)):
        raise SettingError(
            f"{argument('schedule')}: updates of method {method.name!r} cannot begin from the same params, because "
            f"{why}; leave it out"
        )
    if asynchronous:
        if _n_rounds(corpus, batch_size) == 1 and total_docs is None and not method.asynchronous:
            warn(
                f"{argument('asynchronous', True)}: each pass is one update, for which no other can be late; choose a "
                f"smaller {argument('batch_size')}"
            )
        _check_asynchronous(replicas, schedule)
        replicas, schedule = 1, ONE_BY_ONE
    plan = _plan(model, kernel, corpus, batch_size, slice_size, order, replicas, replica_updates, schedule)
    n_steps = None if max_iter is None else _n_steps(model.cursor, plan.n_rounds, max_iter)
    share = (total_docs or corpus.n_docs) / max(1, corpus.n_docs)
    if schedule is None and replicas is not None and replicas > 1:
        _warn_of_idle_replicas(plan, replicas, n_steps)
    if n_steps is not None:
        _warn_of_priors_at_rest(method, n_steps, plan.n_rounds == 1 and share <= 1, model.cursor.phase > 0)
    sizes, tokens = (len(corpus.vocabulary), corpus.n_authors, model.id_maps(corpus)), corpus.n_tokens * share
    work = Work(kernel, hyper._replace(total_tokens=tokens), *sizes, n_candidates=_candidates(model))
    settings = Settings(
        method.schemes,
        model.seed,
        corpus.n_docs * share,
        tokens,
        method.inner,
        n_steps,
        method.prior_schemes,
        method.average,
        burn_in=burn_in,
        asynchronous=asynchronous,
        staleness=staleness,
        half_life=half_life,
        later_phase=model.cursor.phase > 0,
    )
    return Run(corpus.parts, plan, work, settings)


def _plan(
    model: TopicModel,
    kernel: Kernel,
    corpus: Any,
    batch_size: int | None,
    slice_size: int | None,
    order: str,
    replicas: int | None,
    replica_updates: int | None,
    schedule: Schedule | None,
) -> Plan:
    """The rounds of the run, and how many replicas share them; for the arguments see `make_run`."""
    n_rounds = _n_rounds(corpus, batch_size)
    size = len(corpus.vocabulary), corpus.nnz / max(1, n_rounds), n_rounds
    if replicas is None:
        replicas, replica_updates = replicas_of_corpus(*size) if _may_divide(model) else (1, None)
    n_updates = replica_updates or REPLICA_UPDATES
    return Plan(
        [part.n_docs for part in corpus.parts],
        corpus.nnz / max(1, corpus.n_docs),
        batch_size,
        slice_size,
        concurrent=_concurrent(model, kernel, corpus, batch_size),
        shuffled=order != "stored",
        seed=model.seed,
        replicas=replicas,
        replica_updates=n_updates,
        undivided_rounds=undivided_rounds(*size, replicas, n_updates),
        whole_minibatches=kernel.whole_minibatches,
        begin=model.cursor,
        schedule=schedule,
    )


def _concurrent(model: TopicModel, kernel: Kernel, corpus: Any, batch_size: int | None) -> int:
    """The most rounds that begin from the same params."""
    if _why_one_by_one(model.method, kernel):
        return 1
    n_docs = max(1, min(batch_size or corpus.n_docs, corpus.n_docs))
    entries, n_candidates = n_docs * corpus.nnz / max(1, corpus.n_docs), _candidates(model)
    if n_candidates is None:
        n_bytes = 4 * min(entries, len(corpus.vocabulary)) * sum(model.components.values())
    else:
        n_bytes = 8 * entries * n_candidates
    return concurrent_rounds(_n_rounds(corpus, batch_size), n_bytes)


def _candidates(model: TopicModel) -> int | None:
    """Topics that an entry has statistics of, at most, where params have sparse rows; None elsewhere."""
    limits = [model.options[name] for name in ("candidates", "kept") if name in model.options]
    return min(limits, default=model.n_components) if _is_sparse(model) else None


def _is_sparse(model: TopicModel) -> bool:
    return any(array.is_sparse for array in model.params.arrays.values())


def _why_one_by_one(method: Method, kernel: Kernel) -> str:
    """Why each update begins from the params of the one before, unless there are replicas; empty if none needs to.
    Learned priors do not count: they move with each update."""
    if method.inner != 1:
        return "it has inner iterations"
    if kernel.state != "none":
        return f"kernel {kernel.name!r} remembers documents"
    for name, scheme in method.schemes.items():
        if not isinstance(scheme, LearnedPrior) and not schemes.is_linear(scheme):
            return f"{type(scheme).__name__} moves {name} by changes that cannot be added"
    return ""


def _may_divide(model: TopicModel) -> bool:
    """Whether a run may have replicas without being told to."""
    method = model.method
    if _is_sparse(model):
        return False
    linear = all(map(schemes.is_linear, method.schemes.values()))
    return linear and method.inner == 1 and not method.prior_schemes and not method.average


def _n_rounds(corpus: Any, batch_size: int | None) -> int:
    """Rounds of a pass."""
    n_docs: int = corpus.n_docs
    return -(-n_docs // max(1, batch_size or n_docs))


def _n_steps(cursor: Cursor, n_rounds: int, max_iter: int) -> int:
    """Updates that a run has had after so many passes, this one included."""
    return cursor.step + (max_iter - 1) * n_rounds + cursor.rounds_left(n_rounds)


def _check_burn_in(method: Method, burn_in: int) -> None:
    if not callable(method.inner) and burn_in >= method.inner:
        raise SettingError(
            f"method {method.name!r}: all of its {method.inner} inner iterations are burn-in ({burn_in}), so a round "
            "would have no statistics; choose a shorter burn-in"
        )


def _check_asynchronous(replicas: int | None, schedule: Schedule | None) -> None:
    where = argument("asynchronous", True)
    if replicas is not None and replicas > 1:
        raise SettingError(
            f"{where} has no exchanges between {argument('replicas', replicas)}; leave one of them out"
        )
    if schedule is not None:
        raise SettingError(f"{where} has no exchanges; leave {argument('schedule')} out")


def _check_replicas(model: TopicModel, replicas: int) -> None:
    method = model.method
    if _is_sparse(model):
        raise SettingError(
            f"{argument('replicas', replicas)}: models of so many topics ({model.n_components:,}) have no replicas; "
            f"leave {argument('replicas')} out"
        )
    where = f"{argument('replicas', replicas)}: method {method.name!r}"
    learned = [f"the prior of {name}" for name in method.prior_schemes]
    learned += [name for name, scheme in method.schemes.items() if isinstance(scheme, LearnedPrior)]
    if learned:
        raise SettingError(
            f"{where} learns {' and '.join(learned)}, which replicas cannot; keep it as it is, or give "
            f"{argument('replicas', 1)}"
        )
    for name, scheme in method.schemes.items():
        if not schemes.is_linear(scheme):
            fit = [other for other in schemes.names() if schemes.is_linear(schemes.load(other))]
            raise SettingError(
                f"{where} moves {name} by {type(scheme).__name__}, whose updates cannot be added across replicas; give "
                f"{argument('replicas', 1)}, or a method with one of the schemes {', '.join(fit)}"
            )


def _warn_of_priors_at_rest(method: Method, n_steps: int, whole: bool, later_phase: bool) -> None:
    own = {str(method.model.arrays[array].prior): scheme for array, scheme in method.prior_schemes.items()}
    learned = {name: s for name, s in {**method.schemes, **own}.items() if isinstance(s, LearnedPrior)}
    late = {name: s for name, s in learned.items() if s.first_update(whole) > n_steps}
    if late:
        first = max(scheme.first_update(whole) for scheme in late.values())
        of = f"{method.phase}." if later_phase else ""
        begins = [setting(f"{of}{name}.begin", scheme.begin) for name, scheme in late.items()]
        batch_size = f"option {of}batch_size" if later_phase else argument("batch_size")
        where = f" in the {method.phase} phase, because it" if method.phase else ", because this run"
        warn(
            f"{' and '.join(argument(f'learn_{name}') for name in late)}: nothing is learned{where} ends with "
            f"update {n_steps} and learning begins with update {first}, when topics have begun to differ; choose "
            f"more passes, a smaller {batch_size}, or smaller values than {' and '.join(begins)}"
        )


def _warn_of_idle_replicas(plan: Plan, replicas: int, n_steps: int | None) -> None:
    if plan.n_rounds == 1:
        why = f"each pass is one update; choose a smaller {argument('batch_size')}"
    elif n_steps is not None and n_steps <= (before := plan.undivided_rounds + 1):
        fewer = f", or fewer {argument('replicas')} or {argument('replica_updates')}"
        undivided = plan.undivided_rounds == rounds_before(replicas * plan.replica_updates, replicas)
        why = (
            f"they need a run of more than {before} updates, and this one has {n_steps}; choose more passes"
            f"{fewer if undivided else ''}"
        )
    else:
        return
    warn(f"{argument('replicas', replicas)}: none of them has any work, because {why}")


def with_document_state(run: Run, model: TopicModel, corpus: Any, client: Any = None) -> Run:
    """The run with the files of document state, where the kernel has state that lives as long as the run."""
    kernel = run.work.kernel
    if kernel.state != "run":
        return run
    model.document_state = (model.document_state or DocumentState()).to_write(model.cursor)
    arrays = resolved(kernel.remembers, state_sizes(run.work.hyper))
    before = model.cursor
    model.cursor = model.document_state.begin(corpus.parts, corpus.vocabulary, run.plan, arrays, before)
    if model.cursor != before:
        run = _in_next_pass(run, before)
    files = model.document_state.files
    if client is not None:
        require_shared(client, Path(files.place.url), REMEDY)
    return replace(run, work=replace(run.work, state=files))


def _in_next_pass(run: Run, cursor: Cursor) -> Run:
    """The run if it begins with the pass after the one that the cursor is in."""
    plan, n_steps = Plan(**run.plan.settings, begin=cursor.next_pass()), run.settings.n_steps
    if n_steps is not None:
        n_steps += plan.n_rounds - cursor.rounds_left(plan.n_rounds)
    return replace(run, plan=plan, settings=replace(run.settings, n_steps=n_steps))
