"""Ranges of rows: all rows once, whoever does them."""

from __future__ import annotations

import pytest

from bigtopic.support.side_by_side import ROWS, helped, in_parts, over_rows


@pytest.mark.parametrize("n_rows", [0, 1, ROWS, 5000, 70_001])
@pytest.mark.parametrize("row_bytes", [0, 1, 448, 1 << 24])
@pytest.mark.parametrize("n_threads", [2, 7])
def test_ranges_are_all_rows_once(n_rows, row_bytes, n_threads):
    found: list[tuple[int, int]] = []

    def share(cut):
        parts = cut(n_threads)
        assert 1 < len(parts) <= n_threads
        for part in reversed(parts):
            part()

    for help_is_there in (False, True):
        found.clear()
        if help_is_there:
            with helped(share):
                over_rows(lambda start, stop: found.append((start, stop)), n_rows, row_bytes)
        else:
            over_rows(lambda start, stop: found.append((start, stop)), n_rows, row_bytes)
            assert found == [(0, n_rows)]
        assert [row for start, stop in sorted(found) for row in range(start, stop)] == list(range(n_rows))
        assert all(start % ROWS == 0 for start, _ in found)


@pytest.mark.parametrize("n_parts", [0, 1, 5])
def test_parts_are_done_once(n_parts):
    found: list[int] = []
    parts = [lambda part=part: found.append(part) for part in range(n_parts)]

    def share(cut):
        for part in reversed(cut(2)):
            part()

    in_parts(parts)
    assert found == list(range(n_parts))
    with helped(share):
        in_parts(parts)
    assert sorted(found) == sorted([*range(n_parts)] * 2)


def test_help_ends_with_its_context():
    with helped(lambda cut: pytest.fail("shared")):
        pass
    found: list[int] = []
    over_rows(lambda start, stop: found.append(stop), 100_000, 1000)
    assert found == [100_000]
