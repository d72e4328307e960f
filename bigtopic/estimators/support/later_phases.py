"""What later phases of a method need is checked, and said, before the first one begins, not hours later."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from bigtopic.errors import SettingError, setting
from bigtopic.learning import executors
from bigtopic.learning.executors.choice import choose
from bigtopic.learning.memory.estimate import WorkerMemory, check_memory
from bigtopic.learning.new_run import make_run
from bigtopic.methods import Method
from bigtopic.parallel.progress import say
from bigtopic.parallel.shared_files import unshared
from bigtopic.state.checkpoints.checkpoint import CheckpointFolder
from bigtopic.state.documents.document_state import DocumentState
from bigtopic.state.documents.state_files import resolved, state_sizes
from bigtopic.state.model import TopicModel
from bigtopic.state.phases import outline
from bigtopic.wording import counted

__all__ = ["LaterPhase", "check_later", "stays_here"]

WORTH_SAYING = 10**7  # tokens that all phases read: some seconds
MEGABYTE = 10**6


class LaterPhase(Protocol):
    """A phase that has not begun.

    number, method, options : see `state.phases.next_phase`
    max_iter : its passes
    here : see `stays_here`
    """

    @property
    def number(self) -> int: ...
    @property
    def method(self) -> Method: ...
    @property
    def max_iter(self) -> int: ...
    @property
    def options(self) -> Mapping[str, Any]: ...
    @property
    def here(self) -> bool: ...

    def setting(self, name: str) -> Any:
        """Its `batch_size`, `slice_size` and `tol`."""


def stays_here(method: Method, client: Any, saved: CheckpointFolder | None, progress: bool | None) -> bool:
    """Whether a phase runs on threads of this process because workers do not see the files in which it would remember
    documents; says so. The topics are the same.

    Parameters
    ----------
    saved : the folder that keeps the run, if it is kept
    client, progress : see `train`
    """
    if client is None or method.load_kernel().state != "run":
        return False
    why = unshared(client, Path(tempfile.gettempdir() if saved is None else saved.path))
    if why is not None:
        remedy = "a checkpoint in a folder that all workers see lets it run on them"
        say(f"the {method.phase} phase runs in this process: {why}; {remedy}", progress)
    return why is not None


def check_later(
    model: TopicModel,
    corpus: Any,
    n_passes: int,
    later: Sequence[LaterPhase],
    saved: CheckpointFolder | None = None,
    *,
    client: Any = None,
    n_threads: int | None = None,
    progress: bool | None = None,
) -> None:
    """Refuse a run whose later phases do not fit into memory or on the disk, and say what they are, if they are long.

    Parameters
    ----------
    n_passes, later : passes of the phase that the model is in; the phases after it
    saved : the folder that keeps the run, if it is kept
    client, n_threads, progress : see `train`

    Raises
    ------
    SettingError
        Names the phase, what it needs, and how to do without it.
    """
    described = [f"{model.method.phase}: {counted(n_passes, 'pass', 'passes')}"]
    total = n_passes
    for phase in later:
        total += phase.max_iter
        state = DocumentState() if saved is None else saved.state_of(phase.number)
        try:
            n_bytes = _needed(model, corpus, phase, state, None if phase.here else client, n_threads)
        except SettingError as error:
            name = phase.method.phase
            raise SettingError(
                f"phase {name!r} of method {model.method.name!r}: {error.message}; or leave this phase out with "
                f"{setting(f'{name}.max_iter', 0)}"
            ) from error
        text = f"{phase.method.phase}: {counted(phase.max_iter, 'pass', 'passes')}"
        if (sweeps := phase.method.kernel_options(phase.options).get("sweeps", 1)) > 1:
            text += f" of {sweeps} sweeps"
        disk = f", about {n_bytes / MEGABYTE:,.0f} MB on the disk" if n_bytes >= MEGABYTE else ""
        described.append(text + disk)
    if later and total * corpus.n_tokens >= WORTH_SAYING:
        say("; ".join(described), progress)


def _needed(
    model: TopicModel,
    corpus: Any,
    phase: LaterPhase,
    state: DocumentState,
    client: Any,
    n_threads: int | None,
) -> int:
    """Bytes that the phase takes on the disk. Raises SettingError where it does not fit there, or into memory."""
    later = outline(model, phase.number, phase.method, phase.options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the phase warns when it begins
        run = make_run(
            later,
            corpus,
            batch_size=phase.setting("batch_size"),
            slice_size=phase.setting("slice_size"),
            order="shuffled",
            max_iter=phase.max_iter,
        )
        spec = executors.load(choose(run, client))
    compares = phase.setting("tol") > 0
    check_memory(
        run, later.params, later.axes, 1 if client is not None else n_threads or 1, compares=compares
    )
    if client is not None and spec.worker_bytes is not None:
        WorkerMemory(run, later.params, later.axes, client, spec)
    if run.work.kernel.state != "run":
        return 0
    arrays = resolved(run.work.kernel.remembers, state_sizes(run.work.hyper))
    return state.check_room(corpus.parts, arrays).n_bytes
