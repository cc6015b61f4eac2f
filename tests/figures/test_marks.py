"""What is drawn is what was given: bands, whiskers, sums, directions and gaps, each where it belongs."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.patches import StepPatch

import confide as cf
from confide.present.figures import Panel, draw_classes, draw_distributions, draw_path, draw_ranges


def test_a_band_fills_from_its_low_to_its_high_end() -> None:
    low, shares, high = np.array([0.1, 0.2, 0.3]), np.array([0.2, 0.3, 0.5]), np.array([0.4, 0.5, 0.6])
    figure = draw_distributions(cf.Integers(0, 2), [Panel("IBU", shares, band=(low, high))])
    filled, line = (patch for patch in figure.axes[0].patches if isinstance(patch, StepPatch))
    assert filled.get_data()[0].tolist() == high.tolist()
    assert np.asarray(filled.get_data()[2]).tolist() == low.tolist()
    assert line.get_data()[0].tolist() == shares.tolist()


def test_whiskers_reach_from_low_to_high() -> None:
    low, shares, high = np.array([0.1, 0.2]), np.array([0.3, 0.7]), np.array([0.35, 0.9])
    figure = draw_distributions(cf.Categories(["a", "b"]), [Panel("IBU", shares, band=(low, high))])
    whiskers = next(one for one in figure.axes[0].collections if isinstance(one, LineCollection))
    ends = [sorted(segment[:, 0].tolist()) for segment in whiskers.get_segments()]
    assert np.array(ends) == pytest.approx(np.column_stack([low, high]))


def test_categories_without_a_bar_of_their_own_are_summed() -> None:
    shares = np.arange(25.0) / 300
    axes = draw_distributions(cf.Categories([f"c{place}" for place in range(25)]), [Panel("IBU", shares)]).axes[0]
    labels = [label.get_text() for label in axes.get_yticklabels()]
    widths = [patch.get_width() for patch in axes.patches]  # type: ignore[attr-defined]
    assert (labels[0], labels[-1], len(labels)) == ("c24", "6 others", 20)
    assert widths[0] == pytest.approx(24 / 300)
    assert widths[-1] == pytest.approx(sum(range(6)) / 300)


def test_neighbours_that_share_a_step_are_averaged() -> None:
    shares = np.repeat([0.0, 1.0], 700) / 700
    axes = draw_distributions(cf.Integers(0, 1399), [Panel("IBU", shares)]).axes[0]
    heights = next(patch for patch in axes.patches if isinstance(patch, StepPatch)).get_data()[0]
    assert heights.max() == pytest.approx(1 / 700)
    assert "means of 3 neighbours" in axes.get_xlabel()


@pytest.mark.parametrize("size", [600, 601, 1200, 1301])
def test_a_step_is_the_mean_of_the_values_that_it_covers_the_last_one_too(size: int) -> None:
    shares = np.random.default_rng(size).dirichlet(np.ones(size))
    axes = draw_distributions(cf.Integers(5, size + 4), [Panel("IBU", shares)]).axes[0]
    heights, edges, _ = next(patch for patch in axes.patches if isinstance(patch, StepPatch)).get_data()
    width = -(-size // 600)
    starts = range(0, size, width)
    assert heights.tolist() == pytest.approx([float(np.mean(shares[one : one + width])) for one in starts])
    assert edges.tolist() == [*(one + 4.5 for one in starts), size + 4.5]


def test_south_is_down_and_west_is_left_on_every_map() -> None:
    shares = np.array([0.7, 0.1, 0.1, 0.1])  # most people in the south-west
    for figure in (
        draw_distributions(cf.Grid(2, 2), [Panel("IBU", shares)]),
        draw_classes(cf.Grid(2, 2), np.array([0, 1, 1, 2])),
    ):
        image = figure.axes[0].get_images()[0]
        assert image.origin == "lower"
        assert list(image.get_extent()) == [-0.5, 1.5, -0.5, 1.5]
    picture = draw_distributions(cf.Grid(2, 2), [Panel("IBU", shares)]).axes[0].get_images()[0].get_array()
    assert np.asarray(picture)[0, 0] == 0.7


def test_a_path_lies_between_least_and_most() -> None:
    lines = draw_path({"IBU": [-30.0, -20.0, -19.0]}, ceiling=-18.0).axes[0].get_lines()
    heights = {str(line.get_label()): np.asarray(line.get_ydata()) for line in lines}
    assert heights["IBU, at most"].tolist() == [12.0, 2.0, 1.0]
    assert heights["IBU, at least"][:2].tolist() == [11.0, 1.0]


def test_a_range_begins_at_the_lowest_share() -> None:
    low, high = np.array([0.1, 0.2, 0.3]), np.array([0.4, 0.2, 0.9])
    upright = draw_ranges(cf.Integers(1, 3), low, high).axes[0].patches
    assert [one.get_y() for one in upright] == low.tolist()  # type: ignore[attr-defined]
    assert upright[0].get_height() == pytest.approx(0.3)  # type: ignore[attr-defined]
    lying = draw_ranges(cf.Categories(["a", "b", "c"]), low, high).axes[0]
    assert [one.get_x() for one in lying.patches] == low.tolist()  # type: ignore[attr-defined]
    assert [text.get_text() for text in lying.texts] == ["10% to 40%", "20%", "30% to 90%"]
