"""The dual topic model: topics of rows and of columns, and their joint distribution."""

from __future__ import annotations

from functools import partial

from bigtopic.methods.method import Method
from bigtopic.models.dual import COLUMN_TOPICS, DUAL, JOINT, ROW_TOPICS
from bigtopic.schemes.add import Add
from bigtopic.schemes.interpolate import Interpolate
from bigtopic.schemes.replace import ReplaceRows

__all__ = ["METHODS"]

_PRIORS = {"row_topic_prior": 0.5, "column_topic_prior": 0.5, "joint_prior": 0.5}
_COUNTED = dict.fromkeys((ROW_TOPICS, COLUMN_TOPICS, JOINT), Add())

_kept = partial(
    Method,
    model=DUAL,
    batch_size=20_000,
    slice_size=10_000,
    max_iter=100,
    priors=_PRIORS,
    inference="dual_cvb0",
    paper="Rugeles et al., infinite latent state replication",
)

METHODS = (
    _kept(
        "dual-cgs",
        "dual_cgs",
        _COUNTED,
        max_iter=200,
        summary="collapsed Gibbs sampling: a pair of topics for each record",
        complexity="row topics x column topics per record and pass; 4 bytes per record on disk, twice",
        use="rows and columns of counts that are mostly 1",
        aliases=("ilr:DTM-CGS",),
    ),
    _kept(
        "dual-ilr",
        "dual_ilr",
        _COUNTED,
        summary="infinite latent state replication: responsibilities instead of labels",
        complexity="row topics x column topics per entry and pass; as many numbers on disk, twice",
        use="to compare with the paper",
        aliases=("ilr:DTM-ILR",),
    ),
    _kept(
        "dual-mf",
        "dual_mf",
        {**_COUNTED, JOINT: Interpolate(learning_decay=None, learning_scale=0.5, scale="tokens")},
        summary="dual-ilr with the joint distribution in mean field",
        complexity="row topics x column topics per entry and pass; row + column topics on disk, twice",
        use="first choice for rows and columns that fit on the disk",
        aliases=("ilr:DTM-MF",),
    ),
    Method(
        "dual-online",
        "dual_cvb0",
        {
            ROW_TOPICS: ReplaceRows(),
            COLUMN_TOPICS: Interpolate(learning_decay=0.7, learning_offset=1.0, scale="tokens"),
            JOINT: Interpolate(learning_decay=0.7, learning_offset=1.0, scale="tokens"),
        },
        DUAL,
        batch_size=500,
        least_rounds=20,
        max_iter=20,
        priors=_PRIORS,
        init={COLUMN_TOPICS: ("uniform", 1.0), JOINT: ("diagonal", 1.0)},
        summary="collapsed variational inference with column topics and joint fixed per minibatch",
        complexity="row topics x I per entry, row topics x column topics per distinct column; nothing kept of a row",
        use="more rows than the disk has room for",
        paper="documents of Asuncion et al. 2009, update of Foulds et al. 2013, model of Rugeles et al.",
    ),
)
