"""Bundled histograms of real people, with their sources.

>>> ages = adult_ages()
>>> ages.total, ages.alphabet
(48842, Integers(0, 99, unit='year'))
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.errors import InvalidParameterError
from confide.values import Alphabet, Grid, Integers, Places, PlaneGeometry, Values


@dataclass(frozen=True, eq=False)
class Dataset:
    """A histogram of real people over an alphabet, with its source.

    Attributes
    ----------
    name, title
        Its name in code and in a heading.
    alphabet
        The values.
    histogram
        Number of people with each value, in the alphabet's order.
    source, licence, citation, note
        Its origin, terms, citation and remarks.
    places
        For a city, its cells on the Earth in the alphabet's order; the alphabet has the paper's squares of a round
        size. None elsewhere.
    column
        What a value is called in a file.
    """

    name: str
    title: str
    alphabet: Alphabet
    histogram: NDArray[np.int64]
    source: str
    licence: str
    citation: str
    note: str
    places: Places | None = None
    column: str = "value"

    @property
    def total(self) -> int:
        """Number of people."""
        return int(self.histogram.sum())

    @property
    def distribution(self) -> NDArray[np.float64]:
        """The share of each value."""
        return self.histogram / self.total

    def values(self) -> Values:
        """Return one value per person, in the alphabet's order.

        >>> adult_ages().values()[:3]
        array([17, 17, 17])
        """
        return self.alphabet.decode(np.repeat(np.arange(self.alphabet.size), self.histogram))

    def coordinates(self) -> NDArray[np.float64]:
        """Return the latitude and longitude of each person's cell, for a city.

        >>> manhattan().coordinates()[0].round(4).tolist()
        [40.7066, -74.0175]
        """
        if self.places is None:
            cities = ", ".join(name for name in names() if "box" in _catalogue()[name])
            raise InvalidParameterError(f"{self.name} has no places on the Earth. These have: {cities}.")
        return self.places.centres(np.repeat(np.arange(self.places.size), self.histogram))

    def __repr__(self) -> str:
        return f"<Dataset {self.name}: {self.title}, {self.total:,} people over {self.alphabet!r}>"


def adult_ages() -> Dataset:
    """Ages of the 48,842 people of UCI Adult, training and test part."""
    return load("adult_ages")


def adult_ages_train() -> Dataset:
    """Ages of the 32,561 people of UCI Adult's training part alone."""
    return load("adult_ages_train")


def lab_procedures() -> Dataset:
    """Lab procedures per hospital stay, UCI Diabetes 130-US."""
    return load("lab_procedures")


def manhattan() -> Dataset:
    """Gowalla check-ins in Manhattan, 20 x 14 cells of half a kilometre."""
    return load("manhattan")


def paris() -> Dataset:
    """Gowalla check-ins in Paris, 20 x 24 cells of half a kilometre."""
    return load("paris")


def san_francisco() -> Dataset:
    """Gowalla check-ins in San Francisco, 5 x 5 cells of a kilometre."""
    return load("san_francisco")


def names() -> list[str]:
    """Return the names of all bundled datasets.

    >>> names()[0]
    'adult_ages'
    """
    return list(_catalogue())


@cache
def load(name: str) -> Dataset:
    """Return the bundled dataset of this name.

    >>> load("paris").total
    14009
    """
    if name not in _catalogue():
        raise InvalidParameterError(f"There is no dataset {name!r}. The bundled ones are {', '.join(names())}.")
    entry = dict(_catalogue()[name])
    table = entry.pop("alphabet")
    alphabet: Alphabet = Grid(**table) if "rows" in table else Integers(**table)
    lines, is_plane = _read(f"data/{entry.pop('file')}").splitlines(), isinstance(alphabet.geometry, PlaneGeometry)
    numbers: NDArray[np.int64] = np.loadtxt(lines if is_plane else lines[1:], delimiter=",", dtype=np.int64)
    histogram = numbers.reshape(-1) if is_plane else numbers[:, 1]
    histogram.flags.writeable = False
    box = entry.pop("box", None)
    if box is not None and alphabet.grid is not None:
        entry["places"] = Places(*box, rows=alphabet.grid.rows, columns=alphabet.grid.columns)
    return Dataset(name=name, alphabet=alphabet, histogram=histogram, **entry)


@cache
def _catalogue() -> dict[str, Any]:
    import tomllib

    return tomllib.loads(_read("catalogue.toml"))


def _read(name: str) -> str:
    # Imported late, because it takes a tenth of confide's import time.
    from importlib.resources import files

    return files(__package__).joinpath(name).read_text(encoding="utf-8")
