"""Where functions run: threads or a Dask client, and what workers see and have."""
