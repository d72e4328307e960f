"""What the algorithm of each kernel must do, which bounds how fast it can be."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["COUNTS", "Counts", "Work"]


class Work(NamedTuple):
    """Operations, each in the precision in which they must be made.

    Products with one divisor after another cost less than divisions by each: a quotient by a product of divisors
    counts as one division and the products that part it.
    """

    multiply_adds: float = 0
    divisions: float = 0
    exponentials: float = 0
    logarithms: float = 0
    dtype: str = "float32"


class Counts(NamedTuple):
    """What an algorithm must do.

    Its arithmetic is in float32, or in float64 where the kernel's results are exact counts, or sums of changes that
    must not drift. A root counts as a division. A visit is of a document to the tables of its words: once, or in every
    iteration where documents interact.

    entry : per entry and iteration; of kernels that look at all pairs of a row topic and a column topic, pairs take the
        place of topics
    topic : per topic and iteration
    word : per distinct word and iteration; where there are draws, per token and iteration
    reads, writes : bytes that are only read, and that are read and written, per entry and iteration
    draws : random choices of a topic per token and iteration, each of a random number and a search in running sums;
        where there are some, entries are of tokens, not of distinct words
    waits : whether a choice needs the one before it, so that no others can be made meanwhile: documents that do not
        interact can take turns
    choices : what a choice is among, as a multiple of the topics
    visit : per distinct word, topic and visit
    numbers : random numbers, likewise
    remembers : bytes of document state that are read and written, likewise
    document : per document, topic and visit
    table, made : per word of the slice, topic and visit of all documents, and bytes of a table of as many numbers that
        is made of the view and visited like it
    by_word : whether tokens are visited word by word, so that tables are passed over once for all documents
    """

    entry: Work
    topic: Work = Work()
    word: Work = Work()
    reads: float = 0
    writes: float = 0
    draws: int = 0
    waits: bool = False
    choices: int = 1
    visit: Work = Work()
    numbers: int = 0
    remembers: float = 0
    document: Work = Work()
    table: Work = Work()
    made: float = 0
    by_word: bool = False


_EXP_PSI = Work(10, divisions=2, exponentials=1)
_VB = Counts(Work(2), topic=_EXP_PSI, reads=4)
_GIBBS = Counts(Work(1), reads=4, draws=1)
_CGS = _GIBBS._replace(waits=True)
_ILR = Counts(Work(12, divisions=1, dtype="float64"), remembers=4)

COUNTS = {
    # less the old share, times the word; out with c old shares, in with c new ones. The word; the share
    "cvb0": Counts(Work(4), reads=4, writes=4),
    # the mass with its prior, times the word, the sum; in with new shares. Two powers of each word. The word
    "scvb0": Counts(Work(4), word=Work(exponentials=2, logarithms=2), reads=4),
    # the old share; three counts less it, and the prior; a product, a division, the sum; the new share and by how much
    # it differs; three counts. The share that is kept
    "ilr": _ILR,
    # the same in each sweep
    "streaming_ilr": _ILR,
    # in addition: six products that part one quotient by three counts; the old variance (two), three variances less
    # it; three squares and products, their sum, the exponential and the product with it; the new variance (two) and by
    # how much it differs; three variances
    "cvb": _ILR._replace(entry=Work(39, divisions=1, exponentials=1, dtype="float64")),
    # the product and the sum; the step. The word, once for both
    "map_em": Counts(Work(2), topic=Work(1), reads=4),
    # the gradient. The word
    "frank_wolfe": Counts(Work(1), reads=4),
    # the same
    "ope": Counts(Work(1), reads=4),
    # the product and the running sum. The word
    "gibbs": _GIBBS,
    "gibbs_expected_log": _GIBBS,
    # in addition: the sum of conditionals, and the share; sums of the sweeps in float64. The word twice; what is held
    "gibbs_boosted": Counts(Work(3), reads=8, writes=4, draws=1, visit=Work(1, dtype="float64"), remembers=8),
    # the product and the running sum. The document's counts
    "cgs": _CGS._replace(by_word=True),
    # in addition: the likelihood
    "sgs": _CGS._replace(by_word=True, visit=Work(1, dtype="float64")),
    # a product and a running sum to begin with, and again. The drawn word. A gamma number: 4 random ones, three
    # logarithms, a cosine, two divisions, a root and the bounds; an exponential of it
    "cdf": Counts(
        Work(2),
        reads=4,
        draws=2,
        waits=True,
        visit=Work(20, divisions=3, exponentials=1, logarithms=3, dtype="float64"),
        numbers=4,
    ),
    # the product and the sum; exp psi: 2 divisions, a polynomial and an exponential. The word, once for both
    "vb": _VB,
    "vb_mean": _VB,
    "svb": _VB,
    "svb_progressive": _VB,
    "v_oem": _VB,
    "v_oem_expected_log": _VB,
    # the sum; the share of each topic, for its word and for the authors. The word; its counts
    "author_vb": Counts(Work(3), reads=4, writes=4),
    "author_vb_mean": Counts(Work(3), reads=4, writes=4),
    # the product and the sum; exp psi of two authors. The word, once for both
    "author_vb_local": Counts(Work(2), topic=Work(20, divisions=4, exponentials=2), reads=4),
    # the product of the word and the topic; of two authors, the product with it and the running sum, one multiply-add.
    # The authors' rows stay in cache
    "author_cgs": Counts(Work(3, dtype="float64"), draws=1, waits=True, choices=2),
    # as in ilr, of two authors: the sum of their shares, the word and the topic less it, a division; of each author the
    # old share, the count less it, two products, the sum over topics and that of all; the new share, by how much it
    # differs, and the sums of that; two counts of the word and the topic
    "author_cvb0": Counts(Work(24, divisions=1, dtype="float64"), remembers=8),
    # in addition, as in cvb: of the word and the topic twelve, and of each author fourteen and an exponential
    "author_cvb": Counts(Work(64, divisions=1, exponentials=2, dtype="float64"), remembers=8),
    # two authors' logarithms, their exponential, the sum and the share of each topic, two authors' sums of them. The
    # rows of the word and the authors stay in cache. Psi of two authors, who have no other document: two divisions, a
    # polynomial and a logarithm each
    "author_mean_field": Counts(
        Work(6, exponentials=1, dtype="float64"),
        document=Work(20, divisions=4, logarithms=2, dtype="float64"),
    ),
    # the sum; the share of each topic. The word, once for both
    "author_documents": Counts(Work(2), reads=4),
    # as cvb0, of the row topics. For each column, three sums over at least ten column topics, and a division
    "dual_cvb0": Counts(Work(4), reads=4, writes=4, table=Work(30, divisions=1), made=4),
    # the product with the column's factor and the sum, of each pair. All pairs stay in cache
    "dual_cgs": Counts(Work(1, dtype="float64"), draws=1, waits=True),
    # the old share of each pair and its two sums; the joint less it, two products, the sum; the new share and by how
    # much it differs; the joint and two sums. Of each row topic and column topic, a fifth of the pairs: the old share,
    # the count and its total less it, a division; the new share and by how much it differs; the count and its total.
    # The shares that are kept
    "dual_ilr": Counts(Work(12 + 0.2 * 7, divisions=0.2, dtype="float64"), remembers=4),
    # products with the joint and their sums over row topics, the same over column topics, and sums of products of two
    # factors, by which the joint is multiplied once. Of each row topic and column topic, a fifth of the pairs: as in
    # dual_ilr; the sums of the old shares and of the new ones, and the product of the factor. The sums are kept
    "dual_mf": Counts(Work(3 + 0.2 * 10, divisions=0.2, dtype="float64"), remembers=0.8),
}
