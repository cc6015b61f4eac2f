"""Ends under a peak that may be anywhere: they hold those of every place that explains the reports, and cost little."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from confide import MLE, Integers, TruncatedGeometric, estimate
from confide.channels.base import FloatArray
from confide.estimates import Estimate, Likelihood
from confide.estimates.inference import region as module
from confide.estimates.inference.inference import Inference, Question, ask
from confide.estimates.inference.region import PathPoints, Region, find_points

LINE = TruncatedGeometric(Integers(0, 11), 0.12)
PEOPLE = np.round(3000 * np.exp(-(((np.arange(12) - 5) / 3) ** 2))).astype(int)
QUESTIONS = ("x >= 8", "x < 3", "x in 4..6")


@pytest.fixture(name="answer")
def make_answer() -> Estimate:
    return estimate(LINE.simulate_counts(PEOPLE, rng=5), LINE, MLE(), shape="one peak")


def places_of(answer: Estimate) -> list[Inference]:
    """Return what is inferred for each place of the peak by itself."""
    held = answer._inference
    return [replace(held, rivals=()), *held.near_rivals(0.95, Likelihood())]


@pytest.mark.slow
def test_ends_are_the_outermost_of_all_places(answer: Estimate) -> None:
    every = places_of(answer)
    assert len(every) > 3
    for question, found in zip(QUESTIONS, answer.queries(QUESTIONS), strict=True):
        each = ask([(one, Question("query", question)) for one in every], 0.95)
        ends = min(one.low for one in each), max(one.high for one in each)
        assert (found.low, found.high) == pytest.approx(ends, abs=1e-4 * found.width)
    band, bands = answer.interval(), [one.band(0.95, Likelihood()) for one in every]
    np.testing.assert_allclose(band.low, np.min([one.low for one in bands], axis=0), atol=1e-5)
    np.testing.assert_allclose(band.high, np.max([one.high for one in bands], axis=0), atol=1e-5)
    mean, means = answer.mean(), ask([(one, Question("mean")) for one in every], 0.95)
    assert mean.high == pytest.approx(max(one.high for one in means), abs=1e-4)


@pytest.mark.slow
def test_places_that_move_no_end_take_one_point_of_a_path(answer: Estimate, monkeypatch: pytest.MonkeyPatch) -> None:
    points: list[int] = []

    def count(asked: Sequence[tuple[Region, FloatArray, float]]) -> PathPoints:
        points.append(len(asked))
        return find_points(asked)

    monkeypatch.setattr(module, "find_points", count)
    answer.queries(QUESTIONS)
    together = sum(points)
    points.clear()
    ask([(one, Question("query", question)) for one in places_of(answer) for question in QUESTIONS], 0.95)
    assert together < 0.55 * sum(points)
