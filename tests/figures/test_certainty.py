"""Pictures of certainty: intervals end where they should, and residuals have the sign and place of their output."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import confide as cf
from confide.estimates.inference import Interval, Windows
from confide.present.figures import Panel, draw_distributions, draw_residuals, draw_windows, style
from confide.present.figures.certainty import draw_series
from confide.present.figures.shares import tells
from confide.present.figures.style import Role

pytest.importorskip("matplotlib")


def windows(alphabet: cf.Alphabet, members: list[list[int]], ends: list[tuple[float, float, float]]) -> Windows:
    answers = tuple(Interval(f"w{place}", *one, 0.95, "") for place, one in enumerate(ends))
    places = tuple(np.array(one) for one in members)
    return Windows(alphabet, places, tuple(one.question for one in answers), answers, 0.5, 0.95)


def test_boxes_reach_from_the_lower_to_the_upper_end_over_the_values_of_a_window() -> None:
    found = windows(cf.Integers(10, 19), [[0, 1, 2, 3], [4, 5, 6, 7, 8, 9]], [(0.4, 0.2, 0.6), (0.6, 0.48, 0.72)])
    curve = np.full(10, 0.1)
    axes = draw_windows(found, curve, name="age", truth=curve).axes[0]
    truth, boxes, line = axes.patches
    data = boxes.get_data()  # type: ignore[attr-defined]
    np.testing.assert_allclose(data.edges, [9.5, 13.5, 19.5])
    np.testing.assert_allclose(data.values, [0.15, 0.12])
    np.testing.assert_allclose(data.baseline, [0.05, 0.08])
    assert (truth.get_fill(), line.get_fill()) == (True, False)  # the truth behind, the curve in front
    texts = [one.get_text() for one in axes.texts]
    assert texts == ["48 to 72%", "60%", "20 to 60%", "40%"]
    assert axes.get_ylabel() == "share of people, per value"
    assert axes.get_ylim()[1] > 0.15


def test_labels_do_not_overlap_and_the_fullest_go_first() -> None:
    members = [[place] for place in range(40)]
    found = windows(cf.Integers(0, 39), members, [(0.025, 0.02, 0.03)] * 20 + [(0.025, 0.02, 0.03 + 0.02)] * 20)
    texts = draw_windows(found, np.full(40, 0.025)).axes[0].texts
    assert 5 <= len([one for one in texts if " " not in one.get_text()]) < 30


@pytest.mark.parametrize("width", [style.WIDE, style.MIDDLE, style.NARROW])
def test_letters_of_labels_do_not_touch(width: float) -> None:
    """By the letters as they are drawn: no two labels overlap, nor does one with the curve or the end of the axis."""
    edges = np.array([0, 17, 23, 27, 33, 39, 45, 51, 58, 66, 71, 75, 100])
    shares = np.array([0.011, 0.105, 0.11, 0.152, 0.159, 0.146, 0.12, 0.094, 0.066, 0.02, 0.009, 0.008])
    members = [list(range(low, high)) for low, high in pairwise(edges.tolist())]
    found = windows(cf.Integers(0, 99), members, [(one, 0.7 * one, 1.3 * one) for one in shares.tolist()])
    curve = np.repeat(shares / np.diff(edges), np.diff(edges))
    figure = draw_windows(found, curve, width=width)
    figure.draw_without_rendering()
    boxes = [one.get_window_extent() for one in figure.axes[0].texts]
    assert len(boxes) >= 8
    for place, one in enumerate(boxes):
        assert not any(one.shrunk(0.98, 0.98).overlaps(other.shrunk(0.98, 0.98)) for other in boxes[place + 1 :])
        ends = figure.axes[0].transData.inverted().transform(one.get_points())
        below = curve[max(0, int(np.ceil(ends[0, 0]))) : int(ends[1, 0]) + 1]
        assert ends[0, 1] >= below.max(initial=0.0) - 1e-9
        assert one.x1 <= figure.bbox.x1


def test_a_share_is_written_only_into_a_district_that_has_room() -> None:
    """Five cells in a row have room for one line, a single cell has none."""
    grid = cf.Grid(20, 20)
    strip, single = [0, 1, 2, 3, 4], [399]
    rest = [place for place in range(400) if place not in (*strip, *single)]
    found = windows(grid, [strip, rest, single], [(0.2, 0.1, 0.3), (0.7, 0.6, 0.8), (0.1, 0.0, 0.2)])
    texts = draw_windows(found, np.full(400, 0.0025)).axes[1].texts
    assert [one.get_text() for one in texts] == ["20% ±10", "70%\n±10"]
    assert texts[0].get_position() == pytest.approx((1.5, 0.0), abs=0.3)


def test_districts_are_outlined_and_the_second_map_has_how_far_they_may_be_off() -> None:
    grid = cf.Grid(4, 4, holes=[(3, 2)])
    members = [[0, 1, 4, 5, 8, 9, 12, 13], [2, 3, 6, 7, 10, 11, 14]]
    found = windows(grid, members, [(0.8, 0.6, 0.9), (0.2, 0.1, 0.4)])
    for width in (style.WIDE, style.NARROW):
        estimate, doubt = draw_windows(found, np.full(15, 1 / 15), width=width).axes[:2]
        drawn = doubt.images[0].get_array().filled(-1)  # type: ignore[union-attr]
        np.testing.assert_allclose(drawn[0], [0.25, 0.25, 0.2 / (7 / 15), 0.2 / (7 / 15)])
        assert drawn[3, 2] == -1
        assert [one.get_text() for one in doubt.texts] == ["80%\n±20", "20%\n±20"]
        segments = estimate.collections[-1].get_segments()  # type: ignore[attr-defined]
        assert len(segments) == 3  # a border of four cells, of which one is a hole's
        assert {tuple(point) for one in segments for point in one.tolist()} == {(1.5, y) for y in (-0.5, 0.5, 1.5, 2.5)}


def test_values_without_an_order_have_a_line_each_and_the_reports_beside() -> None:
    found = windows(cf.Categories(["a", "b", "c"]), [[0], [1], [2]], [(0.3, 0.1, 0.6), (0.7, 0.4, 0.8), (0, 0, 0.1)])
    axes = draw_windows(found, np.array([0.3, 0.7, 0.0]), noisy=np.array([0.45, 0.35, 0.2])).axes[0]
    (bars,) = [one for one in axes.containers if hasattr(one, "has_xerr")]
    ends = [segment[:, 0].tolist() for segment in bars.lines[2][0].get_segments()]  # type: ignore[attr-defined]
    assert ends == [pytest.approx([0.1, 0.6]), pytest.approx([0.4, 0.8]), pytest.approx([0, 0.1])]
    assert [patch.get_width() for patch in axes.patches] == [0.45, 0.35, 0.2]  # type: ignore[attr-defined]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["w0", "w1", "w2"]
    assert axes.get_xlim()[1] > 0.8
    assert not draw_windows(found, np.array([0.3, 0.7, 0.0])).axes[0].patches


def test_a_band_is_drawn_only_where_it_says_something() -> None:
    shares = np.array([0.1, 0.1, 0.1, 0.01, 0.1])
    low, high = shares * 0.5, shares * 1.5
    high[3], high[1] = 0.9, 0.15
    assert tells(shares, low, high).tolist() == [True, True, True, False, False]  # the last would stand alone
    panel = Panel("IBU", shares, band=(low, high))
    axes = draw_distributions(cf.Integers(0, 4), [panel]).axes[0]
    band = axes.patches[0].get_data()  # type: ignore[attr-defined]
    np.testing.assert_allclose(band.values, [0.15, 0.15, 0.15, np.nan, np.nan])
    assert axes.get_ylim()[1] < 0.2


@pytest.mark.parametrize("outputs", [cf.Integers(3, 5), cf.Grid(1, 3), cf.Categories(["a", "b", "c"])])
def test_residuals_are_drawn_where_they_are(outputs: cf.Alphabet) -> None:
    axes = draw_residuals(outputs, np.array([-3.0, np.nan, 6.0])).axes[0]
    if isinstance(outputs, cf.Grid):
        assert axes.images[0].get_array().filled(0).tolist() == [[-3.0, 0.0, 6.0]]  # type: ignore[union-attr]
        assert axes.images[0].get_clim() == (-6.0, 6.0)
    elif isinstance(outputs, cf.Integers):
        more, less = (one.get_data().values.tolist() for one in axes.patches[-2:])  # type: ignore[attr-defined]
        assert (more, less) == ([0.0, 0.0, 6.0], [-3.0, 0.0, 0.0])
        assert axes.get_ylim()[1] > 6
    else:
        assert [patch.get_width() for patch in axes.patches[-3:]] == [-3.0, 0.0, 6.0]  # type: ignore[attr-defined]


def test_districts_are_shaded_by_their_share_and_numbered_from_the_fullest() -> None:
    grid = cf.Grid(4, 4)
    halves = [[0, 1, 4, 5, 8, 9, 12, 13], [2, 3, 6, 7, 10, 11, 14, 15]]
    found = windows(grid, halves, [(0.2, 0.1, 0.3), (0.8, 0.7, 0.9)])
    uneven = np.array([0.05, 0.0, 0.4, 0.0] * 4) / 1.8
    first, second, *_ = draw_windows(found, uneven).axes
    shaded = np.asarray(first.images[0].get_array())
    np.testing.assert_allclose(shaded[:, :2], 0.025)
    np.testing.assert_allclose(shaded[:, 2:], 0.1)
    assert [one.get_text() for one in first.texts] == ["2", "1"]
    assert [one.get_position()[0] < 1.5 for one in first.texts] == [True, False]
    assert [one.get_text() for one in second.texts] == ["20%\n±10", "80%\n±10"]
    assert found.names == ("district 2 (w0)", "district 1 (w1)")
    assert windows(cf.Integers(0, 3), [[0, 1], [2, 3]], [(0.5, 0.4, 0.6)] * 2).names == ("w0", "w1")


def test_the_curve_of_a_group_is_faded_without_a_band() -> None:
    shares = np.full(10, 0.1)
    panel = Panel("Oslo", shares, reference=shares, reference_role=Role.ESTIMATE)
    bare, banded = (
        draw_distributions(cf.Integers(0, 9), [replace(panel, band=band)])
        for band in (None, (0.9 * shares, 1.1 * shares))
    )
    assert (bare.axes[0].patches[-1].get_alpha() or 1.0) < 1.0
    assert banded.axes[0].patches[-1].get_alpha() is None


def test_a_curve_is_faded_where_its_band_says_nothing() -> None:
    curve = np.array([0.1, 0.3, 0.3, 0.2, 0.1])
    band = (np.array([0.0, 0.25, 0.25, 0.0, 0.0]), np.array([0.9, 0.35, 0.35, 0.9, 0.9]))
    axes = draw_distributions(cf.Integers(0, 4), [Panel("Stacked", curve, band=band)]).axes[0]
    _, whole, sure = axes.patches
    assert (whole.get_alpha() or 1.0) < 1.0
    seen = np.asarray(sure.get_data().values)  # type: ignore[attr-defined]
    np.testing.assert_allclose(seen, np.array([np.nan, 0.3, 0.3, np.nan, np.nan]))
    assert sure.get_alpha() is None
    known = draw_distributions(cf.Integers(0, 4), [Panel("Stacked", curve, band=(curve - 0.01, curve + 0.01))])
    assert [one.get_alpha() for one in known.axes[0].patches] == [style.BAND_ALPHA, None]


def test_answers_over_time_are_a_line_within_its_band() -> None:
    figure = style.new_figure(style.MIDDLE, 2.6)
    answers = {f"2026-W{week:02d}": Interval("mean", week, week - 2, week + 1, 0.95, "") for week in range(1, 31)}
    axes = figure.add_subplot()
    draw_series(axes, answers)
    np.testing.assert_allclose(np.asarray(axes.lines[0].get_ydata(), dtype=float), np.arange(1.0, 31.0))
    outline = np.asarray(axes.collections[0].get_paths()[0].vertices)
    assert {(0.0, -1.0), (0.0, 2.0), (29.0, 28.0), (29.0, 31.0)} <= {tuple(point) for point in outline.tolist()}
    labels = [one.get_text() for one in axes.get_xticklabels()]
    assert labels[0] == "2026-W01"
    assert 3 <= len(labels) <= 8
    assert axes.get_ylabel() == "mean"


@pytest.mark.parametrize("width", [style.WIDE, style.MIDDLE, style.NARROW])
def test_edges_of_bins_have_room_beside_each_other(width: float) -> None:
    edges = [*range(0, 100_001, 10_000), 150_000, 200_000]
    found = windows(cf.Bins(edges=edges, unit="dollar"), [[*range(6)], [*range(6, 12)]], [(0.5, 0.4, 0.6)] * 2)
    figure = draw_windows(found, np.full(12, 1 / 12), width=width)
    figure.draw_without_rendering()
    boxes = [one.get_window_extent() for one in figure.axes[0].get_xticklabels() if one.get_text()]
    assert len(boxes) >= 3
    assert all(one.x1 < other.x0 for one, other in pairwise(boxes))
