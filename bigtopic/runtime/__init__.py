"""The only package that schedules: params, slices and the merge tree, executors, train, infer, ingest, checkpoint."""
