"""Pictures of certainty: intervals end where they should, and residuals have the sign and place of their output."""

from __future__ import annotations

import numpy as np
import pytest

import confide as cf
from confide.figures import draw_residuals, draw_windows
from confide.intervals import Interval

pytest.importorskip("matplotlib")


def test_windows_show_both_ends_and_the_reports_beside() -> None:
    answers = [Interval("age in 0..9", 0.3, 0.1, 0.6, 0.9, ""), Interval("age in 10..19", 0.7, 0.4, 0.8, 0.9, "")]
    axes = draw_windows(answers, np.array([0.45, 0.55])).axes[0]
    (bars,) = [one for one in axes.containers if hasattr(one, "has_xerr")]
    ends = [segment[:, 0].tolist() for segment in bars.lines[2][0].get_segments()]  # type: ignore[attr-defined]
    assert ends == [pytest.approx([0.1, 0.6]), pytest.approx([0.4, 0.8])]
    assert [patch.get_width() for patch in axes.patches] == [0.45, 0.55]  # type: ignore[attr-defined]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["age in 0..9", "age in 10..19"]
    assert axes.get_xlim()[1] > 0.8
    assert not draw_windows(answers).axes[0].patches


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
