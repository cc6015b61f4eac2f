"""What an expected error costs: in people, and in privacy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from confide.errors import InvalidParameterError
from confide.explanations import plural
from confide.figures import style
from confide.figures.paths import mark_decades
from confide.guarantees import MetricPrivacy
from confide.plans.curves import Curve
from confide.plans.measures import Prediction
from confide.plans.planning import Plan

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKERS = "sD^vPX"
"""Mechanisms differ by shape as well as by colour."""


def draw_tradeoff(plan: Plan) -> Figure:
    """Draw the expected error over people and over epsilon, on logarithmic axes, with the plan's own 95 % margins.

    >>> from confide import Integers, TruncatedGeometric, plan
    >>> mechanism = TruncatedGeometric(Integers(0, 3), epsilon=1.0)
    >>> made = plan(mechanism, [0.4, 0.3, 0.2, 0.1], people=500, repeats=4, cache=False)
    >>> [axes.get_xlabel() for axes in draw_tradeoff(made).axes]
    ['people', 'epsilon, per unit of distance']
    """
    curves = [plan.by_people, *([] if plan.by_epsilon is None else [plan.by_epsilon])]
    if any(one.mean <= 0 for curve in curves for one in curve.predictions):
        raise InvalidParameterError("An expected error of 0 has no place on a logarithmic axis; there is no trade-off.")
    with style.styled():
        figure = style.new_figure(4.6 * len(curves), 3.6)
        axes = np.atleast_1d(figure.subplots(1, len(curves), sharey=True)).tolist()
        for place, curve in zip(axes, curves, strict=True):
            _draw_curve(place, plan, curve)
        _draw_rivals(axes[-1], plan)
        for place in axes:
            mark_decades(place)
        axes[0].set_ylabel(_error_label(plan))
        handles, labels = axes[-1].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=min(3, len(handles)), fontsize=9)
    return figure


def _draw_curve(axes: Axes, plan: Plan, curve: Curve) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.errorbar(
        curve.places,
        [one.mean for one in curve.predictions],
        yerr=[_below(curve.predictions), [one.margin for one in curve.predictions]],
        color=style.BLUE,
        marker="o",
        markersize=4.5,
        capsize=3,
        label=plan.mechanism.kind,
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
    axes.set_xlabel("people" if curve.along == "people" else _epsilon_label(plan))
    axes.set_title("More people" if curve.along == "people" else "Weaker privacy")


def _draw_rivals(axes: Axes, plan: Plan) -> None:
    """Draw what other mechanisms reach at the plan's epsilon, a little to the right of it so that all are seen."""
    known = [one for one in plan.rivals if one.prediction is not None and one.prediction.mean > 0]
    colors = (style.NOISY, style.GREEN, style.PURPLE, style.ORANGE, style.SKY, style.INK)
    for number, rival in enumerate(known):
        assert rival.prediction is not None  # noqa: S101 (for the type checker; asked above)
        axes.errorbar(
            [float(plan.epsilon or 1.0) * 1.09 ** (number + 1)],
            [rival.prediction.mean],
            yerr=[_below((rival.prediction,)), [rival.prediction.margin]],
            color=colors[number % len(colors)],
            marker=MARKERS[number % len(MARKERS)],
            markersize=5.5,
            capsize=2,
            linestyle="none",
            label=f"{rival.mechanism.kind}, same promise",
            zorder=3,
        )


def _below(predictions: tuple[Prediction, ...]) -> list[float]:
    """Return how far error bars reach down; none reaches zero, which a logarithmic axis does not have."""
    return [min(one.margin, 0.9 * one.mean) for one in predictions]


def _error_label(plan: Plan) -> str:
    unit = plan.measure.unit
    return f"expected {plan.measure.name}" + (f" ({plural(unit)})" if unit else "")


def _epsilon_label(plan: Plan) -> str:
    guarantee = plan.mechanism.guarantee
    if not isinstance(guarantee, MetricPrivacy):
        return "epsilon"
    return f"epsilon, per {guarantee.unit or 'unit of distance'}"
