"""Errors over numbers of people, as box plots: ages, Manhattan and k-RR."""

from __future__ import annotations

from reproduction.catalogue.levels import INVERTED, KRR_DATA, KRR_PANELS
from reproduction.charts import box_comparison, panel
from reproduction.claims import Claim, are_comparable, judge
from reproduction.declarations import Bundled, levels
from reproduction.experiments import cross
from reproduction.table import RESULTS, Table, Tables

SIZES = (1_000, 10_000, 50_000, 100_000, 200_000, 400_000, 800_000, 1_600_000, 3_200_000)
# EMD that is called near zero: for ages a fifth of the smallest error that the paper names, 2.5 years; for places half
# the side of a cell.
NEAR_ZERO_YEARS, NEAR_ZERO_KM = 0.5, 0.25
PEOPLE = "people n"


def _converges(what: str, rows: Table, near_zero: float, unit: str, remark: str = "") -> Claim:
    at = rows.where(method="IBU", people=200_000)
    return judge(
        f"{what}: IBU converges to nearly 0 EMD at about n = 200,000",
        "nearly 0",
        f"EMD in {unit} at 200,000: {at.spread('emd')}",
        holds=at.median("emd") < near_zero,
        note=f"Holds if the median is below {near_zero:g} {unit}{remark}.",
    )


def judge_ages(tables: Tables) -> list[Claim]:
    """Judge what the paper says of ages and the number of people."""
    results = tables[RESULTS]
    return [
        *(
            _converges(f"Ages, geometric {level:g}", results.where(epsilon=level), NEAR_ZERO_YEARS, "years")
            for level in (0.05, 0.1)
        ),
        _needs_millions_of_ages(results.where(epsilon=0.1)),
        _never_reaches(results.where(epsilon=0.05)),
    ]


def _needs_millions_of_ages(rows: Table) -> Claim:
    few, many = rows.where(people=SIZES[0], method="IBU"), rows.where(people=SIZES[-1])
    inversions = [many.where(method=method).median("emd") for method in INVERTED]
    return judge(
        "Ages, geometric 0.1: INV needs about 3,200,000 people for the error of 2.5 that IBU reaches with 1,000",
        "2.5 and 2.5",
        f"IBU with 1,000: {few.spread('emd')}; with 3,200,000, INV-N {inversions[0]:.2f}, INV-P {inversions[1]:.2f}",
        holds=1.25 < few.median("emd") < 3.75 and 1.25 < max(inversions) < 3.75,
        note="Holds if IBU's median and the worse inversion's are within half of 2.5.",
    )


def _never_reaches(rows: Table) -> Claim:
    reached = rows.where(people=SIZES[0], method="IBU").median("emd")
    normalised = rows.where(people=SIZES[-1], method="INV-N").median("emd")
    return judge(
        "Ages, geometric 0.05: INV-N entirely fails to reach the error that IBU attains with 1,000",
        "a figure",
        f"INV-N with 3,200,000: {normalised:.2f}; IBU with 1,000: {reached:.2f}",
        holds=normalised > reached,
    )


AGES_SIZES = box_comparison(
    tuple(panel(f"ε = {level:g} per year", "year", epsilon=level) for level in (0.05, 0.1)),
    "Error by number of people, whose ages are drawn anew from the shares of UCI Adult in each repeat and blurred by "
    "the truncated geometric mechanism.",
    level="people",
    x_label=PEOPLE,
    name="ages-sizes",
    title="Ages: more people, smaller errors",
    paper=("fig:box_var_data_lgeom_emd", "fig:box_var_data_lgeom_tv"),
    settings=cross([Bundled("adult_ages", size) for size in SIZES], levels("truncated-geometric", 0.05, 0.1)),
    claims=judge_ages,
    notes=(
        "As in the paper, the truth is the histogram of the people drawn, not the shares that they were drawn from.",
        "The paper gives the range of sizes; these nine are ours.",
    ),
)


def judge_manhattan(tables: Tables) -> list[Claim]:
    """Judge what the paper says of Manhattan and the number of people."""
    results = tables[RESULTS]
    return [
        *(
            _converges(
                f"Manhattan, taxicab {level:g}",
                results.where(epsilon=level),
                NEAR_ZERO_KM,
                "km",
                remark=", half a cell",
            )
            for level in (0.5, 1.0)
        ),
        _needs_millions_of_places(results.where(epsilon=1.0)),
    ]


def _needs_millions_of_places(rows: Table) -> Claim:
    few, many = rows.where(method="IBU", people=SIZES[0]), rows.where(people=SIZES[-1])
    inversions = [many.where(method=method).median("emd") for method in INVERTED]
    return judge(
        "Manhattan, taxicab 1.0: INV declines to nearly 0.6 at 3,200,000, which IBU reaches with 1,000",
        "0.6 and 0.6",
        f"with 3,200,000, INV-N {inversions[0]:.2f}, INV-P {inversions[1]:.2f}; IBU with 1,000: {few.spread('emd')}",
        holds=all(0.45 < median < 0.75 for median in (*inversions, few.median("emd"))),
        note="Holds if all three medians are within a quarter of 0.6.",
    )


MANHATTAN_SIZES = box_comparison(
    tuple(panel(f"ε = {level:g} per km", "km", epsilon=level) for level in (0.5, 1.0)),
    "Error by number of people, whose places are drawn anew from the shares of check-ins in Manhattan in each repeat "
    "and blurred by the truncated taxicab mechanism.",
    level="people",
    x_label=PEOPLE,
    name="manhattan-sizes",
    title="Manhattan: more people, smaller errors",
    paper=("fig:box_var_data_taxicab_emd", "fig:box_var_data_taxicab_tv"),
    settings=cross([Bundled("manhattan", size) for size in SIZES], levels("truncated-taxicab", 0.5, 1.0)),
    claims=judge_manhattan,
)


def judge_krr(tables: Tables) -> list[Claim]:
    """Judge what the paper says of k-RR and the number of people."""
    results = tables[RESULTS]
    return [
        are_comparable(f"{title}, k-RR at 3.0, all sizes", results.where(data=data), INVERTED, level="people")
        for data, title in KRR_DATA.items()
    ]


KRR_SIZES = box_comparison(
    KRR_PANELS,
    "Error by number of people under k-ary randomized response at epsilon 3.0.",
    level="people",
    x_label=PEOPLE,
    name="krr-sizes",
    title="k-RR: more people, smaller errors",
    paper=("fig:box_var_data_krr_emd", "fig:box_var_data_krr_tv"),
    settings=cross([Bundled(data, size) for data in KRR_DATA for size in SIZES], levels("randomized-response", 3.0)),
    claims=judge_krr,
)
