"""Unordered values: categories, and bit vectors packed into words."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.errors import InvalidParameterError, TooLargeError
from confide.values.base import LARGEST_LISTED, Alphabet, joined
from confide.values.checks import check_count
from confide.values.geometry import Indices, UnorderedGeometry, Values
from confide.values.kinds import Example
from confide.values.metrics import Value
from confide.values.numerals import parse_integer
from confide.values.words import Aliases, Spelling, as_aliases


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
            names = " and ".join(sorted(kind.__name__ for kind in kinds))
            raise InvalidParameterError(f"Categories must be all strings or all integers; got {names}.")
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


@dataclass(frozen=True)
class BitVectors(Alphabet):
    """All vectors of `length` bits, each packed into signed 64-bit words of 63 bits, lowest bit first.

    63 rather than 64, because every database and every spreadsheet has signed 64-bit integers, and not all have others.

    >>> vectors = BitVectors(3)
    >>> vectors.pack(np.array([[True, False, True]]))
    array([5])
    """

    WORD_BITS: ClassVar[int] = 63
    LISTED_BITS: ClassVar[int] = 16  # 65,536 vectors times 16 values are a matrix of 8 MB; each further bit doubles it

    length: int

    def __post_init__(self) -> None:
        check_count("length", self.length, 1)
        if self.length > LARGEST_LISTED:
            raise TooLargeError(
                f"Reports of {self.length:,} bits are too long (at most {LARGEST_LISTED:,}). Use fewer or coarser "
                f"values."
            )

    @property
    def parts(self) -> int:
        """Number of words that a vector takes."""
        return -(-self.length // self.WORD_BITS)

    @property
    def field_names(self) -> tuple[str, ...]:
        """Names of the words in files."""
        return tuple(f"word{number}" for number in range(self.parts))

    @property
    def geometry(self) -> UnorderedGeometry:
        """See :attr:`Alphabet.geometry`."""
        return UnorderedGeometry(1 << self.length)

    @property
    def bits(self) -> BitVectors:  # type: ignore[override]  # it is one
        """See :attr:`Alphabet.bits`."""
        return self

    @property
    def is_listable(self) -> bool:
        """See :attr:`Alphabet.is_listable`; up to 16 bits."""
        return self.length <= self.LISTED_BITS

    def require_listable(self) -> None:
        """See :meth:`Alphabet.require_listable`."""
        if not self.is_listable:
            raise TooLargeError(
                f"The 2^{self.length} vectors of {self!r} are too many to list; at most {self.LISTED_BITS} bits."
            )

    def contains(self, values: Values) -> NDArray[np.bool_]:
        """See :meth:`Alphabet.contains`."""
        if values.dtype.kind not in "iu":
            return np.zeros(values.shape[0], dtype=bool)
        words = values.reshape(-1, self.parts)
        largest = np.array([2 ** min(self.WORD_BITS, self.length - start) - 1 for start in self._starts])
        within: NDArray[np.bool_] = np.all((words >= 0) & (words <= largest), axis=1)
        return within

    def locate(self, values: Values) -> Indices:
        """See :meth:`Alphabet.locate`; vectors of one word are numbered by it, longer ones have no 64-bit number."""
        if self.parts > 1:
            raise InvalidParameterError(
                f"Vectors of more than {self.WORD_BITS} bits have no 64-bit number; {self!r} has {self.length} bits."
            )
        return np.where(self.contains(values), values, -1)

    def decode(self, indices: ArrayLike) -> Values:
        """See :meth:`Alphabet.decode`; numbers fit into the first word, and the others stay empty."""
        numbers = np.asarray(indices, dtype=np.int64)
        if self.parts == 1:
            return numbers
        words = np.zeros((*numbers.shape, self.parts), dtype=np.int64)
        words[..., 0] = numbers
        return words

    def pack(self, vectors: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return bits, one row a vector, as words; one row a vector where it takes several."""
        bits = np.zeros((vectors.shape[0], self.parts, 64), dtype=bool)
        for word, start in enumerate(self._starts):
            chunk = vectors[:, start : start + self.WORD_BITS]
            bits[:, word, : chunk.shape[1]] = chunk
        packed = np.packbits(bits.reshape(vectors.shape[0], 64 * self.parts), axis=1, bitorder="little")
        words = packed.view("<i8").astype(np.int64, copy=False)
        return words[:, 0] if self.parts == 1 else words

    def unpack(self, words: ArrayLike) -> NDArray[np.bool_]:
        """Return words as bits, one row a vector.

        >>> BitVectors(3).unpack([5])
        array([[ True, False,  True]])
        """
        # By bytes: a shift of words would take eight bytes a bit on the way.
        array = np.ascontiguousarray(words, dtype="<i8").reshape(-1, self.parts)
        bits = np.unpackbits(array.view(np.uint8), axis=1, bitorder="little").reshape(-1, self.parts, 64)
        return bits[:, :, : self.WORD_BITS].reshape(array.shape[0], -1)[:, : self.length].astype(bool)

    @property
    def _starts(self) -> range:
        return range(0, self.length, self.WORD_BITS)
