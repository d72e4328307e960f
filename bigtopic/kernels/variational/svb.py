"""Variational Bayes of a minibatch that is repeated until it is at rest: streaming variational Bayes (SVB).

The kernel `vb`, where each document begins with the gamma that the previous inner iteration of the round left it. With
the scheme `AddToPrior` and several inner iterations, a round is batch variational Bayes of the minibatch with the
weights before it as the prior; since both documents and topics go on from where they are, no inner iteration decreases
the bound.

`moved` tells how far it is from rest: sum_dk |gamma_dk - that of the previous inner iteration|, in tokens; all of them
in the first inner iteration. `UntilRest` of `bigtopic.methods.method` is a rule for it.

Cost: that of `vb`, less in later inner iterations.

Reference: Broderick, Boyd, Wibisono, Wilson, Jordan (2013), "Streaming variational Bayes".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from bigtopic.kernels.variational import vb
from bigtopic.types import Docs, Hyper, KernelResult, StateSpec, View

__all__ = ["KERNEL", "run"]


def run(
    docs: Docs, view: View, hyper: Hyper, seed: int, state: Mapping[str, np.ndarray] | None = None
) -> KernelResult:
    """Infer the topics of these documents; see the module.

    Parameters
    ----------
    docs, view, hyper, seed : as in the kernel `vb`
    state : "gamma" (n_docs, n_components), where the previous inner iteration ended; None for the first inner iteration

    Returns
    -------
    KernelResult
        As of the kernel `vb`, with the state; info has also "moved" and "tokens", in tokens.

    Raises
    ------
    SettingError
        As the kernel `vb` does.
    """
    start = None if state is None else state["gamma"]
    gammas, result = vb.posterior(docs, view, hyper, start)
    n_tokens = float(docs.counts.sum(dtype=np.float64))
    moved = n_tokens if start is None else float(np.abs(gammas - start).sum(dtype=np.float64))
    return result._replace(
        doc_topics=gammas / gammas.sum(axis=1, keepdims=True) if hyper.doc_topics else None,
        state={"gamma": gammas.astype(np.float32)},
        info={**result.info, "moved": moved, "tokens": n_tokens},
    )


KERNEL = replace(
    vb.KERNEL,
    name="svb",
    run=run,
    state="round",
    remembers={"gamma": StateSpec("document", "float32", ("n_components",))},
    paper="Broderick et al. 2013",
)
