"""Trade-off of a plan: the expected error over people, and over privacy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confide.errors import InvalidParameterError
from confide.mechanisms.guarantees import MetricPrivacy
from confide.plans.curves import Curve
from confide.plans.measures import Prediction
from confide.plans.planning import Plan
from confide.present.figures import style
from confide.present.figures.palette import colors_of
from confide.present.figures.style import mark_decades
from confide.values.wording import plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import GridSpec


def draw_tradeoff(plan: Plan, *, width: float = style.WIDE) -> Figure:
    """Draw the expected error over people and over epsilon, on logarithmic axes, with the plan's own 95 % margins.

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
        first.set_ylabel(_error_label(plan))
        first.legend(loc="lower left", fontsize=style.SMALL)  # errors fall, so nothing is there
    return figure


def _draw_curves(figure: Figure, rows: GridSpec, plan: Plan, curves: list[Curve], *, is_narrow: bool) -> Axes:
    """Draw the curves side by side, or below each other, on one scale of errors, and return the first."""
    first: Axes | None = None
    for place, curve in enumerate(curves):
        axes = figure.add_subplot(rows[place, 0] if is_narrow else rows[0, place], sharey=first)
        _draw_curve(axes, plan, curve)
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


def _draw_curve(axes: Axes, plan: Plan, curve: Curve) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    _draw_range(axes, plan, curve)
    axes.errorbar(
        curve.places,
        [one.mean for one in curve.predictions],
        yerr=[_below(curve.predictions), [one.margin for one in curve.predictions]],
        color=_color(plan),
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


def _draw_range(axes: Axes, plan: Plan, curve: Curve) -> None:
    """Draw the least and the largest error over all shapes as a band, and each shape as a line within it."""
    found = [one.by_people if curve.along == "people" else one.by_epsilon for one in plan.outlooks]
    rows = [[one.mean for one in shape.predictions] for shape in found if shape is not None]
    if not rows:
        return
    low, high = ([end(column) for column in zip(*rows, strict=True)] for end in (min, max))
    axes.fill_between(
        curve.places, low, high, color=_color(plan), alpha=0.13, linewidth=0, label="range over all shapes"
    )
    for row in rows:
        axes.plot(curve.places, row, color=_color(plan), alpha=0.35, linewidth=0.8, zorder=1)


def _color(plan: Plan) -> str:
    """Return the colour of the method that the plan was simulated with."""
    return colors_of([plan.method.name])[0]


def _below(predictions: tuple[Prediction, ...]) -> list[float]:
    """Return how far error bars reach down; none reaches zero, which a logarithmic axis does not have."""
    return [min(one.margin, 0.9 * one.mean) for one in predictions]


def _error_label(plan: Plan) -> str:
    unit = plan.measure.unit
    return f"expected {plan.measure.name}" + (f" ({plural(unit)})" if unit else "")
