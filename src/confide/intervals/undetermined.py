"""Answers that the best explanations leave open: whether there is more than one, and in which words that is said."""

from __future__ import annotations

import math

import numpy as np

from confide.channels.base import Channel, FloatArray
from confide.evidence import Evidence
from confide.intervals.region import Region
from confide.theory.identification import channel_query
from confide.theory.maximum_set import MaximumSet

DIFFERENT = 1e-6
"""Best explanations give different answers if these differ by more than this share of the query's range."""

SMALL = 512
"""Values and outputs up to which it is looked whether the best explanation is plainly the only one."""

NEARLY_FREE = 3.0
"""Multiple of the error of a gain within which a value may be part of some best explanation."""

INDEPENDENT = 1e-7
"""Ratio of singular values from which on rows are independent beyond any doubt that rounding leaves."""

OPEN_SHARES = "many distributions explain the reports best, and the interval holds the shares that all of them give"


def is_plainly_unique(evidence: Evidence, region: Region) -> bool:
    """Whether one distribution alone explains the reports best, by a look that takes a thousandth of the proof.

    Whatever has a share in some best explanation has the gain 1 there. With a certificate of c nats the outputs are off
    by at most sqrt(2 c / n) in the mean square of their ratio, weighed by q, and so are the gains, by Cauchy and
    Schwarz. If the rows of all values that may have the gain 1 are independent, it is the only one.
    """
    if max(evidence.channel.shape) > SMALL:
        return False
    outputs = evidence.channel.push(region.best)
    rows = evidence.channel.dense()[:, evidence.counts > 0] / outputs[evidence.counts > 0]
    shares = evidence.frequencies[evidence.counts > 0]
    gain, norms = rows @ shares, np.sqrt((rows**2) @ shares)
    error = NEARLY_FREE * norms * math.sqrt(2 * max(region.certificate, evidence.resolution) / evidence.total)
    free = gain >= 1 - error
    spectrum = np.linalg.svd(rows[free] / norms[free, None] * np.sqrt(shares), compute_uv=False)
    return int(free.sum()) <= shares.size and bool(spectrum[-1] > INDEPENDENT * spectrum[0])


def bounded_shares(evidence: Evidence, best: MaximumSet) -> tuple[FloatArray, FloatArray]:
    """Return bounds on each share among all best explanations that cost nothing.

    theta_x M_xz is part of the output z, which all best explanations share.
    """
    seen = np.flatnonzero(evidence.counts > 0)
    outputs = evidence.channel.push(best.point)[seen]
    rows = evidence.channel.select(best.free)[:, seen]
    most = np.divide(outputs, rows, out=np.full_like(rows, np.inf), where=rows > 0).min(axis=1)
    low, high = best.point.copy(), best.point.copy()
    moving = np.abs(best.flat.basis).max(axis=0) > DIFFERENT
    low[best.free[moving]] = 0.0
    high[best.free[moving]] = np.minimum(1.0, most[moving])
    return low, high


def explain_open(channel: Channel | None, weights: FloatArray, ends: tuple[float, float]) -> str:
    """Say that an answer is open, between which ends, and whether more reports would settle it."""
    words = f"many distributions explain the reports best, with answers from {ends[0]:.4g} to {ends[1]:.4g}"
    if channel is None:
        return words
    known = channel_query(channel, weights)
    if known.is_no:
        return f"{words}, and no number of reports would settle it: the mechanism does not identify the answer"
    if known.is_yes:
        return f"{words}; more reports may settle it, for the mechanism identifies the answer"
    return f"{words}; whether more reports would settle it is not known ({known.reason.removesuffix('.')})"
