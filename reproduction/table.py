"""Tidy tables: one observation a row, the same bytes always."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.data.files import write_text
from confide.errors import DataFileError, InvalidParameterError, MissingExtraError

KINDS: dict[str, Callable[[str], Any]] = {"text": str, "whole": int, "number": float}
Cell = str | int | float | None


@dataclass(frozen=True)
class Table:
    """Named columns, each of one kind, and rows; None is empty.

    >>> table = Table({"method": "text", "emd": "number"}, (("IBU", 0.5), ("IBU", 0.7), ("MLE", 1.5)))
    >>> table.where(method="IBU").median("emd"), table.distinct("method"), table.where(method="IBU").spread("emd")
    (0.6, ['IBU', 'MLE'], '0.6 (0.5 to 0.7)')
    """

    kinds: Mapping[str, str]
    rows: tuple[tuple[Cell, ...], ...]

    def __post_init__(self) -> None:
        if any(kind not in KINDS for kind in self.kinds.values()):
            raise InvalidParameterError(f"Columns are text, whole or number; got {dict(self.kinds)!r}.")
        if any(len(row) != len(self.kinds) for row in self.rows):
            raise InvalidParameterError(f"Every row needs {len(self.kinds)} cells, one for each column.")

    @classmethod
    def of(cls, kinds: Mapping[str, str], records: Iterable[Mapping[str, Any]]) -> Table:
        """Return a table of records that have at least these columns."""
        return cls(kinds, tuple(tuple(record[name] for name in kinds) for record in records))

    def __len__(self) -> int:
        return len(self.rows)

    def column(self, name: str) -> list[Any]:
        """Return all cells of a column."""
        place = list(self.kinds).index(name)
        return [row[place] for row in self.rows]

    def numbers(self, name: str) -> NDArray[np.float64]:
        """Return the cells of a column that hold a number."""
        return np.array([cell for cell in self.column(name) if cell is not None], dtype=np.float64)

    def distinct(self, name: str) -> list[Any]:
        """Return the distinct cells of a column, in order of appearance."""
        return list(dict.fromkeys(self.column(name)))

    def where(self, **wanted: Any) -> Table:
        """Return the rows with these cells.

        A list or tuple allows any of its members.
        """
        names = list(self.kinds)
        places = [(names.index(name), _allowed(value)) for name, value in wanted.items()]
        rows = tuple(row for row in self.rows if all(row[place] in allowed for place, allowed in places))
        return Table(self.kinds, rows)

    def median(self, name: str) -> float:
        """Return the median of a column over rows that have it."""
        numbers = self.numbers(name)
        if not numbers.size:
            raise InvalidParameterError(f"There is no {name} to take a median of.")
        return float(np.median(numbers))

    def spread(self, name: str) -> str:
        """Return median and range of a column, as a text."""
        numbers = self.numbers(name)
        if not numbers.size:
            return "none"
        if numbers.size == 1:
            return f"{numbers[0]:.4g}"
        return f"{np.median(numbers):.4g} ({numbers.min():.4g} to {numbers.max():.4g})"

    def to_csv(self) -> str:
        """Return the table as CSV, numbers to their last digit."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.kinds)
        writer.writerows(["" if cell is None else cell for cell in row] for row in self.rows)
        return text.getvalue()

    def write(self, path: Path) -> None:
        """Write it as CSV to this path, and as Parquet beside it."""
        write_text(path, self.to_csv())
        _write_parquet(self, path.with_suffix(".parquet"))

    @classmethod
    def read(cls, path: Path, kinds: Mapping[str, str]) -> Table:
        """Read what :meth:`write` wrote."""
        try:
            with path.open(encoding="utf-8", newline="") as stream:
                header, *lines = csv.reader(stream)
        except (OSError, ValueError) as error:
            raise DataFileError(f"{str(path)!r} cannot be read as a table: {error}.") from None
        if header != list(kinds):
            raise DataFileError(f"{str(path)!r} has the columns {', '.join(header)}; expected {', '.join(kinds)}.")
        parse = [KINDS[kind] for kind in kinds.values()]
        return cls(kinds, tuple(tuple(_parse(*pair) for pair in zip(parse, line, strict=True)) for line in lines))


Tables = Mapping[str, Table]
"""The tables of an experiment, by name."""

RESULTS, SHARES, TIMES = "results", "shares", "times"


def _allowed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else (value,)


def _parse(parse: Callable[[str], Any], cell: str) -> Cell:
    if parse is str:
        return cell
    parsed: Cell = parse(cell) if cell else None
    return parsed


def load_pyarrow() -> Any:
    """Import pyarrow, or name the command that installs it."""
    try:
        import_module("pyarrow.parquet")  # half a second, so only where it is needed
        return import_module("pyarrow")
    except ImportError:
        raise MissingExtraError("pyarrow", "Writing Parquet", "counting") from None


def _write_parquet(table: Table, path: Path) -> None:
    pyarrow = load_pyarrow()
    types = {"text": pyarrow.string(), "whole": pyarrow.int64(), "number": pyarrow.float64()}
    columns = {
        name: pyarrow.array(table.column(name), type=types[kind], from_pandas=False)
        for name, kind in table.kinds.items()
    }
    beside = path.with_name(f".{path.name}.partial")
    pyarrow.parquet.write_table(pyarrow.table(columns), beside)
    beside.replace(path)
