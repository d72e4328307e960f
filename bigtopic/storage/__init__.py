"""Files and objects that a killed process leaves whole: places, locks, journals, commits, chunks of arrays."""
