"""What people ask of topics: their words, their documents, their change over time, and how they compare."""
