"""Scales: words in an order, at distances from each other."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.errors import InvalidParameterError, ValueOutsideAlphabetError
from confide.values.amounts import as_amount, as_written
from confide.values.base import joined, spacing_and_unit
from confide.values.categories import Aliases, Spelling, as_aliases, check_words
from confide.values.checks import as_items, check_positive, check_text
from confide.values.geometry import Indices, LineGeometry, Values
from confide.values.kinds import Example
from confide.values.metrics import Value
from confide.values.planes import Integers
from confide.values.wording import counted, listed


@dataclass(frozen=True, init=False, repr=False)
class Scale(Integers):
    """Words in an order, such as never, rarely, often; a value is the number of a word, from 0.

    Neighbours lie `spacing` apart, or words at `positions`. Metric mechanisms, smooth priors, windows and quantiles use
    the order.

    >>> often = Scale(["never", "rarely", "often"], fold=True)
    >>> often.take(["Often", "never"]), often.distance("never", "often"), often.labels()
    (array([2, 0]), 2.0, ['never', 'rarely', 'often'])
    >>> Scale(["never", "rarely", "often"], positions=[0, 1, 5]).distance("rarely", "often")
    4.0

    Parameters
    ----------
    values
        The words, from one end to the other.
    spacing
        How far apart neighbours lie.
    unit
        Unit of distances.
    positions
        Where each word lies, rising, in that unit; in place of a spacing.
    fold, aliases, other
        Which other texts are taken for a word, see :class:`confide.Categories`.
    """

    kind = "scale"
    about = "words in an order; neighbours are nearer than others, and reports hold their numbers, from 0"
    example = Example(
        "answer",
        "How often do you cycle to work?",
        unit="step",
        text="""\
values = ["never", "rarely", "sometimes", "often", "always"]
unit = "step"          # what distances are counted in; may be left out
# positions = [0, 1, 2, 4, 8]   # where each word lies, in that unit, if not in equal steps
# fold = true          # "NEVER " is never too: case and blanks do not matter, and what was folded is told
# aliases = { always = ["daily", "every day"] }   # other names that people have for a word
""",
    )

    has_labels = True
    cure: ClassVar[str] = "Correct them or add them to the scale."  # type: ignore[misc]

    words: tuple[str, ...] = ()
    places: tuple[Fraction, ...] = ()
    fold: bool = False
    aliases: Aliases = ()
    other: str | None = None

    def __init__(  # noqa: PLR0913 (settings of a survey)
        self,
        values: Sequence[str],
        spacing: float = 1.0,
        unit: str = "",
        *,
        positions: Sequence[float] | None = None,
        fold: bool = False,
        aliases: Mapping[str, Iterable[str]] | None = None,
        other: str | None = None,
    ) -> None:
        words = check_words("Scale", values)
        check_positive("spacing", spacing)
        check_text("unit", unit)
        # Where words lie; nothing where that is equally far apart, and then how far.
        places: tuple[Fraction, ...] = ()
        step = float(spacing)
        if positions is not None:
            if spacing != 1:
                raise InvalidParameterError(
                    f"Give a spacing or positions, not both; got {spacing!r} and {positions!r}."
                )
            places = tuple(as_amount("a position", one) for one in as_items("positions", positions, "numbers"))
            if len(places) != len(words):
                raise InvalidParameterError(
                    f"Give one position for each of {counted(len(words), 'word')}; got {len(places):,}."
                )
            gaps = {right - left for left, right in pairwise(places)}
            if any(gap <= 0 for gap in gaps):
                shown = ", ".join(f"{float(one):g}" for one in places)
                raise InvalidParameterError(f"Positions must rise from word to word; got {shown}.")
            places, step = (places, 1.0) if len(gaps) > 1 else ((), float(gaps.pop()) if gaps else 1.0)
        settled = {"low": 0, "high": len(words) - 1, "spacing": step, "unit": unit, "words": words, "places": places}
        settled |= {"fold": fold, "aliases": as_aliases(aliases, words), "other": other}
        for name, value in settled.items():
            object.__setattr__(self, name, value)
        _ = self.spelling  # refused now rather than when values are read

    @cached_property
    def spelling(self) -> Spelling:
        """Texts that are taken for a word."""
        return Spelling(self.words, self.fold, self.aliases, self.other)

    @cached_property
    def geometry(self) -> LineGeometry:
        """See :attr:`Alphabet.geometry`; words lie at their positions where these are not equally far apart."""
        return LineGeometry(0, len(self.words) - 1, self.spacing, self.places or None)

    @property
    def amounts(self) -> NDArray[np.float64]:
        """See :attr:`Alphabet.amounts`: where words lie, from the first one on."""
        return np.concatenate([[0.0], np.cumsum(self.gaps)])

    @property
    def mean_remark(self) -> str:
        """See :attr:`Alphabet.mean_remark`."""
        shown = [f"{word} as {place:g}" for word, place in zip(self.words, self.amounts.tolist(), strict=True)]
        return f"words count as their distance from the first: {listed(shown if self.size < 6 else shown[:3])}"

    @property
    def declared(self) -> dict[str, Any]:
        """See :attr:`Alphabet.declared`."""
        spacing = {} if self.spacing == 1 else {"spacing": self.spacing}
        unit = {"unit": self.unit} if self.unit else {}
        positions = {"positions": tuple(map(as_written, self.places))} if self.places else {}
        return {"values": self.words} | positions | spacing | unit | self.spelling.declared

    # What people have.

    def read(self, fields: Sequence[str]) -> Value | None:
        """See :meth:`Alphabet.read`."""
        found = self.spelling.read(fields[0])
        return None if found is None else self._numbers[found]

    def take(self, raw: ArrayLike) -> Values:
        """See :meth:`Alphabet.take`."""
        array = self.as_array(raw)
        if array.size and array.dtype.kind != "U":
            raise InvalidParameterError(
                f"{self!r} takes words such as {self.words[0]!r}; got {array.reshape(-1)[0]!r}. Numbers of words are "
                f"taken with taken=True."
            )
        texts, places = np.unique(array, return_inverse=True)
        found = [self.read((text,)) for text in texts.tolist()]
        numbers = np.array([-1 if one is None else one for one in found], dtype=np.int64)[places.reshape(-1)]
        outside = np.flatnonzero(numbers < 0)
        if outside.size:
            first = str(array[outside[0]])
            hint = f"; {self.hint((first,))}" if self.hint((first,)) else ""
            raise ValueOutsideAlphabetError(
                f"{outside.size:,} of {array.size:,} values are no words of {self!r}; first: {first!r} at position "
                f"{outside[0]}{hint}. {self.cure}",
                tuple(outside.tolist()),
            )
        return numbers

    def encode(self, values: ArrayLike) -> Indices:
        """See :meth:`Alphabet.encode`; of words or of their numbers."""
        array = self.as_array(values)
        return super().encode(self.take(array) if array.dtype.kind == "U" else array)

    def distance(self, left: Value, right: Value) -> float:
        """See :meth:`Alphabet.distance`; of words or of their numbers."""
        ends: list[Any] = [left, right]
        one, other = self.encode(ends).tolist()
        return self.metric.distance(one, other)

    def fault(self, fields: Sequence[str]) -> str:
        """See :meth:`Alphabet.fault`."""
        return "outside the alphabet" if self.read(fields) is None else ""

    def remark(self, fields: Sequence[str]) -> str:
        """See :meth:`Alphabet.remark`."""
        return self.spelling.remark(fields[0])

    @property
    def reading(self) -> str:
        """See :attr:`Alphabet.reading`."""
        return self.spelling.description

    def hint(self, fields: Sequence[str]) -> str:
        """See :meth:`Alphabet.hint`."""
        return self.spelling.hint(fields[0])

    def named(self, text: str) -> Value | None:
        """See :meth:`Alphabet.named`."""
        found = self.spelling.find(text)
        if found is None:
            close = difflib.get_close_matches(text, self.words, n=1)
            meant = f" (did you mean {close[0]!r}?)" if close else ""
            raise InvalidParameterError(f"{text!r} is none of the words{meant}; known: {', '.join(self.words[:8])}")
        return self._numbers[found]

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words)}

    # What is said of them.

    def _name(self, values: Values) -> list[str]:
        return [self.words[value] if 0 <= value < self.size else str(value) for value in values.tolist()]

    def question(self, name: str, low: int, high: int | None = None) -> str:
        """See :meth:`Integers.question`.

        >>> Scale(["never", "now and then", "often"]).question("answer", 1, 2)
        "answer in 'now and then'..often"
        """
        first, last = (quoted(self.words[end]) for end in (low, low if high is None else high))
        if high is None:
            return f"{name} >= {first}"
        return f"{name} == {first}" if low == high else f"{name} in {first}..{last}"

    def __repr__(self) -> str:
        more = ", ..." if self.size > 4 else ""
        words = ", ".join(map(repr, self.words[:4]))
        places = ", ".join(f"{as_written(place):g}" for place in self.places[:4])
        spacing, unit = spacing_and_unit(self)
        lie = f"positions=[{places}{more}]" if self.places else spacing
        return f"Scale({joined(f'[{words}{more}]', lie, unit, *self.spelling.settings)})"


def quoted(word: str) -> str:
    """Return a word as it stands in a query, without quotation marks where it needs none."""
    if re.fullmatch(r"(?!(?:and|or|not|in)\b)[^\W\d]\w*", word):
        return word
    return f'"{word}"' if "'" in word else f"'{word}'"
