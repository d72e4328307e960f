"""What is saved with a model beside its arrays: its settings, the record of its run, and checkpoints."""
