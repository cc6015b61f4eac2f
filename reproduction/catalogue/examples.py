"""Single runs to look at: ages, Manhattan, RAPPOR."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confide.data.datasets import manhattan
from confide.solve.methods import IBU
from reproduction.catalogue.levels import BINOMIAL, EVEN
from reproduction.cells import (
    BIT_INVERSIONS,
    DELTA,
    DELTA_FOR_BITS,
    IBU_FOR_BITS,
    INVERSIONS,
    OURS,
    OURS_FOR_BITS,
    USUAL,
    Contender,
    Unprocessed,
)
from reproduction.charts import DistributionChart
from reproduction.claims import Claim, Ruling, judge
from reproduction.declarations import Bundled, Source, levels
from reproduction.experiments import Comparison, Computation, Picture, cross
from reproduction.table import RESULTS, Table, Tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AGES_SHOWN = ("noisy", "IBU", "Stacked", "INV-N", "INV-P", "MLE")


def judge_ages(tables: Tables) -> list[Claim]:
    """Judge what the paper says of it."""
    results = tables[RESULTS]
    medians = {method: results.where(method=method).median("emd") for method in AGES_SHOWN}
    ibu, *inversions = (results.where(method=method).spread("emd") for method in ("IBU", "INV-N", "INV-P"))
    return [
        judge(
            "Ages, geometric 0.05: INV performs poorly, while IBU is quite precise",
            "a picture",
            f"EMD in years: IBU {ibu}, INV-N {inversions[0]}, INV-P {inversions[1]}",
            holds=medians["IBU"] < 0.5 * min(medians["INV-N"], medians["INV-P"]),
            note="Holds if the median of IBU is below half of either inversion's.",
        )
    ]


AGES_EXAMPLE = Comparison(
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
            DistributionChart("adult_ages", AGES_SHOWN, "age"),
        ),
    ),
    claims=judge_ages,
    notes=(
        f"The paper states no delta here; IBU runs with delta = {DELTA:g}.",
        (
            "The paper does not say whether it used the training part of UCI Adult alone (32,561 people) or both parts "
            "(48,842); this is both."
        ),
    ),
)

MAP_COLUMNS = {"row": "whole", "column": "whole", "north": "number", "east": "number", "people": "whole"}


def tabulate_manhattan() -> dict[str, Table]:
    """Return one row a cell: its number, centre and check-ins."""
    dataset = manhattan()
    cells, centres = dataset.alphabet.decode(range(dataset.alphabet.size)), dataset.alphabet.coordinates
    rows = zip(cells.tolist(), centres.tolist(), dataset.histogram.tolist(), strict=True)
    return {RESULTS: Table(MAP_COLUMNS, tuple((*cell, *centre, people) for cell, centre, people in rows))}


def draw_manhattan(tables: Tables) -> Figure:
    """Draw the map."""
    from confide.present.figures import Panel, Role, draw_distributions

    people = tables[RESULTS].numbers("people")
    panel = Panel("Manhattan", people / people.sum(), f"{people.sum():,.0f} check-ins", role=Role.TRUTH)
    return draw_distributions(manhattan().alphabet, [panel])


def judge_total(tables: Tables) -> list[Claim]:
    """Judge the number that the paper prints."""
    total = int(tables[RESULTS].numbers("people").sum())
    return [
        Claim(
            "Check-ins in Manhattan",
            "98,060",
            f"{total:,}",
            Ruling.DIFFERS,
            "One check-in lies on the rim of the bounds, which the paper prints rounded to four digits.",
        )
    ]


MANHATTAN_MAP = Computation(
    name="manhattan-map",
    title="Manhattan in cells of half a kilometre",
    paper=("fig:manhattan_map",),
    compute=tabulate_manhattan,
    kinds={RESULTS: MAP_COLUMNS},
    pictures=(
        Picture(
            "manhattan-map",
            "The region of Manhattan (latitude 40.7044 to 40.7942, longitude -74.0205 to -73.9374) in 20 x 14 cells "
            "of half a kilometre, and the share of Gowalla check-ins in each.",
            draw_manhattan,
        ),
    ),
    claims=judge_total,
    notes=("The paper lays the heat map over a street map, which is not ours to ship; the cells are the same.",),
)

DELTAS = (1.0, 0.1, 0.01, 0.001)
# The delta whose EMD agrees best with the printed 0.1587.
SHOWN_DELTA = 1.0
# The paper's earth mover's distances, in kilometres.
PRINTED = {"noisy": 0.8719, "INV-P": 0.9017, "INV-N": 0.7963, "IBU": 0.1587}
# A printed number within this share of our range agrees with it: the data differ by one check-in and in rounding.
NEAR = 0.02


def judge_heatmaps(tables: Tables) -> list[Claim]:
    """Judge the numbers that the paper prints."""
    results = tables[RESULTS]
    found = {method: _rows(results, method) for method in PRINTED}
    medians = {method: rows.median("emd") for method, rows in found.items()}
    return [
        *(_number(rows, method) for method, rows in found.items()),
        judge(
            "Manhattan: IBU substantially outperforms both INV-N and INV-P",
            "0.1587 against 0.7963 and 0.9017",
            f"median EMD {medians['IBU']:.4f} against {medians['INV-N']:.4f} and {medians['INV-P']:.4f} km",
            holds=medians["IBU"] < 0.5 * min(medians["INV-N"], medians["INV-P"]),
        ),
        *(_other_delta(results, delta) for delta in DELTAS if delta != SHOWN_DELTA),
    ]


def _rows(results: Table, method: str, delta: float = SHOWN_DELTA) -> Table:
    return results.where(method=method, delta=delta) if method == "IBU" else results.where(method=method)


def _number(rows: Table, method: str) -> Claim:
    what = "the noisy data" if method == "noisy" else f"IBU, delta = {SHOWN_DELTA:g}" if method == "IBU" else method
    return judge(
        f"Manhattan, taxicab 1.0: EMD of {what}, in km",
        f"{PRINTED[method]:.4f}",
        rows.spread("emd"),
        holds=_is_within(PRINTED[method], rows),
        note=f"The paper shows one draw. Holds if it lies in the range of ours, {NEAR:.0%} either way.",
    )


def _other_delta(results: Table, delta: float) -> Claim:
    rows = _rows(results, "IBU", delta)
    words = (
        "its range holds the printed number" if _is_within(PRINTED["IBU"], rows) else "the printed number is outside"
    )
    return Claim(
        f"The same with delta = {delta:g}",
        f"{PRINTED['IBU']:.4f}",
        rows.spread("emd"),
        Ruling.COMPARED,
        f"The paper does not say which delta it used for this figure; {words}.",
    )


def _is_within(printed: float, rows: Table) -> bool:
    numbers = rows.numbers("emd")
    return bool((1 - NEAR) * numbers.min() <= printed <= (1 + NEAR) * numbers.max())


MANHATTAN_HEATMAPS = Comparison(
    name="manhattan-heatmaps",
    title="Where people are in Manhattan, recovered",
    paper=("fig:taxicab_on_grid",),
    settings=cross(Bundled("manhattan"), levels("truncated-taxicab", 1.0)),
    contenders=(
        Contender(Unprocessed()),
        *INVERSIONS,
        *(Contender(IBU(delta=delta)) for delta in DELTAS),
        *OURS,
    ),
    keeps_shares=True,
    pictures=(
        Picture(
            "manhattan-heatmaps",
            "Check-ins in Manhattan, the noisy reports of a truncated taxicab mechanism at 1.0 per km, and the "
            "estimates (the first of all repeats), each with its EMD from the original. One colour scale for all.",
            DistributionChart(
                "manhattan",
                ("noisy", "INV-P", "INV-N", "IBU", "Stacked", "MLE", "held-out IBU"),
                "place",
                delta=SHOWN_DELTA,
            ),
        ),
    ),
    claims=judge_heatmaps,
    notes=(
        (
            f"The paper states no delta here. The map shows delta = {SHOWN_DELTA:g}, whose EMD agrees best with the "
            "printed 0.1587; the table has 0.1, 0.01 and 0.001 as well."
        ),
    ),
)


# An EMD below a quarter of the distance between neighbours is called precise.
PRECISE = 0.25


def judge_rappor(tables: Tables) -> list[Claim]:
    """Judge what the paper says of it."""
    found = [tables[RESULTS].where(data=source.label, method="IBU") for source in (BINOMIAL, EVEN)]
    return [
        judge(
            "RAPPOR at 0.5: IBU produces precise estimates in the two cases",
            "two pictures",
            f"EMD: binomial {found[0].spread('emd')}, uniform {found[1].spread('emd')}",
            holds=all(rows.median("emd") < PRECISE for rows in found),
            note=f"Holds if both medians are below {PRECISE:g} of the distance between neighbouring values.",
        )
    ]


def _picture(name: str, source: Source, caption: str) -> Picture:
    return Picture(name, caption, DistributionChart(source.label, ("IBU", "RAP-N", "RAP-P", "Stacked")))


RAPPOR_EXAMPLES = Comparison(
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
    claims=judge_rappor,
    notes=(f"The paper states no delta here; IBU runs with delta = {DELTA_FOR_BITS:g}.",),
)
