"""Ages under the truncated geometric mechanism at 0.05: the paper's first figure."""

from __future__ import annotations

from reproduction.base import RESULTS, Claim, Comparison, Picture, Tables, cross, judge
from reproduction.blurs import levels
from reproduction.cells import Contender
from reproduction.charts import Distributions, spread
from reproduction.contenders import DELTA, USUAL
from reproduction.sources import Bundled
from reproduction.unprocessed import Unprocessed

SHOWN = ("noisy", "IBU", "INV-N", "INV-P", "MLE", "held-out IBU")


def check(tables: Tables) -> list[Claim]:
    """Lay the paper's words beside the numbers."""
    results = tables[RESULTS]
    medians = {method: results.where(method=method).median("emd") for method in SHOWN}
    ibu, *inversions = (spread(results.where(method=method), "emd") for method in ("IBU", "INV-N", "INV-P"))
    return [
        judge(
            "Ages, geometric 0.05: INV performs poorly, while IBU is quite precise",
            "a picture",
            f"EMD in years: IBU {ibu}, INV-N {inversions[0]}, INV-P {inversions[1]}",
            holds=medians["IBU"] < 0.5 * min(medians["INV-N"], medians["INV-P"]),
            note="Holds if the median of IBU is below half of either inversion's.",
        )
    ]


EXPERIMENT = Comparison(
    name="ages-example",
    title="The ages of 48,842 people, recovered",
    paper=("fig:geometric_on_ages",),
    settings=cross(Bundled("adult_ages"), levels("truncated-geometric", 0.05)),
    contenders=(Contender(Unprocessed()), *USUAL),
    keeps_shares=True,
    pictures=(
        Picture(
            "ages-example",
            "Ages of UCI Adult, blurred by the truncated geometric mechanism at 0.05 per year, and what each method "
            "recovers of their distribution (the first of all repeats).",
            Distributions("adult_ages", SHOWN, "age"),
        ),
    ),
    claims=check,
    notes=(
        f"The paper states no delta here; IBU runs with delta = {DELTA:g}.",
        (
            "The paper does not say whether it used the training part of UCI Adult alone (32,561 people) or both parts "
            "(48,842); this is both."
        ),
    ),
)
