"""V-OEM of one document: which weights a word has is no matter of the document."""

from reference.v_oem import infer

__all__ = ["infer"]
