"""A learning method: a kernel, a scheme for each global array, and the paper's settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from bigtopic.errors import SettingError
from bigtopic.models.base import Model
from bigtopic.models.lda import LDA
from bigtopic.types import Kernel, Scheme

__all__ = ["SMALLEST_BATCH", "Method"]

SMALLEST_BATCH = 64

Prior = float | Callable[[int], float] | None


@dataclass(frozen=True)
class Method:
    """How a model is learnt.

    Attributes
    ----------
    name : as given to `LDA(method=...)`
    kernel : name of a file in `kernels/`, or a `Kernel` of your own
    inference : the kernel that infers documents' topics once the model has learnt, likewise; None for `kernel`
    schemes : {global array: scheme}
    model : the arrays and their axes
    batch_size : documents of one update, at most; None for the whole corpus
    least_rounds : a smaller corpus gets smaller minibatches, down to 64 documents, so that a pass has this many updates
    slice_size : documents of one kernel call; None lets the plan choose. A hyper-parameter when documents interact
    delay : updates that a minibatch need not have seen: 1 lets its E-step overlap with that of the one before; for
        minibatches too short to be shared among threads
    inner : turns of a round: a number, or a rule `(turn from 1, info) -> another turn?`
    max_iter : passes over the corpus
    enough_rounds : fewer passes suffice when they have this many updates together; None always does all passes
    tol : stop when a pass changes less than this (see `LDA`); 0 never
    priors : {name of a prior: a number, a function of n_components}; 1 / n_components for those not named
    init : how the statistics begin where not as the model says, {array: (distribution, share)}: "gamma" is
        Gamma(100, 0.01) per entry, "uniform" is Uniform(0, 1); the share is None for entries as drawn, or that of the
        corpus' tokens to scale them to. None instead of both is zeros, as integers begin
    options : settings of the kernel, or of that for inference, that differ from its defaults
    summary, paper : for the table
    """

    name: str
    kernel: str | Kernel
    schemes: Mapping[str, Scheme]
    model: Model = LDA
    batch_size: int | None = 500
    least_rounds: int = 1
    slice_size: int | None = None
    delay: int = 0
    inner: int | Callable[[int, Mapping[str, float]], bool] = 1
    max_iter: int = 1
    enough_rounds: int | None = None
    tol: float = 0.0
    priors: Mapping[str, Prior] = field(default_factory=dict)
    init: Mapping[str, tuple[str, float | None] | None] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    summary: str = ""
    paper: str = ""
    inference: str | Kernel | None = None

    def load_kernel(self) -> Kernel:
        """The kernel; its file is imported now."""
        return _loaded(self.kernel)

    def load_inference(self) -> Kernel:
        """The kernel that infers the topics of documents under a fixed model."""
        return _loaded(self.inference or self.kernel)

    def prior(self, name: str, n_components: int) -> float:
        """The default of a prior for so many components."""
        prior = self.priors.get(name)
        if prior is None:
            return 1.0 / n_components
        return prior(n_components) if callable(prior) else prior

    def kernel_options(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The kernel's settings: its defaults, the method's, then those given.

        Raises
        ------
        SettingError
            For a name the kernel does not have.
        """
        known = self.load_kernel().options
        unknown = sorted(set(given) - set(known))
        if unknown:
            raise SettingError(
                f"method {self.name!r} has no option {unknown[0]!r}; its options are: "
                + (", ".join(sorted(known)) or "none")
            )
        return {**known, **self.options, **given}

    def batch_size_for(self, n_docs: int) -> int | None:
        """Documents of one update on a corpus of this size."""
        if self.batch_size is None:
            return None
        return min(self.batch_size, max(SMALLEST_BATCH, n_docs // self.least_rounds))

    def max_iter_for(self, n_docs: int, batch_size: int | None) -> int:
        """Passes over a corpus of this size."""
        if self.enough_rounds is None or batch_size is None:
            return self.max_iter
        rounds = max(1, -(-n_docs // batch_size))
        return min(self.max_iter, -(-self.enough_rounds // rounds))

    def with_schedule(self, learning_decay: float | None, learning_offset: float | None) -> Method:
        """This method with another step size, in every scheme that has one.

        Raises
        ------
        SettingError
            When no scheme of the method has a step size.
        """
        given = {"learning_decay": learning_decay, "learning_offset": learning_offset}
        given = {name: value for name, value in given.items() if value is not None}
        if not given:
            return self
        schemes = {}
        used = False
        for array, scheme in self.schemes.items():
            own = {f.name for f in fields(scheme)}  # type: ignore[arg-type]
            changes = {name: value for name, value in given.items() if name in own}
            used = used or bool(changes)
            schemes[array] = replace(scheme, **changes) if changes else scheme  # type: ignore[type-var]
        if not used:
            raise SettingError(
                f"{next(iter(given))} was given, but method {self.name!r} has no step size; leave it out, "
                "or choose an online method"
            )
        return replace(self, schemes=schemes)


def _loaded(kernel: str | Kernel) -> Kernel:
    if isinstance(kernel, Kernel):
        return kernel
    from bigtopic import kernels

    return kernels.load(kernel)
