"""Pseudo-values: one number a report, whose mean answers a question.

Let c be a question, one weight for each value, and M the mechanism's matrix. A g with M g = c has E[g(z) | x] = c(x):
the noise is averaged out of it, whatever the truth. So weighted means, totals and least squares of g(z) are those of
c(x), plus noise, and any program for surveys gets them and their errors right. Such a g exists if and only if the
mechanism identifies the question (:func:`confide.theory.identification.query_identification`).

Reports without a matrix have one of two closed forms. Those that support a set of values, such as RAPPOR's, have g(z) =
(c(S(z)) - q c(all)) / (p - q) (Wang et al., USENIX Security 2017). Unbounded noise is clamped to the values first: what
lies beyond a border says no more than the border itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from confide.channels.base import Channel, FloatArray, Indices
from confide.errors import InvalidParameterError, NotInvertibleError
from confide.evidence.counts import tally
from confide.mechanisms.base import Mechanism, require_mechanism, truncated
from confide.theory.identification import query_identification
from confide.values import Values, unbounded
from confide.values.checks import MOST_STORED
from confide.values.queries import Query, as_weights, describe_query


def unbias(reports: ArrayLike, mechanism: Mechanism, query: Query = "mean", *, name: str | None = None) -> FloatArray:
    """Return an unbiased pseudo-value for each report.

    Averaged over the noise, it is what the query says of the person's true value. Weighted means, totals and
    regressions of pseudo-values are right, in any program. Single ones are far off: they may be negative, or beyond 1.

    Parameters
    ----------
    reports
        One entry for each report, in any order; one row for each if reports have several parts.
    mechanism
        The mechanism of the reports.
    query
        ``"mean"`` for the value itself, or a share such as ``"age >= 65"``; see :mod:`confide.values.queries`.
    name
        What a value is called in a text; any name if left out.

    Raises
    ------
    NotInvertibleError
        If no unbiased value exists, because the mechanism does not identify the query.

    Examples
    --------
    >>> import confide as cf
    >>> ages = cf.datasets.adult_ages()
    >>> mechanism = cf.TruncatedGeometric(ages.alphabet, epsilon=0.5)
    >>> reports = mechanism.privatize(np.repeat(np.arange(100), ages.histogram.astype(int)), rng=1)
    >>> [round(float(unbias(reports, mechanism, one).mean()), 2) for one in ("mean", "age >= 65")]
    [38.64, 0.04]
    """
    require_mechanism("mechanism", mechanism)
    return PseudoValues.of(mechanism, query, name).values(reports)


@dataclass(frozen=True, eq=False)
class PseudoValues:
    """The function g of reports, for one question or several.

    Attributes
    ----------
    mechanism
        The mechanism.
    weights
        The weight c of each value; one row a question if there are several.
    question
        What it is called in an error.
    """

    mechanism: Mechanism
    weights: FloatArray
    question: str = "these weights"

    @classmethod
    def of(cls, mechanism: Mechanism, query: Query, name: str | None = None) -> PseudoValues:
        """Return the function for a query or ``"mean"``."""
        alphabet = mechanism.alphabet
        if not alphabet.is_finite:
            raise unbounded(alphabet)
        if isinstance(query, str) and query.strip().lower() == "mean":
            return cls(mechanism, alphabet.amounts, "the mean")
        return cls(mechanism, as_weights(query, alphabet, name), repr(describe_query(query)))

    def values(self, reports: ArrayLike) -> FloatArray:
        """Return the g of each report; one row a question."""
        self.mechanism.refuse_strays(tally(reports))
        array = self.mechanism.report_alphabet.as_array(reports)
        if self._table is not None:
            found: FloatArray = self._table[..., self._locate(array)]
            return found
        rates = self.mechanism.facts.rates
        if rates is None:
            raise NotInvertibleError(
                f"Unbiased values are not known for {self.mechanism!r}, whose outputs cannot be listed. Estimate with "
                f"confide.estimate, which needs none."
            )
        keep, flip = rates
        total = self.weights.sum(axis=-1, keepdims=True)
        return np.asarray((self._supported(array) - flip * total) / (keep - flip))

    @cached_property
    def _listed(self) -> Mechanism | None:
        """The mechanism, clamped if unbounded; None without a matrix."""
        if self.mechanism.has_channel:
            return self.mechanism
        if self.mechanism.facts.rates is not None:
            return None
        grid = self.mechanism.alphabet.grid
        try:
            return truncated(self.mechanism, None if grid is None else grid.box)
        except InvalidParameterError:
            return None

    @cached_property
    def _table(self) -> FloatArray | None:
        """The g of each output; None if outputs cannot be listed."""
        if self._listed is None:
            return None
        channel = self._listed.channel
        for solve in (channel.unpull, lambda weights: Channel.unpull(channel, weights)):
            found = solve(self.weights)
            error = np.abs(channel.pull(found) - self.weights).max(initial=0.0)
            # 1e-7: more of the largest weight is left only of a question that the mechanism does not identify.
            if error <= 1e-7 * max(float(np.abs(self.weights).max(initial=0.0)), 1e-300):
                return found
        weights = self.weights.reshape(-1, self.weights.shape[-1])
        verdicts = [query_identification(self.mechanism, one) for one in weights]
        why = next((one.reason for one in verdicts if not one.is_yes), "It is lost in rounding: epsilon is too small.")
        raise NotInvertibleError(
            f"No unbiased value exists for {self.question}: {why} confide.diagnose says what these reports identify, "
            f"and confide.estimate gives an interval all the same."
        )

    def _locate(self, reports: Values) -> Indices:
        """Return the output of each report, after clamping."""
        outputs: Any = (self._listed or self.mechanism).report_alphabet
        if not self.mechanism.has_channel:
            low, high = outputs.decode(np.array([0, outputs.size - 1]))
            reports = np.clip(np.rint(reports), low, high).astype(np.int64)
        located: Indices = outputs.locate(reports)
        return located

    def _supported(self, reports: Values) -> FloatArray:
        """Return the weight c(S(z)) of the values that each report supports."""
        bits, supports = self.mechanism.report_alphabet.bits, self.mechanism.facts.supports
        found = np.zeros((*self.weights.shape[:-1], len(reports)))
        step = max(1, MOST_STORED // 8 // self.mechanism.alphabet.size)
        for start in range(0, len(reports), step):
            part = reports[start : start + step]
            if bits is not None:
                found[..., start : start + step] = self.weights @ bits.unpack(part).T
                continue
            assert supports is not None  # noqa: S101 (for the type checker: reports that are no bits support sets)
            for value in np.flatnonzero(self.weights.reshape(-1, self.weights.shape[-1]).any(axis=0)):
                held = supports.holds(part, np.full(len(part), value))
                found[..., start : start + step] += self.weights[..., value, None] * held
        return found
