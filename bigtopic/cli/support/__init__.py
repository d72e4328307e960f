"""What verbs share: the group of verbs, options and their values, stores at paths, and what a terminal shows."""
