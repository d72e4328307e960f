"""scikit-learn's estimator contract, without scikit-learn: parameters by name, and arrays or frames out."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from bigtopic.corpus.store import Corpus
from bigtopic.errors import SettingError, require
from bigtopic.methods import Method
from bigtopic.support import aliases

__all__ = ["Estimator"]

KINDS = ("default", "pandas", "polars")


class Estimator:
    """Parameters by name: a constructor that only stores, `get_params`, `set_params`, a readable `repr`."""

    _sklearn_output_config: Mapping[str, str] = {}  # a name that scikit-learn's `clone` copies

    def __new__(cls, *args: Any, **settings: Any) -> Self:
        aliases.check_constructor(cls, args, settings)
        return super().__new__(cls)

    if not TYPE_CHECKING:  # type checkers see only declared attributes

        def __getattr__(self, name: str) -> Any:
            return aliases.missing(self, name, aliases.ATTRIBUTES)

    def _keep(self, arguments: Mapping[str, Any]) -> None:
        """Store the arguments of the constructor under their names; `arguments` are its locals."""
        vars(self).update((name, value) for name, value in arguments.items() if value is not self)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's arguments by name."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **params: Any) -> Any:
        """Change arguments of the constructor.

        Raises
        ------
        SettingError
            For a name the constructor does not have.
        """
        known = self.get_params()
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
            if transform not in KINDS:
                allowed = ", ".join(map(repr, KINDS))
                raise SettingError(f"transform={transform!r}: must be one of {allowed} (or None)")
            self._sklearn_output_config = {"transform": transform}
        return self

    def _output(
        self, topics: np.ndarray, names: Callable[[], np.ndarray], X: Any, corpus: Corpus, order: str
    ) -> Any:
        """Topics (n_docs, n_components) as `set_output` says, or else as scikit-learn does, if it is imported.

        A DataFrame has a column for each of the `names()`. The index of pandas is X's if it has a row for each
        document, or the documents' ids.

        Raises
        ------
        MissingExtra
            When the package is not installed.
        """
        kind = self._output_kind()
        if kind == "default":
            return topics
        frame = require(kind, kind).DataFrame
        if kind == "polars":
            return frame(topics, schema=names().tolist())
        if hasattr(X, "iloc") and len(X) == corpus.n_docs:
            index = X.index
        else:
            index = corpus.document_ids(order=order) if corpus.has_ids else None
        return frame(topics, index=index, columns=names())

    def _output_kind(self) -> str:
        sklearn = sys.modules.get("sklearn")
        usual = "default" if sklearn is None else sklearn.get_config()["transform_output"]
        return self._sklearn_output_config.get("transform", usual)

    def __repr__(self) -> str:
        shown = []
        for name, parameter in inspect.signature(type(self)).parameters.items():
            value, default = getattr(self, name), parameter.default
            if value is default or (isinstance(value, int | float | str | tuple) and value == default):
                continue
            # A method by its name: its kernel, schemes and settings fill a screen.
            named = f"Method({value.name!r}, ...)" if isinstance(value, Method) else repr(value)
            shown.append(f"{name}={named}")
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
