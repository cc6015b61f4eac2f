"""Resolution: the narrowest windows of one width whose shares reports tell, and what they tell best and worst.

A window is some values in a row on a line, a square of cells on a plane, and a single value where values have no
order. Its share is *told* if both ends of its interval lie within the stated error of the estimate, and within half of
what the fullest window of that width holds: five points more or less say nothing of windows that hold two. The
intervals are those of :class:`confide.Likelihood`, which believe nothing of the truth, and so is the resolution.

Not all windows get an interval, which takes a few maxima of the likelihood. Replicates of the best explanation say of
every window how much its share varies; intervals decide on those that vary most. Widths are halved until one is not
told, and bisected from there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from confide.channels.base import FloatArray
from confide.intervals.answers import Interval, percent
from confide.intervals.bases import Basis, Likelihood
from confide.intervals.inference import Inference, check_basis, check_level
from confide.intervals.windows import Window, WindowKind, windows_over

ERROR = 0.05
"""The error within which shares are to be known unless told: five percentage points."""

LOUDEST = 4
"""Windows of a width that vary most over replicates, and get an interval each.

The least known of all was among the four that vary most in each of twelve cases: ages and spikes under geometric noise,
a flat truth under the exponential mechanism, windows of 1, 6, 12 and half of all values.
"""

LEAST, MOST = 1, 2
"""Questions of each kind that vary least, and most, whose intervals are compared for the best and the least known."""


@dataclass(frozen=True)
class Resolution:
    """The narrowest windows of values whose shares reports tell, and the answers that they know best and worst.

    Attributes
    ----------
    width
        Values in a row, or cells on a side of a square; 1 for single values, None where not even windows of half of
        all values, or no single values of an alphabet without order, are told.
    windows
        What such windows are called, such as "windows of 12 years".
    error, level
        The error that was asked for, and how often an interval holds the truth.
    within
        The error that was held: the one asked for, or half of what the fullest window holds if that is less.
    least_known
        The least known window of that width, of those that vary most; None without a width.
    not_told
        A window of the next narrower width whose share is not told; where there is no width, the least known of the
        widest ones. None where single values are told.
    best, worst
        Of each value, each tenth of the values in a row and each upper tail: the one known best, and the one known
        worst.
    """

    width: int | None
    windows: str
    error: float
    level: float
    within: float
    least_known: Interval | None
    not_told: Interval | None
    best: Interval
    worst: Interval

    @property
    def sentences(self) -> tuple[str, ...]:
        """All of it in words, one sentence each."""
        return (*self._told(), f"Best known of all is {in_words(self.best)}; least known is {in_words(self.worst)}.")

    def _told(self) -> Iterable[str]:
        within = f"within {points(self.within)} at {percent(self.level)}"
        asked = f"less than the {points(self.error)} asked for, which would say nothing of such windows"
        half = "" if self.within >= self.error else f" (half of what the fullest holds, and {asked})"
        if self.least_known is not None:
            told = f"{self.windows} {within}{half}: {in_words(self.least_known)}, at worst"
            yield f"These reports tell the shares of {told}."
        if self.not_told is not None and self.width is None:
            only = f"only within {points(error_of(self.not_told))}"
            missed = f"{self.windows} {within}{half}, {only}: {in_words(self.not_told)}"
            yield f"These reports do not tell the shares of {missed}."
        elif self.not_told is not None:
            yield f"Narrower ones they do not tell: {in_words(self.not_told)}."

    def __str__(self) -> str:
        return " ".join(self.sentences)


def points(share: float) -> str:
    """Return a share in percentage points, rounded up: an error is within it.

    >>> points(0.05), points(0.01), points(0.00123), points(0.304)
    ('5 points', '1 point', '0.13 points', '31 points')
    """
    digits = 1 - math.floor(math.log10(100 * share)) if share > 0 else 0
    # A little less, so that 5 points, which float64 may hold as a little more, stay 5.
    number = f"{math.ceil(100 * share * 10.0**digits * (1 - 1e-9)) / 10.0**digits:.3g}"
    return f"{number} {'point' if number == '1' else 'points'}"


def resolve(
    inference: Inference, error: float, level: float, basis: Basis | None = None, name: str | None = None
) -> Resolution:
    """Find the resolution of reports; see :meth:`confide.Estimate.resolution`."""
    check_level("error", error)
    check_level("level", level)
    chosen = check_basis(basis, Likelihood())
    return _WindowSearch(inference, error, level, chosen, windows_over(inference.alphabet, name)).run()


@dataclass(frozen=True, eq=False)
class _WindowSearch:
    """The search for the narrowest windows that are told."""

    inference: Inference
    error: float
    level: float
    basis: Basis
    windows: WindowKind

    def run(self) -> Resolution:
        narrow, wide, told, missed = 0, 0, None, None
        width = self.windows.longest
        while width > narrow and width != wide:
            found, is_told = self._judge(width)
            if is_told:
                wide, told = width, found
            else:
                narrow, missed = width, found
                if not wide:
                    break
            # Halved until one is not told, and bisected from there.
            width = (narrow + wide) // 2 if narrow else wide // 2
        best, worst = self._extremes()
        shown = wide or self.windows.longest
        return Resolution(
            width=wide or None,
            windows=self.windows.describe(shown),
            error=self.error,
            level=self.level,
            within=self._limit(self.windows.of(shown)),
            least_known=told,
            not_told=missed,
            best=best,
            worst=worst,
        )

    def _judge(self, width: int) -> tuple[Interval, bool]:
        """Return the least known window of a width, and whether all are told."""
        windows = self.windows.of(width)
        limit, found = self._limit(windows), []
        for place in np.argsort(-self._spreads(windows), kind="stable")[:LOUDEST].tolist():
            found.append(self._ask(windows[place]))
            # Of the widest it is said how well they are known, whether that is enough or not.
            if error_of(found[-1]) > limit and width < self.windows.longest:
                break
        worst = max(found, key=error_of)
        return worst, error_of(worst) <= limit

    def _limit(self, windows: list[Window]) -> float:
        return min(self.error, max(self._share(one) for one in windows) / 2)

    def _share(self, window: Window) -> float:
        return float(window.weights @ self.inference.shares)

    def _spreads(self, windows: list[Window]) -> FloatArray:
        queries = np.array([one.weights for one in windows])
        return self.basis.spreads(self.inference.seen_by(self.basis), queries, self.level)

    def _ask(self, window: Window) -> Interval:
        query = window.question if window.is_text else window.weights
        return replace(self.inference.query(query, self.level, None, self.basis), question=window.question)

    def _extremes(self) -> tuple[Interval, Interval]:
        """Return the questions known best and worst, of a few of each kind that vary least and most."""
        found = []
        for every in [self.windows.of(1), *self.windows.broad()]:
            kind = [one for one in every if self.inference.lift(one.weights).any()]  # by a shape some may be nobody's
            if kind:
                order = np.argsort(self._spreads(kind), kind="stable").tolist()
                found += [self._ask(kind[place]) for place in dict.fromkeys([*order[:LEAST], *order[-MOST:]])]
        return min(found, key=lambda one: one.width), max(found, key=lambda one: one.width)


def error_of(answer: Interval) -> float:
    """Return how far the truth may lie from the estimate, at the level of the interval."""
    return max(answer.high - answer.estimate, answer.estimate - answer.low)


def in_words(answer: Interval) -> str:
    """Return a question with its answer and the ends of that."""
    return f"{answer.question}, {answer.estimate:.2%} (between {answer.low:.2%} and {answer.high:.2%})"
