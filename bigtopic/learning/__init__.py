"""Learning: rounds of E-steps and updates, on any executor, until a limit."""
