"""scikit-learn style estimators: they translate names and decide nothing."""
