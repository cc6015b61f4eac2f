"""What a year of reports of one person tells: fresh noise, permanent noise, and both in two rounds.

    python -m benchmarks.repetition            # a few seconds

Ages at 0.05 per year, of 1,000 people; the error is that of the median of a person's reports. Two rounds keep 0.05 per
year for good below a fresh one of 0.05. A survey that is issued again each day with another limit has other permanent
noise each day. The bar: a year of permanent reports tells no more than one report does.
"""

from __future__ import annotations

import hashlib

import numpy as np

import confide as cf
from benchmarks.timing import machine, print_table, verdict

PEOPLE = 1000
DAYS = (1, 30, 365)
MECHANISM = cf.TruncatedGeometric(cf.Integers(0, 99, unit="year"), 0.05)


def main() -> None:
    """Print the table."""
    print(machine())
    ages = np.random.default_rng(1).choice(cf.datasets.adult_ages().values(), PEOPLE).tolist()
    people = [cf.Permanent(hashlib.sha256(f"person {number}".encode()).digest()) for number in range(PEOPLE)]
    fresh, twice = cf.Survey(MECHANISM), cf.Survey(cf.TwoRounds(MECHANISM, MECHANISM))
    rows, errors = [], {}
    for days in DAYS:
        medians = [
            [median(fresh, age, days, number) for number, age in enumerate(ages)],
            [median(fresh, age, days, one) for one, age in zip(people, ages, strict=True)],
            # A tenth of the people, for every report of two rounds is drawn by itself.
            [median(twice, age, days, one) for one, age in zip(people[::10], ages[::10], strict=True)],
            [median_of_reissues(age, days, one) for one, age in zip(people[::10], ages[::10], strict=True)],
        ]
        truths = (ages, ages, ages[::10], ages[::10])
        errors[days] = [float(np.abs(np.subtract(*one)).mean()) for one in zip(medians, truths, strict=True)]
        rows.append([f"{days}", *(f"{error:.1f}" for error in errors[days])])
    heads = [
        "reports of one person",
        "fresh noise",
        "permanent noise",
        "two rounds",
        "permanent, issued again each day",
    ]
    print_table("Error of the median of one person's reports, in years", heads, rows)
    met = errors[365][1] >= 0.99 * errors[1][1]
    print(verdict("A year of permanent reports tells no more than one", met=met))


def median(survey: cf.Survey, age: int, days: int, rng: object) -> float:
    """Return the median of so many reports of one person."""
    return float(np.median(survey.privatize([age] * days, rng=rng)))


def median_of_reissues(age: int, days: int, rng: object) -> float:
    """Return the median of one person's reports to a survey that changes one limit each day."""
    surveys = [cf.Survey(MECHANISM, most_reports=limit, is_permanent=True) for limit in range(1, days + 1)]
    return float(np.median([survey.privatize(age, rng=rng) for survey in surveys]))


if __name__ == "__main__":
    main()
