"""Step sizes against their formulas, alone and as the settings of schemes."""

from __future__ import annotations

import json
import warnings
from dataclasses import asdict, replace

import numpy as np
import pytest

from bigtopic import kernels, schemes
from bigtopic.errors import BigtopicWarning, SettingError
from bigtopic.estimators.lda import LDA
from bigtopic.methods import get
from bigtopic.methods.settings import with_settings
from bigtopic.schemes.schedule import (
    LearningRate,
    constant,
    decaying_end,
    joined,
    robbins_monro,
    staleness_corrected_rate,
)

SCHEMES = ["interpolate", "interpolate_normalised", "interpolate_raw"]


def rates(schedule, n=50):
    return [schedule(step, n) for step in range(1, n + 1)]


def test_robbins_monro():
    assert robbins_monro(1, 0.9, 1.0) == pytest.approx(2**-0.9)
    assert robbins_monro(1, 0.5, 0.0) == 1.0
    falling = [robbins_monro(step, 0.7, 0.0) for step in range(1, 50)]
    assert max(falling) <= 1.0 and all(np.diff(falling) < 0)


def test_a_scale_multiplies_and_the_step_is_at_most_one():
    found = [robbins_monro(step, 0.6, 3.0, scale=4.0) for step in range(1, 50)]
    np.testing.assert_allclose(found, np.minimum(1, 4.0 * (3.0 + np.arange(1, 50)) ** -0.6), rtol=1e-12)
    assert found[0] == 1.0 > found[-1]


def growth(rate, missed):
    """By which factor an amount grows for each update that adds `rate` times twice what it was `missed` updates ago,
    while all decays."""
    amounts = [1.0] * (missed + 1)
    for _ in range(2000):
        amounts.append((1 - rate) * amounts[-1] + rate * 2 * amounts[-1 - missed])
    return amounts[-1] / amounts[-2]


@pytest.mark.parametrize(("rate", "missed"), [(0.005, 28), (0.005, 14), (0.001, 100), (0.01, 14)])
def test_steps_that_make_up_for_missed_updates_let_topics_grow_as_without(rate, missed):
    without, late = growth(rate, 0) - 1, growth(rate, missed) - 1
    made = growth(staleness_corrected_rate(rate, missed), missed) - 1
    assert late < 0.9 * without
    assert made == pytest.approx(without, rel=0.06)


def test_a_single_missed_update_changes_no_step_and_none_is_above_one():
    assert staleness_corrected_rate(0.3, 0) == staleness_corrected_rate(0.3, 1) == 0.3
    assert staleness_corrected_rate(0.3, 2) == pytest.approx(1 / (1 / 0.3 - 2))
    assert staleness_corrected_rate(0.3, 31) == 1.0


def test_joined_changes_after_its_update():
    schedule = joined(constant(0.3), 7, lambda step, n_steps: 1 / step)
    np.testing.assert_array_equal(rates(schedule), [0.3] * 7 + [1 / step for step in range(8, 51)])


def test_a_joined_schedule_may_have_a_decaying_end():
    schedule = decaying_end(joined(constant(0.5), 20, constant(0.2)), 0.2, 0.01)
    found = rates(schedule)
    assert found[:20] == [0.5] * 20 and found[20:40] == [0.2] * 20
    np.testing.assert_allclose(np.diff(np.log(found[39:])), np.log(0.05) / 10, rtol=1e-9)


def test_the_numbers_of_a_scheme_are_such_schedules():
    plain = LearningRate(0.6, 2.0).schedule()
    assert rates(plain) == [robbins_monro(step, 0.6, 2.0) for step in range(1, 51)]
    held = LearningRate(0.6, 2.0, learning_scale=1.5, hold=9).schedule()
    assert rates(held) == [robbins_monro(max(step, 9), 0.6, 2.0, 1.5) for step in range(1, 51)]
    assert rates(LearningRate(None, learning_scale=0.05).schedule()) == [0.05] * 50
    assert rates(LearningRate(None, learning_scale=3.0).schedule()) == [1.0] * 50


@pytest.mark.parametrize("name", SCHEMES)
def test_they_can_be_saved(name):
    scheme = schemes.load(name)(learning_decay=None, learning_scale=0.2, hold=3)
    assert type(scheme)(**json.loads(json.dumps(asdict(scheme)))) == scheme


@pytest.mark.parametrize("name", SCHEMES)
@pytest.mark.parametrize(
    "settings",
    [
        {"learning_decay": -0.1},
        {"learning_decay": 0.0},
        {"learning_decay": 1.1},
        {"learning_decay": float("nan")},
        {"learning_decay": "0.7"},
        {"learning_offset": -1.0},
        {"learning_offset": float("inf")},
        {"learning_offset": float("nan")},
        {"learning_scale": 0.0},
        {"learning_scale": float("inf")},
        {"learning_scale": None},
        {"hold": -1},
        {"hold": 2.5},
        {"hold": True},
    ],
    ids=str,
)
def test_schedules_that_are_none(name, settings):
    with pytest.raises(SettingError, match=next(iter(settings))):
        schemes.load(name)(**settings)


@pytest.mark.parametrize("decay", [0.3, 0.5])
def test_a_decay_for_which_convergence_is_not_proved_warns(decay):
    with pytest.warns(BigtopicWarning, match=f"learning_decay={decay}.*not guaranteed"):
        with_settings(get("online-vb"), {"learning_decay": decay})


DECAYS = [
    (name, option)
    for name in kernels.names()
    for option in kernels.load(name).options
    if option.endswith("decay") and set(kernels.load(name).views) <= {"topic_words", "doc_topic_prior"}
]


@pytest.mark.parametrize(("name", "option"), DECAYS)
def test_a_decay_of_documents_for_which_convergence_is_not_proved_warns(name, option):
    own = replace(get("online-vb"), name="own", kernel=name, options={})
    settings = {"method": own, "max_iter": 1, "client": False, "n_threads": 1}
    with pytest.warns(BigtopicWarning, match=f"{option}=0.5: convergence is not guaranteed"):
        LDA(2, options={option: 0.5}, **settings).fit(np.eye(5))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LDA(2, options={option: 0.51}, **settings).fit(np.eye(5))
        slow = replace(own, options={option: 0.5})
        LDA(2, options={option: 0.5}, **settings | {"method": slow}).fit(np.eye(5))


def test_the_decay_of_a_method_itself_does_not_warn():
    own = get("online-vb")
    slow = {"topic_words": replace(own.schemes["topic_words"], learning_decay=0.5)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with_settings(replace(own, schemes=slow), {"learning_decay": 0.5, "learning_offset": 3.0})
        with_settings(own, {"learning_decay": 0.51})


def test_settings_of_the_user_replace_a_constant():
    own = get("online-vb")
    steady = {"topic_words": replace(own.schemes["topic_words"], learning_decay=None, learning_scale=0.1)}
    changed, _ = with_settings(replace(own, schemes=steady), {"learning_decay": 0.9, "learning_offset": 1.0})
    schedule = changed.schemes["topic_words"].schedule()
    assert rates(schedule) == [robbins_monro(step, 0.9, 1.0, 0.1) for step in range(1, 51)]
