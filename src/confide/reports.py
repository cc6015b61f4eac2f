"""What people sent, counted: the sufficient statistic of every estimate.

>>> morning, evening = tally([3, 3, 5]), tally([5, 7])
>>> merge([morning, evening])
Counts(5 reports, 3 distinct)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.alphabets.base import plain_array
from confide.errors import InvalidCountsError, InvalidParameterError

Reports = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Counts:
    """How often each distinct report was seen.

    Use :func:`tally` to make them. Counts add: those of two days, or of two servers, are the counts of both.

    Attributes
    ----------
    reports
        The distinct reports, sorted; one row a report where a report has several parts.
    counts
        How often each was seen. Whole numbers, except where an expectation is wanted in place of data.
    """

    reports: Reports
    counts: NDArray[np.float64]

    def __post_init__(self) -> None:
        counts = _as_counts(self.counts, np.shape(self.reports)[0])
        object.__setattr__(self, "counts", counts)
        for name in ("reports", "counts"):
            array = np.array(getattr(self, name))
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    @property
    def total(self) -> float:
        """How many reports there are."""
        return float(self.counts.sum())

    def __add__(self, other: Counts) -> Counts:
        return merge([self, other])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Counts):
            return NotImplemented
        return np.array_equal(self.reports, other.reports) and np.array_equal(self.counts, other.counts)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Counts({self.total:,.10g} reports, {self.reports.shape[0]:,} distinct)"


def tally(reports: ArrayLike, counts: ArrayLike | None = None) -> Counts:
    """Count reports, or add up reports that were counted elsewhere.

    Parameters
    ----------
    reports
        One report an entry; for reports of several parts, such as grid cells, one row a report.
    counts
        How often each report was seen; once each if left out.

    >>> tally([3, 5, 3]).counts
    array([2., 1.])
    >>> tally([3, 5], counts=[2, 1]) == tally([3, 5, 3])
    True
    """
    array = _as_reports(reports)
    weights = np.ones(array.shape[0]) if counts is None else _as_counts(counts, array.shape[0])
    if array.shape[0] == 0:
        return Counts(array, weights)
    if array.dtype.kind == "O":
        return _tally_mixed(array, weights)
    # Along an axis numpy sorts whole rows, which is far slower; only reports of several parts need it.
    distinct, places = np.unique(array, axis=None if array.ndim == 1 else 0, return_inverse=True)
    return Counts(distinct, np.bincount(places.reshape(-1), weights).astype(np.float64))


def _tally_mixed(reports: Reports, weights: NDArray[np.float64]) -> Counts:
    """Count reports whose parts are of different types, such as a number and a category; numpy cannot sort these."""
    summed: dict[tuple[Any, ...], float] = {}
    for report, weight in zip(map(tuple, reports.tolist()), weights.tolist(), strict=True):
        summed[report] = summed.get(report, 0.0) + weight
    distinct = sorted(summed, key=str)
    return Counts(np.array(distinct, dtype=object), np.array([summed[report] for report in distinct]))


def merge(parts: Iterable[Counts]) -> Counts:
    """Add up the counts of several days, servers or shards.

    >>> merge([tally(["yes"]), tally(["no", "yes"])]).counts
    array([1., 2.])
    """
    filled = [part for part in parts if part.reports.shape[0]]
    if not filled:
        return tally([])
    kinds = {(part.reports.dtype.kind, part.reports.shape[1:]) for part in filled}
    if len(kinds) > 1:
        raise InvalidCountsError("Counts of different kinds of report cannot be merged; they come from other surveys.")
    return tally(np.concatenate([part.reports for part in filled]), np.concatenate([part.counts for part in filled]))


def require_counts(counts: object) -> None:
    """Refuse anything but counts."""
    if not isinstance(counts, Counts):
        raise InvalidParameterError(
            f"counts must be Counts; got {type(counts).__name__}. Call confide.tally(reports) first."
        )


def as_histogram(histogram: ArrayLike, size: int) -> NDArray[np.int64]:
    """Return whole, non-negative counts for each of `size` values, or say why they are none.

    >>> as_histogram([3.0, 4.0], 2)
    array([3, 4])
    """
    counts = _as_counts(histogram, size)
    if (counts != np.floor(counts)).any():
        raise InvalidCountsError("A histogram counts people: give whole numbers.")
    return counts.astype(np.int64)


def _as_reports(reports: ArrayLike) -> Reports:
    try:
        array = plain_array(np.asarray(reports))
    except ValueError:
        raise InvalidCountsError(
            "Reports must all have the same number of parts; some have more than others."
        ) from None
    if array.ndim not in (1, 2):
        raise InvalidCountsError(f"Reports must form a sequence; got {array.ndim} dimensions.")
    if array.dtype.kind == "f":
        return _as_whole(array)  # of continuous mechanisms they stay floats
    if array.size and array.dtype.kind not in ("iuUO" if array.ndim == 2 else "iuU"):
        raise InvalidCountsError(f"Reports must be numbers or strings; got {array.dtype}.")
    return array


def _as_whole(array: Reports) -> Reports:
    """Return floats that are whole numbers as integers; spreadsheets and data frames like to turn them."""
    if not np.isfinite(array).all():
        place = tuple(int(axis[0]) for axis in np.nonzero(~np.isfinite(array)))
        raise InvalidCountsError(
            f"Reports must be finite numbers or strings; got {array[place]} at position {place[0]}. Correct it."
        )
    whole = bool((np.abs(array) < 2**53).all() and (array == np.floor(array)).all())
    return array.astype(np.int64) if whole else array


def _as_counts(counts: ArrayLike, size: int) -> NDArray[np.float64]:
    try:
        array = np.asarray(counts, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidCountsError(f"Counts must be numbers; got {counts!r}.") from None
    if array.shape != (size,):
        raise InvalidCountsError(f"Give one count for each: {size:,} are needed; got an array of shape {array.shape}.")
    bad = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if bad.size:
        raise InvalidCountsError(
            f"Counts must be finite and not negative; got {array[bad[0]]:g} at position {bad[0]}"
            f"{f' and {bad.size - 1} more' if bad.size > 1 else ''}."
        )
    return array
