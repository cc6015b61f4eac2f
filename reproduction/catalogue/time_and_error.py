"""How long IBU and inversion take, and what the time buys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from confide.methods import IBU, MLE
from reproduction.base import RESULTS, TIMES, Claim, Comparison, Picture, Setting, Tables, judge
from reproduction.blurs import Blur
from reproduction.cells import Contender
from reproduction.contenders import INVERSIONS
from reproduction.sources import Binomial
from reproduction.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from reproduction.curves import Curve

SIZES = (100, 200, 400, 600, 800)
LEVELS = (0.01, 0.03, 0.05)
DELTAS = (1e-2, 1e-3)
STORED, FAST = "truncated-geometric, stored", "truncated-geometric"


def _settings() -> tuple[Setting, ...]:
    """Return every size and level, with the matrix stored as in the paper, and with confide's fast products."""
    return tuple(
        Setting(Binomial(size, 0.5), Blur("truncated-geometric", level, is_stored=is_stored))
        for is_stored in (True, False)
        for size in SIZES
        for level in LEVELS
    )


def draw_times(tables: Tables) -> Figure:
    """Draw time against the number of values."""
    from confide.figures import style
    from reproduction.curves import CurvePanel, draw_curves

    times, colors = tables[TIMES], (style.BLUE, style.SKY, "#004466")
    panels = []
    for delta in DELTAS:
        curves: dict[str, Curve] = {}
        for level, color in zip(LEVELS, colors, strict=True):
            ibu = times.where(mechanism=STORED, method="IBU", delta=delta, epsilon=level)
            curves[f"IBU, ε = {level:g}"] = _by_size(ibu, color, "-")
        for method in ("INV-N", "INV-P"):
            inverted = times.where(mechanism=STORED, method=method)
            curves[method] = _by_size(inverted, style.METHODS[method], "-")
        fast = times.where(mechanism=FAST, method="IBU", delta=delta, epsilon=LEVELS[0])
        curves[f"IBU, fast products, ε = {LEVELS[0]:g}"] = _by_size(fast, style.BLUE, ":")
        maximum = times.where(mechanism=FAST, method="MLE", epsilon=LEVELS[0])
        curves[f"MLE, fast products, ε = {LEVELS[0]:g}"] = _by_size(maximum, style.ORANGE, ":")
        panels.append(CurvePanel(f"δ = {delta:g}", curves))
    return draw_curves(
        panels, x_label="number of values k", y_label="time (milliseconds)", columns=2, size=(5.0, 3.4), logarithmic="y"
    )


def draw_trade(tables: Tables) -> Figure:
    """Draw time against error, one point a run."""
    from confide.figures import style
    from reproduction.curves import Curve, CurvePanel, draw_curves

    panels = []
    for delta in DELTAS:
        curves = {}
        for method in ("IBU", "INV-N", "INV-P"):
            chosen = {"mechanism": STORED, "method": method} | ({"delta": delta} if method == "IBU" else {})
            errors, times = tables[RESULTS].where(**chosen), tables[TIMES].where(**chosen)
            color = style.METHODS[method]
            curves[method] = Curve(1000 * times.numbers("seconds"), errors.numbers("emd"), color, "none", "o")
        panels.append(CurvePanel(f"δ = {delta:g}", curves))
    return draw_curves(
        panels, x_label="time (milliseconds)", y_label="EMD", columns=2, size=(5.0, 3.4), logarithmic="xy"
    )


def _by_size(rows: Table, color: str, linestyle: str) -> Curve:
    from reproduction.curves import Curve

    groups = [1000 * rows.where(values=size).numbers("seconds") for size in SIZES if len(rows.where(values=size))]
    quartiles = np.array([np.quantile(group, (0.25, 0.5, 0.75)) for group in groups])
    sizes = np.array(rows.distinct("values"), dtype=float)
    low, middle, high = quartiles.T
    return Curve(sizes, middle, color, linestyle, "o", low, high)


def check(tables: Tables) -> list[Claim]:
    """Lay the paper's words beside the numbers."""
    times, results = tables[TIMES].where(mechanism=STORED), tables[RESULTS].where(mechanism=STORED)
    return [_is_slower(times), _grows(times), _falls_with_delta(times), _is_better(results)]


def _is_slower(times: Table) -> Claim:
    ratios = [
        times.where(method="IBU", values=size).median("seconds")
        / times.where(method="INV-P", values=size).median("seconds")
        for size in times.distinct("values")
    ]
    return judge(
        "Time: IBU takes longer than INV",
        "a figure",
        f"median time of IBU over INV-P's, by k: {', '.join(f'{ratio:,.0f}' for ratio in ratios)}",
        holds=min(ratios) > 1,
    )


def _grows(times: Table) -> Claim:
    medians = [times.where(method="IBU", values=size).median("seconds") for size in times.distinct("values")]
    return judge(
        "Time: it increases with the number of values",
        "a figure",
        "median milliseconds of IBU, by k: " + ", ".join(f"{1000 * median:.3g}" for median in medians),
        holds=medians == sorted(medians),
    )


def _falls_with_delta(times: Table) -> Claim:
    ratios = [
        times.where(method="IBU", epsilon=level, delta=1e-3).median("seconds")
        / times.where(method="IBU", epsilon=level, delta=1e-2).median("seconds")
        for level in LEVELS
    ]
    return judge(
        "Time: it increases as delta decreases",
        "a figure",
        f"median time at 1e-3 over 1e-2, by epsilon: {', '.join(f'{ratio:.1f}' for ratio in ratios)}",
        holds=min(ratios) > 1,
    )


def _is_better(results: Table) -> Claim:
    pairs = [(level, size) for level in LEVELS for size in results.distinct("values")]
    ratios = [
        max(rows.where(method="IBU", delta=delta).median("emd") for delta in DELTAS)
        / min(rows.where(method=method).median("emd") for method in ("INV-N", "INV-P"))
        for rows in (results.where(epsilon=level, values=size) for level, size in pairs)
    ]
    return judge(
        "Time: IBU consistently produces more accurate estimates than INV-N and INV-P",
        "a figure",
        f"median EMD of IBU over the better inversion's: {min(ratios):.2f} to {max(ratios):.2f}",
        holds=max(ratios) < 1,
    )


EXPERIMENT = Comparison(
    name="time-and-error",
    title="What IBU costs, and what it buys",
    paper=("fig:time_alphabet_delta",),
    settings=_settings(),
    contenders=(*(Contender(IBU(delta=delta)) for delta in DELTAS), *INVERSIONS, Contender(MLE())),
    is_timed=True,
    pictures=(
        Picture(
            "time-and-error-times",
            "Time of one estimate by number of values, median and quartiles over repeats: Algorithm 1 on the stored "
            "matrix, as in the paper; dotted, the same with confide's products in O(k), and the certified maximum.",
            draw_times,
        ),
        Picture(
            "time-and-error-trade",
            "Error against time, one point for each run on the stored matrix: all k, all levels.",
            draw_trade,
        ),
    ),
    claims=check,
    notes=(
        (
            "Times are of this machine and differ from run to run, so they stand in a table of their own, "
            "time-and-error-times.csv; the table of results is the same every time."
        ),
        (
            "The inverse matrix is made once for each mechanism and is not in the time, as the paper's count of O(k²) "
            "has it."
        ),
        "Cells are timed while others run beside them. For quiet times: --jobs 1.",
    ),
)
