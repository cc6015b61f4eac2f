"""The paper's bounds on the error of matrix inversion, the exact error, and what is seen."""

from __future__ import annotations

import numpy as np

from confide.datasets import load
from confide.estimates import estimate
from confide.experiments.base import RESULTS, Claim, Computation, Tables, Verdict
from confide.experiments.blurs import Blur
from confide.experiments.declarations import seed_of
from confide.experiments.table import Table
from confide.mechanisms import Mechanism
from confide.methods import Inversion

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

COLUMNS = {
    "data": "text",
    "mechanism": "text",
    "epsilon": "number",
    "kind": "text",
    "bound_times_n": "number",
    "exact_times_n": "number",
    "seen_times_n": "number",
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
        numbers = error.bound.per_report, error.per_report, seen
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


def check(tables: Tables) -> list[Claim]:
    """Lay the four printed bounds beside ours."""
    claims = []
    for row in tables[RESULTS].rows:
        line = dict(zip(COLUMNS, row, strict=True))
        printed = str(line["printed"])
        is_misprint = printed in MISPRINTS
        is_same = abs(float(line["bound_times_n"] or 0) - float(printed)) < 0.06
        note = f"The exact error times n is {line['exact_times_n']:,.1f}, and {line['seen_times_n']:,.1f} is seen."
        claims.append(
            Claim(
                f"Inversion on {line['data']}, {line['mechanism']} at {line['epsilon']:g}: n times the mean squared "
                f"error is {line['kind']}",
                printed,
                f"{line['bound_times_n']:,.2f}",
                Verdict.MISPRINT if is_misprint and not is_same else Verdict.HOLDS if is_same else Verdict.DIFFERS,
                f"The paper's own formula gives ours. {note}" if is_misprint else note,
            )
        )
    return claims


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
