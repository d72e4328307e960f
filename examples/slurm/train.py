"""Topics on Slurm: workers are jobs of their own, which come when there is work and go when there is none.

    sbatch train.sbatch        # in a folder that all nodes see; its corpus is articles.zarr

Needs `pip install bigtopic dask-jobqueue cryptography` in an environment that all nodes see. The connections between
all processes use TLS, with a certificate made for this run. Interrupted, the process saves the run and exits with 130;
started again, it goes on to the same topics.
"""

import sys
from pathlib import Path

from dask.distributed import Client
from dask_jobqueue import SLURMCluster

import bigtopic as bt

FOLDER = Path.cwd()


def main() -> None:
    with (
        SLURMCluster(
            cores=16,
            processes=1,
            memory="64GB",
            walltime="04:00:00",
            # A worker leaves before Slurm ends its job, and hands over what it holds
            worker_extra_args=["--lifetime", "230m", "--lifetime-stagger", "5m"],
            job_script_prologue=["export OMP_NUM_THREADS=1 NUMBA_CACHE_DIR=/tmp/bigtopic-$USER"],
            local_directory="/tmp",  # of each node
            log_directory=str(FOLDER / "logs"),
            security=True,
            shared_temp_directory=str(FOLDER),
        ) as cluster,
        Client(cluster) as client,
    ):
        cluster.adapt(minimum_jobs=1, maximum_jobs=16)
        model = bt.LDA(200, random_state=0, client=client, progress=False)
        model.fit(bt.open_corpus(FOLDER / "articles.zarr"), checkpoint=FOLDER / "topics.ckpt", resume=True)
        model.save(FOLDER / "topics.zarr", overwrite=True)
    if model.run_["ended"] == "interrupt":
        sys.exit(130)


if __name__ == "__main__":
    main()
