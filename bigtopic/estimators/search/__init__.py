"""Searches of settings: several candidates are learned, scored and compared."""
