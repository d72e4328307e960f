"""Which cases run by default: a covering choice of each product of parameters. The other cases are slow.

* Of a test with several axes (stacked `parametrize`, parametrised fixtures), so many cases run that each value of each
  axis is in one. A row of several values is one value.
* A file that says `pytestmark = pytest.mark.battery` asks many things of each kernel, method or reader, and the test is
  one more axis: each test has a case, and each kernel a test, also a new one. `battery(2)` asks for two cases of each.
  A test of the file with `@pytest.mark.battery` of its own has a case of each value.
* `@pytest.mark.costly` is for a test whose every case takes a second or more, while cheaper tests ask the same of all
  values: its first case runs; of `costly(n)`, n that are evenly spaced. So it is of a `distributed` test.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence

import pytest

__all__ = ["covering", "thin"]

FEW = 4  # two values of two axes are soon tested


def covering(cases: Sequence[Sequence[Hashable]], times: int = 1) -> list[int]:
    """Numbers of cases such that each value is in `times` of them, or in all that have it.

    Always the case with the most values that are still wanted; of equal ones that whose values are rarest so far, so
    that a full product is covered along its diagonal.
    """
    everything = Counter(value for case in cases for value in case)
    wanted = {value: min(times, n) for value, n in everything.items()}
    used, left = Counter[Hashable](), dict(enumerate(cases))

    def gain(number: int) -> tuple[int, int]:
        case = left[number]
        return sum(used[value] < wanted[value] for value in case), -sum(used[value] for value in case)

    chosen = []
    while any(used[value] < n for value, n in wanted.items()):
        chosen.append(max(left, key=gain))
        used.update(left.pop(chosen[-1]))
    return chosen


def thin(items: Sequence[pytest.Item]) -> None:
    """Mark as slow what a covering choice leaves out."""
    families = defaultdict(list)
    for item in items:
        if item.get_closest_marker("slow") is None:
            families[_family(item)].append(item)
    for (_, _, times, most), family in families.items():
        if times or most or len(family) > FEW:
            chosen = covering([list(_values(item)) for item in family], times or 1)
            step = -(-len(chosen) // most) if most else 1
            for number, item in enumerate(family):
                if number not in chosen[::step]:
                    item.add_marker(pytest.mark.slow)


def _family(item: pytest.Item) -> tuple[str, str, int | None, int | None]:
    """Of which file and test ("": of all in the file); how often each value is asked for; how many cases at most."""
    file, test = item.location[0], _test(item)
    if costly := item.get_closest_marker("costly"):
        return file, test, None, *(costly.args or (1,))
    if item.get_closest_marker("distributed"):
        return file, test, None, 1
    for node, mark in item.iter_markers_with_node("battery"):
        return file, test if node is item else "", *(mark.args or (1,)), None
    return file, test, None, None


def _test(item: pytest.Item) -> str:
    return getattr(item, "originalname", item.name)


def _values(item: pytest.Item) -> Iterator[Hashable]:
    yield "the test", _test(item)
    params = dict(item.callspec.params) if hasattr(item, "callspec") else {}
    for mark in item.iter_markers("parametrize"):
        names = mark.args[0].replace(",", " ").split() if isinstance(mark.args[0], str) else mark.args[0]
        yield tuple((name, _comparable(params.pop(name))) for name in names)
    yield from ((name, _comparable(value)) for name, value in params.items())


def _comparable(value: object) -> Hashable:
    """The same names are found in several lists, and other values may not be compared."""
    return value if isinstance(value, str) else id(value)
