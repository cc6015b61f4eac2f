"""RAPPOR at 0.5: what IBU recovers of two synthetic datasets."""

from __future__ import annotations

from reproduction.base import RESULTS, Claim, Comparison, Picture, Tables, cross, judge
from reproduction.blurs import levels
from reproduction.catalogue.rappor_levels import BINOMIAL, EVEN
from reproduction.charts import Distributions, spread
from reproduction.contenders import BIT_INVERSIONS, DELTA_FOR_BITS, IBU_FOR_BITS, OURS_FOR_BITS
from reproduction.sources import Source

SHOWN = ("IBU", "RAP-N", "RAP-P")
PRECISE = 0.25
"""An EMD below a quarter of the distance between neighbours is called precise."""


def check(tables: Tables) -> list[Claim]:
    """Lay the paper's words beside the numbers."""
    found = [tables[RESULTS].where(data=source.label, method="IBU") for source in (BINOMIAL, EVEN)]
    return [
        judge(
            "RAPPOR at 0.5: IBU produces precise estimates in the two cases",
            "two pictures",
            f"EMD: binomial {spread(found[0], 'emd')}, uniform {spread(found[1], 'emd')}",
            holds=all(rows.median("emd") < PRECISE for rows in found),
            note=f"Holds if both medians are below {PRECISE:g} of the distance between neighbouring values.",
        )
    ]


def _picture(name: str, source: Source, caption: str) -> Picture:
    return Picture(name, caption, Distributions(source.label, SHOWN))


EXPERIMENT = Comparison(
    name="rappor-examples",
    title="RAPPOR at epsilon 0.5, two examples",
    paper=("fig:rappor_on_line_em",),
    settings=cross((BINOMIAL, EVEN), levels("rappor", 0.5)),
    contenders=(IBU_FOR_BITS, *BIT_INVERSIONS, *OURS_FOR_BITS),
    keeps_shares=True,
    pictures=(
        _picture("rappor-examples-binomial", BINOMIAL, "Binomial data: the original and the estimates (first repeat)."),
        _picture(
            "rappor-examples-uniform",
            EVEN,
            "Uniform data on {3, 4, 5, 6}: the original and the estimates (first repeat).",
        ),
    ),
    claims=check,
    notes=(f"The paper states no delta here; IBU runs with delta = {DELTA_FOR_BITS:g}.",),
)
