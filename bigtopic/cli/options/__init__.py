"""Options of verbs: those that several share, and what is typed as their values."""
