"""What topics are for: ranking authors and items, classifying documents, and questions for readers; a file each."""
