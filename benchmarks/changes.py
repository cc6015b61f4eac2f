"""Coverage of changes between weeks: other people and the same, fresh and permanent noise.

    python -m benchmarks.changes [--surveys 200] [--people 2000]

Each survey has three weeks. A tenth of the people have another value in the last one. The truth is the change of the
population that people are drawn from.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np

import confide as cf

AGES, ANSWERS = cf.Integers(0, 19, unit="year"), cf.Categories(["yes", "no"])
DESIGNS: dict[str, tuple[cf.Mechanism, str]] = {
    "k-RR, epsilon 1": (cf.RandomizedResponse(ANSWERS, 1.0), "answer == yes"),
    "RAPPOR, epsilon 2": (cf.Rappor(ANSWERS, 2.0), "answer == yes"),
    "geometric 0.2, mean": (cf.TruncatedGeometric(AGES, 0.2), "mean"),
    "geometric 0.2, threshold": (cf.TruncatedGeometric(AGES, 0.2), "age >= 12"),
    "square wave, epsilon 1": (cf.SquareWave(AGES, 1.0), "age >= 12"),
}
PANELS = {
    "fresh, other people": (False, False),
    "fresh, same people": (False, True),
    "permanent, same people": (True, True),
}


def draw(
    mechanism: cf.Mechanism, people: int, generator: np.random.Generator, *, is_permanent: bool, are_same: bool
) -> tuple[Any, Any, Any]:
    """Return reports, weeks and people of one survey."""
    alphabet = mechanism.alphabet
    rise = np.linspace(0.5, 1.5, alphabet.size)
    found: list[tuple[Any, Any, Any]] = []
    last = values = generator.choice(alphabet.size, people, p=rise / rise.sum())
    for week in range(3):
        if week and not are_same:
            values = generator.choice(alphabet.size, people, p=rise / rise.sum())
        if week == 2:
            values = np.where(generator.random(people) < 0.1, 0, values)
        seed = int(generator.integers(2**31))
        if week and is_permanent and are_same:  # whoever kept the value sends the same report again
            kept, before, reports = values == last, found[-1][0], mechanism.privatize(alphabet.decode(values), rng=seed)
            reports = np.where(kept.reshape(-1, *[1] * (reports.ndim - 1)), before, reports)
        else:
            reports = mechanism.privatize(alphabet.decode(values), rng=seed)
        found.append((np.asarray(reports), np.full(people, week), np.arange(people) + (not are_same) * week * people))
        last = values
    reports, weeks, whose = (np.concatenate(column) for column in zip(*found, strict=True))
    return reports, weeks, whose


def true_change(mechanism: cf.Mechanism, query: str) -> float:
    """Return the change of the population from the first week to the last."""
    alphabet = mechanism.alphabet
    rise = np.linspace(0.5, 1.5, alphabet.size) / np.linspace(0.5, 1.5, alphabet.size).sum()
    weights = alphabet.amounts if query == "mean" else (np.arange(alphabet.size) >= 12).astype(float)
    weights = np.array([1.0, 0.0]) if query == "answer == yes" else weights
    end = 0.9 * rise + 0.1 * (np.arange(alphabet.size) == 0)
    return float(weights @ (end - rise))


def main() -> None:
    """Print a row for each design and panel."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--surveys", type=int, default=200)
    options.add_argument("--people", type=int, default=2000)
    given = options.parse_args()
    print("| design | panel | covered | mean width | false alarms of the test at 5 % |")
    print("| --- | --- | --- | --- | --- |")
    for design, (mechanism, query) in DESIGNS.items():
        truth = true_change(mechanism, query)
        for panel, (is_permanent, are_same) in PANELS.items():
            generator, held, widths, alarms = np.random.default_rng(1), 0, [], 0
            for _ in range(given.surveys):
                reports, weeks, people = draw(
                    mechanism, given.people, generator, is_permanent=is_permanent, are_same=are_same
                )
                with warnings.catch_warnings(action="ignore"):
                    series = cf.estimate_over(
                        reports, weeks, mechanism, query, people=people if are_same else None, method=cf.MLE()
                    )
                    held += series.overall.contains(truth)
                    widths.append(series.overall.width)
                    # The first two weeks have one truth.
                    same = weeks < 2
                    null = cf.estimate_over(
                        reports[same],
                        weeks[same],
                        mechanism,
                        query,
                        people=people[same] if are_same else None,
                        method=cf.MLE(),
                    )
                    alarms += null.test.is_seen
            covered, false = held / given.surveys, alarms / given.surveys
            print(f"| {design} | {panel} | {covered:.1%} | {np.mean(widths):.3f} | {false:.1%} |", flush=True)


if __name__ == "__main__":
    main()
