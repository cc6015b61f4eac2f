"""RAPPOR on two synthetic datasets, over levels of privacy."""

from __future__ import annotations

from reproduction.base import RESULTS, Claim, Comparison, Tables, cross
from reproduction.blurs import levels
from reproduction.charts import EPSILON, box_pictures, part
from reproduction.claims import are_comparable
from reproduction.contenders import DELTA_FOR_BITS, FOR_BITS
from reproduction.sources import Binomial, EvenOver

LEVELS = (0.1, 0.3, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0)
BINOMIAL, EVEN = Binomial(10, 0.5), EvenOver((3, 4, 5, 6), 10)
NEGLIGIBLE = 0.02
"""Share of the distance between neighbours below which all errors count as equal."""


def check(tables: Tables) -> list[Claim]:
    """Lay the paper's words beside the numbers."""
    found = tables[RESULTS].where(mechanism="rappor")
    return [
        are_comparable(f"RAPPOR, {name} data", found.where(data=data), ("RAP-N", "RAP-P"), negligible=NEGLIGIBLE)
        for name, data in (("binomial", BINOMIAL.label), ("uniform", EVEN.label))
    ]


EXPERIMENT = Comparison(
    name="rappor-levels",
    title="RAPPOR on binomial and on uniform data",
    paper=("fig:box_estimators_rappor", "fig:box_estimators_rappor_tv"),
    settings=cross((BINOMIAL, EVEN), levels("rappor", *LEVELS)),
    contenders=FOR_BITS,
    pictures=box_pictures(
        "rappor-levels",
        "Error of the estimated distribution of 100,000 people over ten values under basic RAPPOR, by level of "
        "privacy.",
        (
            part("Binomial data", data=BINOMIAL.label),
            part("Uniform on {3, 4, 5, 6}", data=EVEN.label),
        ),
        level="epsilon",
        x_label=EPSILON,
        columns=2,
    ),
    claims=check,
    notes=(
        (
            f"The paper states no delta here; IBU runs with delta = {DELTA_FOR_BITS:g}, smaller than in the other box "
            "plots: under such strong noise a larger one stops it early."
        ),
        (
            "The two datasets are drawn once, from seeds of their own, and stay the same in all repeats; the truth is "
            "their own histogram."
        ),
        (
            "RAPPOR's matrix is not square, so matrix inversion does not apply: its rows in the table say so. RAP-N "
            "and RAP-P invert each bit."
        ),
    ),
)
