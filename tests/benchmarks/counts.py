"""What the algorithm of each kernel must do, which bounds how fast it can be."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["COUNTS", "Counts"]


class Counts(NamedTuple):
    """What an algorithm must do, its arithmetic in float32.

    A division counts as 4 multiply-adds (an estimate, improved once), an exponential or a logarithm as 10. A visit is
    of a document to the tables of its words: once, or in every iteration where documents interact.

    entry : multiply-adds per entry and iteration; of kernels that look at all pairs of a row topic and a column topic,
        pairs take the place of topics
    topic : multiply-adds per topic and iteration
    reads, writes : numbers that are only read, and that are read and written, per entry and iteration
    draws : random choices of a topic per token and iteration, each of a random number and a search in running sums;
        where there are some, entries are of tokens, not of distinct words
    waits : whether a choice needs the one before it, so that no others can be made meanwhile: documents that do not
        interact can take turns
    visit : multiply-adds per distinct word, topic and visit
    numbers : random numbers, likewise
    remembers : float32 numbers of document state that are read and written, likewise
    by_word : whether tokens are visited word by word, so that tables are passed over once for all documents
    """

    entry: int
    topic: int
    reads: int
    writes: int
    draws: int = 0
    waits: bool = False
    visit: int = 0
    numbers: int = 0
    remembers: float = 0
    by_word: bool = False


_VB = Counts(entry=2, topic=28, reads=1, writes=0)
_GIBBS = Counts(entry=1, topic=0, reads=1, writes=0, draws=1)
_CGS = _GIBBS._replace(waits=True)
_ILR = Counts(entry=16, topic=0, reads=0, writes=0, remembers=1)

COUNTS = {
    # less the old share, times the word; out with c old shares, in with c new ones. The word; the share
    "cvb0": Counts(entry=4, topic=0, reads=1, writes=1),
    # the mass with its prior, times the word, the sum; in with new shares. The word
    "scvb0": Counts(entry=4, topic=0, reads=1, writes=0),
    # the old share; three counts less it, and the prior; a product, a division, a product, the sum; the new share and
    # by how much it differs; three counts. The share that is kept
    "ilr": _ILR,
    # the same in each sweep
    "streaming_ilr": _ILR,
    # in addition: three divisions instead of one; the old variance, three variances less it, three squares and
    # products, the exponential; the new variance and by how much it differs; three variances
    "cvb": Counts(entry=50, topic=0, reads=0, writes=0, remembers=1),
    # the product and the sum; the step. The word, once for both
    "map_em": Counts(entry=2, topic=1, reads=1, writes=0),
    # the gradient. The word
    "frank_wolfe": Counts(entry=1, topic=0, reads=1, writes=0),
    # the same
    "ope": Counts(entry=1, topic=0, reads=1, writes=0),
    # the product and the running sum. The word
    "gibbs": _GIBBS,
    "gibbs_expected_log": _GIBBS,
    # in addition: the sum of conditionals, and the share; sums of the sweeps in float64. The word twice; what is held
    "gibbs_boosted": Counts(entry=3, topic=0, reads=2, writes=1, draws=1, visit=1, remembers=2),
    # the product and the running sum. The document's counts
    "cgs": _CGS._replace(by_word=True),
    # in addition: the likelihood
    "sgs": _CGS._replace(by_word=True, visit=1),
    # a product and a running sum to begin with, and again. The drawn word. A gamma number: 4 random ones, three
    # logarithms, a cosine, a root and the bounds; an exponential of it
    "cdf": Counts(entry=2, topic=0, reads=1, writes=0, draws=2, waits=True, visit=70, numbers=4),
    # the product and the sum; exp psi: 2 divisions and two polynomials. The word, once for both
    "vb": _VB,
    "vb_mean": _VB,
    "svb": _VB,
    "svb_progressive": _VB,
    "v_oem": _VB,
    "v_oem_expected_log": _VB,
    # the sum; the share of each topic, for its word and for the authors. The word; its counts
    "author_vb": Counts(entry=3, topic=0, reads=1, writes=1),
    # the product and the sum; exp psi of two authors. The word, once for both
    "author_vb_local": Counts(entry=2, topic=56, reads=1, writes=0),
    # two authors' products and running sums. The authors
    "author_cgs": _CGS._replace(entry=4),
    # as in ilr, of two authors
    "author_cvb0": _ILR._replace(entry=32, remembers=2),
    # as in cvb, of two authors
    "author_cvb": _ILR._replace(entry=100, remembers=2),
    # two authors' sums, an exponential and the share of each topic, two authors' sums of them. The word
    "author_mean_field": Counts(entry=16, topic=0, reads=1, writes=0),
    # the sum; the share of each topic. The word, once for both
    "author_documents": Counts(entry=2, topic=0, reads=1, writes=0),
    # as cvb0, of the row topics
    "dual_cvb0": Counts(entry=4, topic=0, reads=1, writes=1),
    # the product with the column's factor and the sum, of each pair. All pairs stay in cache
    "dual_cgs": Counts(entry=1, topic=0, reads=0, writes=0, draws=1, waits=True),
    # the old share of each pair and its two sums; the joint less it, two products, the sum; the new share and by how
    # much it differs; the joint and two sums. The shares that are kept
    "dual_ilr": Counts(entry=12, topic=0, reads=0, writes=0, remembers=1),
    # two products and the sum of each pair; the joint and two sums. The sums are kept, a fifth of the pairs
    "dual_mf": Counts(entry=6, topic=0, reads=0, writes=0, remembers=0.2),
}
