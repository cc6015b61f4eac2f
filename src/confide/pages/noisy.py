"""What was sent, as a picture: beside the estimates where reports are values, on its own where they are not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from confide.alphabets import Alphabet, BitVectors, Grid, Indices, Integers, LineAlphabet, PlaneAlphabet, Selection
from confide.checks import as_distribution
from confide.counts import Counts
from confide.figures.panels import FloatArray
from confide.mechanisms.planar import nearest_cells
from confide.surveys import Survey

CHUNK = 10_000
"""Bit vectors that are unpacked at a time."""

OTHER_REPORTS = "Reports are not values here, so they have a picture of their own:"
BIT_VECTORS = (
    "Reports are bit vectors here, with one bit for each value, so they are no distribution. In a report, the bit of "
    "the true value and all others were each flipped at random. How often each bit was set:"
)


@dataclass(frozen=True, eq=False)
class Noisy:
    """The share of each report.

    Attributes
    ----------
    alphabet
        What the shares are over: the values, or the reports.
    shares
        One share for each.
    title, how
        What is drawn, and how it was made from the reports.
    remark
        Why it has a picture of its own; empty where it can stand beside the estimates.
    """

    alphabet: Alphabet
    shares: FloatArray
    title: str
    how: str
    remark: str = ""


def summarise_reports(
    survey: Survey, counts: Counts, given: ArrayLike | None = None, considered: Alphabet | None = None
) -> Noisy | None:
    """Return what was sent, or None where reports are so unlike values that they cannot be drawn.

    The values are those `considered`, where the survey's own have no end.
    """
    values = survey.alphabet if considered is None else considered
    outputs = survey.mechanism.report_alphabet
    if isinstance(outputs, BitVectors):
        return Noisy(values, _bit_shares(outputs, counts), "Bits set", f"among {_reports(counts)}", BIT_VECTORS)
    if outputs.is_listable:
        shares = survey.mechanism.lay_out(counts) / counts.total if given is None else given
        known = as_distribution(shares, outputs.size, "noisy")
        remark = "" if outputs == values else OTHER_REPORTS
        return Noisy(outputs, known, "Noisy", f"{_reports(counts)}, as sent", remark)
    places = _nearest_values(values, outputs, counts)
    if places is None:
        return None
    shares = np.bincount(places, counts.counts, minlength=values.size) / counts.total if given is None else given
    known = as_distribution(shares, values.size, "noisy")
    return Noisy(values, known, "Noisy", f"{_reports(counts)}, moved to the nearest value")


def _reports(counts: Counts) -> str:
    return f"{counts.total:,.10g} {'report' if counts.total == 1 else 'reports'}"


def _bit_shares(outputs: BitVectors, counts: Counts) -> FloatArray:
    """Return in which share of the reports each bit is set."""
    shares = np.zeros(outputs.length)
    for start in range(0, counts.counts.size, CHUNK):
        part = slice(start, start + CHUNK)
        shares += counts.counts[part] @ outputs.unpack(counts.reports[part])
    return shares / counts.total


def _nearest_values(values: Alphabet, outputs: Alphabet, counts: Counts) -> Indices | None:
    """Return the number of the value nearest to each report, where reports lie among the values."""
    if isinstance(values, Integers) and isinstance(outputs, LineAlphabet):
        low, high = values.span
        return values.encode(np.rint(counts.reports).clip(low, high))
    if isinstance(values, Grid) and isinstance(outputs, PlaneAlphabet):
        first = np.array([values.first_row, values.first_column])
        cells = np.rint(counts.reports).clip(first, first + values.shape - 1)
        nearest: Indices = nearest_cells(values.box, values)[values.box.encode(cells)]
        return nearest
    if isinstance(values, Selection) and isinstance(outputs, LineAlphabet | PlaneAlphabet):
        from scipy.spatial import cKDTree

        points = counts.reports.astype(np.float64).reshape(counts.reports.shape[0], -1)
        return np.asarray(cKDTree(values.coordinates).query(points)[1], dtype=np.int64)
    return None
