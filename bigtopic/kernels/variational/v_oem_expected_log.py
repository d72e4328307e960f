"""Variational inference with fixed iterations from a random start, against topics that are uncertain.

The kernel `v_oem` with weights W_vk = exp(E log p(word | topic)) under the topics' Dirichlet distributions. With one
document per update and boosting (`n_iter` 1, `inner` iterations of the method) it is single-pass LDA (SPLDA).

Reference: Sato, Kurihara, Nakagawa (2010), "Deterministic single-pass algorithm for LDA".
"""

from __future__ import annotations

from dataclasses import replace

from bigtopic.kernels.variational import v_oem

__all__ = ["KERNEL"]

KERNEL = replace(
    v_oem.KERNEL,
    name="v_oem_expected_log",
    views={"topic_words": "expected_log"},
    posteriors=("topic_words",),
    paper="Sato, Kurihara, Nakagawa 2010",
)
