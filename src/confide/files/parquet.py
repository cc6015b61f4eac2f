"""Parquet files of values, batch by batch, as the texts that all other files hold."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np

from confide.alphabets import Indices
from confide.errors import DataFileError, MissingExtraError
from confide.files.reading import Scan
from confide.files.sheets import Layout, explained

BATCH_ROWS = 2**20

WRONG_TYPE = "a value is a number or a text. Name another column, with --column on the command line."


def parquet_scans(path: str, layout: Layout) -> Iterator[tuple[tuple[str, ...], Scan]]:
    """Read a Parquet file, and return batches of rows as a CSV file would have them, with the names of the columns."""
    parquet, arrow = require_arrow("pyarrow.parquet"), require_arrow("pyarrow")
    try:
        with explained(path), parquet.ParquetFile(path) as file:
            header = file.schema_arrow.names
            places = layout.choose(header, has_lines=False)
            count = layout.find_count(header, places)
            names = tuple(header[place] for place in places)
            read = 0
            for batch in file.iter_batches(BATCH_ROWS, columns=[*names, *([] if count is None else [header[count]])]):
                columns = [_as_entries(batch.column(one), one, path) for one in batch.schema.names]
                yield names, _combine(columns, read, is_counted=count is not None)
                read += batch.num_rows
    except arrow.ArrowException as error:
        reason = str(error).splitlines()[0].removesuffix(".")
        raise DataFileError(f"{path} is not a whole Parquet file: {reason}. Was it cut off? Copy it again.") from None


def _as_entries(column: Any, name: str, path: str) -> tuple[list[str], Indices]:
    """Return the distinct texts of a column, and which of them each row holds."""
    try:
        encoded = column.dictionary_encode(null_encoding="encode")
    except (TypeError, NotImplementedError):
        raise DataFileError(f"Column {name!r} of {path} holds {column.type}; {WRONG_TYPE}") from None
    values = encoded.dictionary.to_pylist()
    strange = next((value for value in values if not isinstance(value, str | int | float | Decimal | None)), None)
    if strange is not None:
        raise DataFileError(f"Column {name!r} of {path} holds {column.type}; {WRONG_TYPE}")
    return [_as_text(value) for value in values], encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)


def _as_text(value: Any) -> str:
    """Return a value as a CSV file would hold it; whole numbers as such, also where they are stored as decimals."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
        return str(int(value))
    return str(value)


def _combine(columns: list[tuple[list[str], Indices]], read: int, *, is_counted: bool) -> Scan:
    """Return the distinct rows of several columns, and which of them each row is."""
    codes = np.zeros(columns[0][1].size, dtype=np.int64)
    for texts, numbers in columns:
        codes = codes * len(texts) + numbers
    distinct, codes = np.unique(codes, return_inverse=True)
    entries = [_entry(int(code), columns) for code in distinct]
    return Scan(entries, codes.reshape(-1), np.arange(read + 1, read + 1 + codes.size), {}, is_counted)


def _entry(code: int, columns: list[tuple[list[str], Indices]]) -> tuple[str, ...]:
    parts: list[str] = []
    for texts, _ in reversed(columns):
        code, place = divmod(code, len(texts))
        parts.append(texts[place])
    return tuple(reversed(parts))


def require_arrow(module: str) -> Any:
    """Return pyarrow or one of its modules, or say how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtraError("pyarrow", "Reading Parquet files", "counting") from None
