"""The corpus on disk: manifest, parts, writing in one commit, checking."""
