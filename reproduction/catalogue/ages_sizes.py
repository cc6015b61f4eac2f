"""Ages under the truncated geometric mechanism, over numbers of people."""

from __future__ import annotations

from reproduction.base import RESULTS, Claim, Comparison, Tables, cross, judge
from reproduction.blurs import levels
from reproduction.charts import PEOPLE, box_pictures, part, spread
from reproduction.contenders import USUAL
from reproduction.sources import Bundled
from reproduction.table import Table

SIZES = (1_000, 10_000, 50_000, 100_000, 200_000, 400_000, 800_000, 1_600_000, 3_200_000)
LEVELS = (0.05, 0.1)
NEAR_ZERO = 0.5
"""Years of EMD that are called near zero here: a fifth of the smallest error that the paper names, 2.5 years."""


def check(tables: Tables) -> list[Claim]:
    """Lay the paper's words beside the numbers."""
    results = tables[RESULTS]
    return [*(_converges(results, level) for level in LEVELS), _needs_millions(results), _never_reaches(results)]


def _converges(results: Table, level: float) -> Claim:
    at = results.where(epsilon=level, method="IBU", people=200_000)
    return judge(
        f"Ages, geometric {level:g}: IBU converges to nearly 0 EMD at about n = 200,000",
        "nearly 0",
        f"EMD in years at 200,000: {spread(at, 'emd')}",
        holds=at.median("emd") < NEAR_ZERO,
        note=f"Holds if the median is below {NEAR_ZERO:g} years.",
    )


def _needs_millions(results: Table) -> Claim:
    few = results.where(people=SIZES[0], epsilon=0.1, method="IBU")
    many = results.where(people=SIZES[-1], epsilon=0.1)
    inversions = [many.where(method=method).median("emd") for method in ("INV-N", "INV-P")]
    return judge(
        "Ages, geometric 0.1: INV needs about 3,200,000 people for the error of 2.5 that IBU reaches with 1,000",
        "2.5 and 2.5",
        f"IBU with 1,000: {spread(few, 'emd')}; with 3,200,000, INV-N {inversions[0]:.2f}, INV-P {inversions[1]:.2f}",
        holds=1.25 < few.median("emd") < 3.75 and 1.25 < max(inversions) < 3.75,
        note="Holds if IBU's median and the worse inversion's are within half of 2.5.",
    )


def _never_reaches(results: Table) -> Claim:
    strong = results.where(epsilon=0.05)
    reached = strong.where(people=SIZES[0], method="IBU").median("emd")
    normalised = strong.where(people=SIZES[-1], method="INV-N").median("emd")
    return judge(
        "Ages, geometric 0.05: INV-N entirely fails to reach the error that IBU attains with 1,000",
        "a figure",
        f"INV-N with 3,200,000: {normalised:.2f}; IBU with 1,000: {reached:.2f}",
        holds=normalised > reached,
    )


EXPERIMENT = Comparison(
    name="ages-sizes",
    title="Ages: more people, smaller errors",
    paper=("fig:box_var_data_lgeom_emd", "fig:box_var_data_lgeom_tv"),
    settings=cross([Bundled("adult_ages", size) for size in SIZES], levels("truncated-geometric", *LEVELS)),
    contenders=USUAL,
    pictures=box_pictures(
        "ages-sizes",
        "Error by number of people, whose ages are drawn anew from the shares of UCI Adult in each repeat and "
        "blurred by the truncated geometric mechanism.",
        tuple(part(f"ε = {level:g} per year", "year", epsilon=level) for level in LEVELS),
        level="people",
        x_label=PEOPLE,
        columns=2,
    ),
    claims=check,
    notes=(
        (
            "As in the paper, an estimate is compared with the histogram of the people drawn, not with the shares "
            "that they were drawn from."
        ),
        "The paper gives the range of sizes; these nine are ours.",
    ),
)
