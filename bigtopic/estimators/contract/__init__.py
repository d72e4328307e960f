"""scikit-learn's contract: parameters by name, matrices in, arrays or frames out."""
