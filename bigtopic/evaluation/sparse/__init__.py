"""Questions to topics that are lists, at a cost that follows the lists, and not words times topics."""
