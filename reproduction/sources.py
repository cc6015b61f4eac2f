"""Where an experiment's people come from."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from confide import datasets
from confide.alphabets import Alphabet, Integers
from confide.checks import check_count
from confide.errors import InvalidParameterError
from reproduction.declarations import seed_of


class Source(ABC):
    """A frozen value that says which people there are; repeats draw from the same ones unless it samples anew."""

    @property
    @abstractmethod
    def label(self) -> str:
        """What the data are called in tables."""

    @property
    @abstractmethod
    def alphabet(self) -> Alphabet:
        """The values."""

    @property
    @abstractmethod
    def total(self) -> int:
        """How many people there are."""

    @abstractmethod
    def histogram(self, generator: np.random.Generator) -> NDArray[np.int64]:
        """Return how many people have each value; only a source that samples anew uses the generator."""


@dataclass(frozen=True)
class Bundled(Source):
    """The people of a bundled dataset or, if `people` is given, that many drawn from its shares in each repeat.

    >>> Bundled("paris").total, Bundled("paris", people=1000).total
    (14009, 1000)
    """

    name: str
    people: int | None = None

    def __post_init__(self) -> None:
        datasets.load(self.name)
        if self.people is not None:
            check_count("people", self.people, 1)

    @property
    def label(self) -> str:
        """See :attr:`Source.label`."""
        return self.name

    @property
    def alphabet(self) -> Alphabet:
        """See :attr:`Source.alphabet`."""
        return datasets.load(self.name).alphabet

    @property
    def total(self) -> int:
        """See :attr:`Source.total`."""
        return datasets.load(self.name).total if self.people is None else self.people

    def histogram(self, generator: np.random.Generator) -> NDArray[np.int64]:
        """See :meth:`Source.histogram`."""
        dataset = datasets.load(self.name)
        return dataset.histogram if self.people is None else generator.multinomial(self.people, dataset.distribution)


@dataclass(frozen=True)
class Binomial(Source):
    """People drawn once from the binomial distribution on 0 .. size - 1: the same dataset in every repeat.

    >>> Binomial(10, 0.5).label, Binomial(10, 0.5).total
    ('binomial(9, 0.5)', 100000)
    """

    size: int
    share: float
    people: int = 100_000

    def __post_init__(self) -> None:
        check_count("size", self.size, 2)
        check_count("people", self.people, 1)
        if not 0 < self.share < 1:
            raise InvalidParameterError(f"share must lie between 0 and 1; got {self.share!r}.")

    @property
    def label(self) -> str:
        """See :attr:`Source.label`."""
        return f"binomial({self.size - 1}, {self.share:g})"

    @property
    def alphabet(self) -> Alphabet:
        """See :attr:`Source.alphabet`."""
        return Integers(0, self.size - 1)

    @property
    def total(self) -> int:
        """See :attr:`Source.total`."""
        return self.people

    def histogram(self, generator: np.random.Generator) -> NDArray[np.int64]:  # noqa: ARG002 (drawn once for all)
        """See :meth:`Source.histogram`."""
        return _drawn_once(self, tuple(binomial(self.size, self.share).tolist()))


@dataclass(frozen=True)
class EvenOver(Source):
    """People drawn once, alike from some of the values 0 .. size - 1.

    >>> EvenOver((3, 4, 5, 6), size=10).label
    'uniform{3,4,5,6}'
    """

    values: tuple[int, ...]
    size: int
    people: int = 100_000

    def __post_init__(self) -> None:
        check_count("size", self.size, 2)
        check_count("people", self.people, 1)
        if not self.values or not all(0 <= value < self.size for value in self.values):
            raise InvalidParameterError(f"values must lie in 0 .. {self.size - 1}; got {self.values!r}.")

    @property
    def label(self) -> str:
        """See :attr:`Source.label`."""
        return "uniform{" + ",".join(map(str, self.values)) + "}"

    @property
    def alphabet(self) -> Alphabet:
        """See :attr:`Source.alphabet`."""
        return Integers(0, self.size - 1)

    @property
    def total(self) -> int:
        """See :attr:`Source.total`."""
        return self.people

    def histogram(self, generator: np.random.Generator) -> NDArray[np.int64]:  # noqa: ARG002 (drawn once for all)
        """See :meth:`Source.histogram`."""
        share = 1 / len(self.values)
        return _drawn_once(self, tuple(share if value in self.values else 0.0 for value in range(self.size)))


def binomial(size: int, share: float) -> NDArray[np.float64]:
    """Return the binomial distribution on 0 .. size - 1.

    >>> binomial(3, 0.5).round(6)
    array([0.25, 0.5 , 0.25])
    """
    places = np.arange(size)
    chosen = np.array([math.lgamma(size) - math.lgamma(place + 1) - math.lgamma(size - place) for place in places])
    weights = np.exp(chosen + places * math.log(share) + (size - 1 - places) * math.log1p(-share))
    distribution: NDArray[np.float64] = weights / weights.sum()
    return distribution


@cache
def _drawn_once(source: Source, distribution: tuple[float, ...]) -> NDArray[np.int64]:
    """Draw the dataset from a seed of its own, the same in every process."""
    histogram = np.random.default_rng(seed_of(source)).multinomial(source.total, distribution)
    histogram.flags.writeable = False
    return histogram
