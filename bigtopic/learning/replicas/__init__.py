"""Replicas: copies of the params that learn side by side, each from its own share of the minibatches.

All begin with the same params x. Replica r takes the rows that its minibatches need, makes its updates on them one
after the other, and moves x to x_r = d_r x + a_r, with a factor d_r for each column and changes a_r in a few rows. The
changes x_r - x are added:

    x  <-  x + sum_r (x_r - x)  =  (1 - sum_r (1 - d_r)) x + sum_r a_r

The column sums of a_r are added likewise, not computed from the rows, so rows may be added in the order in which they
arrive from workers.

The steps have the numbers that they have in a serial run, and in the first half of a run make up for updates of other
replicas that they miss (`staleness_corrected_rate`). But none is larger than 1 / (updates of all
replicas), so that the factor of x is never below 0. Counts are added as they are, as in AD-LDA, but more often than
once a pass.

Cost: the rows of a share, copied once; their changes, computed in place and added once; and four bytes for each word of
the vocabulary. Updates whose steps are known before stay in compiled code (`at_once`).

References: Newman, Asuncion, Smyth, Welling (2009), "Distributed algorithms for topic models"; Ma et al. (2015),
"Adding vs. averaging in distributed primal-dual optimization"; Stich (2019), "Local SGD converges fast and communicates
little".
"""
