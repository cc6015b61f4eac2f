"""Pictures that answers share, with descriptions for who cannot see them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from confide.estimates.explanations import describe_value
from confide.estimates.inference import Interval, Windows, percent
from confide.plans.planning import Curve, Plan
from confide.plans.records import expected
from confide.plans.simulations import promise
from confide.present.figures import Panel, Role, draw_windows, style
from confide.present.figures.panels import FloatArray
from confide.present.summary import NONE, Listing, Part, Picture, Section
from confide.values import Alphabet, LineGeometry
from confide.values.wording import counted, listed


def picture_windows(  # noqa: PLR0913 - all that a picture may show
    windows: Windows,
    curve: FloatArray,
    name: str,
    *,
    truth: FloatArray | None = None,
    noisy: FloatArray | None = None,
    background: tuple[FloatArray, ...] = (),
    color: str = style.STACKED,
    story: str = "",
) -> list[Part]:
    """Return windows as a picture and as folded numbers.

    The story says what curve and boxes assume.
    """
    grey = "Grey: the truth." if truth is not None and isinstance(windows.alphabet.geometry, LineGeometry) else ""
    order = range(len(windows)) if windows.alphabet.grid is None else np.argsort(windows.ranks).tolist()
    rows = [
        [windows.names[place], *(f"{share:.2%}" for share in (one.estimate, one.low, one.high)), _parts(one)]
        for place in order
        for one in (windows.answers[place],)
    ]
    drawn = Picture(
        lambda width: draw_windows(
            windows, curve, name=name, truth=truth, noisy=noisy, background=background, width=width, color=color
        ),
        tell_windows(windows, name),
        " ".join(filter(None, [_explain_windows(windows, has_reports=noisy is not None), story, grey])),
    )
    return [
        drawn,
        Section("The same in numbers", [Listing([name, "Share", "From", "To", "Width of the interval"], rows)], "more"),
    ]


def _parts(answer: Interval) -> str:
    return NONE if answer.parts is None else str(answer.parts)


def _explain_windows(windows: Windows, *, has_reports: bool) -> str:
    level = f"{percent(windows.level)} confidence"
    if windows.alphabet.grid is not None:
        return (
            f"Cells are joined to districts until the reports resolve their shares. First map: the share of each "
            f"district, spread evenly over its cells, and its number. Second map: its share, and by how many points it "
            f"may be off ({level}); the darker, the farther in proportion."
        )
    if not isinstance(windows.alphabet.geometry, LineGeometry):
        beside = " Pale bars: shares of the reports, which the noise has spread out." if has_reports else ""
        return f"Each share with its interval ({level}).{beside}"
    return (
        f"Each box is a range: its share lies between bottom and top ({level}), spread evenly over its values. "
        "Within a box, a bump of the curve may be chance."
    )


def tell_windows(windows: Windows, name: str) -> str:
    """Return the shares of windows with their ends, the fullest first."""
    order = sorted(range(len(windows)), key=lambda place: -windows.answers[place].estimate)
    told = [
        f"{windows.names[place]} {_short(one.estimate)} ({_short(one.low)} to {_short(one.high)})"
        for place in order[:6]
        for one in (windows.answers[place],)
    ]
    more = f", and {counted(len(order) - len(told), 'more')}" if len(order) > len(told) else ""
    return f"Shares by {name}, the fullest first, with {percent(windows.level)} intervals: {', '.join(told)}{more}."


def tell_panel(panel: Panel, alphabet: Alphabet, name: str) -> str:
    """Describe where a distribution peaks and where its middle half lies."""
    shares = panel.distribution
    top = int(np.argmax(shares))
    who = "the reports" if panel.role is Role.NOISY else "people"
    most = f"most of {who}, {_short(float(shares[top]))}, at {describe_value(alphabet, top, name)}"
    if (
        isinstance(alphabet.geometry, LineGeometry)
        and alphabet.size > 2
        and bool((shares >= 0).all())
        and shares.sum() > 0
    ):
        below = np.cumsum(shares) / shares.sum()
        low, high = (
            describe_value(alphabet, min(int(np.searchsorted(below, share)), below.size - 1), name)
            for share in (0.25, 0.75)
        )
        most += f"; half lie between {low} and {high}"
    words = f"{panel.title}: {most}"
    return f"{words}. {panel.subtitle}." if panel.subtitle else f"{words}."


def tell_paths(paths: Mapping[str, Sequence[float]], ceiling: float | None) -> str:
    """Describe how far below the maximum each method ended."""
    reached = max(max(path) for path in paths.values())
    most = reached if ceiling is None else max(ceiling, reached)
    told = [
        f"{name} is at most {most - path[-1]:.3g} below the maximum after {counted(len(path), 'iteration')}"
        for name, path in paths.items()
    ]
    return f"{listed(told)}."


def tell_residuals(outputs: Alphabet, residuals: FloatArray, name: str) -> str:
    """Describe the report farthest from expectation, and the number of outliers."""
    heights = np.nan_to_num(residuals)
    top = int(np.argmax(np.abs(heights)))
    how = "more" if heights[top] > 0 else "less"
    beyond = int((np.abs(heights) > 2.0).sum())
    return (
        f"The farthest from what is expected is {name} {outputs.labels([top])[0]}, seen {how} often by "
        f"{abs(float(heights[top])):.1f} standard errors; {beyond:,} of {outputs.size:,} are beyond two."
    )


def tell_ranges(alphabet: Alphabet, lowest: FloatArray, highest: FloatArray, name: str) -> str:
    """Return which shares are known least and best among all best explanations."""
    widths = highest - lowest
    widest, narrowest = int(np.argmax(widths)), int(np.argmin(widths))
    told = [
        f"{describe_value(alphabet, place, name)} is between {_short(lowest[place])} and {_short(highest[place])}"
        for place in dict.fromkeys((widest, narrowest))
    ]
    return f"Among all best explanations the share of {', that of '.join(told)}."


def tell_tradeoff(plan: Plan) -> str:
    """Describe the plan's expected error, and the ends of its curves."""
    error = f"expected {plan.measure.name} {expected(plan.measure, plan.prediction)}"
    told = [f"{plan.people:,} people with {promise(plan.mechanism)}: {error}"]
    told.append(f"by people {_ends(plan, plan.by_people, lambda place: f'{int(place):,}')}")
    if plan.by_epsilon is not None:
        told.append(f"by privacy {_ends(plan, plan.by_epsilon, lambda place: promise(plan.mechanism.at(place)))}")
    return f"{'; '.join(told)}."


def _ends(plan: Plan, curve: Curve, name: Callable[[float], str]) -> str:
    points, measure = list(curve.points.items()), plan.measure
    ends = [(place, expected(measure, one)) for place, one in (points[0], points[-1])]
    shown = [f"{measure.name} {one} at {name(place)}" for place, one in ends]
    return f"from {shown[0]} to {shown[1]}"


def _short(share: float) -> str:
    """Return a share in percent with two digits or so.

    >>> _short(0.3628), _short(0.0034), _short(-0.02)
    ('36%', '0.34%', '\N{MINUS SIGN}2%')
    """
    return f"{100 * share:.2g}%".replace("-", "\N{MINUS SIGN}")
