"""Metrics: distances between values, one or many."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import each

from confide.errors import InvalidParameterError
from confide.values.metrics import Discrete, Euclidean, Manhattan, Metric, SumMetric

METRICS: list[Metric] = [Discrete(), Euclidean(), Euclidean(0.5), Manhattan(), Manhattan(2.0)]

points = st.tuples(st.integers(-1000, 1000), st.integers(-1000, 1000))


@pytest.mark.parametrize("metric", METRICS, ids=repr)
@given(a=points, b=points, c=points)
def test_laws_of_a_metric(metric: Metric, a: tuple[int, int], b: tuple[int, int], c: tuple[int, int]) -> None:
    assert metric.distance(a, a) == 0
    assert (metric.distance(a, b) > 0) == (a != b)
    assert metric.distance(a, b) == metric.distance(b, a)
    assert metric.distance(a, c) <= metric.distance(a, b) + metric.distance(b, c) + 1e-9


@pytest.mark.parametrize("metric", METRICS, ids=repr)
def test_many_distances_are_single_ones(metric: Metric) -> None:
    cells = np.random.default_rng(0).integers(0, 9, (6, 2))
    table = metric.between(cells[:, None], cells[None])
    assert table.shape == (6, 6)
    for x in range(6):
        for y in range(6):
            assert table[x, y] == metric.distance(tuple(cells[x].tolist()), tuple(cells[y].tolist()))


def test_known_distances() -> None:
    assert Euclidean().distance((0, 0), (3, 4)) == 5
    assert Euclidean(0.5).distance(30, 35) == 2.5
    assert Manhattan(2.0).distance((0, 0), (3, 4)) == 14
    assert Discrete().distance("red", "blue") == 1
    assert Discrete().distance("red", "red") == 0


def test_names() -> None:
    assert [str(metric) for metric in (Discrete(), Euclidean(), Manhattan())] == [
        "discrete distance",
        "Euclidean distance",
        "taxicab distance",
    ]


@each("kind", [Euclidean, Manhattan])
@each("spacing", [0, -1, float("nan"), float("inf"), "1", None, True])
def test_bad_spacings_are_refused(kind: type[Euclidean], spacing: float) -> None:
    with pytest.raises(InvalidParameterError, match=r"spacing must be a finite number above 0; got "):
        kind(spacing)


@pytest.mark.parametrize("precision", [8, 64, 300])
def test_brackets_hold_the_exact_distance_and_close_in_on_it(precision: int) -> None:
    for steps, squared in (((1, 1), 2), ((1, 2), 5), ((3, 4), 25)):
        low, high = Euclidean(0.5).bracket((0, 0), steps, precision)
        assert low**2 <= Fraction(squared, 4) <= high**2
        assert high - low <= Fraction(1, 2**precision)
        assert (low == high) == (squared == 25)
    assert Manhattan(0.5).bracket((0, 0), (3, -4), precision) == (Fraction(7, 2),) * 2
    assert Discrete().bracket((1,), (1,), precision) == (Fraction(0),) * 2
    both = SumMetric((Euclidean(), Discrete()), (1, 1)).bracket((30, 0), (32, 1), precision)
    assert both == (Fraction(3),) * 2
