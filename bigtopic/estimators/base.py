"""scikit-learn's estimator contract, without scikit-learn: parameters by name, and arrays or frames out."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from bigtopic.corpus.store import Corpus
from bigtopic.errors import SettingError, require
from bigtopic.methods import Method
from bigtopic.support import aliases

__all__ = ["Estimator", "check_kind", "chosen", "in_frame"]


KINDS = ("default", "pandas", "polars")


def check_kind(kind: Any) -> None:
    """Refuse what `set_output` does not know.

    Raises
    ------
    SettingError
    """
    if kind not in KINDS:
        raise SettingError(f"transform={kind!r}: must be one of {', '.join(map(repr, KINDS))} (or None)")


def chosen(config: Mapping[str, str]) -> str:
    """One of `KINDS`: what the estimator was set to, else what scikit-learn, if it is imported, is set to."""
    sklearn = sys.modules.get("sklearn")
    if "transform" in config or sklearn is None:
        return config.get("transform", "default")
    return str(sklearn.get_config()["transform_output"])


def in_frame(kind: str, topics: np.ndarray, names: np.ndarray, X: Any, corpus: Corpus, order: str) -> Any:
    """Topics (n_docs, n_components) as a DataFrame with a column for each name.

    The index of pandas is that of X if it has a row for each document, or the documents' ids.

    Raises
    ------
    MissingExtra
        When the package is not installed.
    """
    frame = require(kind, kind).DataFrame
    if kind == "polars":
        return frame(topics, schema=names.tolist())
    if hasattr(X, "iloc") and len(X) == corpus.n_docs:
        index = X.index
    else:
        index = corpus.document_ids(order=order) if corpus.has_ids else None
    return frame(topics, index=index, columns=names)


class Estimator:
    """Parameters by name: a constructor that only stores, `get_params`, `set_params`, a readable `repr`."""

    _sklearn_output_config: Mapping[str, str] = {}  # a name that scikit-learn's `clone` copies

    def __new__(cls, *args: Any, **settings: Any) -> Self:
        aliases.check_constructor(cls, args, settings)
        return super().__new__(cls)

    if not TYPE_CHECKING:  # for type checkers, there is nothing but what is declared

        def __getattr__(self, name: str) -> Any:
            return aliases.missing(self, name, aliases.ATTRIBUTES)

    @classmethod
    def _names(cls) -> list[str]:
        return [name for name in inspect.signature(cls).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's arguments by name."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **params: Any) -> Any:
        """Change arguments of the constructor.

        Raises
        ------
        SettingError
            For a name the constructor does not have.
        """
        known = self._names()
        for name, value in params.items():
            if name not in known:
                answer = aliases.of_argument(name, known) or f"; it has: {', '.join(sorted(known))}"
                raise SettingError(f"{type(self).__name__} has no parameter {name!r}{answer}")
            setattr(self, name, value)
        return self

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose what `transform` and `fit_transform` return, as in scikit-learn.

        Parameters
        ----------
        transform : "default", an array; "pandas" or "polars", a DataFrame with the columns of
            `get_feature_names_out` and, for pandas, the index of X or the documents' ids; None changes nothing

        Raises
        ------
        SettingError
            When it is none of these.
        """
        if transform is not None:
            check_kind(transform)
            self._sklearn_output_config = {"transform": transform}
        return self

    def __repr__(self) -> str:
        signature = inspect.signature(type(self)).parameters
        shown = [
            f"{name}={_shown(value)}"
            for name, value in self.get_params().items()
            if not _same(value, signature[name].default)
        ]
        return f"{type(self).__name__}({', '.join(shown)})"

    def __sklearn_tags__(self) -> Any:
        """Asked for by scikit-learn only, which is then there."""
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            transformer_tags=TransformerTags(preserves_dtype=["float32"]),
            input_tags=InputTags(sparse=True, positive_only=True),
        )


def _shown(value: Any) -> str:
    """A method by its name: its kernel, schemes and settings fill a screen."""
    return f"Method({value.name!r}, ...)" if isinstance(value, Method) else repr(value)


def _same(value: Any, default: Any) -> bool:
    return value is default or (isinstance(value, int | float | str | tuple) and value == default)
