"""The answer of a regression: coefficients, predictions and marginal effects."""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import NormalDist
from typing import Any

import numpy as np
from scipy.special import stdtr, stdtrit

from confide.channels.base import FloatArray
from confide.errors import InvalidParameterError
from confide.evidence.counts import Origin
from confide.regression.designs import Design, Formula, as_table, require
from confide.surveys.survey import Survey
from confide.values.checks import is_number
from confide.values.wording import Shown

MODELS = {
    "logit": "logit",
    "multinomial": "multinomial logit",
    "ordered": "ordered logit",
    "linear": "least squares of unbiased values",
    "normal": "normal distribution on the values, by maximum likelihood",
    "joint": "joint likelihood of the outcome and a private covariate",
}
"""Models by name, and in words."""


@dataclass(frozen=True, eq=False)
class Predictor:
    """What a fitted model says of people with given covariates.

    Attributes
    ----------
    formula, design
        The formula, and how covariates become columns.
    frame, masses
        The combinations of covariates in the sample, and their weights.
    parameters, covariance
        The parameters that the function takes, and their covariance.
    function
        The shares of all outcomes, or the mean, of each row of a design.
    outcomes
        What its columns are called.
    is_share
        Whether it returns shares.
    """

    formula: Formula
    design: Design
    frame: Any
    masses: FloatArray
    parameters: FloatArray
    covariance: FloatArray
    function: Callable[[FloatArray, FloatArray], FloatArray]
    outcomes: tuple[str, ...]
    is_share: bool

    def with_errors(self, answer: Callable[[FloatArray], FloatArray]) -> tuple[FloatArray, FloatArray]:
        """Return answers and their standard errors, by the delta method."""
        # The delta method. Slopes are differences over a ten-thousandth of a standard error to each side: within it a
        # smooth answer is straight to eight digits, and rounding takes away no more.
        now, slopes = answer(self.parameters), []
        steps = 1e-4 * np.sqrt(np.maximum(np.diag(self.covariance), 1e-16))
        for place, step in enumerate(steps.tolist()):
            ends = (self.parameters.copy() for _ in range(2))
            low, high = ends
            low[place] -= step
            high[place] += step
            slopes.append((answer(high) - answer(low)) / (2 * step))
        jacobian = np.stack(slopes, axis=-1)
        variance = np.einsum("...p,pq,...q->...", jacobian, self.covariance, jacobian)
        return now, np.sqrt(np.maximum(variance, 0.0))

    def average(self) -> tuple[FloatArray, FloatArray]:
        """Return the outcomes of all people in the sample, averaged."""
        matrix = self.design.matrix(self.frame)
        shares = self.masses / self.masses.sum()
        return self.with_errors(lambda parameters: shares @ self.function(parameters, matrix))

    def at(self, frame: Any) -> tuple[FloatArray, FloatArray]:
        """Return the outcomes of each row of other covariates."""
        matrix = self.design.matrix(frame)
        return self.with_errors(lambda parameters: self.function(parameters, matrix))

    def effects(self) -> list[tuple[str, FloatArray, FloatArray]]:
        """Return the average marginal effect of each covariate on each outcome.

        Of very many combinations a sample is taken: effects differ little from one to the next.
        """
        # Combinations of covariates over which effects are averaged.
        most_averaged = 100_000
        if len(self.frame) > most_averaged:
            some = np.sort(np.random.default_rng(0).choice(len(self.frame), most_averaged, replace=False))
            return replace(self, frame=self.frame.iloc[some].reset_index(drop=True), masses=self.masses[some]).effects()
        found, shares = [], self.masses / self.masses.sum()
        for name in self.formula.variables:
            for words, low, high, width in self._contrasts(name):
                ends = [self.design.matrix(self.frame.assign(**{name: one})) for one in (low, high)]

                def change(parameters: FloatArray, ends: Any = ends, width: float = width) -> FloatArray:
                    low, high = (self.function(parameters, one) for one in ends)
                    return np.asarray(shares @ (high - low) / width)

                found.append((words, *self.with_errors(change)))
        return found

    def _contrasts(self, name: str) -> list[tuple[str, Any, Any, float]]:
        """Return what a covariate is changed from and to.

        Words, both ends, and the distance between them.
        """
        column = self.frame[name]
        is_class = re.search(rf"\bC\(\s*`?{re.escape(name)}`?\s*[,)]", self.formula.terms) is not None
        levels = sorted(column.unique().tolist(), key=lambda one: (str(type(one)), one))
        if column.dtype.kind in "iuf" and not is_class and len(levels) > 2:
            # A slope, by a small step to each side; classes are compared with the first one, as a whole.
            numbers = column.astype(float)
            step = 1e-4 * max(float(numbers.std()), 1e-300)
            return [(name, numbers - step, numbers + step, 2 * step)]
        if hasattr(column.dtype, "categories"):
            levels = [one for one in column.dtype.categories if one in set(levels)]
        return [
            (f"{name}: {_plain(one)} against {_plain(levels[0])}", _all(column, levels[0]), _all(column, one), 1.0)
            for one in levels[1:]
        ]


def _all(column: Any, level: Any) -> Any:
    """Return a column of the same kind with one level for everybody."""
    return column.where(column == level, level)


def _plain(level: Any) -> str:
    return f"{level:g}" if is_number(level) and not isinstance(level, bool) else str(level)


@dataclass(frozen=True, eq=False)
class Regression(Shown):
    """Coefficients of a regression of private values.

    Names follow statsmodels: `params`, `bse`, `tvalues`, `pvalues`, `conf_int`, `cov_params`, `llf`, `nobs`.

    Attributes
    ----------
    formula
        The formula.
    survey
        The survey of the reports.
    model
        One of :data:`MODELS`.
    names
        The name of each coefficient.
    estimates, covariance
        The coefficients and their covariance.
    errors
        What standard errors rest on: "information", "scores" or "sandwich".
    nobs
        How many people there are.
    llf
        Log-likelihood; None for the method of moments.
    naive
        What the same regression on the reports themselves would have said; None where it makes no sense.
    exact
        Standard errors if true values had been sent; NaN where they are not known.
    predictor
        What the model says of given covariates; None if people were too many to keep theirs.
    outcomes, base
        The labels of the outcomes, and the one that odds are against; empty if there are none.
    starts, agreeing
        How many starts the search had, and how many reached this maximum.
    is_done
        Whether the search ended on a maximum.
    separated
        Coefficients that grow without end.
    left_out
        Rows that were left out, in words.
    rare
        People whose combination of covariates fewer than five share; NaN where they were not counted.
    facts
        What else there is to know, by name: cells, clusters, the design effect.
    level
        The confidence level.
    origin
        What is known of the noise of the reports.
    private, public
        The private covariates, and the columns that are not blurred.

    Examples
    --------
    >>> import confide as cf
    >>> survey = cf.Survey(cf.RandomizedResponse(cf.Categories(["no", "yes"]), epsilon=2.0), "answer")
    >>> reports = survey.mechanism.privatize(["no", "yes", "yes", "yes"] * 500, rng=1)
    >>> found = cf.regress("answer ~ town", {"town": ["Bern", "Bern", "Oslo", "Oslo"] * 500, "report": reports}, survey)
    >>> found.names
    ('Intercept', 'town[T.Oslo]')
    """

    formula: str
    survey: Survey
    model: str
    names: tuple[str, ...]
    estimates: FloatArray
    covariance: FloatArray
    errors: str
    nobs: float
    llf: float | None = None
    naive: FloatArray | None = None
    exact: FloatArray | None = None
    predictor: Predictor | None = None
    outcomes: tuple[str, ...] = ()
    base: str = ""
    starts: int = 0
    agreeing: int = 0
    is_done: bool = True
    separated: tuple[str, ...] = ()
    left_out: str = ""
    rare: float = 0.0
    facts: Mapping[str, float] = field(default_factory=dict)
    level: float = 0.95
    origin: Origin = field(default_factory=Origin)
    private: tuple[str, ...] = ()
    public: tuple[str, ...] = ()

    @property
    def params(self) -> Any:
        """The coefficients, a series of pandas."""
        return self._series(self.estimates)

    @property
    def bse(self) -> Any:
        """Standard errors, a series of pandas."""
        return self._series(self.standard_errors)

    @property
    def tvalues(self) -> Any:
        """Each coefficient divided by its standard error."""
        return self._series(self._ratios)

    @property
    def pvalues(self) -> Any:
        """Two-sided p-values of the test that a coefficient is 0."""
        return self._series(np.asarray(2 * stdtr(self.degrees, -np.abs(self._ratios)), dtype=np.float64))

    @property
    def degrees(self) -> float:
        """Degrees of freedom of Student's quantiles: clusters less one; infinite without clusters."""
        return self.facts.get("clusters", math.inf) - 1

    @property
    def _ratios(self) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.estimates / self.standard_errors)

    @property
    def standard_errors(self) -> FloatArray:
        """Standard errors as an array; infinite for coefficients that grow without end."""
        found = np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        return np.where([name in self.separated for name in self.names], math.inf, found)

    @property
    def privacy(self) -> FloatArray:
        """The part of each standard error that is due to noise."""
        if self.exact is None:
            return np.full(len(self.names), math.nan)
        with np.errstate(invalid="ignore", divide="ignore"):
            found = 1 - np.clip(self.exact / self.standard_errors, 0.0, 1.0)
        return np.where(np.isfinite(self.standard_errors), found, math.nan)

    def conf_int(self, level: float | None = None) -> Any:
        """Return confidence intervals as a data frame: `low` and `high`."""
        low, high = self.ends(level)
        return require("pandas").DataFrame({"low": low, "high": high}, index=list(self.names))

    def ends(self, level: float | None = None) -> tuple[FloatArray, FloatArray]:
        """Return the ends of confidence intervals as arrays."""
        half = quantile(self.level if level is None else level, self.degrees) * self.standard_errors
        return self.estimates - half, self.estimates + half

    def cov_params(self) -> Any:
        """Return the covariance of the coefficients, a data frame of pandas."""
        return require("pandas").DataFrame(self.covariance, index=list(self.names), columns=list(self.names))

    def wald(self, *names: str) -> float:
        """Return the p-value of the test that all these coefficients are 0.

        A name may also be that of a covariate, such as ``"C(city)"``, for all its levels.
        """
        from scipy.stats import chi2, f  # half a second, and rarely asked for

        # A class has a column for each of its levels, name[level], and an outcome with several answers one for each.
        own = [one.rpartition(": ")[2] for one in self.names]
        places = [at for at, one in enumerate(own) if any(one == name or one.startswith(f"{name}[") for name in names)]
        places += [at for at, one in enumerate(self.names) if one in names and at not in places]
        if not places:
            raise InvalidParameterError(f"Name coefficients or covariates, such as {self.names[-1]!r}; got {names!r}.")
        chosen = self.estimates[places]
        statistic = float(chosen @ np.linalg.solve(self.covariance[np.ix_(places, places)], chosen))
        if math.isfinite(self.degrees):
            return float(f.sf(statistic / len(places), len(places), self.degrees))
        return float(chi2.sf(statistic, len(places)))

    def predict(self, data: Any = None) -> Any:
        """Return predicted shares, or means, with intervals: a data frame of pandas.

        Parameters
        ----------
        data
            Covariates, one row for each prediction. Default: averaged over all people of the sample.
        """
        own = self._predictor()
        frame = None if data is None else as_table(data).reset_index(drop=True)
        now, errors = own.average() if frame is None else own.at(frame)
        now, errors = np.atleast_2d(now), np.atleast_2d(errors)
        return require("pandas").DataFrame(self._rows(now, errors, is_one=frame is None))

    def get_margeff(self) -> Any:
        """Return average marginal effects with intervals: a data frame of pandas.

        For a number it is the change of the outcome for one more of it; for classes, the difference from the first.
        """
        return require("pandas").DataFrame(self.effects)

    @cached_property
    def effects(self) -> list[dict[str, Any]]:
        """Average marginal effects, one row for each covariate and outcome."""
        own, rows = self._predictor(), []
        for words, now, errors in own.effects():
            for at, outcome in enumerate(own.outcomes):
                if self.model == "logit" and outcome == self.base:  # whose effects are those of the other, negated
                    continue
                half = quantile(self.level, self.degrees) * errors[at]
                named = {"covariate": words} | ({"outcome": outcome} if outcome else {})
                rows.append(
                    named
                    | {"effect": float(now[at]), "std err": float(errors[at])}
                    | {"low": float(now[at] - half), "high": float(now[at] + half)}
                )
        return rows

    @cached_property
    def predicted(self) -> list[dict[str, Any]]:
        """Shares of all outcomes, or the mean, averaged over the sample."""
        now, errors = (one[None, :] for one in self._predictor().average())
        return self._rows(now, errors, is_one=True)

    def summary(self) -> str:
        """Return the table that `print` shows."""
        return str(self)

    def _rows(self, now: FloatArray, errors: FloatArray, *, is_one: bool) -> list[dict[str, Any]]:
        """Return predictions with intervals; those of shares stay within 0 and 1."""
        own, times = self._predictor(), quantile(self.level, self.degrees)
        low, high = now - times * errors, now + times * errors
        if own.is_share:
            inside = np.clip(now, 1e-12, 1 - 1e-12)
            # On the scale of log-odds, whose error is that of the share over its slope.
            odds, half = np.log(inside / (1 - inside)), times * errors / (inside * (1 - inside))
            if self.separated:  # a share at the border has no such interval
                half = np.where((inside > 1e-3) & (inside < 1 - 1e-3), half, math.nan)
            low, high = (1 / (1 + np.exp(-np.clip(one, -700, 700))) for one in (odds - half, odds + half))
        return [
            ({} if is_one else {"row": row})
            | ({"outcome": outcome} if outcome else {})
            | {"estimate": float(now[row, at]), "std err": float(errors[row, at])}
            | {"low": float(low[row, at]), "high": float(high[row, at])}
            for row in range(len(now))
            for at, outcome in enumerate(own.outcomes)
        ]

    def _predictor(self) -> Predictor:
        if self.predictor is None:
            raise InvalidParameterError(
                "Predictions need the covariates of all people, and these were too many rows to keep them. The "
                "coefficients are in .params."
            )
        return self.predictor

    def _series(self, numbers: FloatArray) -> Any:
        return require("pandas").Series(numbers, index=list(self.names))

    def __str__(self) -> str:
        # Imported by name when asked for: what computes does not import what shows.
        return str(importlib.import_module("confide.present.regressions").text_of(self))

    def __repr__(self) -> str:
        return f"Regression({self.formula!r}, {self.nobs:,.10g} people, {self.model})"


def quantile(level: float, degrees: float = math.inf) -> float:
    """Return how many standard errors an interval reaches to either side.

    >>> round(quantile(0.95), 3), round(quantile(0.95, 9), 3)
    (1.96, 2.262)
    """
    return float(stdtrit(degrees, (1 + level) / 2)) if math.isfinite(degrees) else NormalDist().inv_cdf((1 + level) / 2)
