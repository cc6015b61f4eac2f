"""The bundled histograms: what was counted, and where it comes from."""

from __future__ import annotations

import numpy as np
import pytest

from confide import Grid, Integers, datasets
from confide.errors import InvalidParameterError

TOTALS = {
    "adult_ages": 48_842,
    "adult_ages_train": 32_561,
    "lab_procedures": 101_766,
    "manhattan": 98_061,
    "paris": 14_009,
    "san_francisco": 103_292,
}

every_dataset = pytest.mark.parametrize("name", TOTALS)


def test_all_are_listed() -> None:
    assert datasets.names() == list(TOTALS)


@every_dataset
def test_everybody_is_there_once(name: str) -> None:
    data = datasets.load(name)
    assert data.total == TOTALS[name]
    assert data.histogram.shape == (data.alphabet.size,)
    assert (data.histogram >= 0).all()
    assert data.distribution.sum() == pytest.approx(1)
    np.testing.assert_array_equal(
        np.bincount(data.alphabet.encode(data.values()), minlength=data.alphabet.size), data.histogram
    )


@every_dataset
def test_every_dataset_has_a_function_of_its_name(name: str) -> None:
    assert getattr(datasets, name)() is datasets.load(name)


@every_dataset
def test_provenance_is_told(name: str) -> None:
    data = datasets.load(name)
    for text in (data.title, data.source, data.licence, data.citation, data.note, data.alphabet.unit):
        assert text.strip()
    assert f"{data.total:,} people" in repr(data)
    assert name in repr(data)


@every_dataset
def test_histograms_are_closed(name: str) -> None:
    with pytest.raises(ValueError, match="read-only"):
        datasets.load(name).histogram[0] = 1


def test_ages_are_the_published_ones() -> None:
    ages = datasets.adult_ages()
    assert ages.alphabet == Integers(0, 99, unit="year")
    assert (ages.values().min(), ages.values().max()) == (17, 90)
    assert ages.values().mean() == pytest.approx(38.644, abs=5e-4)
    assert datasets.adult_ages_train().values().mean() == pytest.approx(38.582, abs=5e-4)


def test_lab_procedures_start_at_one() -> None:
    stays = datasets.lab_procedures()
    assert stays.alphabet == Integers(1, 140, unit="procedure")
    assert (stays.values().min(), stays.values().max()) == (1, 132)
    assert stays.histogram[0] == 3208


def test_maps_have_their_shapes() -> None:
    assert datasets.manhattan().alphabet == Grid(20, 14, spacing=0.5, unit="km")
    assert datasets.paris().alphabet == Grid(20, 24, spacing=0.5, unit="km")
    assert datasets.san_francisco().alphabet == Grid(5, 5, spacing=1.0, unit="km")


def test_an_unknown_dataset_is_answered_with_the_known_ones() -> None:
    with pytest.raises(InvalidParameterError, match=r"no dataset 'ages'. The bundled ones are adult_ages, .*francisco"):
        datasets.load("ages")
