"""Where IBU starts and when it stops: twenty values, binomial data."""

from __future__ import annotations

from confide.methods import IBU, MLE
from reproduction.base import RESULTS, Claim, Comparison, Picture, Tables, cross, judge
from reproduction.blurs import levels
from reproduction.cells import Contender
from reproduction.charts import READING, Boxes, part, spread
from reproduction.sources import Binomial, binomial
from reproduction.table import Table

VALUES = 20
DATA = Binomial(VALUES, 0.2)
LEVELS = (0.1, 0.3, 0.9)
DELTAS = (1.0, 0.1, 0.01)
STARTS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)


def started(delta: float, share: float) -> Contender:
    """Return IBU that starts at a binomial distribution."""
    return Contender(IBU(delta=delta, start=binomial(VALUES, share)), start=share)


def check(tables: Tables) -> list[Claim]:
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
        spread(rows, name),
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


EXPERIMENT = Comparison(
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
            Boxes(
                tuple(part(f"ε = {level:g}", method="IBU", epsilon=level) for level in LEVELS),
                "emd",
                "start",
                "p of the start (the truth is p = 0.2)",
                by="delta",
            ),
        ),
    ),
    claims=check,
    notes=(
        "One dataset of 100,000 people is drawn once; each repeat blurs it anew, as in the paper.",
        "The paper says 'the geometric mechanism'; this is the truncated one.",
    ),
)
