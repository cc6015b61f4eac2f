"""Figures of certainty: windows, ranges and residuals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from confide.errors import InvalidDistributionError
from confide.estimates.inference import Interval, Windows
from confide.present.figures import style
from confide.present.figures.maps import MapScene, map_scene
from confide.present.figures.shares import LineScene, label_values
from confide.present.figures.style import FloatArray, Panel
from confide.values import Alphabet, Grid, LineGeometry

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Residuals within this are nothing unusual; the scale of a map reaches this far at least.
USUAL, LEAST_SCALE = 2.0, 4.0
# Outputs and values without an order that get a bar: those that stand out most.
MOST_BARS = 20


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
    with style.styled():
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
        told = f"what they tell, at {100 * windows.level:g}%"
        axes.errorbar(shares, places, xerr=ends, fmt="o", color=color, capsize=3, markersize=4.5, label=told)
        style.lay_bars(axes, style.shorten(windows.labels))
        highest = max(float(high.max()), 0.0 if sent is None else float(sent.max()), 1e-9)
        axes.set_xlim(min(0.0, float(low.min())), 1.04 * highest)
        style.show_percent(axes.xaxis)
        axes.set_xlabel("share of people")
        if sent is not None:
            figure.legend(loc="outside upper left", ncols=1 if width <= style.NARROW else 2, fontsize=style.SMALL)
        return figure


def draw_series(axes: Axes, answers: Mapping[str, Interval]) -> None:
    """Draw answers that follow each other as a line with a band.

    Weeks, dates, waves.
    """
    now, low, high = np.array([(one.estimate, one.low, one.high) for one in answers.values()]).T
    places = np.arange(now.size)
    axes.fill_between(places, low, high, color=style.STACKED, alpha=style.BAND_ALPHA, linewidth=0)
    axes.plot(places, now, marker="o", color=style.STACKED, markersize=4)
    labels = style.shorten(list(answers), 22)
    letters = 9 * axes.figure.get_size_inches()[0]  # type: ignore[union-attr]  # so many stand beside each other
    step = -(-sum(len(one) + 2 for one in labels) // round(letters))
    axes.set_xticks(places[::step], labels[::step])
    axes.grid(visible=False, axis="x")
    first = next(iter(answers.values()))
    if first.is_share:
        style.show_percent(axes.yaxis)
    axes.set_ylabel(first.question)


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
    estimate.set_title("The districts, the fullest first")
    scene.add_key(figure, [estimate])
    scene.draw_doubt(figure, doubt, windows, scale)
    doubt.set_title("How far it may be off")
    return figure


def draw_ranges(
    alphabet: Alphabet, lowest: FloatArray, highest: FloatArray, name: str = "value", *, width: float = style.MIDDLE
) -> Figure:
    """Draw the range of each value's share.

    Of very many values, the widest ranges.

    >>> import confide as cf
    >>> draw_ranges(cf.Integers(1, 3), np.zeros(3), np.array([0.3, 0.7, 0.3])).axes[0].get_xlabel()
    'value'
    """
    for bounds in (lowest, highest):
        if np.shape(bounds) != (alphabet.size,):
            raise InvalidDistributionError(
                f"Give one share for each of {alphabet.size} values; got {np.shape(bounds)}."
            )
    with style.styled():
        if isinstance(alphabet.geometry, LineGeometry):
            figure = style.new_figure(width, 2.9)
            axes = figure.add_subplot()
            places = alphabet.coordinates[:, 0]
            air = 0.008 * float(highest.max())  # a share that is known is a hair, not nothing
            axes.bar(places, np.maximum(highest - lowest, air), 0.72, lowest, color=style.MLE, linewidth=0)
            axes.set_xlim(places[0] - 0.6, places[-1] + 0.6)
            axes.set_ylim(0, 1.06 * max(float(highest.max()), 1e-9))
            axes.grid(visible=False, axis="x")
            style.count_ticks(axes.xaxis, round(1.6 * axes.figure.get_size_inches()[0]))  # type: ignore[union-attr]
            style.show_percent(axes.yaxis)
            axes.set_xlabel(name)
            axes.set_ylabel("share of people")

            return figure
        order = np.argsort(lowest - highest, kind="stable")  # of too many, the widest bars
        shown = np.arange(lowest.size) if lowest.size <= MOST_BARS else order[:MOST_BARS]
        figure = style.new_figure(width, 0.9 + 0.3 * shown.size)
        axes, rows, low, high = figure.add_subplot(), np.arange(shown.size), lowest[shown], highest[shown]
        axes.barh(rows, np.maximum(high - low, 0.006 * high.max()), 0.62, low, color=style.MLE, linewidth=0)
        for place, left, right in zip(rows, low, high, strict=True):
            words = " to ".join(dict.fromkeys(style.percent(round(end, 4)) for end in (left, right)))
            axes.annotate(words, (right, place), (6, 0), textcoords="offset points", va="center", fontsize=style.SMALL)
        style.lay_bars(axes, alphabet.labels(shown))
        axes.set_xlim(0, 1.3 * max(float(high.max()), 1e-9))
        style.show_percent(axes.xaxis)
        axes.set_xlabel("share of people")
    return figure


def draw_residuals(
    outputs: Alphabet, residuals: FloatArray, name: str = "report", *, width: float = style.MIDDLE
) -> Figure:
    """Draw residuals of outputs in standard errors.

    An output that no value can produce has no residual, which is NaN.

    >>> import confide as cf
    >>> draw_residuals(cf.Integers(0, 2), np.array([0.5, -1.0, 2.5])).axes[0].get_ylabel()
    'standard errors'
    """
    with style.styled():
        if outputs.grid is not None:
            return _residual_map(outputs.grid, residuals)
        if isinstance(outputs.geometry, LineGeometry):
            figure = style.new_figure(width, 2.4)
            axes = figure.add_subplot()
            places = outputs.coordinates[:, 0]
            heights = np.nan_to_num(residuals)
            axes.axhspan(-USUAL, USUAL, color=style.RULE, alpha=0.6, linewidth=0)
            axes.axhline(0, color=style.TRUTH_EDGE, linewidth=0.8)
            edges = np.append(places - 0.5, places[-1] + 0.5)
            axes.stairs(np.where(heights > 0, heights, 0), edges, fill=True, color=style.NOISY, linewidth=0)
            axes.stairs(np.where(heights < 0, heights, 0), edges, fill=True, color=style.FAINT, linewidth=0)
            axes.set_xlim(places[0] - 0.6, places[-1] + 0.6)
            reach = max(LEAST_SCALE, 1.06 * float(np.abs(heights).max()))
            axes.set_ylim(-reach, reach)
            axes.grid(visible=False, axis="x")
            if outputs.has_labels:
                label_values(axes, outputs)
            else:
                style.count_ticks(axes.xaxis, round(1.6 * axes.figure.get_size_inches()[0]))  # type: ignore[union-attr]
            axes.set_xlabel(name)
            axes.set_ylabel("standard errors")

            return figure
        return _residual_bars(outputs, residuals, width)


def _residual_map(grid: Grid, residuals: FloatArray) -> Figure:
    longer = max(grid.shape)
    figure = style.new_figure(2.1 * max(grid.columns / longer, 0.35) + 1.6, 2.1 * max(grid.rows / longer, 0.35) + 0.7)
    axes = figure.add_subplot()
    axes.set_facecolor(style.HOLE)
    reach = max(LEAST_SCALE, float(np.nanmax(np.abs(residuals), initial=0.0)))
    west, south = grid.first_column - 0.5, grid.first_row - 0.5
    extent = (west, west + grid.columns, south, south + grid.rows)
    picture = grid.picture(residuals)
    image = axes.imshow(picture, origin="lower", extent=extent, interpolation="none", cmap=style.scale("residuals"))
    image.set_clim(-reach, reach)
    axes.grid(visible=False)
    for axis, label in ((axes.xaxis, "column"), (axes.yaxis, "row")):
        style.count_ticks(axis, 6)
        axis.set_label_text(label)
    bar = figure.colorbar(image, ax=axes, shrink=0.9)
    bar.outline.set_linewidth(0.5)
    bar.set_label("standard errors")
    return figure


def _residual_bars(outputs: Alphabet, residuals: FloatArray, width: float) -> Figure:
    heights = np.nan_to_num(residuals)
    shown = np.sort(np.argsort(-np.abs(heights), kind="stable")[:MOST_BARS])
    places = np.arange(shown.size)
    figure = style.new_figure(width, 0.85 + 0.27 * max(3, shown.size))
    axes = figure.add_subplot()
    axes.axvspan(-USUAL, USUAL, color=style.RULE, alpha=0.6, linewidth=0)
    axes.axvline(0, color=style.TRUTH_EDGE, linewidth=0.8)
    colors = [style.NOISY if heights[one] > 0 else style.FAINT for one in shown]
    axes.barh(places, heights[shown], height=0.6, color=colors)
    style.lay_bars(axes, style.shorten(outputs.labels(shown)))
    reach = max(LEAST_SCALE, 1.06 * float(np.abs(heights).max()))
    axes.set_xlim(-reach, reach)
    axes.set_xlabel("standard errors")
    return figure
