#!/bin/sh
# The job of a day: add today's documents to a corpus, go on learning, publish the topics.
#
#     CORPUS=news.zarr MODEL=topics.zarr BUCKET=s3://bucket/topics sh daily.sh 2026-11-28.jsonl
#
# It may run twice a day, or on a day with nothing new: documents that the corpus has are left out.
set -eu

DAY=$1  # today's documents: a file or a folder, with an id for each document
CORPUS=${CORPUS:-news.zarr}
MODEL=${MODEL:-topics.zarr}
BUCKET=${BUCKET:-s3://bucket/topics}
TOPICS=${TOPICS:-50}
name=$(basename "$DAY" .jsonl)

# Documents. What exists is appended to; what is damaged is refused by `ingest` itself.
if bigtopic info "$CORPUS" > /dev/null 2>&1; then
    bigtopic ingest "$DAY" "$CORPUS" --append --on-duplicate skip
else
    bigtopic ingest "$DAY" "$CORPUS"
fi

# Topics, from the new documents alone; the default method would then sample anew from all of them.
if bigtopic info "$MODEL" > /dev/null 2>&1; then
    bigtopic train "$CORPUS" "$MODEL" --continue-from "$MODEL" --overwrite
else
    bigtopic train "$CORPUS" "$MODEL" --topics "$TOPICS" --method online-cvb0
fi

# The topics of today's documents as a table, and the page.
bigtopic infer "$MODEL" "$DAY" "$BUCKET/$name.csv" --overwrite
bigtopic report "$MODEL" "$BUCKET/topics.html" --corpus "$CORPUS"
