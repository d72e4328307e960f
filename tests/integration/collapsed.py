"""The collapsed methods: samplers and approximations whose documents remember labels or responsibilities."""

from bigtopic.kernels.collapsed.ilr import HALF
from bigtopic.methods import Method
from bigtopic.models.lda import TOPIC_WORDS
from bigtopic.models.lda_with_variances import LDA_WITH_VARIANCES, TOPIC_WORD_VARIANCES
from bigtopic.schemes.add import Add

__all__ = ["METHODS"]

# Nothing: every token is counted when it gets its first label.
NOTHING = {TOPIC_WORDS: ("uniform", 0.0)}
SIZES = {"batch_size": 20_000, "slice_size": 10_000}

CGS = Method(
    "cgs",
    "cgs",
    {TOPIC_WORDS: Add()},
    **SIZES,
    max_iter=500,
    priors={"doc_topic_prior": 0.1, "topic_word_prior": 0.03},
    init=NOTHING,
    summary="collapsed Gibbs sampling: a label for each token",
    paper="Griffiths and Steyvers 2004; Newman et al. 2009",
    inference="cvb0",
)

ILR = Method(
    "ilr",
    "ilr",
    {TOPIC_WORDS: Add()},
    **SIZES,
    max_iter=100,
    priors={"doc_topic_prior": 0.5, "topic_word_prior": 0.5},
    init=NOTHING,
    summary="iterative CVB0: responsibilities of each word of a document",
    paper="Asuncion et al. 2009",
    inference="cvb0",
)

CVB = Method(
    "cvb",
    "cvb",
    {TOPIC_WORDS: Add(), TOPIC_WORD_VARIANCES: Add()},
    model=LDA_WITH_VARIANCES,
    **SIZES,
    max_iter=100,
    priors={"doc_topic_prior": 0.5, "topic_word_prior": 0.5},
    init=NOTHING,
    summary="collapsed variational Bayes of second order",
    paper="Teh, Newman, Welling 2007",
    inference="cvb0",
)

REPLICAS = Method(**{**vars(CGS), "name": "cgs-replicas", "options": {"replicas": 3}})
ILR_HALF = Method(**{**vars(ILR), "name": "ilr-half", "kernel": HALF})

METHODS = {method.name: method for method in (CGS, REPLICAS, ILR, ILR_HALF, CVB)}
