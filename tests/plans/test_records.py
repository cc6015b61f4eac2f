"""Sentences, table and record of a plan whose numbers are given."""

from __future__ import annotations

import csv
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import confide as cf
from confide.plans import Answer, Curve, Distance, Guess, Plan, Prediction
from confide.plans.records import headline, plan_csv, plan_record, remarks

LINE = cf.Integers(0, 9, unit="year")
MECHANISM = cf.TruncatedGeometric(LINE, epsilon=0.5)
OTHER = cf.TruncatedLaplace(LINE, epsilon=0.5)
SHARES = np.array([0.3, 0.2, 0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.03, 0.02])


def expect(mean: float, relative: float = 0.01) -> Prediction:
    return Prediction(mean, relative * mean, 9)


def given(**changes: Any) -> Plan:
    made = Plan(
        mechanism=MECHANISM,
        people=400,
        prediction=expect(0.4),
        measure=Distance(LINE),
        guess=Guess("ages", LINE, SHARES),
        method=cf.IBU(),
        answer=None,
        by_people=Curve("people", (100.0, 400.0, 1600.0), (expect(0.8), expect(0.4), expect(0.2))),
        by_epsilon=Curve(
            "epsilon", (0.125, 0.25, 0.5, 1.0, 2.0), tuple(expect(one) for one in (0.9, 0.7, 0.4, 0.3, 0.25))
        ),
        ignorance=1.5,
        seed=3,
    )
    return replace(made, **changes)


def test_the_headline_says_what_to_expect_or_what_a_target_takes() -> None:
    assert headline(given()) == str(given())
    assert headline(given()).startswith(
        "With 400 people and 0.5 per year you can expect an EMD of 0.4000 ± 0.0092 years"
    )
    assert "halving it needs about 4 times" in headline(given())
    for_people = headline(given(answer=Answer("people", 0.4, 400.0, 312.4, 512.6)))
    assert for_people.startswith("With 0.5 per year, an EMD of 0.4 years takes about 400 people (312 to 513)")
    for_epsilon = headline(given(answer=Answer("epsilon", 0.4, 0.5, 0.45, 0.55)))
    assert for_epsilon.startswith("With 400 people, an EMD of 0.4 years takes about 0.5 per year (0.45 to 0.55)")
    one = given(people=1, by_people=Curve("people", (1.0,), (expect(0.4),)))
    assert headline(one).startswith("With 1 person and")


def test_the_uniform_distribution_is_the_yardstick() -> None:
    assert any("takes no report at all, is 1.5 years away" in one for one in remarks(given()))
    assert any("no better than asking nobody" in one for one in remarks(given(prediction=expect(1.6))))
    uniform = given(guess=Guess("uniform", LINE, np.full(10, 0.1)))
    assert not any("uniform distribution" in one for one in remarks(uniform))


def test_the_next_stronger_and_weaker_promise_are_told() -> None:
    told = next(one for one in remarks(given()) if "stronger" in one)
    assert "stronger promise, 0.25 per year, 0.700" in told
    assert "weaker promise, 1 per year, 0.300" in told


def test_the_table_has_a_row_for_every_setting() -> None:
    rows = list(csv.DictReader(plan_csv(given()).splitlines()))
    assert [row["part"] for row in rows] == ["plan"] + 3 * ["by people"] + 5 * ["by epsilon"]
    assert [row["people"] for row in rows[1:4]] == ["100", "400", "1600"]
    assert [float(row["epsilon"]) for row in rows[4:9]] == [0.125, 0.25, 0.5, 1.0, 2.0]
    assert [float(row["expected"]) for row in rows] == [0.4, 0.8, 0.4, 0.2, 0.9, 0.7, 0.4, 0.3, 0.25]
    assert float(rows[0]["standard_error"]) == pytest.approx(0.004)
    assert float(rows[0]["margin"]) == pytest.approx(given().prediction.margin)


def test_the_record_has_all_of_it() -> None:
    record = plan_record(given())
    assert record["expected"]["mean"] == 0.4
    assert [one["people"] for one in record["by_people"]] == [100.0, 400.0, 1600.0]
    assert [one["epsilon"] for one in record["by_epsilon"]] == [0.125, 0.25, 0.5, 1.0, 2.0]
    assert record["halving"]["factor"] == pytest.approx(4)
    assert record["exponent"]["exponent"] == pytest.approx(-0.5)
    assert (record["people"], record["epsilon"], record["seed"], record["ignorance"]) == (400, 0.5, 3, 1.5)
