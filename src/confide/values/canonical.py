"""Canonical JSON (RFC 8785): one text for equal content, in every language; and the fingerprint of it.

Keys stand in the order of their UTF-16 code units, blanks nowhere, texts as JavaScript's ``JSON.stringify`` writes them
and numbers as it writes the double: 1 and 1.0 are both ``1``.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

from confide.errors import InvalidParameterError
from confide.values.limits import LARGEST_INTEGER


def canonical_json(content: Any) -> str:
    """Return content as canonical JSON: dictionaries, lists, tuples, texts, numbers, true, false and None.

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
    """Return the first 32 hexadecimal digits of SHA-256 over the UTF-8 of canonical JSON.

    >>> fingerprint_of({"epsilon": 1}) == fingerprint_of({"epsilon": 1.0})
    True
    """
    # 32: hexadecimal digits of a fingerprint, 128 bits: nobody finds two contents of one fingerprint, even who tries
    # to.
    return hashlib.sha256(canonical_json(content).encode()).hexdigest()[:32]


def read_json(text: str) -> Any:
    """Read JSON as JavaScript does, refusing what is none or would be lost: NaN, 1e999, a key that stands twice.

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
    """Return a double as ECMAScript writes it: the shortest digits that are read back as the same number."""
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
