"""What verbs share beside options: runs as commands, remarks on standard error, the corpus of the demo."""
