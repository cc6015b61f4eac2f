"""Without noise, and by moments, regress() has the numbers of statsmodels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import confide as cf

pandas = pytest.importorskip("pandas")
pytest.importorskip("formulaic")
models = pytest.importorskip("statsmodels.api")

PEOPLE = 600


@pytest.fixture(scope="module")
def data() -> Any:
    rng = np.random.default_rng(3)
    table = pandas.DataFrame({"age": rng.integers(20, 70, PEOPLE), "female": rng.integers(0, 2, PEOPLE)})
    table["city"] = rng.choice(["Bern", "Oslo", "Rome"], PEOPLE)
    table["weight"] = rng.lognormal(size=PEOPLE)
    table["village"] = rng.integers(0, 40, PEOPLE)
    lifted = 0.04 * (table["age"] - 45) - 0.5 * table["female"] + 0.8 * (table["city"] == "Oslo")
    table["number"] = np.digitize(lifted + rng.logistic(size=PEOPLE), [-1.0, 0.5, 2.0])
    return table


def matrix_of(data: Any) -> Any:
    towns = [(data["city"] == one).astype(float) for one in ("Oslo", "Rome")]
    return np.column_stack([np.ones(len(data)), data["age"], data["female"], *towns])


FORMULA = "answer ~ age + female + city"


def without_noise(values: list[str], data: Any, kind: type[cf.Alphabet] = cf.Categories) -> cf.Survey:
    alphabet = kind(values)  # type: ignore[call-arg]
    data["report"] = alphabet.decode(np.minimum(data["number"].to_numpy(), len(values) - 1))
    return cf.Survey(cf.RandomizedResponse(alphabet, epsilon=40.0), "answer")


def test_without_noise_two_answers_have_the_usual_logit(data: Any) -> None:
    survey = without_noise(["no", "yes"], data)
    ours = cf.regress(FORMULA, data, survey)
    theirs = models.Logit(np.minimum(data["number"], 1), matrix_of(data)).fit(disp=0)
    assert ours.estimates == pytest.approx(theirs.params, abs=1e-7)
    assert ours.standard_errors == pytest.approx(theirs.bse, rel=1e-6)
    assert ours.llf == pytest.approx(theirs.llf, rel=1e-9)
    assert ours.privacy == pytest.approx(0.0, abs=1e-6)
    assert ours.naive == pytest.approx(ours.estimates, abs=1e-6)
    margins = theirs.get_margeff(at="overall", dummy=False)
    own = ours.get_margeff().set_index("covariate")
    assert own.loc["age", "effect"] == pytest.approx(margins.margeff[0], rel=1e-5)
    assert own.loc["age", "std err"] == pytest.approx(margins.margeff_se[0], rel=1e-4)


def test_without_noise_categories_have_the_usual_multinomial_logit(data: Any) -> None:
    ours = cf.regress(FORMULA, data, without_noise(["red", "green", "blue"], data))
    theirs = models.MNLogit(np.minimum(data["number"], 2), matrix_of(data)).fit(disp=0)
    assert ours.estimates == pytest.approx(theirs.params.to_numpy().T.ravel(), abs=1e-6)
    assert ours.standard_errors == pytest.approx(theirs.bse.to_numpy().T.ravel(), rel=1e-5)
    assert ours.names[5] == "blue: Intercept"


def test_without_noise_scales_have_the_usual_ordered_logit(data: Any) -> None:
    ordinal = pytest.importorskip("statsmodels.miscmodels.ordinal_model")
    ours = cf.regress(FORMULA, data, without_noise(["never", "rarely", "often", "always"], data, cf.Scale))
    theirs = ordinal.OrderedModel(data["number"], matrix_of(data)[:, 1:], distr="logit").fit(method="newton", disp=0)
    cuts = np.cumsum([theirs.params.iloc[4], *np.exp(theirs.params.iloc[5:])])
    assert ours.estimates == pytest.approx([*theirs.params.iloc[:4], *cuts], abs=2e-4)
    assert ours.standard_errors[:4] == pytest.approx(theirs.bse.iloc[:4], rel=1e-3)
    assert ours.names[-1] == "often | always"


@pytest.mark.parametrize(
    "mechanism", [cf.Geometric(cf.Integers(0, 3), 0.8), cf.Rappor(cf.Integers(0, 3), 1.5)], ids=repr
)
def test_moments_are_least_squares_of_pseudo_values_in_statsmodels(data: Any, mechanism: cf.Mechanism) -> None:
    reports = mechanism.privatize(data["number"].to_numpy(), rng=1)
    table = data.drop(columns="report", errors="ignore")
    columns = mechanism.report_alphabet.field_names if mechanism.report_alphabet.parts > 1 else ("report",)
    for name, column in zip(columns, np.reshape(reports, (PEOPLE, -1)).T, strict=True):
        table[name] = column
    values = cf.unbias(reports, mechanism)
    survey = cf.Survey(mechanism, "answer")
    plain = cf.regress(FORMULA, table, survey)
    theirs = models.OLS(values, matrix_of(data)).fit(cov_type="HC1")
    assert plain.estimates == pytest.approx(theirs.params, abs=1e-9)
    assert plain.standard_errors == pytest.approx(theirs.bse, rel=1e-9)
    weighted = cf.regress(FORMULA, table, survey, weights="weight", clusters="village")
    theirs = models.WLS(values, matrix_of(data), weights=data["weight"]).fit(
        cov_type="cluster", cov_kwds={"groups": data["village"].to_numpy()}
    )
    assert weighted.estimates == pytest.approx(theirs.params, abs=1e-9)
    assert weighted.standard_errors == pytest.approx(theirs.bse, rel=1e-8)


def test_a_share_may_be_the_outcome(data: Any) -> None:
    mechanism = cf.TruncatedGeometric(cf.Integers(0, 3), 1.0)
    table = data.assign(report=mechanism.privatize(data["number"].to_numpy(), rng=4))
    ours = cf.regress("answer >= 2 ~ age + female + city", table, cf.Survey(mechanism, "answer"))
    values = cf.unbias(table["report"].to_numpy(), mechanism, "answer >= 2", name="answer")
    assert ours.estimates == pytest.approx(models.OLS(values, matrix_of(data)).fit().params, abs=1e-9)
