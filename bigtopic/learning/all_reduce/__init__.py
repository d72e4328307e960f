"""What workers add up among themselves, without the driver, and the copies of the params that they move by it."""
