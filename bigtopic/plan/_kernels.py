"""Compiled loops over word ids: which are distinct, how often each occurs, and how many tokens there are."""

from numba import njit

__all__ = ["compact", "count_ids", "n_tokens"]


@njit(cache=True, error_model="numpy", fastmath=False)
def _rename(begin, end, words, counts, id_map, lookup, n_ids, kept, out_words, out_counts, out_ids):
    """Rename entries begin:end; returns how many ids, and entries, there are now."""
    mapped = len(id_map) > 0
    for j in range(begin, end):
        word = words[j]
        target = id_map[word] if mapped else word
        if target < 0:
            continue
        local = lookup[word]
        if local < 0:
            local = n_ids
            lookup[word] = local
            out_ids[local] = target
            n_ids += 1
        out_words[kept] = local
        out_counts[kept] = counts[j]
        kept += 1
    return n_ids, kept


@njit(cache=True, error_model="numpy", fastmath=False)
def _forget(words, id_map, lookup, ids):
    """Reset the lookup of these words, or, where words are ids, of the distinct `ids`, to -1."""
    if len(id_map) > 0:
        for j in range(len(words)):
            lookup[words[j]] = -1
    else:  # each id once
        for i in range(len(ids)):
            lookup[ids[i]] = -1


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def compact(indptr, words, counts, id_map, lookup, out_indptr, out_words, out_counts, out_ids):
    """Rename ids to 0 .. n-1 in order of first appearance; ids that `id_map` sends to -1 are dropped.

    `id_map` of length 0 is the identity, else it is one-to-one. `lookup` covers `words`, not what they are mapped to,
    and holds -1 everywhere, before and after. Returns (number of distinct ids, number of entries kept).
    """
    n_ids, kept = 0, 0
    out_indptr[0] = 0
    for d in range(len(indptr) - 1):
        n_ids, kept = _rename(
            indptr[d], indptr[d + 1], words, counts, id_map, lookup, n_ids, kept, out_words, out_counts, out_ids
        )  # fmt: skip
        out_indptr[d + 1] = kept
    _forget(words[indptr[0] : indptr[-1]], id_map, lookup, out_ids[:n_ids])
    return n_ids, kept


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def n_tokens(counts):
    """The sum of the counts, in order."""
    total = 0.0
    for i in range(len(counts)):
        total += counts[i]
    return total


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def count_ids(ids, weights, lookup, distinct, times, sums):
    """Distinct ids in order of first appearance, how often each occurs, and the sum of its weights; how many there are.

    `lookup` covers the ids and holds -1 everywhere, before and after.
    """
    n = 0
    for i in range(len(ids)):
        local = lookup[ids[i]]
        if local < 0:
            local = n
            lookup[ids[i]] = n
            distinct[n], times[n], sums[n] = ids[i], 0, 0.0
            n += 1
        times[local] += 1
        sums[local] += weights[i]
    for i in range(n):
        lookup[distinct[i]] = -1
    return n
