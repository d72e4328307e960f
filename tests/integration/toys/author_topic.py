"""The author-topic model of the package by minibatches, at the size of the other toys."""

from dataclasses import replace

from bigtopic import methods

METHOD = replace(
    methods.get("online-author-vb"), name="author-topic", batch_size=70, slice_size=35, max_iter=2
)
