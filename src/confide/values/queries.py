"""Queries: questions about a distribution, such as the share of some values.

A query is a text, a function of a value, or one weight for each value. Texts are read by a small grammar of their own,
nothing is evaluated as code:

    query       term or term ...
    term        factor and factor ...
    factor      not factor | ( query ) | comparison
    comparison  name < literal (also <=, >, >=, ==, =, !=), or literal <= name < literal
                name in {literal, literal, ...}, or name in low..high with both ends inside; also not in
                within 2 km of 40.75, -73.98: cells on the Earth whose centre lies no farther on the ground
    literal     a number, a word, a text in quotation marks, a date such as 2026-03-01, or for cells (row, column)
    number      100000, also 100,000, 100k, 0.1M, 100 thousand; with the values' unit or a currency: 30 years, $100k

A number or a category may go by any one name, that of the survey where there is one, or by none: ``> 65``. Several
attributes go by their own names. The parts of a cell are called ``row`` and ``column``; ``cell`` is both, and a box of
cells is written ``cell in (2, 3)..(4, 5)``. Of an attribute ``home``, these are ``home_row``, ``home_column`` and
``home``; its places are asked for by ``home within 2 km of 40.75, -73.98``. An area of :func:`confide.read_areas` is a
query, too. Amounts in bins and dates are compared as people write them; a bound inside a bin, a week or a month is
refused with the nearest edges. An amount at an edge belongs to the upper bin; where that matters, the answer says so.
On a circle a range may go around: ``hour in 22..5``.

>>> from confide import Bins, Categories, Grid, Integers
>>> as_weights("18 <= age < 21", Integers(16, 22))
array([0., 0., 1., 1., 1., 0., 0.])
>>> as_weights("answer in {yes, 'not yet'}", Categories(["yes", "no", "not yet"]))
array([1., 0., 1.])
>>> as_weights("row >= 1 and not column == 0", Grid(2, 2))
array([0., 0., 0., 1.])
>>> as_weights("salary >= $20k", Bins(edges=[0, 10, 20, 50], above=True, unit="thousand dollars"))
array([0., 0., 1., 1.])
>>> from confide import Attributes
>>> as_weights("size >= 1 and answer == no", Attributes(size=Integers(0, 2), answer=Categories(["yes", "no"])))
array([0., 0., 0., 1., 0., 1.])
>>> as_weights(lambda age: age % 2 == 0, Integers(0, 4))
array([1., 0., 1., 0., 1.])
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.errors import InvalidParameterError
from confide.values import Alphabet, Attributes, LineGeometry, RingGeometry, as_value, unbounded
from confide.values.categories import quoted
from confide.values.checks import refuse_masked
from confide.values.distances import Disc, count_cells, why_no_cell
from confide.values.earth import METRES
from confide.values.geojson import Area
from confide.values.wording import plural, suggestion

Query = str | ArrayLike | Callable[[Any], Any] | Area | Disc
"""A text, one weight for each value, a function of a value, or an area of the Earth."""

FloatArray = NDArray[np.float64]
Chosen = NDArray[np.bool_]
Literal = int | float | str | tuple[int, ...]
Asked = TypeVar("Asked")

COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
}


def as_weights(query: Query, alphabet: Alphabet, name: str | None = None) -> FloatArray:
    """Return a query's weight for each value.

    A text, a circle or an area gives 1 to the values it asks for and 0 to the rest.

    Parameters
    ----------
    query
        A text, a function that returns true or false or a number, or an array of weights.
    alphabet
        The values.
    name
        What a value is called in a text, such as ``age``. Any one name will do if left out.

    Raises
    ------
    InvalidParameterError
        If the query cannot be read, names what is not there, or asks for none of the values.
    """
    weights = weigh(query, alphabet, name)
    if isinstance(query, str | Area | Disc) and not weights.any():
        said = repr(query) if isinstance(query, str) else f"'{describe_query(query)}'"
        areas, _ = _areas_and_remarks(query, alphabet, name)
        why = [why_no_cell(one, cells.corners(range(cells.size))) for one, cells in areas]
        raise InvalidParameterError(f"The query {said} asks for none of the values of {alphabet!r}.{''.join(why[:1])}")
    return weights


def weigh(query: Query, alphabet: Alphabet, name: str | None = None) -> FloatArray:
    """Like :func:`as_weights`, but a text may match no value."""
    if not alphabet.is_finite:
        raise unbounded(alphabet)
    alphabet.require_listable()
    if isinstance(query, str):
        return _Reader(query, alphabet, name).read().astype(np.float64)
    if isinstance(query, Area | Disc):
        return query.contains(alphabet.centres(np.arange(alphabet.size))).astype(np.float64)
    weights = query
    if callable(query):
        weights = []
        for value in map(as_value, alphabet.decode(np.arange(alphabet.size)).tolist()):
            try:
                weights.append(query(value))
            except Exception as error:
                raise InvalidParameterError(
                    f"The query {describe_query(query)} raised {type(error).__name__} for the value {value!r}: "
                    f"{error}. A function must take every value of {alphabet!r}."
                ) from error
    refuse_masked("weights of a query", weights, InvalidParameterError)
    try:
        array = np.array(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameterError(
            f"A query is a text such as {_example(alphabet, None)!r}, a function of a value, or numbers; got "
            f"{type(weights).__name__}."
        ) from None
    if array.shape != (alphabet.size,):
        raise InvalidParameterError(
            f"A query over {alphabet!r} needs one weight for each of {alphabet.size:,} values; got shape {array.shape}."
        )
    if not np.isfinite(array).all():
        raise InvalidParameterError(f"The weights of a query must be finite; got {array[~np.isfinite(array)][0]}.")
    return array


def describe_query(query: Query) -> str:
    """Return what a query is called in a table."""
    if isinstance(query, str):
        return " ".join(query.split())
    if isinstance(query, Area | Disc):
        return f"within {query.name or 'an area'}"
    return str(getattr(query, "__name__", "a function")) if callable(query) else "given weights"


def remark_on(query: Query, alphabet: Alphabet, name: str | None = None) -> str:
    """Say how a query was read: cells counted, amounts at bin edges."""
    areas, remarks = _areas_and_remarks(query, alphabet, name)
    found = [(one, cells, np.arange(cells.size)) for one, cells in areas]
    counted = [count_cells(one, cells.centres(all_of), cells.corners(all_of)) for one, cells, all_of in found]
    return "; ".join([*counted, *remarks])


def _areas_and_remarks(
    query: Query, alphabet: Alphabet, name: str | None
) -> tuple[list[tuple[Area | Disc, Alphabet]], list[str]]:
    """Return a query's areas with their cells, and remarks on it."""
    if isinstance(query, Area | Disc):
        return [(query, alphabet)], []
    if not isinstance(query, str) or not alphabet.is_finite:
        return [], []
    reader = _Reader(query, alphabet, name)
    reader.read()
    return reader.circles, list(dict.fromkeys(reader.remarks))


_AMOUNT = r"[-+]?[$€£¥]?\d[\d,.-]*[kKMB]?"

_BEHIND = r"(?<![<>=.\d$] )(?<![\w.,$])(AMOUNT)"
"""An amount that no sign stands before."""

_ALONE = r"\b(?!\s+(?:than\b|\S*\d))"
"""The end of a word that no other amount follows."""

_SPOKEN = [
    (re.compile(pattern.replace("AMOUNT", _AMOUNT)), sign)
    for pattern, sign in (
        (r"\bbetween\s+(AMOUNT)\s+and\s+(AMOUNT)", r"in \1..\2"),
        (r"\b(?:over|above|(?:more|older|greater|higher|larger|later)\s+than)\s+(?=AMOUNT)", "> "),
        (r"\b(?:under|below|(?:less|fewer|younger|lower|smaller|earlier)\s+than)\s+(?=AMOUNT)", "< "),
        (r"\bat\s+least\s+(?=AMOUNT)", ">= "),
        (r"\b(?:at\s+most|up\s+to)\s+(?=AMOUNT)", "<= "),
        (rf"{_BEHIND}(?:\+(?!\d)|\s+or\s+(?:more|older|over|above|higher|later){_ALONE})", r">= \1"),
        (rf"{_BEHIND}\s+or\s+(?:less|fewer|younger|under|below|lower|earlier){_ALONE}", r"<= \1"),
    )
]
"""Comparisons as people say them, and as a query has them."""


def as_signs(text: str) -> str:
    """Return a query with spoken comparisons as signs; quoted texts stay.

    >>> as_signs("over 65"), as_signs("age at least 18 and age under 30"), as_signs("between 18 and 30")
    ('> 65', 'age >= 18 and age < 30', 'in 18..30')
    >>> as_signs("'over 65'")
    "'over 65'"
    """
    if '"' in text or "'" in text:
        return text
    for pattern, sign in _SPOKEN:
        text = pattern.sub(sign, text)
    return text


@dataclass
class _Reader:
    """Recursive-descent parser; each method returns which values it selects."""

    text: str
    alphabet: Alphabet
    name: str | None
    tokens: list[tuple[str, str]] = field(init=False)
    place: int = 0
    depth: int = 0
    circles: list[tuple[Area | Disc, Alphabet]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    _words: ClassVar[tuple[str, ...]] = ("and", "or", "not", "in")  # which are no names

    def __post_init__(self) -> None:
        # 2,000 letters here, and 50 parentheses below: nobody writes a longer or deeper query by hand.
        if len(self.text) > 2000:
            raise InvalidParameterError(f"A query may have 2,000 characters at most; got {len(self.text):,}.")
        # A date comes before a number, for it begins with one. In 18..21 neither point belongs to a number.
        token = re.compile(
            r"""\s*(?:
              (?P<date>\d{4}-(?:\d{2}(?:-\d{2})?|[WQ]\d+)|\d{2}:\d{2})
            | (?P<number>[-+]?[$€£¥]?(?:\d{1,3}(?:,\d{3})+(?![\d,])(?:\.\d+)?|\d+\.\d+|\d+(?!\.\d)))
            | (?P<text>"[^"]*"|'[^']*')
            | (?P<name>[^\W\d]\w*)
            | (?P<sign><=|>=|==|!=|\.\.|[<>=(){}\[\],])
            )""",
            re.VERBOSE,
        )
        self.tokens, place = [], 0
        text = as_signs(self.text.replace("≤", "<=").replace("≥", ">=").replace("≠", "!=").rstrip())
        while place < len(text):
            match = token.match(text, place)
            if match is None or match.lastgroup is None:
                raise self._error(f"it cannot be read from {text[place:].strip()[:20]!r} on")
            word, place = match[match.lastgroup], match.end()
            if self.tokens[-1:] == [("sign", "(")] and word.count(",") == 1 and text[place:].lstrip()[:1] == ")":
                row, column = word.split(",")  # a cell, (100,200)
                self.tokens += [("number", row), ("sign", ","), ("number", column)]
            else:
                self.tokens.append((match.lastgroup, word))

    def read(self) -> Chosen:
        # What is no share of people, and where it is found.
        statistics = {
            "median": "the median: estimate.quantile(0.5), or confide estimate --query median",
            "mean": "the mean: estimate.mean(), or confide estimate --query mean",
            "average": "the mean: estimate.mean(), or confide estimate --query mean",
            "quantile": "a quantile: estimate.quantile(0.9), or confide estimate --query 'quantile 0.9'",
            "percentile": "a quantile: estimate.quantile(0.9), or confide estimate --query 'quantile 0.9'",
        }
        words = {word for kind, word in self.tokens if kind == "name"} & statistics.keys()
        if words and not any(word in COMPARISONS or word == "in" for _, word in self.tokens):
            raise self._error(f"it asks for no share of people. Ask for {statistics[min(words)]}")
        chosen = self._query()
        if self.place < len(self.tokens):
            raise self._unexpected("the end")
        return chosen

    def _query(self) -> Chosen:
        chosen = self._term()
        while self._take("or"):
            chosen = chosen | self._term()
        return chosen

    def _term(self) -> Chosen:
        chosen = self._factor()
        while self._take("and"):
            chosen = chosen & self._factor()
        return chosen

    def _factor(self) -> Chosen:
        self.depth += 1
        if self.depth > 50:
            raise self._error("it is nested more than 50 deep")
        if self._take("not"):
            chosen = ~self._factor()
        # A parenthesis opens a query, or a cell: (2, 3).
        elif self._peek() == ("sign", "(") and not (
            [kind for kind, _ in self.tokens[self.place + 1 : self.place + 3]] == ["number", "sign"]
            and self.tokens[self.place + 2][1] == ","
        ):
            self.place += 1
            chosen = self._query()
            self._expect(")")
        else:
            chosen = self._comparison()
        self.depth -= 1
        return chosen

    def _comparison(self) -> Chosen:
        if self._peek() == ("name", "within") and [kind for kind, _ in self.tokens[self.place + 1 :]][:1] == ["number"]:
            return self._within()
        if self.alphabet.attributes is not None:
            return self._attribute(self.alphabet.attributes)
        kind, word = self._peek()
        if (word in COMPARISONS or word == "in") and not self._parts:
            return self._after(self.name or "value")  # there is one thing to ask about, and it needs no name
        if kind == "name":
            return self._after(self._part())
        literal = self._literal()
        sign = self._sign()
        part = self._part()
        chosen = self._compare(part, sign.translate(str.maketrans("<>", "><")), literal)
        if self._peek()[1] in COMPARISONS:
            chosen = chosen & self._compare(part, self._sign(), self._literal())
        return chosen

    def _attribute(self, attributes: Attributes) -> Chosen:
        """Read a comparison about one attribute; apply it to all combinations."""
        # A comparison has its name at its start, or after a literal and a sign.
        place = self.place
        if self._peek()[0] in ("number", "text", "date", "sign"):
            signs = (at for at in range(place, len(self.tokens)) if self.tokens[at][1] in COMPARISONS)
            place = next(signs, place - 1) + 1
        # Each name speaks of one attribute, and has another in a query about that attribute alone.
        known = {}
        for name, alphabet in zip(attributes.names, attributes.alphabets, strict=True):
            is_plane = alphabet.geometry.dimensions == 2
            known[name] = (name, "cell" if is_plane else name)
            known |= {f"{name}_{field}": (name, field) for field in alphabet.field_names if is_plane}
        kind, word = self.tokens[place] if place < len(self.tokens) else ("", "")
        if kind != "name" or word in self._words:
            self.place = place
            raise self._unexpected("the name of an attribute")
        name, own = known[self._known(word, tuple(known))]
        reader = _Reader(self.text, attributes.part(name), name, remarks=self.remarks)
        reader.tokens = [*self.tokens[:place], ("name", own), *self.tokens[place + 1 :]]
        is_circle = self.tokens[place + 1 : place + 2] == [("name", "within")]  # home within 2 km of ...
        reader.place = place + 1 if is_circle else self.place
        chosen = reader._comparison()
        self.place, self.circles, self.remarks = reader.place, self.circles + reader.circles, reader.remarks
        return attributes.spread(chosen, name)

    def _within(self) -> Chosen:
        """Read a circle on the Earth: within 2 km of 40.75, -73.98."""
        self._expect("within")
        kind, number = self._peek()
        if kind != "number":
            raise self._unexpected("a distance such as 2 km")
        self.place += 1
        far, (kind, unit) = self._number(number, alone=True), self._peek()
        if kind != "name" or unit not in METRES:
            raise self._unexpected(f"a unit, {' or '.join(METRES)}")
        self.place += 1
        self._expect("of")
        latitude = self._literal(alone=False)
        self._take(",")
        longitude = self._literal(alone=False)
        if isinstance(latitude, str | tuple) or isinstance(longitude, str | tuple):
            raise self._error("a circle is written 'within 2 km of 40.75, -73.98', latitude first")
        circle = Disc(float(latitude), float(longitude), float(far) * METRES[unit])
        self.circles.append((circle, self.alphabet))
        return circle.contains(self.alphabet.centres(np.arange(self.alphabet.size)))

    def _after(self, part: str) -> Chosen:
        """Read what follows a name."""
        if part == "cell" and self._peek() == ("name", "within"):
            return self._within()
        if self._take("in"):
            return self._in(part)
        if self._take("not"):
            self._expect("in")
            return ~self._in(part)
        return self._compare(part, self._sign(), self._literal())

    def _in(self, part: str) -> Chosen:
        closing = {"{": "}", "[": "]"}.get(self._peek()[1])
        if closing is None:
            low = self._literal()
            self._expect("..")
            high = self._literal()
            around = self._ask(lambda alphabet: alphabet.stretch(low, high))
            return self._compare(part, ">=", low) & self._compare(part, "<=", high) if around is None else around
        self.place += 1
        chosen = self._compare(part, "==", self._literal(alone=False))
        while self._take(","):
            chosen = chosen | self._compare(part, "==", self._literal(alone=False))
        self._expect(closing)
        return chosen

    def _compare(self, part: str, sign: str, literal: Literal) -> Chosen:
        if part == "cell":
            return self._compare_cells(sign, literal)
        # At an edge of bins, which belongs to the upper bin, <= is < and > is >=.
        is_at_edge = sign in ("<=", ">") and isinstance(literal, int | float) and bool(self.alphabet.edges)
        if is_at_edge and Fraction(str(literal)) in self.alphabet.edges:
            self.remarks.append(f"exactly {literal:,} counts as above: a bin begins at its lower edge")
            sign = {"<=": "<", ">": ">="}[sign]
        asked = self._ask(lambda alphabet: alphabet.compare(sign, literal))
        if asked is not None:
            return asked
        values = self._values(part)
        if not isinstance(literal, tuple):
            found = self._ask(lambda alphabet: alphabet.named(str(literal)))
            literal = found if isinstance(found, str | int) else literal
        if (values.dtype.kind in "US") != isinstance(literal, str) or isinstance(literal, tuple):
            raise self._error(f"{part!r} cannot be compared with {literal!r}")
        if isinstance(literal, str):
            if sign not in ("=", "==", "!="):
                raise self._error(f"{part!r} has no order; compare it with == or in")
            if literal not in values:
                known = [str(value) for value in dict.fromkeys(values.tolist())]
                meant = suggestion(literal, known)
                raise self._error(f"{literal!r} is none of the values{meant}; known: {', '.join(known[:8])}")

        chosen: Chosen = np.asarray(COMPARISONS[sign](values, literal))
        return chosen

    def _ask(self, ask: Callable[[Alphabet], Asked]) -> Asked:
        """Ask the alphabet; add the query's text to its errors."""
        try:
            return ask(self.alphabet)
        except InvalidParameterError as error:
            raise self._error(str(error)) from None

    def _compare_cells(self, sign: str, literal: Literal) -> Chosen:
        if not isinstance(literal, tuple):
            raise self._error(f"'cell' is compared with a pair (row, column), not with {literal!r}")
        if sign in ("<", ">"):
            raise self._error("cells have no order; a box is written 'cell in (2, 3)..(4, 5)'")
        rows, columns = (COMPARISONS[sign](self._values(part), literal[axis]) for axis, part in enumerate(self._parts))
        return np.asarray(rows | columns if sign == "!=" else rows & columns)

    def _values(self, part: str) -> NDArray[Any]:
        """Return that part of all values, as plain numbers or texts."""
        values = self.alphabet.decode(np.arange(self.alphabet.size))
        if self.alphabet.parts == 1:
            return values
        return np.array(values[:, self._parts.index(part)].tolist())

    @property
    def _parts(self) -> tuple[str, ...]:
        return self.alphabet.field_names if self.alphabet.geometry.dimensions == 2 else ()

    def _part(self) -> str:
        """Take the name of a part of a value."""
        kind, word = self._peek()
        if kind != "name" or word in self._words:
            raise self._unexpected("a name")
        self.place += 1
        known = self._known_names()
        if known:
            return self._known(word, known)
        self.name = word  # one name for one thing, whatever it is
        return word

    def _known(self, word: str, known: tuple[str, ...]) -> str:
        """Return the name that a word means, in capital or small letters."""
        # The very name goes before one in other letters: Age and age may both be there.
        alike = [one for one in known if one == word] or [one for one in known if one.lower() == word.lower()]
        if alike:
            return alike[0]
        raise self._error(f"{word!r} is not a name here; known: {', '.join(known)}{suggestion(word.lower(), known)}")

    def _known_names(self) -> tuple[str, ...]:
        if self._parts:
            return (*self._parts, "cell")
        # A name that is no word, such as "home town", cannot be written in a query; then any word stands for it.
        is_word = self.name is not None and re.fullmatch(r"[^\W\d]\w*", self.name) is not None
        return tuple(dict.fromkeys((str(self.name), "value"))) if is_word else ()

    def _literal(self, *, alone: bool = True) -> Literal:
        kind, word = self._peek()
        if self._take("("):
            row = self._literal()
            self._expect(",")
            column = self._literal()
            self._expect(")")
            if not isinstance(row, int) or not isinstance(column, int):
                raise self._error(f"a cell is a pair of whole numbers, not ({row!r}, {column!r})")
            return row, column
        if kind not in ("number", "text", "name", "date") or (kind == "name" and word in self._words):
            raise self._unexpected("a value")
        self.place += 1
        if kind == "number":
            return self._amount(self._number(word, alone=alone), word)
        return word[1:-1] if kind == "text" else word

    def _number(self, word: str, *, alone: bool) -> int | float:
        """Return a number; reject commas where they could separate two."""
        if "," in word and not alone:
            raise self._error(
                f"{word} may be one number or several here; write {word.replace(',', '')} or {word.replace(',', ', ')}"
            )
        digits = re.sub("[,$€£¥]", "", word)
        return float(digits) if "." in digits else int(digits)

    def _amount(self, number: int | float, word: str) -> int | float:
        """Read a suffix such as k or years; return the scaled number."""
        unit = self.alphabet.unit.lower().split()
        # Words and letters behind a number by which it is multiplied.
        scales = {"k": 10**3, "K": 10**3, "M": 10**6, "bn": 10**9}
        scales |= {"thousand": 10**3, "million": 10**6, "billion": 10**9}
        # Amounts in a unit may have its sign, or any where the unit names no currency.
        words = [_singular(one) for one in unit if _singular(one) not in scales]
        signs = {"$": "dollar usd", "€": "euro eur", "£": "pound gbp", "¥": "yen yuan jpy cny"}
        for sign, currencies in signs.items():
            is_known = sign in words or any(one in currencies.split() for one in words)
            if sign in word and words and not is_known:
                raise self._error(f"the values are in {self.alphabet.unit}, not in {sign}")
        scale, (kind, after) = Fraction(1), self._peek()
        if kind == "name" and after in scales:
            self.place += 1
            scale = Fraction(scales[after], next((scales[one] for one in map(_singular, unit) if one in scales), 1))
        forms = {form for one in unit for form in (one, plural(one), _singular(one))}
        while self._peek()[0] == "name" and self._peek()[1].lower() in forms:
            self.place += 1
        # In fractions: 1.005k is 1,005 and not 1,004.9999999999999.
        scaled = Fraction(str(number)) * scale
        return number if scale == 1 else int(scaled) if scaled.denominator == 1 else float(scaled)

    def _sign(self) -> str:
        _, sign = self._peek()
        if sign not in COMPARISONS:
            raise self._unexpected("a comparison such as >=")
        self.place += 1
        return sign

    def _peek(self) -> tuple[str, str]:
        """Return the next token's kind and text; both empty at the end."""
        return self.tokens[self.place] if self.place < len(self.tokens) else ("", "")

    def _take(self, word: str) -> bool:
        """Skip a word or sign if it comes next; not quoted text."""
        is_there = self._peek() in (("name", word), ("sign", word))
        self.place += is_there
        return is_there

    def _expect(self, word: str) -> None:
        if not self._take(word):
            raise self._unexpected(repr(word))

    def _unexpected(self, wanted: str) -> InvalidParameterError:
        kind, found = self._peek()
        return self._error(f"expected {wanted}, found {repr(found) if kind else 'the end'}")

    def _error(self, what: str) -> InvalidParameterError:
        example = _example(self.alphabet, self.name if self._known_names() else None)
        return InvalidParameterError(f"The query {self.text!r} cannot be read: {what}. Write for example: {example}")


def _example(alphabet: Alphabet, name: str | None) -> str:
    """Return a query that these values understand.

    >>> from confide import Categories, Grid, Integers
    >>> _example(Integers(16, 22), "age"), _example(Categories(["yes", "not yet"]), None), _example(Grid(4, 4), None)
    ('age >= 19', "value in {yes, 'not yet'}", 'row in 1..2')
    """
    if alphabet.attributes is not None:
        parts = {one: alphabet.attributes.part(one) for one in alphabet.attributes.names[:2]}
        own_names = {one: f"{one}_" for one, part in parts.items() if part.geometry.dimensions == 2}
        return " and ".join(own_names.get(one, "") + _example(part, one) for one, part in parts.items())
    own = name or "value"
    if alphabet.geometry.dimensions == 2:
        rows = sorted(set(alphabet.decode(np.arange(min(alphabet.size, 10_000)))[:, 0].tolist()))
        return f"{alphabet.field_names[0]} in {rows[len(rows) // 4]}..{rows[len(rows) // 2]}"
    if isinstance(alphabet.geometry, LineGeometry | RingGeometry) and alphabet.is_finite:
        return alphabet.question(own, int(alphabet.decode([alphabet.size // 2])[0]))
    values = alphabet.decode(np.arange(min(alphabet.size, 2))).tolist()
    return f"{own} in {{{', '.join(quoted(one) if isinstance(one, str) else str(one) for one in values)}}}"


def _singular(word: str) -> str:
    return word.removesuffix("s") if len(word) > 2 else word
