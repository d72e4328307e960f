"""Streaming ILR: iterative CVB0 of one minibatch, given the decayed counts of earlier ones: `sgs` without chance.

The weights G of the params are the past, with the prior; n are expected counts of this minibatch alone, from the
responsibilities r of each distinct word of a document:

    a_k = (alpha_k + n_dk - r_k) (G_kv + n_kv - r_k) / (G_k + n_k - r_k) ;  a <- a / sum(a)

Documents begin as in the kernel `ilr`, in the first update given the topics that it began with, if any;
they are swept until a sweep moves less than `mean_change_tol` of a token: the mean over tokens of sum_k |a_k - r_k|.
Statistics: n; the responsibilities are forgotten. With the scheme `DecayAdd`, G is the decayed sum of the past. One
minibatch of a whole corpus and a decay of 1 are the kernel `ilr`.

A call is a whole minibatch, as for `sgs`.

How it is computed: the sweeps of a call share one table n and one of responsibilities, and change them in place. Both G
and n are float64, whatever the view is: taken out of counts that hundreds of sweeps have added up, the share of a token
must leave a word's past, which can be a millionth of it.

Cost: a sweep of `ilr` for each sweep. Space: entries x topics numbers.

Reference: Asuncion, Welling, Smyth, Teh (2009), "On smoothing and inference for topic models", equation 7, in the
minibatches of Gao, Chen, Zhu (2016), "Streaming Gibbs sampling for LDA model".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bigtopic.kernels.collapsed import ilr
from bigtopic.kernels.support.entry import Call, State, counted, tolerance, whole_number
from bigtopic.kernels.support.expected_logs import expected_logs_of_shares
from bigtopic.support import buffers
from bigtopic.types import CallSize, Docs, Hyper, Kernel, KernelResult, Scratch, View

__all__ = ["KERNEL", "run"]


def run(docs: Docs, view: View, hyper: Hyper, seed: int, state: State = None) -> KernelResult:
    """Infer the responsibilities of these documents; see the module.

    Parameters
    ----------
    docs : the documents; authors are ignored, counts may be weights
    view : "topic_words" as "counts", (n_words, n_columns), prior included, with their totals
    hyper : for its options see `KERNEL`
    seed : with a document's source row, the key of its start and of labels
    state : unused

    Returns
    -------
    KernelResult
        stats["topic_words"] (n_words, n_columns), expected counts, and stats["doc_topic_prior"] (1, n_columns), the sum
        of E[log theta] given labels drawn from the responsibilities, if wanted; doc_topics (n_docs, n_components) if
        wanted; info: "iterations" (sweeps, all documents), "moved_tokens" (by the last sweep, as for `ilr`).

    Raises
    ------
    SettingError
        When an option has a value that is not allowed; or the statistics of the prior are wanted, and a count is not a
        whole number.
    """
    max_sweeps, call = whole_number(hyper.options, "max_sweeps", 0), Call(docs, view, hyper, np.float64)
    limit = tolerance(hyper.options) * float(docs.counts.sum(dtype=np.float64))
    totals = view.totals["topic_words"].astype(np.float64)
    shares = buffers.empty((len(docs.words), hyper.n_components), np.float32)
    at_random = not (hyper.step == 1 and counted(view, hyper, "topic_words"))
    for sweep in range(1 + max_sweeps):
        moved = ilr.sweep(call, seed, shares if sweep else None, shares, totals, at_random and not sweep)
        if moved < limit:
            break
    if call.learns:
        call.stats["doc_topic_prior"] = expected_logs_of_shares(
            docs, shares, hyper.doc_topic_prior, call.n_columns, seed
        )
    return call.result({"iterations": docs.n_docs * (1 + sweep), "moved_tokens": moved})


def _cost(options: Mapping[str, Any]) -> float:
    return 1.0 + whole_number(options, "max_sweeps", 0)


def _scratch(size: CallSize, options: Mapping[str, Any]) -> Scratch:
    """What a sweep takes, the shares, and the past in double precision."""
    sweep, shares = ilr.KERNEL.scratch(size, {}), size.n_entries * size.n_components * 4
    return Scratch([*sweep.pooled, shares, size.rows["topic_words"] * size.columns["topic_words"] * 8])


KERNEL = Kernel(
    name="streaming_ilr",
    run=run,
    views={"topic_words": "counts"},
    statistics={"topic_words": "word"},
    offers={"doc_topic_prior": "none"},
    options={"max_sweeps": 100, "mean_change_tol": 1e-4},
    meanings={
        "max_sweeps": "sweeps of the minibatch after the first at most, from 0",
        "mean_change_tol": "sweeps end with one that moves less than this share of the tokens; 0 makes all",
    },
    cost=_cost,
    scratch=_scratch,
    interacts=True,
    whole_minibatches=True,
    dtype="float64",
    paper="Asuncion et al. 2009; Gao, Chen, Zhu 2016",
)
