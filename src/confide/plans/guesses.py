"""Guesses of the true distribution, for which a plan is made."""

from __future__ import annotations

import contextlib
import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from confide.channels.base import FloatArray
from confide.check.shapes import bring
from confide.data import datasets
from confide.data.datasets import Dataset
from confide.errors import DataFileError, InvalidDistributionError, InvalidInputError, InvalidParameterError
from confide.estimates.estimate import Estimate
from confide.evidence.shapes import Shape
from confide.mechanisms import Mechanism
from confide.surveys.survey import Survey
from confide.values import Alphabet, LineGeometry, RingGeometry, unbounded
from confide.values.checks import as_distribution, read_only
from confide.values.metrics import Discrete
from confide.values.wording import counted

if TYPE_CHECKING:
    from confide.data.files import Account

PEAKED, TWO_HUMPS, FALLING, SPIKY, ROUGH, UNIFORM = "peaked", "two humps", "falling", "spiky", "rough", "uniform"

SHAPES = (PEAKED, TWO_HUMPS, FALLING, SPIKY, ROUGH, UNIFORM)
"""Shapes from easy to hard; all truths of `python -m benchmarks.plans` lie between the ends.

Spiky and rough are both needed: at 0.05 per year a few strong spikes are the hardest (an EMD of 2.2 years with 50,000
people, against 1.4 for many weak ones), at 0.2 per year many weak ones (0.7 against 0.4).
"""


ALIKE = 1e-6
"""Shapes closer than this in total variation are duplicates: two humps on two values are uniform."""


def family(alphabet: Alphabet, declared: Shape | None = None) -> dict[str, FloatArray]:
    """Return distributions of different shapes over an alphabet, by name.

    If the survey declares a shape, each is the nearest distribution of that shape. Duplicates are left out.

    >>> from confide import Categories, Integers
    >>> list(family(Integers(0, 99)))
    ['peaked', 'two humps', 'falling', 'spiky', 'rough', 'uniform']
    >>> list(family(Categories(["yes", "no"])))
    ['peaked', 'two humps', 'falling', 'spiky', 'rough']
    """
    found: dict[str, FloatArray] = {}
    for name in SHAPES:
        shape = draw_shape(name, alphabet)
        near = shape if declared is None else bring(shape, declared, alphabet)
        if all(np.abs(near - other).sum() / 2 > ALIKE for other in found.values()):
            found[name] = near
    return found


def draw_shape(name: str, alphabet: Alphabet) -> FloatArray:
    """Return one shape of the family over an alphabet.

    The shape follows the places of values or, without a distance, their rank. Several attributes are independent, each
    with this shape.
    """
    if alphabet.attributes is not None:
        shares: FloatArray = np.ones(1)
        for one in alphabet.attributes.alphabets:
            shares = np.multiply.outer(shares, draw_shape(name, one)).reshape(-1)
        return _as_shares(shares)
    has_places = alphabet.metric != Discrete()
    weights = _by_place(name, alphabet.coordinates) if has_places else _by_rank(name, alphabet.size)
    return _as_shares(weights)


def _by_place(name: str, coordinates: FloatArray) -> FloatArray:
    """Return weights on a line or in a plane.

    Coordinates are scaled to the unit square; lengths are parts of its side.
    """
    low, high = coordinates.min(axis=0), coordinates.max(axis=0)
    places: FloatArray = (coordinates - low) / np.maximum(high - low, 1.0)
    if name == PEAKED:
        return _hill(places, 0.4, 0.08)
    if name == TWO_HUMPS:
        return 0.55 * _hill(places, 0.25, 0.07) + 0.45 * _hill(places, 0.75, 0.07)
    if name == FALLING:
        return np.asarray(np.exp(-places.sum(axis=1) / 0.2))
    if name in (SPIKY, ROUGH):  # a tenth or a quarter of the values stand above a broad hill
        size = len(places)
        # With few values, two spikes are easy to find: the hardest on 30 cells is a third of them.
        few = max(min(8, size // 2), min(12, size // 3), 1)
        share, number = (0.9, max(2, size // 10)) if name == SPIKY else (0.8, max(few, size // 4))
        return share * _spikes(size, number) + (1 - share) * _hill(places, 0.5, 0.3)
    return np.full(len(places), 1.0)


def _hill(places: FloatArray, centre: float, width: float) -> FloatArray:
    """Return the shares of a normal density at some places.

    In a plane it is the same along both axes.
    """
    logs = -0.5 * ((places - centre) ** 2).sum(axis=1) / width**2
    return _as_shares(np.exp(logs - logs.max()))  # with few values, none may lie near the centre


def _spikes(size: int, number: int) -> FloatArray:
    """Return shares of uneven spikes, scattered over the values."""
    ranks = np.arange(1.0, number + 1)
    spikes = np.zeros(size)
    # The fractional parts of multiples of the golden ratio spread over the unit interval without a pattern.
    np.add.at(spikes, (ranks * ((math.sqrt(5) - 1) / 2) % 1 * size).astype(np.int64), ranks**-0.5)
    return _as_shares(spikes)


def _as_shares(weights: Any) -> FloatArray:
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def _by_rank(name: str, size: int) -> FloatArray:
    """Return weights for values without a distance, by rank."""
    ranks = np.arange(1.0, size + 1)
    if name == FALLING:
        return size + 1 - ranks
    if name == ROUGH:  # the rarest is 400 times as rare as the commonest
        return np.asarray(np.exp(-6 * ranks / size))
    leading = {PEAKED: 1, TWO_HUMPS: 2, SPIKY: math.ceil(size / 3)}.get(name, size)
    share = 1.0 if name == SPIKY else 0.7  # only a third of the values occur, or one or two dominate
    return np.asarray(np.where(ranks <= leading, share / leading, (1 - share) / max(1, size - leading)))


@dataclass(frozen=True, eq=False)
class Guess:
    """A named distribution over an alphabet.

    >>> from confide import Integers
    >>> Guess("a coin", Integers(0, 1), [0.5, 0.5]).distribution
    array([0.5, 0.5])

    Attributes
    ----------
    name, alphabet, distribution
        Its name, the values, and the probability of each.
    account
        The rows that were read, if it comes from a file of values.
    """

    name: str
    alphabet: Alphabet
    distribution: ArrayLike
    account: Account | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        vector = as_distribution(self.distribution, self.alphabet.size, "guess")
        object.__setattr__(self, "distribution", read_only(vector))

    @property
    def vector(self) -> FloatArray:
        """The distribution as an array."""
        return np.asarray(self.distribution)

    @property
    def is_uniform(self) -> bool:
        """Whether all values have the same probability.

        This flatters a method that starts from the uniform distribution.
        """
        return bool(np.ptp(self.vector) < 1e-12)


def as_guess(guess: Any, mechanism: Mechanism, name: str = "value", rejects: str | Path | None = None) -> Guess:
    """Return a guess from a name, dataset, estimate, file or array.

    Parameters
    ----------
    guess
        ``"uniform"`` or another shape; a bundled dataset or its name, or the last word of it if unique (``"ages"``); an
        :class:`~confide.estimates.Estimate`; a file that ``confide estimate -o`` wrote, or a file of values; one
        probability for each value.
    mechanism
        The guess must be over its alphabet.
    name
        The name of a value, for a file of values.
    rejects
        For a file of values: where to write rows that cannot be used. Without it, such a row is an error.

    Examples
    --------
    >>> from confide import Integers, TruncatedGeometric
    >>> as_guess("ages", TruncatedGeometric(Integers(0, 99), epsilon=0.05)).name
    'adult_ages'
    """
    alphabet = _listable(mechanism)
    is_file = isinstance(guess, str | Path) and Path(guess).is_file()
    if rejects is not None and not (is_file and Path(guess).suffix.lower() != ".json"):
        raise InvalidParameterError(
            f"rejects is for a guess that is a file of values, one row a person; got {guess!r}. Leave it out."
        )
    if isinstance(guess, Guess):
        return _same(guess.name, guess.alphabet, guess.vector, alphabet)
    if isinstance(guess, Estimate):
        return _same("a past estimate", guess.alphabet, guess.distribution, alphabet)
    if isinstance(guess, Dataset):
        return _from_dataset(guess, alphabet)
    if isinstance(guess, str | Path):
        return _from_word(str(guess), mechanism, name, rejects)
    return Guess("given shares", alphabet, guess)


def family_of(mechanism: Mechanism, declared: Shape | None = None) -> tuple[Guess, ...]:
    """Return guesses of different shapes, for a plan without a guess.

    See :func:`family`.
    """
    alphabet = _listable(mechanism)
    return tuple(Guess(name, alphabet, shares) for name, shares in family(alphabet, declared).items())


def _listable(mechanism: Mechanism) -> Alphabet:
    """Return the alphabet of a mechanism, if its values can be listed.

    Raises an error otherwise.
    """
    alphabet = mechanism.alphabet
    if not alphabet.is_finite:
        raise InvalidParameterError(
            f"{unbounded(alphabet)} Or say where values will lie: --guess 0..99, or 20x14 for a map; in Python span=..."
        )
    alphabet.require_listable()
    return alphabet


def _from_word(word: str, mechanism: Mechanism, name: str, rejects: str | Path | None) -> Guess:
    alphabet = mechanism.alphabet
    if word.replace("-", " ") in SHAPES:
        shape = word.replace("-", " ")
        return Guess(shape, alphabet, draw_shape(shape, alphabet))
    known = [one for one in datasets.names() if one == word] or [
        one for one in datasets.names() if one.endswith(f"_{word}")
    ]
    if len(known) == 1:
        return _from_dataset(datasets.load(known[0]), alphabet)
    if Path(word).is_file():
        return _from_file(Path(word), mechanism, name, rejects)
    raise InvalidParameterError(
        f"There is no guess {word!r}. Give a shape ({', '.join(SHAPES)}), a bundled dataset "
        f"({', '.join(datasets.names())}), or a file that confide estimate -o wrote, .csv or .json."
    )


def _from_dataset(dataset: Dataset, alphabet: Alphabet) -> Guess:
    """Return the shares of a dataset.

    Numbers may lie in a wider alphabet; a map must be the same map.
    """
    is_line = isinstance(alphabet.geometry, LineGeometry) and isinstance(dataset.alphabet.geometry, LineGeometry)
    if not is_line or alphabet.metric != dataset.alphabet.metric:
        return _same(dataset.name, dataset.alphabet, dataset.distribution, alphabet)
    present = np.flatnonzero(dataset.histogram)
    values = dataset.alphabet.decode(present)
    outside = int(dataset.histogram[present][~alphabet.contains(values)].sum())
    if outside:
        raise InvalidDistributionError(
            f"{outside:,} of {dataset.total:,} people of {dataset.name} lie outside {alphabet!r}: their values go from "
            f"{values.min()} to {values.max()}. Take another guess, or widen the alphabet."
        )
    shares = np.zeros(alphabet.size)
    shares[alphabet.encode(values)] = dataset.distribution[present]
    return Guess(dataset.name, alphabet, shares)


def _same(name: str, own: Alphabet, shares: FloatArray, alphabet: Alphabet) -> Guess:
    """Return shares over the same values.

    The unit of distances may have another name.
    """
    every, is_like = np.arange(alphabet.size), own.size == alphabet.size and _shape(own) == _shape(alphabet)
    if not is_like or own.decode(every).tolist() != alphabet.decode(every).tolist():
        raise InvalidDistributionError(
            f"The guess {name} is over {own!r}, and the survey over {alphabet!r}. Take one over the same values."
        )
    return Guess(name, alphabet, shares)


def _shape(alphabet: Alphabet) -> object:
    if alphabet.grid is not None:
        return alphabet.grid.shape, alphabet.spacing
    has_steps = alphabet.geometry.dimensions or isinstance(alphabet.geometry, RingGeometry)
    return alphabet.spacing if has_steps else None


def _from_file(path: Path, mechanism: Mechanism, name: str, rejects: str | Path | None) -> Guess:
    """Return a guess from a past estimate or a file of values."""
    alphabet = mechanism.alphabet
    if path.suffix.lower() == ".json":
        found = _read_json(path)
    elif path.suffix.lower() != ".parquet" and _holds_estimate(path, alphabet, name):
        if rejects is not None:
            raise InvalidParameterError(
                f"rejects is for a file of values; {path} is an estimate, of which every row is needed. Leave it out."
            )
        found = _read_csv(path, alphabet)
    else:
        return _from_values(path, Survey(mechanism, name), rejects)
    return Guess(path.name, alphabet, _lay_out(path, *found, alphabet))


def _from_values(path: Path, survey: Survey, rejects: str | Path | None) -> Guess:
    """Return the shares of a file of values, read in batches.

    Rows that cannot be used raise an error, or go to `rejects`.
    """
    # Imported late, so that `import confide` stays quick.
    from confide.data.files import Account, read_value_batches
    from confide.data.files.writing import reject_file

    people, account = np.zeros(survey.alphabet.size), Account(source=str(path))
    with contextlib.ExitStack() as closing:
        keep = None if rejects is None else closing.enter_context(reject_file(rejects))
        for rows in read_value_batches(path, survey):
            account += rows.account
            people += rows.histogram()
            if keep is not None:
                keep(rows.rejected)
    account.require_rows()
    if rejects is None:
        account.require_usable("Correct these rows; in Python, rejects=... sets them aside.")
    account.require_any(survey.alphabet, "Values")
    if not account.people:
        raise DataFileError(f"The counts of {path} add up to 0; a distribution needs at least one person.")
    return Guess(path.name, survey.alphabet, people / people.sum(), account)


def _read_json(path: Path) -> tuple[list[Any], list[Any], list[str]]:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        values = [tuple(one) if isinstance(one, list) else one for one in record["alphabet"]["values"]]
        return values, list(record["distribution"]), list(record["alphabet"].get("labels", ()))
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataFileError(f"{path} is no estimate that confide wrote: {type(error).__name__}, {error}.") from None


def _holds_estimate(path: Path, alphabet: Alphabet, name: str) -> bool:
    """Whether a table is an estimate rather than values.

    Any other table with a column of probabilities raises an error. Read as values, it would count every value once and
    look uniform.
    """
    # The column of probabilities that `confide estimate -o estimate.csv` writes.
    probability = "probability"
    from confide.data.files.sheets import open_sheet

    with open_sheet(str(path)) as sheet:
        header = sheet.header
    # The columns after the value, without --interval and with it.
    if tuple(header[_value_width(alphabet) :]) in ((probability,), (probability, "low", "high")):
        return True
    if probability in header and name != probability:
        raise DataFileError(
            f"{path} has a column {probability} among {', '.join(header)}, but is no estimate over {alphabet!r}. "
            f"Such a file has {counted(_value_width(alphabet), 'column')} for the value, then {probability}, then low "
            f"and high or nothing; a file of values has no {probability}."
        )
    return False


def _read_csv(path: Path, alphabet: Alphabet) -> tuple[list[Any], list[Any], list[str]]:
    """Return the values, probabilities and labels of an estimate's file."""
    from confide.data.files.sheets import open_sheet
    from confide.data.files.writing import as_meant

    values, shares, labels, parts = list[Any](), list[Any](), list[str](), alphabet.parts
    with open_sheet(str(path)) as sheet:
        for chunk in sheet.chunks(range(_value_width(alphabet) + 1)):
            for place, row in enumerate(chunk.keys):
                value = None if place in chunk.strays else alphabet.parse([as_meant(part) for part in row[:parts]])
                if value is None:
                    raise DataFileError(
                        f"{path} has the row {','.join(row)!r} in line {chunk.lines[place]}, which is no value of "
                        f"{alphabet!r} and its probability. Write the estimate again."
                    )
                values.append(value)
                labels += map(as_meant, row[parts:-1])
                shares.append(row[-1])
    return values, shares, labels


def _value_width(alphabet: Alphabet) -> int:
    """Return the number of columns for a value, label included."""
    return alphabet.parts + alphabet.has_labels


def _lay_out(path: Path, values: list[Any], shares: list[Any], labels: list[str], alphabet: Alphabet) -> FloatArray:
    try:
        places = alphabet.encode(values)
        probabilities = np.array(shares, dtype=np.float64)
    except (InvalidInputError, TypeError, ValueError) as error:
        raise InvalidDistributionError(f"The guess {path} does not fit this survey: {error}") from None
    if labels and labels != (own := alphabet.labels(places)):  # an estimate over other bins with the same indices
        other = next(((one, two) for one, two in zip(labels, own, strict=False) if one != two), (len(labels), len(own)))
        raise InvalidDistributionError(
            f"The guess {path} does not fit this survey: it has {other[0]!r} where {alphabet!r} has {other[1]!r}."
        )
    if places.size != alphabet.size or np.unique(places).size != alphabet.size:
        raise InvalidDistributionError(
            f"The guess {path} holds {np.unique(places).size:,} of the {alphabet.size:,} values of {alphabet!r} in "
            f"{counted(places.size, 'row')}; each must stand there once."
        )
    laid = np.zeros(alphabet.size)
    laid[places] = probabilities
    return laid
