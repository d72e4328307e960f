"""The papers of methods, as BibTeX, by the words that `Method.paper` cites them with."""

from __future__ import annotations

from bigtopic.methods.method import Method

__all__ = ["PAPERS", "bibtex_of"]

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
