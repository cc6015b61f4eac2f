"""Words, unordered or on a scale, and packed bit vectors."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.errors import InvalidParameterError, TooLargeError
from confide.values.amounts import as_amount, as_written
from confide.values.base import LARGEST_LISTED, Alphabet, Example, joined, outside_error, spacing_and_unit
from confide.values.checks import BLANK, as_items, check_count, check_positive, check_text, parse_integer, settle
from confide.values.geometry import Indices, LineGeometry, UnorderedGeometry, Values
from confide.values.metrics import Value
from confide.values.planes import Integers
from confide.values.wording import counted, listed, quote_value, suggestion

COUNTED_AS = "counted as "
"""Beginning of the remark on a text that is not listed."""

_BLANKS = re.compile(f"[{BLANK}]+")

Aliases = tuple[tuple[str, tuple[str, ...]], ...]
"""Words, each with its other names."""


def fold_word(text: str) -> str:
    """Fold the case, blanks and accents of a text.

    Four steps, each of which JavaScript has too (docs/values.md): runs of blanks become one space, and none is left at
    the ends; lower case, of no locale; a final sigma becomes a sigma, and a sharp s becomes ss; Unicode's NFC. It is
    not Unicode's case folding, which JavaScript lacks and which joins some rare letters more.

    >>> fold_word(" PARIS "), fold_word("Gro\u00df  Stra\u00dfe") == fold_word("GROSS STRASSE")
    ('paris', True)
    """
    if text.isascii():  # the same, four times as fast
        return " ".join(text.split()).lower()
    spaced = _BLANKS.sub(" ", text).strip(" ")
    # Lower case writes a sigma by what stands around it: one letter for both leaves no room for two opinions.
    lowered = spaced.lower().replace("\u03c2", "\u03c3").replace("\u00df", "ss")
    return unicodedata.normalize("NFC", lowered)


@dataclass(frozen=True)
class Spelling:
    """Texts that count as a word.

    >>> city = Spelling(("Paris", "Lyon", "elsewhere"), True, (("Paris", ("Lutetia",)),), "elsewhere")
    >>> city.read("PARIS "), city.read("lutetia"), city.read("Nice"), city.remark("Nice")
    ('Paris', 'Paris', 'elsewhere', 'counted as elsewhere')

    Attributes
    ----------
    words
        The words themselves.
    fold
        Whether a text that differs in case, blanks or the form of accents is the same, see :func:`fold_word`.
    aliases
        Other names of words.
    other
        The word that stands for every text that is not listed; None where such a text is refused.
    """

    words: tuple[str, ...]
    fold: bool = False
    aliases: Aliases = ()
    other: str | None = None

    _exact: dict[str, str] = field(init=False, repr=False, compare=False)
    _folded: dict[str, str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.fold, bool):
            raise InvalidParameterError(f"fold must be true or false; got {self.fold!r}.")
        if self.other is not None and self.other not in self.words:
            raise InvalidParameterError(
                f"other must be one of the values; got {self.other!r}. Add it to the values: reports have it too."
            )
        # Every name with the word it stands for. An ambiguous one is refused now rather than when values are read.
        names = [(word, word) for word in self.words]
        names += [(alias, word) for word, aliases in self.aliases for alias in aliases]
        blank = next((name for name, _ in names if self.fold and not fold_word(name)), None)
        exact, folded = _index(names, ""), [(fold_word(name), word) for name, word in names] if self.fold else []
        if blank is not None:
            raise InvalidParameterError(f"The value {blank!r} has nothing left when it is folded. Give it letters.")
        settle(self, _exact=exact, _folded=_index(folded, " when folded"))

    @property
    def is_plain(self) -> bool:
        """Whether words alone are taken, letter by letter."""
        return not self.fold and not self.aliases and self.other is None

    def find(self, text: str) -> str | None:
        """Return the word that a text spells, by any name; None otherwise."""
        found = self._exact.get(text)
        return self._folded.get(fold_word(text)) if found is None and self.fold else found

    def read(self, text: str) -> str | None:
        """Return the word that a text counts as; None if refused.

        A missing text is always refused.
        """
        found = self.find(text)
        return self.other if found is None and _BLANKS.sub("", text) else found

    def remark(self, text: str) -> str:
        """Return what was done to a text; empty for a word."""
        if self._exact.get(text) == text:  # a word itself
            return ""
        found = self.find(text)
        if found is None:
            return f"{COUNTED_AS}{self.other}"
        # It is a word but for its case, its blanks or how its accents are put together; or an alias.
        return "folded" if self.fold and fold_word(text) == fold_word(found) else "known by another name"

    def hint(self, text: str) -> str:
        """Return the word that ``fold = true`` would find in a text."""
        if self.fold or self.other is not None:
            return ""
        near = self._near.get(fold_word(text), set())
        return f"it is {quote_value(next(iter(near)))} under fold = true" if len(near) == 1 else ""

    @property
    def declared(self) -> dict[str, Any]:
        """Settings as a survey states them; nothing where words alone are taken."""
        fold = {"fold": True} if self.fold else {}
        other = {} if self.other is None else {"other": self.other}
        return fold | other | ({"aliases": dict(self.aliases)} if self.aliases else {})

    @property
    def settings(self) -> tuple[str, str, str]:
        """Settings as the repr of an alphabet has them."""
        number = sum(len(names) for _, names in self.aliases)
        other = "" if self.other is None else f"other={self.other!r}"
        return "fold=True" if self.fold else "", counted(number, "alias") if number else "", other

    @property
    def description(self) -> str:
        """Settings in words; nothing where words alone are taken.

        >>> Spelling(("yes", "no"), True, (("yes", ("oui", "si")),), "no").description
        'case and blanks of a text do not matter, 2 other names are known, what is not listed counts as no'
        """
        number = sum(len(names) for _, names in self.aliases)
        parts = ["case and blanks of a text do not matter"] if self.fold else []
        parts += [f"{counted(number, 'other name')} {'is' if number == 1 else 'are'} known"] if number else []
        return ", ".join(parts + ([] if self.other is None else [f"what is not listed counts as {self.other}"]))

    @cached_property
    def _near(self) -> dict[str, set[str]]:
        """Words by their folded names; without ``fold`` several may share one."""
        found: dict[str, set[str]] = {}
        for name, word in self._exact.items():
            found.setdefault(fold_word(name), set()).add(word)
        return found


def _index(names: Iterable[tuple[str, str]], how: str) -> dict[str, str]:
    """Return the word of each name, refusing a name of two."""
    found: dict[str, str] = {}
    for name, word in names:
        if found.setdefault(name, word) != word:
            raise InvalidParameterError(
                f"{name!r}{how} stands for two values, {found[name]!r} and {word!r}. Let every name stand for one."
            )
    return found


def check_words(values: object) -> tuple[str, ...]:
    """Return the words of a scale, or say why they are none."""
    if isinstance(values, str) or not isinstance(values, Iterable) or getattr(values, "ndim", 1) == 0:
        raise InvalidParameterError(f"Scale needs a list of words; got {values!r}.")
    words = tuple(str(word) if isinstance(word, str) else word for word in values)
    wrong = [word for word in words if not isinstance(word, str) or not _BLANKS.sub("", word)]
    if not words or wrong:
        got = "none" if not words else repr(wrong[0])
        raise InvalidParameterError(f"Scale needs a list of words; got {got}. Whole numbers are Integers(low, high).")
    cut = next((word for word in words if word.endswith("\0")), None)
    if cut is not None:
        raise InvalidParameterError(f"Scale must have no word that ends with a NUL character; got {cut!r}. Strip it.")
    if len(set(words)) < len(words):
        repeated = next(word for word in words if words.count(word) > 1)
        raise InvalidParameterError(f"The words of Scale must differ; {repeated!r} stands more than once.")
    return words


def as_aliases(given: Mapping[str, Iterable[str]] | None, words: tuple[str, ...]) -> Aliases:
    """Return the aliases of each word, sorted.

    Equal aliases then have equal surveys, whatever their order.

    >>> as_aliases({"b": ["y", "x"], "a": ["z"]}, ("a", "b"))
    (('a', ('z',)), ('b', ('x', 'y')))
    """
    if given is None:
        return ()
    if not isinstance(given, Mapping):
        raise InvalidParameterError(
            f'aliases must be a table of lists, such as {{ Paris = ["Lutetia"] }}; got {given!r}.'
        )
    unknown = next((word for word in given if word not in words), None)
    if unknown is not None:
        raise InvalidParameterError(
            f"aliases has other names of {unknown!r}, which is none of the values. Known: {', '.join(words[:8])}."
        )
    found: dict[str, tuple[str, ...]] = {}
    for word, given_names in given.items():
        names: object = given_names  # as a file may have it
        listed = list(names) if isinstance(names, Iterable) and not isinstance(names, str | Mapping) else [None]
        texts = [name for name in listed if isinstance(name, str) and _BLANKS.sub("", name)]
        if len(texts) < len(listed):
            raise InvalidParameterError(f"The aliases of {word!r} must be a list of texts; got {names!r}.")
        cut = next((name for name in texts if name.endswith("\0")), None)
        if cut is not None:
            raise InvalidParameterError(f"Aliases must not end with a NUL character; got {cut!r}. Strip it.")
        found[word] = tuple(sorted(set(texts) - {word}))
    return tuple((word, found[word]) for word in words if found.get(word))


class Spelled(Alphabet):
    """Values that people know by words."""

    words: tuple[str, ...]
    fold: bool
    aliases: Aliases
    other: Hashable | None

    @cached_property
    def spelling(self) -> Spelling:
        """Texts that are taken for a value.

        Whole numbers as they are written.
        """
        return Spelling(self.words, self.fold, self.aliases, None if self.other is None else str(self.other))

    def remark(self, fields: Sequence[str]) -> str:
        return "" if self.spelling.is_plain else self.spelling.remark(self._written(fields[0]))

    @property
    def reading(self) -> str:
        return self.spelling.description

    def hint(self, fields: Sequence[str]) -> str:
        return self.spelling.hint(fields[0])

    def _written(self, text: str) -> str:
        """Return a text without what says nothing in it."""
        return text


@dataclass(frozen=True)
class Categories(Spelled):
    """Unordered values, all strings or all integers.

    All pairs of values are equally far apart.

    >>> Categories(["yes", "no"]).encode(["no", "no", "yes"])
    array([1, 1, 0])
    >>> Categories(["yes", "no"], fold=True, aliases={"yes": ["oui"]}).take(["NO ", "Oui"]).tolist()
    ['no', 'yes']

    Attributes
    ----------
    values
        The values.
    fold
        Whether texts that differ only in case, blanks or the encoding of accents count as the same value.
    aliases
        Other names that people have for a value.
    other
        The value for every text that is not listed; None refuses such texts.
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
# fold = true          # "NEVER " is never too: ignores case and blanks, and says how many rows it changed
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
        settle(self, values=tuple(plain))
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
        words = tuple(map(str, self.values))
        known = {str(word): names for word, names in aliases.items()} if isinstance(aliases, Mapping) else aliases
        settle(self, words=words, fold=fold, aliases=as_aliases(known, words), other=other)
        if other is not None and other not in self.values:
            raise InvalidParameterError(
                f"other must be one of the values; got {other!r}. Add it to the values: reports have it too."
            )
        _ = self.spelling  # refused now rather than when values are read

    @property
    def declared(self) -> dict[str, Any] | None:
        other = {} if self.other is None else {"other": self.other}
        return {"values": self.values} | self.spelling.declared | other

    @property
    def geometry(self) -> UnorderedGeometry:
        return UnorderedGeometry(len(self.values))

    @cached_property
    def _sorted(self) -> tuple[Values, Indices]:
        array = np.array(self.values)
        order = np.argsort(array, kind="stable")
        return array[order], order

    def locate(self, values: Values) -> Indices:
        known, order = self._sorted
        # numpy would make a text of a number to compare it: 1 is none of "1" and "2".
        if values.dtype.kind != known.dtype.kind:
            return np.full(values.shape[0], -1, dtype=np.int64)
        places = np.minimum(np.searchsorted(known, values), self.size - 1)
        return np.where(known[places] == values, order[places], -1)

    def decode(self, indices: ArrayLike) -> Values:
        decoded: Values = np.array(self.values)[np.asarray(indices)]
        return decoded

    def parse(self, fields: Sequence[str]) -> Value | None:
        return parse_integer(fields[0]) if self._is_whole else fields[0]

    @property
    def _is_whole(self) -> bool:
        return isinstance(self.values[0], int)

    def read(self, fields: Sequence[str]) -> Value | None:
        if self.spelling.is_plain:
            return self.parse(fields)
        found = self.spelling.read(self._written(fields[0]))
        return self._value(found) if found is not None else self.parse(fields)

    def take(self, raw: ArrayLike) -> Values:
        array = self.as_array(raw)
        if self.spelling.is_plain or array.dtype.kind not in ("Ui" if self._is_whole else "U"):
            return array
        texts, places = np.unique(array, return_inverse=True)
        read = [self.read((str(text),)) for text in texts.tolist()]
        # What is no word stays as it was given, so that the error shows it.
        found = np.array([text if one is None else one for text, one in zip(texts.tolist(), read, strict=True)])
        values: Values = found[places.reshape(array.shape)]
        return values

    def named(self, text: str) -> Value | None:
        found = self.spelling.find(text)
        return None if found is None else self._value(found)

    def _written(self, text: str) -> str:
        """Return a whole number in its shortest form, other texts unchanged."""
        number = parse_integer(text) if self._is_whole else None
        return text if number is None else str(number)

    def _value(self, word: str) -> Value:
        return int(word) if self._is_whole else word

    def __repr__(self) -> str:
        shown, more = ", ".join(map(repr, self.values[:4])), ", ..." if self.size > 4 else ""
        return f"Categories({joined(f'[{shown}{more}]', *self.spelling.settings)})"


@dataclass(frozen=True)
class BitVectors(Alphabet):
    """Vectors of `length` bits, packed into 63-bit words, lowest bit first.

    63 rather than 64, because every database and every spreadsheet has signed 64-bit integers, and not all have others.

    >>> vectors = BitVectors(3)
    >>> vectors.pack(np.array([[True, False, True]]))
    array([5])

    With `ones`, only vectors with this number of set bits.
    """

    WORD_BITS: ClassVar[int] = 63
    LISTED_BITS: ClassVar[int] = 16  # 65,536 vectors times 16 values are a matrix of 8 MB; each further bit doubles it

    length: int
    ones: int | None = None

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
        return UnorderedGeometry(1 << self.length)

    @property
    def bits(self) -> BitVectors:  # type: ignore[override]  # it is one
        return self

    @property
    def is_listable(self) -> bool:
        # A list of vectors doubles with each bit.
        return self.length <= self.LISTED_BITS

    def require_listable(self) -> None:
        if not self.is_listable:
            raise TooLargeError(
                f"The 2^{self.length} vectors of {self!r} are too many to list; at most {self.LISTED_BITS} bits."
            )

    def contains(self, values: Values) -> NDArray[np.bool_]:
        if values.dtype.kind not in "iu":
            return np.zeros(values.shape[0], dtype=bool)
        words = values.reshape(-1, self.parts)
        largest = np.array(
            [2 ** min(self.WORD_BITS, self.length - start) - 1 for start in range(0, self.length, self.WORD_BITS)]
        )
        within: NDArray[np.bool_] = np.all((words >= 0) & (words <= largest), axis=1)
        if self.ones is not None:
            within[within] = self.unpack(words[within]).sum(axis=1) == self.ones
        return within

    def locate(self, values: Values) -> Indices:
        # The word is the number.
        if self.parts > 1:
            raise InvalidParameterError(
                f"Vectors of more than {self.WORD_BITS} bits have no 64-bit number; {self!r} has {self.length} bits."
            )
        return np.where(self.contains(values), values, -1)

    def decode(self, indices: ArrayLike) -> Values:
        # A 64-bit number fits into the first word, and the others stay empty.
        numbers = np.asarray(indices, dtype=np.int64)
        if self.parts == 1:
            return numbers
        words = np.zeros((*numbers.shape, self.parts), dtype=np.int64)
        words[..., 0] = numbers
        return words

    def pack(self, vectors: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Pack rows of bits into words, one row a vector if several."""
        # 64 places a word, of which the sign stays empty: whole bytes are packed fastest.
        bits = np.zeros((vectors.shape[0], self.parts, 64), dtype=bool)
        for word, start in enumerate(range(0, self.length, self.WORD_BITS)):
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


@dataclass(frozen=True, init=False, repr=False)
class Scale(Spelled, Integers):
    """Words in order, such as "never" to "always".

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
        Distance between neighbours.
    unit
        Unit of distances.
    positions
        Position of each word in that unit, rising; in place of a spacing.
    fold, aliases, other
        Which other texts count as a word; see :class:`confide.Categories`.
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
# fold = true          # "NEVER " is never too: ignores case and blanks, and says how many rows it changed
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
        words = check_words(values)
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
        settle(self, low=0, high=len(words) - 1, spacing=step, unit=unit, words=words, places=places)
        settle(self, fold=fold, aliases=as_aliases(aliases, words), other=other)
        _ = self.spelling  # refused now rather than when values are read

    @cached_property
    def geometry(self) -> LineGeometry:
        # Positions are stored only where words are not equally far apart.
        return LineGeometry(0, len(self.words) - 1, self.spacing, self.places or None)

    @property
    def amounts(self) -> NDArray[np.float64]:
        # A word counts as its distance from the first.
        return np.concatenate([[0.0], np.cumsum(self.gaps)])

    @property
    def mean_remark(self) -> str:
        shown = [f"{word} as {place:g}" for word, place in zip(self.words, self.amounts.tolist(), strict=True)]
        return f"words count as their distance from the first: {listed(shown if self.size < 6 else shown[:3])}"

    @property
    def declared(self) -> dict[str, Any]:
        spacing = {} if self.spacing == 1 else {"spacing": self.spacing}
        unit = {"unit": self.unit} if self.unit else {}
        positions = {"positions": tuple(map(as_written, self.places))} if self.places else {}
        return {"values": self.words} | positions | spacing | unit | self.spelling.declared

    # What people have.

    def read(self, fields: Sequence[str]) -> Value | None:
        found = self.spelling.read(fields[0])
        return None if found is None else self._numbers[found]

    def take(self, raw: ArrayLike) -> Values:
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
            what = f"values are no words of {self!r}"
            raise outside_error(outside, array.size, what, first, f"{hint}. {self.cure}")
        return numbers

    def encode(self, values: ArrayLike) -> Indices:
        """Return the number of each value, given as words or as numbers."""
        array = self.as_array(values)
        return super().encode(self.take(array) if array.dtype.kind == "U" else array)

    def distance(self, left: Value, right: Value) -> float:
        """Return the distance between two words, or between two numbers of words."""
        ends: list[Any] = [left, right]
        one, other = self.encode(ends).tolist()
        return self.metric.distance(one, other)

    def fault(self, fields: Sequence[str]) -> str:
        return "outside the alphabet" if self.read(fields) is None else ""

    def named(self, text: str) -> Value | None:
        found = self.spelling.find(text)
        if found is None:
            meant = suggestion(text, self.words)
            raise InvalidParameterError(f"{text!r} is none of the words{meant}; known: {', '.join(self.words[:8])}")
        return self._numbers[found]

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words)}

    # What is said of them.

    def _name(self, values: Values) -> list[str]:
        return [self.words[value] if 0 <= value < self.size else str(value) for value in values.tolist()]

    def _in_query(self, value: int) -> str:
        return quoted(self.words[value])

    def __repr__(self) -> str:
        more = ", ..." if self.size > 4 else ""
        words = ", ".join(map(repr, self.words[:4]))
        places = ", ".join(f"{as_written(place):g}" for place in self.places[:4])
        spacing, unit = spacing_and_unit(self)
        lie = f"positions=[{places}{more}]" if self.places else spacing
        return f"Scale({joined(f'[{words}{more}]', lie, unit, *self.spelling.settings)})"


def quoted(word: str) -> str:
    """Return a word for a query, in quotation marks if necessary."""
    if re.fullmatch(r"(?!(?:and|or|not|in)\b)[^\W\d]\w*", word):
        return word
    return f'"{word}"' if "'" in word else f"'{word}'"
