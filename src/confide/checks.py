"""Sentences for bad parameters and bad vectors, written once."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.errors import InvalidDistributionError, InvalidInputError, InvalidParameterError

SUM_TOLERANCE = 1e-9
"""Distance of a sum of probabilities from one before it is an error rather than rounding."""


def check_positive(name: str, value: object) -> None:
    """Refuse anything but a finite number above zero."""
    if not is_number(value) or not math.isfinite(value) or value <= 0:
        raise InvalidParameterError(f"{name} must be a finite number above 0; got {value!r}.")


def check_count(name: str, value: object, least: int) -> None:
    """Refuse anything but a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise InvalidParameterError(f"{name} must be a whole number of at least {least}; got {value!r}.")


def check_text(name: str, value: object) -> None:
    """Refuse anything but a text."""
    if not isinstance(value, str):
        raise InvalidParameterError(f"{name} must be a text; got {value!r}.")


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Refuse anything but one of the named choices."""
    if value not in choices:
        raise InvalidParameterError(f"{name} must be one of {', '.join(choices)}; got {value!r}.")


def as_distribution(vector: ArrayLike, size: int, name: str) -> NDArray[np.float64]:
    """Return the vector as float64 and normalised to rounding, or say why it is no distribution.

    >>> as_distribution([0.25, 0.75], 2, "start")
    array([0.25, 0.75])
    """
    array = _as_finite_vector(vector, size, name)
    if (array < 0).any():
        position = int(np.argmax(array < 0))
        raise InvalidDistributionError(
            f"{name} has a negative probability, {array[position]:g} at position {position}."
        )
    total = float(array.sum())
    if abs(total - 1) > SUM_TOLERANCE:
        raise InvalidDistributionError(
            f"{name} must sum to 1; got {total:.10g}. Divide it by its sum if it holds counts or weights."
        )
    return array / total


def size_of(vector: ArrayLike, name: str) -> int:
    """Return how many entries a vector has, or say that it is none."""
    try:
        return int(np.size(vector))
    except ValueError:
        raise InvalidDistributionError(f"{name} must be a plain sequence of probabilities; got {vector!r}.") from None


def read_only(array: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the same array, closed for writing."""
    array.flags.writeable = False
    return array


def refuse_masked(name: str, array: object, error: type[InvalidInputError]) -> None:
    """Refuse masked entries, which numpy hands on as if they were data."""
    if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
        raise error(
            f"{int(np.ma.getmaskarray(array).sum()):,} of {array.size:,} {name} are masked. Leave them out first, with "
            f"compressed(), or fill them in, with filled()."
        )


def _as_finite_vector(vector: ArrayLike, size: int, name: str) -> NDArray[np.float64]:
    refuse_masked(f"entries of {name}", vector, InvalidDistributionError)
    try:
        array = np.array(vector, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidDistributionError(f"{name} must be a sequence of {size} probabilities; got {vector!r}.") from None
    if array.shape != (size,):
        raise InvalidDistributionError(
            f"{name} must hold one probability for each of {size} values; got an array of shape {array.shape}."
        )
    if not np.isfinite(array).all():
        position = int(np.argmin(np.isfinite(array)))
        raise InvalidDistributionError(f"{name} holds {array[position]} at position {position}; give finite numbers.")
    return array


def is_number(value: object) -> TypeGuard[float]:
    """Whether this is a real number; a truth value is none."""
    return isinstance(value, Real) and not isinstance(value, bool)
