"""Distributions on axes: steps over whole numbers, bars over categories, and the range of each share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from confide.alphabets import Alphabet, Indices, Integers
from confide.errors import InvalidDistributionError
from confide.figures import style
from confide.figures.panels import FloatArray, Panel, Role, share_label
from confide.intervals import Interval, Windows
from confide.wording import plural, with_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# More steps than this cannot be told apart in a panel of 3.8 inches; neighbours are averaged instead.
MOST_STEPS = 600
# More bars than this make a panel taller than a screen; only the largest are shown, and the rest as one.
MOST_BARS = 20
LONGEST_LABEL = 22
# The common axis reaches this many times the peak of the truth; the few peaks above it are cut and labelled. A panel
# with more than this share of its steps outside gets an axis of its own.
HEADROOM, MOST_CUT = 2.0, 0.1
# Part of the axis that the label of a window takes, and by which it may stand above its box, or past the end.
LABEL_HEIGHT, FAR, EDGE = 0.17, 0.12, 0.04
# Points that a letter of the two lines of a label takes, about, and the air beside it; part of a figure that is axes.
BOLD, PLAIN, AIR, AXIS_PART = 6.4, 4.5, 5.0, 0.82
# Ticks that have a label each, and letters of labels that stand beside each other on an inch of the figure.
MOST_TICKS, LETTERS_AN_INCH = 10, 9


@dataclass(frozen=True, eq=False)
class AxesScene:
    """Panels whose axes say all there is to say: the grey of the truth alone needs a name."""

    alphabet: Alphabet
    panels: tuple[Panel, ...]
    name: str

    columns = 3

    def add_key(self, figure: Figure, axes: list[Axes]) -> None:  # noqa: ARG002  every scene has this signature
        """Name the grey, where some panel shows the truth behind."""
        if any(panel.reference is not None for panel in self.panels):
            style.name_reference(figure)

    def draw_key(self) -> Figure | None:
        """Return None: there is no colour scale."""
        return None


@dataclass(frozen=True, eq=False)
class LineScene(AxesScene):
    """Panels over whole numbers, as steps on a common axis."""

    alphabet: Integers

    size = (3.8, 2.5)

    def draw(self, axes: Axes, panel: Panel, color: str) -> None:
        """Draw one panel into empty axes."""
        from matplotlib.ticker import MaxNLocator

        edges = self._edges
        *behind, (curve, is_curve_truth) = _layers(panel)
        for layer, is_truth in behind:
            _add_steps(axes, self._average(layer), edges, None if is_truth else color)
        if panel.windows is not None:
            self._add_windows(axes, panel.windows, color)
        elif panel.band is not None:
            self._add_band(axes, panel, panel.band, color)
        _add_steps(axes, self._average(curve), edges, None if is_curve_truth else color)
        # A little air, or the outline of a peak at either end is half cut off.
        air = 0.006 * (edges[-1] - edges[0])
        axes.set_xlim(edges[0] - air, edges[-1] + air)
        axes.set_ylim(*self._limits(panel))
        axes.grid(visible=False, axis="x")
        if self.alphabet.has_labels:
            label_values(axes, self.alphabet)
        else:
            axes.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True, steps=[1, 2, 5, 10]))
        style.show_percent(axes.yaxis)
        axes.set_xlabel(self._value_label())
        axes.set_ylabel(share_label(panel.role))
        self._remark(axes, panel)

    def _add_windows(self, axes: Axes, windows: Windows, color: str) -> None:
        """Draw a box for each window, from the lower to the upper end of its share, spread evenly over its values."""
        edges = np.append([float(one[0]) for one in windows.members], self.alphabet.size) + self._first - 0.5
        low, high = (windows.heights(end) for end in ("low", "high"))
        axes.stairs(high, edges, baseline=low, fill=True, color=color, alpha=style.BAND_ALPHA, linewidth=0)
        axes.vlines(edges[1:-1], 0, np.minimum(high[:-1], high[1:]), color=style.CARD, linewidth=1)

    def _add_band(self, axes: Axes, panel: Panel, band: tuple[FloatArray, FloatArray], color: str) -> None:
        """Draw a band where it says something, and leave it out elsewhere."""
        low, high = (self._average(end) for end in band)
        says = tells(self._average(panel.distribution), low, high)
        axes.stairs(
            np.where(says, high, np.nan),
            self._edges,
            baseline=np.where(says, low, np.nan),
            fill=True,
            color=color,
            alpha=style.BAND_ALPHA,
            linewidth=0,
        )

    def _remark(self, axes: Axes, panel: Panel) -> None:
        """Say what does not meet the eye: an axis unlike the others', peaks that were cut."""
        if panel.trough < 0:
            axes.axhline(0, color=style.INK, linewidth=0.8)
        if not self._fits(panel):
            axes.text(
                0.99, 1.0, "an axis of its own", transform=axes.transAxes, ha="right", va="bottom", color=style.FAINT
            )
        self._label_cut_peaks(axes, self._average(panel.distribution))

    def _label_cut_peaks(self, axes: Axes, heights: FloatArray) -> None:
        top = axes.get_ylim()[1]
        labelled: list[int] = []
        for step in np.argsort(-heights, kind="stable"):
            if heights[step] <= top:
                return
            # A lower peak beside a higher one goes without a number, for the two would overlap.
            if all(abs(int(step) - other) > 0.16 * heights.size for other in labelled):
                labelled.append(int(step))
                is_left = _has_room(heights, int(step), top)
                _label_peak(axes, self._edges[step : step + 2], _rough_percent(heights[step]), is_left=is_left)

    @cached_property
    def _common_top(self) -> float:
        """End of the common axis: above all peaks, unless some dwarf the truth, or the lowest estimate."""
        truths = [panel.distribution for panel in self.panels if panel.role is Role.TRUTH]
        references = [panel for panel in self.panels if panel.reference_role is Role.TRUTH]
        truths += [panel.reference for panel in references if panel.reference is not None]
        estimates = [panel.distribution for panel in self.panels if panel.role is Role.ESTIMATE]
        measure = truths or estimates or [panel.distribution for panel in self.panels]
        lowest = min(float(self._average(one).max()) for one in measure)
        highest = max(float(self._average(panel.distribution).max()) for panel in self.panels)
        # Boxes and bands may stand out, but not so far that the curves drown.
        above = [float(panel.windows.heights("high").max()) for panel in self.panels if panel.windows is not None]
        above += [self._band_top(panel) for panel in self.panels if panel.band is not None]
        return max(min(max([highest, *above]), HEADROOM * max(lowest, 0.0 if truths else highest)), 1e-12)

    def _fits(self, panel: Panel) -> bool:
        heights = self._average(panel.distribution)
        outside = (heights > self._common_top) | (heights < -0.5 * self._common_top)
        return int(outside.sum()) <= max(2, MOST_CUT * heights.size)

    def _limits(self, panel: Panel) -> tuple[float, float]:
        if not self._fits(panel):
            return 1.06 * panel.trough, 1.06 * panel.peak
        bottom = min(other.trough for other in self.panels if self._fits(other))
        return max(1.06 * bottom, -0.5 * self._common_top), 1.06 * self._common_top

    def _band_top(self, panel: Panel) -> float:
        if panel.band is None or panel.windows is not None:
            return 0.0
        low, high = (self._average(end) for end in panel.band)
        return float(high[tells(self._average(panel.distribution), low, high)].max(initial=0.0))

    @property
    def _first(self) -> int:
        return int(self.alphabet.decode(0))

    @property
    def _width(self) -> int:
        """Values that one step covers."""
        return -(-self.alphabet.size // MOST_STEPS)

    @cached_property
    def _edges(self) -> FloatArray:
        """Edges of the steps."""
        starts = np.arange(0, self.alphabet.size, self._width)
        return np.append(starts, self.alphabet.size) + self._first - 0.5

    def _average(self, distribution: FloatArray) -> FloatArray:
        if self._width == 1:
            return distribution
        starts = np.arange(0, distribution.size, self._width)
        sizes = np.diff(np.append(starts, distribution.size))
        return np.asarray(np.add.reduceat(distribution, starts) / sizes)

    def _value_label(self) -> str:
        unit, spacing = self.alphabet.unit, self.alphabet.spacing
        label = self.name
        if self.alphabet.reads_times:  # labels say what is counted
            unit = ""
        if spacing != 1 and not self.alphabet.ticks(MOST_TICKS):
            label += f" (in steps of {with_unit(spacing, unit)})"
        elif unit and plural(unit) not in self.name:
            label += f" ({plural(unit)})"
        return label if self._width == 1 else f"{label}; means of {self._width:,} neighbours"


def label_values(axes: Axes, alphabet: Integers, most: int = MOST_TICKS) -> None:
    """Write below the axis what people call the values, of some where there are many; slanted where these are long."""
    if ticks := alphabet.ticks(most):
        axes.set_xticks([place for place, _ in ticks], [text for _, text in ticks])
        return
    step = -(-alphabet.size // most)
    chosen = np.arange(0, alphabet.size, step)
    labels = [_shorten(one) for one in alphabet.labels(chosen)]
    is_slanted = max(map(len, labels)) * len(labels) > LETTERS_AN_INCH * axes.figure.get_figwidth()  # type: ignore[union-attr]
    settings: dict[str, Any] = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"} if is_slanted else {}
    axes.set_xticks(chosen + alphabet.span[0], labels, **settings)


def tells(shares: FloatArray, low: FloatArray, high: FloatArray) -> NDArray[np.bool_]:
    """Whether an interval says something of a share: it is no wider than twice the share; and so do its neighbours.

    One value alone between others that say nothing would be a leap.
    """
    says = high - low <= 2 * shares
    beside = np.concatenate([[False], says, [False]])
    return np.asarray(says & (beside[:-2] | beside[2:]))


def label_windows(axes: Axes, windows: Windows, curve: FloatArray) -> None:
    """Write the share of each window above it, and its interval where there is room; the fullest go first.

    A label stands above its box and above the curve; where that would be far from the box only the fullest has one.
    """
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    inches = axes.figure.get_size_inches()[0] * AXIS_PART  # type: ignore[union-attr]
    first = int(windows.alphabet.decode(0))
    taken: list[tuple[float, float, float, float]] = []
    order = sorted(range(len(windows)), key=lambda place: -windows.answers[place].estimate)
    for place in order:
        answer, members = windows.answers[place], windows.members[place]
        middle, above = (int(members[0]) + int(members[-1])) / 2, answer.high / members.size
        for lines in (2, 1):
            half = _breadth(answer, has_ends=lines == 2) / inches * (right - left) / 2
            near = curve[max(0, int(middle - half)) : int(middle + half) + 2]  # the curve passes below the label
            low = min(max(above, float(near.max(initial=0.0))), top)
            box = (first + middle - half, first + middle + half, low, low + lines / 2 * LABEL_HEIGHT * top)
            is_inside = left - EDGE * (right - left) <= box[0] and box[1] <= right + EDGE * (right - left)
            is_near = low <= above + FAR * top or place == order[0]
            if is_inside and is_near and not any(_overlap(box, other) for other in taken):
                taken.append(box)
                _write_share(axes, answer, (first + middle, low), has_ends=lines == 2)
                break
    axes.set_ylim(bottom, max([top, *(one[3] for one in taken)]))


def _breadth(answer: Interval, *, has_ends: bool) -> float:
    """Return how broad the label of a window is, in inches, with some air."""
    letters = len(_rough(answer.estimate)) + 1
    points = max(BOLD * letters, PLAIN * len(_ends(answer)) if has_ends else 0.0)
    return (points + AIR) / 72


def _overlap(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    return one[0] < other[1] and other[0] < one[1] and one[2] < other[3] and other[2] < one[3]


def _write_share(axes: Axes, answer: Interval, place: tuple[float, float], *, has_ends: bool) -> None:
    settings: dict[str, Any] = {"textcoords": "offset points", "ha": "center"}
    if has_ends:
        axes.annotate(_ends(answer), place, (0, 3), fontsize=8, color=style.FAINT, **settings)
    shown, up = f"{_rough(answer.estimate)}%", 13 if has_ends else 3
    axes.annotate(shown, place, (0, up), fontsize=9.5, fontweight="bold", color=style.INK, **settings)


def _ends(answer: Interval) -> str:
    return f"{_rough(answer.low)} to {_rough(answer.high)}%"


def _rough(share: float) -> str:
    """Return a share in percent with two digits at most.

    >>> _rough(0.36279), _rough(0.0883), _rough(0.0002), _rough(1.0)
    ('36', '8.8', '0', '100')
    """
    return f"{100 * share:.0f}" if share >= 0.0995 or share < 0.0005 else f"{100 * share:.1f}".removesuffix(".0")


def _layers(panel: Panel) -> list[tuple[FloatArray, bool]]:
    """Return what is drawn from back to front, and whether it is the truth."""
    reference = [] if panel.reference is None else [(panel.reference, True)]
    return [*reference, (panel.distribution, panel.role is Role.TRUTH)]


def _add_steps(axes: Axes, heights: FloatArray, edges: FloatArray, color: str | None) -> None:
    """Draw a coloured outline, or the truth's grey area where no colour is given."""
    if color is None:
        axes.stairs(heights, edges, fill=True, facecolor=style.TRUTH, edgecolor=style.TRUTH_EDGE, linewidth=0.9)
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


def _label_peak(axes: Axes, edges: FloatArray, text: str, *, is_left: bool) -> None:
    place = (float(edges[0]), "right", -3) if is_left else (float(edges[1]), "left", 3)
    axes.annotate(
        f"↑ {text}",
        (place[0], axes.get_ylim()[1]),
        (place[2], -2),
        textcoords="offset points",
        ha=place[1],
        va="top",
        fontsize=9,
        color=style.INK,
        bbox={"facecolor": style.CARD, "edgecolor": "none", "alpha": 0.8, "pad": 1},
    )


# The truth is a grey area with an outline: without that a pale grey would not stand out from the page.
_GREY: dict[str, Any] = {"facecolor": style.TRUTH, "edgecolor": style.TRUTH_EDGE, "linewidth": 0.8}


@dataclass(frozen=True, eq=False)
class BarScene(AxesScene):
    """Panels over categories, one bar each; and over any alphabet without a picture of its own."""

    @cached_property
    def size(self) -> tuple[float, float]:
        """Inches of one panel: as tall as its bars need."""
        return 3.8, 0.85 + 0.27 * max(3, len(self._labels))

    def draw(self, axes: Axes, panel: Panel, color: str) -> None:
        """Draw one panel into empty axes."""
        places = np.arange(len(self._labels))
        is_truth = panel.role is Role.TRUTH
        if panel.reference is not None:
            axes.barh(places, self._gather(panel.reference), height=0.82, **_GREY)
        height = 0.82 if is_truth else 0.46
        axes.barh(places, self._gather(panel.distribution), height=height, **(_GREY if is_truth else {"color": color}))
        if panel.band is not None:
            self._add_whiskers(axes, panel.distribution, panel.band)
        axes.set_yticks(places, self._labels)
        axes.set_ylim(len(places) - 0.4, -0.6)
        axes.set_xlim(*self._limits)
        axes.tick_params(axis="y", length=0, labelcolor=style.INK)
        axes.grid(visible=False, axis="y")
        style.show_percent(axes.xaxis)
        axes.set_xlabel(share_label(panel.role))
        if self._limits[0] < 0:
            axes.axvline(0, color=style.INK, linewidth=0.8)

    def _add_whiskers(self, axes: Axes, distribution: FloatArray, band: tuple[FloatArray, FloatArray]) -> None:
        """Draw the interval of each category that is shown; the others together have none."""
        shares, low, high = (one[self._shown] for one in (distribution, *band))
        axes.errorbar(
            shares,
            np.arange(shares.size),
            xerr=np.maximum([shares - low, high - shares], 0.0),
            fmt="none",
            ecolor=style.INK,
            elinewidth=1.1,
            capsize=2.5,
        )

    @cached_property
    def _limits(self) -> tuple[float, float]:
        gathered = np.concatenate([self._gather(layer) for panel in self.panels for layer in panel.layers])
        ends = [end[self._shown] for panel in self.panels for end in panel.band or ()]
        gathered = np.concatenate([gathered, *ends])
        return 1.06 * min(0.0, float(gathered.min())), 1.06 * max(float(gathered.max()), 1e-12)

    @cached_property
    def _shown(self) -> list[int]:
        """The numbers of the categories that get a bar, in the alphabet's order unless there are too many."""
        if self.alphabet.size <= MOST_BARS:
            return list(range(self.alphabet.size))
        order = np.argsort(-self.panels[0].layers[0], kind="stable")
        return [int(index) for index in order[: MOST_BARS - 1]]

    @cached_property
    def _labels(self) -> list[str]:
        shown = [_shorten(one) for one in self.alphabet.labels(self._shown)]
        others = self.alphabet.size - len(shown)
        return [*shown, f"{others:,} others"] if others else shown

    def _gather(self, distribution: FloatArray) -> FloatArray:
        shown = distribution[self._shown]
        if len(self._shown) == self.alphabet.size:
            return shown
        return np.append(shown, distribution.sum() - shown.sum())


def _shorten(label: str) -> str:
    text = " ".join(label.split())
    return text if len(text) <= LONGEST_LABEL else f"{text[: LONGEST_LABEL - 1]}…"


def draw_ranges(alphabet: Alphabet, lowest: FloatArray, highest: FloatArray, name: str = "value") -> Figure:
    """Draw a bar from the lowest to the highest share of each value; of very many values, the widest bars.

    >>> draw_ranges(Integers(1, 3), np.zeros(3), np.array([0.3, 0.7, 0.3])).axes[0].get_xlabel()
    'value'
    """
    for bounds in (lowest, highest):
        if np.shape(bounds) != (alphabet.size,):
            raise InvalidDistributionError(
                f"Give one share for each of {alphabet.size} values; got {np.shape(bounds)}."
            )
    with style.styled():
        if isinstance(alphabet, Integers):
            figure = style.new_figure(7.2, 2.9)
            _draw_line(figure.add_subplot(), alphabet, lowest, highest, name)
            return figure
        shown = _widest(lowest, highest)
        figure = style.new_figure(6.4, 0.9 + 0.3 * shown.size)
        _draw_bars(figure.add_subplot(), alphabet, (lowest[shown], highest[shown]), shown)
    return figure


def _draw_line(axes: Axes, alphabet: Integers, lowest: FloatArray, highest: FloatArray, name: str) -> None:
    from matplotlib.ticker import MaxNLocator

    places = alphabet.coordinates[:, 0]
    air = 0.008 * float(highest.max())  # a share that is known is a hair, not nothing
    axes.bar(places, np.maximum(highest - lowest, air), 0.72, lowest, color=style.MLE, linewidth=0)
    axes.set_xlim(places[0] - 0.6, places[-1] + 0.6)
    axes.set_ylim(0, 1.06 * max(float(highest.max()), 1e-9))
    axes.grid(visible=False, axis="x")
    axes.xaxis.set_major_locator(MaxNLocator(nbins=12, integer=True, steps=[1, 2, 5, 10]))
    style.show_percent(axes.yaxis)
    axes.set_xlabel(name)
    axes.set_ylabel("share of people")


def _draw_bars(axes: Axes, alphabet: Alphabet, bounds: tuple[FloatArray, FloatArray], shown: Indices) -> None:
    low, high = bounds
    places = np.arange(low.size)
    axes.barh(places, np.maximum(high - low, 0.006 * high.max()), 0.62, low, color=style.MLE, linewidth=0)
    for place, left, right in zip(places, low, high, strict=True):
        axes.annotate(_words(left, right), (right, place), (6, 0), textcoords="offset points", va="center", fontsize=9)
    axes.set_yticks(places, alphabet.labels(shown))
    axes.set_ylim(low.size - 0.4, -0.6)
    axes.set_xlim(0, 1.3 * max(float(high.max()), 1e-9))
    axes.tick_params(axis="y", length=0, labelcolor=style.INK)
    axes.grid(visible=False, axis="y")
    style.show_percent(axes.xaxis)
    axes.set_xlabel("share of people")


def _words(low: float, high: float) -> str:
    ends = style.percent(round(low, 4)), style.percent(round(high, 4))
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def _widest(lowest: FloatArray, highest: FloatArray) -> Indices:
    """Return the numbers of all values in order, or of the widest bars where there are too many."""
    order = np.argsort(lowest - highest, kind="stable")
    return np.asarray(np.arange(lowest.size) if lowest.size <= MOST_BARS else order[:MOST_BARS], dtype=np.int64)
