"""Questions made up at random, in all that the grammar has, against Python's own comparisons."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.cases import each

import confide as cf
from confide.values.queries import weigh

SIGNS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    "≤": operator.le,
    "≥": operator.ge,
    "≠": operator.ne,
}
Asked = tuple[str, Callable[[Any], bool]]
"""A question, and whether a value is asked for."""

NUMBERS = cf.Integers(-5, 30)
WORDS = cf.Categories(["yes", "no", "not yet", "it's", "never"])
CELLS = cf.Grid(4, 6)


def number_asked(draw: random.Random, name: str = "age", part: Callable[[Any], int] = int) -> Asked:
    low, high = sorted(draw.choices(range(-5, 31), k=2))
    sign = draw.choice(list(SIGNS))
    listed = draw.choices(range(-5, 31), k=3)
    left = draw.choice(["<", "<="])
    return draw.choice(
        [
            (f"{name} {sign} {low}", lambda value: SIGNS[sign](part(value), low)),
            (f"{low} {sign} {name}", lambda value: SIGNS[sign](low, part(value))),
            (f"{low} {left} {name} <= {high}", lambda value: SIGNS[left](low, part(value)) and part(value) <= high),
            (f"{name} in {low}..{high}", lambda value: low <= part(value) <= high),
            (f"{name} not in {low}..{high}", lambda value: not low <= part(value) <= high),
            (f"{name} in {{{', '.join(map(str, listed))}}}", lambda value: part(value) in listed),
        ]
    )


def word_asked(draw: random.Random) -> Asked:
    word, other = draw.sample(WORDS.labels(), 2)
    quote = '"' if "'" in word + other else "'"
    return draw.choice(
        [
            (f"answer == {quote}{word}{quote}", lambda value: value == word),
            (f"answer != {quote}{word}{quote}", lambda value: value != word),
            (f"answer in {{{quote}{word}{quote}, {quote}{other}{quote}}}", lambda value: value in (word, other)),
            (f"answer not in [{quote}{word}{quote}]", lambda value: value != word),
        ]
    )


def cell_asked(draw: random.Random) -> Asked:
    row, column = draw.randrange(4), draw.randrange(6)
    top, right = draw.randint(row, 3), draw.randint(column, 5)
    part = draw.randrange(2)
    return draw.choice(
        [
            number_asked(draw, ("row", "column")[part], lambda value: int(value[part])),
            (f"cell == ({row}, {column})", lambda value: tuple(value) == (row, column)),
            (f"cell != ({row},{column})", lambda value: tuple(value) != (row, column)),
            (
                f"cell in ({row}, {column})..({top}, {right})",
                lambda value: row <= value[0] <= top and column <= value[1] <= right,
            ),
        ]
    )


def joined(draw: random.Random, ask: Callable[[random.Random], Asked], depth: int) -> Asked:
    """Return a question made of others: and binds more tightly than or, not more tightly than both."""
    if depth == 0:
        return ask(draw)
    kind = draw.randrange(4)
    text, asked = joined(draw, ask, depth - 1)
    if kind == 0:
        return f"not ({text})", lambda value: not asked(value)
    if kind == 1:
        return f"({text})", asked
    others = [joined(draw, ask, depth - 1) for _ in range(draw.randint(1, 3))]
    word, whole = ("and", all) if kind == 2 else ("or", any)
    every = [(text, asked), *others]
    return f" {word} ".join(f"({one})" for one, _ in every), lambda value: whole(one(value) for _, one in every)


@pytest.mark.parametrize(
    ("alphabet", "ask"),
    [(NUMBERS, number_asked), (WORDS, word_asked), (CELLS, cell_asked)],
    ids=["numbers", "words", "cells"],
)
def test_a_question_asks_for_the_values_that_python_finds(alphabet: Any, ask: Callable[..., Asked]) -> None:
    draw, values = random.Random(8), alphabet.decode(np.arange(alphabet.size)).tolist()  # noqa: S311
    for _ in range(120):
        text, asked = joined(draw, ask, draw.randrange(4))
        if len(text) <= 1500:
            assert weigh(text, alphabet).tolist() == [float(asked(value)) for value in values], text


@pytest.mark.parametrize(
    ("alphabet", "ask"),
    [(NUMBERS, number_asked), (WORDS, word_asked), (CELLS, cell_asked)],
    ids=["numbers", "words", "cells"],
)
def test_without_parentheses_and_goes_before_or_and_any_number_stands_side_by_side(
    alphabet: Any, ask: Callable[..., Asked]
) -> None:
    draw, values = random.Random(9), alphabet.decode(np.arange(alphabet.size)).tolist()  # noqa: S311
    for many in (3, 10, 60):
        terms = [[ask(draw) for _ in range(draw.randint(1, 3))] for _ in range(many)]
        text = " or ".join(" and ".join(one for one, _ in term) for term in terms)
        while len(text) > 2000:
            terms.pop()
            text = " or ".join(" and ".join(one for one, _ in term) for term in terms)
        expected = [float(any(all(asked(value) for _, asked in term) for term in terms)) for value in values]
        assert weigh(text, alphabet).tolist() == expected, text
    short = " or ".join(f"(({part}))" for part in ["row == 1" if alphabet is CELLS else ask(draw)[0]] * 40)
    assert weigh(short, alphabet).any()


@each(("text", "number"), [("$2k", 2e3), ("0.002M", 2e3), ("2,000", 2e3), ("2 thousand", 2e3)])
@each(
    ("scale", "factor"), [("", 1), ("k", 1000), (" million", 10**6), ("M", 10**6), ("bn", 10**9), (" billion", 10**9)]
)
def test_a_number_is_multiplied_by_the_letter_behind_it(text: str, number: float, scale: str, factor: int) -> None:
    bins = cf.Bins(edges=[0, 2000, 3 * factor, 10**11] if factor > 1000 else [0, 2000, 3000, 10**11], unit="dollar")
    assert weigh(f"pay >= {text}", bins).tolist() == [0.0, 1.0, 1.0]
    if factor > 1:
        assert weigh(f"pay >= 3{scale}", bins).tolist() == [0.0, 0.0, 1.0]
