"""Writers to be killed: a process that is warm, and forks one for every line it is given.

A line is JSON: action, url, and the number of the request to S3 at which the writer kills itself, before it is sent or
after its answer has come. The answer is "killed", or "finished" with the number of requests.
"""

import gc
import json
import os
import signal
import sys
import traceback

from s3fs import S3FileSystem

from bigtopic.corpus.store import open_corpus
from bigtopic.estimators.lda import LDA
from bigtopic.ingestion.ingest import append, compact, ingest
from bigtopic.storage import lock as lease
from bigtopic.storage.lock import LOCK

EXPIRES, RENEWED = 1.0, 0.2
OLD = ["a cat sat", "a dog ran", "the cat ran far"]
NEW = ["a bird sang", "the dog sang"]


def shorten_leases():
    lease.EXPIRES, lease.RENEWED = EXPIRES, RENEWED


def model_of(texts):
    return LDA(n_components=2, max_iter=1, random_state=0, n_threads=1).fit(texts)


def act(action, url, options, models):
    settings = {"storage_options": options, "n_threads": 1}
    if action == "append":
        append(url, NEW, **settings)
    elif action == "compact":
        compact(open_corpus(url, options), n_threads=1)
    elif action in ("create", "overwrite"):
        ingest(NEW, url, overwrite=action == "overwrite", **settings)
    elif action == "save":
        models[1].save(url, storage_options=options, overwrite=True)
    else:
        assert action in ("transform_to", "transform_to new"), action
        models[1].transform_to(NEW, url, overwrite=True, storage_options=options)


def mortal(last, after):
    """Count requests; returns the count so far."""
    real, count = S3FileSystem._call_s3, 0

    async def call(self, method, *arguments, **settings):
        nonlocal count
        if method == "put_object" and settings["Key"].endswith(LOCK) and "IfMatch" in settings:
            return await real(self, method, *arguments, **settings)  # renewals come as time passes
        count += 1
        number = count
        if number == last and not after:
            os.kill(os.getpid(), signal.SIGKILL)
        try:
            return await real(self, method, *arguments, **settings)
        finally:
            if number == last:
                os.kill(os.getpid(), signal.SIGKILL)

    S3FileSystem._call_s3 = call
    return lambda: count


def main():
    options = json.loads(sys.argv[1])
    shorten_leases()
    models = model_of(OLD), model_of(NEW)
    for action in ("create", "append", "compact", "overwrite"):
        act(action, "memory://warm/corpus", {}, models)
    for action in ("save", "transform_to"):
        act(action, f"memory://warm/{action}", {}, models)
    gc.freeze()
    print("warm", flush=True)
    for line in sys.stdin:
        task = json.loads(line)
        child = os.fork()
        if child == 0:
            try:
                count = mortal(task["last"], task["after"])
                act(task["action"], task["url"], options, models)
                print("finished", count(), flush=True)
                os._exit(0)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status:
            print("killed" if status == -signal.SIGKILL else "failed", flush=True)


if __name__ == "__main__":
    main()
