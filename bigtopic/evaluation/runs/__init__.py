"""More than one model, or one at several times: comparisons, streams, watched runs, how far runs agree; a file each."""
