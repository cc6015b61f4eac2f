"""Data as they come: gaps, weights, classes that nobody has, covariates that repeat others, answers nobody gave."""

from __future__ import annotations

import builtins
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import confide as cf
from confide.errors import ImpossibleReportError, InvalidParameterError, MissingExtraError, NotInvertibleError
from confide.present.surveys import summarise_survey

pandas = pytest.importorskip("pandas")
pytest.importorskip("formulaic")

VOTES = cf.Survey(cf.RandomizedResponse(cf.Categories(["no", "yes"]), epsilon=2.0), "vote", "Votes")
AGES = cf.Survey(cf.Geometric(cf.Integers(0, 99, unit="year"), 0.5), "age", "Ages")


@pytest.fixture
def data() -> Any:
    rng = np.random.default_rng(1)
    table = pandas.DataFrame({"x": rng.integers(0, 5, 800), "town": rng.choice(["Bern", "Oslo"], 800)})
    truth = np.where(rng.random(800) < 1 / (1 + np.exp(1.0 - 0.4 * table["x"])), "yes", "no")
    table["report"] = VOTES.mechanism.privatize(truth, rng=2)
    return table


def test_rows_with_gaps_are_left_out_and_counted(data: Any) -> None:
    holed = data.copy()
    holed["x"] = holed["x"].astype(float)
    holed.loc[[3, 5], "x"] = None
    holed.loc[7, "report"] = None
    holed.loc[9, "town"] = None
    found = cf.regress("vote ~ x + town", holed, VOTES)
    assert found.nobs == 796
    assert found.left_out == "4 rows with gaps"
    rest = cf.regress("vote ~ x + town", data.drop(index=[3, 5, 7, 9]), VOTES)
    assert found.estimates == pytest.approx(rest.estimates, abs=1e-9)
    # A gap in a column that the formula does not use matters to nobody.
    assert cf.regress("vote ~ 1", holed.drop(columns="report").assign(report=data["report"]), VOTES).nobs == 800


@pytest.mark.parametrize("formula", ["vote ~ x + town", "vote == yes ~ x"])
def test_weights_are_ratios_and_count_as_many_people(data: Any, formula: str) -> None:
    rng = np.random.default_rng(4)
    weights = rng.integers(0, 3, len(data)).astype(float)
    found = cf.regress(formula, data, VOTES, weights=weights)
    assert found.left_out == f"{int((weights == 0).sum())} rows of weight 0"
    huge = cf.regress(formula, data, VOTES, weights=weights * 1e300)
    assert huge.estimates == pytest.approx(found.estimates, rel=1e-9)
    assert huge.standard_errors == pytest.approx(found.standard_errors, rel=1e-9)
    copies = data.loc[np.repeat(data.index, weights.astype(int))]
    repeated = cf.regress(formula, copies, VOTES)
    assert repeated.estimates == pytest.approx(found.estimates, abs=1e-7)
    # Copies of people are taken for people, and weights are not: their errors are larger.
    assert (found.standard_errors > 1.05 * repeated.standard_errors).all()
    counted = cf.regress(formula, data.assign(count=weights.astype(int)), VOTES)
    assert counted.standard_errors == pytest.approx(repeated.standard_errors, rel=1e-6)
    assert found.facts["design effect"] == pytest.approx(
        weights[weights > 0].size * (weights**2).sum() / weights.sum() ** 2
    )
    clustered = cf.regress(formula, copies, VOTES, clusters=copies.index.to_numpy())
    plain = cf.regress(formula, data, VOTES, weights=weights, errors="sandwich")
    assert clustered.standard_errors == pytest.approx(plain.standard_errors, rel=5e-3)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (-1.0, "at least 0 and finite; got -1 in row 4"),
        (math.inf, "finite; got inf in row 4"),
        ("heavy", "must be numbers"),
    ],
)
def test_weights_that_are_none_are_refused(data: Any, weights: Any, words: str) -> None:
    data["w"] = 1.0
    data["w"] = data["w"].astype(object)
    data.loc[4, "w"] = weights
    with pytest.raises(InvalidParameterError, match=words):
        cf.regress("vote ~ x", data, VOTES, weights="w")
    with pytest.raises(InvalidParameterError, match="positive weight"):
        cf.regress("vote ~ x", data, VOTES, weights=np.zeros(len(data)))
    with pytest.raises(InvalidParameterError, match="for each of 800 rows"):
        cf.regress("vote ~ x", data, VOTES, weights=[1.0, 2.0])
    with pytest.raises(InvalidParameterError, match="one cluster"):
        cf.regress("vote ~ x", data, VOTES, clusters=np.zeros(len(data)))


def test_covariates_that_add_up_are_named(data: Any) -> None:
    with pytest.raises(InvalidParameterError, match=r"twice of the regression is a sum of multiples of x"):
        cf.regress("vote ~ x + twice", data.assign(twice=2.0 * data["x"]), VOTES)
    with pytest.raises(InvalidParameterError, match="sum of multiples of Intercept"):
        cf.regress("vote ~ same", data.assign(same=3.0), VOTES)
    with pytest.raises(InvalidParameterError, match="0 for everybody"):
        cf.regress("vote ~ none", data.assign(none=0.0), VOTES)
    # Numbers of very different size are no copies of each other.
    assert cf.regress("vote ~ x + big", data.assign(big=1e9 * data["x"] ** 2), VOTES).is_done


def test_covariates_that_are_no_columns_of_a_regression(data: Any) -> None:
    for odd, words in (
        ({"x": 1e200 * data["x"]}, "x has values up to 4e.200, whose products are no numbers"),
        ({"x": 1e-200 * data["x"]}, "x has values up to 4e-200"),
        ({"x": [f"p{one}" for one in range(800)]}, "800 people cannot tell 800 coefficients"),
    ):
        with pytest.raises(InvalidParameterError, match=words):
            cf.regress("vote ~ x", data.assign(**odd), VOTES)
    twice = pandas.concat([data, data], ignore_index=True).assign(x=[f"p{one // 1.5}" for one in range(1600)])
    with pytest.raises(InvalidParameterError, match=r"has 1,067 columns, .* Does a covariate hold names"):
        cf.regress("vote ~ x", twice, VOTES)


def test_a_class_that_was_not_seen_has_no_prediction(data: Any) -> None:
    found = cf.regress("vote ~ x + town", data, VOTES)
    with pytest.raises(InvalidParameterError, match="'Rome' is none of the classes"):
        found.predict({"x": [1], "town": ["Rome"]})
    with pytest.raises(InvalidParameterError, match=r"The covariates have no 'town'\. Give town and x"):
        found.predict({"x": [1]})


def test_one_person_with_all_the_weight_is_said(data: Any) -> None:
    weights = np.ones(len(data))
    assert "equal weight" not in str(cf.regress("vote ~ x", data, VOTES, weights=weights))
    weights[3] = 1e3
    found = str(cf.regress("vote ~ x", data, VOTES, weights=weights))
    assert "800 people are worth 3.23 of equal weight: few have most of the weight." in found


def test_few_clusters_have_the_quantiles_of_student(data: Any) -> None:
    clusters = np.arange(800) % 6
    found = cf.regress("vote ~ x + town", data, VOTES, clusters=clusters)
    low, high = found.ends()
    assert high - low == pytest.approx(2 * 2.570582 * found.standard_errors)  # 5 degrees of freedom
    assert found.pvalues["x"] == pytest.approx(found.wald("x"))
    assert found.predicted[0]["high"] > found.predicted[0]["estimate"] + 2.3 * found.predicted[0]["std err"]


def test_a_class_that_nobody_has_is_no_column(data: Any) -> None:
    table = data.assign(town=pandas.Categorical(data["town"], ["Bern", "Oslo", "Rome"]))
    assert cf.regress("vote ~ town", table, VOTES).names == ("Intercept", "town[T.Oslo]")


def test_an_answer_that_nobody_gave_has_a_small_share() -> None:
    colours = cf.Survey(cf.RandomizedResponse(cf.Categories(["red", "green", "blue"]), 3.0), "colour")
    x = np.arange(3000) % 4
    truth = np.where(np.random.default_rng(1).random(x.size) < 0.2 + 0.15 * x, "green", "red")
    reports = colours.mechanism.privatize(truth, rng=8)
    # Fewer than the noise alone makes: the best share of blue is none.
    reports = np.where((reports == "blue") & (np.arange(3000) % 3 > 0), "red", reports)
    found = cf.regress("colour ~ x", {"x": x, "report": reports}, colours)
    assert found.separated == ("blue: Intercept", "blue: x")
    assert np.isfinite(found.standard_errors[:2]).all()
    shares = found.predict().set_index("outcome")["estimate"]
    assert shares["blue"] < 0.03
    assert shares["green"] == pytest.approx((truth == "green").mean(), abs=0.05)


def test_people_who_all_have_one_answer_are_said_to_be_separated() -> None:
    group = np.arange(2000) % 2
    truth = np.where((group == 1) | (np.arange(2000) % 6 < 3), "yes", "no")
    reports = VOTES.mechanism.privatize(truth, rng=3)
    # More than the noise alone allows: every person of the second group seems to say yes.
    reports = np.where((group == 1) & (np.arange(2000) % 20 > 0), "yes", reports)
    found = cf.regress("vote ~ group", {"group": group, "report": reports}, VOTES)
    assert found.separated == ("group",)
    assert math.isinf(found.standard_errors[1])
    assert not found.is_done
    assert found.standard_errors[0] < 1
    text = str(found)
    assert "grows without end along group" in text
    assert "inf" in text
    shares = found.predict({"group": [1]}).set_index("outcome")["estimate"]
    assert shares["yes"] > 0.999


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("vote", "an outcome, a tilde and covariates"),
        ("vote ~", "an outcome, a tilde and covariates"),
        ("vote ~ x + ", "cannot be read"),
        ("vote ~ y", r"no column 'y'"),
        ("vote ~ report", "report has the reports, which are blurred. Write vote"),
        ("vote ~ x + vote", "on both sides"),
        ("turnout ~ x", "neither 'vote', the private value"),
        ("vote ~ log(x - 9)", "not suit|not a finite number"),
        ("vote ~ 0", "no columns"),
        ("vote ~ nothing(x)", "no column 'nothing'"),
        ("vote ~ f(x).g", "cannot be read: .* Write terms such as age"),
        ("vote >= 3 ~ x", "vote >= 3"),
        ("vote ~ C(town, levels=['Bern'])", "'Oslo' is none of the classes of the formula"),
    ],
)
def test_formulas_that_cannot_be_read(data: Any, formula: str, words: str) -> None:
    with np.errstate(all="ignore"), pytest.raises(InvalidParameterError, match=words):
        cf.regress(formula, data, VOTES)


def test_settings_that_make_no_sense(data: Any) -> None:
    for settings, words in (
        ({"model": "probit"}, "model must be one of"),
        ({"errors": "robust"}, "errors must be one of"),
        ({"base": "maybe"}, "base is one of"),
        ({"level": 95}, "level"),
        ({"clusters": "nowhere"}, "clusters names no column"),
        ({"model": "linear"}, "explains a share of them: 'vote == no ~ x'"),
    ):
        with pytest.raises(InvalidParameterError, match=words):
            cf.regress("vote ~ x", data, VOTES, **settings)
    with pytest.raises(InvalidParameterError, match="a data frame"):
        cf.regress("vote ~ x", [1, 2], VOTES)
    with pytest.raises(InvalidParameterError, match="A logit has two answers"):
        cf.regress("age ~ x", data.assign(report=30), AGES, model="logit")
    with pytest.raises(ImpossibleReportError, match="made with another survey"):
        cf.regress("vote ~ x", data.assign(report="perhaps"), VOTES)
    flat = cf.FromMatrix(cf.Integers(0, 2), [[0.5, 0.5]] * 3)
    with pytest.raises(NotInvertibleError, match="No unbiased value exists"):
        cf.regress("age ~ x", data.assign(report=0), cf.Survey(flat, "age"))


def test_the_base_may_be_chosen_and_tables_of_other_kinds_read(data: Any) -> None:
    found, other = (cf.regress("vote ~ x", data, VOTES, base=base) for base in (None, "yes"))
    assert (found.base, other.base) == ("no", "yes")
    assert other.estimates == pytest.approx(-found.estimates, abs=1e-6)
    columns = {name: data[name].to_numpy() for name in data}
    assert cf.regress("vote ~ x", columns, VOTES).estimates == pytest.approx(found.estimates)
    assert cf.regress("vote ~ x", columns, VOTES.mechanism).estimates == pytest.approx(found.estimates)
    polars = pytest.importorskip("polars")
    assert cf.regress("vote ~ x", polars.DataFrame(columns), VOTES).estimates == pytest.approx(found.estimates)
    renamed = data.rename(columns={"report": "sent"})
    assert cf.regress("vote ~ x", renamed, VOTES, columns=["sent"]).estimates == pytest.approx(found.estimates)
    named = data.rename(columns={"report": "vote"})
    assert cf.regress("vote ~ x", named, VOTES).estimates == pytest.approx(found.estimates)


def test_a_missing_package_is_named_with_its_cure(data: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name == "formulaic":
            raise ImportError(name)
        return real(name, *rest, **more)

    import sys

    for name in [one for one in sys.modules if one.startswith("formulaic")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "formulaic", None)
    with pytest.raises(MissingExtraError, match="Regression needs formulaic, which is not installed"):
        cf.regress("vote ~ x", data, VOTES)


def test_the_answer_shows_itself(data: Any, tmp_path: Any) -> None:
    found = cf.regress("vote ~ x + town", data, VOTES)
    assert "95% confidence" in str(found)
    assert "points in vote == yes (95%" in str(cf.regress("vote == yes ~ x", data, VOTES))
    assert "vote" in str(cf.regress("vote ~ 1", data.head(2), VOTES))
    with pytest.raises(InvalidParameterError, match="2 people cannot tell 2 coefficients"):
        cf.regress("age ~ x", {"x": [1, 2], "report": [30, 40]}, AGES)
    years = cf.regress("age ~ x", data.assign(report=30 + 3 * data["x"]), AGES)
    assert "+3.0000 years in age" in str(years)
    assert "[0.025" in found.summary()
    frame = found.to_frame()
    assert list(frame.columns) == ["name", "coef", "std err", "z", "P>|z|", "low", "high", "naive", "privacy"]
    assert frame["coef"].to_numpy() == pytest.approx(found.params.to_numpy())
    assert (found.conf_int()["low"] < found.params).all()
    assert found.conf_int(0.99)["low"].iloc[1] < found.conf_int()["low"].iloc[1]
    assert found.bse["x"] == pytest.approx(math.sqrt(found.cov_params().loc["x", "x"]))
    assert found.wald("x") == pytest.approx(found.pvalues["x"], rel=1e-6)
    assert 0 <= found.wald("town") <= 1
    with pytest.raises(InvalidParameterError, match="Name coefficients"):
        found.wald("nothing")
    pytest.importorskip("matplotlib")
    for ending in ("html", "json", "csv", "svg"):
        found.save(tmp_path / f"answer.{ending}")
        assert "town" in (tmp_path / f"answer.{ending}").read_text()
    axes = found.plot()
    assert [label.get_text() for label in axes.get_yticklabels()] == ["x", "town[T.Oslo]"]
    assert "<iframe" in (found._repr_html_() or "")


def test_rare_covariates_are_warned_of(data: Any) -> None:
    assert "at least five people" in str(cf.regress("vote ~ x", data, VOTES))
    table = data.assign(x=np.where(np.arange(800) < 80, np.arange(800) + 100, 1))
    found = cf.regress("vote ~ x", table, VOTES)
    assert found.rare == 80
    assert "10% of these people share x with fewer than four others" in str(found)


def test_show_counts_what_a_survey_sends_unblurred() -> None:
    survey = replace(VOTES, groups={"town": ("Oslo", "Bern"), "sex": ("f", "m")})
    lines = dict(summarise_survey(survey).facts)
    assert lines["Not blurred"].startswith("sex and town, sent beside a report: 4 combinations")
    assert "Not blurred" not in dict(summarise_survey(VOTES).facts)
