"""Declarations of an experiment: people, mechanism and seeds."""

from __future__ import annotations

import hashlib
import json
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide import datasets
from confide.errors import InvalidParameterError
from confide.mechanisms import MECHANISMS, FromMatrix, Mechanism
from confide.values import Alphabet, Integers
from confide.values.checks import check_count


def declare(thing: object) -> Any:
    """Return a frozen value as plain lists, texts and class names.

    Renaming a class or a field of a source changes every seed made of it, and so the tables.

    >>> from confide import Inversion
    >>> declare(Inversion("project"))
    {'kind': 'Inversion', 'repair': 'project'}
    """
    if isinstance(thing, np.ndarray):
        return {"kind": "array", "shape": list(thing.shape), "digest": hashlib.sha256(thing.tobytes()).hexdigest()}
    if is_dataclass(thing) and not isinstance(thing, type):
        settings = {field.name: declare(getattr(thing, field.name)) for field in fields(thing)}
        return {"kind": type(thing).__name__} | settings
    if isinstance(thing, list | tuple):
        return [declare(part) for part in thing]
    if isinstance(thing, dict):
        return {str(name): declare(part) for name, part in thing.items()}
    return thing if thing is None or isinstance(thing, bool | int | float | str) else repr(thing)


def fingerprint(*things: object) -> str:
    """Return a digest of declarations, the same on every machine.

    >>> fingerprint(1, "a") == fingerprint(1, "a"), fingerprint(1) == fingerprint(2)
    (True, False)
    """
    return _digest(things).hex()[:24]


def seed_of(*things: object) -> int:
    """Return a seed made of declarations; it fits a signed 64-bit integer.

    >>> 0 <= seed_of("ages", 0.05) < 2**63
    True
    """
    return int.from_bytes(_digest(things)[:8], "big") >> 1


def _digest(things: tuple[object, ...]) -> bytes:
    text = json.dumps([declare(thing) for thing in things], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).digest()


class Source(ABC):
    """People whose values are blurred: a frozen value.

    Repeats use the same people unless the source samples anew.
    """

    @property
    @abstractmethod
    def label(self) -> str:
        """Name of the data in tables."""

    @property
    @abstractmethod
    def alphabet(self) -> Alphabet:
        """Values that a person may have."""

    @property
    @abstractmethod
    def total(self) -> int:
        """Number of people."""

    @abstractmethod
    def histogram(self, generator: np.random.Generator) -> NDArray[np.int64]:
        """Return the number of people with each value.

        Only a source that samples anew uses the generator.
        """


@dataclass(frozen=True)
class Bundled(Source):
    """People of a bundled dataset, or new ones in each repeat.

    The latter if `people` is given: that many, drawn from its shares.

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


class Synthetic(Source):
    """People drawn once from a known distribution.

    Values are 0 .. size - 1. Every repeat has the same people, as in the paper.
    """

    size: int
    people: int

    def __post_init__(self) -> None:
        check_count("size", self.size, 2)
        check_count("people", self.people, 1)

    @property
    @abstractmethod
    def distribution(self) -> NDArray[np.float64]:
        """Distribution that the people are drawn from."""

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
        return _draw_once(self)


@dataclass(frozen=True)
class Binomial(Synthetic):
    """People drawn once from a binomial distribution.

    Values are 0 .. size - 1.

    >>> Binomial(10, 0.5).label, Binomial(10, 0.5).total
    ('binomial(9, 0.5)', 100000)
    """

    size: int
    share: float
    people: int = 100_000

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.share < 1:
            raise InvalidParameterError(f"share must lie between 0 and 1; got {self.share!r}.")

    @property
    def label(self) -> str:
        """See :attr:`Source.label`."""
        return f"binomial({self.size - 1}, {self.share:g})"

    @property
    def distribution(self) -> NDArray[np.float64]:
        """See :attr:`Synthetic.distribution`."""
        return binomial(self.size, self.share)


@dataclass(frozen=True)
class EvenOver(Synthetic):
    """People drawn once, evenly from some values.

    The alphabet is 0 .. size - 1.

    >>> EvenOver((3, 4, 5, 6), size=10).label
    'uniform{3,4,5,6}'
    """

    values: tuple[int, ...]
    size: int
    people: int = 100_000

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.values or not all(0 <= value < self.size for value in self.values):
            raise InvalidParameterError(f"values must lie in 0 .. {self.size - 1}; got {self.values!r}.")

    @property
    def label(self) -> str:
        """See :attr:`Source.label`."""
        return "uniform{" + ",".join(map(str, self.values)) + "}"

    @property
    def distribution(self) -> NDArray[np.float64]:
        """See :attr:`Synthetic.distribution`."""
        shares = np.zeros(self.size)
        shares[list(self.values)] = 1 / len(self.values)
        return shares


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
def _draw_once(source: Synthetic) -> NDArray[np.int64]:
    # The seed is the dataset's own declaration, so that every process and every experiment draws the same people.
    histogram = np.random.default_rng(seed_of(source)).multinomial(source.total, source.distribution)
    histogram.flags.writeable = False
    return histogram


@dataclass(frozen=True)
class Blur:
    """Mechanism by name, and its epsilon.

    It gets its alphabet when a cell is run.

    Parameters
    ----------
    kind
        Name of the mechanism in a survey.
    epsilon
        Level of privacy.
    is_stored
        Whether methods multiply by the stored matrix, in place of the fast products that confide knows for it. The
        reports are the same.

    Examples
    --------
    >>> from confide import Integers
    >>> Blur("truncated-geometric", 0.05).build(Integers(0, 9))
    TruncatedGeometric(alphabet=Integers(0, 9), epsilon=0.05)
    """

    kind: str
    epsilon: float
    is_stored: bool = False

    def __post_init__(self) -> None:
        if self.kind not in MECHANISMS:
            raise InvalidParameterError(f"There is no mechanism {self.kind!r}. Known are {', '.join(MECHANISMS)}.")

    def build(self, alphabet: Alphabet) -> Mechanism:
        """Return the mechanism that people's devices run."""
        build: Any = MECHANISMS[self.kind]
        mechanism: Mechanism = build(alphabet, self.epsilon)
        return mechanism

    def build_for_methods(self, alphabet: Alphabet) -> Mechanism:
        """Return the mechanism that methods see."""
        return _stored(self, alphabet) if self.is_stored else self.build(alphabet)

    @property
    def label(self) -> str:
        """Name in tables."""
        return f"{self.kind}, stored" if self.is_stored else self.kind


def levels(kind: str, *epsilons: float) -> tuple[Blur, ...]:
    """Return one mechanism at several levels.

    >>> [blur.epsilon for blur in levels("rappor", 0.5, 1)]
    [0.5, 1.0]
    """
    return tuple(Blur(kind, float(epsilon)) for epsilon in epsilons)


@cache
def _stored(blur: Blur, alphabet: Alphabet) -> Mechanism:
    mechanism = FromMatrix(alphabet, blur.build(alphabet).channel.dense())
    # The inverse belongs to the mechanism, not to a set of reports: it is made once, outside of what is timed.
    mechanism.channel.unpush(mechanism.matrix[0])
    return mechanism
