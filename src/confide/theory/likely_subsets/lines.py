"""Likely values on a line.

Beyond the outermost peaks (paper, proposition likelylinear). The paper asks that a report be likelier from any nearer
value. Its proof compares values on one side of all reports alone, so less is enough: Premise.LINE.

Between the reports, where P(z | x) is a constant times alpha^|z - x|: from one value next to a report to the next
such value the function x -> alpha^|z - x| is convex for every reported z, because no z lies between. So a value there
makes every report less likely than the mixture of the two that has it as its mean, and is unlikely: only the values
next to a report are left.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from confide.alphabets import Integers, Selection
from confide.theory.likely_subsets.subset import LikelySubset

LONGEST_RANGE = 100_000
"""Values up to which the range of the reports is taken whole, gaps and all."""

SPARSEST = 100
"""Past that, the range is taken whole if one value in so many lies next to a report."""

LARGEST_RANGE = 4_000_000
"""Past that, only the values next to a report are taken; 32 MB a vector."""


def likely_on_line(whole: Integers, peaks: NDArray[np.float64], *, is_exponential: bool) -> LikelySubset:
    """Return the range of the peaks or, where that is much too long, the values next to a peak."""
    first, last = _within(whole, np.floor(peaks.min())), _within(whole, np.ceil(peaks.max()))
    near = np.unique(np.concatenate([np.floor(peaks), np.ceil(peaks)]).astype(np.int64))
    if not whole.is_finite and is_exponential and _is_too_long(last - first + 1, near.size):
        reason = (
            f"{near.size:,} values next to a report: those beyond the reports explain each of them less well "
            f"(proposition likelylinear), and so do those between, than a mixture of their neighbours, by convexity"
        )
        return LikelySubset(whole, Selection(whole, near), "likelylinear and convexity", reason)
    low, high = _two_at_least(whole, first, last)
    part = replace(whole, low=low, high=high)
    if part == whole:
        return LikelySubset(whole, whole, "", "the reports reach from one end of the alphabet to the other")
    reason = (
        f"values {low} to {high}, the range of the reports: those beyond explain each report less well "
        f"(proposition likelylinear)"
    )
    return LikelySubset(whole, part, "likelylinear", reason)


def _is_too_long(length: int, near: int) -> bool:
    return length > LARGEST_RANGE or (length > LONGEST_RANGE and length > SPARSEST * near)


def _within(whole: Integers, place: float) -> int:
    return int(np.clip(place, *whole.span)) if whole.is_finite else int(place)


def _two_at_least(whole: Integers, low: int, high: int) -> tuple[int, int]:
    """Return a range that mechanisms accept: one more value never hurts."""
    if low < high or (whole.is_finite and whole.size < 2):
        return low, high
    return (low, high + 1) if not whole.is_finite or high < whole.span[1] else (low - 1, high)
