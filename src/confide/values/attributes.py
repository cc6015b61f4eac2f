"""Alphabets made of others: attributes of a person, and selections of values."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.errors import InvalidParameterError, TooLargeError, ValueOutsideAlphabetError
from confide.values.base import (
    Alphabet,
    Example,
    as_plain,
    as_value,
    choose_columns,
    named_columns,
    plain_array,
    stacked,
)
from confide.values.checks import read_only, refuse_masked, settle
from confide.values.geometry import Indices, ProductGeometry, SubsetGeometry, Values
from confide.values.metrics import Value, cut
from confide.values.wording import suggestion

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, init=False)
class Attributes(Alphabet):
    """All combinations of several attributes; the last one varies fastest.

    A value is the tuple of the attributes' values in order; a cell of a grid takes two places of it. The names of
    the attributes are their columns in files and their names in queries.

    >>> from confide import Categories, Grid, Integers
    >>> people = Attributes(age=Integers(0, 9), sex=Categories(["f", "m"]), home=Grid(2, 2))
    >>> people.size, people.field_names
    (80, ('age', 'sex', 'home_row', 'home_column'))
    >>> people.encode([(3, "m", 0, 1)])
    array([29])
    """

    kind = "attributes"
    about = "several values of each person; files have the columns age, visits and region"
    usual = "product"
    example = Example(
        "person",
        "Age, visits and region of each person",
        unit="unit of distance",
        epsilon=0.5,
        text="""\

[alphabet.age]         # one table for each attribute, of any kind; its name is that of its column
kind = "integers"
low = 18
high = 67
unit = "year"

[alphabet.visits]
kind = "categories"
values = ["never", "sometimes", "often"]

[alphabet.region]
kind = "categories"
values = ["north", "south", "east", "west"]
""",
    )

    names: tuple[str, ...]
    alphabets: tuple[Alphabet, ...]

    def __init__(self, /, **attributes: Alphabet) -> None:
        settle(self, names=tuple(attributes), alphabets=tuple(attributes.values()))
        check_names("Attributes", self.names)
        for name, alphabet in attributes.items():
            given: object = alphabet
            if not isinstance(given, Alphabet) or isinstance(given, Attributes):
                raise InvalidParameterError(
                    f"The attribute {name!r} needs an alphabet such as Integers(0, 99), and no further attributes; got "
                    f"{alphabet!r}."
                )
        settle(self, reads_times=any(alphabet.reads_times for alphabet in self.alphabets))
        settle(self, has_labels=any(alphabet.has_labels for alphabet in self.alphabets))
        fields = [name.lower() for name in self.field_names]
        if len(set(fields)) < len(fields):
            again = next(name for name in fields if fields.count(name) > 1)
            raise InvalidParameterError(f"Two columns would be called {again!r}. Rename one of the attributes.")
        if self.is_finite and self.size >= 2**63:
            raise TooLargeError(
                f"{self!r} has about 2^{self.size.bit_length() - 1} combinations of values, too many to number. Use "
                f"fewer attributes or coarser values."
            )

    @cached_property
    def geometry(self) -> ProductGeometry:
        return ProductGeometry(tuple(alphabet.geometry for alphabet in self.alphabets))

    @property
    def declared(self) -> Mapping[str, Alphabet]:
        return dict(zip(self.names, self.alphabets, strict=True))

    @property
    def attributes(self) -> Attributes:  # type: ignore[override]  # it is one
        return self

    @property
    def parts(self) -> int:
        return sum(self.widths)

    @property
    def widths(self) -> tuple[int, ...]:
        """Number of parts of each attribute's values."""
        return tuple(alphabet.parts for alphabet in self.alphabets)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values of each attribute."""
        return tuple(alphabet.size for alphabet in self.alphabets)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def field_names(self) -> tuple[str, ...]:
        """Names of the columns in files; a cell has two."""
        return tuple(field for name, one in self.declared.items() for field in _columns(name, one.field_names))

    @property
    def raw_names(self) -> tuple[tuple[str, ...], ...]:
        # The names of a place, such as latitude, stand without that of its attribute where there is one place.
        raw = [alphabet.raw_names for alphabet in self.alphabets]
        # With two places nobody knows whose "latitude" a column is.
        is_alone = sum(len(names[0]) > 1 for names in raw) == 1
        choices = []
        for name, known in zip(self.names, raw, strict=True):
            own = [_columns(name, columns) for columns in known]
            choices.append(own[:1] if len(known[0]) == 1 else [*own, *(known if is_alone else ())])
        return tuple(tuple(itertools.chain(*chosen)) for chosen in itertools.product(*choices))

    def centres(self, indices: ArrayLike) -> NDArray[np.float64]:
        # A combination of attributes has no place; the message names an attribute that has one.
        places = [name for name, part in self.declared.items() if type(part).centres is not Alphabet.centres]
        if not places:
            return super().centres(indices)
        raise InvalidParameterError(
            f"Several attributes have no place on the Earth; {places[0]!r} has. Ask for '{places[0]} within 2 km of "
            f"40.75, -73.98', or ask areas of the marginal of {places[0]!r}, estimate.marginal({places[0]!r})."
        )

    def points(self, indices: ArrayLike) -> FloatArray:
        numbers = self.split(np.asarray(indices, dtype=np.int64).reshape(-1))
        return np.hstack([one.points(each) for one, each in zip(self.alphabets, numbers, strict=True)])

    def distance(self, left: Value, right: Value) -> float:
        self.encode(np.array([left, right], dtype=object))
        ends = zip(self.alphabets, cut(left, self.widths), cut(right, self.widths), strict=True)
        return sum(alphabet.distance(one, other) for alphabet, one, other in ends)

    def as_array(self, values: ArrayLike) -> Values:
        # Rows of objects keep a number a number beside a text.
        return self._as_rows(as_plain(values, (self.field_names,)), "parts", self.field_names)

    def take(self, raw: ArrayLike) -> Values:
        """Turn rows, or columns by their names, into an array of values."""
        widths = [len(alphabet.raw_names[0]) for alphabet in self.alphabets]
        table = named_columns(raw)
        columns: Sequence[Any]
        if table is None:
            rows = self._as_rows(raw, "columns", self.raw_names[0])
            columns = columns_of(rows, widths)
        else:  # each with a type of its own
            rest = iter(choose_columns(table, self.raw_names))
            own = [list(itertools.islice(rest, width)) for width in widths]
            columns = [each[0] if len(each) == 1 else stacked(list(map(np.asarray, each))) for each in own]
        taken = []
        for name, alphabet, column in zip(self.names, self.alphabets, columns, strict=True):
            try:
                taken.append(alphabet.take(column))
            except ValueOutsideAlphabetError as error:  # which does not say which attribute it is about
                raise ValueOutsideAlphabetError(f"{name}: {error}", error.positions) from None
        return stacked(taken)

    def locate(self, values: Values) -> Indices:
        if not len(values):  # columns of no rows have lost their shapes
            return np.zeros(0, dtype=np.int64)
        found = [one.locate(column) for one, column in zip(self.alphabets, self.columns(values), strict=True)]
        is_inside = np.logical_and.reduce([numbers >= 0 for numbers in found])
        return np.where(is_inside, self.join(found), -1)

    def decode(self, indices: ArrayLike) -> Values:
        numbers = np.asarray(indices, dtype=np.int64)
        each = zip(self.alphabets, self.split(numbers.reshape(-1)), strict=True)
        return stacked([alphabet.decode(own) for alphabet, own in each]).reshape(*numbers.shape, self.parts)

    def _name(self, values: Values) -> list[str]:
        each = [one._name(column) for one, column in zip(self.alphabets, self.columns(values), strict=True)]
        return [f"({', '.join(names)})" for names in zip(*each, strict=True)]

    @property
    def fine_print(self) -> tuple[str, ...]:
        return tuple(f"{name}: {sentence}" for name, one in self.declared.items() for sentence in one.fine_print)

    def parse(self, fields: Sequence[str]) -> Value | None:
        return _flat([alphabet.parse(own) for alphabet, own in self.fields(fields)])

    def read(self, fields: Sequence[str]) -> Value | None:
        return _flat([alphabet.read(own) for alphabet, own in self.fields(fields, is_raw=True)])

    def remark(self, fields: Sequence[str]) -> str:
        own = zip(self.names, self.fields(fields, is_raw=True), strict=True)
        return " and ".join(f"{name} {told}" for name, (one, texts) in own if (told := one.remark(texts)))

    def beyond(self, values: Values) -> Mapping[str, NDArray[np.bool_]]:
        own = zip(self.names, self.alphabets, self.columns(values), strict=True)
        return {f"{name} {end}": some for name, one, column in own for end, some in one.beyond(column).items()}

    def hint(self, fields: Sequence[str]) -> str:
        # Each refused attribute is named, with what would take its text.
        refused = [
            (name, alphabet.hint(texts))
            for name, (alphabet, texts) in zip(self.names, self.fields(fields, is_raw=True), strict=True)
            if (value := alphabet.read(texts)) is None or not alphabet.contains(np.array([value])).all()
        ]
        return ", ".join(f"{name}: {hint}" if hint else f"in {name}" for name, hint in refused)

    def fields(self, texts: Sequence[str], *, is_raw: bool = False) -> Iterator[tuple[Alphabet, tuple[str, ...]]]:
        """Yield each attribute's alphabet with its texts of a row.

        `is_raw`: the row holds people's own values rather than a report.
        """
        start = 0
        for alphabet in self.alphabets:
            end = start + (len(alphabet.raw_names[0]) if is_raw else alphabet.parts)
            yield alphabet, tuple(texts[start:end])
            start = end

    def columns(self, values: Values) -> list[Values]:
        """Split rows into the values of each attribute."""
        return columns_of(values, self.widths)

    def split(self, indices: Any) -> tuple[Any, ...]:
        """Split numbered combinations into one number for each attribute.

        >>> from confide import Integers
        >>> Attributes(age=Integers(0, 9), size=Integers(0, 4)).split(12)
        (2, 2)
        """
        each = []
        for size in reversed(self.shape[1:]):
            indices, own = divmod(indices, size)
            each.append(own)
        return (indices, *reversed(each))

    def join(self, numbers: Sequence[Any]) -> Any:
        """Combine one number for each attribute into numbered combinations."""
        whole = numbers[0]
        for size, own in zip(self.shape[1:], numbers[1:], strict=True):
            whole = whole * size + own
        return whole

    def axis(self, name: str) -> int:
        """Return an attribute's position; an unknown name is an error."""
        if name not in self.names:
            meant = suggestion(name, self.names)
            raise InvalidParameterError(f"There is no attribute {name!r}{meant}; known: {', '.join(self.names)}.")
        return self.names.index(name)

    def part(self, *names: str) -> Alphabet:
        """Return the alphabet of one attribute, or of some."""
        chosen = {name: self.alphabets[self.axis(name)] for name in names}
        if not names or len(chosen) < len(names):
            raise InvalidParameterError(f"Name attributes, each once, of {', '.join(self.names)}; got {names!r}.")
        return chosen[names[0]] if len(names) == 1 else Attributes(**chosen)

    def margin(self, vectors: FloatArray, *names: str) -> FloatArray:
        """Sum vectors over all values, on their last axis, to some attributes.

        >>> from confide import Integers
        >>> Attributes(a=Integers(0, 1), b=Integers(0, 1)).margin(np.array([0.1, 0.2, 0.3, 0.4]), "b")
        array([0.4, 0.6])
        """
        lead = vectors.shape[:-1]
        table = vectors.reshape(*lead, *self.shape)
        axes = [self.axis(name) + len(lead) for name in names]
        others = tuple(axis for axis in range(len(lead), table.ndim) if axis not in axes)
        kept = sorted(axes)
        order = [*range(len(lead)), *(len(lead) + kept.index(axis) for axis in axes)]
        summed: FloatArray = table.sum(axis=others).transpose(order).reshape(*lead, -1)
        return summed

    def spread(self, weights: NDArray[Any], *names: str) -> NDArray[Any]:
        """Give every value the weight of its combination of some attributes.

        This is the transpose of :meth:`margin`.

        >>> from confide import Integers
        >>> Attributes(a=Integers(0, 1), b=Integers(0, 2)).spread(np.array([5, 7]), "a")
        array([5, 5, 5, 7, 7, 7])
        """
        axes, lead = [self.axis(name) for name in names], weights.shape[:-1]
        table = weights.reshape(*lead, *(self.shape[axis] for axis in axes))
        # Names may come in any order, axes of the whole stand in theirs.
        table = table.transpose(*range(len(lead)), *(len(lead) + np.argsort(axes)))
        own = [self.shape[axis] if axis in axes else 1 for axis in range(len(self.shape))]
        whole: NDArray[Any] = np.broadcast_to(table.reshape(*lead, *own), (*lead, *self.shape)).reshape(*lead, -1)
        return whole

    def _as_rows(self, values: ArrayLike, what: str, names: Sequence[str]) -> Values:
        width = len(names)
        refuse_masked(f"entries for {self!r}", values, InvalidParameterError)
        array = np.array(values, dtype=object) if not isinstance(values, np.ndarray) else values
        rows = plain_array(array) if array.dtype.kind in "uf" else array
        if rows.size == 0:
            return rows.reshape(0, width)
        if rows.ndim != 2 or rows.shape[1] != width:
            raise InvalidParameterError(
                f"{self!r} takes a sequence of rows of {width} {what}, {', '.join(names)}; got an array of shape "
                f"{rows.shape}."
            )
        return rows

    def __repr__(self) -> str:
        return f"Attributes({', '.join(f'{name}={alphabet!r}' for name, alphabet in self.declared.items())})"


def check_names(what: str, names: Sequence[str]) -> None:
    """Refuse fewer than two names, and names that no query can hold."""
    if len(names) < 2:
        raise InvalidParameterError(
            f"{what} is for two attributes or more, such as {what}(age=..., sex=...); got {', '.join(names) or 'none'}."
        )
    # Words of a query, the key of a survey's table, and columns that mean something else.
    taken = ("and", "or", "not", "in", "kind", "count", "report")
    for name in names:
        if re.fullmatch(r"[^\W\d]\w*", name) is None or name.lower() in taken:
            raise InvalidParameterError(
                f"An attribute's name is a word such as age, and none of {', '.join(taken)}; got {name!r}. "
                f"Columns of files may have other names: --column of privatize and count says which."
            )


def columns_of(rows: Values, widths: Sequence[int]) -> list[Values]:
    """Return the columns of each attribute, each with its own type."""
    ends = itertools.pairwise(itertools.accumulate(widths, initial=0))
    # A row of mixed types holds objects; a column of one attribute is plain again.
    own = [rows[:, start:end] if end - start > 1 else rows[:, start] for start, end in ends]
    return [plain_array(column) for column in own]


def _columns(name: str, fields: Sequence[str]) -> tuple[str, ...]:
    return (name,) if len(fields) == 1 else tuple(f"{name}_{field}" for field in fields)


def _flat(values: Sequence[Any]) -> Value | None:
    """Join the parts of all values; None if one is unreadable."""
    if None in values:
        return None
    return tuple(part for value in values for part in (value if isinstance(value, tuple) else (value,)))


@dataclass(frozen=True, eq=False)
class Selection(Alphabet):
    """Values picked from an alphabet, numbered anew in the order given.

    >>> from confide import Integers
    >>> few = Selection(Integers(), np.array([-5, 3, 10**9]))
    >>> few.size, few.encode([3, 10**9])
    (3, array([1, 2]))
    """

    whole: Alphabet
    values: Values

    def __post_init__(self) -> None:
        values = self.whole.as_array(self.values)
        if values.shape[0] == 0:
            raise InvalidParameterError(f"A selection from {self.whole!r} needs at least one value; got none.")
        if not self.whole.contains(values).all():
            raise InvalidParameterError(f"A selection must hold values of {self.whole!r}; some are none.")
        settle(self, values=read_only(np.array(values)), selected_from=self.whole)
        settle(self, unit=self.whole.unit, has_labels=self.whole.has_labels)
        if values.dtype.kind == "O":
            distinct = len(set(_keys(values)))
        else:
            distinct = int(np.unique(values, axis=None if values.ndim == 1 else 0).shape[0])
        if distinct != values.shape[0]:
            raise InvalidParameterError(f"A selection from {self.whole!r} must name each value once; some come twice.")

    @cached_property
    def geometry(self) -> SubsetGeometry:
        return SubsetGeometry(self.whole.geometry, int(self.values.shape[0]))

    @property
    def field_names(self) -> tuple[str, ...]:
        return self.whole.field_names

    @property
    def coordinates(self) -> NDArray[np.float64]:
        if self.whole.is_finite:
            chosen: NDArray[np.float64] = self.whole.coordinates[self.whole.locate(self.values)]
            return chosen
        # Unbounded alphabets hold whole numbers and cells, which lie where their numbers say.
        return self.values.astype(np.float64).reshape(self.size, -1)

    def points(self, indices: ArrayLike) -> NDArray[np.float64]:
        return self.whole.points(self.whole.locate(self.decode(indices)))

    def locate(self, values: Values) -> Indices:
        return np.array([self._numbers.get(key, -1) for key in _keys(values)], dtype=np.int64)

    def decode(self, indices: ArrayLike) -> Values:
        chosen: Values = self.values[np.asarray(indices, dtype=np.int64)]
        return chosen

    def parse(self, fields: Sequence[str]) -> Value | None:
        return self.whole.parse(fields)

    def _name(self, values: Values) -> list[str]:
        return self.whole._name(values)

    def compare(self, sign: str, literal: object) -> NDArray[np.bool_] | None:
        asked = self.whole.compare(sign, literal) if self.whole.is_finite else None
        return None if asked is None else asked[self.whole.locate(self.values)]

    @cached_property
    def _numbers(self) -> dict[Value, int]:
        return {key: number for number, key in enumerate(_keys(self.values))}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Selection):
            return NotImplemented
        return self.whole == other.whole and np.array_equal(self.values, other.values)

    def __hash__(self) -> int:
        # Three values suffice: equal selections have equal hashes, and few differ only behind them.
        return hash((self.whole, self.size, *_keys(self.values[:3])))

    def __repr__(self) -> str:
        return f"Selection({self.size:,} of {self.whole!r})"


def _keys(values: Values) -> list[Value]:
    """Return values as what a dictionary can hold."""
    return [as_value(value) for value in values.tolist()]
