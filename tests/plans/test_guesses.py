"""Every kind of guess, and those that do not fit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import confide as cf
from confide.data.files import estimate_csv, estimate_record, to_json
from confide.errors import ConfideError, DataFileError, InvalidDistributionError, InvalidParameterError
from confide.estimates.estimate import assess
from confide.plans import Guess, as_guess
from confide.surveys.survey import Survey

AGES = cf.TruncatedGeometric(cf.Integers(0, 99, unit="year"), epsilon=0.05)
SMALL = cf.TruncatedGeometric(cf.Integers(0, 3), epsilon=1.0)
CITY = cf.TruncatedTaxicab(cf.Grid(2, 3), epsilon=1.0)
PAIRS = cf.RandomizedResponse(cf.Attributes(first=cf.Integers(0, 1), second=cf.Categories(["f", "m"])), epsilon=2.0)


def test_words_and_arrays() -> None:
    np.testing.assert_allclose(as_guess("uniform", SMALL).vector, 0.25)
    assert as_guess("uniform", SMALL).is_uniform
    np.testing.assert_array_equal(as_guess([0.1, 0.2, 0.3, 0.4], SMALL).vector, [0.1, 0.2, 0.3, 0.4])
    truth = cf.datasets.adult_ages().distribution
    for word in ("adult_ages", "ages", cf.datasets.adult_ages()):
        np.testing.assert_allclose(as_guess(word, AGES).vector, truth, rtol=1e-12)
    assert not as_guess("ages", AGES).vector.flags.writeable


def test_a_dataset_fits_a_wider_range_of_numbers() -> None:
    wide = cf.TruncatedGeometric(cf.Integers(-5, 120), epsilon=0.05)
    shares = as_guess("ages", wide).vector[5:105]
    np.testing.assert_allclose(shares, cf.datasets.adult_ages().distribution, rtol=1e-12)
    narrow = cf.TruncatedGeometric(cf.Integers(18, 67), epsilon=0.05)
    with pytest.raises(InvalidDistributionError, match=r"of 48,842 people of adult_ages lie outside"):
        as_guess("ages", narrow)


@pytest.mark.parametrize("mechanism", [SMALL, CITY, PAIRS], ids=["line", "plane", "pairs"])
@pytest.mark.parametrize("ending", ["csv", "json"])
def test_a_past_estimate_and_its_files(mechanism: cf.Mechanism, ending: str, tmp_path: Path) -> None:
    people = np.arange(1, mechanism.alphabet.size + 1) * 50
    counts = mechanism.simulate_counts(people, rng=1)
    outcome, survey = assess(counts, mechanism, cf.IBU()), Survey(mechanism, "thing")
    path = tmp_path / f"estimate.{ending}"
    text = (
        estimate_csv(survey, outcome.estimate) if ending == "csv" else to_json(estimate_record(survey, counts, outcome))
    )
    path.write_text(text)
    for guess in (outcome.estimate, path, str(path)):
        np.testing.assert_allclose(as_guess(guess, mechanism).vector, outcome.estimate.distribution, rtol=1e-12)


@pytest.mark.parametrize("mechanism", [SMALL, CITY, PAIRS], ids=["line", "plane", "pairs"])
def test_an_estimate_with_intervals(mechanism: cf.Mechanism, tmp_path: Path) -> None:
    """As `confide estimate --interval -o` writes it: not one person a row, which would be uniform."""
    people = np.arange(1, mechanism.alphabet.size + 1) * 50
    estimate = cf.estimate(mechanism.simulate_counts(people, rng=1), mechanism, cf.IBU())
    path = tmp_path / "estimate.csv"
    path.write_text(estimate_csv(Survey(mechanism, "thing"), estimate, estimate.interval(0.95)))
    assert path.read_text().partition("\n")[0].endswith("probability,low,high")
    guess = as_guess(path, mechanism, "thing")
    np.testing.assert_allclose(guess.vector, estimate.distribution, rtol=1e-12)
    assert not guess.is_uniform
    spreadsheet = tmp_path / "semicolons.csv"
    spreadsheet.write_text(path.read_text().replace(",", ";"))
    np.testing.assert_array_equal(as_guess(spreadsheet, mechanism, "thing").vector, guess.vector)


@pytest.mark.parametrize(
    "header", ["probability,value", "value,probability,weight", "town,value,probability", "value,probability,high,low"]
)
def test_a_column_of_probabilities_is_never_passed_over(header: str, tmp_path: Path) -> None:
    path = tmp_path / "unknown.csv"
    path.write_text("\n".join([header, *(",".join([str(one)] * header.count(",")) + ",0.25" for one in range(4))]))
    with pytest.raises(DataFileError, match=r"has a column probability.*a file of values has no probability"):
        as_guess(path, SMALL, "value")


def test_values_may_be_called_probability(tmp_path: Path) -> None:
    path = tmp_path / "values.csv"
    path.write_text("person,probability,count\n1,0,10\n2,2,30\n")
    np.testing.assert_allclose(as_guess(path, SMALL, "probability").vector, [0.25, 0, 0.75, 0])


def test_a_file_of_values(tmp_path: Path) -> None:
    path = tmp_path / "pilot.csv"
    path.write_text("thing,count\n0,10\n2,30\n")
    np.testing.assert_allclose(as_guess(path, SMALL, "thing").vector, [0.25, 0, 0.75, 0])
    path.write_text("thing,count\n0,10\n9,30\n")
    with pytest.raises(DataFileError, match="outside the alphabet"):
        as_guess(path, SMALL, "thing")


@pytest.mark.parametrize(
    ("guess", "mechanism", "words"),
    [
        ("agse", AGES, "There is no guess 'agse'"),
        ("manhattan", AGES, "over the same values"),
        ("paris", cf.TruncatedTaxicab(cf.Grid(20, 14, spacing=0.5), 1.0), "over the same values"),
        ("lab_procedures", AGES, "lie outside"),
        ([0.5, 0.5], SMALL, "one probability for each of 4 values"),
        ([0.5, 0.5, 0.5, 0.5], SMALL, "must sum to 1"),
        ([1.5, -0.5, 0, 0], SMALL, "negative"),
        (None, SMALL, "guess"),
        (Guess("other", cf.Integers(1, 4), [0.25] * 4), SMALL, "over the same values"),
        ("uniform", cf.Geometric(cf.Integers(), 1.0), "is unbounded"),
    ],
)
def test_what_does_not_fit(guess: object, mechanism: cf.Mechanism, words: str) -> None:
    with pytest.raises((InvalidParameterError, InvalidDistributionError), match=words):
        as_guess(guess, mechanism)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("short.csv", "value,probability\n0,0.5\n1,0.5\n", "2 of the 4 values"),
        ("twice.csv", "value,probability\n0,0.25\n0,0.25\n1,0.25\n2,0.25\n", "3 of the 4 values"),
        ("ragged.csv", "value,probability\n0,0.5\n1,0.5,3\n", "in line 3"),
        ("strange.csv", "value,probability\n0,0.5\nx,0.5\n", "'x,0.5'"),
        ("outside.csv", "value,probability\n0,0.5\n7,0.5\n", "does not fit this survey"),
        ("text.csv", "value,probability\n0,a\n1,b\n2,c\n3,d\n", "does not fit this survey"),
        ("broken.json", "{", "no estimate that confide wrote"),
        ("other.json", '{"alphabet": 3}', "no estimate that confide wrote"),
        ("negative.csv", "value,probability\n0,1.5\n1,-0.5\n2,0\n3,0\n", "negative"),
        ("empty.csv", "", "empty"),
    ],
)
def test_files_that_do_not_fit(name: str, text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(ConfideError, match=words):
        as_guess(path, SMALL)


def test_the_rows_of_an_estimate_may_stand_in_any_order(tmp_path: Path) -> None:
    path = tmp_path / "estimate.csv"
    path.write_text("value,probability\n3,0.4\n0,0.1\n2,0.3\n1,0.2\n")
    np.testing.assert_allclose(as_guess(path, SMALL, "value").vector, [0.1, 0.2, 0.3, 0.4])
