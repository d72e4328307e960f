"""What the simulation of workers replaces is there: under another name, it would replace nothing."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import simulated
import simulated_rounds
from simulated import Costs

from bigtopic.learning.executors import among_workers, graphs
from bigtopic.parallel import cluster, results


def test_what_simulated_workers_do_not_compute_is_replaced():
    missing = [(where, name) for where, name, _ in simulated.replacements() if not hasattr(where, name)]
    assert not missing


def test_what_their_driver_does_not_send_is_replaced():
    nothing = np.zeros(0)
    with simulated_rounds.Driver(Costs(64, 1.0, nothing, nothing, *[0.0] * 9), real=False) as driver:
        replaced = cluster.send, graphs.result_of, among_workers.results_of
        assert replaced == (driver.send, driver.result_of, driver.results_of)
    assert among_workers.results_of is results.results_of
