"""Distributions over whole numbers: steps on a common axis."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from confide.alphabets import Integers
from confide.figures import style
from confide.figures.panels import FloatArray, Panel, Role, share_label
from confide.wording import plural, with_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_STEPS = 600
"""More steps than this cannot be told apart in a panel; neighbours are averaged instead."""

HEADROOM = 2.0
"""The common axis reaches this many times the peak of the truth; the few peaks above it are cut and labelled."""

MOST_CUT = 0.1
"""A panel with more than this share of its steps outside the common axis gets an axis of its own."""


@dataclass(frozen=True, eq=False)
class Line:
    """How panels over whole numbers are drawn."""

    alphabet: Integers
    panels: tuple[Panel, ...]
    name: str

    columns = 3
    size = (3.8, 2.5)

    def draw(self, axes: Axes, panel: Panel, color: str) -> None:
        """Draw one panel into empty axes."""
        from matplotlib.ticker import MaxNLocator

        edges = self._edges
        if panel.band is not None:
            low, high = (self._average(end) for end in panel.band)
            axes.stairs(high, edges, baseline=low, fill=True, color=color, alpha=style.BAND_ALPHA, linewidth=0)
        for layer, is_truth in _layers(panel):
            _add_steps(axes, self._average(layer), edges, None if is_truth else color)
        # A little air, or the outline of a peak at either end is half cut off.
        air = 0.006 * (edges[-1] - edges[0])
        axes.set_xlim(edges[0] - air, edges[-1] + air)
        axes.set_ylim(*self._limits(panel))
        axes.grid(visible=False, axis="x")
        axes.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True, steps=[1, 2, 5, 10]))
        style.show_percent(axes.yaxis)
        axes.set_xlabel(self._value_label())
        axes.set_ylabel(share_label(panel.role))
        self._remark(axes, panel, color)

    def add_key(self, figure: Figure, axes: list[Axes]) -> None:  # noqa: ARG002  every scene has this signature
        """Name the grey, where some panel shows the truth behind."""
        if any(panel.reference is not None for panel in self.panels):
            style.name_reference(figure)

    def draw_key(self) -> Figure | None:
        """Return None: axes say all there is to say."""
        return None

    def _remark(self, axes: Axes, panel: Panel, color: str) -> None:
        """Say what does not meet the eye: an axis unlike the others', peaks that were cut."""
        if panel.trough < 0:
            axes.axhline(0, color=style.INK, linewidth=0.8)
        if not self._fits(panel):
            axes.text(0.99, 1.0, "an axis of its own", transform=axes.transAxes, ha="right", va="bottom", color=color)
        highest = 0.0 if panel.band is None else float(self._average(panel.band[1]).max())
        if highest > axes.get_ylim()[1]:
            words = f"↑ band up to {_rough_percent(highest)}"
            axes.text(0.99, 0.98, words, transform=axes.transAxes, ha="right", va="top", color=color, fontsize=9)
        self._label_cut_peaks(axes, self._average(panel.distribution), color)

    def _label_cut_peaks(self, axes: Axes, heights: FloatArray, color: str) -> None:
        top = axes.get_ylim()[1]
        labelled: list[int] = []
        for step in np.argsort(-heights, kind="stable"):
            if heights[step] <= top:
                return
            # A lower peak beside a higher one goes without a number, for the two would overlap.
            if all(abs(int(step) - other) > 0.16 * heights.size for other in labelled):
                labelled.append(int(step))
                is_left = _has_room(heights, int(step), top)
                _label_peak(axes, self._edges[step : step + 2], _rough_percent(heights[step]), color, is_left=is_left)

    @cached_property
    def _common_top(self) -> float:
        """Where the common axis ends: above all peaks, unless some dwarf the truth, or the lowest estimate."""
        truths = [panel.distribution for panel in self.panels if panel.role is Role.TRUTH]
        references = [panel for panel in self.panels if panel.reference_role is Role.TRUTH]
        truths += [panel.reference for panel in references if panel.reference is not None]
        estimates = [panel.distribution for panel in self.panels if panel.role is Role.ESTIMATE]
        measure = truths or estimates or [panel.distribution for panel in self.panels]
        lowest = min(float(self._average(one).max()) for one in measure)
        drawn = [panel.distribution if panel.band is None else panel.band[1] for panel in self.panels]
        highest = max(float(self._average(one).max()) for one in drawn)
        return max(min(highest, HEADROOM * lowest), 1e-12)

    def _fits(self, panel: Panel) -> bool:
        heights = self._average(panel.distribution)
        outside = (heights > self._common_top) | (heights < -0.5 * self._common_top)
        return int(outside.sum()) <= max(2, MOST_CUT * heights.size)

    def _limits(self, panel: Panel) -> tuple[float, float]:
        if not self._fits(panel):
            return 1.06 * panel.trough, 1.06 * panel.peak
        bottom = min(other.trough for other in self.panels if self._fits(other))
        return max(1.06 * bottom, -0.5 * self._common_top), 1.06 * self._common_top

    @property
    def _width(self) -> int:
        """How many values one step covers."""
        return -(-self.alphabet.size // MOST_STEPS)

    @cached_property
    def _edges(self) -> FloatArray:
        """Where steps begin and end."""
        starts = np.arange(0, self.alphabet.size, self._width)
        return np.append(starts, self.alphabet.size) + int(self.alphabet.decode(0)) - 0.5

    def _average(self, distribution: FloatArray) -> FloatArray:
        if self._width == 1:
            return distribution
        starts = np.arange(0, distribution.size, self._width)
        sizes = np.diff(np.append(starts, distribution.size))
        return np.asarray(np.add.reduceat(distribution, starts) / sizes)

    def _value_label(self) -> str:
        unit, spacing = self.alphabet.unit, self.alphabet.spacing
        label = self.name
        if spacing != 1:
            label += f" (in steps of {with_unit(spacing, unit)})"
        elif unit and plural(unit) not in self.name:
            label += f" ({plural(unit)})"
        return label if self._width == 1 else f"{label}; means of {self._width:,} neighbours"


def _layers(panel: Panel) -> list[tuple[FloatArray, bool]]:
    """Return what is drawn from back to front, and whether it is the truth."""
    reference = [] if panel.reference is None else [(panel.reference, True)]
    return [*reference, (panel.distribution, panel.role is Role.TRUTH)]


def _add_steps(axes: Axes, heights: FloatArray, edges: FloatArray, color: str | None) -> None:
    """Draw a coloured outline, or the truth's grey area where no colour is given."""
    if color is None:
        axes.stairs(heights, edges, fill=True, facecolor=style.TRUTH, edgecolor="none")
    else:
        axes.stairs(heights, edges, edgecolor=color, linewidth=1.6)


def _rough_percent(share: float) -> str:
    return f"{100 * share:.2g}%" if share < 0.995 else f"{100 * share:,.0f}%"


def _has_room(heights: FloatArray, step: int, top: float) -> bool:
    """Whether the left of a cut peak is the better place for its label: the right is the end, or more crowded."""
    reach = max(1, int(0.2 * heights.size))
    left, right = heights[max(0, step - reach) : step], heights[step + 1 : step + 1 + reach]
    if left.size < reach or right.size < reach:
        return left.size >= reach
    return int((left > 0.9 * top).sum()) < int((right > 0.9 * top).sum())


def _label_peak(axes: Axes, edges: FloatArray, text: str, color: str, *, is_left: bool) -> None:
    place = (float(edges[0]), "right", -3) if is_left else (float(edges[1]), "left", 3)
    axes.annotate(
        f"↑ {text}",
        (place[0], axes.get_ylim()[1]),
        (place[2], -2),
        textcoords="offset points",
        ha=place[1],
        va="top",
        fontsize=9,
        color=color,
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1},
    )
