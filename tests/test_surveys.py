"""Surveys: the same text makes the same mechanism, and mistakes are answered with their cure."""

from __future__ import annotations

from pathlib import Path

import pytest

from confide import (
    Categories,
    FromMatrix,
    Grid,
    Integers,
    Mechanism,
    RandomizedResponse,
    TruncatedGeometric,
    load_survey,
    parse_survey,
)
from confide.errors import ConfideError, SurveyError
from confide.mechanisms import MECHANISMS

AGES = """
name = "age"
title = "How old are you?"

[alphabet]
kind = "integers"
low = 0
high = 99
unit = "year"

[mechanism]
kind = "truncated-geometric"
epsilon = 0.05
"""

ANSWERS = """
[alphabet]
kind = "categories"
values = ["yes", "no"]
[mechanism]
kind = "randomized-response"
epsilon = 1
"""

CELLS = """
[alphabet]
kind = "grid"
rows = 2
columns = 3
spacing = 0.5
[mechanism]
kind = "randomized-response"
epsilon = 2.0
"""

MATRIX = """
[alphabet]
kind = "integers"
low = 1
high = 2
[mechanism]
kind = "matrix"
matrix = [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]]
[mechanism.outputs]
kind = "categories"
values = ["low", "middle", "high"]
"""

EXAMPLES: list[tuple[str, Mechanism]] = [
    (AGES, TruncatedGeometric(Integers(0, 99, unit="year"), 0.05)),
    (ANSWERS, RandomizedResponse(Categories(["yes", "no"]), 1)),
    (CELLS, RandomizedResponse(Grid(2, 3, spacing=0.5), 2.0)),
    (
        MATRIX,
        FromMatrix(Integers(1, 2), [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]], Categories(["low", "middle", "high"])),
    ),
]


@pytest.mark.parametrize(("text", "mechanism"), EXAMPLES)
def test_a_survey_is_its_mechanism(text: str, mechanism: Mechanism) -> None:
    survey = parse_survey(text)
    assert survey.mechanism == mechanism
    assert survey.alphabet == mechanism.alphabet


def test_every_mechanism_can_stand_in_a_survey() -> None:
    lacking = MECHANISMS.keys() - {mechanism.kind for _, mechanism in EXAMPLES}
    assert not lacking, f"add a survey with {sorted(lacking)} to EXAMPLES"


def test_names_and_titles() -> None:
    survey = parse_survey(AGES)
    assert (survey.name, survey.title) == ("age", "How old are you?")
    assert (parse_survey(ANSWERS).name, parse_survey(ANSWERS).title) == ("value", "Untitled survey")


def test_a_file_is_its_text(tmp_path: Path) -> None:
    path = tmp_path / "survey.toml"
    path.write_text(AGES, encoding="utf-8")
    assert load_survey(path) == load_survey(str(path)) == parse_survey(AGES)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "epsilon = 0.05",
            "epsilom = 0.05",
            r"has the unknown key 'epsilom' \(did you mean 'epsilon'\?\)",
        ),
        ("epsilon = 0.05", "", r"\[mechanism\] lacks epsilon"),
        ("epsilon = 0.05", "epsilon = 0", r"epsilon must be a finite number above 0; got 0"),
        ("epsilon = 0.05", "epsilon = -1", r"epsilon must be a finite number above 0; got -1"),
        ("epsilon = 0.05", 'epsilon = "abc"', r"epsilon must be a finite number above 0; got 'abc'"),
        ("epsilon = 0.05", "epsilon = true", r"epsilon must be a finite number above 0; got True"),
        ("epsilon = 0.05", "epsilon = nan", r"epsilon must be a finite number above 0; got nan"),
        ("epsilon = 0.05", "epsilon = [1]", r"epsilon must be a finite number above 0; got \[1\]"),
        ("epsilon = 0.05", "epsilon = 1979-05-27", r"epsilon must be a finite number above 0; got datetime"),
        ("epsilon = 0.05", "epsilon = ", r"not valid TOML: .*line"),
        ("epsilon = 0.05", "epsilon = 0.05\nalphabet = 3", r"\[mechanism\] has the unknown key 'alphabet'"),
        (
            '"truncated-geometric"',
            '"truncated-geometry"',
            r"unknown kind 'truncated-geometry' \(did you mean 'truncated-geometric'\?\)",
        ),
        ('"truncated-geometric"', '"xyz"', r"\[mechanism\] has the unknown kind 'xyz'. Known: randomized-response, "),
        ('"truncated-geometric"', '["a"]', r"\[mechanism\] has the unknown kind \['a'\]"),
        ('kind = "truncated-geometric"', "", r"\[mechanism\] needs a kind: one of randomized-response, "),
        ('"integers"', '"integer"', r"\[alphabet\] has the unknown kind 'integer' \(did you mean 'integers'\?\)"),
        ('"integers"', '"grid"', r"\[alphabet\] has the unknown key 'low'"),
        ("high = 99", "high = 99.5", r"high must be a whole number .*; got 99.5"),
        ("high = 99", "high = -1", r"low must not exceed high; got low=0 and high=-1"),
        ('unit = "year"', "unit = 5", r"unit must be a text; got 5"),
        ("[alphabet]", "[alphabett]", r"unknown key 'alphabett' \(did you mean 'alphabet'\?\)"),
        ('name = "age"', "name = 5", r"name must be a text; got 5"),
        ('name = "age"', 'name = "  "', r"name must be a text; got '  '"),
        ('name = "age"', 'nane = "age"', r"unknown key 'nane' \(did you mean 'name'\?\)"),
    ],
)
def test_mistakes_are_answered(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = AGES.replace(old, new)
    assert text != AGES
    with pytest.raises(ConfideError, match=message):
        parse_survey(text)
    path = tmp_path / "survey.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SurveyError, match=rf"survey.toml: .*{message}"):
        load_survey(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"needs a table \[alphabet\]"),
        ("alphabet = 3", r"needs a table \[alphabet\]"),
        ('[alphabet]\nkind = "integers"\nlow = 0\nhigh = 9', r"needs a table \[mechanism\]"),
        (ANSWERS.replace('["yes", "no"]', "[]"), r"at least one value"),
        (ANSWERS.replace('["yes", "no"]', '"yes"'), r"needs a list of values"),
        (ANSWERS.replace('["yes", "no"]', "5"), r"needs a list of values"),
        (ANSWERS.replace('["yes", "no"]', '["yes"]'), r"needs at least two values"),
        (ANSWERS.replace('["yes", "no"]', '["yes", "yes"]'), r"'yes' stands more than once"),
        (CELLS.replace("randomized-response", "truncated-geometric"), r"needs whole numbers on a line.*got Grid\(2, 3"),
        (MATRIX.replace("0.2]", "0.3]"), r"row 0 sums to 1.1. Divide each row by its sum"),
        (MATRIX.replace("0.2]", "0.2, 0.0]"), r"rectangle of numbers"),
        (MATRIX.replace('"middle", ', ""), r"matrix has 3 columns, but .* has 2 outputs"),
        (MATRIX.replace("high = 2", "high = 3"), r"needs 3 rows, one a value; got shape \(2, 3\)"),
        (MATRIX.partition("[mechanism.outputs]")[0] + "outputs = 5", r"outputs"),
        (MATRIX.partition("[mechanism.outputs]")[0] + 'outputs = {kind = "xyz"}', r"\[mechanism.outputs\].*'xyz'"),
    ],
)
def test_other_mistakes_are_answered(text: str, message: str) -> None:
    with pytest.raises(ConfideError, match=message):
        parse_survey(text)


def test_a_file_that_is_not_there_is_answered_with_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(SurveyError, match=r"no survey file '.*none.toml'. Write one with: confide init .*none.toml"):
        load_survey(tmp_path / "none.toml")


def test_files_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "survey.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SurveyError, match="cannot be read"):
        load_survey(path)
    with pytest.raises(SurveyError, match="cannot be read"):
        load_survey(tmp_path)
