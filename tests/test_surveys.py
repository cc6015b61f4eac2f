"""Surveys: the same text makes the same mechanism, and mistakes are answered with their cure."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cases import each
from tests.cli.surveys import FINITE, UNBOUNDED, survey

from confide import (
    Bins,
    BlahutArimoto,
    Categories,
    Circle,
    Crosswise,
    Dates,
    Dice,
    Exponential,
    ForcedResponse,
    FromMatrix,
    Geometric,
    Grid,
    HadamardResponse,
    Hours,
    Integers,
    KukCards,
    Laplace,
    Lattice,
    LocalHashing,
    Mechanism,
    OneBitMean,
    OptimizedUnary,
    PlanarGeometric,
    PlanarLaplace,
    PlanarSquareWave,
    Product,
    ProjectiveGeometryResponse,
    RandomizedResponse,
    Rappor,
    Remapped,
    SquareWave,
    SubsetSelection,
    Survey,
    Taxicab,
    TruncatedGeometric,
    TruncatedLaplace,
    TruncatedPlanarGeometric,
    TruncatedPlanarLaplace,
    TruncatedTaxicab,
    TwoRounds,
    Unary,
    UnrelatedQuestion,
    Weekdays,
    WrappedGeometric,
    load_survey,
    parse_survey,
    tally,
)
from confide.errors import ConfideError, InvalidParameterError, SurveyError
from confide.mechanisms import MECHANISMS, LocalDP

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

BY_HAND = '[alphabet]\nkind = "categories"\nvalues = ["yes", "no"]\n[mechanism]\n'

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

LINE = """
[alphabet]
kind = "integers"
low = 0
high = 9
spacing = 0.5
[mechanism]
kind = "{kind}"
epsilon = 0.5
"""

OUTPUTS = """
[mechanism.outputs]
kind = "integers"
low = -5
high = 14
spacing = 0.5
"""

PLANE = """
[alphabet]
kind = "grid"
rows = 3
columns = 4
unit = "km"
holes = [[0, 3], [1, 1]]
[mechanism]
kind = "{kind}"
epsilon = 0.7
"""

CELL_OUTPUTS = """
[mechanism.outputs]
kind = "grid"
rows = 2
columns = 6
unit = "km"
first_row = 1
first_column = -1
holes = [[1, 0]]
"""

LATTICE = """
[alphabet]
kind = "lattice"
spacing = 0.5
unit = "km"
[mechanism]
kind = "{kind}"
epsilon = 0.7
"""

UNBOUNDED_LINE = """
[alphabet]
kind = "integers"
[mechanism]
kind = "{kind}"
epsilon = 0.7
"""

PRODUCT = """
[alphabet]
kind = "attributes"
[alphabet.age]
kind = "integers"
low = 0
high = 99
unit = "year"
[alphabet.sex]
kind = "categories"
values = ["f", "m"]
[mechanism]
kind = "product"
[mechanism.age]
kind = "truncated-geometric"
epsilon = 0.05
[mechanism.sex]
kind = "randomized-response"
epsilon = 1.0
"""

REMAPPED = """
name = "place"
[alphabet]
kind = "grid"
rows = 5
columns = 5
unit = "km"
[mechanism]
kind = "remapped"
[mechanism.mechanism]
kind = "truncated-planar-geometric"
epsilon = 0.5
[mechanism.outputs]
kind = "grid"
rows = 4
columns = 4
unit = "km"
"""

UNARY = """
[alphabet]
kind = "categories"
values = ["a", "b", "c"]
[mechanism]
kind = "unary"
keep = 0.75
flip = 0.5
"""

ROUNDS = """
[alphabet]
kind = "categories"
values = ["a", "b", "c"]
[mechanism]
kind = "two-rounds"
[mechanism.permanent]
kind = "rappor"
epsilon = 4.0
[mechanism.fresh]
kind = "unary"
keep = 0.75
flip = 0.5
"""

ROUNDS_OUTSIDE = """
[alphabet]
kind = "integers"
low = 0
high = 9
[mechanism]
kind = "two-rounds"
[mechanism.permanent]
kind = "truncated-geometric"
epsilon = 0.5
[mechanism.permanent.outputs]
kind = "integers"
low = -1
high = 10
[mechanism.fresh]
kind = "randomized-response"
epsilon = 2.0
"""

MAPPED = """
[alphabet]
kind = "categories"
values = ["a", "b", "c"]
[mechanism]
kind = "remapped"
mapping = [0, 1, 1]
[mechanism.mechanism]
kind = "randomized-response"
epsilon = 1.0
[mechanism.outputs]
kind = "categories"
values = ["x", "y"]
"""

TEN, HOLED = Integers(0, 9, spacing=0.5), Grid(3, 4, unit="km", holes=((0, 3), (1, 1)))
WIDER = Integers(-5, 14, spacing=0.5)
SHIFTED = Grid(2, 6, unit="km", holes=((1, 0),), first_row=1, first_column=-1)

HOURS = """
[alphabet]
kind = "hours"
[mechanism]
kind = "wrapped-geometric"
epsilon = 0.5
"""

SALARIES = """
[alphabet]
kind = "bins"
edges = [0, 10, 20, 50, 100]
above = true
unit = "thousand"
[mechanism]
kind = "truncated-geometric"
epsilon = 0.05
"""

DAYS = """
[alphabet]
kind = "dates"
first = "2026-01-01"
last = "2026-12-31"
[mechanism]
kind = "truncated-geometric"
epsilon = 0.1
"""

TENTHS = TruncatedGeometric(Bins(0, 1, 0.1, above=True, unit="thousand"), 0.05)
MONTHS = TruncatedGeometric(Dates("2026-01", "2026-12", every="month"), 0.1)

EXAMPLES: list[tuple[str, Mechanism]] = [
    (AGES, TruncatedGeometric(Integers(0, 99, unit="year"), 0.05)),
    (ANSWERS, RandomizedResponse(Categories(["yes", "no"]), 1)),
    (CELLS, RandomizedResponse(Grid(2, 3, spacing=0.5), 2.0)),
    (
        MATRIX,
        FromMatrix(Integers(1, 2), [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]], Categories(["low", "middle", "high"])),
    ),
    (ANSWERS.replace("randomized-response", "rappor"), Rappor(Categories(["yes", "no"]), 1)),
    (ANSWERS.replace("randomized-response", "optimized-unary"), OptimizedUnary(Categories(["yes", "no"]), 1)),
    (ANSWERS.replace("randomized-response", "subset-selection"), SubsetSelection(Categories(["yes", "no"]), 1)),
    (LINE.format(kind="subset-selection") + "members = 3\n", SubsetSelection(TEN, 0.5, 3)),
    (ANSWERS.replace("randomized-response", "local-hashing"), LocalHashing(Categories(["yes", "no"]), 1)),
    (LINE.format(kind="local-hashing") + "buckets = 5\nseeds = 100\n", LocalHashing(TEN, 0.5, 5, 100)),
    (LINE.format(kind="hadamard-response"), HadamardResponse(TEN, 0.5)),
    (LINE.format(kind="hadamard-response") + "blocks = 4\n", HadamardResponse(TEN, 0.5, 4)),
    (LINE.format(kind="projective-geometry"), ProjectiveGeometryResponse(TEN, 0.5)),
    (LINE.format(kind="projective-geometry") + "order = 5\n", ProjectiveGeometryResponse(TEN, 0.5, 5)),
    (
        LINE.format(kind="projective-geometry") + "order = 5\nrecurrence = [1, 4, 3]\n",
        ProjectiveGeometryResponse(TEN, 0.5, 5, (1, 4, 3)),
    ),
    (LINE.format(kind="square-wave"), SquareWave(TEN, 0.5)),
    (LINE.format(kind="square-wave") + "width = 2\n", SquareWave(TEN, 0.5, 2)),
    (ANSWERS.replace("randomized-response", "exponential"), Exponential(Categories(["yes", "no"]), 1)),
    (LINE.format(kind="one-bit-mean"), OneBitMean(TEN, 0.5)),
    (LINE.format(kind="blahut-arimoto"), BlahutArimoto(TEN, 0.5)),
    (PLANE.format(kind="planar-square-wave"), PlanarSquareWave(HOLED, 0.7)),
    (PLANE.format(kind="planar-square-wave") + "radius = 1\n", PlanarSquareWave(HOLED, 0.7, 1.0)),
    (
        BY_HAND + 'kind = "forced-response"\nhonest = "2/3"\nforced = ["1/6", "1/6"]\n',
        ForcedResponse(Categories(["yes", "no"]), "2/3", ("1/6", "1/6")),
    ),
    (BY_HAND + 'kind = "dice"\ncommands = [[1], [6]]\n', Dice(Categories(["yes", "no"]), [[1], [6]])),
    (
        BY_HAND.replace('"no"]', '"no", "breaks them"]') + 'kind = "crosswise"\nshare = 0.25\nbreakers = "same"\n',
        Crosswise(Categories(["yes", "no", "breaks them"]), 0.25, breakers="same"),
    ),
    (
        BY_HAND + 'kind = "unrelated-question"\nhonest = 0.7\nshare = 0.25\nstatement = "Is it Monday?"\n',
        UnrelatedQuestion(Categories(["yes", "no"]), 0.7, 0.25, "Is it Monday?"),
    ),
    (
        BY_HAND + 'kind = "kuk-cards"\nred = [0.8, 0.2]\ndraws = 2\nanchor = "no"\n',
        KukCards(Categories(["yes", "no"]), [0.8, 0.2], 2, anchor="no"),
    ),
    (LINE.format(kind="geometric"), Geometric(TEN, 0.5)),
    (LINE.format(kind="laplace"), Laplace(TEN, 0.5)),
    (LINE.format(kind="exponential"), Exponential(TEN, 0.5)),
    (HOURS, WrappedGeometric(Hours(), 0.5)),
    (HOURS.replace("hours", "weekdays"), WrappedGeometric(Weekdays(), 0.5)),
    (HOURS.replace('"hours"', '"circle"\nsteps = 12\nunit = "month"'), WrappedGeometric(Circle(12, "month"), 0.5)),
    (SALARIES, TruncatedGeometric(Bins(edges=[0, 10, 20, 50, 100], above=True, unit="thousand"), 0.05)),
    (SALARIES.replace("edges = [0, 10, 20, 50, 100]", "low = 0\nhigh = 1\nwidth = 0.1"), TENTHS),
    (DAYS, TruncatedGeometric(Dates("2026-01-01", "2026-12-31"), 0.1)),
    (DAYS.replace('"2026-01-01"', "2026-01-01"), TruncatedGeometric(Dates("2026-01-01", "2026-12-31"), 0.1)),
    (DAYS.replace("[mechanism]", 'every = "month"\n[mechanism]'), MONTHS),
    (LINE.format(kind="rappor"), Rappor(TEN, 0.5)),
    (LINE.format(kind="truncated-geometric") + OUTPUTS, TruncatedGeometric(TEN, 0.5, WIDER)),
    (LINE.format(kind="truncated-laplace"), TruncatedLaplace(TEN, 0.5)),
    (LINE.format(kind="truncated-laplace") + OUTPUTS, TruncatedLaplace(TEN, 0.5, WIDER)),
    (PLANE.format(kind="exponential"), Exponential(HOLED, 0.7)),
    (PLANE.format(kind="taxicab"), Taxicab(HOLED, 0.7)),
    (PLANE.format(kind="planar-geometric"), PlanarGeometric(HOLED, 0.7)),
    (PLANE.format(kind="planar-laplace"), PlanarLaplace(HOLED, 0.7)),
    (PLANE.format(kind="truncated-taxicab"), TruncatedTaxicab(HOLED, 0.7)),
    (PLANE.format(kind="truncated-taxicab") + CELL_OUTPUTS, TruncatedTaxicab(HOLED, 0.7, SHIFTED)),
    (PLANE.format(kind="truncated-planar-geometric"), TruncatedPlanarGeometric(HOLED, 0.7)),
    (PLANE.format(kind="truncated-planar-geometric") + CELL_OUTPUTS, TruncatedPlanarGeometric(HOLED, 0.7, SHIFTED)),
    (PLANE.format(kind="truncated-planar-laplace"), TruncatedPlanarLaplace(HOLED, 0.7)),
    (PLANE.format(kind="truncated-planar-laplace") + CELL_OUTPUTS, TruncatedPlanarLaplace(HOLED, 0.7, SHIFTED)),
    (LATTICE.format(kind="taxicab"), Taxicab(Lattice(0.5, "km"), 0.7)),
    (LATTICE.format(kind="planar-geometric"), PlanarGeometric(Lattice(0.5, "km"), 0.7)),
    (UNBOUNDED_LINE.format(kind="geometric"), Geometric(Integers(), 0.7)),
    (UNBOUNDED_LINE.format(kind="laplace"), Laplace(Integers(), 0.7)),
    (
        PRODUCT,
        Product(
            age=TruncatedGeometric(Integers(0, 99, unit="year"), 0.05),
            sex=RandomizedResponse(Categories(["f", "m"]), 1.0),
        ),
    ),
    (REMAPPED, Remapped(TruncatedPlanarGeometric(Grid(5, 5, unit="km"), 0.5), Grid(4, 4, unit="km"))),
    (UNARY, Unary(Categories(["a", "b", "c"]), 0.75, 0.5)),
    (
        ROUNDS,
        TwoRounds(Rappor(Categories(["a", "b", "c"]), 4.0), Unary(Categories(["a", "b", "c"]), 0.75, 0.5)),
    ),
    (
        ROUNDS_OUTSIDE,
        TwoRounds(TruncatedGeometric(Integers(0, 9), 0.5, Integers(-1, 10)), RandomizedResponse(Integers(-1, 10), 2.0)),
    ),
    (MAPPED, Remapped(RandomizedResponse(Categories(["a", "b", "c"]), 1.0), Categories(["x", "y"]), (0, 1, 1))),
]


@each(("text", "mechanism"), EXAMPLES)
def test_a_survey_is_its_mechanism(text: str, mechanism: Mechanism) -> None:
    survey = parse_survey(text)
    assert survey.mechanism == mechanism
    assert survey.alphabet == mechanism.alphabet


@each(("text", "mechanism"), EXAMPLES)
def test_device_and_curator_make_the_same_of_a_survey(text: str, mechanism: Mechanism) -> None:
    # Two parsings, as on two machines; the one blurs, the other takes what comes.
    device, curator = parse_survey(text).mechanism, parse_survey(text).mechanism
    values = mechanism.alphabet.decode(
        np.arange(min(2, mechanism.alphabet.size) if mechanism.alphabet.is_finite else 2)
    )
    reports = device.privatize(values, rng=1, taken=True)
    np.testing.assert_array_equal(reports, mechanism.privatize(values, rng=1, taken=True))
    if mechanism.alphabet.is_finite:
        assert curator.observe(tally(reports)).total == 2


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


@each(
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


ABSURD = [("101", "no protection"), ("1e-12", "pure noise")]


@pytest.mark.parametrize("kind", ["truncated-geometric", "geometric", "truncated-laplace", "laplace", "exponential"])
@pytest.mark.parametrize(("epsilon", "message"), ABSURD)
def test_an_absurd_epsilon_on_a_line_is_answered(kind: str, epsilon: str, message: str) -> None:
    text = LINE.format(kind=kind).replace("spacing = 0.5", "").replace("epsilon = 0.5", f"epsilon = {epsilon}")
    with pytest.raises(ConfideError, match=rf"epsilon={epsilon}.* which is {message}. Useful values lie between"):
        parse_survey(text)


PLANAR_KINDS = ["taxicab", "planar-geometric", "planar-laplace"]
TRUNCATED_PLANAR_KINDS = [f"truncated-{kind}" for kind in PLANAR_KINDS]


@each("kind", [*PLANAR_KINDS, *TRUNCATED_PLANAR_KINDS, "exponential"])
@each(("epsilon", "message"), [*ABSURD, ("0", "must be a finite number above 0; got 0"), ("-0.5", "above 0; got -0.5")])
def test_a_bad_epsilon_on_a_plane_is_answered(kind: str, epsilon: str, message: str) -> None:
    with pytest.raises(ConfideError, match=message):
        parse_survey(PLANE.format(kind=kind).replace("epsilon = 0.7", f"epsilon = {epsilon}"))


@pytest.mark.parametrize(
    "kind", ["truncated-geometric", "truncated-laplace", "randomized-response", "rappor", "exponential"]
)
def test_an_unbounded_line_given_to_what_cannot_take_one_is_answered(kind: str) -> None:
    with pytest.raises(
        ConfideError, match=r"Integers\(\) (is unbounded. Bound it|is unbounded.*Give one: Integers\(low, high\))"
    ):
        parse_survey(UNBOUNDED_LINE.format(kind=kind))


@pytest.mark.parametrize("kind", [*TRUNCATED_PLANAR_KINDS, "randomized-response", "rappor", "exponential"])
def test_an_unbounded_lattice_given_to_what_cannot_take_one_is_answered(kind: str) -> None:
    with pytest.raises(
        ConfideError, match=r"Lattice\(.*\) (is unbounded. Bound it|is unbounded.*Give one: Grid\(rows, columns\))"
    ):
        parse_survey(LATTICE.format(kind=kind))


@pytest.mark.parametrize("kind", TRUNCATED_PLANAR_KINDS)
@pytest.mark.parametrize(
    ("rows", "columns", "message"),
    [
        (1, 1, r"needs at least two cells; got Grid\(1, 1, unit='km'\)"),
        (1, 9, r"two rows and two columns; got Grid\(1, 9, unit='km'\). For one line use Integers\(low, high\)"),
        (0, 9, r"rows must be a whole number of at least 1; got 0"),
    ],
)
def test_a_grid_that_is_none_is_answered(kind: str, rows: int, columns: int, message: str) -> None:
    text = PLANE.format(kind=kind).replace("holes = [[0, 3], [1, 1]]\n", "")
    with pytest.raises(ConfideError, match=message):
        parse_survey(text.replace("rows = 3", f"rows = {rows}").replace("columns = 4", f"columns = {columns}"))


@pytest.mark.parametrize("kind", TRUNCATED_PLANAR_KINDS)
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("first_row = 1", "first_row = 50", r"holes|hole \(1, 0\) lies outside"),
        ("first_row = 1\n", "first_row = 50\nspacing = 1.0\n", r"lies outside"),
        ('unit = "km"\nfirst', 'unit = "km"\nspacing = 0.25\nfirst', r"spacing of the alphabet, 1; got Grid\(2, 6"),
    ],
)
def test_outputs_of_another_grid_are_answered(kind: str, old: str, new: str, message: str) -> None:
    with pytest.raises(ConfideError, match=message):
        parse_survey(PLANE.format(kind=kind) + CELL_OUTPUTS.replace(old, new))


@pytest.mark.parametrize("kind", TRUNCATED_PLANAR_KINDS)
def test_cells_that_miss_the_alphabet_are_answered(kind: str) -> None:
    outputs = CELL_OUTPUTS.replace("first_row = 1", "first_row = 50").replace("holes = [[1, 0]]", "")
    with pytest.raises(ConfideError, match=r"The outputs Grid\(2, 6, .*\) miss the alphabet Grid\(3, 4, .*altogether"):
        parse_survey(PLANE.format(kind=kind) + outputs)


@pytest.mark.parametrize("kind", ["truncated-geometric", "truncated-laplace"])
def test_numbers_that_miss_the_alphabet_are_answered(kind: str) -> None:
    outputs = OUTPUTS.replace("low = -5", "low = 50").replace("high = 14", "high = 60")
    with pytest.raises(ConfideError, match=r"The outputs Integers\(50, 60, .* miss the alphabet Integers\(0, 9, "):
        parse_survey(LINE.format(kind=kind) + outputs)
    with pytest.raises(ConfideError, match=r"needs whole numbers on a line.*; got Grid"):
        parse_survey(LINE.format(kind=kind) + CELL_OUTPUTS)


@each(
    ("text", "message"),
    [
        (PLANE.format(kind="taxicab").replace("[[0, 3], [1, 1]]", "[[9, 9]]"), r"hole \(9, 9\) lies outside the 3 x 4"),
        (PLANE.format(kind="taxicab").replace("[[0, 3], [1, 1]]", "[1, 2]"), r"holes must be pairs \(row, column\)"),
        (PLANE.format(kind="taxicab").replace("[[0, 3], [1, 1]]", '"water"'), r"holes must be pairs \(row, column\)"),
        (PLANE.format(kind="truncated-geometric"), r"needs whole numbers on a line"),
        (LINE.format(kind="taxicab"), r"needs cells of a plane"),
        (LINE.format(kind="geometric") + OUTPUTS, r"\[mechanism\] has the unknown key 'outputs'"),
        (PRODUCT.replace('kind = "attributes"', 'kind = "categories"\nvalues = ["a"]'), r"unknown key 'age'"),
        (
            AGES.replace("truncated-geometric", "product").replace("epsilon = 0.05", "first = {}\nsecond = {}"),
            r'\[mechanism\] of kind "product" needs an alphabet of kind "attributes"',
        ),
        (PRODUCT.replace('"attributes"', '"pairs"'), r'"pairs", which is now "attributes".*write kind = "attributes"'),
        (PRODUCT.replace("[alphabet.age]", "age = 3\n[alphabet.old]"), r"\[alphabet\] needs a table \[age\]; got 3"),
        (PRODUCT.replace("[mechanism.sex]", "[mechanism.gender]"), r"\[mechanism\] has the unknown key 'gender'"),
        (PRODUCT.partition("[mechanism.sex]")[0], r"\[mechanism\] needs a table \[sex\]"),
        (PRODUCT.replace("[alphabet.sex]", '[alphabet."home town"]'), r"name is a word such as age.*'home town'"),
        (PRODUCT.replace("epsilon = 1.0", ""), r"\[mechanism.sex\] lacks epsilon"),
        (PRODUCT.replace('kind = "randomized-response"', ""), r"\[mechanism.sex\] needs a kind"),
        (PRODUCT.replace('"truncated-geometric"', '"geometric"'), r"Product needs a finite alphabet"),
        (PRODUCT.partition("[alphabet.sex]")[0] + "[mechanism]", r"Attributes is for two attributes or more"),
        (REMAPPED.replace("epsilon = 0.5", "epsilon = 0"), r"epsilon must be a finite number above 0; got 0"),
        (REMAPPED.partition("[mechanism.outputs]")[0], r"\[mechanism\] lacks outputs"),
        (REMAPPED.replace("[mechanism.mechanism]", "[mechanism.inner]"), r"unknown key 'inner'"),
        (MAPPED.replace("[0, 1, 1]", "[0, 1]"), r"one whole number for each of 3 outputs"),
        (MAPPED.replace("[0, 1, 1]", "[0, 1, 7]"), r"mapping must lead to 0 .. 1"),
        (MAPPED.replace("mapping = [0, 1, 1]\n", ""), r"Give a mapping"),
        (MAPPED.replace('"randomized-response"', '"rappor"'), r"Remapped needs a finite alphabet"),
        (LATTICE.format(kind="taxicab").replace("spacing = 0.5", "spacing = 0"), r"spacing must be a finite number"),
        (
            LATTICE.format(kind="taxicab").replace("spacing = 0.5", "rows = 5"),
            r"\[alphabet\] has the unknown key 'rows'",
        ),
        (
            UNBOUNDED_LINE.format(kind="geometric").replace("[mechanism]", "low = 3\n[mechanism]"),
            r"Give both low and high",
        ),
    ],
)
def test_mistakes_in_larger_surveys_are_answered(text: str, message: str) -> None:
    with pytest.raises(ConfideError, match=message):
        parse_survey(text)


def test_a_file_that_is_not_there_is_answered_with_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(SurveyError, match=r"no survey file '.*none.toml'. Write one with: confide new .*none.toml"):
        load_survey(tmp_path / "none.toml")
    with pytest.raises(SurveyError, match=r"Write one with: confide export survey.toml -o .*none.json"):
        load_survey(tmp_path / "none.json")


def test_files_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "survey.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SurveyError, match="cannot be read"):
        load_survey(path)
    with pytest.raises(SurveyError, match="cannot be read"):
        load_survey(tmp_path)


FINGERPRINTS = {
    "randomized-response": "6e3f545776773cf2a9fa7c1fc3cd15a2",
    "randomized-response with holes": "bab2fa8b4c13208b144292c496d81466",
    "randomized-response of pairs": "188a7c708303eb88e5ebadf24786eaa4",
    "rappor of 150 values": "99878d626c57ccdde1bb32073e46dd29",
    "truncated-geometric": "b392aa894c3ce8893ecf4c77c8c985ab",
    "truncated-geometric with outputs": "f9e24eeaeadd00524b2adf35f31fc56c",
    "matrix": "b380153a263a6085233808848f4abb9f",
    "product": "1fd63049b712caa4e03472385a1361de",
    "remapped": "ebb7d94132fa8927e6e989df29256a5a",
    "laplace unbounded": "9f083c2408af14d8ee6689552d71fcf9",
    "planar-laplace unbounded": "0641568329fb929b7db2cdb4d2c823ee",
}
"""As version 0.2 writes them into files, which must stay readable."""

ALL_SURVEYS = FINITE | {f"{name} unbounded": text for name, text in UNBOUNDED.items()}


@pytest.mark.parametrize("name", FINGERPRINTS)
def test_fingerprints_stay_what_they_were(name: str) -> None:
    assert survey(ALL_SURVEYS[name]).fingerprint == FINGERPRINTS[name]


@each("name", ALL_SURVEYS)
def test_text_and_json_bring_every_survey_back(name: str) -> None:
    contract = survey(ALL_SURVEYS[name])
    for again in (parse_survey(contract.text()), Survey.from_json(contract.to_json())):
        assert again == contract
        assert again.fingerprint == contract.fingerprint
        assert again.to_json() == contract.to_json()


def test_json_holds_what_the_fingerprint_is_of() -> None:
    record = json.loads(parse_survey(AGES).to_json())
    assert record["alphabet"] == {"kind": "integers", "low": 0, "high": 99, "unit": "year"}
    assert record["mechanism"] == {"kind": "truncated-geometric", "epsilon": 0.05}
    assert (record["name"], record["title"]) == ("age", "How old are you?")
    assert record["fingerprint"] == parse_survey(AGES.replace("How old are you?", "Age")).fingerprint
    content = '{"alphabet":{"high":99,"kind":"integers","low":0,"unit":"year"},'
    content += '"mechanism":{"epsilon":0.05,"kind":"truncated-geometric"}}'
    assert record["fingerprint"] == hashlib.sha256(content.encode()).hexdigest()[:32]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: text.replace('"high":99', '"high":98'), "one of the two was changed"),
        (lambda text: text.replace('"high":99', '"high":99,"spacing":1'), "one of the two was changed"),  # a default
        (lambda text: text.replace('"fingerprint":"', '"fingerprint":"0'), "one of the two was changed"),
        (lambda text: text.replace(',"fingerprint"', ',"mark"'), "unknown key 'mark'"),
        (lambda text: text.replace('"high":99', '"high":99,"high":99'), "the key 'high' stands twice"),
        (lambda text: text.replace("0.05", "NaN"), "NaN is no number of JSON"),
        (lambda text: text.replace("0.05", "1e999"), "1e999 is larger than any number"),
        (lambda text: text.replace('"integers"', '"integer"'), "did you mean 'integers'"),
        (lambda text: re.sub('"fingerprint":"[0-9a-f]*",', "", text), "states the fingerprint None"),
        (lambda text: text[:-1], "not valid JSON"),
        (lambda text: f"[{text}]", "A survey is a JSON object; got list"),
    ],
)
def test_a_tampered_json_survey_is_refused(change: Callable[[str], str], words: str) -> None:
    with pytest.raises(SurveyError, match=re.escape(words)):
        Survey.from_json(change(parse_survey(AGES).to_json()))


def test_every_character_of_a_text_comes_back() -> None:
    odd = "".join(map(chr, [1, 9, 10, 13, 31, 34, 39, 92, 127, 128, 0x2028, 0x1F600]))
    contract = Survey(RandomizedResponse(Categories([odd, "plain"]), 1.0), "name", odd)
    assert parse_survey(contract.text()) == Survey.from_json(contract.to_json()) == contract


def test_long_lists_are_shortened_for_people_alone() -> None:
    contract = Survey(RandomizedResponse(Categories(["a", "b", "c"]), 1.0))
    assert 'values = ["a", "b"]  # and 1 more' in contract.text(2)
    matrix = Survey(FromMatrix(Integers(1, 2), np.eye(2)))
    assert "matrix = []  # 2 rows of 2, not shown" in matrix.text(3)
    assert "matrix = [[1.0, 0.0], [0.0, 1.0]]" in matrix.text(4)


def test_a_promise_that_was_checked_stands_in_no_survey() -> None:
    matrix = [[0.7, 0.3], [0.4, 0.6]]
    promised = Survey(FromMatrix(Integers(1, 2), matrix, promise=LocalDP(1.0)))
    assert "promise" not in promised.text()
    assert promised.fingerprint == Survey(FromMatrix(Integers(1, 2), matrix)).fingerprint


def test_tables_within_tables_are_written_out() -> None:
    record = survey(FINITE["product"]).record()
    assert record["mechanism"]["sex"] == {"kind": "randomized-response", "epsilon": 1.0}
    assert record["alphabet"]["names"][0] == "age"
    assert record["alphabet"]["alphabets"][0] == {"kind": "integers", "low": 18, "high": 27}


def test_a_survey_of_made_up_people_is_another_one() -> None:
    real = Survey(TruncatedGeometric(Integers(0, 9), 0.5), "mark")
    made = replace(real, simulated="two humps")
    assert made.fingerprint != real.fingerprint
    assert replace(made, simulated="falling").fingerprint != made.fingerprint
    assert Survey.from_json(made.to_json()) == made == parse_survey(made.text())
    assert "simulated" not in real.to_json() + real.text()
    assert made.contract.endswith(", of people made up from two humps")
    for wrong in ('""', "true"):
        with pytest.raises(SurveyError, match="simulated"):
            parse_survey(f"simulated = {wrong}\n{real.text()}")


@pytest.mark.parametrize(
    ("groups", "is_good"),
    [
        ({"town": ["Oslo", "Bern"]}, True),
        ({"town": ["Oslo", "Bern", "Rome"], "sex": ["f", "m"]}, True),
        ({"days": ["1", "2"], "counts": ["a", "b"]}, True),
        ({"day": ["1", "2"]}, False),
        ({"count": ["1", "2"]}, False),
        ({"": ["1", "2"]}, False),
        ({" ": ["1", "2"]}, False),
        ({"town": ["Oslo"]}, False),
        ({"town": []}, False),
        ({"town": ["Oslo", "Oslo"]}, False),
        ({"town": ["Oslo", "Bern", "Oslo"]}, False),
        ({"town": ["Oslo", ""]}, False),
        ({"town": ["1", 2]}, False),
        ({"town": "Oslo"}, False),
    ],
)
def test_groups_have_names_that_files_can_have_and_two_texts_or_more(groups: Any, is_good: bool) -> None:
    mechanism = RandomizedResponse(Categories(["yes", "no"]), 1.0)
    if is_good:
        made = Survey(mechanism, groups=groups)
        assert made.groups == {name: tuple(groups[name]) for name in sorted(groups)}
        assert parse_survey(made.text()) == made
    else:
        with pytest.raises(SurveyError, match=r"\[groups\] has names"):
            Survey(mechanism, groups=groups)


def test_a_survey_that_asks_every_week_says_so_in_its_fingerprint() -> None:
    once = Survey(RandomizedResponse(Categories(["yes", "no"]), 1.0), "answer")
    weekly = replace(once, every="week")
    assert "every" not in once.text() + once.to_json()
    assert 'every = "week"' in weekly.text()
    assert once.fingerprint != weekly.fingerprint
    assert parse_survey(weekly.text()) == Survey.from_json(weekly.to_json()) == weekly
    assert weekly.contract.endswith(", asked every week")
    with pytest.raises(InvalidParameterError, match="one of day, week, month, quarter, year; got 'fortnight'"):
        parse_survey(f'every = "fortnight"\n{once.text()}')
