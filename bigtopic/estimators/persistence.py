"""Loading estimators of every kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bigtopic.corpus.text.text_settings import TextSettings
from bigtopic.errors import ModelError, SettingError, argument
from bigtopic.estimators.author_topic import AuthorTopicModel
from bigtopic.estimators.dual_topic import DualTopicModel
from bigtopic.estimators.lda import LDA
from bigtopic.estimators.support.preparation import check_settings
from bigtopic.methods import Method, get
from bigtopic.state.checkpoints.versions import load_newest

__all__ = ["KINDS", "kind_for", "load_model"]

KINDS: Mapping[str, Any] = {
    "LDA": LDA,
    "AuthorTopicModel": AuthorTopicModel,
    "DualTopicModel": DualTopicModel,
}


def kind_for(method: Method) -> Any:
    """The estimator that fits the model of a method; of several, the most special one."""
    return next(kind for kind in reversed([*KINDS.values()]) if kind()._fits(method.model))


def load_model(
    url: Any,
    method: Method | None = None,
    token_pattern: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> LDA | AuthorTopicModel | DualTopicModel:
    """Load the estimator stored at a path or URL; from a run with checkpoints, the newest that is intact.

    A checkpoint whose newest version is damaged gives the version before it, with a warning.

    Parameters
    ----------
    method : the `Method` used for training, if it is a custom one
    token_pattern : the custom pattern used to tokenise its texts; required to tokenise more, because stored patterns
        are not trusted
    storage_options : passed to fsspec

    Raises
    ------
    ModelError
        When there is no model, it is damaged, or its format is newer than this version reads.
    SettingError
        When its texts were tokenised with another pattern.
    """
    model, extra, url = load_newest(url, method, storage_options)
    if token_pattern is not None:
        stored = (model.text or {}).get("token_pattern")
        if stored != TextSettings(token_pattern=token_pattern).token_pattern:
            raise SettingError(
                f"{argument('token_pattern', token_pattern)}: the texts of the model at {url} were tokenised with "
                f"{stored!r}"
            )
    name = extra.get("estimator", "LDA")
    if name not in KINDS:
        raise ModelError(
            f"the model at {url} is of kind {name!r}, which this version of bigtopic does not know"
        )
    known = KINDS[name]().get_params()
    estimator = KINDS[name](**{k: v for k, v in extra.get("params", {}).items() if k in known})
    _check(estimator, url)
    labels = extra.get("labels")
    if labels is not None and len(labels) != model.n_components:
        raise ModelError(
            f"the model at {url} is damaged: it has {len(labels)} labels of {model.n_components} topics"
        )
    # An earlier version, which learned the model, had another default.
    was_default = estimator.method is None and get(None).name != model.method.name
    estimator.method = method or (model.method.name if was_default else estimator.method)
    estimator._model, estimator._labels = model, labels
    estimator.n_docs_seen_, estimator.n_iter_ = extra.get("n_docs_seen", 0), extra.get("n_iter", 0)
    estimator.run_, estimator._pair_words = extra.get("run"), extra.get("pair_words")
    return estimator


def _check(estimator: Any, url: Any) -> None:
    """Refuse parameters that no saved estimator can have."""
    try:
        if not isinstance(estimator.method, str | None):
            raise SettingError(f"{argument('method', estimator.method)}: must be a name")
        # Held-out documents are not saved, so settings that need them are checked as if they were there. Models of
        # earlier versions may have the updates of replicas without replicas.
        params = {**estimator.get_params(), "validation": True}
        if params.get("replicas", 1) is None:
            params["replicas"] = 1
        check_settings(type(estimator)(**params))
    except SettingError as error:
        raise ModelError(f"the model at {url} is damaged: {error}") from error
