"""Curves: the expected error of a plan, and paths of methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from confide.errors import InvalidParameterError
from confide.mechanisms.guarantees import MetricPrivacy
from confide.plans.planning import Curve, Plan
from confide.present.figures import style
from confide.present.figures.style import FloatArray, colors_of, mark_decades
from confide.values.wording import plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import GridSpec


def draw_tradeoff(plan: Plan, *, width: float = style.WIDE) -> Figure:
    """Draw the expected error over people and epsilon.

    Axes are logarithmic; bars are the plan's own 95 % margins.

    Without a guess the range over all shapes is a band, each of them a faint line, and the worst one stands out. In a
    figure of the width of a telephone all stands below each other.

    >>> from confide import Integers, TruncatedGeometric, plan
    >>> mechanism = TruncatedGeometric(Integers(0, 3), epsilon=1.0)
    >>> made = plan(mechanism, [0.4, 0.3, 0.2, 0.1], people=500, repeats=4, cache=False)
    >>> [axes.get_xlabel() for axes in draw_tradeoff(made).axes]
    ['people', 'epsilon, per unit of distance']
    """
    curves = [plan.by_people, *([] if plan.by_epsilon is None else [plan.by_epsilon])]
    shapes = [curve for one in plan.outlooks for curve in (one.by_people, one.by_epsilon) if curve is not None]
    if any(one.mean <= 0 for curve in [*curves, *shapes] for one in curve.predictions):
        raise InvalidParameterError("An expected error of 0 has no place on a logarithmic axis; there is no trade-off.")
    with style.styled():
        is_narrow = width <= style.NARROW
        across, down = (1, len(curves)) if is_narrow else (len(curves), 1)
        tall = 3.0 if is_narrow else 3.4
        figure = style.new_figure(width if across == 1 else min(width, 4.6 * across), down * tall)
        rows = figure.add_gridspec(down, across)
        first = _draw_curves(figure, rows, plan, curves, is_narrow=is_narrow)
        unit = plan.measure.unit
        first.set_ylabel(f"expected {plan.measure.name}" + (f" ({plural(unit)})" if unit else ""))
        first.legend(loc="lower left", fontsize=style.SMALL)  # errors fall, so nothing is there
    return figure


def _draw_curves(figure: Figure, rows: GridSpec, plan: Plan, curves: list[Curve], *, is_narrow: bool) -> Axes:
    """Draw the curves on one scale of errors; return the first axes."""
    first: Axes | None = None
    for place, curve in enumerate(curves):
        axes = figure.add_subplot(rows[place, 0] if is_narrow else rows[0, place], sharey=first)
        draw_curve(axes, plan, curve)
        if first is not None:
            axes.tick_params(labelleft=is_narrow)
        first = first or axes
    for axes, curve in zip(figure.axes, curves, strict=True):
        mark_decades(axes.xaxis, *axes.get_xlim())
        mark_decades(axes.yaxis, *axes.get_ylim())
        # Where it was simulated: round numbers in between would collide; on a telephone every other of more than four.
        places = curve.places[:: 2 if is_narrow and len(curve.places) > 4 else 1]
        axes.set_xticks(places, [f"{place:,.6g}" for place in places])
        axes.minorticks_off()
    return figure.axes[0]


def draw_curve(axes: Axes, plan: Plan, curve: Curve) -> None:
    """Draw the expected error along people or epsilon into empty axes."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    (color,) = colors_of([plan.method.name])
    found = [one.by_people if curve.along == "people" else one.by_epsilon for one in plan.outlooks]
    rows = [[one.mean for one in shape.predictions] for shape in found if shape is not None]
    if rows:  # the least and the largest error over all shapes as a band, and each shape as a line within it
        low, high = ([end(column) for column in zip(*rows, strict=True)] for end in (min, max))
        words = "range over all shapes"
        axes.fill_between(curve.places, low, high, color=color, alpha=0.13, linewidth=0, label=words)
    for row in rows:
        axes.plot(curve.places, row, color=color, alpha=0.35, linewidth=0.8, zorder=1)
    axes.errorbar(
        curve.places,
        [one.mean for one in curve.predictions],
        # A logarithmic axis has no zero for a bar to reach down to.
        yerr=np.transpose([(min(one.margin, 0.9 * one.mean), one.margin) for one in curve.predictions]),
        color=color,
        marker="o",
        markersize=4.5,
        capsize=3,
        label=f"worst shape: {plan.guess.name}" if plan.outlooks else plan.mechanism.kind,
    )
    here = float(plan.people) if curve.along == "people" else float(plan.epsilon or 1.0)
    axes.plot(
        [here],
        [plan.prediction.mean],
        marker="o",
        markersize=11,
        markerfacecolor="none",
        markeredgecolor=style.INK,
        markeredgewidth=1.4,
        linestyle="none",
        label="the plan",
        zorder=4,
    )
    if plan.answer is not None:
        axes.axhline(plan.answer.target, color=style.FAINT, linewidth=1, linestyle="--", label="target")
    guarantee, label = plan.mechanism.guarantee, "epsilon"
    if isinstance(guarantee, MetricPrivacy):
        label = f"epsilon, per {guarantee.unit or 'unit of distance'}"
    axes.set_xlabel("people" if curve.along == "people" else label)
    axes.set_title("More people" if curve.along == "people" else "Weaker privacy")


def draw_path(
    paths: Mapping[str, Sequence[float]],
    *,
    ceiling: float | None = None,
    colors: Mapping[str, str] | None = None,
    width: float = style.MIDDLE,
) -> Figure:
    """Draw each method's distance from the maximum, iteration by iteration.

    Parameters
    ----------
    paths
        The log-likelihood after each iteration, by the method's name; empty paths are left out.
    ceiling
        What no log-likelihood can exceed: that of an estimate plus its certificate. With it a band is drawn, for
        the maximum lies somewhere between the highest that was reached and the ceiling.
    colors
        The colour of each method, where other figures have given it one.
    width
        Inches across.

    Examples
    --------
    >>> draw_path({"IBU": [-30.0, -20.0, -19.0]}).axes[0].get_xlabel()
    'iteration'
    """
    climbed = {name: np.asarray(path, dtype=np.float64) for name, path in paths.items() if len(path)}
    if not climbed:
        raise InvalidParameterError("There is no path to draw; only iterative methods have one.")
    reached = max(float(path.max()) for path in climbed.values())
    chosen = colors or dict(zip(climbed, colors_of(list(climbed)), strict=True))
    with style.styled():
        named = len(climbed) * (1 if ceiling is None else 2) if len(climbed) > 1 or ceiling is not None else 0
        figure = style.new_figure(width, 2.5 + 0.22 * named)
        axes = figure.add_subplot(xscale="log", yscale="log", xlabel="iteration")
        axes.set_ylabel("log-likelihood below\n" + ("the highest reached" if ceiling is None else "the maximum"))
        for name, path in climbed.items():
            _add_path(axes, path, reached, ceiling, (name, chosen[name]))
        mark_decades(axes.xaxis, *axes.get_xlim())
        mark_decades(axes.yaxis, *axes.get_ylim())
        if named:  # above: names may be longer than the axes
            figure.legend(loc="outside upper left", fontsize=style.SMALL)
    return figure


def _add_path(
    axes: Axes, path: FloatArray, reached: float, ceiling: float | None, name_and_color: tuple[str, str]
) -> None:
    """Draw one distance, or the band of its possible values."""
    name, color = name_and_color
    # 400 iterations at most, from 1, spread evenly over a logarithmic axis.
    iterations = np.unique(np.geomspace(1, path.size, min(path.size, 400)).round().astype(np.int64))
    chosen = path[iterations - 1]
    marker = "o" if iterations.size < 3 else ""
    least = _above_zero(reached - chosen)
    if ceiling is None:
        axes.plot(iterations, least, color=color, label=name, marker=marker)
        return
    most = _above_zero(max(ceiling, reached) - chosen)
    axes.plot(iterations, most, color=color, label=f"{name}, at most", marker=marker)
    axes.plot(iterations, least, color=color, label=f"{name}, at least", marker=marker, linewidth=1, linestyle="--")
    axes.fill_between(iterations, np.fmin(least, most), most, color=color, alpha=0.12, linewidth=0)


def _above_zero(gaps: FloatArray) -> FloatArray:
    """Return gaps, with NaN where a logarithmic axis has no place."""
    return np.where(np.isfinite(gaps) & (gaps > 0), gaps, np.nan)
