"""How far several runs agree: on topics, and on the topics of a document; a file each."""
