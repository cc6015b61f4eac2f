"""Sentences of the paper as numbers, for tables of box plots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from reproduction.base import RESULTS, Claim, Tables, judge
from reproduction.table import Table

HALF = 0.5
"""IBU is far better where its median error is below this share of either inversion's."""

COMPARABLE = 2.0
"""Methods are comparable where their median errors differ by at most this factor."""


def is_far_better(what: str, tables: Tables, kinds: Sequence[str], *, strong: float, **rows: Any) -> Claim:
    """Check that IBU beats both inversions clearly, at every level up to `strong`."""
    found = tables[RESULTS].where(mechanism=list(kinds), **rows)
    ratios = {
        (kind, level): at.where(method="IBU").median("emd") / better_inversion(at)
        for kind, level, at in _places(found)
        if level <= strong
    }
    worst = max(ratios, key=lambda place: ratios[place])
    return judge(
        f"{what}: IBU is more accurate than INV-N and INV-P, especially where privacy is strong",
        "a figure",
        f"median EMD of IBU over the better inversion's, at levels up to {strong:g}: at most {ratios[worst]:.2f} "
        f"({worst[0]} at {worst[1]:g})",
        holds=ratios[worst] < HALF,
        note=f"Holds if below {HALF:g} under every mechanism at every such level.",
    )


def improves_with_epsilon(what: str, tables: Tables, **rows: Any) -> Claim:
    """Check that every method has a smaller error at the weakest privacy than at the strongest."""
    found = tables[RESULTS].where(**rows)
    falls = []
    for kind in found.distinct("mechanism"):
        for method in ("IBU", "INV-N", "INV-P"):
            of_method = found.where(mechanism=kind, method=method)
            first, *_, last = of_method.distinct("epsilon")
            falls.append(
                of_method.where(epsilon=first).median("emd") / of_method.where(epsilon=last).median("emd"),
            )
    return judge(
        f"{what}: all methods improve as epsilon grows",
        "a figure",
        f"median EMD falls by a factor of {min(falls):.1f} to {max(falls):.1f} from the first level to the last",
        holds=min(falls) > 1,
    )


def are_comparable(
    what: str, found: Table, others: Sequence[str], *, level: str = "epsilon", negligible: float = 0.0
) -> Claim:
    """Check that IBU and the other methods have errors of the same size at every level.

    Parameters
    ----------
    what
        What the claim is about.
    found
        The rows of one mechanism on one dataset.
    others
        The methods to compare IBU with.
    level
        What varies: epsilon, or the number of people.
    negligible
        Errors below this count as equal to it.
    """
    ratios: dict[tuple[float, str], float] = {}
    for step in found.distinct(level):
        at = found.where(**{level: step})
        medians = {name: max(negligible, at.where(method=name).median("emd")) for name in ("IBU", *others)}
        ratios |= {(step, other): medians["IBU"] / medians[other] for other in others}
    low, high = min(ratios, key=lambda place: ratios[place]), max(ratios, key=lambda place: ratios[place])
    remark = f" Errors below {negligible:g} count as equal." if negligible else ""
    return judge(
        f"{what}: {' and '.join(others)} are comparable to IBU",
        "a figure",
        f"median EMD of IBU over that of the other: {ratios[low]:.2f} ({low[1]} at {low[0]:g}) to {ratios[high]:.2f} "
        f"({high[1]} at {high[0]:g})",
        holds=ratios[low] >= 1 / COMPARABLE and ratios[high] <= COMPARABLE,
        note=f"Holds if all ratios lie between {1 / COMPARABLE:g} and {COMPARABLE:g}.{remark}",
    )


def _places(table: Table) -> Iterator[tuple[str, float, Table]]:
    for kind in table.distinct("mechanism"):
        rows = table.where(mechanism=kind)
        for level in rows.distinct("epsilon"):
            yield kind, level, rows.where(epsilon=level)


def better_inversion(table: Table) -> float:
    """Return the smaller of the two inversions' median errors."""
    return min(table.where(method=method).median("emd") for method in ("INV-N", "INV-P"))
