"""Another kernel, or other options, for the topics of documents under a fitted model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bigtopic import kernels
from bigtopic.errors import OR_NONE, SettingError, argument, did_you_mean
from bigtopic.state.contract.declarations import check_options
from bigtopic.state.model import TopicModel
from bigtopic.types import Kernel

__all__ = ["inferring"]


def inferring(
    model: TopicModel, inference: str | Kernel | None = None, options: Mapping[str, Any] | None = None
) -> TopicModel:
    """The model, with a kernel and options for the topics of documents.

    Parameters
    ----------
    inference : name of a kernel, or a `Kernel`; None for the method's. Another than the method's has its own defaults
    options : of the kernel, {name: value}; the others stay as they are

    Raises
    ------
    SettingError
        When there is no such kernel, it cannot infer under this model, or an option is unknown or of the wrong kind.
    """
    if inference is None and not options:
        return model
    if not isinstance(inference, str | Kernel | None) or not isinstance(options, Mapping | None):
        raise SettingError(
            f"{argument('inference', inference)}, {argument('options', options)}: give the name of a kernel and "
            f"{{name: value}}{OR_NONE}"
        )
    own = model.method.load_inference()
    kernel = own if inference is None else _kernel(inference, model)
    why = "" if kernel.name == own.name else _misfit(kernel, model)
    if why:
        raise SettingError(
            f"{argument('inference', kernel.name)}: {why}; choose one of: {', '.join(_fit(model))}"
        )
    known = [name for name in kernel.options if name not in kernel.of_statistics]
    for name in options or {}:
        if name not in known:
            raise SettingError(
                f"option {name!r}: kernel {kernel.name!r}, which infers topics of documents, has none of that name; "
                f"its options are: {', '.join(known) or 'none'}{did_you_mean(name, known)}"
            )
    method = replace(model.method, inference=kernel)
    before = {**kernel.options, **(model.options if kernel.name == own.name else {})}
    chosen = {**model.options, **before, **(options or {})}
    check_options(method, chosen)
    return replace(model, method=method, options=chosen)


def _kernel(inference: str | Kernel, model: TopicModel) -> Kernel:
    if isinstance(inference, Kernel):
        return inference
    if inference not in kernels.names():
        fit = _fit(model)
        raise SettingError(
            f"{argument('inference', inference)}: there is no such kernel; choose one of: {', '.join(fit)}"
            f"{did_you_mean(inference, fit)}"
        )
    return kernels.load(inference)


def _fit(model: TopicModel) -> list[str]:
    """The kernels that can infer topics of documents under this model."""
    return [name for name in kernels.names() if not _misfit(kernels.load(name), model)]


def _misfit(kernel: Kernel, model: TopicModel) -> str:
    """Why a kernel cannot infer the topics of new documents under this model; "" if it can."""
    arrays = model.method.model.arrays
    if missing := [name for name in kernel.views if name not in arrays]:
        return f"it reads {' and '.join(missing)}, which model {model.method.model.name!r} does not have"
    if kernel.state == "run" or kernel.interacts:
        return "it infers documents together with others"
    if kernel.state == "round":
        return "it infers documents in the inner iterations of learning"
    if "author" in kernel.statistics.values():
        return "it infers authors, and no topics of documents"
    points = [
        name for name, form in kernel.views.items() if form != "mean" and not model.params[name].prior.any()
    ]
    if points:
        return f"it reads a distribution of {' and '.join(points)}, of which this model has an estimate without a prior"
    return ""
