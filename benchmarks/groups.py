"""How long many groups take, by the default method and with intervals.

    python -m benchmarks.groups                 # 10,000 groups of 300 reports over 100 values
    python -m benchmarks.groups --groups 1000

Times are seconds of one core, on one thread; the goal is minutes for ten thousand groups.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import confide as cf
from benchmarks.timing import machine, once, print_table, verdict
from confide.data.files import SurveyGroups, ask_groups
from confide.estimates.groups import recover_groups

GOAL = 600.0
"""Seconds of a core for ten thousand groups: five minutes of two."""


def make_groups(number: int, reports: int, mechanism: cf.Mechanism) -> dict[tuple[str, ...], cf.Counts]:
    """Return groups of people with ages, one in ten of them five years older."""
    rng, ages = np.random.default_rng(1), cf.datasets.adult_ages().distribution
    shifted = np.roll(ages, 5)
    channel = mechanism.channel.dense()
    groups: dict[tuple[str, ...], cf.Counts] = {}
    for place in range(number):
        shares = (shifted if place % 10 == 0 else ages) @ channel
        drawn = rng.multinomial(reports, shares / shares.sum())
        groups[f"{place:05d}",] = cf.tally(np.flatnonzero(drawn), counts=drawn[drawn > 0])
    return groups


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=int, default=10_000)
    parser.add_argument("--reports", type=int, default=300)
    chosen = parser.parse_args()
    mechanism = cf.TruncatedGeometric(cf.Integers(0, 99), epsilon=0.1)
    survey, groups = cf.Survey(mechanism, "age"), make_groups(chosen.groups, chosen.reports, mechanism)
    rows: list[tuple[str, str]] = []
    total = 0.0

    def measure(name: str, work: Any) -> Any:
        nonlocal total
        seconds, outcome = once(work)
        total += seconds
        rows.append((name, f"{seconds:.1f} s"))
        return outcome

    estimates = measure("estimates by Stacked", lambda: recover_groups(groups, mechanism)).estimates
    found = SurveyGroups(estimates, survey, ("town",))
    measure("mean, median and a query, with intervals", lambda: ask_groups(found, ["age >= 65"], 0.95))
    measure("fit", lambda: found.fits)
    different = measure("differences", lambda: found.differences).different
    goal = GOAL * chosen.groups / 10_000
    rows.append((f"all; {verdict(f'{goal:.0f} s', met=total <= goal)}", f"{total:.1f} s"))
    print_table(f"{chosen.groups:,} groups of {chosen.reports:,} reports over 100 values", ("", "one core"), rows)
    right = sum(int(key[0]) % 10 == 0 for key in different)
    print(f"{len(different):,} groups differ, of which {right:,} do; {machine()}")


if __name__ == "__main__":
    main()
