"""Single-pass LDA (SPLDA), from the equations: V-OEM++ with Dirichlet topics, one document per update.

For document t = 1, 2, ... of D, with S the statistics of the corpus, counts c, and r drawn from Dirichlet(1, ..., 1)
for each of its words, `n_inner` times

    gamma_k  = alpha_k + sum_v c_v r_vk
    r_vk     = exp(psi(lambda_kv) - psi(sum_v lambda_kv)) exp(psi(gamma_k)) / sum
    lambda   = eta + (1 - rho_t) S + rho_t D c r            over all words

and then S is that of the last lambda, S <- lambda - eta. If alpha is learned, it is the mode of Gamma distributions to
which each iteration of a document adds to those of the documents before it,

    a_k = alpha_k (psi(alpha_k + n_k) - psi(alpha_k)),  b = psi(sum alpha + n) - psi(sum alpha),  n_k = sum_v c_v r_vk
    alpha_k <- (alpha_0k / 2 + A_k + a_k) / (1 / 2 + B + b)

References: Sato, Kurihara, Nakagawa (2010), "Deterministic single-pass algorithm for LDA"; Dupuy and Bach (2017),
"Online but accurate inference for latent variable models with local Gibbs sampling".
"""

import numpy as np
from scipy.special import psi

__all__ = ["learn"]


def learn(documents, start, alpha, eta, rates, n_inner, draw, learns=False):
    """S (n_words, n_components) and alpha (n_components,) after one pass.

    Parameters
    ----------
    documents : list of (words, counts), in the order of the updates
    start : S before the first one
    rates : rho_t of each document
    draw : (number of the document, n_words of it) -> responsibilities (n_words of it, n_components) to begin with
    """
    statistics, totals = start.astype(float), start.sum(axis=0, dtype=float)
    n_words, n_docs = len(start), len(documents)
    first, alpha, shapes, rate_sum = alpha, alpha.astype(float), np.zeros_like(alpha), 0.0
    for t, ((words, counts), rho) in enumerate(zip(documents, rates, strict=True)):
        own, all_others = statistics[words], totals
        n = counts @ (r := draw(t, len(words)))
        rows, sums, now = own, totals, alpha
        for _ in range(n_inner):
            logs = psi(eta + rows) - psi(n_words * eta + sums) + psi(now + n)
            r = np.exp(logs - logs.max(axis=1, keepdims=True))
            r *= counts[:, None] / r.sum(axis=1, keepdims=True)
            rows = (1 - rho) * own + rho * n_docs * r
            sums = (1 - rho) * all_others + rho * n_docs * r.sum(axis=0)
            n = r.sum(axis=0)
            if learns:
                a = now * (psi(now + n) - psi(now))
                b = psi((now + n).sum()) - psi(now.sum())
                now = (first / 2 + shapes + a) / (0.5 + rate_sum + b)
        if learns:
            shapes, rate_sum, alpha = shapes + a, rate_sum + b, now
        statistics *= 1 - rho
        statistics[words], totals = rows, sums
    return statistics, alpha
