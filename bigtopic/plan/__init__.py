"""Which documents each task reads, in which order, and where a run stands."""
