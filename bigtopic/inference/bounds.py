"""The document terms of a model's variational bound, with the inference of each document at rest.

Blocks of documents in, arrays out: pure, for threads and workers alike. What a kernel declares as its `bound`, a
`bigtopic.types.Bound`, computes them; `state.bound` has the terms of the global arrays.
"""

from __future__ import annotations

from bigtopic.errors import SettingError
from bigtopic.inference.authors import MappedModel, Values, check_signed, known_tokens
from bigtopic.learning.estep import with_params
from bigtopic.methods.table import TABLE
from bigtopic.state.model import TopicModel
from bigtopic.state.views import take_view
from bigtopic.types import Block, Bound

__all__ = ["bound_of", "document_bounds"]


def bound_of(model: TopicModel) -> Bound:
    """How the bound of a model is computed.

    Raises
    ------
    SettingError
        When its method has none.
    """
    kernel = model.method.load_kernel()
    bound = kernel.bound
    if bound is True:
        raise SettingError(
            f"kernel {kernel.name!r} has bound=True, which is for learning alone; give it a bigtopic.types.Bound"
        )
    if not isinstance(bound, Bound):
        having = [method.name for method in TABLE if isinstance(method.load_kernel().bound, Bound)]
        raise SettingError(
            f"method {model.method.name!r} has no variational bound; ask for 'log-predictive' or "
            f"'left-to-right', which every method has, or learn by one that has a bound: {', '.join(having)}"
        )
    return bound


def document_bounds(mapped: MappedModel, block: Block) -> Values:
    """The terms of each document, in nats, and its tokens that the model knows.

    Raises
    ------
    InputError
        When the model has authors, and knows words of a document and none of its authors.
    """
    bound, arrays = bound_of(mapped.model), mapped.model.params.arrays
    docs, axes = mapped.docs(block)
    if "author" in mapped.model.axes:
        check_signed(docs)
    hyper = with_params(mapped.model.hyper()._replace(options=bound.options, statistics=()), arrays)
    values = bound.documents(docs, take_view(arrays, bound.views, axes), hyper)
    return Values(docs.rows, values, known_tokens(docs))
