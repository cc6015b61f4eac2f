"""Sentences for bad parameters and bad vectors, written once."""

from __future__ import annotations

import functools
import inspect
import math
import os
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any, TypeGuard

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
    if not isinstance(value, str) or value not in choices:
        raise InvalidParameterError(f"{name} must be one of {', '.join(choices)}; got {value!r}.")


def as_distribution(vector: ArrayLike, size: int, name: str) -> NDArray[np.float64]:
    """Return the vector as float64 and normalised to rounding, or say why it is no distribution.

    >>> as_distribution([0.25, 0.75], 2, "start")
    array([0.25, 0.75])
    """
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
    except (TypeError, ValueError):
        raise InvalidDistributionError(f"{name} must be a plain sequence of probabilities; got {vector!r}.") from None


def require_kinds(function: Callable[..., object], given: Mapping[str, object]) -> None:
    """Refuse arguments of another kind than a function or a class annotates; name two that are swapped.

    Only confide's own classes, texts, paths, mappings and lists are looked at.
    """
    kinds = _kinds_of(function)
    for name, wanted in kinds.items():
        if not _is_kind(given[name], wanted):
            others = [one for one in given if one != name and given[one] is not None]
            swapped = next((one for one in others if _is_kind(given[one], wanted)), None)
            plain: dict[type, str] = {str: "a text", os.PathLike: "a path", Mapping: "a dictionary"}
            plain |= {Sequence: "a list", Iterable: "a list", types.NoneType: "None"}
            words = " or ".join(plain.get(kind, kind.__name__) for kind in wanted)
            cure = "" if swapped is None else f"Are {name} and {swapped} swapped? "
            order = ", ".join(inspect.signature(function).parameters)
            got = kind_of(given[name])
            raise InvalidParameterError(f"{name} must be {words}; got {got}. {cure}Call {function.__name__}({order}).")


def as_items(name: str, things: object, of: str = "values") -> tuple[Any, ...]:
    """Return what a list holds, or say that it is none."""
    is_list = isinstance(things, Iterable) and not isinstance(things, str | bytes | Mapping)
    if isinstance(things, Iterable) and is_list and getattr(things, "ndim", None) != 0:
        return tuple(things)
    raise InvalidParameterError(f"{name} must be a list of {of}; got {kind_of(things)}. Write [first, second, ...].")


def as_floats(name: str, numbers: object) -> NDArray[np.float64]:
    """Return numbers as an array, or say that they are none."""
    try:
        return np.array(numbers, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameterError(f"{name} must be an array of numbers; got {kind_of(numbers)}.") from None


def kind_of(thing: object) -> str:
    """Return what something is, in a sentence."""
    return f"the class {thing.__name__}" if isinstance(thing, type) else type(thing).__name__


@functools.cache
def _kinds_of(function: Callable[..., object]) -> dict[str, tuple[type, ...]]:
    """Return for each argument the classes that it may have, as far as its annotation names classes to look at."""
    hints = typing.get_type_hints(function)
    found = {name: _classes_in(hints[name]) for name in inspect.signature(function).parameters if name in hints}
    return {name: classes for name, classes in found.items() if classes}


def _classes_in(hint: Any) -> tuple[type, ...]:
    """Return the classes of an annotation; none where one of its parts is not to be looked at."""
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        parts = [_classes_in(part) for part in typing.get_args(hint)]
        return tuple(one for part in parts for one in part) if all(parts) else ()
    if origin in (Mapping, Sequence, Iterable):
        return (origin,)
    if hint is Path:
        return (os.PathLike,)
    is_own = isinstance(hint, type) and hint.__module__.startswith("confide.")
    return (hint,) if is_own or hint in (str, types.NoneType) else ()


def _is_kind(value: object, kinds: tuple[type, ...]) -> bool:
    if isinstance(value, str | bytes | np.ndarray):  # which are no lists of things
        kinds = tuple(kind for kind in kinds if kind not in (Sequence, Iterable))
    return isinstance(value, kinds)


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


def is_number(value: object) -> TypeGuard[float]:
    """Whether this is a real number; a truth value is none."""
    return isinstance(value, Real) and not isinstance(value, bool)
