"""regress(): the formula, the data and the survey become an answer."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.channels.base import FloatArray, Indices
from confide.data.files import read_people
from confide.data.files.writing import Traces
from confide.errors import InvalidParameterError, NotInvertibleError, SolverError, TooLargeError
from confide.estimates.inference import check_level
from confide.estimates.pseudo_values import PseudoValues
from confide.evidence.counts import Origin, tally
from confide.mechanisms.base import Mechanism
from confide.regression.answers import MODELS, Predictor, Regression
from confide.regression.covariates import (
    CorrectedScores,
    distinct_people,
    needed_functions,
    possible_design,
    private_columns,
    signed_weights,
)
from confide.regression.designs import (
    Design,
    Formula,
    MergedRows,
    Sample,
    as_reports,
    describe_rows,
    require_full_rank,
    take_sample,
)
from confide.regression.joint import JointLikelihood
from confide.regression.large import MOST_CELLS, LargeFile, add_up, is_large, open_large
from confide.regression.likelihood import (
    Climb,
    Columns,
    ExponentialFamily,
    Ordered,
    OutcomeModel,
    ReportLikelihood,
    Searched,
    climb,
    starting_points,
)
from confide.surveys.survey import Survey
from confide.values import Scale, UnorderedGeometry, Values
from confide.values.checks import check_choice, is_number
from confide.values.queries import as_weights
from confide.values.wording import counted, listed, name_some, suggestion

STARTS = 5
"""Starts of the search for the maximum of the likelihood."""


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
    """Explain a private value, or something else by a private value.

    Parameters
    ----------
    formula
        Such as ``"answer ~ age + female + C(city)"``. The outcome is the survey's value, or a share of it, such as
        ``"age >= 65"``. The value may also be a covariate of a public outcome, and attributes may be on both sides.
        Terms are those of formulaic, as in R and statsmodels.
    data
        A data frame of pandas or polars, a dictionary of columns, or a CSV or Parquet file: reports and covariates, one
        row a person.
    survey
        The survey of the reports.
    model
        ``"logit"`` for two answers, ``"multinomial"`` for categories, ``"ordered"`` for scales, ``"linear"`` for
        numbers (no model of their distribution), or ``"normal"`` (by maximum likelihood). Default: what suits. With
        private covariates ``"linear"`` or ``"logit"``, which assume nothing of them, or ``"joint"``, which has a model
        of them too.
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
    whole = survey if isinstance(survey, Survey) else Survey(survey, read.outcome)
    contract, columns = _asked(read, whole, columns)
    if errors is not None:
        check_choice("errors", errors, ERRORS)
    if model is not None:
        check_choice("model", model, tuple(MODELS))
    private = [one for one in read.variables if one in _names_of(contract)]
    public = [one for one in read.variables if one not in private]
    question, origin, unread = _question(read, contract, columns, has_private=bool(private)), Origin(), 0
    public += [read.outcome] * isinstance(question, str)
    if isinstance(data, str | Path):
        beside = [one for one in (weights, clusters) if isinstance(one, str)]
        keep = list(dict.fromkeys([*public, *beside]))
        if is_large(data):
            weight = weights if isinstance(weights, str) else ""
            with open_large(data, contract, keep, columns, weight) as file:
                origin = Traces.of([str(data)], whole).origin(file.used, file.parts)
                table = file.table()
                if table is None:
                    chosen = "linear" if isinstance(question, str) else model or _suitable_model(contract, question)
                    if private or clusters is not None or len(file.parts) > 1:
                        chosen = "none of these"
                    found = _by_sums(file, read, contract, None if isinstance(question, str) else question, chosen)
                    return replace(found, level=level, origin=origin)
                data, columns, unread = table, file.parts, file.rows - file.used
        else:
            data, account, traces = read_people(data, contract, keep, columns, whole)
            origin = traces.origin(account.people, account.columns)
            columns, unread = account.columns, account.total_rejected
    sample = take_sample(data, contract, public, weights=weights, clusters=clusters, columns=columns)
    known = Regression(
        str(read),
        contract,
        model or "",
        (),
        np.zeros(0),
        np.zeros((0, 0)),
        errors or "",
        sample.people,
        left_out=describe_rows(sample, unread),
        public=tuple(public),
        level=level,
        origin=origin,
    )
    contract.mechanism.refuse_strays(tally(sample.reports))
    if private:
        case = _with_private_covariates(known, read, sample, question, base)
        return (
            _by_corrected_scores(case) if model != "joint" else _by_joint_likelihood(case, np.random.default_rng(seed))
        )
    if model == "joint":
        raise InvalidParameterError("model='joint' is for private covariates, and this formula has none.")
    distinct, numbers = _distinct(contract.mechanism, sample.reports)
    assert not isinstance(question, str)  # noqa: S101 (for the type checker: a public outcome has private covariates)
    chosen = model or _suitable_model(contract, question)
    design, matrix = Design.of(read, sample.frame, has_intercept=chosen != "ordered")
    _require_people(sample, len(design.names))
    require_full_rank(matrix, design.names)
    cells = MergedRows.of(sample, matrix, numbers)
    known = replace(
        known,
        model=chosen,
        errors=errors or ("information" if weights is None and clusters is None and chosen != "linear" else "sandwich"),
        rare=cells.rare,
        facts=_facts(sample, cells),
    )
    plain = Case(known, read, design, sample, cells, distinct)
    if chosen == "linear":
        return _by_moments(plain, question)
    return _by_likelihood(plain, base, np.random.default_rng(seed))


def _by_sums(file: LargeFile, formula: Formula, survey: Survey, question: FloatArray | None, model: str) -> Regression:
    """Fit by least squares from sums, which DuckDB adds up."""
    if model != "linear":
        raise TooLargeError(
            f"The file has more than {MOST_CELLS:,} different rows. For so many there is only least squares of the "
            f"private value, without clusters: model='linear'. Round the covariates, or read a sample of the rows."
        )
    mechanism, raw = survey.mechanism, file.distinct_reports()
    reports = as_reports(survey, [np.array(raw)])
    mechanism.refuse_strays(tally(reports))
    own = mechanism.alphabet.amounts if question is None else question
    values = PseudoValues(mechanism, own, repr(formula.outcome)).values(reports)
    try:
        squares = PseudoValues(mechanism, own**2, "the variance").values(reports)
    except NotInvertibleError:
        squares = np.full(len(values), math.nan)
    naive = _naive_amounts(mechanism, reports, question)
    beside = np.full(len(values), math.nan) if naive is None else naive
    design, columns = file.design(formula)
    found = add_up(file, design, columns, dict(zip(raw, np.stack([values, squares, beside], axis=1), strict=True)))
    errors = np.sqrt(np.diag(found.covariance))
    left = file.rows - file.used
    return Regression(
        str(formula),
        survey,
        "linear",
        design.names,
        found.fitted,
        found.covariance,
        "sandwich",
        float(file.used),
        naive=found.naive,
        exact=found.exact * errors,
        outcomes=(survey.name if question is None else formula.outcome,),
        left_out=f"{counted(left, 'row')} with gaps or of weight 0" if left else "",
        rare=math.nan,
        public=tuple(formula.variables),
    )


def _facts(sample: Sample, cells: MergedRows) -> dict[str, float]:
    """Return what else there is to know of the people."""
    found = {"cells": float(cells.report.size)}
    found |= {} if sample.weights is None else {"design effect": cells.design_effect}
    return found | ({} if sample.clusters is None else {"clusters": float(sample.clusters.max() + 1)})


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


def _names_of(survey: Survey) -> tuple[str, ...]:
    """Return the names of the private values."""
    attributes = survey.alphabet.attributes
    return (survey.name,) if attributes is None else attributes.names


def _asked(formula: Formula, survey: Survey, columns: Sequence[str]) -> tuple[Survey, tuple[str, ...]]:
    """Return the attributes' survey that a formula names, and its columns."""
    attributes = survey.alphabet.attributes
    if attributes is None:
        return survey, tuple(columns)
    words = set(re.findall(r"\w+", formula.outcome)) | set(formula.variables)
    named = [one for one in attributes.names if one in words]
    if not named:
        raise InvalidParameterError(
            f"'{formula}' names none of the private values of this survey: {listed(list(attributes.names))}."
        )
    part = survey.mechanism.part(*named)
    if part is None:
        raise InvalidParameterError(
            f"A report of {listed(named)} depends on the other attributes of this survey, so it cannot stand in a "
            f"regression by itself. confide estimate answers questions about all of them together."
        )
    # Only columns of the attributes that the formula names are read.
    own = dict(zip(attributes.names, columns or attributes.names, strict=True))
    name = named[0] if len(named) == 1 else survey.name
    return Survey(part, name, survey.title), tuple(own[one] for one in named)


def _question(
    formula: Formula, survey: Survey, columns: Sequence[str], *, has_private: bool
) -> FloatArray | str | None:
    """Return the weights of the share that an outcome asks for.

    None if it is the private value itself, and its name if it is a public column, which private covariates explain.
    """
    names = _names_of(survey)
    if formula.outcome in formula.variables:
        raise InvalidParameterError(f"{formula.outcome} stands on both sides of '{formula}'.")
    noisy = [one for one in formula.variables if one in ("report", *columns) and one not in names]
    if noisy:
        raise InvalidParameterError(
            f"{noisy[0]} has the reports, which are blurred. Write {listed(list(names))} for the private value itself."
        )
    if formula.outcome in (*names, "report", *columns):
        return None
    try:
        return as_weights(formula.outcome, survey.alphabet, survey.name)
    except InvalidParameterError:
        if has_private:
            return formula.outcome
        if not re.fullmatch(r"\w+", formula.outcome):  # a share that is none, and the error says why
            raise
        raise InvalidParameterError(
            f"The outcome {formula.outcome!r} is neither {survey.name!r}, the private value of this survey, nor a "
            f"share of it{suggestion(formula.outcome, names)}."
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


def _distinct(mechanism: Mechanism, reports: Values) -> tuple[Values, Indices]:
    """Return the distinct reports, and which of them each row has."""
    outputs = mechanism.report_alphabet
    if outputs.is_listable:  # by number: several attributes may be words and numbers
        seen, numbers = np.unique(outputs.locate(reports), return_inverse=True)
        return outputs.decode(seen), numbers.reshape(-1).astype(np.int64)
    distinct, numbers = np.unique(reports, axis=0 if reports.ndim > 1 else None, return_inverse=True)
    return distinct, numbers.reshape(-1).astype(np.int64)


def _by_moments(case: Case, question: FloatArray | None) -> Regression:
    """Fit by least squares of unbiased values: no model of their distribution."""
    cells, alphabet = case.cells, case.mechanism.alphabet
    if question is None and not alphabet.has_mean:
        name, label = case.known.survey.name, next(iter(alphabet.labels(range(1))))
        raise InvalidParameterError(
            f"Values such as {label} are no numbers, so model='linear' explains a share of them: '{name} == {label} ~ "
            f"{case.formula.terms}'. Without model, the formula has a logit."
        )
    own = alphabet.amounts if question is None else question
    values = PseudoValues(case.mechanism, own, "the mean" if question is None else repr(case.formula.outcome)).values(
        case.distinct
    )
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
    # E (y - m)^2 = E y^2 - 2 m E y + m^2: with the reports' unbiased values of y and of y^2, what is left of a squared
    # residual once the noise is taken out of it.
    cells, mean = case.cells, case.cells.design @ fitted
    known = values[cells.report]
    exact, noisy = (
        np.diag(bread @ (cells.design.T @ ((cells.squares * one)[:, None] * cells.design)) @ bread)
        for one in (squared[cells.report] - 2 * mean * known + mean**2, (known - mean) ** 2)
    )
    return np.asarray(np.sqrt(np.clip(exact / np.maximum(noisy, 1e-300), 0.0, 1.0)))


def _require_people(sample: Sample, coefficients: int) -> None:
    """Reject samples that leave nothing to judge errors by."""
    if sample.people <= coefficients:
        raise InvalidParameterError(
            f"{counted(int(sample.people), 'person')} cannot tell {counted(coefficients, 'coefficient')} and their "
            f"errors. Use fewer covariates, or more people."
        )


def sandwich(bread: FloatArray, scores: FloatArray, cells: MergedRows, sample: Sample, parameters: int) -> FloatArray:
    """Return the robust covariance, with sums over clusters where there are any."""
    if sample.clusters is None:
        # HC1 of MacKinnon and White (1985): residuals of a fit are too small by its own coefficients.
        factor = sample.people / max(sample.people - parameters, 1.0)
        return np.asarray(factor * bread @ (scores.T @ (cells.squares[:, None] * scores)) @ bread)
    number = int(sample.clusters.max()) + 1
    if number <= 1:
        raise InvalidParameterError("All rows are in one cluster, which leaves no errors to estimate. Two are needed.")
    # People of a cluster may be alike, so their scores are added up before they are squared (Liang and Zeger 1986).
    each = sample.counts if sample.weights is None else sample.counts * sample.weights
    factors = each * sample.people / each.sum()
    sums = np.stack(
        [np.bincount(sample.clusters, factors * column[cells.of_row], number) for column in scores.T], axis=1
    )
    # CR1: as above, and the scores of all clusters add up to 0, which takes one of them.
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
        outputs = mechanism.report_alphabet
        is_alike = alphabet.geometry == outputs.geometry or not outputs.is_finite
        if question is None and distinct.dtype.kind in "iuf" and is_alike:
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
    best, agreeing, starts = _best_of_starts(problem, starting_points(problem, naive, rng, STARTS))
    names = _names(known.model, case.design, labels, place)
    is_free, covariance, shares = _errors_of(problem, best, known.errors, case.sample)
    # Columns of M were scaled; this puts the scale back, so that the log-likelihood is that of the reports.
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
    # Answers that odds are against where a question has two answers.
    no_answers = ("no", "none", "false", "0", "never", "n")
    if base is not None:
        if base not in labels:
            raise InvalidParameterError(f"base is one of {name_some(labels)}; got {base!r}{suggestion(base, labels)}.")
        return labels.index(base)
    if len(labels) > 2:
        return 0
    return next((at for at, one in enumerate(labels) if one.strip().lower() in no_answers), 0)


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
        # In standard units, for squares of values such as years would leave the curvature with few digits.
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
    # The column of a report taken as true is 1 for its own value alone.
    as_true = ReportLikelihood(problem.family, problem.cells, np.eye(alphabet.size)[alphabet.encode(distinct)])
    start = starting_points(as_true, None, np.random.default_rng(0), 1)[0]
    found = climb(as_true, start)
    return found.parameters if found.is_done else None


def _best_of_starts(problem: Searched, starts: Sequence[FloatArray]) -> tuple[Climb, int, int]:
    """Return the highest maximum, how many starts reached it, and their number."""
    found = [climb(problem, one) for one in starts if problem.value(one) > -math.inf]
    if not found:
        raise InvalidParameterError("No start explains these reports. Were they made with another survey?")
    # Of two that are equally high, the one that stands on a maximum.
    best = max(found, key=lambda one: (round(one.value, 6), one.is_done))
    return best, sum(one.value > best.value - 1e-3 for one in found), len(found)


def _inverse(matrix: FloatArray) -> FloatArray:
    """Return an inverse, whatever the scales of columns are.

    Rows of zeros stay zero.
    """
    # Scaled to a unit diagonal, a cut at 1e-14 does not depend on the units of covariates.
    scale = np.sqrt(np.maximum(np.abs(np.diag(matrix)), 1e-300))
    scaled = matrix / scale / scale[:, None]
    return np.asarray(np.linalg.pinv(scaled, rcond=1e-14, hermitian=True) / scale / scale[:, None])


def _errors_of(
    problem: Searched, best: Climb, errors: str, sample: Sample
) -> tuple[NDArray[np.bool_], FloatArray, FloatArray]:
    """Return finite coefficients, their covariance, and each error's exact part."""
    is_free = np.ones(best.parameters.size, dtype=bool) if best.escaping is None else best.escaping <= 0.05
    # Coefficients that grow without end are held: the others have the errors that they have at the end.
    held = np.outer(is_free, is_free)
    _, information, scores = problem.derivatives(best.parameters)
    information, scores = information * held, scores * is_free
    bread = _inverse(information)
    covariance = bread
    if errors == "scores":
        covariance = _inverse(scores.T @ (problem.cells.weights[:, None] * scores))
    elif errors != "information":
        covariance = sandwich(bread, scores, problem.cells, sample, 0)
    # The part of an error that is due to noise, from comparable errors: both rest on information.
    exact, plain = np.diag(_inverse(problem.true_information(best.parameters) * held)), np.diag(bread)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.sqrt(np.where(is_free, np.clip(exact / plain, 0.0, 1.0), math.nan))
    return is_free, covariance, shares


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

    # With natural parameters a = mean / variance and b = 1 / variance: mean = a / b, sigma = b^(-1/2). These are their
    # derivatives, for the delta method.
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


@dataclass(frozen=True, eq=False)
class PrivateCase(Case):
    """What a fit with private covariates starts from.

    Attributes
    ----------
    blocks, every
        The columns, as blocks of a row for each value, and the table of all of these.
    frame
        The combinations of public covariates.
    places
        The combination of each cell.
    outcome
        One column with the outcome of each cell, or one row with that of each value.
    labels
        What the outcome is called, or its two answers.
    is_logit
        Whether it has two answers.
    """

    blocks: FloatArray
    every: Any
    frame: Any
    places: Indices
    outcome: FloatArray
    labels: tuple[str, ...]
    is_logit: bool

    def answer(self, parameters: FloatArray, covariance: FloatArray, masses: FloatArray, **found: Any) -> Regression:
        """Return the answer; the parameters of the outcome come first."""
        size = len(self.design.names)
        predictor = Predictor(
            self.formula,
            self.design,
            self.every,
            masses.reshape(-1),
            parameters[:size],
            covariance[:size, :size],
            _logit_shares if self.is_logit else lambda parameters, matrix: (matrix @ parameters)[:, None],
            self.labels if self.is_logit else ("",),
            self.is_logit,
        )
        own = {
            "model": "logit" if self.is_logit else "linear",
            "errors": "sandwich",
            "names": self.design.names,
        } | found
        return replace(
            self.known,
            estimates=parameters,
            covariance=covariance,
            predictor=predictor,
            outcomes=self.labels,
            base=self.labels[0] if self.is_logit else "",
            rare=self.cells.rare,
            facts=_facts(self.sample, self.cells),
            private=tuple(one for one in _names_of(self.known.survey) if one in self.formula.variables),
            **own,
        )


def _with_private_covariates(
    known: Regression, formula: Formula, sample: Sample, question: FloatArray | str | None, base: str | None
) -> PrivateCase:
    """Return the case of a regression whose covariates are private."""
    survey = known.survey
    survey.alphabet.require_listable()
    distinct, numbers = _distinct(survey.mechanism, sample.reports)
    outcome, labels, is_logit = _outcome(known, sample, question, formula.outcome, base)
    public = [one for one in sample.frame if one in formula.variables]
    combination, frame = distinct_people(sample.frame[public], sample.counts.size)
    design, blocks, every = possible_design(formula, frame, survey)
    is_public = isinstance(question, str)
    cells = MergedRows.of(sample, np.stack([combination, outcome if is_public else combination], axis=1), numbers)
    outcome = cells.design[:, 1:] if is_public else outcome[None, :]
    places = cells.design[:, 0].astype(np.int64)
    return PrivateCase(
        known, formula, design, sample, cells, distinct, blocks, every, frame, places, outcome, labels, is_logit
    )


def _by_corrected_scores(case: PrivateCase) -> Regression:
    """Fit by corrected scores.

    Least squares or a logit over every value that a person may have.
    """
    _require_people(case.sample, case.blocks.shape[2])
    # A logit takes any function of the values, least squares their products with columns and outcome alone: fewer need
    # be identified.
    basis = np.eye(case.blocks.shape[1]) if case.is_logit else needed_functions(case.blocks, case.outcome, 2)
    weights = signed_weights(case.mechanism, case.distinct, basis)
    equations = CorrectedScores(case.blocks, case.cells, case.places, case.outcome, case.is_logit, weights)
    fitted = equations.solve()
    bread = _inverse(equations.information(fitted))
    covariance = sandwich(bread, equations.scores(fitted), case.cells, case.sample, fitted.size)
    return case.answer(
        fitted,
        covariance,
        equations.masses,
        naive=_naive_solution(equations, case.mechanism, case.distinct),
        exact=_exact_errors(equations, case.mechanism, case.distinct, fitted, covariance),
    )


def _by_joint_likelihood(case: PrivateCase, rng: np.random.Generator) -> Regression:
    """Fit by the joint likelihood of outcome and report.

    A model of the private value beside that of the outcome.
    """
    # Numbers that the joint likelihood takes for classes; more of them have a normal distribution.
    most_classes = 6
    alphabet, size = case.mechanism.alphabet, case.blocks.shape[2]
    if case.outcome.shape[1] > 1:
        raise InvalidParameterError("model='joint' needs a public outcome. Leave it out: corrected scores need none.")
    public = case.formula.without(_names_of(case.known.survey))
    own_design, matrix = Design.of(public, case.frame)
    columns = Columns.of(case.mechanism, case.distinct)
    is_number = alphabet.has_mean and alphabet.size > most_classes
    amounts = alphabet.amounts if alphabet.has_mean else np.zeros(alphabet.size)
    family = (
        ExponentialFamily.normal((amounts - amounts.mean()) / amounts.std())
        if is_number
        else ExponentialFamily.multinomial(alphabet.size, 0)
    )
    cells = replace(case.cells, design=matrix[case.places])
    latent = ReportLikelihood(family, cells, columns.rows)
    problem = JointLikelihood(latent, family, case.blocks, case.places, case.outcome[:, 0], case.is_logit)
    start = np.zeros(problem.size)
    if not case.is_logit:
        share = cells.weights / cells.weights.sum()
        mean = float(share @ problem.outcome)
        start[-1] = math.log(max(float(np.sqrt(share @ (problem.outcome - mean) ** 2)), 1e-300))
    # Later starts move each coefficient so that a predictor changes by half a log-odds, or half a unit, or so.
    spread = np.where(np.arange(problem.size) < size, 0.5 / problem.scales[: problem.size], 0.0)
    starts = [
        np.concatenate([start + (number > 0) * spread * rng.standard_normal(problem.size), one])
        for number, one in enumerate(starting_points(latent, None, rng, STARTS))
    ]
    best, agreeing, count = _best_of_starts(problem, starts)
    names = case.design.names if case.is_logit else (*case.design.names, "log(sigma)")
    if not is_number:
        names += tuple(
            f"{case.known.survey.name} {label}: {name}"
            for label in list(alphabet.labels(range(alphabet.size)))[1:]
            for name in own_design.names
        )
    is_robust = case.sample.weights is not None or case.sample.clusters is not None
    errors = case.known.errors or ("sandwich" if is_robust else "information")
    is_free, covariance, shares = _errors_of(problem, best, errors, case.sample)
    shown = slice(0, len(names))
    offset = float(np.bincount(cells.report, cells.weights, len(case.distinct)) @ columns.log_scale)
    return case.answer(
        best.parameters[shown],
        covariance[shown, shown],
        problem.masses(best.parameters),
        names=names,
        errors=errors,
        llf=best.value + offset,
        starts=count,
        agreeing=agreeing,
        is_done=best.is_done,
        separated=tuple(name for name, is_held in zip(names, ~is_free, strict=False) if is_held),
        exact=(shares * np.sqrt(np.maximum(np.diag(covariance), 0.0)))[shown],
    )


def _logit_shares(parameters: FloatArray, matrix: FloatArray) -> FloatArray:
    share = 1 / (1 + np.exp(-np.clip(matrix @ parameters, -700, 700)))
    return np.stack([1 - share, share], axis=1)


def _outcome(
    known: Regression, sample: Sample, question: FloatArray | str | None, name: str, base: str | None
) -> tuple[FloatArray, tuple[str, ...], bool]:
    """Return the outcome of each row, or of each private value.

    And its labels, and whether a logit explains it.
    """
    if known.model not in ("", "linear", "logit", "joint"):
        raise InvalidParameterError(
            f"Private covariates go with model='linear', 'logit' or 'joint'; got {known.model!r}. Ask for a share of "
            f"the outcome, or for a number."
        )
    if isinstance(question, np.ndarray):
        column: Any = question
    elif isinstance(question, str):
        column = sample.frame[question].to_numpy()
    else:
        column = private_columns(known.survey.alphabet, _names_of(known.survey))[name]
    levels = sorted(set(column.tolist()), key=str)
    if len(levels) == 1:
        raise InvalidParameterError(f"{name} is {levels[0]} for everybody: there is nothing to explain.")
    words = [f"{one:g}" if is_number(one) and not isinstance(one, bool) else str(one) for one in levels]
    # Two numbers other than 0 and 1, such as prices, are classes only if a logit was asked for.
    is_two = len(levels) == 2 and (column.dtype.kind not in "iuf" or set(levels) == {0, 1} or known.model == "logit")
    if known.model == "logit" and not is_two:
        raise InvalidParameterError(f"A logit has two answers; {name} has {counted(len(levels), 'value')}.")
    if is_two and known.model != "linear" and not isinstance(question, np.ndarray):
        place = _base_place(words, base)
        labels = (words[place], words[1 - place])
        return (column == levels[1 - place]).astype(np.float64), labels, True
    if column.dtype.kind not in "iufb":
        raise InvalidParameterError(
            f"{name} has {counted(len(levels), 'value')} such as {name_some(words[:2])}, which are no numbers. With "
            f"private covariates an outcome is a number, or has two answers."
        )
    return column.astype(np.float64), (name,), False


def _naive_solution(equations: CorrectedScores, mechanism: Mechanism, distinct: Values) -> FloatArray | None:
    """Return the fit that takes reports for true values.

    None where they are none.
    """
    alphabet = mechanism.alphabet
    try:
        reports = alphabet.as_array(distinct)
        if mechanism.facts.bits is not None or not alphabet.contains(reports).all():
            return None
        return replace(equations, weights=np.eye(alphabet.size)[alphabet.encode(reports)]).solve()
    except (InvalidParameterError, SolverError, TypeError, ValueError):
        return None


def _exact_errors(
    equations: CorrectedScores, mechanism: Mechanism, distinct: Values, fitted: FloatArray, covariance: FloatArray
) -> FloatArray | None:
    """Return standard errors if true values had been sent.

    None where these cannot be known.

    The squared scores of true values are functions of these, which have unbiased values.
    """
    size = mechanism.alphabet.size
    try:
        basis = np.eye(size) if equations.is_logit else needed_functions(equations.design, equations.outcome, 4)
        weights = signed_weights(mechanism, distinct, basis)
    except (NotInvertibleError, InvalidParameterError):
        return None
    true = replace(equations, weights=weights)
    bread = _inverse(equations.information(fitted))
    return np.asarray(np.sqrt(np.clip(np.diag(bread @ true.true_meat(fitted) @ bread), 0.0, np.diag(covariance))))
