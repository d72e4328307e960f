"""Loading estimators: the one place that knows every kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bigtopic.corpus.text_settings import TextSettings
from bigtopic.errors import ModelError, SettingError
from bigtopic.estimators.lda import LDA
from bigtopic.estimators.starts import check_settings
from bigtopic.methods import Method
from bigtopic.runtime import model_store
from bigtopic.runtime.checkpoint import newest_version

__all__ = ["load_model"]

KINDS = {"LDA": LDA}


def load_model(
    url: Any,
    method: Method | None = None,
    token_pattern: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Any:
    """The estimator stored at a path or URL; of a run with checkpoints, as it was saved last.

    Parameters
    ----------
    method : the `Method` it was learnt with, if that was one of your own
    token_pattern : the pattern its texts were split with, if that was one of your own and more texts will be: a stored
        pattern is not used unasked
    storage_options : for fsspec

    Raises
    ------
    ModelError
        When there is none, it is damaged, or its format is newer than this version reads.
    SettingError
        When its texts were split with another pattern.
    """
    url = newest_version(url) or url
    model, extra = model_store.load(url, method, storage_options)
    if token_pattern is not None:
        _give_pattern(token_pattern, model.text or {}, url)
    name = extra.get("estimator", "LDA")
    if name not in KINDS:
        raise ModelError(
            f"the model at {url} is of kind {name!r}, which this version of bigtopic does not know"
        )
    known = KINDS[name]().get_params()
    estimator = KINDS[name](**{k: v for k, v in extra.get("params", {}).items() if k in known})
    _check(estimator, url)
    estimator.method = method or estimator.method
    estimator._model = model
    estimator.n_docs_seen_ = extra.get("n_docs_seen", 0)
    estimator.n_iter_ = extra.get("n_iter", 0)
    return estimator


def _check(estimator: Any, url: Any) -> None:
    """Refuse parameters that no estimator could have been saved with."""
    try:
        if not isinstance(estimator.method, str | None):
            raise SettingError(f"method={estimator.method!r}: must be a name")
        # Held-out documents are not kept, so what needs them is checked as if they were there.
        check_settings(type(estimator)(**{**estimator.get_params(), "validation": True}))
    except SettingError as error:
        raise ModelError(f"the model at {url} is damaged: {error}") from error


def _give_pattern(pattern: str, text: Mapping[str, Any], url: Any) -> None:
    stored = text.get("token_pattern")
    if stored != TextSettings(token_pattern=pattern).token_pattern:
        raise SettingError(
            f"token_pattern={pattern!r}: the texts of the model at {url} were split with {stored!r}"
        )
