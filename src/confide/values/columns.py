"""Columns of data as people hand them over: lists, dictionaries, and the frames of pandas, polars and pyarrow."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.errors import InvalidParameterError, ValueOutsideAlphabetError


def find_columns(wanted: Sequence[str], header: Sequence[str]) -> list[int] | None:
    """Return where columns stand in a header; capitals do not matter where only one column can be meant.

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
    """Return the columns of a table by their names; None for what is no table.

    >>> named_columns([{"age": 30, "sex": "f"}, {"sex": "m", "age": 40}])
    {'age': [30, 40], 'sex': ['f', 'm']}
    """
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
    """Return the columns that hold the parts of a value, by their names; a value of one part may have any name."""
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
    """Return a column with times by its own clock, which polars and pyarrow would hand on in UTC."""
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
    """Return a column or a sequence as it is, and of a table the columns that hold a value."""
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
    """Whether this stands for no value: None, NaN, or NA or NaT of pandas."""
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
        shown = array[missing].tolist()[0]
        raise ValueOutsideAlphabetError(
            f"{rows.size:,} of {len(array):,} values for {owner!r} {'is' if rows.size == 1 else 'are'} missing; first: "
            f"{shown!r} at position {rows[0]}. Leave out people without a value first, with dropna() in pandas or "
            f"drop_nulls() in polars.",
            tuple(rows.tolist()),
        )
