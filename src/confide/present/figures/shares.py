"""Shares on axes: steps over numbers, bars over categories, windows with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from confide.estimates.inference import Windows
from confide.present.figures import style
from confide.present.figures.maps import MapScene, map_scene
from confide.present.figures.style import FloatArray, Panel, Role, check_panels, choose_colors, share_label
from confide.values import Alphabet, LineGeometry
from confide.values.wording import plural, with_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
        is_bare = panel.band is None and panel.reference_role is Role.ESTIMATE  # of a group, before all groups
        if is_bare or (panel.windows is not None and not panel.windows.are_single):
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


@style.styled()
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


@style.styled()
def draw_sheet(alphabet: Alphabet, panels: Sequence[Panel], name: str = "value") -> PanelSheet:
    """Draw distributions into separate figures without titles."""
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


@style.styled()
def draw_windows(  # noqa: PLR0913 - all that a picture may show
    windows: Windows,
    curve: FloatArray,
    *,
    name: str = "value",
    truth: FloatArray | None = None,
    noisy: FloatArray | None = None,
    background: tuple[FloatArray, ...] = (),
    width: float = style.WIDE,
    color: str = style.STACKED,
) -> Figure:
    """Draw windows with their intervals over the estimate.

    Truth or reports stand behind if given.

    On a line each window is a box from the lower to the upper end of its share, spread evenly over its values. On a
    plane districts are outlined on the map of the estimate, and a second map has how far each may be off. Values
    without an order have a line each. The width is in inches: on a telephone maps stand below each other.

    >>> import confide as cf
    >>> mechanism = cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=1.0)
    >>> answer = cf.estimate(mechanism.simulate_counts([0, 0, 0, 500, 1000, 500, 0, 0, 0, 0], rng=1), mechanism)
    >>> draw_windows(answer.windows(), answer.distribution, name="rooms").axes[0].get_xlabel()
    'rooms'
    """
    alphabet = windows.alphabet
    if isinstance(alphabet.geometry, LineGeometry):
        panel = Panel("", curve, reference=truth, windows=windows, color=color)
        figure = style.new_figure(width, 3.0 if width <= style.NARROW else 3.5)
        axes = figure.add_subplot()
        LineScene(alphabet, (panel,), name).draw(axes, panel, color)
        _label_windows(axes, windows, curve if truth is None else np.maximum(curve, truth))
        axes.set_ylabel(f"share of people, per {alphabet.step_name}")
        return figure
    if alphabet.grid is not None:
        shares = windows.heights("estimate")[windows.window_of]  # no report tells the cells of a district apart
        panel = Panel("", shares, windows=windows, background=background)
        return _window_maps(map_scene(alphabet.grid, (panel,), name), windows, width)
    answers, places = windows.answers, np.arange(len(windows))
    figure = style.new_figure(width, 0.95 + 0.27 * max(3, places.size))
    axes = figure.add_subplot()
    shares, low, high = (np.array([getattr(one, end) for one in answers]) for end in ("estimate", "low", "high"))
    sent = None if noisy is None else np.array([noisy[members].sum() for members in windows.members])
    if sent is not None:
        pale = (style.NOISY, style.BAND_ALPHA)  # behind the estimate, with an outline that stands out
        edge: dict[str, Any] = {"facecolor": pale, "edgecolor": style.NOISY, "linewidth": 0.9}
        axes.barh(places, sent, height=0.7, label="share of the reports", **edge)
    ends = np.maximum([shares - low, high - shares], 0.0)
    told = f"estimate, with {100 * windows.level:g}% interval"
    axes.errorbar(shares, places, xerr=ends, fmt="o", color=color, capsize=3, markersize=4.5, label=told)
    style.lay_bars(axes, style.shorten(windows.labels))
    highest = max(float(high.max()), 0.0 if sent is None else float(sent.max()), 1e-9)
    axes.set_xlim(min(0.0, float(low.min())), 1.04 * highest)
    style.show_percent(axes.xaxis)
    axes.set_xlabel("share of people")
    if sent is not None:
        figure.legend(loc="outside upper left", ncols=1 if width <= style.NARROW else 2, fontsize=style.SMALL)
    return figure


def _label_windows(axes: Axes, windows: Windows, curve: FloatArray) -> None:
    """Write shares above windows, with intervals if there is room.

    A label stands above its box and above the curve; where that would be far from the box only the fullest has one.
    """
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    inches = axes.figure.get_size_inches()[0] * 0.8  # type: ignore[union-attr]  # so much of a figure is axes
    settings = dict[str, Any](textcoords="offset points", ha="center")
    first = int(windows.alphabet.decode(0))
    taken: list[tuple[float, float, float, float]] = []
    order = sorted(range(len(windows)), key=lambda place: -windows.answers[place].estimate)
    for place in order:
        answer, members = windows.answers[place], windows.members[place]
        middle, above = (int(members[0]) + int(members[-1])) / 2, answer.high / members.size
        share, ends = f"{_rough(answer.estimate)}%", f"{_rough(answer.low)} to {_rough(answer.high)}%"
        for lines in (2, 1):
            # A letter takes about 7.1 points where it is bold and 5.7 where it is plain, and 5 are air.
            points = max(7.1 * len(share), 5.7 * len(ends) if lines == 2 else 0.0)
            half = (points + 5.0) / 72 / inches * (right - left) / 2
            near = curve[max(0, int(middle - half)) : int(middle + half) + 2]  # the curve passes below the label
            low = min(max(above, float(near.max(initial=0.0))), top)
            box = (first + middle - half, first + middle + half, low, low + lines / 2 * 0.2 * top)
            is_inside = left <= box[0] and box[1] <= right
            is_near = low <= above + 0.12 * top or place == order[0]
            is_free = not any(
                box[0] < other[1] and other[0] < box[1] and box[2] < other[3] and other[2] < box[3] for other in taken
            )
            if is_inside and is_near and is_free:
                taken.append(box)
                foot = (first + middle, low)
                if lines == 2:
                    axes.annotate(ends, foot, (0, 3), fontsize=style.SMALL, color=style.FAINT, **settings)
                up = 15 if lines == 2 else 3
                axes.annotate(share, foot, (0, up), fontsize=10.5, fontweight="bold", color=style.INK, **settings)
                break
    axes.set_ylim(bottom, max([top, *(one[3] for one in taken)]))


def _rough(share: float) -> str:
    """Return a share in percent with two digits at most.

    >>> _rough(0.36279), _rough(0.0883), _rough(0.0002), _rough(1.0)
    ('36', '8.8', '0', '100')
    """
    return f"{100 * share:.0f}" if share >= 0.0995 or share < 0.0005 else f"{100 * share:.1f}".removesuffix(".0")


def _window_maps(scene: MapScene, windows: Windows, most: float) -> Figure:
    """Draw the estimated map with districts, and their uncertainty beside it."""
    width, height = scene.size
    rows, columns = (2, 1) if most <= style.NARROW else (1, 2)
    # A map that is shown smaller than it was drawn has letters that nobody can read.
    across = min(width + 1.2, most / columns)
    scale = (across - 1.95) / (width - 0.75)
    figure = style.new_figure(columns * across, rows * (scale * (height - 0.65) + 1.15))
    estimate, doubt = (figure.add_subplot(rows, columns, place) for place in (1, 2))
    scene.draw(estimate, scene.panels[0], style.INK)
    scene.write(estimate, windows, [(str(number),) for number in windows.ranks], scale)
    estimate.set_title("Districts, numbered by share")
    scene.add_key(figure, [estimate])
    scene.draw_doubt(figure, doubt, windows, scale)
    doubt.set_title("How far it may be off")
    return figure
