"""The memory that a run needs, from its plan."""
