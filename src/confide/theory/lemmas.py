"""What is proven of whole families of mechanisms: that no two distributions give the same reports.

The paper proves it for k-RR, the geometric and the taxicab mechanism, and RAPPOR. The others rest on two facts.

A function f is *strictly positive definite* if the matrix [f(x - z)] over any distinct points is positive definite, and
so invertible. e^(-c |x|) is, on a line and on a plane, because its Fourier transform is positive everywhere; so are its
products. The columns of an unbounded mechanism at the values themselves are such a matrix, times a constant.

Over *endless* values there is no last column. There theta M is the convolution of theta with the noise, whose Fourier
series is positive (it is a sum of positive terms, by Poisson's formula), so it can be divided away and theta is left.
"""

from __future__ import annotations

import numpy as np

from confide.alphabets import Grid, Integers
from confide.mechanisms import (
    Exponential,
    Geometric,
    Laplace,
    Mechanism,
    PlanarGeometric,
    PlanarLaplace,
    RandomizedResponse,
    Rappor,
    Taxicab,
    TruncatedGeometric,
    TruncatedLaplace,
    TruncatedTaxicab,
)
from confide.metrics import Discrete, Euclidean, Manhattan, Metric, SumMetric
from confide.theory.verdicts import Finding, Verdict


def known_identification(mechanism: Mechanism) -> Finding | None:
    """Return what is proven of the mechanism's family, or None where nothing is.

    >>> from confide import Categories
    >>> known_identification(RandomizedResponse(Categories(["yes", "no"]), 1.0)).source
    'lemma krrLinIndependence'
    """
    if not mechanism.alphabet.is_finite:
        return _endless(mechanism)
    match mechanism:
        case Geometric() | Taxicab() | Laplace() | PlanarGeometric() | PlanarLaplace():
            return _endless_reports(mechanism)
        case TruncatedGeometric() | TruncatedLaplace() | TruncatedTaxicab():
            return _truncated(mechanism)
        case RandomizedResponse() | Rappor() | Exponential():
            return _any_values(mechanism)
    return None


def is_positive_definite(metric: Metric) -> bool:
    """Whether e^(-c distance) is strictly positive definite under this metric."""
    if isinstance(metric, SumMetric):
        return is_positive_definite(metric.first) and is_positive_definite(metric.second)
    return isinstance(metric, Discrete | Euclidean | Manhattan)


def _proven(reason: str, source: str) -> Finding:
    return Finding(Verdict.YES, reason, source)


def _any_values(mechanism: RandomizedResponse | Rappor | Exponential) -> Finding | None:
    if isinstance(mechanism, RandomizedResponse):
        return _proven("Under k-RR all columns are linearly independent.", "lemma krrLinIndependence")
    if isinstance(mechanism, Exponential):
        reason = "Its matrix is that of e^(-c distance), which is positive definite, with rows rescaled."
        is_known = is_positive_definite(mechanism.alphabet.metric)
        return _proven(reason, "positive definite kernel") if is_known else None
    return _proven(
        "The bit of a value is set with probability 1 - p + (2p - 1) theta: each probability can be read off its bit.",
        "proposition strictlyConcaverappor",
    )


def _endless_reports(mechanism: Mechanism) -> Finding:
    if isinstance(mechanism, Geometric):
        return _proven("The columns at the values are linearly independent.", "lemma linearGeometricLinIndependence")
    if isinstance(mechanism, Taxicab):
        return _proven("The columns at the values are linearly independent.", "lemma taxicabLinIndependence")
    return _proven(
        "The columns at the values are those of e^(-c distance), which is positive definite.",
        "positive definite kernel",
    )


def _truncated(mechanism: TruncatedGeometric | TruncatedLaplace | TruncatedTaxicab) -> Finding | None:
    """Return the lemma of a clamped mechanism, which asks that every value is also an output, and no output a hole."""
    if not reports_every_value(mechanism):
        return None
    if isinstance(mechanism, TruncatedGeometric):
        source = "lemma TLinearGeometricLinIndependence"
    elif isinstance(mechanism, TruncatedTaxicab):
        source = "lemma TTaxicabLinIndependence"
    else:
        source = "positive definite kernel"
    return _proven("The columns at the values are linearly independent.", source)


def reports_every_value(mechanism: Mechanism) -> bool:
    """Whether every value lies in the full range or box of outputs."""
    values, outputs = mechanism.alphabet, mechanism.report_alphabet
    if isinstance(outputs, Integers) and isinstance(values, Integers):
        return outputs.span[0] <= values.span[0] and values.span[1] <= outputs.span[1]
    if isinstance(outputs, Grid) and not outputs.holes:
        return bool(outputs.contains(values.decode(np.arange(values.size))).all())
    return False


def _endless(mechanism: Mechanism) -> Finding | None:
    """Return what is known over endless values: additive noise can be divided away."""
    if not isinstance(mechanism, Geometric | Laplace | Taxicab | PlanarGeometric | PlanarLaplace):
        return None
    return _proven(
        "Reports are values plus noise whose Fourier series is positive everywhere, so it can be divided away.",
        "positive Fourier series",
    )
