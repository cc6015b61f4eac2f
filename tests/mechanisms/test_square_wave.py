"""The square wave and optimized unary encoding, against their papers and brute force."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

import confide as cf
from confide.channels.windows import window_sums
from confide.plans.simulations import suiting
from confide.theory.verdicts import Verdict


@pytest.mark.parametrize(("epsilon", "width"), [(0.5, 0.358), (1.0, 0.256), (2.0, 0.129), (4.0, 0.030)])
def test_the_width_is_that_of_li_and_others(epsilon: float, width: float) -> None:
    assert cf.SquareWave(cf.Integers(0, 9999), epsilon).width == pytest.approx(10_000 * width, abs=5)


@pytest.mark.parametrize(("epsilon", "variance"), [(0.5, 15.67), (1.0, 3.68), (2.0, 0.72), (4.0, 0.08)])
def test_the_variance_of_optimized_unary_is_the_published_one(epsilon: float, variance: float) -> None:
    mechanism = cf.OptimizedUnary(cf.Integers(0, 9), epsilon)
    keep, flip = float(mechanism.keep), float(mechanism.flip)
    assert flip * (1 - flip) / (keep - flip) ** 2 == pytest.approx(variance, abs=0.005)


def test_windows_are_added_up() -> None:
    generator = np.random.default_rng(0)
    for size, length in product((1, 2, 5, 12, 31), (1, 2, 3, 7, 12, 31)):
        if length <= size:
            rows = generator.random((2, 3, size))
            expected = [rows[..., start : start + length].sum(axis=-1) for start in range(size - length + 1)]
            np.testing.assert_allclose(window_sums(rows, length), np.stack(expected, axis=-1), rtol=1e-14)
            beyond = np.zeros((2, 3, length - 1))
            wider = np.concatenate([beyond, rows, beyond], axis=-1)
            np.testing.assert_allclose(
                window_sums(rows, length, length - 1), window_sums(wider, length), rtol=1e-14, atol=0
            )


def test_a_line_is_always_identified_and_a_circle_where_no_factor_is_shared() -> None:
    for size, width in product(range(2, 14), range(13)):
        if width < size:
            line = cf.SquareWave(cf.Integers(0, size - 1), 1.0, width)
            assert np.linalg.matrix_rank(line.channel.dense()) == size
            assert line.facts.independence is not None
        if size > 2 and 2 * width + 1 < size:
            circle = cf.SquareWave(cf.Circle(size), 1.0, width)
            is_known = circle.facts.independence is not None
            assert is_known == (np.linalg.matrix_rank(circle.channel.dense()) == size)


@pytest.mark.parametrize("size", range(3, 40))
@pytest.mark.parametrize("epsilon", [1e-9, 0.3, 1.0, 4.0, 100.0])
def test_the_width_of_a_circle_keeps_the_distribution_identified(size: int, epsilon: float) -> None:
    width = cf.SquareWave(cf.Circle(size), epsilon).width
    assert width is not None
    assert math.gcd(2 * width + 1, size) == 1
    assert 2 * width + 1 < size


def test_a_width_that_hides_something_is_diagnosed() -> None:
    nine_of_24 = cf.SquareWave(cf.Circle(24), 1.0, width=4)
    assert cf.diagnose(None, nine_of_24).identification.verdict is Verdict.NO


def test_another_epsilon_has_its_own_width_unless_one_was_chosen() -> None:
    ages = cf.Integers(0, 99)
    assert cf.SquareWave(ages, 1.0).at(4.0) == cf.SquareWave(ages, 4.0)
    assert cf.SquareWave(ages, 1.0, width=7).at(4.0).width == 7


def test_reports_reach_beyond_the_ends() -> None:
    mechanism = cf.SquareWave(cf.Integers(10, 19), 1.0, width=3)
    reports = mechanism.privatize(np.repeat([10, 19], 4000), rng=1)
    assert (reports.min(), reports.max()) == (7, 22)
    # Six of ten low reports and seven high ones have the weights 1 and e: P(near) = 7 e / (7 e + 9).
    near = np.abs(reports - np.repeat([10, 19], 4000)) <= 3
    assert near.mean() == pytest.approx(7 * math.e / (7 * math.e + 9), abs=0.015)


def test_dates_report_dates_and_scales_report_numbers() -> None:
    days = cf.SquareWave(cf.Dates("2024-01-01", "2024-01-31"), 1.0, width=2)
    assert days.report_alphabet.labels([0]) == ["2023-12-30"]
    scale = cf.SquareWave(cf.Scale(["bad", "fair", "good"]), 1.0, width=1)
    assert scale.report_alphabet == cf.Integers(-1, 3)


def test_a_survey_keeps_the_width() -> None:
    values = '[alphabet]\nkind = "integers"\nlow = 0\nhigh = 99\n'
    survey = cf.parse_survey(f'name = "age"\n{values}[mechanism]\nkind = "square-wave"\nepsilon = 1\n')
    assert survey.mechanism == cf.SquareWave(cf.Integers(0, 99), 1.0)
    assert cf.Survey.from_json(survey.to_json()) == survey
    assert '"width":25' in survey.to_json()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: cf.SquareWave(cf.Categories(["a", "b"]), 1.0), "values in order.*OptimizedUnary"),
        (lambda: cf.SquareWave(cf.Integers(), 1.0), "SquareWave"),
        (lambda: cf.SquareWave(cf.Integers(0, 0), 1.0), "at least two values"),
        (lambda: cf.SquareWave(cf.Integers(0, 9), 1.0, width=10), "at most 9 steps for 10 values; got 10"),
        (lambda: cf.SquareWave(cf.Hours(), 1.0, width=12), "at most 11 steps for 24 values"),
        (lambda: cf.SquareWave(cf.Integers(0, 9), 1.0, width=-1), "width must be a whole number of at least 0; got -1"),
        (lambda: cf.SquareWave(cf.Integers(0, 9), 1.0, width=1.5), "width must be a whole number"),  # type: ignore[arg-type]
        (lambda: cf.SquareWave(cf.Integers(0, 9), 0.0), "epsilon"),
    ],
)
def test_bad_settings_are_refused(make: object, words: str) -> None:
    with pytest.raises(cf.ConfideError, match=words):
        make()  # type: ignore[operator]


def test_a_plan_knows_both() -> None:
    assert {"square-wave", "optimized-unary"} <= {one.kind for one in suiting(cf.Integers(0, 9), 1.0)}
    assert "square-wave" not in {one.kind for one in suiting(cf.Categories(["a", "b"]), 1.0)}
