"""Statements of the paper, and the rules by which tables judge them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from reproduction.table import RESULTS, Table, Tables

# The paper's words are judged by numbers of our choosing: "far better" is a median error below half of either
# inversion's, "comparable" a median error within a factor of two.
HALF, COMPARABLE = 0.5, 2.0


class Ruling(StrEnum):
    """Judgement on a statement of the paper, by a number of ours."""

    HOLDS = "holds"
    DIFFERS = "differs"
    MISPRINT = "misprint"
    COMPARED = "for comparison"

    @property
    def is_judged(self) -> bool:
        """Whether it judges the paper, not a variant beside it."""
        return self is not Ruling.COMPARED


@dataclass(frozen=True)
class Claim:
    """Number or sentence of the paper, beside what came out here.

    Attributes
    ----------
    what
        Subject of the statement.
    paper
        Words or number that the paper prints.
    ours
        Words or number that came out here.
    verdict
        Whether the two agree.
    note
        Reason why not, or how it was judged.
    """

    what: str
    paper: str
    ours: str
    verdict: Ruling
    note: str = ""


def judge(what: str, paper: str, ours: str, *, holds: bool, note: str = "") -> Claim:
    """Return a claim that holds or differs."""
    return Claim(what, paper, ours, Ruling.HOLDS if holds else Ruling.DIFFERS, note)


def tally(claims: Sequence[Claim]) -> str:
    """Return how many statements hold, differ and are misprints, in words.

    >>> tally([judge("a", "1", "1", holds=True), judge("b", "1", "2", holds=True), judge("c", "1", "3", holds=False)])
    '2 hold, 1 differs'
    >>> tally([Claim("a", "1", "1", Ruling.MISPRINT)])
    'none holds, none differs, 1 is a misprint'
    """
    often = {ruling: sum(claim.verdict is ruling for claim in claims) for ruling in Ruling}

    def say(ruling: Ruling, one: str, many: str) -> str:
        return f"none {one}" if not often[ruling] else f"1 {one}" if often[ruling] == 1 else f"{often[ruling]} {many}"

    words = [say(Ruling.HOLDS, "holds", "hold"), say(Ruling.DIFFERS, "differs", "differ")]
    misprints = [say(Ruling.MISPRINT, "is a misprint", "are misprints")] if often[Ruling.MISPRINT] else []
    return ", ".join([*words, *misprints])


def is_far_better(what: str, tables: Tables, kinds: Sequence[str], *, strong: float, **rows: Any) -> Claim:
    """Check that IBU clearly beats both inversions, up to `strong`."""
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
    """Check that errors are smaller at the weakest privacy."""
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
    """Check that IBU and the others have similar errors everywhere.

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
