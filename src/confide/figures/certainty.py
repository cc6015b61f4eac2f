"""Certainty in pictures: the shares of windows with their intervals, and how far reports are from what is expected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from confide.alphabets import Alphabet, Grid, Integers
from confide.figures import style
from confide.figures.maps import MapScene, map_scene
from confide.figures.panels import FloatArray, Panel
from confide.figures.shares import LineScene, label_values, label_windows
from confide.intervals import Windows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Residuals within this are nothing unusual; the scale of a map reaches this far at least.
USUAL, LEAST_SCALE = 2.0, 4.0
# Outputs without an order that get a bar: those that stand out most.
MOST_BARS = 20
LONGEST_LABEL = 26
# Inches: on a telephone letters are then still half as large as the page's own.
WIDTH = 5.6
# Inches of a picture across a page, and of the same on a telephone.
WIDE, NARROW = 9.6, 4.0


# Reports behind an estimate: pale, with an outline that stands out.
REPORTS: dict[str, Any] = {"facecolor": (style.NOISY, style.BAND_ALPHA), "edgecolor": style.NOISY, "linewidth": 0.9}


def draw_windows(  # noqa: PLR0913 - all that a picture may show
    windows: Windows,
    curve: FloatArray,
    *,
    name: str = "value",
    truth: FloatArray | None = None,
    noisy: FloatArray | None = None,
    background: tuple[FloatArray, ...] = (),
    is_narrow: bool = False,
    color: str = style.STACKED,
) -> Figure:
    """Draw windows with their intervals, the estimate over them, and the truth or the reports behind where given.

    On a line each window is a box from the lower to the upper end of its share, spread evenly over its values. On a
    plane districts are outlined on the map of the estimate, and a second map has how far each may be off. Values
    without an order have a line each. A narrow figure is for a telephone.

    >>> import confide as cf
    >>> mechanism = cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=1.0)
    >>> answer = cf.estimate(mechanism.simulate_counts([0, 0, 0, 500, 1000, 500, 0, 0, 0, 0], rng=1), mechanism)
    >>> draw_windows(answer.windows(), answer.distribution, name="rooms").axes[0].get_xlabel()
    'rooms'
    """
    with style.styled():
        alphabet = windows.alphabet
        if isinstance(alphabet, Integers):
            return _window_line(alphabet, windows, curve, (name, color), truth, is_narrow=is_narrow)
        if isinstance(alphabet, Grid):
            panel = Panel("", curve, windows=windows, background=background)
            return _window_maps(map_scene(alphabet, (panel,), name), windows, is_narrow=is_narrow)
        return _window_bars(windows, noisy, color, is_narrow=is_narrow)


def _window_line(
    alphabet: Integers,
    windows: Windows,
    curve: FloatArray,
    name_and_color: tuple[str, str],
    truth: FloatArray | None,
    *,
    is_narrow: bool,
) -> Figure:
    name, color = name_and_color
    panel = Panel("", curve, reference=truth, windows=windows, color=color)
    figure = style.new_figure(*((NARROW, 3.0) if is_narrow else (WIDE, 3.5)))
    axes = figure.add_subplot()
    LineScene(alphabet, (panel,), name).draw(axes, panel, color)
    highest = curve if truth is None else np.maximum(curve, truth)
    label_windows(axes, windows, highest)
    axes.set_ylabel(f"share of people, per {alphabet.step_name}")
    return figure


def _window_maps(scene: MapScene, windows: Windows, *, is_narrow: bool) -> Figure:
    """Draw the estimate with the districts on it, and beside it how far the share of each may be off."""
    width, height = scene.size
    rows, columns = (2, 1) if is_narrow else (1, 2)
    figure = style.new_figure(columns * (width + 1.2), rows * (height + 0.5))
    estimate, doubt = (figure.add_subplot(rows, columns, place) for place in (1, 2))
    scene.draw(estimate, scene.panels[0], style.INK)
    estimate.set_title("The estimate")
    scene.add_key(figure, [estimate])
    scene.draw_doubt(figure, doubt, windows)
    doubt.set_title("How far it may be off")
    return figure


def _window_bars(windows: Windows, noisy: FloatArray | None, color: str, *, is_narrow: bool) -> Figure:
    answers, places = windows.answers, np.arange(len(windows))
    figure = style.new_figure(NARROW if is_narrow else WIDE, 0.95 + 0.27 * max(3, places.size))
    axes = figure.add_subplot()
    shares, low, high = (np.array([getattr(one, end) for one in answers]) for end in ("estimate", "low", "high"))
    sent = None if noisy is None else np.array([noisy[members].sum() for members in windows.members])
    if sent is not None:
        axes.barh(places, sent, height=0.7, label="share of the reports", **REPORTS)
    ends = np.maximum([shares - low, high - shares], 0.0)
    told = f"what they tell, at {100 * windows.level:g}%"
    axes.errorbar(shares, places, xerr=ends, fmt="o", color=color, capsize=3, markersize=4.5, label=told)
    axes.set_yticks(places, [_shorten(one) for one in windows.labels])
    axes.set_ylim(places.size - 0.4, -0.6)
    highest = max(float(high.max()), 0.0 if sent is None else float(sent.max()), 1e-9)
    axes.set_xlim(min(0.0, float(low.min())), 1.04 * highest)
    axes.tick_params(axis="y", length=0, labelcolor=style.INK)
    axes.grid(visible=False, axis="y")
    style.show_percent(axes.xaxis)
    axes.set_xlabel("share of people")
    if sent is not None:
        figure.legend(loc="outside upper left", ncols=1 if is_narrow else 2, fontsize=9.5)
    return figure


def draw_residuals(outputs: Alphabet, residuals: FloatArray, name: str = "report") -> Figure:
    """Draw by how many standard errors each output was seen more, or less, often than the best explanation expects.

    An output that no value can produce has no residual, which is NaN.

    >>> draw_residuals(Integers(0, 2), np.array([0.5, -1.0, 2.5])).axes[0].get_ylabel()
    'standard errors'
    """
    with style.styled():
        if isinstance(outputs, Grid):
            return _residual_map(outputs, residuals)
        figure = style.new_figure(WIDTH, 2.4) if isinstance(outputs, Integers) else None
        if figure is not None and isinstance(outputs, Integers):
            _residual_line(figure.add_subplot(), outputs, residuals, name)
            return figure
        return _residual_bars(outputs, residuals)


def _residual_line(axes: Axes, outputs: Integers, residuals: FloatArray, name: str) -> None:
    from matplotlib.ticker import MaxNLocator

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
        axes.xaxis.set_major_locator(MaxNLocator(nbins=12, integer=True, steps=[1, 2, 5, 10]))
    axes.set_xlabel(name)
    axes.set_ylabel("standard errors")


def _residual_map(grid: Grid, residuals: FloatArray) -> Figure:
    from matplotlib.ticker import MaxNLocator

    longer = max(grid.shape)
    figure = style.new_figure(3.0 * max(grid.columns / longer, 0.35) + 1.6, 3.0 * max(grid.rows / longer, 0.35) + 0.7)
    axes = figure.add_subplot()
    axes.set_facecolor(style.HOLE)
    reach = max(LEAST_SCALE, float(np.nanmax(np.abs(residuals), initial=0.0)))
    west, south = grid.first_column - 0.5, grid.first_row - 0.5
    extent = (west, west + grid.columns, south, south + grid.rows)
    picture = grid.picture(residuals)
    image = axes.imshow(picture, origin="lower", extent=extent, interpolation="none", cmap=style.residuals())
    image.set_clim(-reach, reach)
    axes.grid(visible=False)
    for axis, label in ((axes.xaxis, "column"), (axes.yaxis, "row")):
        axis.set_major_locator(MaxNLocator(nbins=6, integer=True, steps=[1, 2, 5, 10]))
        axis.set_label_text(label)
    bar = figure.colorbar(image, ax=axes, shrink=0.9)
    bar.outline.set_linewidth(0.5)
    bar.set_label("standard errors")
    return figure


def _residual_bars(outputs: Alphabet, residuals: FloatArray) -> Figure:
    heights = np.nan_to_num(residuals)
    shown = np.sort(np.argsort(-np.abs(heights), kind="stable")[:MOST_BARS])
    places = np.arange(shown.size)
    figure = style.new_figure(WIDTH, 0.85 + 0.27 * max(3, shown.size))
    axes = figure.add_subplot()
    axes.axvspan(-USUAL, USUAL, color=style.RULE, alpha=0.6, linewidth=0)
    axes.axvline(0, color=style.TRUTH_EDGE, linewidth=0.8)
    colors = [style.NOISY if heights[one] > 0 else style.FAINT for one in shown]
    axes.barh(places, heights[shown], height=0.6, color=colors)
    axes.set_yticks(places, [_shorten(one) for one in outputs.labels(shown)])
    axes.set_ylim(places.size - 0.4, -0.6)
    reach = max(LEAST_SCALE, 1.06 * float(np.abs(heights).max()))
    axes.set_xlim(-reach, reach)
    axes.tick_params(axis="y", length=0, labelcolor=style.INK)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("standard errors")
    return figure


def _shorten(label: str) -> str:
    words = " ".join(label.split())
    return words if len(words) <= LONGEST_LABEL else f"{words[: LONGEST_LABEL - 1]}…"
