"""Finite projective geometries, numbered so that points and hyperplanes are a circle.

The points of PG(t - 1, q) are the nonzero vectors of t numbers modulo a prime q, up to a factor. Multiplying by a root
x of a suitable polynomial takes each point to the next, through all K = (q^t - 1) / (q - 1) points and back to the
first (Singer 1938). So point i is x^i, and hyperplane z has the points z - d, modulo K, for d in one *difference set*.

All of this is in whole numbers, the same on every machine. The polynomial x^t = c_0 + c_1 x + ... + c_(t-1) x^(t-1) is
given by its coefficients. A device needs no polynomials: the last coefficient of x^i is a sequence with the recurrence
s_(i+t) = c_0 s_i + ... + c_(t-1) s_(i+t-1), and the difference set is where it is zero.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import islice, product

import numpy as np

from confide.values import Indices

MOST_POINTS = 2**20
"""Points that a device lists: 4 MB."""

Polynomial = tuple[int, ...]
"""Coefficients modulo q of a power of x, the constant first."""


def points_of(order: int, dimensions: int) -> int:
    """Return the number of points of PG(dimensions - 1, order).

    >>> points_of(2, 3), points_of(7, 2)
    (7, 8)
    """
    return sum(order**power for power in range(dimensions))


def is_prime(number: int) -> bool:
    """Whether a number is prime, by trial division.

    >>> [number for number in range(20) if is_prime(number)]
    [2, 3, 5, 7, 11, 13, 17, 19]
    """
    return number > 1 and prime_factors(number) == [number]


def prime_factors(number: int) -> list[int]:
    """Return the distinct primes that divide a number.

    >>> prime_factors(19608)
    [2, 3, 19, 43]
    """
    found, divisor = [], 2
    while divisor * divisor <= number:
        if number % divisor == 0:
            found.append(divisor)
            while number % divisor == 0:
                number //= divisor
        divisor += 1
    return [*found, number] if number > 1 else found


def power_of_x(exponent: int, order: int, recurrence: Polynomial) -> Polynomial:
    """Return a power of x, reduced.

    >>> power_of_x(3, 2, (1, 1, 0)), power_of_x(7, 2, (1, 1, 0))
    ((1, 1, 0), (1, 0, 0))
    """
    dimensions = len(recurrence)
    power = [1] + [0] * (dimensions - 1)
    for bit in bin(exponent)[2:]:
        raised = [0] * (2 * dimensions)
        for i, one in enumerate(power):
            for j, other in enumerate(power):
                raised[i + j + int(bit)] += one * other
        for place in range(2 * dimensions - 1, dimensions - 1, -1):
            for j, coefficient in enumerate(recurrence):
                raised[place - dimensions + j] += raised[place] % order * coefficient
        power = [number % order for number in raised[:dimensions]]
    return tuple(power)


def runs_through_all(order: int, recurrence: Polynomial) -> bool:
    """Whether the powers of x are all points, each once.

    >>> runs_through_all(2, (1, 1, 0)), runs_through_all(2, (1, 1, 1))
    (True, False)
    """

    def is_constant(exponent: int) -> bool:
        first, *others = power_of_x(exponent, order, recurrence)
        return first > 0 and not any(others)

    # The first power of x that is a number is the K-th: no earlier one is, if none is that divides K by a prime.
    count = points_of(order, len(recurrence))
    return is_constant(count) and not any(is_constant(count // prime) for prime in prime_factors(count))


@lru_cache
def first_recurrence(order: int, dimensions: int) -> Polynomial:
    """Return the first coefficients whose powers of x are all points.

    Those with a smaller largest coefficient come first; among equals, those that are smaller in their last place.

    >>> first_recurrence(2, 3), first_recurrence(7, 7), first_recurrence(53, 4)
    ((1, 1, 0), (1, 1, 0, 0, 0, 0, 0), (2, 1, 1, 0))
    """
    for largest in range(1, order):
        for digits in product(range(largest + 1), repeat=dimensions):
            recurrence = digits[::-1]
            if recurrence[0] and max(digits) == largest and runs_through_all(order, recurrence):
                return recurrence
    raise AssertionError("every finite field has a primitive element")


@lru_cache(maxsize=8)
def difference_set(order: int, recurrence: Polynomial) -> Indices:
    """Return where the last coefficient of the powers of x is zero.

    >>> difference_set(2, (1, 1, 0))
    array([0, 1, 3])
    """
    dimensions = len(recurrence)
    count = points_of(order, dimensions)
    sequence = np.zeros(dimensions, dtype=np.int64)
    sequence[-1] = 1
    # If x^m = a_0 + a_1 x + ..., then s_(m+i) = a_0 s_i + a_1 s_(i+1) + ...: each round nearly doubles the sequence.
    while sequence.size < count:
        fresh = sequence.size - dimensions + 1
        power = power_of_x(sequence.size, order, recurrence)
        following = sum(factor * sequence[place : place + fresh] for place, factor in enumerate(power))
        sequence = np.concatenate([sequence, following % order])
    places = np.flatnonzero(sequence[:count] == 0)
    places.setflags(write=False)
    return places


@lru_cache
def best_geometry(size: int, ratio: Fraction) -> tuple[int, int]:
    """Return the order and dimensions with the smallest variance.

    Parameters
    ----------
    size
        Number of values, below MOST_POINTS: dimensions of order 2 are enough for all of these.
    ratio
        How much likelier a report is from a point of its hyperplane: e^epsilon, or just below it.

    Examples
    --------
    >>> best_geometry(22_000, Fraction(739, 100)), best_geometry(22_000, Fraction(546, 10))
    ((7, 7), (53, 4))
    """
    return min(_geometries(size), key=lambda one: (_total_variance(size, one[0], one[1], ratio), one))


def _geometries(size: int) -> Iterator[tuple[int, int]]:
    """Yield those with enough points and not too many dimensions."""
    beyond = MOST_POINTS + 1  # orders from here on have enough points with a dimension less
    for dimensions in range(2, MOST_POINTS.bit_length() + 1):
        least = _least_order(size, dimensions)
        primes = filter(is_prime, range(least, min(beyond, _least_order(MOST_POINTS + 1, dimensions))))
        beyond = least
        # On a line hyperplanes are points: that is k-RR, whose variance grows with the points that no value has.
        for order in islice(primes, 1 if dimensions == 2 else None):
            yield order, dimensions


def _least_order(size: int, dimensions: int) -> int:
    """Return the smallest order whose geometry has that many points."""
    orders = range(2, size + 2)
    return orders[bisect_left(orders, size, key=lambda order: points_of(order, dimensions))]


def _total_variance(size: int, order: int, dimensions: int, ratio: Fraction) -> Fraction:
    """Return the variances of all shares per report, summed; less a constant.

    A share is (frequency - flip) / (keep - flip), for the frequency of reports whose hyperplane has the value.
    """
    count, points, shared = (points_of(order, dimensions - less) for less in (0, 1, 2))
    total = points * ratio + count - points
    keep, flip = points * ratio / total, (shared * ratio + points - shared) / total
    return (keep * (1 - keep) + (size - 1) * flip * (1 - flip)) / (keep - flip) ** 2
