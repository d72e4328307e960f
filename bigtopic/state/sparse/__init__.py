"""Arrays of sparse rows, for very many topics: of these, most words have few."""
