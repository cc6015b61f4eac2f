"""Contract of every alphabet, kinds by name, and arrays of values.

A kind of alphabet, mechanism or method is declared once, in its class: its name is ``kind``; a mechanism also has a
``title``, one sentence ``about`` it and an ``example``, an alphabet an ``example`` and the mechanism that is ``usual``
for it. Everything that lists kinds reads these. :func:`register` adds your own.
"""

from __future__ import annotations

import contextlib
import importlib
import math
import re
import threading
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.errors import InvalidInputError, InvalidParameterError, TooLargeError, ValueOutsideAlphabetError
from confide.values.checks import LARGEST_INTEGER, parse_integer, parse_real, refuse_masked
from confide.values.geometry import Geometry, Indices, LineGeometry, Values
from confide.values.metrics import Discrete, Metric, Value
from confide.values.wording import label_value

if TYPE_CHECKING:
    from confide.values.attributes import Attributes
    from confide.values.categories import BitVectors
    from confide.values.earth import Box
    from confide.values.planes import Grid


Kind = TypeVar("Kind")


@dataclass(frozen=True)
class Example:
    """A survey over values of one kind, to begin with.

    Attributes
    ----------
    name, title
        What a value is called, and a heading.
    text
        The settings of the alphabet beside its kind, in TOML, with comments.
    unit
        What epsilon is counted by, where it is counted by distance.
    epsilon
        A sensible one, per unit of distance.
    shape
        A shape that may be declared of it, in TOML; nothing where few know any.
    """

    name: str
    title: str
    text: str = ""
    unit: str = "unit of distance"
    epsilon: float = 1.0
    shape: str = ""


class Kinds(Mapping[str, Kind]):
    """All kinds of one sort by name: confide's, then registered ones."""

    tables: ClassVar[list[Kinds[Any]]] = []
    """The tables of all sorts."""

    _lock = threading.RLock()
    _are_all_here = False

    def __init__(self, base: type, known: Mapping[str, Kind]) -> None:
        self.base, self._known, self._ours = base, dict(known), frozenset(known)
        Kinds.tables.append(self)

    def __getitem__(self, name: str) -> Kind:
        Kinds._load()
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        Kinds._load()
        return iter(self._known)

    def __len__(self) -> int:
        Kinds._load()
        return len(self._known)

    def add(self, name: str, kind: Kind) -> None:
        """Add a kind, or replace a class that a notebook defined again."""
        # A class of the same module and name is the same one: a notebook runs its cell again.
        before = self._known.get(name)
        if name in self._ours or (before is not None and _place(before) != _place(kind)):
            raise InvalidParameterError(
                f"There is a kind {name!r} already, {_place(before)}. Give {_place(kind)} another name."
            )
        self._known[name] = kind

    @staticmethod
    def _load() -> None:
        """Register what installed packages offer, once, when kinds are first asked for."""
        with Kinds._lock:  # other threads wait, and what a package itself asks meanwhile is answered without its own
            if Kinds._are_all_here:
                return
            from importlib import metadata  # which takes 20 ms to import

            Kinds._are_all_here = True
            for entry in metadata.entry_points(group="confide.kinds"):
                try:
                    register(entry.load())
                except Exception as error:  # a broken package must not keep anybody from surveys without its kinds
                    message = f"The kind {entry.name!r} of an installed package, {entry.value}, is left out: {error}"
                    warnings.warn(message, UserWarning, stacklevel=4)


def register(thing: Kind) -> Kind:
    """Register your own alphabet, mechanism or method by its name.

    Survey files, counts files and the command line then accept it.

    An installed package can offer its kinds as entry points in the group ``confide.kinds``. The command line then knows
    them too.

    Parameters
    ----------
    thing
        A class under :class:`~confide.Alphabet` or :class:`~confide.Mechanism` with its own ``kind``; or a method, as a
        class or with settings. A method's name on the command line is its ``kind``, or its ``name`` with hyphens.

    Returns
    -------
    Alphabet, Mechanism or Method
        The same, so that it works as the decorator ``@cf.register``.

    Examples
    --------
    ::

        @cf.register
        @dataclass(frozen=True, repr=False)
        class Staircase(cf.Mechanism):
            kind = "staircase"  # as in a survey: [mechanism] kind = "staircase"
            ...
    """
    # A method may be registered with its settings, so as a thing rather than a class.
    own = thing if isinstance(thing, type) else type(thing)
    table = next((one for one in Kinds.tables if issubclass(own, one.base)), None)
    is_method = hasattr(own, "solve")
    if table is None or (not is_method and own is not thing):
        raise InvalidParameterError(
            f"register() takes a class under Alphabet or Mechanism, or a method; got {str(thing)[:60]}."
        )
    made: Any = thing() if is_method and own is thing else thing
    name = vars(own).get("kind") or (made.name.lower().replace(" ", "-") if is_method else None)
    if not isinstance(name, str) or re.fullmatch("[a-z][a-z0-9-]*", name) is None:
        raise InvalidParameterError(
            f'{own.__name__} needs a kind, its name in a survey: a line such as kind = "my-kind" in the class, of '
            f"small letters, digits and hyphens; got {name!r}."
        )
    if not is_method and not is_dataclass(own):
        raise InvalidParameterError(
            f"{own.__name__} must be a dataclass, for its fields are what a survey states: write "
            f"@dataclass(frozen=True, repr=False) above it."
        )
    table.add(name, made)
    return thing


def _place(kind: object) -> str:
    own = kind if isinstance(kind, type) else type(kind)
    return f"{own.__module__}.{own.__qualname__}"


LARGEST_LISTED = 2**26
"""Values up to which an array over all of them is made: 512 MB for one vector of float64, a method holds several."""


class Alphabet(ABC):
    """The values a person may have, numbered from 0.

    An alphabet of your own needs a :attr:`geometry`. On a line, in a ring or in a plane its values are whole numbers;
    `labels`, `take` and `read` translate them for people.

    Examples
    --------
    >>> from confide import Integers
    >>> ages = Integers(0, 99, unit="year")
    >>> ages.size, ages.distance(30, 35)
    (100, 5.0)
    """

    kind: ClassVar[str] = ""
    """Name of the alphabet in a survey file."""

    about: ClassVar[str] = ""
    """What its values are, in a line."""

    usual: ClassVar[str] = "randomized-response"
    """Kind of the mechanism to begin with."""

    example: ClassVar[Example | None] = None
    """A survey to begin with."""

    unit: str = ""
    """Unit of distances, such as ``"year"`` or ``"km"``."""

    cure: str = "Clip them or widen the alphabet."
    """Advice about values that lie outside."""

    has_labels: bool = False
    """Whether people read another text than a value as it stands in files: of a number its word, amount or day."""

    _bounded: str = ""  # what to give where finitely many values are needed, other than a range or a grid

    reads_times: bool = False
    """Whether people's own values are dates or times of the day."""

    attributes: Attributes | None = None
    """The alphabet itself where a value has several attributes; None elsewhere."""

    grid: Grid | None = None
    """The alphabet itself where values are cells of a box in a plane; None elsewhere."""

    bits: BitVectors | None = None
    """The alphabet itself where values are vectors of bits, packed into words; None elsewhere."""

    selected_from: Alphabet | None = None
    """The alphabet from which these values were picked; None where they are all of their kind."""

    edges: tuple[Fraction, ...] = ()
    """Edges of bins, rising; none where values are no bins."""

    bounds: Box | None = None
    """Box of latitudes and longitudes, where values lie on the Earth; None elsewhere."""

    extent: str = ""
    """The same in words."""

    # What your own alphabet computes is a property here, not a field: mypy lets a property override no field.

    @property
    def declared(self) -> Mapping[str, Any] | None:
        """Settings in a survey; None where they are the class's fields."""
        return None

    @property
    def reading(self) -> str:
        """Rule that turns people's own texts into values, or empty."""
        return ""

    @property
    def summary(self) -> str:
        """All values in a few words, or empty."""
        return ""

    @property
    def mean_remark(self) -> str:
        """Remark on a mean of coarser values than people's own, or empty."""
        return ""

    @property
    def fine_print(self) -> tuple[str, ...]:
        """What a promise between values means for people's own, in sentences."""
        return ()

    @property
    @abstractmethod
    def geometry(self) -> Geometry:
        """How values are arranged: on a line, a ring, a plane.

        Mechanisms, distances and pictures need nothing else.
        """

    @property
    def positions(self) -> tuple[Fraction, ...] | None:
        """Places of unevenly spaced values on a line; None for all others."""
        return self.geometry.positions

    @property
    def spacing(self) -> float:
        """Distance between neighbours, if it is the same everywhere."""
        return self.geometry.spacing

    @property
    def parts(self) -> int:
        """Number of parts of one value; a cell has two."""
        return self.geometry.parts

    @property
    def is_finite(self) -> bool:
        """Whether there are finitely many values."""
        return self.geometry.is_finite

    @property
    def is_listable(self) -> bool:
        """Whether the values are few enough for arrays over all of them."""
        return self.is_finite and self.size <= LARGEST_LISTED

    def require_listable(self) -> None:
        """Refuse an array over all values if they are too many.

        >>> from confide import Integers
        >>> Integers(0, 99).require_listable()
        """
        if not self.is_listable:
            _ = self.size  # an unbounded alphabet has none, and says how to bound it
            # A number too long to read is shown as a power of two.
            count = f"{self.size:,}" if self.size < 10**15 else f"about 2^{self.size.bit_length() - 1}"
            raise TooLargeError(
                f"{self!r} has {count} values, too many for an array over all of them (at most {LARGEST_LISTED:,}). "
                f"Use fewer or coarser values; to count reports takes no such array."
            )

    def require_pairs(self) -> None:
        """Refuse a matrix over too many pairs of values."""
        self.require_listable()
        if self.size**2 > 8 * LARGEST_LISTED:  # 4 GB
            raise TooLargeError(
                f"{self!r} has {self.size**2:,} pairs of values, too many for a matrix of them (at most "
                f"{8 * LARGEST_LISTED:,}). Use fewer or coarser values."
            )

    @property
    def size(self) -> int:
        """Number of values; an error if they are unbounded."""
        if not self.is_finite:
            raise unbounded(self)
        return self.geometry.size

    @property
    def metric(self) -> Metric:
        """Distance between values."""
        return self.geometry.metric

    @property
    def span(self) -> tuple[int, int]:
        """Lowest and highest value, on a line."""
        if not self.is_finite:
            raise unbounded(self)
        if not isinstance(self.geometry, LineGeometry):
            raise InvalidParameterError(f"{self!r} is no line, so it has no lowest and no highest value.")
        return self.geometry.span

    @property
    def field_names(self) -> tuple[str, ...]:
        """Names of the parts of one value in files."""
        return ("value",) if self.geometry.parts == 1 else ("row", "column")

    def locate(self, values: Values) -> Indices:
        """Return the number of each value, and -1 outside the alphabet."""
        return self.geometry.locate(values)

    def decode(self, indices: ArrayLike) -> Values:
        """Return the values with these numbers."""
        return self.geometry.decode(np.asarray(indices, dtype=np.int64))

    def parse(self, fields: Sequence[str]) -> Value | None:
        """Read one value from the texts of a file; None if impossible."""
        found = [parse_integer(text) if self.geometry.is_whole else parse_real(text) for text in fields]
        parts = tuple(part for part in found if part is not None)
        if len(parts) < len(found):
            return None
        return parts[0] if len(parts) == 1 else parts

    @property
    def raw_names(self) -> tuple[tuple[str, ...], ...]:
        """Names of the columns of people's own values, usual ones first."""
        return (self.field_names,)

    def read(self, fields: Sequence[str]) -> Value | None:
        """Turn a person's own value, as texts, into a value, or None.

        An amount becomes its bin, for example.

        Files of values are read by this, files of reports by :meth:`parse`.
        """
        return self.parse(fields)

    def take(self, raw: ArrayLike) -> Values:
        """Turn people's own values into an array of values, or raise."""
        return self.as_array(raw)

    def fault(self, fields: Sequence[str]) -> str:  # noqa: ARG002 (for those that know more than numbers)
        """Say in a few words why :meth:`read` refuses texts.

        Empty if they only lie outside, or are no number.
        """
        return ""

    def remark(self, fields: Sequence[str]) -> str:  # noqa: ARG002 (for those that change texts)
        """Say what :meth:`read` did to texts, such as "folded".

        Commands count these remarks and show them. Empty if the texts were taken as they are.
        """
        return ""

    def beyond(self, values: Values) -> Mapping[str, NDArray[np.bool_]]:  # noqa: ARG002 (for those with open ends)
        """Return which values lie in each open end, by its name."""
        return {}

    def compare(self, sign: str, literal: object) -> NDArray[np.bool_] | None:  # noqa: ARG002 (for those that can)
        """Return which values satisfy a comparison with someone's own value.

        `None` if the values themselves are compared.

        Raises
        ------
        InvalidParameterError
            If it would split a value, such as a bin, or the literal cannot be read.
        """
        return None

    def stretch(self, low: object, high: object) -> NDArray[np.bool_] | None:  # noqa: ARG002 (for those that can)
        """Return the values between two ends around a circle; None elsewhere."""
        return None

    @property
    def has_numbers(self) -> bool:
        """Whether values are numbers in order, which have quantiles."""
        return self.parts == 1 and self.decode(np.arange(1)).dtype.kind in "iuf"

    @property
    def has_mean(self) -> bool:
        """Whether values have a mean."""
        return self.has_numbers

    @property
    def amounts(self) -> NDArray[np.float64]:
        """The numbers that means are taken of.

        Raises
        ------
        InvalidParameterError
            If there are none.
        """
        if not self.has_mean:
            raise InvalidParameterError(self._no_mean.format(self))
        return self.decode(np.arange(self.size)).astype(np.float64)

    _no_mean = (
        "The values of {!r} are no numbers, so they have no mean and no quantiles. Ask a query instead, with one "
        "weight for each value or a function of a value."
    )

    def name_mean(self, mean: float) -> str:
        """Return a mean as people write it."""
        return f"{mean:.4g}"

    def hint(self, fields: Sequence[str]) -> str:  # noqa: ARG002 (for those that could take them)
        """Name the setting that would make refused texts readable, or nothing."""
        return ""

    def named(self, text: str) -> Value | None:  # noqa: ARG002 (for those that know words)
        """Return the value that a word in a query names, or None.

        Raises
        ------
        InvalidParameterError
            If people know values by words alone, and this is none of them.
        """
        return None

    def centres(self, indices: ArrayLike) -> NDArray[np.float64]:  # noqa: ARG002 (for those that lie on the Earth)
        """Return latitude and longitude of the centres of numbered values."""
        raise InvalidParameterError(
            f'{self!r} has no places on the Earth. Distances and areas are for Places, kind = "places" in a survey.'
        )

    def corners(self, indices: ArrayLike) -> NDArray[np.float64]:
        """Return latitude and longitude of the corners of numbered values."""
        return self.centres(indices)[:, None]

    @property
    def coordinates(self) -> NDArray[np.float64]:
        """Places of all values, one row each, in steps of the spacing."""
        self.require_listable()
        return self.points(np.arange(self.size))

    def points(self, indices: ArrayLike) -> NDArray[np.float64]:
        """Return the places of numbered values, one row each.

        >>> from confide import Grid
        >>> Grid(2, 3).points([2, 3])
        array([[0., 2.],
               [1., 0.]])
        """
        return self.geometry.points(np.asarray(indices, dtype=np.int64))

    def encode(self, values: ArrayLike) -> Indices:
        """Return the number of each value.

        >>> from confide import Grid
        >>> Grid(2, 3).encode([(0, 2), (1, 0)])
        array([2, 3])
        """
        array = self.as_array(values)
        indices = self.locate(array)
        outside = np.flatnonzero(indices < 0)
        if outside.size:
            raise _outside_error(self, array, outside)
        return indices

    def as_array(self, values: ArrayLike) -> Values:
        """Return a sequence of values as an array of the right shape."""
        return as_values(values, self, (self.field_names,))

    def contains(self, values: Values) -> NDArray[np.bool_]:
        """Return for each value whether it is in the alphabet."""
        return self.locate(values) >= 0

    def is_single(self, values: ArrayLike) -> bool:
        """Whether this is one value rather than a sequence of values."""
        if isinstance(values, Mapping):  # one value by the names of its parts
            return all(np.ndim(part) == 0 for part in values.values())
        # Rows by the names of their parts are a sequence, even a single row.
        if isinstance(values, list | tuple) and len(values) and isinstance(values[0], Mapping):
            return False
        try:
            array = np.asarray(values)
        except ValueError:  # ragged: no value, and encode says so
            return False
        return array.ndim == (self.parts > 1) and array.size > 0

    def distance(self, left: Value, right: Value) -> float:
        """Return the distance between two values of the alphabet."""
        ends: list[Any] = [left, right]
        self.encode(ends)
        return self.metric.distance(left, right)

    def distances(self) -> NDArray[np.float64]:
        """Return the distances between all pairs of values, as a dense matrix."""
        self.require_pairs()
        points = self.coordinates
        return self.metric.between(points[:, None, :], points[None, :, :])

    def labels(self, numbers: ArrayLike | None = None) -> list[str]:
        """Return a short text for each value, or for numbered ones.

        Only these texts are shown to people.

        >>> from confide import Grid
        >>> Grid(2, 3).labels([2, 3])
        ['(0, 2)', '(1, 0)']
        """
        if numbers is None:
            self.require_listable()
        chosen = np.arange(self.size) if numbers is None else np.asarray(numbers, dtype=np.int64)
        return self._name(self.decode(chosen.reshape(-1)))

    def _name(self, values: Values) -> list[str]:
        """Return what people call these values.

        `has_labels` says whether that differs from the value itself.
        """
        return [label_value(value) for value in values.tolist()]

    # Of values on a line, and of what speaks of ranges of them.

    @property
    def step_name(self) -> str:
        """What one value is called when values are counted."""
        return self.unit if self.unit and self.spacing == 1 and self.positions is None else "value"

    def ticks(self, most: int) -> list[tuple[float, str]]:  # noqa: ARG002 (for those that have labels)
        """Return ticks of an axis; none where values are plain numbers."""
        return []

    def label_range(self, low: int, high: int) -> str:
        """Return what people call the values from `low` to `high`.

        >>> from confide import Integers
        >>> Integers(0, 99).label_range(20, 24), Integers(-9, 9).label_range(-9, 0)
        ('20\N{EN DASH}24', '-9 to 0')
        """
        first, last = self._name(np.array([low, high]))
        if low == high:
            return first
        return f"{first} to {last}" if self.has_labels or low < 0 else f"{first}\N{EN DASH}{last}"

    def question(self, name: str, low: int, high: int | None = None) -> str:
        """Return the query for values from `low` to `high`, or upwards.

        >>> from confide import Integers
        >>> Integers(0, 99).question("age", 20, 24), Integers(0, 99).question("age", 65)
        ('age in 20..24', 'age >= 65')
        >>> from confide import Dates, Scale
        >>> Dates("2026-01-01", "2026-12-31").question("day", 0, 6)
        'day in 2026-01-01..2026-01-07'
        >>> Scale(["never", "now and then", "often"]).question("answer", 1, 2)
        "answer in 'now and then'..often"
        """
        first, last = (self._in_query(end) for end in (low, low if high is None else high))
        if high is None:
            return f"{name} >= {first}"
        return f"{name} == {first}" if low == high else f"{name} in {first}..{last}"

    def _in_query(self, value: int) -> str:
        """Return a value as a query has it."""
        return str(value)

    def between(self, low: int | None, high: int | None) -> Alphabet:
        """Return the alphabet of reports from `low` to `high`, or of all."""
        from confide.values.planes import Integers  # which is an alphabet itself

        return Integers(low, high, self.spacing, self.unit)

    def __len__(self) -> int:
        return self.size


def as_values(values: ArrayLike, owner: Alphabet, names: Sequence[Sequence[str]], wanted: str = "") -> Values:
    """Return a sequence of values as an array, or say why not.

    Single values, mixed types and missing values are refused.

    Parameters
    ----------
    values
        A sequence, a column, or a table, whose columns are found by their names.
    owner
        The alphabet.
    names
        What the columns of a value may be called.
    wanted
        What the alphabet asks for, in a message.

    Examples
    --------
    >>> from confide import Integers
    >>> as_values([3, 4], Integers(0, 9), [("value",)])
    array([3, 4])
    """
    refuse_masked(f"entries for {owner!r}", values, InvalidParameterError)
    given, parts = as_plain(values, names), owner.parts
    try:
        array = np.asarray(given)
        if array.dtype.kind == "U" and not isinstance(given, np.ndarray):
            array = np.asarray(given, dtype=object)  # numpy makes texts of all that stands beside a text
    except ValueError:
        raise InvalidParameterError(f"Values of {owner!r} must be given as a rectangular array.") from None
    array = plain_array(array)
    if array.size == 0:
        return array.reshape((0, parts) if parts > 1 else (0,))
    if array.ndim != 1 + (parts > 1) or (parts > 1 and array.shape[1] != parts):
        wanted = wanted or {1: "single values", 2: "pairs (row, column)"}.get(parts, f"rows of {parts} parts")
        raise InvalidParameterError(
            f"{owner!r} takes a sequence of {wanted}; got an array of shape {array.shape}. "
            f"Put a single value into a list."
        )
    refuse_missing(array, owner)
    return array


def as_value(listed: Any) -> Value:
    """Return an entry of `tolist()` as a value; lists become tuples.

    >>> as_value([3, 4]), as_value("red")
    ((3, 4), 'red')
    """
    value: Value = tuple(listed) if isinstance(listed, list) else listed
    return value


def plain_array(array: Values) -> Values:
    """Return objects, as data frames hold them, as plain texts or numbers.

    Unsigned integers become signed ones.

    >>> [plain_array(np.array(values, dtype=object)).dtype.kind for values in (["a", "b"], [1, 2])]
    ['U', 'i']
    """
    if array.dtype.kind == "O" and array.size:
        kinds = {type(value) for value in array.reshape(-1)}
        if all(issubclass(kind, str) for kind in kinds):
            return array.astype(str)
        # A truth value is no number, though True and 1 are equal.
        if bool not in kinds and all(issubclass(kind, int | float | np.integer | np.floating) for kind in kinds):
            if all(issubclass(kind, int | np.integer) for kind in kinds):
                with contextlib.suppress(OverflowError):  # larger ones lie outside every alphabet
                    return array.astype(np.int64)
            # Python's integers may be past what a float64 holds.
            flat = array.reshape(-1)
            near = [float(max(-(2**1000), min(one, 2**1000))) if isinstance(one, int) else one for one in flat]
            return np.array(near, dtype=np.float64).reshape(array.shape)
    if array.dtype.kind == "u" and (array <= LARGEST_INTEGER).all():
        return array.astype(np.int64)
    return array


def wide_floats(array: Values) -> Values:
    """Return narrow floats as the decimals that they print as.

    0.7 of 32 bits is below 0.7 of 64.
    """
    is_narrow = array.dtype.kind == "f" and array.dtype.itemsize < 8
    return array.astype(str).astype(np.float64) if is_narrow else array


def unbounded(alphabet: Alphabet) -> InvalidParameterError:
    """Return the error that asks for a finite alphabet."""
    known = {1: "Integers(low, high)", 2: "Grid(rows, columns)"}
    bounded = alphabet._bounded or known.get(alphabet.geometry.dimensions, " or ".join(known.values()))
    return InvalidParameterError(f"{alphabet!r} is unbounded, and a finite one is needed here. Give one: {bounded}.")


def spacing_and_unit(alphabet: Alphabet) -> tuple[str, str]:
    """Return spacing and unit for a repr; empty if they are default."""
    spacing = "" if alphabet.spacing == 1 else f"spacing={alphabet.spacing!r}"
    return spacing, f"unit={alphabet.unit!r}" if alphabet.unit else ""


def joined(*parts: str) -> str:
    """Join the parts that are not empty."""
    return ", ".join(part for part in parts if part)


def _outside_error(alphabet: Alphabet, values: Values, outside: Indices) -> ValueOutsideAlphabetError:
    """Return the error for values outside: which, why, and the cure."""
    if values.dtype.kind == "O":  # one of another kind may have made objects of all: each is judged by itself
        known: dict[str, bool] = {}
        alone = []
        for place in outside.tolist():
            entry = as_value(values[place].tolist()) if values.ndim > 1 else values[place]
            key = f"{type(entry).__name__} {entry!r}"
            if key not in known:
                try:
                    known[key] = bool(alphabet.locate(alphabet.as_array([entry]))[0] < 0)
                except InvalidInputError:
                    known[key] = True
            if known[key]:
                alone.append(place)
        outside = np.array(alone, dtype=np.int64) if alone else outside
    first = as_value(np.asarray(values[outside[0]]).tolist())
    parts = first if isinstance(first, tuple) else (first,)
    why, cure = "", alphabet.cure
    if alphabet.metric != Discrete():
        if any(isinstance(part, str) for part in parts):
            why, cure = ", which is a text", "Convert texts to numbers, and leave out those that are none."
        elif alphabet.parse([str(part) for part in parts]) is None and all(
            isinstance(part, float) and math.isfinite(part) for part in parts
        ):
            why, cure = ", which is not a whole number", "Round it, or count amounts in Bins."
    verb = "lies" if outside.size == 1 else "lie"
    return outside_error(outside, values.shape[0], f"values {verb} outside {alphabet!r}", first, f"{why}. {cure}")


def find_columns(wanted: Sequence[str], header: Sequence[str]) -> list[int] | None:
    """Return where columns stand in a header, or None.

    Capitals do not matter where only one column can be meant.

    >>> find_columns(["age", "sex"], ["Sex", "AGE"]), find_columns(["age"], ["Age", "AGE"])
    ([1, 0], None)
    """
    names = list(header)
    lower = [name.lower() for name in names]
    places = []
    for name in wanted:
        if name in names:
            places.append(names.index(name))
        elif lower.count(name.lower()) == 1:
            places.append(lower.index(name.lower()))
        else:
            return None
    return places


def named_columns(raw: Any) -> dict[str, Any] | None:
    """Return the columns of a table by name, or None.

    >>> named_columns([{"age": 30, "sex": "f"}, {"sex": "m", "age": 40}])
    {'age': [30, 40], 'sex': ['f', 'm']}
    """
    # Rows of a JSON file; a key that one lacks is a missing value.
    if isinstance(raw, list | tuple) and raw and all(isinstance(row, Mapping) for row in raw):
        return {name: [row.get(name) for row in raw] for name in raw[0]}
    if isinstance(raw, Mapping):
        return {str(name): column for name, column in raw.items()}
    if type(raw).__name__ == "LazyFrame":
        raise InvalidParameterError("A lazy frame holds no values yet. Give frame.collect() instead.")
    # A table of pyarrow has `columns` too, which are not the names.
    labels = getattr(raw, "column_names", getattr(raw, "columns", None))
    if labels is None:
        return None
    names = [str(label) for label in labels]
    if len(set(names)) < len(names):
        again = next(name for name in names if names.count(name) > 1)
        raise InvalidParameterError(f"The table has several columns called {again!r}. Rename all but one.")
    return {str(label): raw[label] for label in labels}


def choose_columns(table: Mapping[str, Any], known: Sequence[Sequence[str]]) -> list[Any]:
    """Return the columns that hold the parts of a value, by name.

    A value of one part may have any name.
    """
    header = list(table)
    found = next((places for names in known if (places := find_columns(names, header)) is not None), None)
    if found is None and len(known[0]) == len(header) == 1:
        found = [0]
    if found is None:
        wanted = f"columns called {', '.join(known[0])}" if len(known[0]) > 1 else "one column"
        cure = "Rename them." if len(known[0]) > 1 else "Choose one, such as table[name]."
        raise InvalidParameterError(f"The table needs {wanted}; got {', '.join(header)}. {cure}")
    return [as_column(table[header[place]]) for place in found]


def as_column(raw: Any) -> Any:
    """Return a column with times on the clock of its own zone.

    polars and pyarrow would hand them on in UTC.
    """
    if getattr(getattr(raw, "dtype", None), "time_zone", None):
        return raw.dt.replace_time_zone(None)
    # A column of pyarrow that is encoded by a dictionary has the type of its values one level down.
    kind = getattr(raw, "type", None)
    kind = getattr(kind, "value_type", kind)
    if getattr(kind, "tz", None):
        # Whoever has such a column has pyarrow.
        try:
            return importlib.import_module("pyarrow.compute").local_timestamp(raw.cast(kind))
        except ValueError as error:
            raise InvalidParameterError(
                f"The times cannot be read in their zone: {error}. Convert them to a zone that is known here."
            ) from None
    return raw


def as_plain(raw: Any, known: Sequence[Sequence[str]] = (("value",),)) -> Any:
    """Return a column unchanged, or the value columns of a table."""
    table = named_columns(raw)
    if table is None:
        return as_column(raw)
    columns = choose_columns(table, known)
    return columns[0] if len(columns) == 1 else stacked([np.atleast_1d(np.asarray(column)) for column in columns])


def stacked(columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return columns as rows; a number beside a category stays a number."""
    if len({len(column) for column in columns}) > 1:
        raise InvalidParameterError(f"Columns must have one length; got {', '.join(str(len(c)) for c in columns)}.")
    if len({column.dtype.kind for column in columns}) > 1:
        columns = [column.astype(object) for column in columns]
    # By a new axis, for reshape cannot tell the width of no rows at all.
    return np.concatenate([column[:, None] if column.ndim == 1 else column for column in columns], axis=1)


def is_missing(value: object) -> bool:
    """Whether this is missing: None, NaN, or NA or NaT of pandas."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating | Decimal) and value != value  # noqa: PLR0124 (NaN is not itself)


def refuse_missing(array: Any, owner: object) -> None:
    """Refuse entries that stand for no value."""
    if array.dtype.kind == "O":
        missing = np.array([is_missing(one) for one in array.reshape(-1)], dtype=bool).reshape(array.shape)
    elif array.dtype.kind in "fM":
        missing = array != array  # noqa: PLR0124 (what is no number or time is not itself)
    else:
        return
    if missing.any():
        rows = np.unique(np.nonzero(missing)[0])
        what = f"values for {owner!r} {'is' if rows.size == 1 else 'are'} missing"
        cure = ". Leave out people without a value first, with dropna() in pandas or drop_nulls() in polars."
        raise outside_error(rows, len(array), what, array[missing].tolist()[0], cure)


def outside_error(
    places: NDArray[np.int64], count: int, what: str, first: object, why_and_cure: str
) -> ValueOutsideAlphabetError:
    """Return the error for bad values: how many, the first, the cure."""
    return ValueOutsideAlphabetError(
        f"{places.size:,} of {count:,} {what}; first: {first!r} at position {places[0]}{why_and_cure}",
        tuple(places.tolist()),
    )
