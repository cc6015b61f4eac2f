"""The profile of a file, without anybody's value.

A profile has counts, round numbers, and texts that ten people or more share. The studio's page makes the same profile
in the browser (web/src/design/profiles.ts), so that a file that is dropped there never leaves it.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from confide.data.files.reading import as_text
from confide.data.files.sheets import (
    PARQUET,
    STANDARD_STREAM,
    CsvSheet,
    open_sheet,
    parquet_explained,
    require,
    text_blocks,
)
from confide.errors import DataFileError, InvalidParameterError
from confide.values.checks import BLANK

FEWEST = 10
"""People who share a text or lie beyond a number before a profile has it."""

PIECE, PIECES = 2**20, 32
"""Bytes of a piece, and how many of them, evenly spread, are read of a file that is larger."""

MOST_COLUMNS = 200
"""Columns that are looked at."""

MOST_TEXTS = 60
"""Texts, and ways to write them, that a profile has of a column."""

LONGEST = 60
"""Characters of a text, beyond which it is free text."""

SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Shares of people below the five numbers that tell where values lie."""

_RUN, _AROUND = re.compile("[0-9]+"), re.compile(f"^[{BLANK}]+|[{BLANK}]+$")
_DAY = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}(?![0-9])")


@dataclass(frozen=True)
class Column:
    """What a column holds.

    Attributes
    ----------
    name
        Its heading.
    filled, missing
        Number of rows with a text, and of blank ones.
    distinct, alone
        Number of different texts, and of those that stand in one row only.
    long
        Number of texts of more than 60 characters.
    numbers, days
        Number of texts that are numbers by their digits, and of dates such as 2026-03-01.
    has_fractions
        Whether ten numbers or more have decimals.
    mark
        The decimal mark: a point or a comma.
    shapes
        How texts with digits are written, each digit a 9, with the number of rows, ten at least.
    words
        Texts that ten people or more share, the commonest first.
    numbers_at, days_at
        Numbers, and months, that a twentieth, a quarter, half, three quarters and nineteen twentieths of people lie
        below, cut to round ones; None where fewer than ten people lie beyond.
    """

    name: str
    filled: int = 0
    missing: int = 0
    distinct: int = 0
    alone: int = 0
    long: int = 0
    numbers: int = 0
    days: int = 0
    has_fractions: bool = False
    mark: str = "."
    shapes: Mapping[str, int] = field(default_factory=dict)
    words: Mapping[str, int] = field(default_factory=dict)
    numbers_at: Sequence[float | None] = (None,) * len(SHARES)
    days_at: Sequence[str | None] = (None,) * len(SHARES)


@dataclass(frozen=True)
class Profile:
    """What a file holds, column by column.

    Attributes
    ----------
    rows
        Number of rows that were read.
    is_sample
        Whether these are some of the file's rows: pieces that are spread evenly.
    width
        Number of columns of the file; the first 200 are looked at.
    columns
        The columns.
    """

    rows: int
    is_sample: bool
    width: int
    columns: tuple[Column, ...]

    def record(self) -> dict[str, Any]:
        """Return the profile as JSON values, as a browser sends it."""
        return asdict(self)

    @classmethod
    def from_record(cls, record: Any) -> Profile:
        """Read a profile that came from a browser.

        >>> Profile.from_record(Profile(3, False, 1, (Column("age", 3),)).record()).columns[0].filled
        3
        """
        try:
            columns = tuple(map(_column, record["columns"][:MOST_COLUMNS]))
            return cls(int(record["rows"]), bool(record["is_sample"]), int(record["width"]), columns)
        except (TypeError, KeyError, ValueError, AttributeError, OverflowError) as error:
            raise InvalidParameterError(f"This is no profile of a file: {type(error).__name__} {error}.") from None


def _column(record: Mapping[str, Any]) -> Column:
    """Read a column of a profile that came from a browser."""
    counts: dict[str, Any] = {
        name: int(record[name]) for name in ("filled", "missing", "distinct", "alone", "long", "numbers", "days")
    }
    texts: dict[str, Any] = {
        name: {str(text): int(number) for text, number in list(record[name].items())[:MOST_TEXTS]}
        for name in ("shapes", "words")
    }
    numbers_at = [None if one is None else float(one) for one in record["numbers_at"]]
    days_at = [None if one is None else str(one) for one in record["days_at"]]
    if not len(numbers_at) == len(days_at) == len(SHARES) or not all(map(_is_month, days_at)):
        raise ValueError("numbers_at and days_at have five entries")
    settings: dict[str, Any] = {"mark": "," if record["mark"] == "," else ".", "numbers_at": numbers_at}
    fractions = bool(record["has_fractions"])
    return Column(str(record["name"]), **counts, **texts, **settings, has_fractions=fractions, days_at=days_at)


def _is_month(text: str | None) -> bool:
    return text is None or re.fullmatch("[0-9]{4}-[0-9]{2}", text) is not None


def profile_file(path: str | Path) -> Profile:
    r"""Look at a file of values: CSV, gzipped or not, or Parquet.

    Of a file of more than 32 MB it reads 32 pieces of 1 MB.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(f"{folder}/pay.csv").write_text("pay;town\n" + "$1,500;Oslo\n" * 12 + "$9,999,999;Bern\n")
    ...     profile = profile_file(f"{folder}/pay.csv")
    >>> profile.columns[0].shapes, profile.columns[1].words
    ({'$9,999': 12}, {'Oslo': 12})
    """
    name = str(path)
    if name == STANDARD_STREAM:
        raise InvalidParameterError("Standard input can be read once. Save it as a file, and name that.")
    if name.lower().endswith(PARQUET):
        return _profile_parquet(name)
    size = Path(name).stat().st_size if Path(name).is_file() else 0
    is_sample = size > PIECE * PIECES
    with open_sheet(name) as sheet:
        _refuse_values(name, sheet.header)
        tally = _Tally(sheet.header)
        if is_sample and not name.lower().endswith(".gz"):
            with Path(name).open("rb") as stream:
                for place in range(PIECES):
                    stream.seek(place * (size - PIECE) // (PIECES - 1))
                    # Whole lines: the first is the header, or cut, and the last is cut.
                    text = b"\n".join(stream.read(PIECE).split(b"\n")[1:-1]).decode("utf-8", "replace")
                    piece = CsvSheet(sheet.header, sheet.delimiter, 0, text_blocks(io.StringIO(text, newline="")))
                    try:
                        tally.add(piece)
                    except csv.Error:  # the piece begins inside quotation marks
                        continue
        else:
            is_sample = tally.add(sheet, PIECE * PIECES)
    return tally.profile(name, is_sample=is_sample)


class _Tally:
    """Texts of each column, counted."""

    def __init__(self, header: Sequence[str]) -> None:
        self._header, self._rows, self._strays = header, 0, 0
        self._texts = [Counter[str]() for _ in header[:MOST_COLUMNS]]

    def add(self, sheet: CsvSheet, most: int | None = None) -> bool:
        """Count the rows; return whether there were too many characters."""
        read = 0
        for chunk in sheet.chunks(range(len(self._texts))):
            keys = [key for place, key in enumerate(chunk.keys) if place not in chunk.strays]
            self._strays += len(chunk.strays)
            self.add_rows([(key,) if isinstance(key, str) else key for key in keys])
            read += sum(map(len, keys)) if len(self._texts) == 1 else sum(len(text) for key in keys for text in key)
            if most is not None and read > most:
                return True
        return False

    def add_rows(self, rows: Sequence[Sequence[str]]) -> None:
        """Count rows of texts."""
        self._rows += len(rows)
        for texts, column in zip(self._texts, zip(*rows, strict=True), strict=False):
            texts.update(column)

    def profile(self, source: str, *, is_sample: bool) -> Profile:
        """Return what was counted, without anybody's value."""
        if not self._rows and self._strays:
            raise DataFileError(
                f"No row of {source} has as many fields as its header, {len(self._header):,}. Write texts that hold "
                f'the delimiter in quotation marks, such as "58,000".'
            )
        if not self._rows:
            raise DataFileError(f"{source} has no rows; it should hold one row a person.")
        columns = tuple(map(profile_texts, self._header, self._texts))
        return Profile(self._rows, is_sample, len(self._header), columns)


def _profile_parquet(path: str) -> Profile:
    with parquet_explained(path), require("pyarrow.parquet").ParquetFile(path) as file:
        tally, read, names = _Tally(file.schema_arrow.names), 0, file.schema_arrow.names[:MOST_COLUMNS]
        for batch in file.iter_batches(2**16, columns=names):
            tally.add_rows(list(zip(*(map(as_text, column.to_pylist()) for column in batch.columns), strict=True)))
            read += batch.num_rows
            if read >= 2**20:
                break
        return tally.profile(path, is_sample=read < file.metadata.num_rows)


def _refuse_values(source: str, header: Sequence[str]) -> None:
    """Refuse a first line of values in place of names."""
    if all(_RUN.search(name) and not re.search("[^\\W\\d_]", name) for name in header):
        raise DataFileError(
            f"{source} needs a header line of column names; its first line holds values. Put the names on a line above."
        )


def profile_texts(name: str, texts: Mapping[str, int]) -> Column:
    """Return what is known of texts that so many rows have.

    >>> profile_texts("answer", {"yes": 30, "no": 12, "perhaps": 3}).words
    {'yes': 30, 'no': 12}
    """
    counts = Counter[str]()
    for text, number in texts.items():
        counts[_AROUND.sub("", text)] += number
    missing = counts.pop("", 0)
    shapes, votes, fractions = Counter[str](), Counter[str](), 0
    for text, number in counts.items():
        if shape := shape_of(text):
            shapes[shape] += number
            votes[_mark_of(shape)] += number
    mark = "," if votes[","] > votes["."] else "."
    amounts, days = Counter[float](), Counter[str]()
    for text, number in counts.items():
        if _DAY.match(text):
            days[text[:7]] += number
        elif (amount := _amount(text, mark)) is not None:
            amounts[amount] += number
            fractions += number * (amount % 1 != 0)
    shared = [(text, number) for text, number in counts.items() if number >= FEWEST and len(text) <= LONGEST]
    return Column(
        name,
        filled=counts.total(),
        missing=missing,
        distinct=len(counts),
        alone=sum(number == 1 for number in counts.values()),
        long=sum(number for text, number in counts.items() if len(text) > LONGEST),
        numbers=amounts.total(),
        days=days.total(),
        has_fractions=fractions >= FEWEST,
        mark=mark,
        shapes=dict(_commonest(one for one in shapes.items() if one[1] >= FEWEST)),
        words=dict(_commonest(shared)),
        numbers_at=round_all(_quantiles(amounts)),
        days_at=_quantiles(days),
    )


def shape_of(text: str) -> str:
    """Return how a short text with digits is written.

    >>> shape_of("$58,000.50"), shape_of("2026-03-01T22:15"), shape_of("1234567"), shape_of("yes")
    ('$99,999.99', '9999-99-99T99:99', '99999', '')
    """
    is_plain = len(text) <= LONGEST and len(re.sub("[^a-zA-Z]", "", text)) <= 8
    return _RUN.sub(lambda run: "9" * min(5, len(run[0])), text) if is_plain and _RUN.search(text) else ""


def _mark_of(shape: str) -> str:
    """Return which decimal mark a shape speaks for."""
    marks = re.findall("(?<=9)[.,](?=9)", shape)
    if not marks:
        return ""
    if len(set(marks)) == 2:
        return str(marks[-1])
    if len(marks) > 1:
        return "," if marks[0] == "." else "."
    return "." if re.search(",9{3}(?!9)", shape) else str(marks[0])


def _amount(text: str, mark: str) -> float | None:
    """Return the number that the digits of a text make."""
    gap = "." if mark == "," else ","
    whole = f"([0-9]{{1,3}}(?:[{gap}'\u2019 \u00a0\u202f][0-9]{{3}})+|[0-9]{{1,15}})"
    found = re.fullmatch(f"([^0-9]{{0,5}}?){whole}(?:[{mark}]([0-9]{{1,15}}))?([^0-9]{{0,5}})", text)
    if found is None or re.search("[-+].*[-+]", found[1]) or re.search("[-+]", found[4]):
        return None
    number = float(f"{re.sub('[^0-9]', '', found[2])}.{found[3] or '0'}")
    return -number if "-" in found[1] else number


def _commonest(counts: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    # The order of texts is that of JavaScript.
    return sorted(counts, key=lambda one: (-one[1], one[0].encode("utf-16-be", "surrogatepass")))[:MOST_TEXTS]


def _quantiles(counts: Counter[Any]) -> list[Any]:
    """Return the values that five shares of people lie below.

    None where fewer than ten people lie beyond.
    """
    total, found = counts.total(), list[Any]()
    for share in SHARES:
        if min(share, 1 - share) * total < FEWEST:
            found.append(None)
            continue
        below = 0
        for value in sorted(counts):
            below += counts[value]
            if below >= share * total:
                found.append(value)
                break
    return found


def round_all(numbers: Sequence[float | None]) -> list[float | None]:
    """Round five numbers, by what half of the people span.

    >>> round_all([41_234.0, 47_777.0, 58_765.0, 69_999.0, None])
    [41000.0, 47000.0, 58000.0, 69000.0, None]
    """
    first, middle, third = numbers[1:4]
    span = third - first if first is not None and third is not None else 0.0
    scale = span or abs(middle or 0.0)
    if not scale:
        return list(numbers)
    unit = float(f"1e{int(f'{scale:e}'.partition('e')[2]) - 1}")
    return [None if one is None else float(f"{math.floor(one / unit) * unit:.12g}") for one in numbers]


__all__ = ["FEWEST", "Column", "Profile", "profile_file", "profile_texts"]
