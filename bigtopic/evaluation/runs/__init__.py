"""More than one model, or one at several times: comparisons, streams, runs that are watched, how far runs agree; a file each."""
