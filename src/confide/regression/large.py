"""Files of more rows than fit into memory.

DuckDB merges people who are alike, or adds up the moments.

People with the same covariates and the same report are one row with a count, which any model takes. Where covariates
are numbers with many digits that is no help. Least squares needs sums alone, and DuckDB adds them up in two passes: one
for the coefficients, one for their errors.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import numpy as np

from confide.channels.base import FloatArray
from confide.data.counting.duck import path_literal
from confide.data.files.sheets import PARQUET, Request, parquet_explained, require
from confide.errors import InvalidParameterError
from confide.regression.designs import Design, Formula, require_full_rank
from confide.surveys.survey import Survey

LARGE_ROWS, LARGE_BYTES = 5_000_000, 500_000_000
"""Rows of a Parquet file, or bytes of a CSV file, from which on DuckDB reads it."""

MOST_CELLS = 2_000_000
"""Distinct rows that are read as people with counts."""

MOST_LEVELS = 1000
"""Classes of a covariate."""


def is_large(path: str | Path) -> bool:
    """Whether a file is too long to be read row by row."""
    place = Path(path)
    if not place.is_file():
        return False
    if str(path).lower().endswith(PARQUET):
        with parquet_explained(str(path)):
            rows: int = require("pyarrow.parquet").read_metadata(place).num_rows
        return rows > LARGE_ROWS
    return place.stat().st_size > LARGE_BYTES


@dataclass(frozen=True, eq=False)
class LargeFile:
    """A file behind DuckDB, as a view of rows without gaps.

    Attributes
    ----------
    connection
        The connection.
    parts
        The columns of the report.
    keep
        The covariates, and the column of weights if there is one.
    weights
        The column of weights; empty without one.
    rows, used
        How many rows there are, and how many have no gaps and a weight above 0.
    """

    connection: Any
    parts: tuple[str, ...]
    keep: tuple[str, ...]
    weights: str
    rows: int
    used: int

    @property
    def columns(self) -> str:
        """All columns, for a query."""
        return ", ".join(map(quoted, (*self.keep, *self.parts)))

    def table(self) -> dict[str, Any] | None:
        """Return all people, merged where they are alike, with counts.

        None if there are too many of these.
        """
        if self._ask(f"SELECT approx_count_distinct(hash({self.columns})) FROM people")[0] > MOST_CELLS:
            return None
        merged = self.connection.execute(f"SELECT {self.columns}, COUNT(*) AS count FROM people GROUP BY ALL").df()
        return {str(name): merged[name] for name in merged}

    def distinct_reports(self) -> list[Any]:
        """Return the distinct reports of a survey with one column of reports."""
        found = self.connection.execute(f"SELECT DISTINCT {quoted(self.parts[0])} FROM people ORDER BY 1").fetchall()
        return [one for (one,) in found]

    def design(self, formula: Formula) -> tuple[Design, list[str]]:
        """Return the columns of a regression, and what each is in SQL.

        Raises
        ------
        InvalidParameterError
            If a term is neither a number, nor a class, nor a product of these.
        """
        pandas = require("pandas")
        rng, levels = np.random.default_rng(0), dict[str, list[Any]]()
        for name in formula.variables:
            kind = self._ask(f"SELECT typeof({quoted(name)}) FROM people LIMIT 1")[0]
            if kind in ("VARCHAR", "BOOLEAN") or re.search(rf"C\(\s*{re.escape(name)}\b", formula.terms):
                query = f"SELECT DISTINCT {quoted(name)} FROM people ORDER BY 1 LIMIT {MOST_LEVELS + 1}"
                levels[name] = [one for (one,) in self.connection.execute(query).fetchall()]
                if len(levels[name]) > MOST_LEVELS:
                    raise InvalidParameterError(f"{name} has more than {MOST_LEVELS:,} classes. Merge some of them.")
        # formulaic names the columns on a small made-up table. DuckDB computes the same columns on it, to be compared.
        size = 40 * max([1, *map(len, levels.values())])
        small = {
            name: rng.choice(pandas.Series(levels[name]).to_numpy(), size) if name in levels else 0.5 + rng.random(size)
            for name in formula.variables
        }
        for name, known in levels.items():  # every class is there at least once
            small[name][: len(known)] = known
        frame = pandas.DataFrame(small | {"confide_row": range(size)})
        design, matrix = Design.of(formula, frame)
        texts = [_in_sql(name, levels) for name in design.names]
        self.connection.register("small", frame)
        made = self.connection.execute(f"SELECT {', '.join(texts)} FROM small").fetchnumpy()
        found = np.stack([np.ma.getdata(column).astype(np.float64) for column in made.values()], axis=1)
        self.connection.unregister("small")
        if not np.allclose(found, matrix, rtol=1e-9, atol=1e-12):
            raise _unknown(formula.terms)
        return design, texts

    def sums(
        self, terms: Sequence[str], columns: Sequence[str], numbers: dict[Any, Sequence[float]], mean: str = "0.0"
    ) -> FloatArray:
        """Return the sums of SQL expressions over people.

        They may name the columns of a regression as c0, c1 ..., a person's weight as w, numbers that belong to their
        report as r0, r1 ..., and `mean`, an expression of these, as m.
        """
        pandas = require("pandas")
        width = len(next(iter(numbers.values())))
        table = {"confide_report": list(numbers)} | {
            f"r{at}": [float(row[at]) for row in numbers.values()] for at in range(width)
        }
        self.connection.register("numbers", pandas.DataFrame(table))
        weight = quoted(self.weights) if self.weights else "1.0"
        named = [f"CAST({weight} AS DOUBLE) AS w", *(f"{one} AS c{at}" for at, one in enumerate(columns))]
        named += [f"r{at}" for at in range(width)]
        join = f"people JOIN numbers ON {quoted(self.parts[0])} = confide_report"
        inner = f"SELECT *, {mean} AS m FROM (SELECT {', '.join(named)} FROM {join})"
        found = self._ask(f"SELECT {', '.join(f'SUM({one})' for one in terms)} FROM ({inner})")
        self.connection.unregister("numbers")
        return np.array([np.nan if one is None else float(one) for one in found])

    def _ask(self, query: str) -> tuple[Any, ...]:
        """Return the one row of an answer."""
        (found,) = self.connection.execute(query).fetchall()
        return tuple(found)


def quoted(name: str) -> str:
    """Return a column's name for a query."""
    return '"' + name.replace('"', '""') + '"'


def _in_sql(name: str, levels: dict[str, list[Any]]) -> str:
    """Return a column of a regression in SQL.

    >>> print(_in_sql("age:C(city)[T.Oslo]", {"city": ["Bern", "Oslo"]}))
    CAST("age" AS DOUBLE) * CAST("city" = 'Oslo' AS DOUBLE)
    """
    if name == "Intercept":
        return "CAST(1 AS DOUBLE)"
    parts = []
    for part in re.split(r":(?![^\[(]*[\])])", name):
        found = re.fullmatch(r"(?:C\(\s*)?`?([^`\[\](),]+?)`?\s*\)?\[(?:T\.)?(.*)\]", part)
        if found is None:
            if not re.fullmatch(r"`?[^`\[\](),]+`?", part):
                raise _unknown(part)
            parts.append(f"CAST({quoted(part.strip('`'))} AS DOUBLE)")
            continue
        column, label = found.groups()
        level = next((one for one in levels.get(column, ()) if str(one) == label), None)
        if level is None:
            raise _unknown(part)
        text = "'" + level.replace("'", "''") + "'" if isinstance(level, str) else str(level)
        parts.append(f"CAST({quoted(column)} = {text} AS DOUBLE)")
    return " * ".join(parts)


def _unknown(term: str) -> InvalidParameterError:
    return InvalidParameterError(
        f"DuckDB adds up numbers, classes and products of these over so many rows; {term!r} is none. Write it as a "
        f"column of the file, or read a sample of the rows."
    )


@contextmanager
def open_large(
    path: str | Path, survey: Survey, keep: Sequence[str], columns: Sequence[str] = (), weights: str = ""
) -> Iterator[LargeFile]:
    """Open a file of very many rows."""
    duck = require("duckdb")
    with duck.connect() as connection:
        literal = path_literal(str(path))
        reader = f"read_parquet({literal})" if str(path).lower().endswith(PARQUET) else f"read_csv({literal})"
        header = [one[0] for one in connection.execute(f"SELECT * FROM {reader} LIMIT 0").description]
        request = Request(survey.mechanism.report_alphabet, tuple(columns))
        if not columns and "report" not in header and survey.name in header:
            request = Request(request.alphabet, (survey.name,))
        parts = request.choose(str(path), header, has_lines=False).names
        missing = next((one for one in keep if one not in header), None)
        if missing is not None:
            raise InvalidParameterError(f"{path} has no column {missing!r}.")
        needed = dict.fromkeys((*keep, *parts))
        clauses = [f"{quoted(one)} IS NOT NULL" for one in needed]
        # Weights below 0 pass here, so that they are refused below rather than left out in silence.
        clauses += [f"{quoted(weights)} <> 0"] if weights else []
        connection.execute(
            f"CREATE VIEW people AS SELECT {', '.join(map(quoted, needed))} FROM {reader} WHERE {' AND '.join(clauses)}"
        )
        ((rows,),) = connection.execute(f"SELECT COUNT(*) FROM {reader}").fetchall()
        ((used,),) = connection.execute("SELECT COUNT(*) FROM people").fetchall()
        if weights:
            query = f"SELECT MIN({quoted(weights)}), MAX({quoted(weights)}) FROM people"
            ((least, most),) = connection.execute(query).fetchall()
            if least is not None and not 0 <= least <= most < math.inf:
                raise InvalidParameterError(
                    f"weights must be at least 0 and finite; got {least if least < 0 else most:g} in {path}."
                )
        if not used:
            raise InvalidParameterError(f"No row of {path} has a report, all covariates and a positive weight.")
        yield LargeFile(connection, parts, tuple(keep), weights, rows, used)


@dataclass(frozen=True, eq=False)
class SummedFit:
    """Least squares from sums alone.

    Attributes
    ----------
    fitted, covariance
        The coefficients and their robust covariance.
    exact
        The part of each standard error that would be left with true values.
    naive
        The coefficients with reports taken as true; None where they are none.
    """

    fitted: FloatArray
    covariance: FloatArray
    exact: FloatArray
    naive: FloatArray | None


def add_up(file: LargeFile, design: Design, columns: Sequence[str], numbers: dict[Any, Sequence[float]]) -> SummedFit:
    """Fit by least squares in two passes over a file.

    `numbers` has, for each report, the unbiased value, that of the square, and the report itself as a value.
    """
    size, pairs = len(columns), list(combinations_with_replacement(range(len(columns)), 2))
    products = [f"w * c{a} * c{b}" for a, b in pairs]
    beside = [f"w * c{at} * {value}" for value in ("r0", "r2") for at in range(size)]
    found = file.sums([*products, *beside], columns, numbers)
    gram = _symmetric(found[: len(pairs)], pairs, size)
    require_full_rank(gram / np.sqrt(np.outer(np.diag(gram), np.diag(gram)) + 1e-300), design.names)
    bread = np.linalg.inv(gram)
    fitted, naive = (bread @ part for part in np.split(found[len(pairs) :], 2))
    # The second pass has the coefficients in its text, to 17 digits, and squares the residuals as it reads.
    mean = " + ".join(f"({number!r}) * c{at}" for at, number in enumerate(fitted.tolist()))
    squares = "(r0 - m) * (r0 - m)", "(r1 - 2 * r0 * m + m * m)"
    sums = file.sums([f"w * w * {one} * c{a} * c{b}" for one in squares for a, b in pairs], columns, numbers, mean)
    noisy, exact = (bread @ _symmetric(one, pairs, size) @ bread for one in np.split(sums, 2))
    factor = file.used / max(file.used - size, 1)
    part = np.sqrt(np.clip(np.diag(exact) / np.maximum(np.diag(noisy), 1e-300), 0.0, 1.0))
    return SummedFit(fitted, factor * noisy, part, None if np.isnan(naive).any() else naive)


def _symmetric(values: FloatArray, pairs: Sequence[tuple[int, int]], size: int) -> FloatArray:
    found = np.zeros((size, size))
    for (a, b), value in zip(pairs, values.tolist(), strict=True):
        found[a, b] = found[b, a] = value
    return found
