"""The stages of an ingest, each a pure function of its item, run by threads or Dask workers.

    parse   chunk -> run: documents with local or source word ids, spilled; word counts come back
    tally   word counts -> vocabulary with final ids
    sort    run -> sorted run: final ids, documents by key, spilled
    merge   the pieces of all sorted runs that belong to one part -> part

Memory: a chunk, or the entries of a part, per task in flight, and the vocabulary. Only a few hundred bytes per chunk
grow with the source.
"""
