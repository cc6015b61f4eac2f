"""Formulas and data.

Which people count, their covariates, and equal rows merged into cells.

Everything that depends on formulaic and pandas stands here. A :class:`Sample` has the rows that can be used. Its
:class:`MergedRows` merge people with the same covariates and the same report, which is all that an estimate needs.
"""

from __future__ import annotations

import contextlib
import importlib
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.channels.base import FloatArray, Indices
from confide.data.files.sheets import Request
from confide.errors import InvalidParameterError, MissingExtraError
from confide.surveys.survey import Survey
from confide.values import Values
from confide.values.wording import counted, listed, name_some, suggestion

FEW = 5
"""People who share a combination of covariates, below which it counts as rare."""

MOST_COLUMNS = 1_000
"""Most columns of a regression; more come from names or numbers that were read as classes."""

LARGEST = 1e75
"""Largest size of a covariate, and the inverse of the least: products of four are numbers."""


def require(module: str) -> Any:
    """Import a package that regression needs, or say how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtraError(module, "Regression", "regression") from None


@dataclass(frozen=True)
class Formula:
    """A formula: the outcome's text, and the terms of the covariates.

    >>> Formula.read("answer ~ age + C(city)")
    Formula(outcome='answer', terms='age + C(city)')
    """

    outcome: str
    terms: str

    @classmethod
    def read(cls, text: str) -> Formula:
        """Split a formula at its tilde."""
        sides = [one.strip() for one in re.split(r"~(?=(?:[^`\"']*[`\"'][^`\"']*[`\"'])*[^`\"']*$)", str(text))]
        if len(sides) != 2 or not all(sides):
            raise InvalidParameterError(
                f"A formula has an outcome, a tilde and covariates, such as 'answer ~ age + C(city)'; got {text!r}. "
                f"Without covariates, write 'answer ~ 1'."
            )
        return cls(sides[0].strip("`"), sides[1])

    @property
    def variables(self) -> list[str]:
        """Names of the columns that the covariates need."""
        formulaic = require("formulaic")
        try:
            found = formulaic.Formula(self.terms)
            if not isinstance(found, formulaic.SimpleFormula):
                raise InvalidParameterError(f"Write one list of covariates; got {self.terms!r}.")
            return sorted(map(str, found.required_variables))
        except (formulaic.errors.FormulaicError, SyntaxError) as error:
            raise InvalidParameterError(
                f"The formula {self.terms!r} cannot be read: {_first_line(error)} Write terms such as age, C(city), "
                f"age:female or np.log(income), with + between them."
            ) from None

    def without(self, names: Sequence[str]) -> Formula:
        """Return the formula of the terms that need none of these columns."""
        terms = require("formulaic").Formula(self.terms)
        kept = [
            str(one)
            for one in terms
            if not {str(name) for name in require("formulaic").Formula([one]).required_variables} & set(names)
        ]
        return Formula(self.outcome, " + ".join(["0", *kept]))

    def __str__(self) -> str:
        return f"{self.outcome} ~ {self.terms}"


@dataclass(frozen=True, eq=False)
class Design:
    """Columns of a regression, made from covariates.

    Attributes
    ----------
    spec
        The formula with the levels and transforms of the data, by formulaic.
    names
        The columns.
    kept
        Their places among the formula's; ordered logit has cuts in place of an intercept.
    """

    spec: Any
    names: tuple[str, ...]
    kept: tuple[int, ...]

    @classmethod
    def of(cls, formula: Formula, frame: Any, *, has_intercept: bool = True) -> tuple[Design, FloatArray]:
        """Return the design of a table, and its matrix."""
        with _explained(f"The formula '{formula}' does not suit these data"):
            terms = require("formulaic").Formula(formula.terms)
            made = terms.get_model_matrix(frame, context={"np": np}, na_action="raise")
        spec, matrix = made.model_spec, _as_matrix(made)
        names = tuple(map(str, spec.column_names))
        kept = tuple(at for at, name in enumerate(names) if has_intercept or name != "Intercept")
        if not kept and has_intercept:
            raise InvalidParameterError(f"The formula '{formula}' has no columns. Write 1 for an intercept.")
        return cls(spec, tuple(names[at] for at in kept), kept), matrix[:, kept]

    def matrix(self, frame: Any) -> FloatArray:
        """Return the same columns for other covariates."""
        names = sorted(map(str, self.spec.required_variables))
        absent = [one for one in names if one not in frame.columns]
        if absent:
            raise InvalidParameterError(f"The covariates have no {absent[0]!r}. Give {listed(names)}.")
        with _explained("These covariates do not suit the formula"):
            return _as_matrix(self.spec.get_model_matrix(frame, context={"np": np}))[:, self.kept]


@contextlib.contextmanager
def _explained(what: str) -> Iterator[None]:
    """Turn what formulaic raises, or warns of, into a sentence."""
    errors = require("formulaic").errors
    # Formulaic takes a class that it does not know for the first one, which is wrong, and only warns.
    unknown = errors.DataMismatchWarning
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("error", unknown)
            yield
    except unknown as error:
        classes = re.search(r"{(.*)}", str(error))
        raise InvalidParameterError(
            f"{what}: {classes[1] if classes else 'a class'} is none of the classes of the formula. Leave such rows "
            f"out, or name the class among the levels: C(city, levels=[...])."
        ) from None
    except (errors.FormulaicError, ValueError, TypeError, NameError, KeyError, AttributeError) as error:
        raise InvalidParameterError(f"{what}: {_first_line(error)} Change the term, or leave such rows out.") from None


def _as_matrix(made: Any) -> FloatArray:
    matrix = np.asarray(made, dtype=np.float64)
    if not np.isfinite(matrix).all():
        column = str(made.model_spec.column_names[int(np.argmax(~np.isfinite(matrix).all(axis=0)))])
        raise InvalidParameterError(
            f"{column} is not a finite number for every person, as the logarithm of 0 is not. Leave these rows out, or "
            f"change the term."
        )
    peaks = np.abs(matrix).max(axis=0, initial=0.0)
    odd = np.flatnonzero((peaks > LARGEST) | ((peaks > 0) & (peaks < 1 / LARGEST)))
    if odd.size:
        raise InvalidParameterError(
            f"{made.model_spec.column_names[odd[0]]} has values up to {peaks[odd[0]]:g}, whose products are no "
            f"numbers. Multiply it by a constant, so that it lies between -1000 and 1000."
        )
    return matrix


def _first_line(error: object) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".") + "."


@dataclass(frozen=True, eq=False)
class Sample:
    """The people who can be used.

    One row each, or one for several who are alike.

    Attributes
    ----------
    frame
        Their covariates, a table of pandas.
    reports
        Their reports.
    counts
        How many people a row stands for.
    weights
        The weight of a person of each row; None without weights.
    clusters
        The cluster of each row; None without clusters.
    missing, weightless
        Rows left out: something is missing, or the weight is 0.
    """

    frame: Any
    reports: Values
    counts: FloatArray
    weights: FloatArray | None = None
    clusters: Indices | None = None
    missing: int = 0
    weightless: int = 0

    @property
    def people(self) -> float:
        """How many people there are."""
        return float(self.counts.sum())


def take_sample(
    data: Any,
    survey: Survey,
    variables: Sequence[str],
    *,
    weights: str | ArrayLike | None = None,
    clusters: str | ArrayLike | None = None,
    columns: Sequence[str] = (),
) -> Sample:
    """Return the rows of a table that a regression can use."""
    pandas = require("pandas")
    table = as_table(data)
    header = list(map(str, table.columns))
    request = Request(survey.mechanism.report_alphabet, tuple(columns))
    if not columns and request.columns == () and survey.name in header and len(request.names[0]) == 1:
        request = Request(request.alphabet, (survey.name,) if "report" not in header else ())
    places = request.choose("the data", header, has_lines=False)
    absent = [one for one in variables if one not in header]
    if absent:
        raise InvalidParameterError(
            f"The data have no column {absent[0]!r}{suggestion(absent[0], header)}. They have {name_some(header)}."
        )
    parts = [table.iloc[:, place] for place in places.parts]
    frame = table[list(variables)].copy()
    counts = table.iloc[:, places.counts[0]] if places.counts else None
    own = _column(table, weights, "weights")
    groups = _column(table, clusters, "clusters")
    needed = [*parts, *(frame[one] for one in frame), *(one for one in (counts, own, groups) if one is not None)]
    is_whole = ~np.logical_or.reduce([pandas.isna(one).to_numpy() for one in needed])
    if own is not None:
        own = _check_weights(own[is_whole], is_whole)
    many = np.ones(int(is_whole.sum())) if counts is None else _check_counts(counts[is_whole].to_numpy())
    is_used = many > 0 if own is None else (many > 0) & (own > 0)
    rows = np.flatnonzero(is_whole)[is_used]
    if not rows.size:
        raise InvalidParameterError("No row of the data has a report, all covariates and a positive weight.")
    frame = frame.iloc[rows].reset_index(drop=True)
    for name in frame:
        if isinstance(frame[name].dtype, pandas.CategoricalDtype):  # levels that nobody has are no columns
            frame[name] = frame[name].cat.remove_unused_categories()
    return Sample(
        frame,
        as_reports(survey, [one.iloc[rows].to_numpy() for one in parts]),
        many[is_used],
        None if own is None else own[is_used],
        None if groups is None else np.asarray(pandas.factorize(groups.iloc[rows])[0], dtype=np.int64),
        missing=int((~is_whole).sum()),
        weightless=int((~is_used).sum()),
    )


def as_table(data: Any) -> Any:
    """Return data as a table of pandas.

    A data frame, or columns by name.
    """
    pandas = require("pandas")
    if isinstance(data, pandas.DataFrame):
        return data
    if hasattr(data, "to_pandas"):
        return data.to_pandas()
    if isinstance(data, Mapping):
        try:
            return pandas.DataFrame({str(name): column for name, column in data.items()})
        except ValueError as error:
            raise InvalidParameterError(f"The columns of the data do not fit together: {_first_line(error)}") from None
    raise InvalidParameterError(
        f"data must be a data frame of pandas or polars, or a dictionary of columns; got {type(data).__name__}."
    )


def _column(table: Any, given: str | ArrayLike | None, name: str) -> Any:
    """Return weights or clusters as a column.

    Named, or one entry for each row.
    """
    pandas = require("pandas")
    if given is None:
        return None
    if isinstance(given, str):
        if given not in table.columns:
            header = list(map(str, table.columns))
            raise InvalidParameterError(
                f"{name} names no column: {given!r}{suggestion(given, header)}. The data have {name_some(header)}."
            )
        return table[given]
    column = pandas.Series(np.asarray(given), index=table.index) if np.shape(given) == (len(table),) else None
    if column is None:
        raise InvalidParameterError(f"Give {name} for each of {len(table):,} rows; got shape {np.shape(given)}.")
    return column


def _check_weights(column: Any, is_whole: NDArray[np.bool_]) -> FloatArray:
    try:
        found = np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameterError("weights must be numbers, one for each row.") from None
    bad = np.flatnonzero(~(np.isfinite(found) & (found >= 0)))
    if bad.size:
        row = int(np.flatnonzero(is_whole)[bad[0]])
        raise InvalidParameterError(
            f"weights must be at least 0 and finite; got {found[bad[0]]:g} in row {row} (counted from 0)"
            f"{f' and {bad.size - 1:,} more' if bad.size > 1 else ''}. A person whom nobody stands for has weight 0."
        )
    # Only ratios of weights matter: the largest is 1, so that no sum overflows.
    return found / max(float(found.max(initial=0.0)), 1e-300)


def _check_counts(column: Any) -> FloatArray:
    found = np.asarray(column, dtype=np.float64)
    if not (np.isfinite(found) & (found >= 0) & (found % 1 == 0)).all():
        raise InvalidParameterError("The column count says how many people a row stands for: whole numbers, 0 or more.")
    return found


def as_reports(survey: Survey, parts: list[Any]) -> Values:
    """Return reports as the survey's own values."""
    alphabet, columns = survey.mechanism.report_alphabet, []
    for part in parts:
        column = np.asarray(part.tolist())
        # A column with gaps, or of a file, has its whole numbers as floats.
        if column.dtype.kind == "f" and alphabet.geometry.is_whole and (column % 1 == 0).all():
            column = column.astype(np.int64)
        columns.append(column)
    if len(columns) == 1:
        return alphabet.as_array(columns[0])
    if len({one.dtype.kind for one in columns}) == 1:
        return alphabet.as_array(np.stack(columns, axis=1))
    return alphabet.as_array(list(zip(*(one.tolist() for one in columns), strict=True)))


@dataclass(frozen=True, eq=False)
class MergedRows:
    """People merged where covariates and report are the same.

    Attributes
    ----------
    design
        The columns of the regression, one row for each cell.
    report
        The number of its report.
    people, weights, squares
        How many people it has, the sum of their weights and of the squares of these. Weights add up to the people.
    of_row
        The cell of each row of the sample.
    group
        The combination of covariates of each cell.
    first
        The first row of the sample with each combination.
    """

    design: FloatArray
    report: Indices
    people: FloatArray
    weights: FloatArray
    squares: FloatArray
    of_row: Indices
    group: Indices
    first: Indices

    @classmethod
    def of(cls, sample: Sample, matrix: FloatArray, reports: Indices) -> MergedRows:
        """Merge the rows of a sample."""
        group, first = distinct_rows(matrix)
        keys, rows, cell = np.unique(group * (int(reports.max()) + 1) + reports, return_index=True, return_inverse=True)
        cell = cell.reshape(-1)
        each = np.ones(sample.counts.size) if sample.weights is None else sample.weights
        # Weights add up to the people, so that the likelihood counts as many.
        each = each * sample.people / float(each @ sample.counts)
        people, weights, squares = (_sums(cell, sample.counts * factor, keys.size) for factor in (1.0, each, each**2))
        return cls(matrix[rows], reports[rows], people, weights, squares, cell, group[rows], first)

    @property
    def design_effect(self) -> float:
        """Kish's factor: what unequal weights do to the variance of a mean."""
        return float(self.squares.sum() / self.people.sum())

    @property
    def masses(self) -> FloatArray:
        """The weight of each combination of covariates."""
        return _sums(self.group, self.weights, self.first.size)

    @property
    def rare(self) -> float:
        """People whose combination of covariates fewer than five share."""
        sizes = _sums(self.group, self.people, self.first.size)
        return float(sizes[sizes < FEW].sum())


def _sums(numbers: Indices, amounts: FloatArray, size: int) -> FloatArray:
    return np.bincount(numbers, amounts, size).astype(np.float64)


def distinct_rows(matrix: FloatArray) -> tuple[Indices, Indices]:
    """Return each row's distinct row, and the first place of each.

    >>> first, second, third = distinct_rows(np.array([[1.0, 2.0], [1.0, 3.0], [1.0, 2.0]]))[0].tolist()
    >>> first == third != second
    True
    """
    # One number a row is quicker to sort than the row: equal rows have equal numbers, others hardly ever.
    # Column by column, because a matrix product may round equal rows differently.
    factors = [float(one) for one in np.random.default_rng(0).standard_normal((matrix.shape[1],))]
    keys = np.zeros(matrix.shape[0])
    for place, factor in enumerate(factors):
        keys += matrix[:, place] * factor
    _, first, numbers = np.unique(keys, return_index=True, return_inverse=True)
    numbers = numbers.reshape(-1)
    if not np.array_equal(matrix[first][numbers], matrix):
        _, first, numbers = np.unique(matrix, axis=0, return_index=True, return_inverse=True)
        numbers = numbers.reshape(-1)
    return numbers.astype(np.int64), first.astype(np.int64)


def require_full_rank(matrix: FloatArray, names: Sequence[str]) -> None:
    """Reject columns that others add up to.

    >>> require_full_rank(np.array([[1.0, 2.0, 3.0]] * 3 + [[1.0, 0.0, 1.0]]), ("a", "b", "c"))
    Traceback (most recent call last):
        ...
    confide.errors.InvalidParameterError: Column c of the regression is a sum of multiples of a and b: their \
coefficients are not identified. Leave one of them out.
    """
    if len(names) > MOST_COLUMNS:
        raise InvalidParameterError(
            f"The formula has {len(names):,} columns, such as {names[-1]}; at most {MOST_COLUMNS:,} are possible. Does "
            f"a covariate hold names, or numbers as texts? Merge its classes."
        )
    scales = np.sqrt((matrix**2).sum(axis=0))
    flat = np.flatnonzero(scales == 0)
    if flat.size:
        raise InvalidParameterError(
            f"Column {names[flat[0]]} of the regression is 0 for everybody: its coefficient is unknown. Leave it out."
        )
    # A column that those before it add up to has nothing left on the diagonal of R.
    triangle = np.asarray(np.linalg.qr(matrix / scales, mode="r"), dtype=np.float64)
    sizes = np.zeros(len(names))
    sizes[: len(triangle)] = np.abs(np.diag(triangle))
    bad = np.flatnonzero(sizes < 1e-9)
    if not bad.size:
        return
    place = int(bad[0])
    around = np.linalg.lstsq(triangle[:, :place], triangle[:, place], rcond=None)[0] if place else np.zeros(0)
    others = [names[at] for at in np.flatnonzero(np.abs(around) > 1e-6).tolist()]
    if len(names) > matrix.shape[0] and not others:
        others = list(names[:place])
    raise InvalidParameterError(
        f"Column {names[place]} of the regression is a sum of multiples of {listed(others[:4])}: their coefficients "
        f"are not identified. Leave one of them out."
    )


def describe_rows(sample: Sample, unread: int = 0) -> str:
    """Describe the rows that were left out; empty if none were."""
    parts = [f"{counted(sample.missing + unread, 'row')} with gaps"] * bool(sample.missing + unread)
    parts += [f"{counted(sample.weightless, 'row')} of weight 0"] * bool(sample.weightless)
    return listed(parts) if parts else ""
