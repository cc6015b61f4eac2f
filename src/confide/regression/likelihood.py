"""The likelihood of a private outcome.

P(report | x) = sum over values y of P(y | x) P(report | y).

A family says how P(y | x) depends on linear predictors u, one or several for each person. With L = sum of P(y | u) m_y,
and m the column of M that a report picks, Newton's method needs the gradient and the curvature of log L in u:

- an exponential family, P(y | u) proportional to e^(u . T(y)), has gradient E_r T - E_P T and curvature Cov_r T -
  Cov_P T, where r is the distribution of y given the report. Multinomial logit has indicators for T, a normal outcome
  on a grid y and -y^2 / 2;
- ordered logit has L = m_k + sum over cuts of F(cut - u) (m_j - m_(j + 1)), by summation by parts.

The likelihood is not concave in the coefficients, so the search has several starts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from confide.channels.base import FloatArray
from confide.errors import TooLargeError
from confide.evidence.counts import tally
from confide.mechanisms.base import Mechanism, truncated
from confide.regression.designs import MergedRows
from confide.values import Values
from confide.values.checks import MOST_STORED

CHUNK = 4_000_000
"""Numbers that are held for the values of cells at a time: 32 MB."""

FLAT = 5.0
"""Log-odds past which a maximum is looked at: it may be none."""


@dataclass(frozen=True, eq=False)
class Columns:
    """P(report | value) of the distinct reports, one row for each report.

    Rows are scaled to a largest entry of 1, which no coefficient depends on; `log_scale` has the logarithms.
    """

    rows: FloatArray
    log_scale: FloatArray

    @classmethod
    def of(cls, mechanism: Mechanism, reports: Values) -> Columns:
        """Return the columns of M that these distinct reports pick."""
        size, number = mechanism.alphabet.size, len(reports)
        if size * number > 10 * MOST_STORED:
            raise TooLargeError(
                f"{number:,} distinct reports of {size:,} values do not fit. Use fewer or coarser values, or "
                f"the method of moments: model='linear'."
            )
        rows, scale = _columns_of(mechanism, reports)
        largest = rows.max(axis=1)
        return cls(rows / largest[:, None], scale + np.log(largest))


def _columns_of(mechanism: Mechanism, reports: Values) -> tuple[FloatArray, FloatArray]:
    outputs, none = mechanism.report_alphabet, np.zeros(len(reports))
    if mechanism.has_channel:
        seen = outputs.locate(reports)
        return np.asarray(mechanism.channel.block(np.arange(mechanism.alphabet.size), seen).T), none
    counts = tally(reports)
    evidence = mechanism.observe(counts)
    if evidence.channel.shape[1] != len(reports) or not np.array_equal(counts.reports, reports):
        # Reports beyond the border are counted there: their columns differ by a factor, which is left out.
        own = truncated(mechanism, None if mechanism.alphabet.grid is None else mechanism.alphabet.grid.box)
        low, high = own.report_alphabet.decode(np.array([0, own.report_alphabet.size - 1]))
        return _columns_of(own, np.clip(np.rint(reports), low, high).astype(np.int64))
    return evidence.channel.dense().T, none


class OutcomeModel(ABC):
    """How the distribution of the outcome depends on linear predictors.

    Attributes
    ----------
    has_design
        For each predictor, whether it is a sum of covariates times coefficients; otherwise it is one number for all.
    """

    has_design: tuple[bool, ...]

    @abstractmethod
    def shares(self, predictors: FloatArray) -> FloatArray:
        """Return P(y | u), one row a person."""

    @abstractmethod
    def evaluate(self, predictors: FloatArray, columns: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return log L with its gradient and its curvature in u."""

    @abstractmethod
    def start(self, shares: FloatArray) -> FloatArray:
        """Return the predictors with which everybody has these shares."""

    @abstractmethod
    def is_possible(self, predictors: FloatArray) -> bool:
        """Whether these predictors make a distribution."""

    @abstractmethod
    def farthest(self, predictors: FloatArray) -> float:
        """Return the largest log-odds that anybody has; 0 if there are none."""


@dataclass(frozen=True, eq=False)
class ExponentialFamily(OutcomeModel):
    """P(y | u) proportional to e^(u . T(y)).

    Attributes
    ----------
    statistics
        T, one row for each value.
    has_design
        See :class:`OutcomeModel`.
    positive
        A predictor that must be positive, such as one over the variance; None without one.
    """

    statistics: FloatArray
    has_design: tuple[bool, ...]
    positive: int | None = None

    @classmethod
    def multinomial(cls, values: int, base: int) -> ExponentialFamily:
        """Return the multinomial logit; the log-odds are those against the base."""
        statistics = np.delete(np.eye(values), base, axis=1)
        return cls(statistics, (True,) * (values - 1))

    @classmethod
    def normal(cls, amounts: FloatArray) -> ExponentialFamily:
        """Return a normal distribution on the grid from its natural parameters."""
        return cls(np.stack([amounts, -(amounts**2) / 2], axis=1), (True, False), positive=1)

    def shares(self, predictors: FloatArray) -> FloatArray:
        # The largest is taken off before the exponential, which then cannot overflow.
        logs = predictors @ self.statistics.T
        shares: FloatArray = np.exp(logs - logs.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        return shares

    def evaluate(self, predictors: FloatArray, columns: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        prior = self.shares(predictors)
        posterior = prior * columns
        total = posterior.sum(axis=1)
        posterior /= total[:, None]
        before, after = prior @ self.statistics, posterior @ self.statistics
        change, pairs = posterior - prior, self.statistics[:, :, None] * self.statistics[:, None, :]
        size = self.statistics.shape[1]
        # Cov_r T - Cov_P T, as (E_r - E_P) T T' less the products of means.
        curvature = (change @ pairs.reshape(len(pairs), -1)).reshape(-1, size, size)
        curvature += before[:, :, None] * before[:, None, :] - after[:, :, None] * after[:, None, :]
        return np.log(total), after - before, curvature

    def start(self, shares: FloatArray) -> FloatArray:
        if self.positive is None:
            logs = np.log(np.maximum(shares, 1e-3))
            base = int(np.flatnonzero(self.statistics.sum(axis=1) == 0)[0])
            return np.asarray(np.delete(logs - logs[base], base))
        mean = float(shares @ self.statistics[:, 0])
        variance = max(float(shares @ (self.statistics[:, 0] - mean) ** 2), 1e-3)
        return np.array([mean / variance, 1 / variance])

    def is_possible(self, predictors: FloatArray) -> bool:
        return self.positive is None or bool((predictors[:, self.positive] > 0).all())

    def farthest(self, predictors: FloatArray) -> float:
        return 0.0 if self.positive is not None else float(np.abs(predictors).max())


@dataclass(frozen=True, eq=False)
class Ordered(OutcomeModel):
    """Ordered logit: P(y <= j) = F(cut_j - u), with rising cuts.

    >>> Ordered(3).shares(np.array([[0.0, -1.0, 1.0]])).round(3)
    array([[0.269, 0.462, 0.269]])
    """

    values: int

    @property
    def has_design(self) -> tuple[bool, ...]:  # type: ignore[override]
        """See :class:`OutcomeModel`; the predictor comes first, then the cuts."""
        return (True, *(False for _ in range(self.values - 1)))

    def shares(self, predictors: FloatArray) -> FloatArray:
        below = self._below(predictors)
        ends = np.zeros((len(below), 1))
        return np.diff(np.concatenate([ends, below, ends + 1], axis=1), axis=1)

    def evaluate(self, predictors: FloatArray, columns: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        below, drops = self._below(predictors), columns[:, :-1] - columns[:, 1:]
        # L = m_k + sum over cuts of F(cut - u) (m_j - m_(j + 1)), and F' = F (1 - F), F'' = F' (1 - 2 F).
        total = (columns[:, -1] + (below * drops).sum(axis=1))[:, None]
        slope = below * (1 - below) * drops / total
        bend = slope * (1 - 2 * below)
        gradient = np.concatenate([-slope.sum(axis=1, keepdims=True), slope], axis=1)
        curvature = -gradient[:, :, None] * gradient[:, None, :]
        # A cut meets itself and the predictor, never another cut: the rest of the curvature is that of the logarithm.
        cuts = np.arange(1, self.values)
        curvature[:, 0, 0] += bend.sum(axis=1)
        curvature[:, cuts, cuts] += bend
        curvature[:, 0, 1:] -= bend
        curvature[:, 1:, 0] -= bend
        return np.log(total[:, 0]), gradient, curvature

    def start(self, shares: FloatArray) -> FloatArray:
        below = np.clip(np.cumsum(np.maximum(shares, 1e-3)), 1e-3, None)
        below = below[:-1] / below[-1]
        return np.concatenate([[0.0], np.log(below / (1 - below))])

    def is_possible(self, predictors: FloatArray) -> bool:
        return bool((np.diff(predictors[:1, 1:]) > 0).all())

    def farthest(self, predictors: FloatArray) -> float:
        return float(np.abs(predictors[:, :1] - predictors[:, 1:]).min(axis=1).max())

    def _below(self, predictors: FloatArray) -> FloatArray:
        return np.asarray(1 / (1 + np.exp(np.clip(predictors[:, :1] - predictors[:, 1:], -700, 700))))


@dataclass(frozen=True, eq=False)
class ReportLikelihood:
    """The log-likelihood of all coefficients.

    Attributes
    ----------
    family
        How the outcome depends on the predictors.
    cells
        The people.
    columns
        P(report | value) of each distinct report.
    """

    family: OutcomeModel
    cells: MergedRows
    columns: FloatArray

    @property
    def sizes(self) -> list[int]:
        """How many parameters each predictor has."""
        return [self.cells.design.shape[1] if one else 1 for one in self.family.has_design]

    @property
    def scales(self) -> FloatArray:
        """How much each parameter adds to its predictor, on average."""
        sizes = np.sqrt((self.cells.weights @ self.cells.design**2) / self.cells.weights.sum())
        return np.concatenate([sizes if own else np.ones(1) for own in self.family.has_design])

    def predictors(self, parameters: FloatArray, design: FloatArray) -> FloatArray:
        """Return u for each row of a design."""
        parts = np.split(parameters, np.cumsum(self.sizes)[:-1])
        whole = np.ones(len(design))
        return np.stack(
            [design @ one if own else whole * one for one, own in zip(parts, self.family.has_design, strict=True)],
            axis=1,
        )

    def shares(self, parameters: FloatArray, design: FloatArray) -> FloatArray:
        """Return P(y | x) for each row of a design."""
        return self.family.shares(self.predictors(parameters, design))

    def reach(self, parameters: FloatArray) -> float:
        """Return the largest change of a predictor."""
        return float(np.abs(self.predictors(parameters, self.cells.design)).max())

    def farthest(self, parameters: FloatArray) -> float:
        """Return the largest log-odds that anybody has."""
        return self.family.farthest(self.predictors(parameters, self.cells.design))

    def value(self, parameters: FloatArray) -> float:
        """Return the log-likelihood, up to a constant; -inf where there is none."""
        total = 0.0
        for rows in self._chunks():
            u = self.predictors(parameters, self.cells.design[rows])
            if not self.family.is_possible(u):
                return -np.inf
            with np.errstate(divide="ignore"):
                likelihood = (self.family.shares(u) * self.columns[self.cells.report[rows]]).sum(axis=1)
                total += float(self.cells.weights[rows] @ np.log(likelihood))
        return total

    def derivatives(self, parameters: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the gradient, minus the curvature, and the scores of all cells."""
        count = sum(self.sizes)
        gradient, information, scores = (
            np.zeros(count),
            np.zeros((count, count)),
            np.zeros((self.cells.report.size, count)),
        )
        starts = np.cumsum([0, *self.sizes])
        for rows in self._chunks():
            design, weights = self.cells.design[rows], self.cells.weights[rows]
            u = self.predictors(parameters, design)
            _, slopes, curvature = self.family.evaluate(u, self.columns[self.cells.report[rows]])
            factors = [design if own else np.ones((len(design), 1)) for own in self.family.has_design]
            for j, factor in enumerate(factors):
                scores[rows, starts[j] : starts[j + 1]] = slopes[:, j, None] * factor
                for k in range(j + 1):
                    block = -(factor * (weights * curvature[:, j, k])[:, None]).T @ factors[k]
                    information[starts[j] : starts[j + 1], starts[k] : starts[k + 1]] += block
                    if k < j:
                        information[starts[k] : starts[k + 1], starts[j] : starts[j + 1]] += block.T
            gradient += weights @ scores[rows]
        return gradient, information, scores

    def true_information(self, parameters: FloatArray) -> FloatArray:
        """Return the expected information if true values had been sent."""
        values, total = self.columns.shape[1], None
        # The mean of squared scores, by the information identity: no curvature is needed.
        known, every = np.eye(values), np.arange(self.cells.first.size)
        place = np.zeros(self.cells.first.size, dtype=np.int64)
        place[self.cells.group] = np.arange(self.cells.group.size)
        design, masses = self.cells.design[place], self.cells.masses
        shares = np.concatenate([self.shares(parameters, design[rows]) for rows in self._chunks(len(design))])
        for value in range(values):
            # What the information would be of people who all have this value, weighed by how likely that is.
            weights = masses * shares[:, value]
            own = replace(
                self.cells,
                design=design,
                report=np.full(every.size, value),
                weights=weights,
                people=weights,
                squares=weights,
            )
            scores = ReportLikelihood(self.family, own, known).derivatives(parameters)[2]
            part = scores.T @ (weights[:, None] * scores)
            total = part if total is None else total + part
        return np.asarray(total)

    def _chunks(self, rows: int | None = None) -> Iterator[slice]:
        rows = self.cells.report.size if rows is None else rows
        step = max(1, CHUNK // (self.columns.shape[1] + len(self.family.has_design) ** 2))
        return (slice(start, start + step) for start in range(0, rows, step))


@dataclass(frozen=True, eq=False)
class Climb:
    """Where a search ended.

    Attributes
    ----------
    parameters, value
        The coefficients and their log-likelihood.
    is_done
        Whether it stands on a maximum.
    escaping
        How much each coefficient takes part in directions in which the likelihood grows without end; None if it does
        not.
    """

    parameters: FloatArray
    value: float
    is_done: bool
    escaping: FloatArray | None = None


class Searched(Protocol):
    """A log-likelihood that can be climbed."""

    @property
    def cells(self) -> MergedRows:
        """The people."""

    @property
    def scales(self) -> FloatArray:
        """How much each parameter adds to its predictor."""

    def reach(self, parameters: FloatArray) -> float:
        """Return the largest change of a predictor."""

    def farthest(self, parameters: FloatArray) -> float:
        """Return the largest log-odds that anybody has."""

    def value(self, parameters: FloatArray) -> float:
        """Return the log-likelihood."""

    def derivatives(self, parameters: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the gradient, minus the curvature, and the scores."""

    def true_information(self, parameters: FloatArray) -> FloatArray:
        """Return the expected information if true values had been sent."""


def climb(problem: Searched, parameters: FloatArray) -> Climb:
    """Climb the likelihood by Newton's method from a start."""
    # Newton steps of a start.
    most_steps = 200
    value = problem.value(parameters)
    for _ in range(most_steps):
        gradient, information, scores = problem.derivatives(parameters)
        step = _direction(gradient, information, scores, problem.cells.weights)
        gain = float(gradient @ step)
        if gain < 1e-7:  # the last step, too small for a comparison of likelihoods, doubles the digits
            last = parameters + step
            return _settle(problem, last, max(value, problem.value(last)), information)
        # Halved until the likelihood rises: it is not concave, so a whole Newton step may lead down.
        found, length = -np.inf, 1.0
        while length > 1e-8 and not found > value:
            found = problem.value(parameters + length * step)
            length /= 2
        if not found > value:
            return _settle(problem, parameters, value, information, is_done=gain < 1e-5)
        parameters, value = parameters + 2 * length * step, found
        # 25 log-odds: a search that gets there runs away, for the likelihood has no maximum.
        if problem.farthest(parameters) > 25.0:
            break
    return _settle(problem, parameters, value, information, is_done=False)


def _settle(
    problem: Searched, parameters: FloatArray, value: float, information: FloatArray, *, is_done: bool = True
) -> Climb:
    """Return where a search ended, and whether it grows on without end.

    It does if a step of five log-odds in one of its flattest directions costs nothing.
    """
    if problem.farthest(parameters) < FLAT:
        return Climb(parameters, value, is_done)
    sizes = problem.scales
    # The flattest directions come first. Where one way along it does not lower the likelihood, there is no maximum
    # (Albert and Anderson, 1984, call such data separated).
    directions = np.linalg.eigh(information / sizes / sizes[:, None])[1].T / sizes
    escaping = np.zeros(parameters.size)
    for one in directions:
        step = FLAT * one / problem.reach(one)
        if max(problem.value(parameters + step), problem.value(parameters - step)) < value - 1e-3:
            break
        escaping = np.maximum(escaping, np.abs(one * sizes) / np.abs(one * sizes).max())
    has_end = not escaping.any()
    return Climb(parameters, value, is_done and has_end, None if has_end else escaping)


def _direction(gradient: FloatArray, information: FloatArray, scores: FloatArray, weights: FloatArray) -> FloatArray:
    """Return Newton's direction.

    Where the likelihood is not concave, a direction from the products of scores ascends instead.
    """
    scale = np.sqrt(np.maximum(np.abs(np.diag(information)), 1e-300))
    # Where the likelihood is not concave, products of scores take the curvature's place (Berndt, Hall, Hall and
    # Hausman, 1974). The gradient itself is the last resort.
    for matrix, ridge in ((information, 0.0), (scores.T @ (weights[:, None] * scores), 1e-8)):
        try:
            scaled = matrix / scale / scale[:, None]
            factor = cho_factor(scaled + (ridge * np.trace(scaled) / len(scale) + 1e-300) * np.eye(len(scale)))
        except (LinAlgError, ValueError):
            continue
        step = cho_solve(factor, gradient / scale) / scale
        if np.isfinite(step).all() and float(gradient @ step) > 0:
            return np.asarray(step)
    return gradient / max(float(np.abs(information).max()), 1e-300)


def outcome_shares(cells: MergedRows, columns: FloatArray) -> FloatArray:
    """Return the shares of all values without covariates, by some EM.

    They are a start for a search, not an answer.
    """
    # EM on the shares of values, without covariates: 200 steps are plenty for a start.
    weights = np.bincount(cells.report, cells.weights, len(columns))
    shares = np.full(columns.shape[1], 1 / columns.shape[1])
    for _ in range(200):
        posterior = columns * shares
        shares = (weights / posterior.sum(axis=1)) @ posterior
        shares /= shares.sum()
    return shares


def starting_points(
    problem: ReportLikelihood, naive: FloatArray | None, rng: np.random.Generator, count: int
) -> list[FloatArray]:
    """Return starts: no effects, the naive fit, random effects."""
    first = np.zeros(sum(problem.sizes))
    own = problem.family.start(outcome_shares(problem.cells, problem.columns))
    starts = np.cumsum([0, *problem.sizes[:-1]])
    # The intercept is the coefficient of the constant column; without one, all coefficients begin at 0.
    constant = np.flatnonzero(np.ptp(problem.cells.design, axis=0) == 0)
    for j, is_design in enumerate(problem.family.has_design):
        if not is_design:
            first[starts[j]] = own[j]
        elif constant.size:
            first[starts[j] + constant[0]] = own[j] / problem.cells.design[0, constant[0]]
    points = [first] if naive is None else [first, naive]
    spread = np.concatenate(
        [
            np.full(size, 0.5 * max(abs(middle), 0.5) if is_design else 0.0)
            for size, middle, is_design in zip(problem.sizes, own, problem.family.has_design, strict=True)
        ]
    )
    while len(points) < count:
        points.append(first + spread / problem.scales * rng.standard_normal(first.size))
    return points
