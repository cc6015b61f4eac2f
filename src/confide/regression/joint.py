"""The joint likelihood of a public outcome and a report.

P(z, o | x) is the sum over private values y of P(y | x; b) P(z | y) f(o | y, x; c). It takes a model of the private
value, which corrected scores do without, and has smaller errors if the model is right (Blair, Imai and Zhou, Journal of
the American Statistical Association 2015). The curvature is Louis': that of complete data, less the variance of its
score over y given what was seen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from confide.channels.base import FloatArray, Indices
from confide.regression.designs import MergedRows
from confide.regression.likelihood import CHUNK, ExponentialFamily, ReportLikelihood


@dataclass(frozen=True, eq=False)
class JointLikelihood:
    """The log-likelihood of the outcome's coefficients, then the private value's.

    Attributes
    ----------
    private
        The likelihood of the reports alone: P(y | x) and the columns of M.
    design
        The columns of the outcome's regression: a block for each combination of public covariates, a row for each y.
    combination
        The combination of each cell.
    outcome
        The outcome of each cell.
    is_logit
        Whether the outcome is 0 or 1; otherwise it is normal, and the logarithm of its spread is the last of c.
    """

    private: ReportLikelihood
    family: ExponentialFamily
    design: FloatArray
    combination: Indices
    outcome: FloatArray
    is_logit: bool

    @property
    def cells(self) -> MergedRows:
        """The people."""
        return self.private.cells

    @property
    def size(self) -> int:
        """How many of the parameters are those of the outcome."""
        return int(self.design.shape[2]) + (not self.is_logit)

    @property
    def scales(self) -> FloatArray:
        """How much each parameter adds to its predictor, on average."""
        own = np.sqrt((self.design**2).mean(axis=(0, 1)))
        return np.concatenate([np.maximum(own, 1e-300), np.ones(self.size - own.size), self.private.scales])

    def reach(self, parameters: FloatArray) -> float:
        """Return the largest change of a predictor."""
        lifted = np.abs(self.design @ parameters[: self.design.shape[2]]).max()
        return max(float(lifted), self.private.reach(parameters[self.size :]))

    def farthest(self, parameters: FloatArray) -> float:
        """Return the largest log-odds that anybody has."""
        lifted = np.abs(self.design @ parameters[: self.design.shape[2]]).max() if self.is_logit else 0.0
        return max(float(lifted), self.private.farthest(parameters[self.size :]))

    def value(self, parameters: FloatArray) -> float:
        """Return the log-likelihood, up to a constant; -inf where there is none."""
        total = 0.0
        for rows in self._chunks():
            u = self.private.predictors(parameters[self.size :], self.cells.design[rows])
            if not self.family.is_possible(u):
                return -np.inf
            columns, offset = self._columns(parameters, rows)
            with np.errstate(divide="ignore"):
                likelihood = np.log((self.family.shares(u) * columns).sum(axis=1)) + offset
            total += float(self.cells.weights[rows] @ likelihood)
        return total

    def posterior(self, parameters: FloatArray, rows: slice) -> FloatArray:
        """Return P(y | report, outcome, covariates) of some cells."""
        u = self.private.predictors(parameters[self.size :], self.cells.design[rows])
        joint = self.family.shares(u) * self._columns(parameters, rows)[0]
        return np.asarray(joint / joint.sum(axis=1, keepdims=True))

    def masses(self, parameters: FloatArray) -> FloatArray:
        """Return the expected weight of people with each combination and value."""
        found = np.zeros(self.design.shape[:2])
        for rows in self._chunks():
            own = self.cells.weights[rows, None] * self.posterior(parameters, rows)
            np.add.at(found, self.combination[rows], own)
        return found

    def derivatives(self, parameters: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the gradient, minus the curvature, and the scores of all cells."""
        information, scores = self._curved(parameters, is_seen=True)
        return self.cells.weights @ scores, information, scores

    def true_information(self, parameters: FloatArray) -> FloatArray:
        """Return the expected information if true values had been sent."""
        return self._curved(parameters, is_seen=False)[0]

    def _curved(self, parameters: FloatArray, *, is_seen: bool) -> tuple[FloatArray, FloatArray]:
        """Return the scores and the information, with or without the noise."""
        size, latent = self.size, self.private
        starts = np.cumsum([0, *latent.sizes]) + size
        information = np.zeros((starts[-1], starts[-1]))
        scores = np.zeros((self.combination.size, starts[-1]))
        for rows in self._chunks():
            weights, public = self.cells.weights[rows], self.cells.design[rows]
            u = latent.predictors(parameters[size:], public)
            columns, _ = self._columns(parameters, rows)
            _, slopes, curvature = self.family.evaluate(u, columns)
            seen = self.posterior(parameters, rows)
            own, bends = self._complete(parameters, rows, weights[:, None] * seen)
            mean = np.einsum("mk,mkp->mp", seen, own)
            scores[rows, :size] = mean
            information[:size, :size] += bends
            if is_seen:
                # Louis (1982): what is not known of y is the variance of its score, given what was seen.
                flat = own.reshape(-1, size)
                squares = flat.T @ ((weights[:, None] * seen).reshape(-1, 1) * flat)
                information[:size, :size] -= squares - mean.T @ (weights[:, None] * mean)
            else:
                curvature = -self._prior_variance(u)
            factors = [public if one else np.ones((len(public), 1)) for one in self.family.has_design]
            for j, factor in enumerate(factors):
                place = slice(starts[j], starts[j + 1])
                scores[rows, place] = slopes[:, j, None] * factor
                for k, other in enumerate(factors):
                    block = (factor * (weights * curvature[:, j, k])[:, None]).T @ other
                    information[place, starts[k] : starts[k + 1]] -= block
                if is_seen:
                    statistic = self.family.statistics[:, j]
                    # Both scores depend on y, so they have a covariance given what was seen.
                    together = np.einsum("mk,mkp->mp", seen * statistic, own) - (seen @ statistic)[:, None] * mean
                    block = (factor * weights[:, None]).T @ together
                    information[place, :size] -= block
                    information[:size, place] -= block.T
        return information, scores

    def _prior_variance(self, u: FloatArray) -> FloatArray:
        shares, statistics = self.family.shares(u), self.family.statistics
        mean = shares @ statistics
        squares = np.einsum("mk,kj,kl->mjl", shares, statistics, statistics)
        return np.asarray(squares - mean[:, :, None] * mean[:, None, :])

    def _complete(self, parameters: FloatArray, rows: slice, masses: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return each value's outcome score, and the information of complete data."""
        design = self.design[self.combination[rows]]
        lifted = design @ parameters[: design.shape[2]]
        if self.is_logit:
            means = 1 / (1 + np.exp(-np.clip(lifted, -700, 700)))
            flat = design.reshape(-1, design.shape[2])
            bends = flat.T @ ((masses * means * (1 - means)).reshape(-1, 1) * flat)
            return (self.outcome[rows, None] - means)[:, :, None] * design, bends
        variance = math.exp(2 * float(parameters[self.size - 1]))
        rest = self.outcome[rows, None] - lifted
        own = np.concatenate([rest[:, :, None] * design / variance, (rest**2 / variance - 1)[:, :, None]], axis=2)
        flat = np.concatenate([design, 2 * rest[:, :, None]], axis=2).reshape(-1, self.size)
        bends = flat.T @ (masses.reshape(-1, 1) * flat) / variance
        # The second derivative in log(sigma) is -2 rest^2 / variance; the product of the columns above has 4 for the 2.
        bends[-1, -1] /= 2
        return own, bends

    def _columns(self, parameters: FloatArray, rows: slice) -> tuple[FloatArray, FloatArray]:
        """Return P(report, outcome | value) up to a factor, and its logarithm."""
        lifted = self.design[self.combination[rows]] @ parameters[: self.design.shape[2]]
        outcome = self.outcome[rows, None]
        if self.is_logit:
            logs = outcome * lifted - np.logaddexp(0, lifted)
        else:
            spread = float(parameters[self.size - 1])
            logs = -((outcome - lifted) ** 2) * math.exp(-2 * spread) / 2 - spread - math.log(2 * math.pi) / 2
        # The largest is taken off, for far outcomes underflow under every value.
        top = logs.max(axis=1, keepdims=True)
        return self.private.columns[self.cells.report[rows]] * np.exp(logs - top), top[:, 0]

    def _chunks(self) -> Iterator[slice]:
        step = max(1, CHUNK // (self.design.shape[1] * (self.size + 1)))
        return (slice(start, start + step) for start in range(0, self.combination.size, step))
