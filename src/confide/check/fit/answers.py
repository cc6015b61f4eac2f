"""Answers of the test of fit: the verdict, what stands out, what would have shown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from confide.values.wording import counted

LEVEL = 0.05
"""The share of surveys in which all is well that are called a bad fit."""

SURE = 1e-3
"""The p-value below which chance is no explanation any more; above it, one good survey of twenty is called poor."""

ENOUGH = 0.8
"""The power against bots and another epsilon from which on a survey is called tested."""

IN_DOUBT = "These answers hold only as far as the reports come from this mechanism, and the fit speaks against it."
"""Remark beside intervals of reports whose fit is bad."""

CHANCE = "With more reports, or other ones, chance goes away and a fault stays."


class FitVerdict(StrEnum):
    """Verdict on reports: they can come from the mechanism, hardly, or not at all; or nobody can tell."""

    FITS = "fits"
    FITS_POORLY = "fits poorly"
    DOES_NOT_FIT = "does not fit"
    CANNOT_BE_TESTED = "cannot be tested here"

    @property
    def is_bad(self) -> bool:
        """Whether reports fit poorly, or not at all."""
        return self in (FitVerdict.FITS_POORLY, FitVerdict.DOES_NOT_FIT)


@dataclass(frozen=True)
class Outlier:
    """An output that was reported too often, or too rarely.

    Attributes
    ----------
    report
        The output; several neighbours where there are too many to test each.
    observed, expected
        How often it was reported, and how often it would be under the distribution that explains all reports best.
    """

    report: str
    observed: float
    expected: float

    def __str__(self) -> str:
        excess = self.observed - self.expected
        often = "too often" if excess > 0 else "too rarely"
        seen = f"seen {self.observed:,.0f}, at most about {self.expected:,.0f} expected"
        if excess < 0:
            seen = f"seen {self.observed:,.0f}, about {self.expected:,.0f} expected"
        return f"{self.report} was reported {counted(max(1, round(abs(excess))), 'time')} {often} ({seen})"


@dataclass(frozen=True)
class Power:
    """Power of the test against one alternative.

    Attributes
    ----------
    alternative
        What might be wrong, such as bots at one value.
    power
        How probably it would show in as many reports, about.
    is_needed
        Whether a fit is only called so if this would show.
    """

    alternative: str
    power: float
    is_needed: bool = True

    @property
    def is_seen(self) -> bool:
        """Whether it would show more often than not by far."""
        return self.power >= ENOUGH


@dataclass(frozen=True)
class Fit:
    """Goodness of fit: whether reports can come from a mechanism, and if not, what stands out.

    Attributes
    ----------
    verdict
        Fits, fits poorly (which chance explains in fewer than one survey of twenty), does not fit (fewer than one of a
        thousand), or cannot be tested here: nothing speaks against the reports, and nothing could.
    p_value
        How often reports of this mechanism fit as badly; 1 where nothing can be tested.
    statistic, degrees
        G2 in nats times two, and the degrees of freedom that the best explanation leaves.
    reports, replicates
        How many reports there are, and how many replicates the p-value rests on; 0 for a closed form.
    outliers
        The outputs that stand out, the worst first; none where the reports fit.
    causes
        Likely causes of a bad fit, in sentences.
    sights
        What the test would have seen; none for a bad fit.
    obstacle
        Why nothing can be tested, where that is so for a reason other than power.
    """

    verdict: FitVerdict
    p_value: float
    statistic: float = 0.0
    degrees: float = 0.0
    reports: float = 0.0
    replicates: int = 0
    outliers: tuple[Outlier, ...] = ()
    causes: tuple[str, ...] = ()
    sights: tuple[Power, ...] = ()
    obstacle: str = ""

    @property
    def is_bad(self) -> bool:
        """Whether the reports fit poorly, or not at all."""
        return self.verdict.is_bad

    @property
    def headline(self) -> str:
        """The verdict in one sentence."""
        if self.is_bad:
            worst = f": {self.outliers[0]}" if self.outliers else ""
            if self.verdict is FitVerdict.FITS_POORLY:
                return f"These reports fit this mechanism poorly{worst}."
            return f"These reports do not come from this mechanism{worst}."
        if self.verdict is FitVerdict.FITS:
            return f"These reports fit the mechanism (p = {self.p_value:.2g})."
        unknown = "hether these reports come from this mechanism cannot be tested here"
        if any(one.is_seen for one in self.sights):
            return f"Nothing speaks against these reports (p = {self.p_value:.2g}), but w{unknown} in full."
        return f"W{unknown}."

    @property
    def details(self) -> tuple[str, ...]:
        """The sentences after the headline: likely causes, or what would have shown."""
        if self.verdict is FitVerdict.FITS_POORLY:
            doubted = (f"If it is not chance: {cause[0].lower()}{cause[1:]}" for cause in self.causes)
            return (*self._remarks(), CHANCE, *doubted)
        return (*self.causes, *self._remarks())

    def __str__(self) -> str:
        return " ".join([self.headline, *self.details])

    def judged(self, level: float = LEVEL) -> Fit:
        """Return the same with the verdict that the p-value has at a level."""
        if self.p_value <= level:
            verdict = FitVerdict.DOES_NOT_FIT if self.p_value < SURE else FitVerdict.FITS_POORLY
            return replace(self, verdict=verdict, sights=())
        return self.forgiven() if self.is_bad else self

    def forgiven(self) -> Fit:
        """Return the same as not bad after all, for instance as one of many groups."""
        verdict = FitVerdict.CANNOT_BE_TESTED if self.is_bad else self.verdict
        return replace(self, verdict=verdict, outliers=(), causes=())

    def with_sights(self, sights: Sequence[Power]) -> Fit:
        """Return a fit that is not bad with what it would have seen; it fits only if that is enough."""
        needed = [one for one in sights if one.is_needed]
        is_tested = bool(needed) and all(one.is_seen for one in needed)
        verdict = FitVerdict.FITS if is_tested else FitVerdict.CANNOT_BE_TESTED
        return replace(self, verdict=verdict, sights=tuple(sights), outliers=(), causes=())

    @classmethod
    def joined(cls, parts: Sequence[Fit]) -> Fit:
        """Return one fit for independent parts: the least p-value, corrected for their number (Sidak)."""
        if len(parts) == 1:
            return parts[0]
        least = min(*(one.p_value for one in parts), 1 - 1e-16)
        is_tested = all(one.verdict is FitVerdict.FITS for one in parts)
        statistic, degrees, reports = (
            sum(getattr(one, name) for one in parts) for name in ("statistic", "degrees", "reports")
        )
        return cls(
            verdict=FitVerdict.FITS if is_tested else FitVerdict.CANNOT_BE_TESTED,
            p_value=-math.expm1(len(parts) * math.log1p(-least)),
            statistic=statistic,
            degrees=degrees,
            reports=reports,
            replicates=sum(one.replicates for one in parts),
            outliers=tuple(outlier for one in parts for outlier in one.outliers),
            causes=tuple(cause for one in parts for cause in one.causes),
            sights=tuple(dict.fromkeys(sight for one in parts for sight in one.sights)),
        ).judged()

    def _remarks(self) -> Iterable[str]:
        if self.is_bad:
            yield f"A fit as bad comes by chance in {rarity(self.p_value)} surveys."
            return
        if self.obstacle:
            yield self.obstacle
        for is_seen, verb in ((True, "would have shown"), (False, "would not show")):
            named = [one.alternative for one in self.sights if one.is_seen is is_seen]
            if named:
                told = f"{listed(named)} {verb}."
                yield told[0].upper() + told[1:]  # not capitalize(), which makes "40.7 n" of "40.7 N"


@dataclass(frozen=True)
class GroupFits:
    """Goodness of fit of many groups, whose reports all went through one mechanism.

    Attributes
    ----------
    together
        The fit of all reports together: what is wrong with every group a little shows here.
    groups
        The fit of each group. Its p-value is its own; its verdict allows for their number (Holm, 1979).
    """

    together: Fit
    groups: Mapping[Any, Fit]

    @property
    def is_bad(self) -> bool:
        """Whether all reports together, or those of some group, do not come from the mechanism."""
        return self.together.is_bad or any(one.is_bad for one in self.groups.values())

    @property
    def bad(self) -> dict[Any, Fit]:
        """The groups whose reports do not come from the mechanism."""
        return {key: one for key, one in self.groups.items() if one.is_bad}

    @property
    def headline(self) -> str:
        """The verdict in a sentence or two."""
        if not self.bad:
            return str(self.together)
        (key, worst), *others = sorted(self.bad.items(), key=lambda pair: pair[1].p_value)
        more = f" and of {counted(len(others), 'other group')}" if others else ""
        stands_out = f": {worst.outliers[0]}" if worst.outliers else ""
        first = f"The reports of {_group_name(key)}{more} do not come from this mechanism{stands_out}."
        return " ".join([first, *worst.causes])

    def __str__(self) -> str:
        return "\n".join([str(self.together), *(f"{_group_name(key)}: {one}" for key, one in self.bad.items())])


def _group_name(key: Any) -> str:
    return ", ".join(str(part) or "(none)" for part in key) if isinstance(key, tuple) else str(key)


def rarity(p_value: float) -> str:
    """Return in how many surveys a p-value comes by chance."""
    if p_value < 1e-9:
        return "less than one of a billion"
    return f"one of {1 / p_value:,.0f}" if p_value < 0.01 else f"{100 * p_value:.2g} of 100"


def listed(names: Sequence[str]) -> str:
    """Return names as a sentence lists them."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
