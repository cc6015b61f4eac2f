"""The trade-off, drawn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.plans.test_records import given

import confide as cf
from confide.errors import InvalidParameterError
from confide.plans import Answer, Curve, Prediction
from confide.present.figures import draw_tradeoff, to_svg

pytest.importorskip("matplotlib")

SHARES = [0.4, 0.3, 0.2, 0.1]


def make(mechanism: Any, **asked: Any) -> cf.plans.Plan:
    settings: dict[str, Any] = {"people": 400, "repeats": 4, "cache": False, "method": cf.IBU()} | asked
    return cf.plan(mechanism, SHARES, **settings)


def legend(plan: cf.plans.Plan) -> list[str]:
    drawn = draw_tradeoff(plan).axes[0].get_legend()
    assert drawn is not None
    return [label.get_text() for label in drawn.get_texts()]


def test_curves_have_error_bars_units_and_a_ring() -> None:
    plan = make(cf.TruncatedGeometric(cf.Integers(0, 3, unit="year"), epsilon=1.0))
    people, epsilon = draw_tradeoff(plan).axes
    assert (people.get_xscale(), people.get_yscale(), epsilon.get_xscale()) == ("log", "log", "log")
    assert people.get_ylabel() == "expected EMD (years)"
    assert epsilon.get_xlabel() == "epsilon, per year"
    assert len(people.containers[0].get_children()) > 1
    assert legend(plan) == ["the plan", "truncated-geometric"]


def marks(axes: Any) -> dict[str, list[tuple[float, float]]]:
    """Return where the marks of axes stand: rings, which are hollow and alone, and points."""
    lines = [(line, list(zip(*map(np.asarray, line.get_data()), strict=True))) for line in axes.lines]
    rings = [one for line, points in lines if line.get_marker() == "o" and len(points) == 1 for one in points]
    points = [one for line, points in lines if line.get_marker() == "o" and len(points) > 1 for one in points]
    return {"rings": rings, "points": points}


def bars(axes: Any) -> list[list[float]]:
    """Return the ends of error bars, low and high."""
    found = [segment for one in axes.containers for lines in one[2] for segment in lines.get_segments()]
    upright = found[0][0][0] == found[0][1][0]
    return [sorted(float(end[int(upright)]) for end in segment) for segment in found]


def test_every_mark_stands_where_its_number_is() -> None:
    """The plan is no end of a curve, and no number is like another: a mark elsewhere shows."""
    plan = given()
    people, epsilon = draw_tradeoff(plan).axes
    for axes, curve, here in ((people, plan.by_people, plan.people), (epsilon, plan.by_epsilon, plan.epsilon)):
        assert curve is not None
        found, expected = marks(axes), [(place, one.mean) for place, one in curve.points.items()]
        assert found["rings"] == [(here, plan.prediction.mean)]
        assert found["points"] == expected
        margins = [[one.mean - one.margin, one.mean + one.margin] for one in curve.predictions]
        np.testing.assert_allclose(bars(axes), margins)
        assert [label.get_text() for label in axes.get_xticklabels()] == [f"{place:,.6g}" for place in curve.places]
    target = given(answer=Answer("people", 0.37, 400.0, 312.4, 512.6))
    for axes in draw_tradeoff(target).axes[:2]:
        level = next(line for line in axes.lines if line.get_linestyle() == "--")
        assert set(np.asarray(level.get_ydata()).tolist()) == {0.37}


def test_a_target_is_drawn_and_the_drawing_is_the_same_again() -> None:
    plan = given(answer=Answer("people", 0.2, 400.0, 312.4, 512.6))
    assert "target" in legend(plan)
    assert to_svg(draw_tradeoff(plan)) == to_svg(draw_tradeoff(plan))


def test_the_range_over_shapes_is_a_band() -> None:
    plan = cf.plan(
        cf.TruncatedGeometric(cf.Integers(0, 3), 1.0),
        people=400,
        repeats=4,
        cache=False,
        method=cf.IBU(),
    )
    people, epsilon = draw_tradeoff(plan).axes
    assert legend(plan) == ["range over all shapes", "the plan", f"worst shape: {plan.guess.name}"]
    for axes, along in ((people, "by_people"), (epsilon, "by_epsilon")):
        corners = np.asarray(axes.collections[0].get_paths()[0].vertices)[:, 1]
        means = [point.mean for one in plan.outlooks for point in getattr(one, along).predictions]
        assert corners.min() == pytest.approx(min(means))
        assert corners.max() == pytest.approx(max(means))
        assert len([line for line in axes.lines if line.get_alpha()]) == len(plan.outlooks)


def test_without_epsilon_one_curve_is_left() -> None:
    matrix = cf.FromMatrix(
        cf.Integers(0, 3), [[0.7, 0.1, 0.1, 0.1], [0.1, 0.7, 0.1, 0.1], [0.1, 0.1, 0.7, 0.1], [0.1] * 3 + [0.7]]
    )
    assert len(draw_tradeoff(make(matrix)).axes) == 1


def test_an_error_of_nothing_has_no_place_on_the_axis() -> None:
    plan = make(cf.TruncatedGeometric(cf.Integers(0, 3), epsilon=1.0))
    nothing = Curve("people", (400.0, 1600.0), (Prediction(0.0, 0.0, 4), Prediction(0.0, 0.0, 4)))
    with pytest.raises(InvalidParameterError, match="no trade-off"):
        draw_tradeoff(replace(plan, by_people=nothing))
