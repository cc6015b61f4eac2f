"""Arithmetic and JSON that give the same bits on every machine.

IEEE 754 fixes the result of + - * / and sqrt to the last bit. It leaves exp, sin and the order of a sum to the
library, and numpy, BLAS and the C library choose by processor. So tables of weights and bounds of places use the
functions here. Arrays go through elementwise + - * / and sqrt in a fixed order; single numbers through decimals,
whose exp is correctly rounded by its specification.

Canonical JSON (RFC 8785) is one text for equal content, in every language. Keys stand in the order of their UTF-16 code
units, blanks nowhere, texts as JavaScript's ``JSON.stringify`` writes them and numbers as it writes the double: 1 and
1.0 are both ``1``.

>>> float(exp_minus(1.0))
0.36787944117144233
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from decimal import Context, Decimal
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.errors import InvalidParameterError
from confide.values.checks import LARGEST_INTEGER

FloatArray = NDArray[np.float64]

_CONTEXT = Context(prec=50)


def exp_minus(exponents: ArrayLike) -> FloatArray:
    """Return e^-x for x from 0 to 700, to about 1 ulp."""
    given = np.asarray(exponents, dtype=np.float64)
    flat = given.reshape(-1)
    faded = np.empty(flat.size)
    (step, high, low), fractions, halvings = _powers()
    # 2^14 numbers at a time stay in the processor's cache, which is five times as fast.
    for start in range(0, flat.size, 2**14):
        some = flat[start : start + 2**14]
        # 64 steps to a factor of two: the rest is below ln 2 / 128, where five terms of the series suffice.
        steps = np.rint(some * (1 / step))
        # Cody and Waite (1980): with few bits in `high` the first product is exact, and `low` adds the rest.
        rest = some - steps * high
        rest -= steps * low
        series = rest * (-1 / 120)
        for coefficient in (1 / 24, -1 / 6, 1 / 2, -1.0):
            # One operation a line: a fused multiply-add would round once where this rounds twice.
            series += coefficient
            series *= rest
        series += 1.0
        numbers = steps.astype(np.int64)
        series *= fractions[numbers & 63]
        series *= halvings[numbers >> 6]
        faded[start : start + 2**14] = series
    return faded.reshape(given.shape)


def total(terms: FloatArray) -> FloatArray:
    """Sum along the first axis pairwise, in a fixed order.

    >>> total(np.arange(12.0).reshape(3, 4)).tolist()
    [12.0, 15.0, 18.0, 21.0]
    """
    parts = terms
    while (count := len(parts)) > 1:
        half = count // 2
        folded = parts[:half] + parts[half : 2 * half]
        parts = np.concatenate([folded, parts[2 * half :]]) if count % 2 else folded
    added: FloatArray = parts[0]
    return added


def length(*parts: FloatArray) -> FloatArray:
    """Return the Euclidean length, with the same bits everywhere.

    >>> float(length(np.array(3.0), np.array(4.0)))
    5.0
    """
    squares = parts[0] * parts[0]
    for part in parts[1:]:
        squares = squares + part * part
    return np.sqrt(squares)


@lru_cache(maxsize=64)  # one table asks three times for the same decay, and decimals are slow
def one_minus_exp_minus(exponent: float) -> float:
    """Return 1 - e^-x, correctly rounded however small x is.

    >>> one_minus_exp_minus(1e-20)
    1e-20
    """
    return float(_CONTEXT.subtract(Decimal(1), _CONTEXT.exp(Decimal(-exponent))))


def sine(angle: float) -> float:
    """Return the sine of radians from -2 to 2, correctly rounded.

    >>> sine(0.5)
    0.479425538604203
    """
    return _series(Decimal(angle), 1, angle)


def cosine(angle: float) -> float:
    """Return the cosine of radians from -2 to 2, correctly rounded.

    >>> cosine(0.5)
    0.8775825618903728
    """
    return _series(Decimal(1), 0, angle)


def _series(term: Decimal, order: int, angle: float) -> float:
    """Sum x^n / n! with alternating signs, every second n from `order`."""
    square = _CONTEXT.multiply(Decimal(angle), Decimal(angle))
    found = term
    while term and abs(term) > Decimal("1e-40"):
        term = _CONTEXT.divide(_CONTEXT.multiply(term, -square), Decimal((order + 1) * (order + 2)))
        found, order = _CONTEXT.add(found, term), order + 2
    return float(found)


@cache
def _powers() -> tuple[tuple[float, float, float], FloatArray, FloatArray]:
    """Return constants of `exp_minus`.

    They are ln 2 / 64, whole and in two parts, then 2^(-part / 64), correctly rounded, and 2^-whole.
    """
    log = _CONTEXT.ln(Decimal(2))
    exact = _CONTEXT.divide(log, Decimal(64))
    high = round(float(exact) * 2**40) / 2**40  # few enough bits that its multiples are exact
    low = float(_CONTEXT.subtract(exact, Decimal(high)))
    steps = (_CONTEXT.divide(_CONTEXT.multiply(log, Decimal(-part)), Decimal(64)) for part in range(64))
    fractions = np.array([float(_CONTEXT.exp(step)) for step in steps])
    # 700: largest exponent, before float64 ends.
    return (float(exact), high, low), fractions, np.array([math.ldexp(1.0, -whole) for whole in range(700 * 3 // 2)])


def canonical_json(content: Any) -> str:
    """Return content as canonical JSON.

    Whole numbers beyond 2^53 - 1 are written in all their digits, which JavaScript would not read back; a device there
    refuses such a document.

    >>> canonical_json({"b": [1.0, 1e21, 1e-7, "é"], "a": None})
    '{"a":null,"b":[1,1e+21,1e-7,"é"]}'
    """
    if content is None or isinstance(content, bool):
        return {None: "null", True: "true", False: "false"}[content]
    if isinstance(content, str):
        return _text(content)
    if isinstance(content, int):
        return int.__repr__(content)
    if isinstance(content, float):
        return _number(content)
    if isinstance(content, Mapping):
        written = {key: _text(key) for key in content}
        order = sorted(written, key=lambda key: key.encode("utf-16-be"))
        return "{" + ",".join(f"{written[key]}:{canonical_json(content[key])}" for key in order) + "}"
    if isinstance(content, list | tuple):
        return "[" + ",".join(map(canonical_json, content)) + "]"
    raise InvalidParameterError(f"JSON has no {type(content).__name__}; got {content!r}.")


def fingerprint_of(content: Any) -> str:
    """Return the first 32 hexadecimal digits of canonical JSON's SHA-256.

    >>> fingerprint_of({"epsilon": 1}) == fingerprint_of({"epsilon": 1.0})
    True
    """
    # 32: hexadecimal digits of a fingerprint, 128 bits: nobody finds two contents of one fingerprint, even who tries
    # to.
    return hashlib.sha256(canonical_json(content).encode()).hexdigest()[:32]


def read_json(text: str) -> Any:
    """Read JSON as JavaScript does; refuse NaN, 1e999 and repeated keys.

    A number that is whole is an int, however it is written.

    >>> read_json('{"high": 1e2, "epsilon": 0.5}')
    {'high': 100, 'epsilon': 0.5}
    """
    found = json.loads(text, parse_float=_read_float, parse_constant=_refuse_constant, object_pairs_hook=_read_object)
    if "\\ud" in text.lower():  # a half of a character, perhaps, that an escape has hidden
        try:
            canonical_json(found)
        except InvalidParameterError as error:
            raise ValueError(str(error)) from None
    return found


def _text(text: object) -> str:
    if not isinstance(text, str):
        raise InvalidParameterError(f"A key of a JSON object is a text; got {text!r}.")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidParameterError(
            f"A text with half a character (a lone surrogate) has no UTF-8; got {text!r}."
        ) from None
    return json.dumps(text, ensure_ascii=False)


def _number(number: float) -> str:
    """Return a double as ECMAScript writes it, in the fewest digits."""
    if not math.isfinite(number):
        raise InvalidParameterError(f"JSON has finite numbers alone; got {number!r}.")
    written = float.__repr__(number + 0.0)  # minus zero is zero
    if written.endswith(".0") or ("e" not in written and abs(number) >= 1e-4):
        return written.removesuffix(".0")
    # Outside 1e-4 .. 1e16 Python writes exponents earlier than ECMAScript.
    sign, magnitude = ("-", written[1:]) if written.startswith("-") else ("", written)
    mantissa, _, exponent = magnitude.partition("e")
    whole, _, part = mantissa.partition(".")
    digits = (whole + part).lstrip("0")
    # The number is 0.digits times 10 to the power of `point`.
    point = len(whole) + int(exponent or 0) - (len(whole + part) - len(digits))
    digits = digits.rstrip("0")
    if len(digits) <= point <= 21:
        return sign + digits + "0" * (point - len(digits))
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    part = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{part}e{'+' if point > 0 else '-'}{abs(point - 1)}"


def _read_float(written: str) -> int | float:
    number = float(written)
    if not math.isfinite(number):
        raise ValueError(f"{written} is larger than any number that JSON can hold")
    # Every whole number up to the limit is a double of its own; JavaScript reads no larger ones exactly.
    return int(number) if number.is_integer() and abs(number) <= LARGEST_INTEGER else number


def _refuse_constant(written: str) -> None:
    raise ValueError(f"{written} is no number of JSON")


def _read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        again = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {again!r} stands twice in one object")
    return found
