"""Errors over levels of privacy, as box plots, and their table."""

from __future__ import annotations

from collections.abc import Iterable

from confide.mechanisms.guarantees import LocalDP
from reproduction.cells import DELTA_FOR_BITS, FOR_BITS
from reproduction.charts import box_comparison, panel, per
from reproduction.claims import Claim, are_comparable, improves_with_epsilon, is_far_better
from reproduction.declarations import Binomial, Blur, Bundled, EvenOver, levels
from reproduction.experiments import Comparison, Computation, cross
from reproduction.table import RESULTS, Table, Tables

LINEAR = {
    "truncated-geometric": "Truncated geometric",
    "truncated-laplace": "Truncated Laplace",
    "exponential": "Exponential",
}
PLANAR = {
    "truncated-taxicab": "Truncated taxicab",
    "truncated-planar-geometric": "Truncated planar geometric",
    "truncated-planar-laplace": "Truncated planar Laplace",
    "exponential": "Exponential",
}
PER_YEAR = (0.01, 0.02, 0.03, 0.05, 0.1, 0.15, 0.2, 0.3)
PER_KM = (0.2, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0, 3.0)
KRR = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0)
KRR_DATA = {"adult_ages": "Ages", "manhattan": "Manhattan"}
KRR_PANELS = (panel("Ages", "year", data="adult_ages"), panel("Manhattan", "km", data="manhattan"))
INVERTED = ("INV-N", "INV-P")
BINOMIAL, EVEN = Binomial(10, 0.5), EvenOver((3, 4, 5, 6), 10)
# Errors under RAPPOR below this share of the distance between neighbours count as equal.
NEGLIGIBLE = 0.02


def _each(mechanisms: Iterable[str], epsilons: tuple[float, ...]) -> list[Blur]:
    return [blur for kind in mechanisms for blur in levels(kind, *epsilons)]


def judge_ages(tables: Tables) -> list[Claim]:
    """Judge what the paper says of ages under metric privacy."""
    return [is_far_better("Ages", tables, tuple(LINEAR), strong=0.1), improves_with_epsilon("Ages", tables)]


AGES_LEVELS = box_comparison(
    tuple(panel(title, "year", mechanism=kind) for kind, title in LINEAR.items()),
    "Error of the estimated distribution of ages by level of privacy, under three metric mechanisms.",
    level="epsilon",
    x_label=per("per year"),
    columns=3,
    name="ages-levels",
    title="Ages under metric privacy",
    paper=("fig:box_estimators_dprivacy", "fig:box_estimators_dprivacy_tv"),
    settings=cross(Bundled("adult_ages"), _each(LINEAR, PER_YEAR)),
    claims=judge_ages,
    notes=("The paper gives the range of levels, 0.01 to 0.3, but not the levels; these eight are ours.",),
)


def judge_manhattan(tables: Tables) -> list[Claim]:
    """Judge what the paper says of Manhattan under geo-indistinguishability."""
    return [is_far_better("Manhattan", tables, tuple(PLANAR), strong=1.0), improves_with_epsilon("Manhattan", tables)]


MANHATTAN_LEVELS = box_comparison(
    tuple(panel(title, "km", mechanism=kind) for kind, title in PLANAR.items()),
    "Error of the estimated distribution of check-ins in Manhattan by level of privacy, under four planar mechanisms.",
    level="epsilon",
    x_label=per("per km"),
    name="manhattan-levels",
    title="Places in Manhattan under geo-indistinguishability",
    paper=("fig:box_estimators_geind", "fig:box_estimators_geind_tv"),
    settings=cross(Bundled("manhattan"), _each(PLANAR, PER_KM)),
    claims=judge_manhattan,
    notes=("The paper gives the range of levels, 0.2 to 3.0, but not the levels; these eight are ours.",),
)


def judge_krr(tables: Tables) -> list[Claim]:
    """Judge what the paper says of k-RR."""
    return [
        are_comparable(f"{title}, k-RR", tables[RESULTS].where(data=data), INVERTED) for data, title in KRR_DATA.items()
    ]


KRR_LEVELS = box_comparison(
    KRR_PANELS,
    "Error of the estimated distribution under k-ary randomized response (k-RR), by level of privacy.",
    level="epsilon",
    x_label=per("per person"),
    name="krr-levels",
    title="k-RR on ages and on Manhattan",
    paper=("fig:box_estimators_krr_emd", "fig:box_estimators_krr_tv"),
    settings=cross([Bundled(data) for data in KRR_DATA], levels("randomized-response", *KRR)),
    claims=judge_krr,
)


def judge_rappor(tables: Tables) -> list[Claim]:
    """Judge what the paper says of RAPPOR."""
    found = tables[RESULTS].where(mechanism="rappor")
    return [
        are_comparable(f"RAPPOR, {name} data", found.where(data=data), ("RAP-N", "RAP-P"), negligible=NEGLIGIBLE)
        for name, data in (("binomial", BINOMIAL.label), ("uniform", EVEN.label))
    ]


RAPPOR_LEVELS = box_comparison(
    (panel("Binomial data", data=BINOMIAL.label), panel("Uniform on {3, 4, 5, 6}", data=EVEN.label)),
    "Error of the estimated distribution of 100,000 people over ten values under basic RAPPOR, by level of privacy.",
    level="epsilon",
    x_label=per("per person"),
    name="rappor-levels",
    title="RAPPOR on binomial and on uniform data",
    paper=("fig:box_estimators_rappor", "fig:box_estimators_rappor_tv"),
    settings=cross((BINOMIAL, EVEN), levels("rappor", 0.1, 0.3, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0)),
    contenders=FOR_BITS,
    claims=judge_rappor,
    notes=(
        f"The paper states no delta here; IBU runs with delta = {DELTA_FOR_BITS:g}: a larger one stops it early.",
        "The two datasets are drawn once, from seeds of their own; the truth is their own histogram.",
        "RAPPOR's matrix is not square: inversion does not apply, as its rows say. RAP-N and RAP-P invert each bit.",
    ),
)

EMD_ALONE = "The paper shows this in earth mover's distance alone; total variation comes from the same runs."


def judge_lab(tables: Tables) -> list[Claim]:
    """Judge what the paper says of lab procedures."""
    flat = tables[RESULTS].where(mechanism="randomized-response")
    return [
        is_far_better("Lab procedures", tables, tuple(LINEAR), strong=0.1),
        are_comparable("Lab procedures, k-RR", flat, INVERTED),
    ]


LAB_LEVELS = box_comparison(
    tuple(
        panel(title, "procedure", mechanism=kind) for kind, title in (LINEAR | {"randomized-response": "k-RR"}).items()
    ),
    "Error of the estimated distribution of lab procedures per stay (UCI Diabetes 130-US) by level of privacy.",
    level="epsilon",
    x_label="privacy level ε (per procedure; k-RR: per person)",
    name="lab-levels",
    title="Lab procedures per hospital stay",
    paper=("fig:box_estimators_labTests_emd",),
    settings=cross(Bundled("lab_procedures"), [*_each(LINEAR, PER_YEAR), *levels("randomized-response", *KRR)]),
    claims=judge_lab,
    notes=(EMD_ALONE,),
)


def judge_paris(tables: Tables) -> list[Claim]:
    """Judge what the paper says of Paris."""
    flat = tables[RESULTS].where(mechanism="randomized-response")
    return [
        is_far_better("Paris", tables, tuple(PLANAR), strong=1.0),
        are_comparable("Paris, k-RR", flat, INVERTED),
    ]


PARIS_LEVELS = box_comparison(
    tuple(panel(title, "km", mechanism=kind) for kind, title in (PLANAR | {"randomized-response": "k-RR"}).items()),
    "Error of the estimated distribution of check-ins in Paris by level of privacy.",
    level="epsilon",
    x_label="privacy level ε (per km; k-RR: per person)",
    name="paris-levels",
    title="Places in Paris",
    paper=("fig:box_estimators_paris_emd",),
    settings=cross(
        Bundled("paris"),
        [
            *_each(PLANAR, (0.2, 0.4, 0.6, 1.0, 2.0, 3.0)),
            *levels("randomized-response", 0.5, 1.0, 2.0, 2.5, 3.0, 4.0),
        ],
    ),
    claims=judge_paris,
    notes=(EMD_ALONE,),
)

COLUMNS = {
    "mechanism": "text",
    "promise": "text",
    "lowest_epsilon": "number",
    "highest_epsilon": "number",
    "data": "text",
    "alphabet": "text",
    "values": "whole",
    "people": "whole",
    "kind": "text",
    "in_paper_table": "text",
}


def tabulate_mechanisms() -> dict[str, Table]:
    """Return one row for each mechanism on each dataset."""
    body = (AGES_LEVELS, MANHATTAN_LEVELS, KRR_LEVELS, RAPPOR_LEVELS)
    rows = [*_rows(body, "yes"), *_rows((LAB_LEVELS, PARIS_LEVELS), "appendix")]
    return {RESULTS: Table.of(COLUMNS, rows)}


def _rows(experiments: Iterable[Comparison], place: str) -> Iterable[dict[str, object]]:
    for experiment in experiments:
        pairs = dict.fromkeys((one.source, one.blur.kind) for one in experiment.settings)
        for source, kind in pairs:
            blurs = [one.blur for one in experiment.settings if (one.source, one.blur.kind) == (source, kind)]
            guarantee = blurs[0].build(source.alphabet).guarantee
            yield {
                "mechanism": kind,
                "promise": "local differential privacy" if isinstance(guarantee, LocalDP) else "metric privacy",
                "lowest_epsilon": min(blur.epsilon for blur in blurs),
                "highest_epsilon": max(blur.epsilon for blur in blurs),
                "data": source.label,
                "alphabet": repr(source.alphabet),
                "values": source.alphabet.size,
                "people": source.total,
                "kind": "planar" if len(source.alphabet.field_names) == 2 else "linear",
                "in_paper_table": place,
            }


MECHANISMS = Computation(
    name="mechanisms",
    title="Mechanisms and data",
    paper=("tab:experiments",),
    compute=tabulate_mechanisms,
    kinds={RESULTS: COLUMNS},
    notes=("Read off the declarations of the experiments themselves, so it cannot drift from what is run.",),
)
