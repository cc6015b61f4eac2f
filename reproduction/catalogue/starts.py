"""IBU's choices: where it starts, when it stops, other deltas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confide.solve.methods import IBU, MLE
from reproduction.catalogue.levels import KRR, PER_KM, PER_YEAR
from reproduction.cells import DELTA, INVERSIONS, Contender
from reproduction.charts import READING, BoxChart, panel
from reproduction.claims import COMPARABLE, HALF, Claim, Ruling, better_inversion, judge
from reproduction.declarations import Binomial, Bundled, binomial, levels
from reproduction.experiments import Comparison, Picture, cross
from reproduction.table import RESULTS, SHARES, Table, Tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

VALUES = 20
DATA = Binomial(VALUES, 0.2)
LEVELS = (0.1, 0.3, 0.9)
DELTAS = (1.0, 0.1, 0.01)
STARTS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)


def started(delta: float, share: float) -> Contender:
    """Return IBU that starts at a binomial distribution."""
    return Contender(IBU(delta=delta, start=binomial(VALUES, share)), start=share)


def judge_starts(tables: Tables) -> list[Claim]:
    """Lay the paper's numbers and words beside ours."""
    results = tables[RESULTS].where(method="IBU")
    strong = results.where(epsilon=0.1)
    return [
        _number(strong.where(delta=0.01, start=0.3), "EMD, delta 0.01, start p = 0.3", "0.075", "emd"),
        _number(strong.where(delta=1.0, start=0.8), "EMD, delta 1.0, start p = 0.8", "0.321", "emd"),
        _number(strong.where(delta=0.01, start=0.2), "iterations, delta 0.01, start p = 0.2", "10", "iterations"),
        _number(strong.where(delta=0.01, start=0.8), "iterations, delta 0.01, start p = 0.8", "296", "iterations"),
        _trend(results, "epsilon", LEVELS, "lambda increases"),
        _trend(results, "delta", DELTAS, "delta decreases"),
        _fading(results),
    ]


def _number(rows: Table, what: str, printed: str, name: str) -> Claim:
    numbers = rows.numbers(name)
    return judge(
        f"Start and delta, epsilon 0.1: {what}",
        printed,
        rows.spread(name),
        holds=bool(0.9 * numbers.min() <= float(printed) <= 1.1 * numbers.max()),
        note="The paper shows one draw. Holds if it lies in the range of ours, 10% either way.",
    )


def _trend(results: Table, name: str, steps: tuple[float, ...], words: str) -> Claim:
    medians = [results.where(**{name: step}).median("emd") for step in steps]
    return judge(
        f"Start and delta: estimates become more precise as {words}",
        "a figure",
        "median EMD over all others: "
        + ", ".join(f"{one:.3f} ({step:g})" for one, step in zip(medians, steps, strict=True)),
        holds=medians == sorted(medians, reverse=True),
    )


def _fading(results: Table) -> Claim:
    def gap(epsilon: float, delta: float) -> float:
        rows = results.where(epsilon=epsilon, delta=delta)
        medians = [rows.where(start=start).median("emd") for start in STARTS]
        return max(medians) - min(medians)

    first, last = gap(LEVELS[0], DELTAS[0]), gap(LEVELS[-1], DELTAS[-1])
    return judge(
        "Start and delta: the influence of the start fades as delta decreases and lambda increases",
        "a figure",
        f"medians differ between starts by {first:.3f} at 0.1 and delta 1, by {last:.4f} at 0.9 and delta 0.01",
        holds=last < 0.2 * first,
    )


START_DELTA = Comparison(
    name="start-delta",
    title="Where IBU starts and when it stops",
    paper=("fig:EMD_ini_delta",),
    settings=cross(DATA, levels("truncated-geometric", *LEVELS)),
    contenders=(*(started(delta, share) for delta in DELTAS for share in STARTS), Contender(MLE())),
    pictures=(
        Picture(
            "start-delta",
            "Error of IBU on 100,000 people over twenty values, binomial with p = 0.2, by the p of the binomial "
            f"distribution that IBU starts from and by delta; geometric mechanism at three levels. {READING}",
            BoxChart(
                tuple(panel(f"ε = {level:g}", method="IBU", epsilon=level) for level in LEVELS),
                "emd",
                "start",
                "p of the start (the truth is p = 0.2)",
                by="delta",
            ),
        ),
    ),
    claims=judge_starts,
    notes=(
        "One dataset of 100,000 people is drawn once; each repeat blurs it anew, as in the paper.",
        "The paper says 'the geometric mechanism'; this is the truncated one.",
    ),
)

GOOD, BAD = started(0.01, 0.3), started(1.0, 0.8)


def draw_examples(tables: Tables) -> Figure:
    """Draw the two estimates over the truth."""
    from confide.present.figures import Panel, draw_distributions, style

    panels = []
    for contender in (GOOD, BAD):
        chosen = {"delta": contender.delta, "start": contender.start}
        row, shares = tables[RESULTS].where(repeat=0, **chosen), tables[SHARES].where(**chosen)
        title = f"δ = {contender.delta:g}, start p = {contender.start:g}"
        remark = f"EMD {row.median('emd'):.3f} after {row.median('iterations'):.0f} iterations"
        panels.append(Panel(title, shares.numbers("share"), remark, shares.numbers("truth"), color=style.IBU))
    return draw_distributions(DATA.alphabet, panels)


START_EXAMPLES = Comparison(
    name="start-examples",
    title="A good and a bad choice of start and delta",
    paper=("fig:distributions",),
    settings=cross(DATA, levels("truncated-geometric", 0.1)),
    contenders=(GOOD, BAD),
    keeps_shares=True,
    pictures=(
        Picture(
            "start-examples",
            "Two estimates of IBU at epsilon 0.1 (first repeat). The paper prints EMD 0.075 and 0.321 for draws of "
            "its own.",
            draw_examples,
        ),
    ),
)

MORE_DELTAS = (1.0, 0.1, 0.01, DELTA, 0.001)
STRONGEST = (("truncated-geometric", 0.01), ("exponential", 0.01))


def judge_deltas(tables: Tables) -> list[Claim]:
    """Say for each delta what of the paper's words it agrees with."""
    return [_judge_delta(tables[RESULTS], delta) for delta in MORE_DELTAS]


def _judge_delta(results: Table, delta: float) -> Claim:
    ages = results.where(data="adult_ages")
    strongest = max(_ratio(ages.where(mechanism=kind, epsilon=level), delta) for kind, level in STRONGEST)
    flat = ages.where(mechanism="randomized-response")
    comparable = max(_ratio(flat.where(epsilon=level), delta) for level in flat.distinct("epsilon"))
    holds = strongest < HALF and comparable < COMPARABLE
    return Claim(
        f"delta = {delta:g}: IBU is far better at the strongest metric privacy, and comparable under k-RR",
        "two figures",
        f"median EMD over the better inversion's: {strongest:.2f} at 0.01 per year, up to {comparable:.2f} under k-RR",
        Ruling.COMPARED if delta != DELTA else Ruling.HOLDS if holds else Ruling.DIFFERS,
        "The box plots use this delta."
        if delta == DELTA
        else f"It would {'' if holds else 'not '}agree with the paper.",
    )


def _ratio(rows: Table, delta: float) -> float:
    return rows.where(method="IBU", delta=delta).median("emd") / better_inversion(rows)


def _chart(unit: str, x_label: str, *mechanisms: tuple[str, str], data: str) -> BoxChart:
    parts = tuple(panel(title, unit, method="IBU", mechanism=kind, data=data) for kind, title in mechanisms)
    return BoxChart(parts, "emd", "epsilon", x_label, by="delta")


CAPTION = "Error of IBU by level of privacy, for five values of delta; the box plots elsewhere use 0.003."

DELTA_SENSITIVITY = Comparison(
    name="delta-sensitivity",
    title="What delta changes",
    settings=(
        *cross(
            Bundled("adult_ages"),
            [
                *levels("truncated-geometric", *PER_YEAR),
                *levels("exponential", *PER_YEAR),
                *levels("randomized-response", *KRR),
            ],
        ),
        *cross(Bundled("manhattan"), levels("truncated-taxicab", *PER_KM)),
    ),
    contenders=(*(Contender(IBU(delta=delta)) for delta in MORE_DELTAS), *INVERSIONS, Contender(MLE())),
    repeats=10,
    pictures=(
        Picture(
            "delta-sensitivity-ages",
            f"{CAPTION} Ages. {READING}",
            _chart(
                "year",
                "privacy level ε (per year; k-RR: per person)",
                ("truncated-geometric", "Truncated geometric"),
                ("exponential", "Exponential"),
                ("randomized-response", "k-RR"),
                data="adult_ages",
            ),
        ),
        Picture(
            "delta-sensitivity-manhattan",
            f"{CAPTION} Manhattan. {READING}",
            _chart("km", "privacy level ε (per km)", ("truncated-taxicab", "Truncated taxicab"), data="manhattan"),
        ),
    ),
    claims=judge_deltas,
    notes=(
        (
            "Not in the paper, which states delta for two of its figures alone. A large delta stops IBU early: that "
            "helps where noise is mild and ruins it under k-RR. The maximum of the likelihood is where delta = 0 "
            "would lead."
        ),
    ),
)
