"""What is global in each model, and on which axes."""
