"""What a user who compares with a paper must know: choices that it leaves or that differ here, and its errata.

`docs/methods_table.py` writes the page "Choices and errata" from these notes, and `bigtopic.methods(name)` shows the
notes on one method. `PAPERS` are the papers as BibTeX, by the words that `Method.paper` cites them with.
"""

from __future__ import annotations

from typing import NamedTuple

from bigtopic.methods.method import Method

__all__ = ["NOTES", "PAPERS", "Note", "bibtex_of"]


class Note(NamedTuple):
    """A note.

    paper : a key of `PAPERS`
    kind : "choice", "erratum", or "settings" where a method that the paper compares has other priors or minibatches
    methods : names of the methods that it is about
    text : in Markdown
    """

    paper: str
    kind: str
    methods: tuple[str, ...]
    text: str


_OPE, _SGS, _THESIS = "Than & Doan, Guaranteed inference", "Gao, Chen, Zhu 2016", "Mortensen 2017"
_ILR, _OEM = "Rugeles et al.", "Dupuy and Bach 2017"
_OF_OPE = ("ml-ope", "online-ope", "streaming-ope")
_AUTHORS_VB = (
    "author-vb",
    "online-author-vb",
    "online-author-vb-local",
    "author-mean-field",
    "online-author-mean-field",
)

NOTES = (
    Note(
        _OPE,
        "choice",
        _OF_OPE,
        "`eps` is 0, as in the authors' code. Algorithm 1 has eps > 0: it walks between the vertices of a simplex "
        "in which every share is at least eps. With 0, the shares of T iterations are an average of a start inside "
        'the simplex and of T - 1 vertices, so each is at least 1/(2 K T). `options={"eps": 1e-6}` is the paper\'s '
        "form.",
    ),
    Note(
        _OPE,
        "choice",
        _OF_OPE,
        "With alpha < 1, such as the default 1/K, the objective has no maximum: it grows without bound towards "
        "every face of the simplex. Only eps > 0 makes the problem well posed; with eps = 0, the number of "
        "iterations decides how near a document comes to a face. So do not compare values of the objective, of "
        "different `n_iter` above all; compare the likelihood of words. The walk chooses its topics in its first "
        "iterations, and another seed may choose others. With alpha of 1 or more, the objective is concave and the "
        "walk converges.",
    ),
    Note(
        _OPE,
        "choice",
        _OF_OPE,
        "It starts as the authors' code does: the likelihood is counted once before the first coin (a = 1, b = 0), "
        "and the first step is 1/2. The first step of Algorithm 1 is 1/1, which forgets the start and, with eps = 0, "
        "puts the document on a vertex, where the gradient of the prior is infinite.",
    ),
    Note(
        _OPE,
        "choice",
        ("ml-ope", "ml-fw", "ml-cgs"),
        "Equations 20 and 21 count every word of a document for topic k in proportion to theta_k, whatever the "
        'word. This is not the M-step of EM, which is `options={"statistic": "phi"}`, or "labels" for `ml-cgs`.',
    ),
    Note(
        _OPE,
        "choice",
        ("online-ope", "streaming-ope", "online-fw", "streaming-fw"),
        "As equations 22 and 27 say, a word's probabilities of the topics are in proportion to theta_k beta_kv, and "
        "the prior enters once. The authors' code takes lambda for beta, and adds eta with every minibatch.",
    ),
    Note(
        _OPE,
        "choice",
        ("online-vb", "streaming-vb"),
        "Minibatches, steps, priors and the most iterations (50) are the paper's. A document stops when its gamma "
        "moves by less than 0.0001 tokens, mean over topics; in the paper, when its bound grows by less than 0.0001 "
        'of itself, which is `options={"stop": "bound"}`.',
    ),
    Note(
        _OPE,
        "settings",
        ("ml-ope", "ml-fw"),
        "They maximise the likelihood: their topics have no prior, where the paper's other methods have 1/K.",
    ),
    Note(
        _OPE,
        "erratum",
        _OF_OPE,
        "The proof of convergence takes steps that become small for a sequence that converges, and a point where "
        "the whole gradient vanishes for a stationary one, which a maximum on the simplex need not be.",
    ),
    Note(
        "Foulds et al. 2013",
        "choice",
        ("scvb0",),
        "The steps of the topics are those with which Than and Doan compare (tau 1, kappa 0.9), and the minibatches "
        "are theirs.",
    ),
    Note(
        _SGS,
        "erratum",
        ("sgs", "streaming-ilr"),
        "Algorithm 2 decays the counts of words in topics, but not the topics' totals: here both decay. The "
        "recursion in the text decays the prior, too; Algorithm 2 and `sgs` do not.",
    ),
    Note(
        _SGS,
        "erratum",
        ("cdf",),
        "The text says that CDF-LDA leaves out the other tokens of the document; its Algorithm 5 conditions on "
        "them, as `cdf` does. What it leaves out is their effect on the counts of words in topics.",
    ),
    Note(
        _SGS,
        "choice",
        ("cdf",),
        "The first topics are uniform numbers, normalised for each topic. Algorithm 5 does not normalise them, "
        "which favours topics with large sums.",
    ),
    Note(
        _SGS,
        "choice",
        ("svb-progressive",),
        "A document stops when its gamma moves by less than 0.0001 tokens, mean over topics; in the paper, when its "
        'theta moves by less than 0.00001: `options={"stop": "theta", "mean_change_tol": 1e-5}`.',
    ),
    Note(
        _SGS,
        "erratum",
        ("svb-progressive",),
        "The rule that ends a minibatch, a change of the normalised topics of less than 0.001 per topic and word, "
        "is true at once where a vocabulary has more than 2000 words: their change cannot be larger. Here a "
        "minibatch ends when an inner iteration moves less than 0.1 % of its tokens.",
    ),
    Note(
        _THESIS,
        "erratum",
        _AUTHORS_VB,
        "Equations 2.8 and C.3 add the chance of an author as 1/|A_d|, where the bound has its logarithm, -log "
        "|A_d| for each token. It does not depend on the parameters: bounds and perplexities change, fits do not.",
    ),
    Note(
        _THESIS,
        "erratum",
        _AUTHORS_VB,
        "Equation 2.17 has 1/|A_d| once per document; it belongs in the product over tokens.",
    ),
    Note(
        _THESIS,
        "erratum",
        _AUTHORS_VB,
        "Section 2.4.4 has the gradient of alpha with + N psi(alpha_k), which must be - N psi(alpha_k); with the "
        "sign as printed, the first step of Newton's method leaves the positive numbers.",
    ),
    Note(
        _THESIS,
        "erratum",
        ("author-vb", "author-mean-field"),
        "The stopping rule (L - L') / L' < tau divides by a bound L' that is negative, and is true at once. Here "
        "the gain is divided by |L'|.",
    ),
    Note(
        _THESIS,
        "choice",
        ("online-author-vb", "online-author-vb-local", "online-author-mean-field"),
        "The step size of an author follows from the number of that author's updates. In the thesis, it follows from "
        'the updates of the run: `options={"own_steps": False}`. An author of few documents then hardly leaves its '
        "random start.",
    ),
    Note(
        _THESIS,
        "settings",
        ("author-cvb",),
        "Its priors are larger, 0.5 and 0.1: its second-order terms divide by squares of expected counts, prior "
        "included, and are wrong where these are small. To compare, give all methods the same priors.",
    ),
    Note(
        _ILR,
        "erratum",
        ("dual-cgs", "dual-ilr", "dual-mf", "dual-online"),
        "Section 6.2.2 swaps the two phi: it predicts columns with row topics, and rows with column topics. Here "
        "p(row, column) is sum_kl phi_row,k theta_kl phi_column,l.",
    ),
    Note(
        _ILR,
        "erratum",
        ("dual-ilr",),
        "Equation 5.12 sums the whole matrix of a record's responsibilities where it needs their marginals over row "
        "topics and over column topics.",
    ),
    Note(
        _ILR,
        "choice",
        ("ilr", "cvb0"),
        "For documents, infinite latent state replication is zero-order collapsed variational inference (CVB0) with "
        "another derivation; the paper does not say so. `cvb0` is the same algorithm with other priors.",
    ),
    Note(
        _ILR,
        "settings",
        ("cgs",),
        "As ilr:CGS, it keeps the priors of Gao, Chen and Zhu, 0.1 and 0.03. The paper compares at equal priors: "
        "give `doc_topic_prior=0.5, topic_word_prior=0.5`, as `ilr` has them.",
    ),
    Note(
        _OEM,
        "settings",
        ("splda", "online-vb", "online-cgs", "svb", "lds"),
        "The methods that online EM is compared with keep the minibatches, steps and priors of the papers that "
        "introduced them. For the settings of this paper, give `batch_size=100` and, where there are steps, "
        "`learning_decay=0.5`; `splda` has minibatches of one document.",
    ),
    Note(
        "Broderick et al. 2013",
        "settings",
        ("streaming-vb",),
        "It keeps the priors and minibatches with which Than and Doan compare it. For the settings of the paper's "
        "code, give `topic_word_prior=0.01, batch_size=32_768`, as `svb` has them.",
    ),
)


PAPERS = {
    "Asuncion et al. 2009": """@inproceedings{asuncion2009smoothing,
  author = {Asuncion, Arthur and Welling, Max and Smyth, Padhraic and Teh, Yee Whye},
  title = {On Smoothing and Inference for Topic Models},
  booktitle = {Proceedings of the 25th Conference on Uncertainty in Artificial Intelligence},
  year = {2009}
}""",
    "Blei, Ng, Jordan 2003": """@article{blei2003latent,
  author = {Blei, David M. and Ng, Andrew Y. and Jordan, Michael I.},
  title = {Latent {Dirichlet} Allocation},
  journal = {Journal of Machine Learning Research},
  volume = {3},
  year = {2003}
}""",
    "Broderick et al. 2013": """@inproceedings{broderick2013streaming,
  author = {Broderick, Tamara and Boyd, Nicholas and Wibisono, Andre and Wilson, Ashia C. and Jordan, Michael I.},
  title = {Streaming Variational {Bayes}},
  booktitle = {Advances in Neural Information Processing Systems 26},
  year = {2013}
}""",
    "Dupuy and Bach 2017": """@article{dupuy2017online,
  author = {Dupuy, Christophe and Bach, Francis},
  title = {Online but Accurate Inference for Latent Variable Models with Local {Gibbs} Sampling},
  journal = {Journal of Machine Learning Research},
  volume = {18},
  year = {2017}
}""",
    "Foulds et al. 2013": """@inproceedings{foulds2013stochastic,
  author = {Foulds, James and Boyles, Levi and DuBois, Christopher and Smyth, Padhraic and Welling, Max},
  title = {Stochastic Collapsed Variational {Bayesian} Inference for Latent {Dirichlet} Allocation},
  booktitle = {Proceedings of the 19th ACM SIGKDD International Conference on Knowledge Discovery and Data Mining},
  year = {2013}
}""",
    "Gao, Chen, Zhu 2016": """@misc{gao2016streaming,
  author = {Gao, Yang and Chen, Jianfei and Zhu, Jun},
  title = {Streaming {Gibbs} Sampling for {LDA} Model},
  howpublished = {arXiv},
  year = {2016}
}""",
    "Griffiths and Steyvers 2004": """@article{griffiths2004finding,
  author = {Griffiths, Thomas L. and Steyvers, Mark},
  title = {Finding Scientific Topics},
  journal = {Proceedings of the National Academy of Sciences},
  volume = {101},
  year = {2004}
}""",
    "Guhaniyogi, Qamar, Dunson 2014": """@misc{guhaniyogi2014bayesian,
  author = {Guhaniyogi, Rajarshi and Qamar, Shaan and Dunson, David B.},
  title = {{Bayesian} Conditional Density Filtering},
  howpublished = {arXiv},
  year = {2014}
}""",
    "Hoffman et al. 2013": """@article{hoffman2013stochastic,
  author = {Hoffman, Matthew D. and Blei, David M. and Wang, Chong and Paisley, John},
  title = {Stochastic Variational Inference},
  journal = {Journal of Machine Learning Research},
  volume = {14},
  year = {2013}
}""",
    "Hofmann 1999": """@inproceedings{hofmann1999probabilistic,
  author = {Hofmann, Thomas},
  title = {Probabilistic Latent Semantic Indexing},
  booktitle = {Proceedings of the 22nd International ACM SIGIR Conference on Research and Development in Information
    Retrieval},
  year = {1999}
}""",
    "Lücke and Eggert 2010": """@article{lucke2010expectation,
  author = {L{\\"u}cke, J{\\"o}rg and Eggert, Julian},
  title = {Expectation Truncation and the Benefits of Preselection in Training Generative Models},
  journal = {Journal of Machine Learning Research},
  volume = {11},
  year = {2010}
}""",
    "Mimno, Hoffman, Blei 2012": """@inproceedings{mimno2012sparse,
  author = {Mimno, David and Hoffman, Matthew D. and Blei, David M.},
  title = {Sparse Stochastic Inference for Latent {Dirichlet} Allocation},
  booktitle = {Proceedings of the 29th International Conference on Machine Learning},
  year = {2012}
}""",
    "Mortensen 2017": """@mastersthesis{mortensen2017author,
  author = {Mortensen, {\\'O}lavur},
  title = {The Author-Topic Model},
  school = {Technical University of Denmark},
  year = {2017}
}""",
    "Newman et al. 2009": """@article{newman2009distributed,
  author = {Newman, David and Asuncion, Arthur and Smyth, Padhraic and Welling, Max},
  title = {Distributed Algorithms for Topic Models},
  journal = {Journal of Machine Learning Research},
  volume = {10},
  year = {2009}
}""",
    "Patterson and Teh 2013": """@inproceedings{patterson2013stochastic,
  author = {Patterson, Sam and Teh, Yee Whye},
  title = {Stochastic Gradient {Riemannian} {Langevin} Dynamics on the Probability Simplex},
  booktitle = {Advances in Neural Information Processing Systems 26},
  year = {2013}
}""",
    "Rosen-Zvi, Griffiths, Steyvers, Smyth 2004": """@inproceedings{rosenzvi2004author,
  author = {Rosen-Zvi, Michal and Griffiths, Thomas and Steyvers, Mark and Smyth, Padhraic},
  title = {The Author-Topic Model for Authors and Documents},
  booktitle = {Proceedings of the 20th Conference on Uncertainty in Artificial Intelligence},
  year = {2004}
}""",
    "Rugeles et al.": """@misc{rugeles-infinite,
  author = {Rugeles and others},
  title = {Infinite Latent State Replication}
}""",
    "Sato, Kurihara, Nakagawa 2010": """@inproceedings{sato2010deterministic,
  author = {Sato, Issei and Kurihara, Kenichi and Nakagawa, Hiroshi},
  title = {Deterministic Single-Pass Algorithm for {LDA}},
  booktitle = {Advances in Neural Information Processing Systems 23},
  year = {2010}
}""",
    "Teh, Newman, Welling 2007": """@inproceedings{teh2007collapsed,
  author = {Teh, Yee Whye and Newman, David and Welling, Max},
  title = {A Collapsed Variational {Bayesian} Inference Algorithm for Latent {Dirichlet} Allocation},
  booktitle = {Advances in Neural Information Processing Systems 19},
  year = {2007}
}""",
    "Than & Doan, Guaranteed inference": """@misc{than2017guaranteed,
  author = {Than, Khoat and Doan, Tung},
  title = {Guaranteed Inference in Topic Models},
  howpublished = {arXiv},
  year = {2017}
}""",
    "Than and Ho 2012": """@inproceedings{than2012fully,
  author = {Than, Khoat and Ho, Tu Bao},
  title = {Fully Sparse Topic Models},
  booktitle = {Machine Learning and Knowledge Discovery in Databases: ECML PKDD 2012},
  year = {2012}
}""",
}


def bibtex_of(method: Method) -> str:
    """BibTeX entries of the papers that a method cites, in their order; "" if it cites none that are known."""
    cited = sorted(
        (method.paper.find(words), entry) for words, entry in PAPERS.items() if words in method.paper
    )
    return "\n\n".join(entry for _, entry in cited)
