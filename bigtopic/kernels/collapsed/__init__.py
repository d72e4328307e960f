"""Responsibilities of tokens, with the topics of their document summed out: CVB and its simplifications."""
