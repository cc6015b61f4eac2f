"""Matrix inversion against IBU: error, time, and what time buys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from confide.data.datasets import load
from confide.estimates.estimate import estimate
from confide.mechanisms import Mechanism
from confide.solve.methods import IBU, MLE, Inversion
from reproduction.cells import IBU_OF_PAPER, INVERSIONS, Contender, Draw, run_draw
from reproduction.claims import COMPARABLE, Claim, Ruling, judge
from reproduction.declarations import Binomial, Blur, Bundled, seed_of
from reproduction.experiments import Comparison, Computation, Picture, Setting
from reproduction.table import RESULTS, TIMES, Table, Tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from reproduction.plots import Series

CASES: tuple[tuple[str, Blur, str], ...] = (
    ("adult_ages", Blur("randomized-response", 2.0), "227.28"),
    ("adult_ages", Blur("truncated-geometric", 0.05), "7238"),
    ("manhattan", Blur("randomized-response", 2.5), "678.04"),
    ("manhattan", Blur("truncated-taxicab", 0.2), "662648.6"),
)
"""Data, mechanism, and the bound times n that the paper prints."""

MISPRINTS = ("227.28", "7238")
# Populations whose squared error is averaged.
DRAWS = 200

# Repeats of the box plots over which IBU's error is a median.
REPEATS = 10

BOUND_COLUMNS = {
    "data": "text",
    "mechanism": "text",
    "epsilon": "number",
    "kind": "text",
    "bound_times_n": "number",
    "exact_times_n": "number",
    "seen_times_n": "number",
    "ibu_emd": "number",
    "printed": "text",
    "draws": "whole",
    "seed": "whole",
}


def compute_bounds() -> dict[str, Table]:
    """Return bound, exact error and mean over drawn populations, times n."""
    from confide.theory.identification import inversion_error

    rows = []
    for data, blur, printed in CASES:
        dataset = load(data)
        mechanism, seed = blur.build(dataset.alphabet), seed_of("inversion-bounds", data, blur)
        error = inversion_error(mechanism, distribution=dataset.distribution)
        if error.bound is None:
            continue
        seen = _mean_squared(mechanism, dataset.distribution, seed)
        numbers = error.bound.per_report, error.per_report, seen, _ibu_error(data, blur)
        rows.append((data, blur.kind, blur.epsilon, error.bound.kind, *numbers, printed, DRAWS, seed))
    return {RESULTS: Table(BOUND_COLUMNS, tuple(rows))}


def _mean_squared(mechanism: Mechanism, distribution: np.ndarray, seed: int, people: int = 100_000) -> float:
    """Return n times the inverse's mean squared error over drawn populations."""
    generator = np.random.default_rng(seed)
    errors = []
    for _ in range(DRAWS):
        counts = mechanism.simulate_counts(generator.multinomial(people, distribution), rng=generator)
        found = estimate(counts, mechanism, Inversion("none")).distribution
        errors.append(float(((found - distribution) ** 2).sum()))
    return people * float(np.mean(errors))


def _ibu_error(data: str, blur: Blur) -> float:
    """Return IBU's median EMD over the first repeats."""
    draws = [Draw(Bundled(data), blur, repeat) for repeat in range(REPEATS)]
    rows = [run_draw(draw, [IBU_OF_PAPER], is_kept=False)[0].row for draw in draws]
    return float(np.median([row.emd for row in rows if row.emd is not None]))


def judge_bounds(tables: Tables) -> list[Claim]:
    """Compare the four printed bounds with ours."""
    lines = [dict(zip(BOUND_COLUMNS, row, strict=True)) for row in tables[RESULTS].rows]
    return [*(_bound(line) for line in lines), *(_utility(*pair) for pair in zip(lines[::2], lines[1::2], strict=True))]


def _bound(line: dict[str, Any]) -> Claim:
    is_misprint = line["printed"] in MISPRINTS
    is_same = abs(line["bound_times_n"] - float(line["printed"])) < 0.06
    note = f"The exact error times n is {line['exact_times_n']:,.1f}, and {line['seen_times_n']:,.1f} is seen."
    return Claim(
        f"Inversion on {line['data']}, {line['mechanism']} at {line['epsilon']:g}: n times the mean squared error is "
        f"{line['kind']}",
        line["printed"],
        f"{line['bound_times_n']:,.2f}",
        Ruling.HOLDS if is_same else Ruling.MISPRINT if is_misprint else Ruling.DIFFERS,
        f"The paper's own formula gives ours. {note}" if is_misprint else note,
    )


def _utility(flat: dict[str, Any], metric: dict[str, Any]) -> Claim:
    """Return whether IBU makes k-RR and the metric mechanism equally useful."""
    ratio = flat["ibu_emd"] / metric["ibu_emd"]
    return judge(
        f"On {flat['data']}, k-RR at {flat['epsilon']:g} and {metric['mechanism']} at {metric['epsilon']:g} give "
        "approximately the same utility with IBU",
        "two figures",
        f"median EMD {flat['ibu_emd']:.3g} and {metric['ibu_emd']:.3g}",
        holds=1 / COMPARABLE <= ratio <= COMPARABLE,
        note=f"Holds if within a factor of {COMPARABLE:g}; the box plots have the maximum of the likelihood beside it.",
    )


INVERSION_BOUNDS = Computation(
    name="inversion-bounds",
    title="How wrong matrix inversion is",
    paper=("prop:invKrrBound", "prop:invTLinGeomBound", "prop:invTTaxicabBound"),
    compute=compute_bounds,
    kinds={RESULTS: BOUND_COLUMNS},
    claims=judge_bounds,
    notes=(
        (
            "The bounds hold for every distribution of the people. The exact error is for the real one, and so is "
            f"what is seen: the mean over {DRAWS} populations of 100,000 people."
        ),
    ),
)

SIZES = (100, 200, 400, 600, 800)
LEVELS = (0.01, 0.03, 0.05)
DELTAS = (1e-2, 1e-3)
STORED, FAST = "truncated-geometric, stored", "truncated-geometric"


def _settings() -> tuple[Setting, ...]:
    """Return every size and level, with stored and with fast products."""
    return tuple(
        Setting(Binomial(size, 0.5), Blur("truncated-geometric", level, is_stored=is_stored))
        for is_stored in (True, False)
        for size in SIZES
        for level in LEVELS
    )


def draw_times(tables: Tables) -> Figure:
    """Draw time against the number of values."""
    from confide.present.figures import style
    from confide.present.figures.style import colors_of
    from reproduction.plots import draw_curves

    times, lines = tables[TIMES], ("-", "--", "-.")
    panels: dict[str, dict[str, Series]] = {}
    for delta in DELTAS:
        curves: dict[str, Series] = {}
        for level, line in zip(LEVELS, lines, strict=True):
            ibu = times.where(mechanism=STORED, method="IBU", delta=delta, epsilon=level)
            curves[f"IBU, ε = {level:g}"] = _by_size(ibu, style.IBU, line)
        for method in ("INV-N", "INV-P"):
            inverted = times.where(mechanism=STORED, method=method)
            curves[method] = _by_size(inverted, colors_of([method])[0], "-")
        fast = times.where(mechanism=FAST, method="IBU", delta=delta, epsilon=LEVELS[0])
        curves[f"IBU, fast products, ε = {LEVELS[0]:g}"] = _by_size(fast, style.IBU, ":")
        maximum = times.where(mechanism=FAST, method="MLE", epsilon=LEVELS[0])
        curves[f"MLE, fast products, ε = {LEVELS[0]:g}"] = _by_size(maximum, style.MLE, ":")
        panels[f"δ = {delta:g}"] = curves
    return draw_curves(
        panels, x_label="number of values k", y_label="time (milliseconds)", size=(5.0, 3.4), logarithmic="y"
    )


def draw_trade(tables: Tables) -> Figure:
    """Draw time against error, one point a run."""
    from confide.present.figures.style import colors_of
    from reproduction.plots import Series, draw_curves

    panels: dict[str, dict[str, Series]] = {}
    for delta in DELTAS:
        curves = {}
        for method in ("IBU", "INV-N", "INV-P"):
            chosen = {"mechanism": STORED, "method": method} | ({"delta": delta} if method == "IBU" else {})
            errors, times = tables[RESULTS].where(**chosen), tables[TIMES].where(**chosen)
            color = colors_of([method])[0]
            curves[method] = Series(1000 * times.numbers("seconds"), errors.numbers("emd"), color, "none", "o")
        panels[f"δ = {delta:g}"] = curves
    return draw_curves(panels, x_label="time (milliseconds)", y_label="EMD", size=(5.0, 3.4), logarithmic="xy")


def _by_size(rows: Table, color: str, linestyle: str) -> Series:
    from reproduction.plots import Series

    groups = [1000 * rows.where(values=size).numbers("seconds") for size in SIZES if len(rows.where(values=size))]
    quartiles = np.array([np.quantile(group, (0.25, 0.5, 0.75)) for group in groups])
    sizes = np.array(rows.distinct("values"), dtype=float)
    low, middle, high = quartiles.T
    return Series(sizes, middle, color, linestyle, "o", low, high)


def judge_times(tables: Tables) -> list[Claim]:
    """Judge what the paper says of it."""
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


TIME_AND_ERROR = Comparison(
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
    claims=judge_times,
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
