"""Private covariates: unbiased estimating equations for any distribution.

Let y be the private value, one of k, and z its report. With pseudo-values q_y(z) for the indicator of each value, every
function h of y has the unbiased value sum over y of q_y(z) h(y). So one person becomes k rows, one for each value that
they may have, with the weights q_y(z): some of these are negative, and they add up to 1. The score of a regression is
such a function of y. Its weighted sum over all rows is, averaged over the noise, the score that true values would have
(corrected scores: Nakamura, Biometrika 1990). Least squares and logit solve for its zero. Nothing is assumed of how y
is distributed, or of how it depends on other covariates. The outcome may be a function of y as well.

Few functions of y are needed for least squares, such as 1, y and y^2. Unbiased values of these exist even where those
of single values do not, or are lost in rounding: q is made in their span.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from confide.channels.base import FloatArray, Indices
from confide.errors import SolverError, TooLargeError
from confide.estimates.pseudo_values import PseudoValues
from confide.mechanisms.base import Mechanism
from confide.regression.designs import Design, Formula, MergedRows, distinct_rows, require_full_rank
from confide.surveys.survey import Survey
from confide.values import Alphabet, Values
from confide.values.checks import MOST_STORED

CHUNK = 2_000_000
"""Numbers that are held for the possible values of people at a time."""


WEAK = (
    "The noise leaves too little of the private covariates: their unbiased moments are those of no people. Ask more "
    "people, use a larger epsilon, or fewer and coarser covariates; or model the private value too: model='joint'."
)


def private_columns(alphabet: Alphabet, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the private covariates of every value, by name.

    Numbers where values have a mean, otherwise words.
    """
    if alphabet.attributes is None:
        return {names[0]: _column(alphabet)}
    parts = alphabet.attributes.split(np.arange(alphabet.size))
    found = zip(alphabet.attributes.names, alphabet.attributes.alphabets, parts, strict=True)
    return {name: _column(own)[numbers] for name, own, numbers in found}


def _column(alphabet: Alphabet) -> Any:
    if alphabet.has_mean:
        return alphabet.amounts
    return np.array(alphabet.labels(range(alphabet.size)), dtype=object)


def possible_design(formula: Formula, frame: Any, survey: Survey) -> tuple[Design, FloatArray, Any]:
    """Return the regression's columns for every value that people may have.

    One block for each row of a table, one row for each value; and the table of all of these.
    """
    names = (survey.name,) if survey.alphabet.attributes is None else survey.alphabet.attributes.names
    columns = private_columns(survey.alphabet, names)
    size, rows = survey.alphabet.size, len(frame)
    if size * rows > 10 * MOST_STORED // 4:
        raise TooLargeError(
            f"{rows:,} combinations of covariates with {size:,} values each do not fit. Use coarser covariates or "
            f"values."
        )
    every = frame.iloc[np.repeat(np.arange(rows), size)].reset_index(drop=True)
    every = every.assign(**{name: np.tile(column, rows) for name, column in columns.items()})
    design, matrix = Design.of(formula, every)
    require_full_rank(matrix[:: max(1, len(matrix) // 200_000)], design.names)
    return design, matrix.reshape(rows, size, -1), every


def distinct_people(frame: Any, people: int) -> tuple[Indices, Any]:
    """Return each row's combination of covariates, and all combinations."""
    if not len(frame.columns):
        return np.zeros(people, dtype=np.int64), frame.iloc[:1]
    numbers = frame.groupby(list(frame.columns), observed=True, sort=False).ngroup().to_numpy()
    _, first = np.unique(numbers, return_index=True)
    return numbers.astype(np.int64), frame.iloc[first].reset_index(drop=True)


def needed_functions(design: FloatArray, outcome: FloatArray, power: int) -> FloatArray:
    """Return an orthonormal basis of products of columns and outcome."""
    # Combinations of covariates from which the needed functions of the value are found.
    most_spanned = 2_000
    values = design.shape[1]
    some = np.linspace(0, len(design) - 1, min(len(design), most_spanned)).astype(np.int64)
    columns = design[some].transpose(0, 2, 1).reshape(-1, values)
    beside = outcome if outcome.shape[1] == values else np.ones((1, values))
    # The span of all products: of two columns for least squares, of four for the squares of its scores.
    found = once = _basis(np.concatenate([columns, beside]))
    for _ in range(power - 1):
        found = _basis((found[:, None, :] * once[None, :, :]).reshape(-1, values))
    return found


def _basis(functions: FloatArray) -> FloatArray:
    """Return an orthonormal basis of the span of some rows."""
    sizes = np.sqrt((functions**2).sum(axis=1))
    kept = functions[sizes > 0] / sizes[sizes > 0, None]
    # Equal rows are common, and say nothing twice.
    kept = kept[distinct_rows(kept)[1]]
    _, lengths, rows = np.linalg.svd(kept, full_matrices=False)
    return np.asarray(rows[lengths > 1e-9 * lengths[0]])


def signed_weights(mechanism: Mechanism, distinct: Values, basis: FloatArray) -> FloatArray:
    """Return q, one row for each report.

    The weight of each value that its person may have.
    """
    size = basis.shape[1]
    if size * len(distinct) > 10 * MOST_STORED:
        raise TooLargeError(f"{len(distinct):,} distinct reports of {size:,} values do not fit. Use coarser values.")
    return np.asarray(PseudoValues(mechanism, basis, "this regression").values(distinct).T @ basis)


@dataclass(frozen=True, eq=False)
class CorrectedScores:
    """The estimating equations of people whose covariates are private.

    Attributes
    ----------
    design
        The columns of the regression: a block for each combination of public covariates, a row for each value.
    cells
        The people.
    combination
        The combination of each cell.
    outcome
        One column with the outcome of each cell, or one row with that of each value.
    is_logit
        Whether the outcome is 0 or 1, and explained by a logit.
    weights
        q, one row for each distinct report.
    """

    design: FloatArray
    cells: MergedRows
    combination: Indices
    outcome: FloatArray
    is_logit: bool
    weights: FloatArray

    def scores(self, parameters: FloatArray) -> FloatArray:
        """Return the corrected score of a person of each cell."""
        parts = [
            np.einsum(
                "mk,mkp->mp",
                self.weights[self.cells.report[rows]] * self._rest(parameters, rows),
                self.design[self.combination[rows]],
            )
            for rows in self._chunks()
        ]
        return np.concatenate(parts)

    def information(self, parameters: FloatArray) -> FloatArray:
        """Return minus the derivative of the summed scores."""
        return self._summed(lambda rows: self.cells.weights[rows, None] * self._slopes(parameters, rows))

    def true_meat(self, parameters: FloatArray) -> FloatArray:
        """Return the sum of squared scores of true values, without bias."""
        return self._summed(lambda rows: self.cells.squares[rows, None] * self._rest(parameters, rows) ** 2)

    @property
    def masses(self) -> FloatArray:
        """The weight of people with each combination and value, without bias."""
        # Single weights are signed, and sums of many are near what they estimate.
        found = np.zeros(self.design.shape[:2])
        np.add.at(found, self.combination, self.cells.weights[:, None] * self.weights[self.cells.report])
        return found

    def solve(self) -> FloatArray:
        """Return the coefficients at which the scores add up to 0."""
        parameters = np.zeros(self.design.shape[2])
        for _ in range(60):
            score = self.cells.weights @ self.scores(parameters)
            try:
                step = np.asarray(cho_solve(cho_factor(self.information(parameters)), score))
            except (LinAlgError, ValueError):
                raise SolverError(WEAK) from None
            # A step of at most two log-odds: far from the zero, corrected scores bend back.
            farthest = float(np.abs(self.design @ step).max()) if self.is_logit else 0.0
            parameters = parameters + step * min(1.0, 2.0 / max(farthest, 1e-300))
            if not self.is_logit or float(score @ step) < 1e-18 * self.cells.people.sum():
                return parameters
        raise SolverError(WEAK)

    def _means(self, parameters: FloatArray, rows: slice) -> FloatArray:
        """Return the expected outcome of some cells, for each value."""
        lifted = self.design[self.combination[rows]] @ parameters
        return np.asarray(1 / (1 + np.exp(-np.clip(lifted, -700, 700))) if self.is_logit else lifted)

    def _rest(self, parameters: FloatArray, rows: slice) -> FloatArray:
        # One row: the outcome is private too, and known for each value of a person rather than for the person.
        known = self.outcome if len(self.outcome) == 1 else self.outcome[rows]
        return np.asarray(known - self._means(parameters, rows))

    def _slopes(self, parameters: FloatArray, rows: slice) -> FloatArray:
        if not self.is_logit:
            return np.ones((1, 1))
        means = self._means(parameters, rows)
        return np.asarray(means * (1 - means))

    def _summed(self, factors: Callable[[slice], FloatArray]) -> FloatArray:
        """Return the sum of products of columns, times q and other factors."""
        size = self.design.shape[2]
        total = np.zeros((size, size))
        for rows in self._chunks():
            design = self.design[self.combination[rows]].reshape(-1, size)
            products = self.weights[self.cells.report[rows]] * factors(rows)
            total += design.T @ (products.reshape(-1, 1) * design)
        return total

    def _chunks(self) -> Iterator[slice]:
        step = max(1, CHUNK // math.prod(self.design.shape[1:]))
        return (slice(start, start + step) for start in range(0, self.combination.size, step))
