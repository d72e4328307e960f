"""Topics of documents under a model that stays as it is."""
