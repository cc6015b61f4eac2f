"""Private covariates: corrected scores are those of true values, averaged over the noise."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.optimize

import confide as cf
from confide.errors import InvalidParameterError, SolverError
from confide.regression.answers import Regression
from confide.regression.designs import Design, Formula, take_sample
from confide.regression.fitting import _with_private_covariates
from confide.regression.joint import JointLikelihood
from confide.regression.likelihood import Columns, ExponentialFamily, ReportLikelihood

pandas = pytest.importorskip("pandas")
pytest.importorskip("formulaic")
models = pytest.importorskip("statsmodels.api")

search: Any = scipy.optimize

AGES, TOWNS = cf.Integers(0, 9), cf.Categories(["Bern", "Oslo", "Rome"])


def people(number: int, seed: int = 1) -> Any:
    rng = np.random.default_rng(seed)
    table = pandas.DataFrame({"female": rng.integers(0, 2, number), "age": rng.binomial(9, 0.4, number)})
    table["town"] = rng.choice(["Bern", "Oslo", "Rome"], number)
    lifted = -1.0 + 0.3 * table["age"] - 0.5 * table["female"] + 0.7 * (table["town"] == "Oslo")
    table["score"] = (lifted + rng.normal(size=number)).round(2)
    table["agrees"] = rng.random(number) < 1 / (1 + np.exp(-lifted))
    return table


def sent(table: Any, mechanism: cf.Mechanism, column: str, seed: int = 2) -> Any:
    """Return the table with reports in place of the private column."""
    reports = np.reshape(mechanism.privatize(table[column].to_numpy(), rng=seed), (len(table), -1))
    names = mechanism.report_alphabet.field_names
    kept = table.drop(columns=column)
    return kept.assign(**dict(zip(names if len(names) > 1 else ["report"], reports.T, strict=True)))


@pytest.mark.parametrize("outcome", ["score", "agrees"])
@pytest.mark.parametrize("weights", [None, "weight"])
def test_without_noise_the_numbers_are_those_of_statsmodels(outcome: str, weights: str | None) -> None:
    table = people(700).assign(weight=np.random.default_rng(3).random(700))
    mechanism = cf.RandomizedResponse(AGES, epsilon=40.0)
    found = cf.regress(
        f"{outcome} ~ age + female", sent(table, mechanism, "age"), cf.Survey(mechanism, "age"), weights=weights
    )
    matrix = np.column_stack([np.ones(700), table["age"], table["female"]])
    own = np.ones(700) if weights is None else table["weight"]
    if outcome == "score":
        theirs = models.WLS(table["score"], matrix, weights=own).fit(cov_type="HC1")
    else:
        family = models.families.Binomial()
        theirs = models.GLM(table["agrees"].astype(float), matrix, family=family, var_weights=own).fit(cov_type="HC1")
    assert found.estimates == pytest.approx(theirs.params, abs=1e-6)
    assert found.standard_errors == pytest.approx(theirs.bse, rel=5e-3)
    assert found.names == ("Intercept", "age", "female")
    assert found.privacy == pytest.approx(0.0, abs=5e-3)
    assert found.private == ("age",)


MECHANISMS: list[tuple[cf.Mechanism, str, str]] = [
    (cf.RandomizedResponse(AGES, 2.5), "score ~ age + female", "age"),
    (cf.Geometric(AGES, 0.5), "score ~ age + female", "age"),
    (cf.Laplace(AGES, 0.5), "agrees ~ age + female", "age"),
    (cf.SquareWave(AGES, 3.0), "score ~ age + female", "age"),
    (cf.TruncatedGeometric(AGES, 0.5), "agrees ~ age * female", "age"),
    (cf.RandomizedResponse(TOWNS, 2.0), "score ~ town + female", "town"),
    (cf.Rappor(TOWNS, 3.0), "agrees ~ C(town) + female", "town"),
]


@pytest.mark.parametrize(("mechanism", "formula", "column"), MECHANISMS, ids=lambda one: getattr(one, "kind", str(one)))
def test_noise_leaves_no_bias(mechanism: cf.Mechanism, formula: str, column: str) -> None:
    """Against the fit with true values, of the same people: what is left is the noise alone."""
    table = people(20_000)
    survey, clear = cf.Survey(mechanism, column), cf.RandomizedResponse(mechanism.alphabet, 40.0)
    found = cf.regress(formula, sent(table, mechanism, column), survey)
    true = cf.regress(formula, sent(table, clear, column), cf.Survey(clear, column))
    assert found.names == true.names
    noise = np.sqrt(found.standard_errors**2 - true.standard_errors**2)
    assert (np.abs(found.estimates - true.estimates) < 3.5 * noise).all()
    # A fit to the reports is many standard errors off, where reports are values.
    if found.naive is not None:
        assert np.abs((found.naive - true.estimates) / found.standard_errors).max() > 5
    known = np.isfinite(found.privacy)
    if column == "town" or mechanism.kind != "square-wave":
        assert ((1 - found.privacy) * found.standard_errors)[known] == pytest.approx(
            true.standard_errors[known], rel=0.25
        )


@pytest.mark.slow
@pytest.mark.parametrize("formula", ["score ~ age + female", "agrees ~ age + female"])
def test_standard_errors_are_as_large_as_errors(formula: str) -> None:
    """150 surveys with three coefficients: a scale 20 % off would be seen."""
    mechanism = cf.TruncatedGeometric(AGES, 0.6)
    truth, ratios = (-1.0 + 0.7 / 3 * formula.startswith("s"), 0.3, -0.5), []
    for seed in range(150):
        table = people(800, seed)
        if formula.startswith("a"):  # without the town, whose effect a logit cannot leave out unchanged
            rng = np.random.default_rng(10_000 + seed)
            lifted = -1.0 + 0.3 * table["age"] - 0.5 * table["female"]
            table["agrees"] = rng.random(800) < 1 / (1 + np.exp(-lifted))
        found = cf.regress(formula, sent(table, mechanism, "age", 500 + seed), cf.Survey(mechanism, "age"))
        ratios.append((found.estimates - truth) / found.standard_errors)
    assert np.sqrt(np.mean(np.std(ratios, axis=0) ** 2)) == pytest.approx(1.0, abs=0.12)
    assert np.abs(np.mean(ratios, axis=0)).max() < 0.35


BOTH = cf.Survey(
    cf.Product(
        age=cf.TruncatedGeometric(AGES, 0.8),
        town=cf.RandomizedResponse(TOWNS, 3.0),
        income=cf.TruncatedGeometric(AGES, 0.8),
    ),
    "all",
)


def test_outcome_and_covariates_may_both_be_private() -> None:
    table = people(30_000)
    rng = np.random.default_rng(4)
    table["income"] = rng.binomial(9, 0.2 + 0.06 * table["age"] + 0.1 * (table["town"] == "Rome"))
    values = list(zip(table["age"].tolist(), table["town"].tolist(), table["income"].tolist(), strict=True))
    reports = BOTH.mechanism.privatize(values, rng=5)
    data = {"female": table["female"], "age": [one[0] for one in reports], "town": [one[1] for one in reports]}
    data["income"] = [one[2] for one in reports]
    found = cf.regress("income ~ age + town + female", data, BOTH)
    truth = [1.8, 0.54, 0.0, 0.9, 0.0]
    assert found.names == ("Intercept", "age", "town[T.Oslo]", "town[T.Rome]", "female")
    assert (np.abs(found.estimates - truth) < 3.5 * found.standard_errors).all()
    assert (found.standard_errors < 0.3).all()
    # A share of the outcome, a public covariate alone, and an answer of two.
    share = cf.regress("income >= 5 ~ age", data, BOTH)
    true = models.OLS((table["income"] >= 5).astype(float), models.add_constant(table["age"])).fit()
    assert (np.abs(share.estimates - true.params.to_numpy()) < 4 * share.standard_errors).all()
    alone = cf.regress("income ~ female", data, BOTH)
    part = cf.Survey(cf.TruncatedGeometric(AGES, 0.8), "income")
    plain = cf.regress("income ~ female", {"female": data["female"], "report": data["income"]}, part)
    assert alone.estimates == pytest.approx(plain.estimates)
    assert cf.regress("town ~ female", data, BOTH).model == "multinomial"
    with pytest.raises(InvalidParameterError, match="names none of the private values"):
        cf.regress("female ~ 1", data, BOTH)
    with pytest.raises(InvalidParameterError, match="are no numbers"):
        cf.regress("town ~ age", data, BOTH)


def test_a_private_answer_of_two_has_a_logit_of_private_covariates() -> None:
    voters = cf.Survey(
        cf.Product(
            vote=cf.RandomizedResponse(cf.Categories(["yes", "no"]), 3.0), town=cf.RandomizedResponse(TOWNS, 3.0)
        ),
        "both",
    )
    table = people(20_000)
    truth = np.where(table["agrees"], "yes", "no")
    reports = voters.mechanism.privatize(list(zip(truth.tolist(), table["town"].tolist(), strict=True)), rng=5)
    data = {"vote": [one[0] for one in reports], "town": [one[1] for one in reports]}
    found = cf.regress("vote ~ town", data, voters)
    assert (found.model, found.base) == ("logit", "no")
    shares = [np.mean(table["agrees"][table["town"] == town]) for town in ("Bern", "Oslo", "Rome")]
    odds = [math.log(share / (1 - share)) for share in shares]
    expected = [odds[0], odds[1] - odds[0], odds[2] - odds[0]]
    assert (np.abs(found.estimates - expected) < 4 * found.standard_errors).all()
    predicted = found.predict({"town": ["Bern", "Oslo", "Rome"]})
    assert predicted[predicted["outcome"] == "yes"]["estimate"].to_numpy() == pytest.approx(shares, abs=0.05)
    assert found.predict().set_index("outcome")["estimate"]["yes"] == pytest.approx(np.mean(table["agrees"]), abs=0.03)


def test_noise_that_leaves_nothing_is_an_error_with_a_cure() -> None:
    mechanism = cf.RandomizedResponse(AGES, 0.05)
    failed = 0
    for seed in range(5):
        try:
            found = cf.regress("score ~ age", sent(people(100, seed), mechanism, "age"), cf.Survey(mechanism, "age"))
            assert (found.standard_errors > 0.1).all()
        except SolverError as error:
            assert "larger epsilon" in str(error)  # noqa: PT017
            failed += 1
    assert failed > 0


def test_formulas_and_models_that_do_not_go_with_private_covariates() -> None:
    mechanism = cf.Geometric(AGES, 1.0)
    data, survey = sent(people(300), mechanism, "age"), cf.Survey(mechanism, "age")
    for formula, settings, words in (
        ("score ~ age", {"model": "ordered"}, "go with model='linear', 'logit' or 'joint'"),
        ("score ~ age", {"model": "logit"}, "A logit has two answers"),
        ("town ~ age", {}, "are no numbers"),
        ("nothing ~ age", {}, "no column 'nothing'"),
        ("age ~ age", {}, "both sides"),
        ("agrees ~ age", {"base": "maybe"}, "base is one of"),
        ("score ~ age + female + I(2 * age)", {}, "sum of multiples of age"),
    ):
        with pytest.raises(InvalidParameterError, match=words):
            cf.regress(formula, data, survey, **settings)  # type: ignore[arg-type]
    assert cf.regress("agrees ~ age", data, survey, model="linear").model == "linear"
    assert cf.regress("agrees ~ age", data, survey, base="True").base == "True"
    text = str(cf.regress("agrees ~ age + female", data, survey))
    assert "corrected scores" in text


SIDES: list[tuple[str, str, cf.Alphabet]] = [
    ("agrees ~ town + female", "town", TOWNS),
    ("score ~ town + female", "town", TOWNS),
]
SIDES += [("agrees ~ age + female", "age", AGES), ("score ~ age + female", "age", AGES)]


def joint_of(formula: str, column: str, alphabet: cf.Alphabet) -> tuple[JointLikelihood, Any]:
    """Return a joint likelihood and a point at which it is looked at."""
    mechanism = cf.RandomizedResponse(alphabet, 1.5)
    table = sent(people(120), mechanism, column)
    read, survey = Formula.read(formula), cf.Survey(mechanism, column)
    public = ["female", read.outcome]
    sample = take_sample(table, survey, public)
    known = Regression(formula, survey, "joint", (), np.zeros(0), np.zeros((0, 0)), "", 120)
    case = _with_private_covariates(known, read, sample, read.outcome, None)
    _, matrix = Design.of(Formula("", "1 + female"), case.frame)
    amounts = np.linspace(-1.5, 1.5, alphabet.size)
    family = ExponentialFamily.normal(amounts) if column == "age" else ExponentialFamily.multinomial(3, 0)
    rows = replace(case.cells, design=matrix[case.places])
    latent = ReportLikelihood(family, rows, Columns.of(mechanism, case.distinct).rows)
    made = JointLikelihood(latent, family, case.blocks, case.places, case.outcome[:, 0], case.is_logit)
    at = np.random.default_rng(3).normal(scale=0.3, size=made.scales.size)
    at[-1] = 0.8
    return made, at


@pytest.mark.parametrize(("formula", "column", "alphabet"), SIDES)
def test_the_joint_likelihood_has_the_derivatives_that_it_says(
    formula: str, column: str, alphabet: cf.Alphabet
) -> None:
    made, at = joint_of(formula, column, alphabet)
    gradient, information, scores = made.derivatives(at)
    assert gradient == pytest.approx(search.approx_fprime(at, made.value, 1e-7), rel=1e-4, abs=1e-3)
    assert gradient == pytest.approx(made.cells.weights @ scores)
    slopes = [search.approx_fprime(at, lambda x, j: made.derivatives(x)[0][j], 1e-6, j) for j in range(at.size)]
    assert information == pytest.approx(-np.array(slopes), rel=1e-3, abs=1e-2)
    assert np.linalg.eigvalsh(made.true_information(at)).min() > 0


@pytest.mark.parametrize("outcome", ["score", "agrees"])
def test_the_joint_likelihood_without_noise_is_two_regressions(outcome: str) -> None:
    table = people(700)
    clear = cf.RandomizedResponse(TOWNS, 40.0)
    found = cf.regress(
        f"{outcome} ~ town + female", sent(table, clear, "town"), cf.Survey(clear, "town"), model="joint"
    )
    towns = [(table["town"] == one).astype(float) for one in ("Oslo", "Rome")]
    matrix = np.column_stack([np.ones(700), *towns, table["female"]])
    theirs = (
        models.OLS(table["score"], matrix).fit()
        if outcome == "score"
        else models.Logit(table["agrees"].astype(float), matrix).fit(disp=0)
    )
    numbers = table["town"].map({"Bern": 0, "Oslo": 1, "Rome": 2})
    beside = models.MNLogit(numbers, models.add_constant(table["female"])).fit(disp=0)
    assert found.estimates[:4] == pytest.approx(theirs.params, abs=1e-6)
    assert found.standard_errors[:4] == pytest.approx(theirs.bse, rel=5e-3)
    assert found.estimates[-4:] == pytest.approx(beside.params.to_numpy().T.ravel(), abs=1e-5)
    assert found.names[-1] == "town Rome: female"
    assert found.llf == pytest.approx(theirs.llf + beside.llf, abs=0.01)
    assert found.privacy == pytest.approx(0.0, abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(("formula", "column", "alphabet"), SIDES[1:3])
def test_errors_of_the_joint_likelihood_are_as_large_as_it_says(
    formula: str, column: str, alphabet: cf.Alphabet
) -> None:
    mechanism, ratios, narrower = cf.RandomizedResponse(alphabet, 2.0), [], []
    reference = cf.RandomizedResponse(alphabet, 40.0)
    for seed in range(50):
        table = people(1000, seed)
        found, plain = (
            cf.regress(formula, sent(table, mechanism, column, 90 + seed), cf.Survey(mechanism, column), model=model)
            for model in ("joint", None)
        )
        true = cf.regress(formula, sent(table, reference, column), cf.Survey(reference, column))
        # Of the intercept and the private covariate: noise hardly matters to the others.
        noise = np.sqrt(found.standard_errors[:2] ** 2 - true.standard_errors[:2] ** 2)
        ratios.append((found.estimates[:2] - true.estimates[:2]) / noise)
        narrower.append(found.standard_errors[1] / plain.standard_errors[1])
    assert np.sqrt((np.array(ratios) ** 2).mean()) == pytest.approx(1.0, abs=0.2)
    assert np.mean(narrower) < 1.0


def test_a_joint_likelihood_needs_a_private_covariate_and_a_public_outcome() -> None:
    mechanism = cf.Geometric(AGES, 1.0)
    data, survey = sent(people(300), mechanism, "age"), cf.Survey(mechanism, "age")
    with pytest.raises(InvalidParameterError, match="this formula has none"):
        cf.regress("age ~ female", data, survey, model="joint")
    pair = cf.Survey(cf.Product(a=cf.RandomizedResponse(AGES, 1.0), b=cf.RandomizedResponse(AGES, 1.0)), "both")
    with pytest.raises(InvalidParameterError, match="needs a public outcome"):
        cf.regress("a ~ b", {"a": [1, 2, 3], "b": [3, 2, 1]}, pair, model="joint")
    found = cf.regress("agrees ~ age + female", data, survey, model="joint", errors="scores")
    text = str(found)
    assert "by joint likelihood" in text
    assert "a model of their own" in text
    assert found.llf is not None
