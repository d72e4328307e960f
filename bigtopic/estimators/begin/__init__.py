"""What a run begins with: topics that are given, and the documents of a stream."""
