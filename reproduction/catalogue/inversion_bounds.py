"""The paper's bounds on the error of matrix inversion, the exact error, and what is seen."""

from __future__ import annotations

from typing import Any

import numpy as np

from confide.datasets import load
from confide.estimates import estimate
from confide.mechanisms import Mechanism
from confide.methods import Inversion
from reproduction.base import RESULTS, Claim, Computation, Tables, Verdict, judge
from reproduction.blurs import Blur
from reproduction.cells import Draw, run_draw
from reproduction.claims import COMPARABLE
from reproduction.contenders import IBU_OF_PAPER
from reproduction.declarations import seed_of
from reproduction.sources import Bundled
from reproduction.table import Table

CASES: tuple[tuple[str, Blur, str], ...] = (
    ("adult_ages", Blur("randomized-response", 2.0), "227.28"),
    ("adult_ages", Blur("truncated-geometric", 0.05), "7238"),
    ("manhattan", Blur("randomized-response", 2.5), "678.04"),
    ("manhattan", Blur("truncated-taxicab", 0.2), "662648.6"),
)
"""Data, mechanism, and the bound times n that the paper prints."""

MISPRINTS = ("227.28", "7238")
DRAWS = 200
"""Populations whose squared error is averaged."""

REPEATS = 10
"""Repeats of the box plots over which IBU's error is a median."""

COLUMNS = {
    "data": "text",
    "mechanism": "text",
    "epsilon": "number",
    "kind": "text",
    "bound_times_n": "number",
    "exact_times_n": "number",
    "seen_times_n": "number",
    "ibu_emd": "number",
    "printed": "text",
    "draws": "whole",
    "seed": "whole",
}


def compute() -> dict[str, Table]:
    """Return bound, exact mean squared error and mean over drawn populations, each times n."""
    from confide.theory.inversion_error import inversion_error

    rows = []
    for data, blur, printed in CASES:
        dataset = load(data)
        mechanism, seed = blur.build(dataset.alphabet), seed_of("inversion-bounds", data, blur)
        error = inversion_error(mechanism, distribution=dataset.distribution)
        if error.bound is None:
            continue
        seen = _mean_squared(mechanism, dataset.distribution, seed)
        numbers = error.bound.per_report, error.per_report, seen, _ibu_error(data, blur)
        rows.append((data, blur.kind, blur.epsilon, error.bound.kind, *numbers, printed, DRAWS, seed))
    return {RESULTS: Table(COLUMNS, tuple(rows))}


def _mean_squared(mechanism: Mechanism, distribution: np.ndarray, seed: int, people: int = 100_000) -> float:
    """Return n times the mean squared error of the raw inverse, over populations drawn from the distribution."""
    generator = np.random.default_rng(seed)
    errors = []
    for _ in range(DRAWS):
        counts = mechanism.simulate_counts(generator.multinomial(people, distribution), rng=generator)
        found = estimate(counts, mechanism, Inversion("none")).distribution
        errors.append(float(((found - distribution) ** 2).sum()))
    return people * float(np.mean(errors))


def _ibu_error(data: str, blur: Blur) -> float:
    """Return IBU's median EMD over the first repeats of the box plots, on the people of the dataset."""
    draws = [Draw(Bundled(data), blur, repeat) for repeat in range(REPEATS)]
    rows = [run_draw(draw, [IBU_OF_PAPER], is_kept=False)[0].row for draw in draws]
    return float(np.median([row.emd for row in rows if row.emd is not None]))


def check(tables: Tables) -> list[Claim]:
    """Lay the four printed bounds beside ours, and what makes the paper compare their pairs."""
    lines = [dict(zip(COLUMNS, row, strict=True)) for row in tables[RESULTS].rows]
    return [*(_bound(line) for line in lines), *(_utility(*pair) for pair in zip(lines[::2], lines[1::2], strict=True))]


def _bound(line: dict[str, Any]) -> Claim:
    is_misprint = line["printed"] in MISPRINTS
    is_same = abs(line["bound_times_n"] - float(line["printed"])) < 0.06
    note = f"The exact error times n is {line['exact_times_n']:,.1f}, and {line['seen_times_n']:,.1f} is seen."
    return Claim(
        f"Inversion on {line['data']}, {line['mechanism']} at {line['epsilon']:g}: n times the mean squared error is "
        f"{line['kind']}",
        line["printed"],
        f"{line['bound_times_n']:,.2f}",
        Verdict.HOLDS if is_same else Verdict.MISPRINT if is_misprint else Verdict.DIFFERS,
        f"The paper's own formula gives ours. {note}" if is_misprint else note,
    )


def _utility(flat: dict[str, Any], metric: dict[str, Any]) -> Claim:
    """Return whether k-RR and the metric mechanism are as useful as each other when IBU estimates."""
    ratio = flat["ibu_emd"] / metric["ibu_emd"]
    return judge(
        f"On {flat['data']}, k-RR at {flat['epsilon']:g} and {metric['mechanism']} at {metric['epsilon']:g} give "
        "approximately the same utility with IBU",
        "two figures",
        f"median EMD {flat['ibu_emd']:.3g} and {metric['ibu_emd']:.3g}",
        holds=1 / COMPARABLE <= ratio <= COMPARABLE,
        note=f"Holds if within a factor of {COMPARABLE:g}; the box plots have the maximum of the likelihood beside it.",
    )


EXPERIMENT = Computation(
    name="inversion-bounds",
    title="How wrong matrix inversion is",
    paper=("prop:invKrrBound", "prop:invTLinGeomBound", "prop:invTTaxicabBound"),
    compute=compute,
    kinds={RESULTS: COLUMNS},
    claims=check,
    notes=(
        (
            "The bounds hold for every distribution of the people. The exact error is for the real one, and so is "
            f"what is seen: the mean over {DRAWS} populations of 100,000 people."
        ),
    ),
)
