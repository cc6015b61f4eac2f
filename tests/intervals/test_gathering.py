"""Reports near each other on a plane, counted as one for districts: which these are, and what answers lose by it."""

from __future__ import annotations

import numpy as np
import pytest

import confide as cf
from confide.estimates.inference import division
from confide.estimates.inference.division import gather_reports
from confide.estimates.inference.inference import Question, ask

GRID = cf.Grid(6, 5, spacing=0.5, unit="km")
PLANE = cf.PlanarLaplace(GRID, 4.0)
DECAY = PLANE.facts.decay or 0.0
PEOPLE = np.random.default_rng(2).multinomial(1000, np.random.default_rng(3).dirichlet(np.full(30, 0.3)))


def answer() -> cf.estimates.Estimate:
    """Return the estimate from points that are all distinct."""
    values = GRID.decode(np.repeat(np.arange(30), PEOPLE))
    return cf.estimate(cf.tally(PLANE.privatize(values, rng=1)), PLANE, cf.MLE())


def test_reports_in_one_square_are_one_and_as_likely_as_on_average(monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.array([[0.125, 0.25], [0.375, 0.125], [0.625, 0.25], [3.0, 3.0]])
    evidence = PLANE.observe(cf.tally(points, counts=[2, 4, 1, 1]))
    monkeypatch.setattr(division, "ENOUGH", 119)  # of 30 cells and 4 reports
    few, side = gather_reports(evidence, points, 0.25) or (evidence, 0.0)
    assert side == 0.5
    assert few.counts.tolist() == [6, 1, 1]
    matrix = evidence.channel.dense()
    np.testing.assert_allclose(few.channel.dense()[:, 0], 2 * matrix[:, 0] + 4 * matrix[:, 1])
    np.testing.assert_allclose(few.channel.dense()[:, 2], matrix[:, 3])


def test_squares_are_as_small_as_make_outputs_few_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    found = answer()
    evidence, points = found._inference.evidence, found.groups[PLANE].reports
    assert gather_reports(evidence, points, DECAY) is None  # few enough as they are
    sides, sizes = [], []
    for enough in (29_000, 16_000, 1):
        monkeypatch.setattr(division, "ENOUGH", enough)
        few, side = gather_reports(evidence, points, DECAY) or (evidence, 0.0)
        sides.append(side * DECAY)
        sizes.append(few.channel.shape[1])
    assert sides == [0.125, 0.5, 1.0]  # the last is as wide as they may get
    assert sizes[0] * 30 <= 29_000
    assert sizes[1] * 30 <= 16_000
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.slow
def test_districts_say_that_reports_were_gathered_and_hardly_change(monkeypatch: pytest.MonkeyPatch) -> None:
    found = answer()
    exact = found.windows()
    assert not exact.remark
    monkeypatch.setattr(division, "ENOUGH", 20_000)
    coarse = answer().windows()
    assert coarse.headline.endswith("Reports in one square, 0.25 of a cell wide, count as one here.")
    gathered = answer()._gathered
    assert gathered is not None
    both = [gathered[0], found._inference]
    for members in exact.members:
        asked = np.isin(np.arange(30), members).astype(float)
        near, right = ask([(one, Question("query", asked)) for one in both], 0.95)
        assert (near.low, near.high) == pytest.approx((right.low, right.high), abs=0.1 * right.width)


def test_queries_are_answered_from_reports_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = answer().query("row < 2")
    monkeypatch.setattr(division, "ENOUGH", 20_000)
    assert answer().query("row < 2") == exact
