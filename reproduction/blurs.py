"""Which mechanism an experiment uses, at which level."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from confide.alphabets import Alphabet
from confide.errors import InvalidParameterError
from confide.mechanisms import MECHANISMS, FromMatrix, Mechanism


@dataclass(frozen=True)
class Blur:
    """A mechanism by its name in a survey, and its epsilon; it meets an alphabet when a cell is run.

    Parameters
    ----------
    kind
        What the mechanism is called in a survey.
    epsilon
        The level of privacy.
    is_stored
        Whether methods see its matrix as it is, in place of the fast products that confide knows for it. The reports
        are the same.

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
        """What stands in tables."""
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
