"""SIGKILL before the n-th file operation: a reader finds the old state or the new one, the next writer works."""

import numpy as np
import pytest


def states(name, fresh, actions, in_child):
    """What a reader finds before and after an action, and the number of its operations."""
    action = actions[name]
    for _ in range(2):  # the first time, compiled code may be written to its cache
        path = fresh(name)
        before = action.look(path)
        ended = in_child(lambda path=path: action.run(path))
    assert (ended.error, ended.message) == ("", "")
    return before, action.look(path), ended.n_operations


def killed_at(numbers, name, fresh, actions, in_child, leaves_nothing, states):
    action, (before, after, _) = actions[name], states
    for n in numbers:
        path = fresh(name)
        assert in_child(lambda path=path: action.run(path), kill_at=n).killed
        assert action.look(path) in (before, after), (name, n)
        if name == "append" and action.look(path) != before:
            continue  # a second append is one too many
        again = in_child(lambda path=path: action.run(path))
        if again.error == "CorpusExists" and name == "ingest":
            assert action.look(path) == after  # it was complete
            continue
        assert (again.error, again.message) == ("", ""), (name, n)
        assert action.look(path) == after, (name, n)
        leaves_nothing(path)


@pytest.mark.parametrize("n_kills", [3, pytest.param(30, marks=pytest.mark.slow)])
def test_killed_at_any_operation(name, n_kills, fresh, actions, in_child, leaves_nothing):
    found = states(name, fresh, actions, in_child)
    numbers = np.unique(np.linspace(0, found[2] - 1, n_kills).astype(int)).tolist()
    print(f"{name}: killed at {len(numbers)} of {found[2]} operations")
    killed_at(numbers, name, fresh, actions, in_child, leaves_nothing, found)
