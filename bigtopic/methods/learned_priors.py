"""Methods that learn their priors as well."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

from bigtopic.errors import SettingError
from bigtopic.methods.method import Method
from bigtopic.methods.table import TABLE
from bigtopic.models.author_topic import AUTHOR_TOPICS
from bigtopic.models.base import DOC_TOPIC_PRIOR
from bigtopic.models.lda import TOPIC_WORDS
from bigtopic.schemes.own_prior import OwnPrior, OwnRowPrior

__all__ = ["learning"]


def learning(
    method: Method,
    doc_topic_prior: str | None = None,
    topic_word_prior: str | None = None,
    author_topic_prior: str | None = None,
) -> Method:
    """This method with schemes that learn its priors, at the step size of its topics.

    Parameters
    ----------
    doc_topic_prior, topic_word_prior, author_topic_prior : "symmetric" for one number, "asymmetric" for one per topic
        or word; None to leave that prior as it is

    Raises
    ------
    SettingError
        When the shape is unknown, or the method's kernel has nothing to learn the prior from; names methods that have.
    """
    if doc_topic_prior is not None:
        _check(method, "doc_topic_prior", DOC_TOPIC_PRIOR, _statistics)
        scheme = method.prior_learner(shape=doc_topic_prior, **_schedule(method, method.prior_learner))
        method = replace(method, schemes={**method.schemes, DOC_TOPIC_PRIOR: scheme})
    if topic_word_prior is not None:
        _check(method, "topic_word_prior", TOPIC_WORDS, _posteriors)
        own = OwnPrior(shape=topic_word_prior, **_schedule(method, OwnPrior))
        method = replace(method, prior_schemes={**method.prior_schemes, TOPIC_WORDS: own})
    if author_topic_prior is not None:
        _check(method, "author_topic_prior", AUTHOR_TOPICS, _posteriors)
        rows = OwnRowPrior(shape=author_topic_prior, same=DOC_TOPIC_PRIOR, **_schedule(method, OwnRowPrior))
        method = replace(method, prior_schemes={**method.prior_schemes, AUTHOR_TOPICS: rows})
    return method


def _statistics(method: Method) -> Collection[str]:
    kernel = method.load_kernel()
    return {**kernel.statistics, **kernel.offers}


def _posteriors(method: Method) -> Collection[str]:
    return method.load_kernel().posteriors


def _schedule(method: Method, learner: Any) -> dict[str, Any]:
    """The step size of the topics, if they and the learner have one."""
    scheme = method.schemes.get(TOPIC_WORDS)
    names = ("learning_decay", "learning_offset", "learning_scale", "hold")
    return {name: getattr(scheme, name) for name in names if hasattr(scheme, name) and hasattr(learner, name)}


def _check(method: Method, prior: str, array: str, known: Callable[[Method], Collection[str]]) -> None:
    if array in known(method):
        return
    from bigtopic import kernels

    def can(other: Method) -> bool:
        return array in known(other) and _counts_authors(other) == _counts_authors(method)

    methods = [other.name for other in TABLE if can(other)]
    fit = [name for name in kernels.names() if can(replace(method, kernel=name))]
    kernel = method.load_kernel().name
    raise SettingError(
        f"learn_{prior}: method {method.name!r} cannot learn it, because its kernel {kernel!r} has neither posteriors "
        f"nor labels to learn it from; choose one of the methods {', '.join(methods)}, or a Method with one of the "
        f"kernels {', '.join(fit)}"
    )


def _counts_authors(method: Method) -> bool:
    return AUTHOR_TOPICS in method.load_kernel().statistics
