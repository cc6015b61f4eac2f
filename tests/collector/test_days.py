"""Counts of several days: one person's reports with permanent noise are one report, however often they came."""

from __future__ import annotations

from typing import Any

import pytest

import confide as cf
from confide.collector.client import to_counts_file

ROUNDS = cf.TwoRounds(
    cf.RandomizedResponse(cf.Categories(["yes", "no"]), 2.0), cf.RandomizedResponse(cf.Categories(["yes", "no"]), 1.0)
)
ONE = cf.RandomizedResponse(cf.Categories(["yes", "no"]), 2.0)


def pulled(survey: cf.Survey, days: int) -> Any:
    each = [{"day": f"2026-11-{day + 1:02d}", "groups": [], "counts": [["yes", 60], ["no", 40]]} for day in range(days)]
    record = {"by": [], "survey": survey.fingerprint, "days": each, "rejected": {}, "is_simulated": False}
    return to_counts_file(survey, record | {"accepted": 100 * days})


@pytest.mark.parametrize(
    ("survey", "people"),
    [
        (cf.Survey(ONE), 3000),  # fresh noise: each report tells something of its own
        (cf.Survey(ONE, is_permanent=True), 100),
        (cf.Survey(ONE, is_permanent=True, most_reports=2), 100),  # two values; the same report again is within it
        (cf.Survey(ROUNDS), 100),
        (cf.Survey(ROUNDS, most_reports=10), 300),  # every report counts, and devices keep to ten
    ],
)
def test_thirty_days_of_permanent_noise_are_worth_the_people_of_one(survey: cf.Survey, people: float) -> None:
    found = pulled(survey, days=30)
    counts = found.groups[()][0]
    assert counts.total == 3000
    assert counts.independent.total == pytest.approx(people)
    assert not found.heading.is_over_limit


@pytest.mark.parametrize("most", [None, 2])
def test_a_day_is_one_day_whatever_groups_reported_on_it(most: int | None) -> None:
    """The most reports of one person are the days of their group, up to the survey's limit; in all, all days."""
    towns = {"sex": ("f", "m"), "town": ("Bern", "Oslo")}
    survey = cf.Survey(ROUNDS, groups=towns, most_reports=most)
    came = [("11", "f", "Bern"), ("11", "m", "Bern"), ("11", "f", "Oslo"), ("12", "f", "Bern"), ("14", "m", "Bern")]
    days = [{"day": f"2026-11-{day}", "groups": list(cell), "counts": [["yes", 3]]} for day, *cell in came]
    record = {"by": list(towns), "survey": survey.fingerprint, "days": days, "rejected": {}, "is_simulated": False}
    for by in ((), ("town",), ("sex",), ("town", "sex"), ("day",), ("day", "town")):
        found = to_counts_file(survey, record | {"accepted": 3 * len(came)}, by)
        assert found.heading.files == min(3, most or 3), by
        known = [dict(zip(("day", *towns), (f"2026-11-{day}", *cell), strict=True)) for day, *cell in came]
        for key in {tuple(one[name] for name in by) for one in known}:
            own = {one["day"] for one in known if tuple(one[name] for name in by) == key}
            assert found.heading.files_of(key) == min(len(own), most or 3), (by, key)
            assert found.groups[key][0].repeats == min(len(own), most or 3), (by, key)
