"""Manhattan under the truncated taxicab mechanism, over numbers of people."""

from __future__ import annotations

from reproduction.base import RESULTS, Claim, Comparison, Tables, cross, judge
from reproduction.blurs import levels
from reproduction.catalogue.ages_sizes import SIZES
from reproduction.charts import PEOPLE, box_pictures, part, spread
from reproduction.contenders import USUAL
from reproduction.sources import Bundled
from reproduction.table import Table

LEVELS = (0.5, 1.0)
NEAR_ZERO = 0.25
"""Kilometres of EMD that are called near zero here: half the side of a cell."""


def check(tables: Tables) -> list[Claim]:
    """Lay the paper's words beside the numbers."""
    return [*(_converges(tables[RESULTS], level) for level in LEVELS), _needs_millions(tables[RESULTS])]


def _converges(results: Table, level: float) -> Claim:
    at = results.where(epsilon=level, method="IBU", people=200_000)
    return judge(
        f"Manhattan, taxicab {level:g}: IBU converges to nearly 0 EMD at about n = 200,000",
        "nearly 0",
        f"EMD in km at 200,000: {spread(at, 'emd')}",
        holds=at.median("emd") < NEAR_ZERO,
        note=f"Holds if the median is below {NEAR_ZERO:g} km, half a cell.",
    )


def _needs_millions(results: Table) -> Claim:
    ibu = results.where(epsilon=1.0, method="IBU", people=SIZES[0])
    many = results.where(epsilon=1.0, people=SIZES[-1])
    inversions = [many.where(method=method).median("emd") for method in ("INV-N", "INV-P")]
    return judge(
        "Manhattan, taxicab 1.0: INV declines to nearly 0.6 at 3,200,000, which IBU reaches with 1,000",
        "0.6 and 0.6",
        f"with 3,200,000, INV-N {inversions[0]:.2f}, INV-P {inversions[1]:.2f}; IBU with 1,000: {spread(ibu, 'emd')}",
        holds=all(0.45 < median < 0.75 for median in (*inversions, ibu.median("emd"))),
        note="Holds if all three medians are within a quarter of 0.6.",
    )


EXPERIMENT = Comparison(
    name="manhattan-sizes",
    title="Manhattan: more people, smaller errors",
    paper=("fig:box_var_data_taxicab_emd", "fig:box_var_data_taxicab_tv"),
    settings=cross([Bundled("manhattan", size) for size in SIZES], levels("truncated-taxicab", *LEVELS)),
    contenders=USUAL,
    pictures=box_pictures(
        "manhattan-sizes",
        "Error by number of people, whose places are drawn anew from the shares of check-ins in Manhattan in each "
        "repeat and blurred by the truncated taxicab mechanism.",
        tuple(part(f"ε = {level:g} per km", "km", epsilon=level) for level in LEVELS),
        level="people",
        x_label=PEOPLE,
        columns=2,
    ),
    claims=check,
)
