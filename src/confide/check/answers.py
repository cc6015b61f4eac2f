"""Answers of the fit test: verdict, outliers, likely causes, power."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from confide.values.wording import Shown, counted

LEVEL = 0.05
"""Significance level: share of good surveys called a bad fit."""

SURE = 1e-3
"""Below this p-value chance is no explanation; above it, one good survey in twenty is called poor."""

ENOUGH = 0.8
"""Power against bots and another epsilon at which a survey counts as tested."""

IN_DOUBT = "These answers assume that the reports come from this mechanism, and the fit is bad."
"""Remark beside intervals of reports whose fit is bad."""

CHANCE = "More reports would show whether it is chance or a fault."


class FitVerdict(StrEnum):
    """Verdict: whether reports can come from the mechanism."""

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
        The output; several neighbours if there are too many to test each.
    observed, expected
        How often it was reported, and how often the best explanation of all reports expects it.
    """

    report: str
    observed: float
    expected: float

    def __str__(self) -> str:
        excess = self.observed - self.expected
        often, most = ("too often", "at most ") if excess > 0 else ("too rarely", "")
        seen = f"seen {self.observed:,.0f}, {most}about {self.expected:,.0f} expected"
        return f"{self.report} was reported {counted(max(1, round(abs(excess))), 'time')} {often} ({seen})"


@dataclass(frozen=True)
class Power:
    """Power of the test against one alternative.

    Attributes
    ----------
    alternative
        What might be wrong, such as bots at one value.
    power
        The approximate probability that it would show in as many reports.
    is_needed
        Whether the verdict ``fits`` requires that this would show.
    """

    alternative: str
    power: float
    is_needed: bool = True

    @property
    def is_seen(self) -> bool:
        """Whether the power is high enough to count."""
        return self.power >= ENOUGH


@dataclass(frozen=True)
class Fit(Shown):
    """Goodness of fit: whether reports can come from a mechanism.

    Attributes
    ----------
    verdict
        Fits; fits poorly (p-value of at most 5 %); does not fit (below 0.1 %); or cannot be tested here: nothing speaks
        against the reports, and nothing could.
    p_value
        How often reports of this mechanism fit as badly; 1 if nothing can be tested.
    statistic, degrees
        G2 (nats times two), and the degrees of freedom that the best explanation leaves.
    reports, replicates
        The numbers of reports, and of replicates behind the p-value; 0 for a closed form.
    outliers
        The outputs that stand out, the worst first; empty if the reports fit.
    causes
        Likely causes of a bad fit, in sentences.
    sights
        What the test would have seen; empty for a bad fit.
    obstacle
        Why nothing can be tested, if the reason is not power.

    Examples
    --------
    >>> import confide as cf
    >>> found = cf.fit(cf.tally([50], counts=[5000]), cf.TruncatedGeometric(cf.Integers(0, 99), epsilon=0.05))
    >>> print(found.verdict)
    does not fit
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
            return f"Goodness of fit: OK (p = {self.p_value:.2f})."
        if any(one.is_seen for one in self.sights):
            return f"Goodness of fit: nothing suspicious (p = {self.p_value:.2f}), but the test has little power here."
        return "Goodness of fit: cannot be tested here."

    @property
    def details(self) -> tuple[str, ...]:
        """The sentences after the headline: likely causes, or the test's power."""
        if self.verdict is FitVerdict.FITS_POORLY:
            return (*self._remarks(), CHANCE, *self.causes)
        return (*self.causes, *self._remarks())

    def __str__(self) -> str:
        return " ".join([self.headline, *self.details])

    def judged(self, level: float = LEVEL) -> Fit:
        """Return the same with the verdict that the p-value has."""
        if self.p_value <= level:
            verdict = FitVerdict.DOES_NOT_FIT if self.p_value < SURE else FitVerdict.FITS_POORLY
            return replace(self, verdict=verdict, sights=())
        return self.forgiven() if self.is_bad else self

    def forgiven(self) -> Fit:
        """Return the same as not bad, for instance after Holm's correction."""
        verdict = FitVerdict.CANNOT_BE_TESTED if self.is_bad else self.verdict
        return replace(self, verdict=verdict, outliers=(), causes=())

    def with_sights(self, sights: Sequence[Power]) -> Fit:
        """Return the fit with the test's power; it fits if that suffices."""
        needed = [one for one in sights if one.is_needed]
        is_tested = bool(needed) and all(one.is_seen for one in needed)
        verdict = FitVerdict.FITS if is_tested else FitVerdict.CANNOT_BE_TESTED
        return replace(self, verdict=verdict, sights=tuple(sights), outliers=(), causes=())

    @classmethod
    def joined(cls, parts: Sequence[Fit]) -> Fit:
        """Return one fit for independent parts (Sidak's correction)."""
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
            yield f"A fit this bad happens by chance in {rarity(self.p_value)} surveys."
            return
        if self.obstacle:
            yield self.obstacle
        subject = "The test"
        for is_seen, verb in ((True, "would have caught"), (False, "cannot see")):
            named = [one.alternative for one in self.sights if one.is_seen is is_seen]
            if named:
                yield f"{subject} {verb} {', or '.join(filter(None, [', '.join(named[:-1]), named[-1]]))}."
                subject = "It"


@dataclass(frozen=True)
class GroupFits:
    """Goodness of fit of many groups that share one mechanism.

    Attributes
    ----------
    together
        The fit of all reports together: a small fault in every group shows here.
    groups
        The fit of each group. Its p-value is its own; its verdict allows for their number (Holm, 1979).
    """

    together: Fit
    groups: Mapping[Any, Fit]

    @property
    def is_bad(self) -> bool:
        """Whether all reports together, or some group, do not fit."""
        return self.together.is_bad or any(one.is_bad for one in self.groups.values())

    @property
    def bad(self) -> dict[Any, Fit]:
        """The groups that do not fit."""
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
        return "less than one in a billion"
    return f"one in {1 / p_value:,.0f}" if p_value < 0.01 else f"{100 * p_value:.2g} of 100"
