"""What a run remembers: params, models, checkpoints; and how they are saved."""
