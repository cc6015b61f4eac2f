"""A regression says the same of the same people in whatever form they come, and every number stands under its name.

The reference is a data frame. Dictionaries, CSV, Parquet, rows with counts and the readers of large files have to give
the same record, field by field, whatever the settings are; and the record has to have what the answer has.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import confide as cf
from confide.data.files import to_json
from confide.present.regressions import regression_record, summarise_regression, text_of
from confide.present.summary import Listing
from confide.regression import fitting, large
from confide.regression.answers import quantile

pandas = pytest.importorskip("pandas")
pytest.importorskip("formulaic")
pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")

AGES = cf.Survey(cf.TruncatedGeometric(cf.Integers(0, 9, unit="year"), 0.8), "age", "Ages")
VOTES = cf.Survey(cf.RandomizedResponse(cf.Categories(["no", "yes"]), 2.0), "vote", "Votes")
COLOURS = cf.Survey(cf.RandomizedResponse(cf.Categories(["red", "green", "blue"]), 3.0), "colour", "Colours")
MOODS = cf.Survey(cf.RandomizedResponse(cf.Scale(["bad", "so so", "good"]), 3.0), "mood", "Moods")


def people(survey: cf.Survey, size: int = 600) -> Any:
    """Return people of unlike weights in few combinations, some of them with gaps, and some that count for nothing."""
    rng = np.random.default_rng(1)
    table = pandas.DataFrame({"x": rng.integers(0, 4, size).astype(float), "town": rng.choice(["Bern", "Oslo"], size)})
    high = survey.alphabet.size - 1
    truth = survey.alphabet.decode(rng.binomial(high, 0.2 + 0.15 * table["x"].to_numpy()))
    table["report"] = survey.mechanism.privatize(truth, rng=2, taken=True)
    table["weight"] = rng.integers(0, 7, size) / 4
    table["village"] = rng.choice(["a", "b", "c", "d", "e", "f", "g"], size)
    table.loc[[3, 8, 11], "x"] = None
    table["report"] = table["report"].astype(object)
    table.loc[[17, 18], "report"] = None
    return table


CASES: list[tuple[cf.Survey, str, dict[str, Any]]] = [
    (AGES, "age ~ x + C(town)", {}),
    (AGES, "age ~ x + C(town)", {"weights": "weight", "level": 0.8}),
    (AGES, "age >= 5 ~ x", {"clusters": "village"}),
    (AGES, "age ~ x", {"weights": "weight", "clusters": "village"}),
    (VOTES, "vote ~ x + C(town)", {"base": "yes", "level": 0.7}),
    (VOTES, "vote ~ x", {"errors": "sandwich", "weights": "weight"}),
    (VOTES, "vote ~ x", {"weights": "weight", "clusters": "village"}),
    (COLOURS, "colour ~ x", {"base": "blue", "weights": "weight"}),
    (MOODS, "mood ~ x", {"errors": "scores", "level": 0.6}),
]
every_case = pytest.mark.parametrize("place", range(len(CASES)), ids=lambda at: f"{CASES[at][1]} {CASES[at][2]}")


def same(ours: Any, theirs: Any, where: str = "") -> None:
    """Check that two records are the same but for roundings."""
    if isinstance(theirs, dict):
        assert list(ours) == list(theirs), where
        for name in theirs:
            same(ours[name], theirs[name], f"{where}.{name}")
    elif isinstance(theirs, list):
        assert len(ours) == len(theirs), where
        for at, one in enumerate(theirs):
            same(ours[at], one, f"{where}[{at}]")
    elif isinstance(theirs, float):
        assert ours == pytest.approx(theirs, rel=2e-5, abs=1e-7, nan_ok=True), where
    else:
        assert ours == theirs, where


def forms(table: Any, folder: Path) -> Iterator[tuple[str, Any]]:
    table.to_csv(folder / "r.csv", index=False)
    table.to_parquet(folder / "r.parquet")
    yield "dictionary", {name: table[name].tolist() for name in table}
    yield "csv", folder / "r.csv"
    yield "parquet", str(folder / "r.parquet")


@every_case
def test_all_forms_of_the_data_have_one_record(place: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    survey, formula, settings = CASES[place]
    table = people(survey)
    known = regression_record(cf.regress(formula, table, survey, **settings))
    for form, data in forms(table, tmp_path):
        same(regression_record(cf.regress(formula, data, survey, **settings)), known, form)
    whole = table.dropna().assign(count=np.arange(len(table.dropna())) % 3)
    repeated = whole.loc[np.repeat(whole.index, whole["count"])].drop(columns="count")
    counted, each = (regression_record(cf.regress(formula, one, survey, **settings)) for one in (whole, repeated))
    for name in ("people", "log_likelihood", "errors", "level", "coefficients", "predicted", "marginal_effects"):
        same(counted[name], each[name], f"counted {name}")
    if "clusters" in settings:
        return
    monkeypatch.setattr(large, "LARGE_ROWS", 100)
    monkeypatch.setattr(large, "LARGE_BYTES", 100)
    for most in (large.MOST_CELLS, 0):
        monkeypatch.setattr(large, "MOST_CELLS", most)
        if most == 0 and known["model"] != "linear":
            continue
        found = cf.regress(formula, tmp_path / "r.parquet", survey, **settings)
        record = regression_record(found)
        kept = [name for name in known if name not in ("left_out", "facts")]
        if most == 0:  # the covariates are nowhere, so that nobody knows who is rare
            kept = [one for one in kept if one not in ("predicted", "marginal_effects", "people_with_rare_covariates")]
            assert record["people_with_rare_covariates"] is None
            assert "give most people away" in text_of(found)
        same({name: record[name] for name in kept}, {name: known[name] for name in kept}, f"large {most}")
        left = len(table) - int(found.nobs)
        assert sum(int(word) for word in str(record["left_out"]).split() if word.isdigit()) in (
            left,
            left - _weightless(table, settings),
        )


def _weightless(table: Any, settings: dict[str, Any]) -> int:
    return int((table.dropna()["weight"] == 0).sum()) if "weights" in settings else 0


@every_case
def test_what_is_left_out_and_every_interval_follow_from_the_settings(place: int) -> None:
    survey, formula, settings = CASES[place]
    table = people(survey)
    found = cf.regress(formula, table, survey, **settings)
    record = regression_record(found)
    used = table.dropna() if "C(town)" in formula else table.dropna(subset=["x", "report"])
    weightless = int((used["weight"] == 0).sum()) if "weights" in settings else 0
    assert record["people"] == found.nobs == len(used) - weightless
    words = f"{len(table) - len(used)} rows with gaps" + (f" and {weightless} rows of weight 0" if weightless else "")
    assert record["left_out"] == words
    assert record["level"] == settings.get("level", 0.95)
    assert found.degrees == (6 if "clusters" in settings else math.inf)  # seven villages
    half = quantile(record["level"], found.degrees)
    rows = record["coefficients"] + (record["marginal_effects"] or [])
    for row in rows:
        middle = row.get("coef", row.get("effect"))
        assert [row["low"], row["high"]] == pytest.approx(
            [middle - half * row["std err"], middle + half * row["std err"]]
        )
    for row in record["predicted"]:
        now, error = row["estimate"], row["std err"]
        if found.predictor is not None and found.predictor.is_share:  # on the scale of log-odds
            odds, width = math.log(now / (1 - now)), half * error / (now * (1 - now))
            ends = [1 / (1 + math.exp(-one)) for one in (odds - width, odds + width)]
        else:
            ends = [now - half * error, now + half * error]
        assert [row["low"], row["high"]] == pytest.approx(ends)
    if survey is AGES:
        assert found.standard_errors == pytest.approx(by_hand(used, settings, formula), rel=1e-6)


def by_hand(used: Any, settings: dict[str, Any], formula: str) -> Any:
    """Return the robust errors of weighted least squares of unbiased values, as any textbook has them."""
    used = used[used["weight"] > 0] if "weights" in settings else used
    weights = used["weight"].to_numpy() if "weights" in settings else np.ones(len(used))
    columns = [np.ones(len(used)), used["x"].to_numpy(float)]
    columns += [(used["town"] == "Oslo").to_numpy(float)] if "town" in formula else []
    design = np.stack(columns, axis=1)
    query = "mean" if formula.startswith("age ~") else formula.partition(" ~")[0]
    values = cf.unbias(used["report"].tolist(), AGES.mechanism, query)
    bread = np.linalg.inv(design.T @ (weights[:, None] * design))
    rest = values - design @ (bread @ (design.T @ (weights * values)))
    scores = (weights * rest)[:, None] * design
    people, size = len(used), design.shape[1]
    factor = people / (people - size)
    if "clusters" in settings:
        scores = np.stack(
            [scores[(used["village"] == one).to_numpy()].sum(axis=0) for one in sorted(set(used["village"]))]
        )
        factor = len(scores) / (len(scores) - 1) * (people - 1) / (people - size)
    return np.sqrt(np.diag(factor * bread @ (scores.T @ scores) @ bread))


def test_every_number_of_a_record_stands_under_its_name() -> None:
    plain = cf.regress("colour ~ x", people(COLOURS), COLOURS)
    found = replace(
        plain, nobs=1234.0, llf=-77.5, errors="scores", level=0.625, starts=7, agreeing=3, rare=13.0,
        left_out="5 rows with gaps", separated=(plain.names[1],), facts={"cells": 17.0, "clusters": 19.0},
    )  # fmt: skip
    record = json.loads(to_json(regression_record(found)))  # where what is not finite is nothing
    called = {"people": "nobs", "log_likelihood": "llf", "people_with_rare_covariates": "rare"}
    for name, value in record.items():
        attribute = getattr(found, called.get(name, name), None)
        if name in ("coefficients", "predicted", "marginal_effects"):
            continue
        expected = list(attribute) if isinstance(attribute, tuple) else attribute
        same(value, dict(attribute or {}) if name == "facts" else expected, name)
    low, high = found.ends()
    naive = found.naive if found.naive is not None else [None] * len(found.names)
    columns = {
        "name": found.names, "coef": found.params, "std err": found.bse, "z": found.tvalues, "P>|z|": found.pvalues,
        "low": low, "high": high, "naive": naive, "privacy": found.privacy,
    }  # fmt: skip
    for at, row in enumerate(record["coefficients"]):
        for name, column in columns.items():
            expected = list(column)[at]
            is_number = isinstance(expected, float) and math.isfinite(expected)
            same(row[name], float(expected) if is_number else expected if name == "name" else None, f"{at} {name}")
    assert "3 of 7 starts reached this maximum" in text_of(found)
    summary = summarise_regression(found)
    details = dict(summary.details)
    assert (details["Cells"].split()[0], details["Clusters"], details["Left out"]) == ("17", "19", "5 rows with gaps")
    (table,) = [
        part
        for one in summary.sections
        if one.heading == "Coefficients"
        for part in one.parts
        if isinstance(part, Listing)
    ]
    assert [str(row[0]) for row in table.rows] == list(found.names)
    assert table.headings[5:7] == ["[0.188", "0.812]"]


@pytest.mark.parametrize("base", ["no", "yes", "red", "green", "blue"])
def test_a_headline_is_about_the_answer_and_against_the_base(base: str) -> None:
    survey = VOTES if base in ("no", "yes") else COLOURS
    found = cf.regress(f"{survey.name} ~ x", people(survey), survey, base=base)
    first = [one for one in found.names if one.rpartition(": ")[2] == "x"]
    ratios = found.tvalues
    place = max(first, key=lambda one: abs(ratios[one]))
    event = place.partition(": ")[0] if survey is COLOURS else {"no": "yes", "yes": "no"}[base]
    low, high = (found.conf_int().loc[place, end] for end in ("low", "high"))
    times = [f"{math.exp(one):.3g}" for one in (found.params[place], low, high)]
    told = f"x: the odds of {event} against {base} are {times[0]} times as large"
    assert text_of(found).count(told) == 1 or low <= 0 <= high
    assert found.base == base
    assert f"log-odds against {base}" in text_of(found)
    shares = {row["outcome"]: row["estimate"] for row in found.predicted}
    assert list(shares) == survey.alphabet.labels()


@pytest.mark.parametrize(("formula", "model"), [("vote ~ x", None), ("x ~ vote", "joint")])
def test_random_starts_come_from_the_seed(formula: str, model: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float] = []

    def write_down(*given: Any) -> Any:
        seen.append(given[-1].random())
        raise LookupError

    monkeypatch.setattr(fitting, "_by_joint_likelihood" if model else "_by_likelihood", write_down)
    for seed in (0, 1, 2):
        with pytest.raises(LookupError):
            cf.regress(formula, people(VOTES), VOTES, model=model, seed=seed)
    assert seen == [np.random.default_rng(seed).random() for seed in (0, 1, 2)]
