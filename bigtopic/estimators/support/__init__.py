"""What estimators share: starts of runs, checks, records of runs and checkpoints."""
