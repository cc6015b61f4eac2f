"""Amounts in bins: "10 to 20 thousand", "100 thousand or more".

An amount is the decimal number that is written, and a float the shortest decimal that it prints as; both are compared
with the edges exactly. A bin holds its lower edge and not its upper one, so the last edge of a closed end is outside.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.errors import InvalidParameterError
from confide.values.base import Alphabet, Example, as_values, joined, outside_error, wide_floats
from confide.values.checks import BLANK, REAL, NumberFormat, Numeral, as_items, check_text, settle
from confide.values.geometry import LineGeometry, Values
from confide.values.metrics import Value
from confide.values.planes import Integers
from confide.values.wording import counted, plural, told_at_edges, with_unit

Amount = int | float | Decimal | Fraction


@dataclass(frozen=True, init=False, repr=False)
class Bins(Integers):
    """Amounts in bins; a value is the number of a bin.

    A bin contains its lower edge, not its upper one.

    The distance between two bins is that of their middles. An open bin counts as wide as its neighbour. So two amounts
    on either side of an edge are a whole bin apart, however close they are, and two amounts in one bin cannot be
    distinguished.

    Parameters
    ----------
    low, high, width
        The first and the last edge of equal bins, and the width of each; or give `edges`.
    edges
        The edges of chosen bins, rising.
    below, above
        Whether amounts below the first edge, and from the last edge on, have a bin of their own. Otherwise they are
        outside.
    unit
        Unit of the amounts.
    format
        How people write amounts, shown for 1234: ``"$1,234.56"`` or ``"1.234,56"``. Default: plain decimal numbers.
    scale
        Factor from people's own amounts to bins: 0.001 if they write dollars and bins are in thousands.

    Examples
    --------
    >>> salaries = Bins(edges=[0, 10, 20, 50, 100], above=True, unit="thousand")
    >>> salaries.take([9.99, 10, 250]), salaries.labels()[1:]
    (array([0, 1, 4]), ['10 to 20 thousand', '20 to 50 thousand', '50 to 100 thousand', '100 thousand or more'])
    >>> salaries.distance(0, 3)
    70.0
    >>> Bins(edges=[0, 50, 100], format="$1,234", scale=0.001).take(["$58,000", 12000])
    array([1, 0])
    """

    kind = "bins"
    about = "amounts in bins: from one edge up to, and not with, the next; files hold the amounts themselves"
    example = Example(
        "salary",
        "Salaries",
        unit="thousand, between the middles of bins",
        epsilon=0.05,
        text="""\
edges = [0, 10, 20, 30, 50, 100]   # or equal ones: low = 0, high = 100 and width = 10
above = true           # a bin for amounts from the last edge on; refused if left out
# below = true         # a bin for amounts below the first edge
unit = "thousand"      # what amounts and distances are counted in; may be left out
""",
    )

    has_labels = True
    cure: ClassVar[str] = "Widen the bins, or open an end with below=True or above=True; the last edge is not inside."  # type: ignore[misc]

    edges: tuple[Fraction, ...] = ()
    below: bool = False
    above: bool = False
    format: str = ""
    scale: Fraction = Fraction(1)

    def __init__(  # noqa: PLR0913 (two ways to say where the edges are, and how amounts are read)
        self,
        low: Amount | None = None,
        high: Amount | None = None,
        width: Amount | None = None,
        *,
        edges: Iterable[Amount] | None = None,
        below: bool = False,
        above: bool = False,
        unit: str = "",
        format: str = "",  # noqa: A002 (as a survey has it)
        scale: Amount = 1,
    ) -> None:
        for name, end in (("below", below), ("above", above)):
            if not isinstance(end, bool):
                raise InvalidParameterError(f"{name} must be true or false; got {end!r}.")
        check_text("unit", unit)
        given: object = format  # as a file may have it
        if not isinstance(given, str) or given:
            NumberFormat(format)
        factor = _short("scale", as_amount("scale", scale))
        if factor < Fraction(1, 10**12):
            raise InvalidParameterError(f"scale must be a number above 0, such as 0.001; got {scale!r}.")
        settle(self, format=format, scale=factor, unit=unit)
        self._settle(_settle_edges(low, high, width, edges), below=below, above=above, start=0)

    def _settle(self, edges: tuple[Fraction, ...], *, below: bool, above: bool, start: int) -> None:
        high = start + len(edges) - 2 + below + above
        settle(self, low=start, high=high, edges=edges, below=below, above=above)
        gaps = {other - one for one, other in pairwise(self.middles)} or {edges[-1] - edges[0]}
        # 1 where places are in units of distance.
        settle(self, spacing=float(gaps.pop()) if len(gaps) == 1 else 1.0)

    @cached_property
    def geometry(self) -> LineGeometry:
        # Bins lie at their middles; positions are stored only where these are not equally far apart.
        is_uneven = len({other - one for one, other in pairwise(self.middles)}) > 1
        return LineGeometry(self.low, self.high, self.spacing, self.middles if is_uneven else None)

    @cached_property
    def middles(self) -> tuple[Fraction, ...]:
        """Middles of bins; an open bin is as wide as its neighbour."""
        edges, closed = self.edges, [(one + other) / 2 for one, other in pairwise(self.edges)]
        first = [2 * edges[0] - closed[0]] if self.below else []
        last = [2 * edges[-1] - closed[-1]] if self.above else []
        return (*first, *closed, *last)

    @property
    def declared(self) -> Mapping[str, Any]:
        # Equal bins are stated by their width, however they were given: equal alphabets have equal fingerprints.
        widths = {other - one for one, other in pairwise(self.edges)}
        is_equal = len(widths) == 1 and len(self.edges) > 2
        ends = {"low": self.edges[0], "high": self.edges[-1], "width": next(iter(widths))}
        equal: dict[str, Any] = {name: as_written(edge) for name, edge in ends.items()}
        settings = equal if is_equal else {"edges": tuple(map(as_written, self.edges))}
        settings |= {name: True for name, is_open in (("below", self.below), ("above", self.above)) if is_open}
        settings |= {name: text for name, text in (("unit", self.unit), ("format", self.format)) if text}
        return settings | ({"scale": as_written(self.scale)} if self.scale != 1 else {})

    def beyond(self, values: Values) -> Mapping[str, NDArray[np.bool_]]:
        ends = [self.span[0]] * self.below + [self.span[1]] * self.above
        return {self.label_range(number, number): values == number for number in ends}

    @property
    def reading(self) -> str:
        parts = [f"written as {self.format}"] if self.format else []
        parts += [f"multiplied by {_text(self.scale)}"] if self.scale != 1 else []
        return f"amounts are {' and '.join(parts)}" if parts else ""

    def between(self, low: int | None, high: int | None) -> Alphabet:
        # Some of the bins are bins again, under the same numbers.
        first, last = self.span
        if low is None or high is None or not first <= low <= high <= last:
            return super().between(low, high)
        below, above = self.below and low == first, self.above and high == last
        # Numbers count an open bin below, edges do not.
        start = low - first - self.below + below
        edges = self.edges[start : start + high - low - below - above + 2]
        if len(edges) < 2:  # an open bin alone
            return super().between(low, high)
        part = object.__new__(Bins)
        settle(part, format=self.format, scale=self.scale, unit=self.unit)
        part._settle(edges, below=below, above=above, start=low)
        return part

    # What people have.

    def read(self, fields: Sequence[str]) -> Value | None:
        text = fields[0]
        if self.format and not isinstance(text, Numeral):
            written = NumberFormat(self.format).read(text)
        else:
            found = re.fullmatch(REAL, text)
            written = None if found is None else found[1]
        if written is None:
            return None
        # Decimals of as many digits as are written: nothing is rounded before an edge is compared.
        exact = Context(prec=len(written) + 20, Emax=MAX_EMAX, Emin=MIN_EMIN)  # a scale has 16 digits at most
        try:
            amount = exact.multiply(exact.create_decimal(written), Decimal(_text(self.scale)))
        except ArithmeticError:  # an exponent past what a decimal holds: as far out as can be, or next to nothing
            amount = Decimal(float(written))
        return self._number(bisect_right(self._decimals, amount))

    def fault(self, fields: Sequence[str]) -> str:
        if self.read(fields) is not None:
            return ""
        patterns = {
            "not a finite number": "[+-]?(?:nan|inf|infinity)",
            "separators in a number": f"[+-]?[0-9]+(?:[,'\u2019_{BLANK}.][0-9]+)+",
            "a sign or unit beside a number": "(?:[^0-9.,+-]*[+-]?[0-9][0-9.,]*[^0-9.,]*)",
        }
        blanks, faults = f"[{BLANK}]*", iter(patterns.items())
        matching = (why for why, one in faults if re.fullmatch(blanks + one + blanks, fields[0], re.IGNORECASE))
        return next(matching, "not a number")

    def hint(self, fields: Sequence[str]) -> str:
        if self.read(fields) is not None:
            return ""
        guess = NumberFormat.guess(fields[0])
        return f'it is a number under format = "{guess}"' if guess else ""

    def take(self, raw: ArrayLike) -> Values:
        amounts = as_values(raw, self, (("value",),))
        is_none = np.zeros(amounts.shape, dtype=bool)  # which of them are no finite numbers
        numbers_by_edges = np.array([self._number(place) for place in range(len(self.edges) + 1)], dtype=np.int64)
        if amounts.dtype.kind == "f":
            wide = wide_floats(amounts)
            numbers, is_none = numbers_by_edges[np.searchsorted(self._limits, wide, side="right")], ~np.isfinite(wide)
        elif amounts.dtype.kind in "iu":
            least = [float(math.ceil(edge / self.scale)) for edge in self.edges]
            # Edges beyond what 64 bits hold are beyond every whole number of an array, too.
            edges = np.clip(least, -(2.0**62), 2.0**62).astype(np.int64)
            numbers = numbers_by_edges[np.searchsorted(edges, amounts, side="right")]
        else:
            numbers = np.zeros(amounts.shape, dtype=np.int64)
            for place, amount in enumerate(amounts.tolist()):
                try:
                    if isinstance(amount, str):
                        read = self.read((amount,))
                    else:
                        read = self._number(bisect_right(self.edges, as_amount("an amount", amount) * self.scale))
                except InvalidParameterError:
                    read = None
                is_none[place], numbers[place] = read is None, self.span[0] - 1 if read is None else read
        outside = np.flatnonzero(is_none | ~self.contains(numbers))
        if outside.size:
            first = amounts[outside[0]]
            shown = first.item() if isinstance(first, np.generic) else first
            why, cure = ("is no finite number", "Correct it.") if is_none[outside[0]] else ("lies outside", self.cure)
            if isinstance(shown, str) and (hint := self.hint((shown,))):
                why, cure = f"is no plain number: {hint}", "Declare the format in the survey, or convert the texts."
            what = f"amounts have no bin in {self!r}"
            raise outside_error(outside, amounts.size, what, shown, f" {why}. {cure}")
        return numbers

    def _number(self, place: int) -> int:
        """Return the bin of an amount with `place` edges below it.

        Where there is no bin, the number is the next one outside.
        """
        if (place > 0 or self.below) and (place < len(self.edges) or self.above):
            return self.span[0] + self.below + place - 1
        return self.span[0] - 1 if place == 0 else self.span[1] + 1

    @cached_property
    def _decimals(self) -> list[Decimal]:
        return [Decimal(_text(edge)) for edge in self.edges]

    @cached_property
    def _limits(self) -> NDArray[np.float64]:
        """Least amount, before scaling, at or above each edge."""
        near = [(edge, float(edge / self.scale)) for edge in self.edges]
        # A float counts as the decimal that it prints as; where that scaled stays below the edge, it is the next one.
        reached = ((one, Fraction(repr(one)) * self.scale >= edge) for edge, one in near)
        return np.array([one if is_there else math.nextafter(one, math.inf) for one, is_there in reached])

    def sql(self, column: str = "value") -> str:
        """Return SQL for the bin of a column of numbers, or null.

        >>> print(Bins(0, 2, 1).sql("rooms"))
        CASE WHEN NOT isfinite(CAST(rooms AS DOUBLE)) THEN NULL WHEN rooms < 0 THEN NULL WHEN rooms < 1 THEN 0 WHEN \
rooms < 2 THEN 1 END
        """
        limits = [_text(Fraction(repr(limit))) for limit in self._limits.tolist()]
        first, last = self.span
        numbers = [self._number(place) for place in range(len(limits))]
        bins = [str(number) if first <= number <= last else "NULL" for number in numbers]
        branches = [f"WHEN {column} < {limit} THEN {one}" for limit, one in zip(limits, bins, strict=True)]
        if self.above:
            branches.append(f"WHEN {column} >= {limits[-1]} THEN {last}")
        return f"CASE WHEN NOT isfinite(CAST({column} AS DOUBLE)) THEN NULL {' '.join(branches)} END"

    # What is said of them.

    def _name(self, values: Values) -> list[str]:
        return [self.label_range(number, number) for number in values.tolist()]

    def label_range(self, low: int, high: int) -> str:
        first, last = self._ends(low)[0], self._ends(high)[1]
        unit = f" {plural(self.unit)}" if self.unit else ""
        if first is None or last is None:
            ends = [] if last is None else [f"below {_spoken(last)}{unit}"]
            ends += [] if first is None else [f"{_spoken(first)}{unit} or more"]
            return " or ".join(ends) or "any amount"
        return f"{_spoken(first)} to {_spoken(last)}{unit}"

    def question(self, name: str, low: int, high: int | None = None) -> str:
        """Return the query at the edges of bins.

        >>> Bins(0, 50, 10, above=True).question("salary", 1, 2)
        '10 <= salary < 30'
        """
        first, last = self._ends(low)[0], None if high is None else self._ends(high)[1]
        if first is None and last is None:
            return f"{name} < {_text(self.edges[0])} or {name} >= {_text(self.edges[0])}"
        if first is None or last is None:
            return f"{name} < {_text(last)}" if last is not None else f"{name} >= {_text(first or Fraction(0))}"
        return f"{_text(first)} <= {name} < {_text(last)}"

    def compare(self, sign: str, literal: object) -> NDArray[np.bool_]:
        amount = as_amount("an amount in a query", literal)
        if sign in ("=", "==", "!="):
            raise InvalidParameterError(f"bins hold many amounts, so none is asked for by itself; {self._cure(amount)}")
        reaches_on = {"<": False, ">=": False, "<=": True, ">": True}[sign]  # whether the amount itself counts as below
        is_above = []
        for number in range(self.span[0], self.span[1] + 1):
            first, last = self._ends(number)
            starts_above = first is not None and (first > amount if reaches_on else first >= amount)
            if not starts_above and (last is None or last > amount):
                label = self.label_range(number, number)
                raise InvalidParameterError(f"it cuts the bin {label!r}; {self._cure(amount)}")
            is_above.append(starts_above)
        chosen = np.array(is_above)
        return chosen if sign in (">", ">=") else ~chosen

    def _cure(self, amount: Fraction) -> str:
        """Return how to ask at the edges nearest to an amount."""
        place = bisect_right(self.edges, amount)
        near = dict.fromkeys(self.edges[max(place - 1, 0) : place + 1] or self.edges[-1:])
        return f"ask with < or >= at an edge, such as {' or '.join(map(_text, near))}"

    def _ends(self, number: int) -> tuple[Fraction | None, Fraction | None]:
        """Return the edges of a bin; None where it is open."""
        place = number - self.span[0] - self.below
        return (
            self.edges[place] if place >= 0 else None,
            self.edges[place + 1] if place + 1 < len(self.edges) else None,
        )

    step_name = "bin"

    def ticks(self, most: int) -> list[tuple[float, str]]:
        # An axis shows the edges, and an edge lies halfway between two bins.
        step = -(-len(self.edges) // most)
        first = self.span[0] + self.below - 0.5
        return [(first + place, _spoken(edge)) for place, edge in enumerate(self.edges)][::step]

    @property
    def summary(self) -> str:
        first, last = self.labels([0, self.size - 1])
        gaps = self.gaps if self.size > 1 else np.array([self.spacing])
        apart = with_unit(float(gaps.max()), self.unit)
        if self.positions is not None:
            apart = f"{with_unit(float(gaps.min()), '')} to {apart}"
        return f"{counted(self.size, 'bin')}, {first} up to {last}, spacing {apart} from middle to middle"

    @property
    def fine_print(self) -> tuple[str, ...]:
        widths = [float(other - one) for one, other in pairwise(self.edges)]
        if self.positions is None:
            sentence = told_at_edges("amount", "bin", self.spacing, self.unit)
        else:
            sentence = (
                f"Two amounts on either side of an edge count as far apart as the middles of their bins, up to "
                f"{with_unit(float(self.gaps.max()), self.unit)}, even if they are close. In one bin, people cannot be "
                f"distinguished. At worst, two amounts d apart count as d + {with_unit(max(widths), self.unit)}."
            )
        is_open = self.below or self.above
        beyond = "A bin with an open end lies where one as wide as its neighbour would, however far its amounts go."
        return (sentence, beyond) if is_open else (sentence,)

    @property
    def has_mean(self) -> bool:
        # Nobody knows how far amounts go in an open bin.
        return not (self.below or self.above)

    _no_mean = (
        "{!r} has an open end, and how far amounts go there nobody knows, so there is no mean. Ask for a quantile, "
        "which is a bin, or for a share."
    )

    @property
    def amounts(self) -> NDArray[np.float64]:
        # People in a bin count as its middle.
        _ = super().amounts  # which says why there is no mean
        return np.array([float(middle) for middle in self.middles])

    def name_mean(self, mean: float) -> str:
        return f"{mean:{'.4g' if abs(mean) < 1000 else ',.0f'}} {plural(self.unit)}".rstrip()

    @property
    def mean_remark(self) -> str:
        widest = max(other - one for one, other in pairwise(self.edges)) / 2
        unit = f" {plural(self.unit)}" if self.unit else ""
        return f"amounts count as the middle of their bin, which may be off by up to {_spoken(widest)}{unit} either way"

    def __repr__(self) -> str:
        if self.declared.get("width") is not None:
            kind = f"{_text(self.edges[0])}, {_text(self.edges[-1])}, {_text(self.edges[1] - self.edges[0])}"
        else:
            kind = f"edges=[{', '.join(map(_text, self.edges[:6]))}{', ...' if len(self.edges) > 6 else ''}]"
        ends = ["below=True" if self.below else "", "above=True" if self.above else ""]
        told = [f"{name}={text!r}" if text else "" for name, text in (("unit", self.unit), ("format", self.format))]
        return f"Bins({joined(kind, *ends, *told, f'scale={_text(self.scale)}' if self.scale != 1 else '')})"


def as_amount(name: str, value: object) -> Fraction:
    """Return a number as the decimal that it prints as.

    >>> as_amount("width", 0.1)
    Fraction(1, 10)
    """
    # A float32 prints as its own shortest decimal, which item() would turn into the longer one of a float64.
    plain = value.item() if isinstance(value, np.generic) and value.dtype != np.float32 else value
    if isinstance(plain, bool) or not isinstance(plain, int | float | Decimal | Fraction | np.floating):
        raise InvalidParameterError(f"{name} must be a number; got {value!r}.")
    is_signal = isinstance(plain, Decimal) and plain.is_snan()  # which no float can be
    if is_signal or (not isinstance(plain, int | Fraction) and not math.isfinite(plain)):
        raise InvalidParameterError(f"{name} must be a finite number; got {value!r}.")
    return Fraction(str(plain)) if isinstance(plain, float | np.floating) else Fraction(plain)


def _settle_edges(
    low: Amount | None, high: Amount | None, width: Amount | None, edges: Iterable[Amount] | None
) -> tuple[Fraction, ...]:
    most = 2**16  # bins: more than reports of any number of people could tell apart
    given = [number is not None for number in (low, high, width)]
    if (edges is not None and any(given)) or (edges is None and not all(given)):
        raise InvalidParameterError("Bins need low, high and width for equal ones, or edges for chosen ones.")
    if edges is not None:
        chosen = tuple(_short("an edge", as_amount("an edge", edge)) for edge in as_items("edges", edges, "numbers"))
        if not 2 <= len(chosen) <= most + 1:
            raise InvalidParameterError(f"Bins need between 2 and {most + 1:,} edges; got {len(chosen):,}.")
        for one, other in pairwise(chosen):
            if one >= other:
                raise InvalidParameterError(f"Edges must rise; got {_text(other)} after {_text(one)}.")
        return chosen
    first, last, step = as_amount("low", low), as_amount("high", high), as_amount("width", width)
    if step <= 0 or last <= first:
        raise InvalidParameterError(
            f"Bins need a width above 0 and high above low; got low={_text(first)}, high={_text(last)}, "
            f"width={_text(step)}."
        )
    count = (last - first) / step
    if count > most:
        raise InvalidParameterError(f"{float(count):,.0f} bins are too many, at most {most:,}. Choose a larger width.")
    if count.denominator != 1:
        ends = (first + math.floor(count) * step, first + math.ceil(count) * step)
        raise InvalidParameterError(
            f"From {_text(first)} to {_text(last)} there is no whole number of bins of {_text(step)}. Let high be "
            f"{_text(ends[0])} or {_text(ends[1])}, or give edges."
        )
    return tuple(_short("an edge", first + place * step) for place in range(int(count) + 1))


def _short(name: str, edge: Fraction) -> Fraction:
    """Refuse an edge of more than 15 digits.

    Float64 does not hold it to the last digit, so files, SQL and arrays would disagree on it.
    """
    if abs(edge) > Fraction(10**15) or Fraction(str(float(edge))) != edge:
        raise InvalidParameterError(f"{name} may have 15 digits at most; got {float(edge)!r}. Round it.")
    return edge


def as_written(number: Fraction) -> int | float:
    """Return a number as a survey has it.

    >>> as_written(Fraction(3)), as_written(Fraction(1, 2))
    (3, 0.5)
    """
    return int(number) if number.denominator == 1 else float(number)


def _text(number: Fraction) -> str:
    """Return a number without an exponent, which queries and SQL read too."""
    return str(int(number)) if number.denominator == 1 else f"{Decimal(str(float(number))):f}"


def _spoken(number: Fraction) -> str:
    """Return a number as people write it.

    >>> _spoken(Fraction(10000)), _spoken(Fraction(1, 2))
    ('10,000', '0.5')
    """
    return f"{int(number):,}" if number.denominator == 1 else _text(number)
