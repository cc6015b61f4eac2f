"""regress(): the formula, the data and the survey become an answer."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from confide.channels.base import FloatArray, Indices
from confide.data.files import read_people
from confide.errors import InvalidParameterError, NotInvertibleError
from confide.estimates.inference import check_level
from confide.estimates.pseudo_values import PseudoValues
from confide.evidence.counts import Origin, tally
from confide.mechanisms.base import Mechanism
from confide.regression.answers import MODELS, Predictor, Regression
from confide.regression.designs import (
    Design,
    Formula,
    MergedRows,
    Sample,
    describe_rows,
    require_full_rank,
    take_sample,
)
from confide.regression.likelihood import (
    Climb,
    Columns,
    ExponentialFamily,
    Ordered,
    OutcomeModel,
    ReportLikelihood,
    climb,
    starting_points,
)
from confide.surveys.survey import Survey
from confide.values import Scale, UnorderedGeometry, Values
from confide.values.checks import check_choice
from confide.values.queries import as_weights
from confide.values.wording import name_some, suggestion

STARTS = 5
"""Starts of the search for the maximum of the likelihood."""

NO_ANSWERS = ("no", "none", "false", "0", "never", "n")
"""Answers that odds are against where a question has two answers."""

ERRORS = ("information", "scores", "sandwich")
"""What standard errors may rest on."""


def regress(  # noqa: PLR0913 - a regression has as many settings
    formula: str,
    data: Any,
    survey: Survey | Mechanism,
    *,
    model: str | None = None,
    weights: str | ArrayLike | None = None,
    clusters: str | ArrayLike | None = None,
    errors: str | None = None,
    base: str | None = None,
    columns: Sequence[str] = (),
    level: float = 0.95,
    seed: int = 0,
) -> Regression:
    """Explain a private value by public covariates.

    Parameters
    ----------
    formula
        Such as ``"answer ~ age + female + C(city)"``. The outcome is the survey's value, or a share of it, such as
        ``"age >= 65"``. Terms are those of formulaic, as in R and statsmodels.
    data
        A data frame of pandas or polars, a dictionary of columns, or a CSV or Parquet file: reports and covariates, one
        row a person.
    survey
        The survey of the reports.
    model
        ``"logit"`` for two answers, ``"multinomial"`` for categories, ``"ordered"`` for scales, ``"linear"`` for
        numbers (no model of their distribution), or ``"normal"`` (by maximum likelihood). Default: what suits.
    weights, clusters
        Names of columns, or one entry for each row. Standard errors then come from the sandwich.
    errors
        ``"information"`` (default of likelihoods), ``"scores"`` (products of scores, as in R's rr) or ``"sandwich"``.
    base
        The answer that odds are against. Default: "no" and its like, otherwise the first.
    columns
        The columns of a report, if they have unusual names.
    level
        Confidence level.
    seed
        Seed of the random starts.

    Examples
    --------
    >>> import confide as cf
    >>> survey = cf.Survey(cf.RandomizedResponse(cf.Categories(["no", "yes"]), epsilon=2.0), "answer")
    >>> age = np.tile(np.arange(20.0, 70.0), 80)
    >>> truth = np.where(np.random.default_rng(1).random(age.size) < 1 / (1 + np.exp(2 - age / 20)), "yes", "no")
    >>> found = regress("answer ~ age", {"age": age, "report": survey.mechanism.privatize(truth, rng=2)}, survey)
    >>> found.params.round(2).to_dict()
    {'Intercept': -1.81, 'age': 0.05}
    """
    check_level("level", level)
    read = Formula.read(formula)
    contract = survey if isinstance(survey, Survey) else Survey(survey, read.outcome)
    if errors is not None:
        check_choice("errors", errors, ERRORS)
    if model is not None:
        check_choice("model", model, tuple(MODELS))
    question, origin, unread = _question(read, contract, columns), Origin(), 0
    if isinstance(data, str | Path):
        beside = [one for one in (weights, clusters) if isinstance(one, str)]
        keep = list(dict.fromkeys([*read.variables, *beside]))
        data, account, traces = read_people(data, contract, keep, columns)
        origin = traces.origin(account.people, account.columns)
        columns, unread = account.columns, account.total_rejected
    sample = take_sample(data, contract, read.variables, weights=weights, clusters=clusters, columns=columns)
    chosen = model or _suitable_model(contract, question)
    design, matrix = Design.of(read, sample.frame, has_intercept=chosen != "ordered")
    require_full_rank(matrix, design.names)
    distinct, numbers = _distinct(sample.reports)
    contract.mechanism.refuse_strays(tally(distinct))
    cells = MergedRows.of(sample, matrix, numbers)
    known = Regression(
        str(read),
        contract,
        chosen,
        (),
        np.zeros(0),
        np.zeros((0, 0)),
        errors or ("information" if weights is None and clusters is None and chosen != "linear" else "sandwich"),
        sample.people,
        left_out=describe_rows(sample, unread),
        rare=cells.rare,
        facts={"cells": float(cells.report.size)}
        | ({} if weights is None else {"design effect": cells.design_effect})
        | ({} if sample.clusters is None else {"clusters": float(sample.clusters.max() + 1)}),
        level=level,
        origin=origin,
    )
    case = Case(known, read, design, sample, cells, distinct)
    if chosen == "linear":
        return _by_moments(case, question)
    return _by_likelihood(case, base, np.random.default_rng(seed))


@dataclass(frozen=True, eq=False)
class Case:
    """What a fit starts from.

    Attributes
    ----------
    known
        The answer, as far as it is known without a fit.
    formula, design, sample, cells
        Whose outcome is explained by what.
    distinct
        The distinct reports.
    """

    known: Regression
    formula: Formula
    design: Design
    sample: Sample
    cells: MergedRows
    distinct: Values

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism of the reports."""
        return self.known.survey.mechanism

    def predictor(self, parameters: FloatArray, covariance: FloatArray, **settings: Any) -> Predictor:
        """Return what the fitted model says of given covariates."""
        frame = self.sample.frame.iloc[self.cells.first].reset_index(drop=True)
        return Predictor(self.formula, self.design, frame, self.cells.masses, parameters, covariance, **settings)


def _question(formula: Formula, survey: Survey, columns: Sequence[str]) -> FloatArray | None:
    """Return the weights of the share that an outcome asks for.

    None if it is the value itself.
    """
    own = (survey.name, "report", *columns)
    if formula.outcome in own:
        private = [one for one in formula.variables if one in own]
        if private:
            raise InvalidParameterError(f"{private[0]} stands on both sides of '{formula}'. It is the private outcome.")
        return None
    try:
        return as_weights(formula.outcome, survey.alphabet, survey.name)
    except InvalidParameterError:
        raise InvalidParameterError(
            f"The outcome {formula.outcome!r} is neither {survey.name!r}, the private value of this survey, nor a "
            f"share of it{suggestion(formula.outcome, own)}."
        ) from None


def _suitable_model(survey: Survey, question: FloatArray | None) -> str:
    """Return the model that suits the values."""
    alphabet = survey.alphabet
    if question is not None:
        return "linear"
    if isinstance(alphabet, Scale):
        return "ordered"
    if isinstance(alphabet.geometry, UnorderedGeometry) and alphabet.is_finite:
        return "logit" if alphabet.size == 2 else "multinomial"
    if alphabet.has_mean:
        return "linear"
    raise InvalidParameterError(
        f"Values such as {name_some(alphabet.labels(range(min(2, alphabet.size))))} are no outcome of a regression. "
        f"Ask for a share of them, such as '{survey.name} in {{...}} ~ age'."
    )


def _distinct(reports: Values) -> tuple[Values, Indices]:
    """Return the distinct reports, and which of them each row has."""
    axis = 0 if reports.ndim > 1 else None
    distinct, numbers = np.unique(reports, axis=axis, return_inverse=True)
    return distinct, numbers.reshape(-1).astype(np.int64)


def _by_moments(case: Case, question: FloatArray | None) -> Regression:
    """Fit by least squares of unbiased values: no model of their distribution."""
    cells, alphabet = case.cells, case.mechanism.alphabet
    own = alphabet.amounts if question is None else question
    values = PseudoValues(case.mechanism, own, "the mean").values(case.distinct)
    bread = _inverse(cells.design.T @ (cells.weights[:, None] * cells.design))

    def fit(numbers: FloatArray) -> FloatArray:
        return np.asarray(bread @ (cells.design.T @ (cells.weights * numbers[cells.report])))

    fitted, naive = fit(values), _naive_amounts(case.mechanism, case.distinct, question)
    rest = values[cells.report] - cells.design @ fitted
    covariance = sandwich(bread, cells.design * rest[:, None], cells, case.sample, len(fitted))
    return replace(
        case.known,
        names=case.design.names,
        estimates=fitted,
        covariance=covariance,
        naive=None if naive is None else fit(naive),
        exact=_exact_part(case, own, fitted, values, bread) * np.sqrt(np.diag(covariance)),
        outcomes=(case.known.survey.name if question is None else case.formula.outcome,),
        predictor=case.predictor(
            fitted,
            covariance,
            function=lambda parameters, matrix: (matrix @ parameters)[:, None],
            outcomes=("",),
            is_share=False,
        ),
    )


def _exact_part(
    case: Case, own: FloatArray, fitted: FloatArray, values: FloatArray, bread: FloatArray
) -> FloatArray | float:
    """Return the part of each standard error without the noise.

    Their squared residuals have an unbiased estimate, as everything has that is a function of the value.
    """
    try:
        squared = PseudoValues(case.mechanism, own**2, "the variance").values(case.distinct)
    except NotInvertibleError:
        return math.nan
    cells, mean = case.cells, case.cells.design @ fitted
    known = values[cells.report]
    exact, noisy = (
        np.diag(bread @ (cells.design.T @ ((cells.squares * one)[:, None] * cells.design)) @ bread)
        for one in (squared[cells.report] - 2 * mean * known + mean**2, (known - mean) ** 2)
    )
    return np.asarray(np.sqrt(np.clip(exact / np.maximum(noisy, 1e-300), 0.0, 1.0)))


def sandwich(bread: FloatArray, scores: FloatArray, cells: MergedRows, sample: Sample, parameters: int) -> FloatArray:
    """Return the robust covariance, with sums over clusters where there are any."""
    if sample.clusters is None:
        factor = sample.people / max(sample.people - parameters, 1.0)
        return np.asarray(factor * bread @ (scores.T @ (cells.squares[:, None] * scores)) @ bread)
    number = int(sample.clusters.max()) + 1
    if number <= 1:
        raise InvalidParameterError("All rows are in one cluster, which leaves no errors to estimate. Two are needed.")
    each = sample.counts if sample.weights is None else sample.counts * sample.weights
    factors = each * sample.people / each.sum()
    sums = np.stack(
        [np.bincount(sample.clusters, factors * column[cells.of_row], number) for column in scores.T], axis=1
    )
    factor = number / (number - 1) * (sample.people - 1) / max(sample.people - max(parameters, 1), 1.0)
    return np.asarray(factor * bread @ (sums.T @ sums) @ bread)


def _naive_amounts(mechanism: Mechanism, distinct: Values, question: FloatArray | None) -> FloatArray | None:
    """Return the number that a report says, taken at its word."""
    alphabet = mechanism.alphabet
    if mechanism.report_alphabet.attributes is None and distinct.ndim == 1 and mechanism.facts.bits is None:
        try:
            if alphabet.contains(alphabet.as_array(distinct)).all():
                places = alphabet.encode(distinct)
                return np.asarray((alphabet.amounts if question is None else question)[places])
        except (InvalidParameterError, TypeError, ValueError):
            pass
        if (
            question is None
            and distinct.dtype.kind in "iuf"
            and alphabet.geometry == mechanism.report_alphabet.geometry
        ):
            return distinct.astype(np.float64)
        if question is None and distinct.dtype.kind in "iuf" and not mechanism.report_alphabet.is_finite:
            return distinct.astype(np.float64)
    return None


def _by_likelihood(case: Case, base: str | None, rng: np.random.Generator) -> Regression:
    """Fit by maximum likelihood, from several starts."""
    known, cells, alphabet = case.known, case.cells, case.mechanism.alphabet
    alphabet.require_listable()
    labels = tuple(alphabet.labels(range(alphabet.size)))
    place = _base_place(labels, base)
    own = Columns.of(case.mechanism, case.distinct)
    family, shift, scale = _family(known, place)
    problem = ReportLikelihood(family, cells, own.rows)
    naive = _naive_fit(problem, case.mechanism, case.distinct)
    best, agreeing, starts = _best_of_starts(problem, naive, rng)
    _, information, scores = problem.derivatives(best.parameters)
    names = _names(known.model, case.design, labels, place)
    is_free = np.ones(len(names), dtype=bool) if best.escaping is None else best.escaping <= 0.05
    # Coefficients that grow without end are held: the others have the errors that they have at the end.
    held = np.outer(is_free, is_free)
    information, scores = information * held, scores * is_free
    covariance = _covariance(known.errors, information, scores, cells, case.sample)
    # The part of an error that is due to noise, from comparable errors: both rest on information.
    exact, plain = (np.diag(_inverse(one)) for one in (problem.true_information(best.parameters) * held, information))
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.sqrt(np.where(is_free, np.clip(exact / plain, 0.0, 1.0), math.nan))
    offset = float(np.bincount(cells.report, cells.weights, len(case.distinct)) @ own.log_scale)
    answer = replace(
        known,
        names=names,
        estimates=best.parameters,
        covariance=covariance,
        llf=best.value + offset,
        naive=naive,
        outcomes=labels,
        base=labels[place] if known.model in ("logit", "multinomial") else "",
        starts=starts,
        agreeing=agreeing,
        is_done=best.is_done,
        separated=tuple(name for name, is_held in zip(names, ~is_free, strict=True) if is_held),
        predictor=case.predictor(best.parameters, covariance, function=problem.shares, outcomes=labels, is_share=True),
    )
    if known.model == "normal":
        answer = _as_normal(answer, problem, shift, scale)
    return replace(answer, exact=shares * np.sqrt(np.maximum(np.diag(answer.covariance), 0.0)))


def _base_place(labels: Sequence[str], base: str | None) -> int:
    """Return the place of the answer that odds are against."""
    if base is not None:
        if base not in labels:
            raise InvalidParameterError(f"base is one of {name_some(labels)}; got {base!r}{suggestion(base, labels)}.")
        return labels.index(base)
    if len(labels) > 2:
        return 0
    return next((at for at, one in enumerate(labels) if one.strip().lower() in NO_ANSWERS), 0)


def _family(known: Regression, base: int) -> tuple[OutcomeModel, float, float]:
    """Return the family, and shift and scale of numbers for it."""
    alphabet = known.survey.alphabet
    if known.model == "logit" and alphabet.size != 2:
        raise InvalidParameterError(
            f"A logit has two answers, and {known.survey.name} has {alphabet.size:,} values. Use model='multinomial', "
            f"or ask for a share of them."
        )
    if known.model == "ordered":
        return Ordered(alphabet.size), 0.0, 1.0
    if known.model == "normal":
        amounts = alphabet.amounts
        shift, scale = float(amounts.mean()), max(float(amounts.std()), 1e-300)
        return ExponentialFamily.normal((amounts - shift) / scale), shift, scale
    return ExponentialFamily.multinomial(alphabet.size, base), 0.0, 1.0


def _names(model: str, design: Design, labels: Sequence[str], base: int) -> tuple[str, ...]:
    if model == "ordered":
        return (*design.names, *(f"{low} | {high}" for low, high in itertools.pairwise(labels)))
    if model == "multinomial":
        others = [one for at, one in enumerate(labels) if at != base]
        return tuple(f"{one}: {name}" for one in others for name in design.names)
    return (*design.names, "sigma") if model == "normal" else design.names


def _naive_fit(problem: ReportLikelihood, mechanism: Mechanism, distinct: Values) -> FloatArray | None:
    """Return the fit that takes reports for true values.

    None where reports are no values.
    """
    alphabet = mechanism.alphabet
    try:
        is_value = distinct.ndim == 1 and mechanism.facts.bits is None and bool(alphabet.contains(distinct).all())
    except (InvalidParameterError, TypeError, ValueError):
        return None
    if not is_value:
        return None
    as_true = ReportLikelihood(problem.family, problem.cells, np.eye(alphabet.size)[alphabet.encode(distinct)])
    start = starting_points(as_true, None, np.random.default_rng(0), 1)[0]
    found = climb(as_true, start)
    return found.parameters if found.is_done else None


def _best_of_starts(
    problem: ReportLikelihood, naive: FloatArray | None, rng: np.random.Generator
) -> tuple[Climb, int, int]:
    """Return the highest maximum, how many starts reached it, and their number."""
    found = [
        climb(problem, one) for one in starting_points(problem, naive, rng, STARTS) if problem.value(one) > -math.inf
    ]
    if not found:
        raise InvalidParameterError("No start explains these reports. Were they made with another survey?")
    # Of two that are equally high, the one that stands on a maximum.
    best = max(found, key=lambda one: (round(one.value, 6), one.is_done))
    return best, sum(one.value > best.value - 1e-3 for one in found), len(found)


def _inverse(matrix: FloatArray) -> FloatArray:
    """Return an inverse, whatever the scales of columns are.

    Rows of zeros stay zero.
    """
    scale = np.sqrt(np.maximum(np.abs(np.diag(matrix)), 1e-300))
    scaled = matrix / scale / scale[:, None]
    return np.asarray(np.linalg.pinv(scaled, rcond=1e-14, hermitian=True) / scale / scale[:, None])


def _covariance(
    errors: str, information: FloatArray, scores: FloatArray, cells: MergedRows, sample: Sample
) -> FloatArray:
    if errors == "scores":
        return _inverse(scores.T @ (cells.weights[:, None] * scores))
    bread = _inverse(information)
    return bread if errors == "information" else sandwich(bread, scores, cells, sample, 0)


def _as_normal(answer: Regression, problem: ReportLikelihood, shift: float, scale: float) -> Regression:
    """Return coefficients in people's units from natural ones."""
    amounts = answer.survey.alphabet.amounts
    slopes, precision = answer.estimates[:-1], float(answer.estimates[-1])
    constant = np.flatnonzero(np.ptp(problem.cells.design, axis=0) == 0)
    if not constant.size:
        raise InvalidParameterError("model='normal' needs an intercept. Leave - 1 or + 0 out of the formula.")
    level = shift / problem.cells.design[0, constant[0]] * (np.arange(slopes.size) == constant[0])

    def shown(parameters: FloatArray) -> FloatArray:
        return np.append(scale * parameters[:-1] / parameters[-1] + level, scale / math.sqrt(parameters[-1]))

    jacobian = np.zeros((slopes.size + 1, slopes.size + 1))
    jacobian[:-1, :-1] = scale / precision * np.eye(slopes.size)
    jacobian[:-1, -1] = -scale * slopes / precision**2
    jacobian[-1, -1] = -scale / 2 * precision**-1.5
    predictor = answer.predictor
    assert predictor is not None  # noqa: S101 (for the type checker: the outcome is private, so there is one)
    return replace(
        answer,
        estimates=shown(answer.estimates),
        covariance=jacobian @ answer.covariance @ jacobian.T,
        naive=None,  # a fit to the reports has the noise for spread, and means beyond the values
        outcomes=(answer.survey.name,),
        predictor=replace(
            predictor,
            function=lambda parameters, matrix: (problem.shares(parameters, matrix) @ amounts)[:, None],
            outcomes=("",),
            is_share=False,
        ),
    )
