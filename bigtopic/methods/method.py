"""A learning method: a kernel, a scheme for each global array, and the paper's settings.

`Formula` is a default prior that depends on the number of topics; `UntilRest`, a rule for `Method.inner`, says when the
inner iterations of a round end.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bigtopic.errors import SettingError
from bigtopic.models.base import Model
from bigtopic.models.lda import LDA
from bigtopic.schemes import settings
from bigtopic.schemes.newton import Newton
from bigtopic.types import Kernel, Scheme

__all__ = ["SMALLEST_BATCH", "Formula", "Method", "Prior", "UntilRest"]

SMALLEST_BATCH = 64

Prior = float | Callable[[int], float] | None


@dataclass(frozen=True)
class Formula:
    """A prior as a function of the number of topics, with the formula that the table of methods shows.

    Attributes
    ----------
    text : the formula, with K for the number of topics
    rule : its value
    """

    text: str
    rule: Callable[[int], float]

    def __call__(self, n_components: int) -> float:
        return self.rule(n_components)

    def __str__(self) -> str:
        return self.text


def _one_over(n_components: int) -> float:
    return 1.0 / n_components


_ONE_TOKEN = Formula("1/K", _one_over)


@dataclass(frozen=True)
class Method:
    """A way to learn a model.

    Attributes
    ----------
    name : as given to `LDA(method=...)`
    kernel : name of a file in `kernels/`, or a custom `Kernel`
    inference : the kernel that infers documents' topics under the trained model, given likewise; None for `kernel`
    schemes : {global array: scheme}, one for each of the kernel's statistics, and of those that it offers if wanted
    prior_schemes : {global array: scheme that learns the array's prior from the array itself}, after `schemes`
    prior_learner : class of the scheme that learns the document-topic prior, if an estimator is asked to
    model : the arrays and their axes
    batch_size : largest number of documents per update, unless `docs_per_component` allows more; None for the whole
        corpus
    docs_per_component : documents per update for each component; the larger of this limit and `batch_size` holds
    least_rounds : a smaller corpus gets smaller minibatches, down to 64 documents, so that a pass has this many updates
    slice_size : documents per kernel call; None lets the plan choose. A hyper-parameter when documents interact; None
        where the kernel needs whole minibatches
    inner : inner iterations per round: a number, or a rule `(inner iteration from 1, info) -> continue?`
    max_iter : passes over the corpus
    enough_rounds : stop before `max_iter` passes once they have made this many updates; None always makes all passes
    tol : stop when a pass changes less than this (see `LDA`); 0 never
    asynchronous : whether minibatches move the arrays whenever they are done, see `learning.pushes`
    average : share of a run's updates, at its end, over which the arrays are averaged for those who read the model, see
        `LDA`; 0 for none
    priors : {name of a prior: a number or a function of n_components}; 1 / n_components for the others
    init : initial statistics, if not the model's, {array: (distribution, share)}: "gamma" is Gamma(100, 0.01) per
        entry, "uniform" is Uniform(0, 1), "even" is 1, "diagonal" is Uniform(0, 0.02) and 1 where row and column have
        the same number, modulo the shorter side; the share is None to keep these values, or the share of the corpus'
        tokens that they are scaled to. ("documents", None) is the number of documents of each row. None instead of the
        pair for zeros, the only choice for integers
    options : settings of the kernel or the inference kernel that differ from their defaults
    summary, paper : shown in the table of methods
    complexity : of a document: multiply-adds per distinct word or token, and the memory kept for it; K topics, I
        iterations and S sweeps over a document
    use : when to use it, in one line
    aliases : names that papers use, each with its paper: "ope:Online-VB"
    phase : what it is called as a phase of a method, in `history_` and in options ("sampling.max_iter")
    then : the phases after this one, each of which begins from the topics of the one before it
    enough_tokens : a phase of `then` makes fewer passes than `max_iter` once they have read so many tokens, and none
        where it would make fewer than 10; None always makes all
    enough_length : mean tokens of a document for which a phase of `then` makes `max_iter` passes; shorter documents get
        more in inverse proportion, up to five times as many; None always makes `max_iter`
    """

    name: str
    kernel: str | Kernel
    schemes: Mapping[str, Scheme]
    model: Model = LDA
    batch_size: int | None = 500
    docs_per_component: float = 0.0
    least_rounds: int = 1
    slice_size: int | None = None
    inner: int | Callable[[int, Mapping[str, float]], bool] = 1
    max_iter: int = 1
    enough_rounds: int | None = None
    tol: float = 0.0
    priors: Mapping[str, Prior] = field(default_factory=dict)
    init: Mapping[str, tuple[str, float | None] | None] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    summary: str = ""
    paper: str = ""
    complexity: str = ""
    use: str = ""
    aliases: Collection[str] = ()
    inference: str | Kernel | None = None
    prior_schemes: Mapping[str, Scheme] = field(default_factory=dict)
    average: float = 0.0
    asynchronous: bool = False
    prior_learner: Callable[..., Scheme] = Newton
    phase: str = ""
    then: Sequence[Method] = ()
    enough_tokens: float | None = None
    enough_length: float | None = None

    @property
    def phases(self) -> tuple[Method, ...]:
        """This method without what follows, and the phases that follow it; `Cursor.phase` counts them."""
        return (replace(self, then=()), *self.then) if self.then else (self,)

    def load_kernel(self) -> Kernel:
        """The kernel, with the statistics that it offers and a scheme needs; imports its file."""
        kernel = _loaded(self.kernel)
        needed = {name: axis for name, axis in kernel.offers.items() if name in self.schemes}
        return replace(kernel, statistics={**kernel.statistics, **needed}) if needed else kernel

    def load_inference(self) -> Kernel:
        """The kernel that infers the topics of documents under a fixed model."""
        return _loaded(self.kernel if self.inference is None else self.inference)

    def prior(self, name: str, n_components: int) -> float:
        """The default of a prior, for this number of components."""
        prior = self._prior(name)
        return prior(n_components) if callable(prior) else prior

    def prior_text(self, name: str) -> str:
        """The default of a prior as the table of methods shows it: a number, or a formula of K, the components."""
        prior = self._prior(name)
        return str(prior) if callable(prior) else f"{prior:g}"

    def _prior(self, name: str) -> float | Callable[[int], float]:
        prior = self.priors.get(name)
        return _ONE_TOKEN if prior is None else prior

    def kernel_options(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The settings of both kernels: their defaults, overridden by the method's and then by those given.

        An option that both have is the one of the kernel that learns.

        Raises
        ------
        SettingError
            When neither kernel has an option of that name.
        """
        known = {**self.load_inference().options, **self.load_kernel().options}
        unknown = sorted(set(given) - set(known), key=str)
        if unknown:
            raise SettingError(
                f"method {self.name!r} has no option {unknown[0]!r}; its options are: "
                + (", ".join(sorted(known)) or "none")
            )
        return {**known, **self.options, **given}

    def batch_size_for(self, n_docs: int, n_components: int | Mapping[str, int] = 1) -> int | None:
        """Documents per update on a corpus of this size; more than it has where one update takes all."""
        if self.batch_size is None:
            return None
        n = max(n_components.values()) if isinstance(n_components, Mapping) else n_components
        most = max(self.batch_size, int(self.docs_per_component * n))
        return most if self.least_rounds == 1 else min(most, max(SMALLEST_BATCH, n_docs // self.least_rounds))

    def max_iter_for(self, n_docs: int, batch_size: int | None) -> int:
        """Passes over a corpus of this size."""
        if self.enough_rounds is None or batch_size is None:
            return self.max_iter
        rounds = max(1, -(-n_docs // batch_size))
        return min(self.max_iter, -(-self.enough_rounds // rounds))

    def begun_with(self, arrays: Collection[str]) -> Method:
        """This method for a run that begins with given statistics of these arrays, where schemes add them up.

        Where the method begins with nothing, because it counts documents alone, the first update drops the given
        statistics; where it begins with random statistics, the given ones stay in their place.

        Raises
        ------
        SettingError
            When the kernel counts changes, and the scheme would keep statistics that no document has.
        """
        schemes, changes = dict(self.schemes), self.load_kernel().changes
        for name in set(arrays) & set(schemes):
            if "forgets_start" in settings(schemes[name]):
                forgets = self._begins_with_nothing(name)
                schemes[name] = replace(schemes[name], forgets_start=forgets)  # type: ignore[type-var]
            if name in changes and not getattr(schemes[name], "forgets_start", False):
                raise SettingError(
                    f"init: method {self.name!r} counts documents in {name!r}, and its scheme "
                    f"{type(schemes[name]).__name__} would keep the start as if documents had it; give a scheme that "
                    "has the setting forgets_start, such as Add"
                )
        return replace(self, schemes=schemes)

    @property
    def begun(self) -> bool:
        """Whether documents are counted alone, after a start that is forgotten: see `begun_with`."""
        changes = self.load_kernel().changes
        return any(
            getattr(scheme, "forgets_start", False) and name in changes and self._begins_with_nothing(name)
            for name, scheme in self.schemes.items()
        )

    def _begins_with_nothing(self, name: str) -> bool:
        start = self.init.get(name, self.model.arrays[name].start)
        return start is None or start[1] == 0


def _loaded(kernel: str | Kernel) -> Kernel:
    if isinstance(kernel, Kernel):
        return kernel
    from bigtopic import kernels

    return kernels.load(kernel)


@dataclass(frozen=True)
class UntilRest:
    """Until the documents of the round are at rest.

    For kernels whose info tells how far they `moved` in an inner iteration, of how many `tokens`, such as `svb`.
    Documents rather than topics: the change of p(word | topic), averaged over a large vocabulary, is below any
    tolerance from the start.

    Parameters
    ----------
    most : inner iterations at most
    tol : tokens that may still move from topic to topic, as a share of all

    Raises
    ------
    SettingError
        When a parameter is outside its range.
    """

    most: int = 100
    tol: float = 1e-3

    def __post_init__(self) -> None:
        if isinstance(self.most, bool) or not isinstance(self.most, int) or self.most < 1:
            raise SettingError(f"most={self.most!r}: must be a whole number of inner iterations, at least 1")
        if not 0 <= self.tol < 1:
            raise SettingError(f"tol={self.tol!r}: must be a share of the tokens, at least 0 and below 1")

    def __call__(self, iteration: int, info: Mapping[str, float]) -> bool:
        """Whether to go on after this inner iteration (from 1)."""
        return iteration < self.most and info["moved"] > self.tol * info["tokens"]
