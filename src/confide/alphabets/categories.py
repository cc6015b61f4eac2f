"""Unordered values."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from confide.alphabets.base import Alphabet, joined
from confide.alphabets.geometry import Indices, UnorderedGeometry, Values
from confide.alphabets.numerals import parse_integer
from confide.alphabets.words import Aliases, Spelling, as_aliases
from confide.errors import InvalidParameterError
from confide.kinds import Example
from confide.metrics import Value


@dataclass(frozen=True)
class Categories(Alphabet):
    """Unordered values, all strings or all integers; no two are closer than any other two.

    >>> Categories(["yes", "no"]).encode(["no", "no", "yes"])
    array([1, 1, 0])
    >>> Categories(["yes", "no"], fold=True, aliases={"yes": ["oui"]}).take(["NO ", "Oui"]).tolist()
    ['no', 'yes']

    Attributes
    ----------
    values
        The values.
    fold
        Whether people's own texts may differ from them in case, in blanks and in the form of accents.
    aliases
        Other names that people have for a value.
    other
        The value that stands for every text that is not listed; None where such a text is refused.
    """

    kind = "categories"
    about = "unordered values, all texts or all whole numbers; none is nearer than another"
    example = Example(
        "answer",
        "How often do you cycle to work?",
        unit="unit of distance: any two categories are 1 apart",
        epsilon=2.0,
        text="""\
values = ["never", "sometimes", "often"]
# fold = true          # "NEVER " is never too: case and blanks do not matter, and what was folded is told
# aliases = { often = ["always", "daily"] }   # other names that people have for a value
# other = "sometimes"  # the value that takes whatever is not listed, typing errors too; refused if left out
""",
    )

    values: tuple[Hashable, ...]
    fold: bool = False
    aliases: Aliases = ()
    other: Hashable | None = None
    cure = "Correct them or add them to the alphabet."

    def __init__(
        self,
        values: Sequence[str] | Sequence[int],
        fold: bool = False,  # noqa: FBT001, FBT002 (a setting of the survey, as its fields are)
        aliases: Mapping[str, Iterable[str]] | None = None,
        other: str | int | None = None,
    ) -> None:
        if isinstance(values, str):
            raise InvalidParameterError(f"Categories needs a list of values; got the one string {values!r}.")
        given: object = values
        if not isinstance(given, Iterable) or getattr(given, "ndim", None) == 0:
            raise InvalidParameterError(f"Categories needs a list of values; got {values!r}.")
        plain = (value.item() if isinstance(value, np.generic) else value for value in given)
        object.__setattr__(self, "values", tuple(plain))
        self._check()
        words = tuple(map(str, self.values))
        known = {str(word): names for word, names in aliases.items()} if isinstance(aliases, Mapping) else aliases
        object.__setattr__(self, "fold", fold)
        object.__setattr__(self, "aliases", as_aliases(known, words))
        object.__setattr__(self, "other", other)
        if other is not None and other not in self.values:
            raise InvalidParameterError(
                f"other must be one of the values; got {other!r}. Add it to the values: reports have it too."
            )
        _ = self.spelling  # refused now rather than when values are read

    @cached_property
    def spelling(self) -> Spelling:
        """Texts that are taken for a value; of whole numbers as they are written."""
        return Spelling(
            tuple(map(str, self.values)), self.fold, self.aliases, None if self.other is None else str(self.other)
        )

    @property
    def declared(self) -> dict[str, Any] | None:
        """See :attr:`Alphabet.declared`."""
        other = {} if self.other is None else {"other": self.other}
        return {"values": self.values} | self.spelling.declared | other

    def _check(self) -> None:
        if not self.values:
            raise InvalidParameterError("Categories needs a list of at least one value; got none.")
        kinds = {type(value) for value in self.values}
        if kinds not in ({str}, {int}):
            raise InvalidParameterError(f"Categories must be all strings or all integers; got {_type_names(kinds)}.")
        if "" in self.values:
            raise InvalidParameterError('Categories must not be empty texts, which are read as missing. Write "none".')
        cut = next((value for value in self.values if isinstance(value, str) and value.endswith("\0")), None)
        if cut is not None:  # numpy's strings end at their last letter that is no NUL, so "a" and "a\0" are one
            raise InvalidParameterError(f"Categories must not end with a NUL character; got {cut!r}. Strip it.")
        if len(set(self.values)) < len(self.values):
            repeated = next(value for value in self.values if self.values.count(value) > 1)
            raise InvalidParameterError(f"Categories must differ; {repeated!r} stands more than once.")

    @property
    def geometry(self) -> UnorderedGeometry:
        """See :attr:`Alphabet.geometry`."""
        return UnorderedGeometry(len(self.values))

    @cached_property
    def _sorted(self) -> tuple[Values, Indices]:
        array = np.array(self.values)
        order = np.argsort(array, kind="stable")
        return array[order], order

    def locate(self, values: Values) -> Indices:
        """See :meth:`Alphabet.locate`."""
        known, order = self._sorted
        if values.dtype.kind != known.dtype.kind:
            return np.full(values.shape[0], -1, dtype=np.int64)
        places = np.minimum(np.searchsorted(known, values), self.size - 1)
        return np.where(known[places] == values, order[places], -1)

    def decode(self, indices: ArrayLike) -> Values:
        """See :meth:`Alphabet.decode`."""
        decoded: Values = np.array(self.values)[np.asarray(indices)]
        return decoded

    def parse(self, fields: Sequence[str]) -> Value | None:
        """See :meth:`Alphabet.parse`."""
        return parse_integer(fields[0]) if self._is_whole else fields[0]

    @property
    def _is_whole(self) -> bool:
        return isinstance(self.values[0], int)

    def read(self, fields: Sequence[str]) -> Value | None:
        """See :meth:`Alphabet.read`."""
        if self.spelling.is_plain:
            return self.parse(fields)
        found = self.spelling.read(self._written(fields[0]))
        return self._value(found) if found is not None else self.parse(fields)

    def take(self, raw: ArrayLike) -> Values:
        """See :meth:`Alphabet.take`."""
        array = self.as_array(raw)
        if self.spelling.is_plain or array.dtype.kind not in ("Ui" if self._is_whole else "U"):
            return array
        texts, places = np.unique(array, return_inverse=True)
        read = [self.read((str(text),)) for text in texts.tolist()]
        found = np.array([text if one is None else one for text, one in zip(texts.tolist(), read, strict=True)])
        values: Values = found[places.reshape(array.shape)]
        return values

    def remark(self, fields: Sequence[str]) -> str:
        """See :meth:`Alphabet.remark`."""
        return "" if self.spelling.is_plain else self.spelling.remark(self._written(fields[0]))

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
        return None if found is None else self._value(found)

    def _written(self, text: str) -> str:
        """Return a whole number without signs, zeros and blanks that say nothing; any other text as it is."""
        number = parse_integer(text) if self._is_whole else None
        return text if number is None else str(number)

    def _value(self, word: str) -> Value:
        return int(word) if self._is_whole else word

    def __repr__(self) -> str:
        shown, more = ", ".join(map(repr, self.values[:4])), ", ..." if self.size > 4 else ""
        return f"Categories({joined(f'[{shown}{more}]', *self.spelling.settings)})"


def _type_names(kinds: set[type]) -> str:
    return " and ".join(sorted(kind.__name__ for kind in kinds))
