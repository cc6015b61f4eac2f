"""Distributions on axes: steps over whole numbers, and bars over categories."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from confide.estimates.inference import Windows
from confide.present.figures import style
from confide.present.figures.style import FloatArray, Panel, Role, share_label
from confide.values import Alphabet
from confide.values.wording import plural, with_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from confide.present.figures.maps import map_scene
from confide.present.figures.style import check_panels, choose_colors
from confide.values import LineGeometry

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# More steps than this cannot be told apart in a panel of 3.6 inches; neighbours are averaged instead.

# More bars than this make a panel taller than a screen; only the largest are shown, and the rest as one.
MOST_BARS = 20
# The common axis reaches this many times the peak of the truth; the few peaks above it are cut and labelled. A panel
# with more than this share of its steps outside gets an axis of its own.
HEADROOM, MOST_CUT = 2.0, 0.1
# Ticks that have a label each, and letters of labels that stand beside each other on an inch of the figure.
MOST_TICKS, LETTERS_AN_INCH = 10, 9


@dataclass(frozen=True, eq=False)
class AxesScene:
    """Panels whose axes explain themselves, but for the truth's grey."""

    alphabet: Alphabet
    panels: tuple[Panel, ...]
    name: str

    columns = 3

    def add_key(self, figure: Figure, axes: list[Axes]) -> None:  # noqa: ARG002  every scene has this signature
        """Name the grey, where some panel shows the truth behind."""
        if any(panel.reference is not None for panel in self.panels):
            from matplotlib.patches import Patch

            truth = Patch(facecolor=style.TRUTH, edgecolor=style.TRUTH_EDGE, label="the truth")
            figure.legend(handles=[truth], loc="outside upper right", fontsize=10)

    def draw_key(self) -> Figure | None:
        """Return None: there is no colour scale."""
        return None


@dataclass(frozen=True, eq=False)
class LineScene(AxesScene):
    """Panels over whole numbers, as steps on a common axis."""

    alphabet: Alphabet

    size = (style.PANEL, 2.4)

    def draw(self, axes: Axes, panel: Panel, color: str) -> None:
        """Draw one panel into empty axes."""
        # How strongly a curve is drawn where no interval backs it: a bump there may be chance.
        faded = 0.5
        edges, says = self._edges, np.ones(1, dtype=bool)
        *behind, (curve, is_curve_truth) = _layers(panel)
        for layer, is_truth in behind:
            _add_steps(axes, self._average(layer), edges, None if is_truth else color)
        if panel.windows is not None:
            self._add_windows(axes, panel.windows, color)
        elif panel.band is not None:
            # Draw a band where it says something, and leave it out elsewhere.
            low, high = (self._average(end) for end in panel.band)
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

        _add_steps(axes, self._average(curve), edges, None if is_curve_truth else color)
        if panel.windows is not None and not panel.windows.are_single:
            axes.patches[-1].set_alpha(faded)
        elif panel.band is not None and not says.all():
            axes.patches[-1].set_alpha(faded)
            _add_steps(axes, np.where(says, self._average(curve), np.nan), edges, color)
        # A little air, or the outline of a peak at either end is half cut off.
        air = 0.006 * (edges[-1] - edges[0])
        axes.set_xlim(edges[0] - air, edges[-1] + air)
        axes.set_ylim(*self._limits(panel))
        axes.grid(visible=False, axis="x")
        if self.alphabet.has_labels:
            label_values(axes, self.alphabet)
        else:
            style.count_ticks(axes.xaxis, 8)
        style.show_percent(axes.yaxis)
        axes.set_xlabel(self._value_label())
        axes.set_ylabel(share_label(panel.role))
        # Say what does not meet the eye: an axis unlike the others', peaks that were cut.
        if panel.trough < 0:
            axes.axhline(0, color=style.INK, linewidth=0.8)
        if not self._fits(panel):
            axes.text(
                0.99, 1.0, "an axis of its own", transform=axes.transAxes, ha="right", va="bottom", color=style.FAINT
            )
        self._label_cut_peaks(axes, self._average(panel.distribution))

    def _add_windows(self, axes: Axes, windows: Windows, color: str) -> None:
        """Draw a box for each window, between the ends of its share.

        Its share is spread evenly over its values.
        """
        edges = np.append([float(one[0]) for one in windows.members], self.alphabet.size) + self._first - 0.5
        low, high = (windows.heights(end) for end in ("low", "high"))
        axes.stairs(high, edges, baseline=low, fill=True, color=color, alpha=style.BAND_ALPHA, linewidth=0)
        axes.vlines(edges[1:-1], 0, np.minimum(high[:-1], high[1:]), color=style.CARD, linewidth=1)

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
                _label_peak(axes, self._edges[step : step + 2], heights[step], is_left=is_left)

    @cached_property
    def _common_top(self) -> float:
        """Top of the common axis: above all peaks that are not outliers."""
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
        return -(-self.alphabet.size // 600)

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


def label_values(axes: Axes, alphabet: Alphabet) -> None:
    """Label values below the axis, slanted if long, some if many."""
    room = LETTERS_AN_INCH * axes.figure.get_figwidth()  # type: ignore[union-attr]  # letters beside each other
    tried = (alphabet.ticks(number) for number in range(MOST_TICKS, 0, -1))
    if ticks := next((one for one in tried if sum(len(text) + 2 for _, text in one) <= room), []):
        axes.set_xticks([place for place, _ in ticks], [text for _, text in ticks])
        return
    step = -(-alphabet.size // MOST_TICKS)
    chosen = np.arange(0, alphabet.size, step)
    labels = style.shorten(alphabet.labels(chosen), 22)
    is_slanted = max(map(len, labels)) * len(labels) > room
    settings: dict[str, Any] = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"} if is_slanted else {}
    axes.set_xticks(chosen + alphabet.span[0], labels, **settings)


def tells(shares: FloatArray, low: FloatArray, high: FloatArray) -> NDArray[np.bool_]:
    """Whether an interval is informative, as are its neighbours'.

    It is no wider than twice the share.

    One value alone between others that say nothing would be a leap.
    """
    says = high - low <= 2 * shares
    beside = np.concatenate([[False], says, [False]])
    return np.asarray(says & (beside[:-2] | beside[2:]))


def _layers(panel: Panel) -> list[tuple[FloatArray, bool]]:
    """Return layers from back to front, and which is the truth."""
    reference = [] if panel.reference is None else [(panel.reference, True)]
    return [*reference, (panel.distribution, panel.role is Role.TRUTH)]


def _add_steps(axes: Axes, heights: FloatArray, edges: FloatArray, color: str | None) -> None:
    """Draw a coloured outline, or the truth's grey area."""
    if color is None:
        axes.stairs(heights, edges, fill=True, facecolor=style.TRUTH, edgecolor=style.TRUTH_EDGE, linewidth=0.9)
    else:
        axes.stairs(heights, edges, edgecolor=color, linewidth=1.6)


def _has_room(heights: FloatArray, step: int, top: float) -> bool:
    """Whether a cut peak has more room on its left."""
    reach = max(1, int(0.2 * heights.size))
    left, right = heights[max(0, step - reach) : step], heights[step + 1 : step + 1 + reach]
    if left.size < reach or right.size < reach:
        return left.size >= reach
    return int((left > 0.9 * top).sum()) < int((right > 0.9 * top).sum())


def _label_peak(axes: Axes, edges: FloatArray, share: float, *, is_left: bool) -> None:
    text = f"{100 * share:.2g}%" if share < 0.995 else f"{100 * share:,.0f}%"
    place = (float(edges[0]), "right", -3) if is_left else (float(edges[1]), "left", 3)
    axes.annotate(
        f"↑ {text}",
        (place[0], axes.get_ylim()[1]),
        (place[2], -2),
        textcoords="offset points",
        ha=place[1],
        va="top",
        fontsize=style.SMALL,
        color=style.INK,
        bbox={"facecolor": style.CARD, "edgecolor": "none", "alpha": 0.8, "pad": 1},
    )


@dataclass(frozen=True, eq=False)
class BarScene(AxesScene):
    """Panels of bars over categories, and over any other alphabet."""

    @cached_property
    def size(self) -> tuple[float, float]:
        """Inches of one panel: as tall as its bars need."""
        return style.PANEL, 0.85 + 0.27 * max(3, len(self._labels))

    def draw(self, axes: Axes, panel: Panel, color: str) -> None:
        """Draw one panel into empty axes."""
        # The truth is a grey area with an outline: without that a pale grey would not stand out from the page.
        grey: dict[str, Any] = {"facecolor": style.TRUTH, "edgecolor": style.TRUTH_EDGE, "linewidth": 0.8}
        places = np.arange(len(self._labels))
        is_truth = panel.role is Role.TRUTH
        if panel.reference is not None:
            axes.barh(places, self._gather(panel.reference), height=0.82, **grey)
        height = 0.82 if is_truth else 0.46
        axes.barh(places, self._gather(panel.distribution), height=height, **(grey if is_truth else {"color": color}))
        if panel.band is not None:
            # Draw the interval of each category that is shown; the others together have none.
            shares, low, high = (one[self._shown] for one in (panel.distribution, *panel.band))
            axes.errorbar(
                shares,
                np.arange(shares.size),
                xerr=np.maximum([shares - low, high - shares], 0.0),
                fmt="none",
                ecolor=style.INK,
                elinewidth=1.1,
                capsize=2.5,
            )

        style.lay_bars(axes, self._labels)
        axes.set_xlim(*self._limits)
        style.show_percent(axes.xaxis)
        axes.set_xlabel(share_label(panel.role))
        if self._limits[0] < 0:
            axes.axvline(0, color=style.INK, linewidth=0.8)

    @cached_property
    def _limits(self) -> tuple[float, float]:
        gathered = np.concatenate([self._gather(layer) for panel in self.panels for layer in panel.layers])
        ends = [end[self._shown] for panel in self.panels for end in panel.band or ()]
        gathered = np.concatenate([gathered, *ends])
        return 1.06 * min(0.0, float(gathered.min())), 1.06 * max(float(gathered.max()), 1e-12)

    @cached_property
    def _shown(self) -> list[int]:
        """Numbers of the categories to show, in the alphabet's order."""
        if self.alphabet.size <= MOST_BARS:
            return list(range(self.alphabet.size))
        order = np.argsort(-self.panels[0].layers[0], kind="stable")
        return [int(index) for index in order[: MOST_BARS - 1]]

    @cached_property
    def _labels(self) -> list[str]:
        shown = style.shorten(self.alphabet.labels(self._shown), 22)
        others = self.alphabet.size - len(shown)
        return [*shown, f"{others:,} others"] if others else shown

    def _gather(self, distribution: FloatArray) -> FloatArray:
        shown = distribution[self._shown]
        if len(self._shown) == self.alphabet.size:
            return shown
        return np.append(shown, distribution.sum() - shown.sum())


class Scene(Protocol):
    """Drawing of the panels over one kind of alphabet."""

    @property
    def columns(self) -> int:
        """Panels that stand side by side, at most."""

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of one panel, in inches."""

    def draw(self, axes: Axes, panel: Panel, color: str) -> None:
        """Draw one panel into empty axes."""

    def add_key(self, figure: Figure, axes: list[Axes]) -> None:
        """Add the legend of all panels to their figure."""

    def draw_key(self) -> Figure | None:
        """Return the legend of all panels as a figure, if any."""


@dataclass(frozen=True, eq=False)
class PanelSheet:
    """Panels of one comparison as separate figures, for pages.

    Attributes
    ----------
    figures
        One for each panel, without titles, all on the same axes or colours.
    colors
        The colour of each panel's distribution.
    key
        The colour bar of maps.
    width
        How wide one figure is, in CSS pixels.
    """

    figures: tuple[Figure, ...]
    colors: tuple[str, ...]
    key: Figure | None
    width: int


def draw_distributions(alphabet: Alphabet, panels: Sequence[Panel], name: str = "value") -> Figure:
    """Draw distributions side by side in one figure.

    Parameters
    ----------
    alphabet
        What the distributions are over: a line of numbers gives steps, a grid gives maps, all else gives bars.
    panels
        What to draw, each with its title. All share one axis or one colour scale. On a line the few peaks that
        would flatten everything else are cut and labelled; a panel of nothing but such peaks gets its own axis.
    name
        What a value is called, such as ``age``.

    Examples
    --------
    >>> import confide as cf
    >>> ages = cf.datasets.adult_ages()
    >>> figure = draw_distributions(ages.alphabet, [Panel("Original", ages.distribution)], name="age")
    >>> figure.axes[0].get_xlabel()
    'age (years)'
    """
    with style.styled():
        scene = choose_scene(alphabet, check_panels(panels, alphabet.size), name)
        rows = -(-len(panels) // style.columns_within(scene.columns, scene.size[0]))
        columns = -(-len(panels) // rows)  # even rows: seven panels go into four and three
        width, height = scene.size
        figure = style.new_figure(min(columns * width, style.ROOM.get()), rows * (height + 0.5))
        axes = [figure.add_subplot(rows, columns, place) for place in range(1, len(panels) + 1)]
        for place, panel, color in zip(axes, panels, choose_colors(panels), strict=True):
            scene.draw(place, panel, color)
            _add_titles(place, panel, has_subtitles=any(other.subtitle for other in panels))
        scene.add_key(figure, axes)
    return figure


def draw_sheet(alphabet: Alphabet, panels: Sequence[Panel], name: str = "value") -> PanelSheet:
    """Draw distributions into separate figures without titles."""
    with style.styled():
        scene = choose_scene(alphabet, check_panels(panels, alphabet.size), name)
        colors = choose_colors(panels)
        figures = []
        for panel, color in zip(panels, colors, strict=True):
            figure = style.new_figure(*scene.size)
            scene.draw(figure.add_subplot(), panel, color)
            figures.append(figure)
        return PanelSheet(tuple(figures), tuple(colors), scene.draw_key(), round(96 * scene.size[0]))


def choose_scene(alphabet: Alphabet, panels: tuple[Panel, ...], name: str) -> Scene:
    """Return how distributions over this alphabet are drawn."""
    if isinstance(alphabet.geometry, LineGeometry):
        return LineScene(alphabet, panels, name)
    if alphabet.grid is not None:
        return map_scene(alphabet.grid, panels, name)
    return BarScene(alphabet, panels, name)


def _add_titles(axes: Axes, panel: Panel, *, has_subtitles: bool) -> None:
    axes.set_title(panel.title, pad=20 if has_subtitles else 8)
    if panel.subtitle:
        axes.annotate(
            panel.subtitle, (0, 1), (0, 6), xycoords="axes fraction", textcoords="offset points", color=style.FAINT
        )
