#!/bin/sh
# The example from beginning to end, offline: a day's news is put into a folder, a model follows, a page shows the change.
#
#     sh run.sh [FOLDER]
set -eu

here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${1:-news-example}/incoming"
cd "${1:-news-example}"
python "$here/news.py" days

touch windows.jsonl
n=$(wc -l < windows.jsonl)

# The service: in practice of systemd, see README.md. A day is a window here, as all of it comes at once.
bigtopic train incoming live.zarr --follow --topics 8 --batch-size 50 --half-life 300 --max-words 5000 \
    --window 100000 --save-every 2s --json >> windows.jsonl &
service=$!
trap 'kill "$service" 2> /dev/null || true' EXIT

for day in days/*.jsonl; do
    [ ! -e "incoming/$(basename "$day")" ] || continue # it was there in an earlier run
    cp "$day" incoming/.part                           # a hidden file is not read ...
    mv incoming/.part "incoming/$(basename "$day")"    # ... until it is complete
    n=$((n + 1))
    while [ "$(wc -l < windows.jsonl)" -lt "$n" ]; do
        kill -0 "$service"
        sleep 0.2
    done
done
kill "$service"
wait "$service" || true # 143: ended by SIGTERM, with the model saved
python "$here/page.py" live.zarr windows.jsonl news.html
