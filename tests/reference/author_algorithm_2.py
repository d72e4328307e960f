"""Algorithm 2 of Mortensen's thesis as printed: one document after the other, and one step size for all.

For each document t, rho = (tau + t)^-kappa and until the temporary gamma of its authors rests, or M times:

    phi   <- q(author, topic) of each word, from the temporary gamma and lambda
    gamma <- (1 - rho) gamma_before + rho (alpha + |D_a| sum_v n_v phi_va)           (temporary)

Then, with the last phi, which is the one from before the last step of gamma:

    lambda <- (1 - rho) lambda + rho (eta + D sum_a n_v phi_va)
"""

import numpy as np
from scipy.special import psi

__all__ = ["learn"]


def learn(documents, words, authors, priors, n_docs_of, decay, offset, most_steps, tolerance, passes=1):
    """lambda (n_words, n_components) and gamma (n_authors, n_components); `priors` are eta and alpha."""
    words, authors, t = words.copy(), authors.copy(), 0
    for _ in range(passes):
        for ids, counts, own in documents:
            t += 1
            rate, gamma = (offset + t) ** -decay, authors[own]
            for _ in range(most_steps):
                phi, before = responsibilities(ids, words, gamma), gamma
                found = priors[1] + n_docs_of[own][:, None] * np.einsum("v,vak->ak", counts, phi)
                gamma = (1 - rate) * authors[own] + rate * found
                if np.mean(np.abs(gamma - before)) < tolerance:
                    break
            target = np.full_like(words, priors[0])
            target[ids] += len(documents) * counts[:, None] * phi.sum(axis=1)
            words = (1 - rate) * words + rate * target
            authors[own] = gamma
    return words, authors


def responsibilities(ids, words, gamma):
    """(n_words, n_authors, n_components), which sum to 1 for each word."""
    logs = (psi(words) - psi(words.sum(axis=0)))[ids][:, None, :]
    logs = logs + (psi(gamma) - psi(gamma.sum(axis=1, keepdims=True)))[None]
    phi = np.exp(logs)
    return phi / phi.sum(axis=(1, 2), keepdims=True)
