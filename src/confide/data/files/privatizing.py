"""Privatizing and shuffling files of values, even larger than memory.

Exported data are often sorted, and reports in the order of the values reveal them: neighbours have nearly the same
value, and their noise averages out. In random order it does not.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import itertools
import os
import pickle
import string
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.data.files import writing
from confide.data.files.reading import Rows, read_value_batches
from confide.data.files.sheets import COUNT_COLUMN, JSON_LINES, LIMITS, PARQUET, Account, name_of, require, resolved
from confide.data.files.writing import Order
from confide.errors import DataFileError, InvalidParameterError
from confide.evidence.counts import Noise, mark, noise_of
from confide.mechanisms.sampling import BUCKETS, Bits, Permanent, as_bits, permutation, scatter
from confide.surveys.ledgers import Ledger
from confide.surveys.survey import Survey
from confide.values import Values
from confide.values.checks import MOST_PEOPLE, kind_of
from confide.values.dates import name_step
from confide.values.wording import counted, listed

Columns = tuple[Any, ...]
"""Reports and kept columns of equal length: numpy arrays, or Arrow arrays from Parquet."""


@dataclass(frozen=True)
class Privatized:
    """A privatized file, and what its kept columns reveal.

    Attributes
    ----------
    account
        The account of the rows.
    order
        Whether the reports were shuffled or keep the order of the rows.
    kept
        The columns that were copied. They carry no noise.
    noise
        Where the noise came from.
    groups
        Number of distinct combinations in the kept columns; None if there are none, or too many to count.
    alone
        Number of people with a unique combination, by which their report can be found.
    in_small_groups
        Number of people who share their combination with fewer than ten, themselves included.
    is_keyed
        Whether permanent noise comes from people's names and a key of this run.
    """

    account: Account
    order: Order
    kept: tuple[str, ...] = ()
    noise: Noise = Noise.SECURE
    groups: int | None = None
    alone: int | None = None
    in_small_groups: int | None = None
    is_keyed: bool = False


def privatize_file(  # noqa: PLR0913 - a file, its survey, and ten choices
    values: str | Path,
    output: str | Path,
    survey: Survey,
    columns: Sequence[str] = (),
    *,
    keep: Sequence[str] = (),
    by: str = "",
    keep_order: bool = False,
    seed: int | None = None,
    secret: Permanent | None = None,
    secret_column: str = "",
    ledger: Ledger | None = None,
    rejects: str | Path | None = None,
    force: bool = False,
    cure: str = "Nothing was written. Correct these rows.",
) -> Privatized:
    """Privatize a file of values into shuffled reports.

    Parameters
    ----------
    values, output
        CSV or Parquet by their endings; reports also as JSON lines. Reports get metadata:
        see :class:`confide.data.files.Metadata`.
    survey
        The alphabet of the values, and the mechanism.
    columns
        The columns to read, as in :func:`read_values`.
    keep
        Columns to copy without noise, such as a city and a week. Fine ones identify people; one that reveals the
        values, such as a copy of them, is refused.
    by
        The column that names a row's wave, in a file of all waves; it is kept. A person then has one row a wave. A date
        becomes the wave that it is in, if the survey says how often it asks.
    keep_order
        Whether to keep the order of the rows. An order that is sorted or known from elsewhere then reveals values:
        neighbours have nearly the same value, and their noise averages out.
    seed
        None draws from the operating system's secure generator; a seed makes a simulation, which protects nobody. Both
        noise and order come from it.
    secret
        Permanent noise of one person, on whose device this runs; the file then has one row.
    secret_column
        A column with a different secret for each person, for permanent noise. Secrets are never written. In a file of
        all waves names of people will do: their secrets are then made from a key of this run, which nobody keeps.
    ledger
        Counts the report of one person, on whose device this runs, and enforces the survey's limits.
    rejects
        File for rejected rows; without it, a rejected row is an error.
    force
        Whether to go on if most rows are rejected, or most amounts fall into a bin with an open end.
    cure
        What an error about rejected rows advises.
    """
    texts = (".tsv", ".tsv.gz", ".txt", ".txt.gz")  # the header shows their delimiter
    writing.require_ending(values, (".csv", ".csv.gz", *PARQUET, *texts), may_lack_one=True)
    objects = (*JSON_LINES, *(f"{ending}.gz" for ending in JSON_LINES))
    writing.require_ending(output, (".csv", ".csv.gz", *objects, *PARQUET), may_lack_one=writing.has_no_name(output))
    keep = (*keep, by) if by and by not in keep else tuple(keep)
    groups, source = _Groups(keep, survey), _Source(seed, secret, secret_column, keep, ledger, by)
    account, beyond = Account(source=name_of(str(values))), Counter[str]()
    order: Order = "kept" if keep_order else "shuffled"
    noise = Noise.SEEDED if survey.simulated else source.noise  # simulated people need no secure noise
    if noise is Noise.SEEDED:
        writing.warn_simulated(output)
    with contextlib.ExitStack() as closing:
        set_aside = None if rejects is None else closing.enter_context(writing.reject_file(rejects))
        # If it stops, there is no output, but the file of rejected rows is kept.
        closing.enter_context(contextlib.suppress(_StoppedError))
        sink = closing.enter_context(writing.report_sink(output, survey, noise=noise, order=order, kept=keep, by=by))
        # A separate generator, so that a seed draws the same noise whether the order is kept or not.
        bits = as_bits(None if source.generator is None or keep_order else source.generator.spawn(1)[0])
        shuffler = closing.enter_context(Shuffler(bits, folder_beside(output)))
        take = sink.write if keep_order else lambda reports, kept: shuffler.add((reports, *kept))
        for read in read_value_batches(values, survey, columns, (*keep, *([secret_column] if secret_column else []))):
            rows, secrets = source.split(_name_waves(read, keep.index(by), survey.every) if by else read)
            account += rows.account
            _refuse_crowds(account, rows, is_kept=keep_order)
            if set_aside is not None:
                set_aside(rows.rejected)
            elif account.total_rejected:
                continue  # only count the rest: nothing will be written
            groups.add(rows)
            # Number of people in each bin with an open end.
            ends = rows.alphabet.beyond(rows.distinct)
            people = np.bincount(rows.numbers, rows.counts, minlength=len(rows.distinct)) if ends else np.zeros(0)
            beyond.update({label: int(people[chosen].sum()) for label, chosen in ends.items()})
            source.check(account)
            for part, *kept in _parts(rows):
                take(source.blur(survey, part, secrets), kept)
        account.require_rows()
        if set_aside is None:
            account.require_usable(cure)
        doubt = "" if force else _doubt(account, beyond)
        if doubt or not account.accepted:
            raise _StoppedError
        groups.refuse_telling(account.source)
        for reports, *kept in shuffler.pieces():
            sink.write(reports, kept)
    # If nothing was written, say why.
    account.require_any(survey.alphabet, "Values")
    if doubt:
        raise DataFileError(doubt)
    return Privatized(account, order, tuple(keep), noise, *groups.summary(), source.is_keyed)


def _doubt(account: Account, beyond: Mapping[str, int]) -> str:
    """Return why data and survey may not belong together.

    Empty if they seem to.
    """
    if account.read >= LIMITS.fewest_rows and 2 * account.total_rejected > account.read:
        return (
            f"{account.total_rejected:,} of {account.read:,} rows of {account.source} cannot be used "
            f"({account.reasons}):\n{account.listing}\nReports of the others alone would describe only them. Correct "
            f"the rows or the survey, or go on with --force."
        )
    label, number = max(beyond.items(), key=lambda one: one[1], default=("", 0))
    if account.people >= LIMITS.fewest_rows and 2 * number > account.people:
        return (
            f"{number:,} of {counted(account.people, 'person')} of {account.source} fall into the open bin {label!r}. "
            f"Are the amounts in another unit than the bins? Declare it under [alphabet]: scale = 0.001 puts dollars "
            f"into bins in thousands. If they are right, go on with --force."
        )
    return ""


def _name_waves(rows: Rows, place: int, every: str) -> Rows:
    """Return rows with waves in place of dates."""
    texts = ["" if one is None else str(one).strip() for one in rows.kept[place].tolist()]
    if "" in texts:
        raise DataFileError(
            f"{counted(texts.count(''), 'row')} of {rows.account.source} have no wave. Fill it in, or leave these rows "
            f"out."
        )
    named = {text: name_step(text, every) if every else text for text in set(texts)}
    waves = np.array([named[text] for text in texts], dtype=object)
    return replace(rows, kept=(*rows.kept[:place], waves, *rows.kept[place + 1 :]))


class _Source:
    """Source of a file's noise.

    The secure generator, a seed, or people's secrets.
    """

    def __init__(
        self,
        seed: int | None,
        secret: Permanent | None,
        column: str,
        keep: Sequence[str],
        ledger: Ledger | None,
        by: str = "",
    ) -> None:
        if sum((seed is not None, secret is not None, bool(column))) > 1:
            raise InvalidParameterError(
                "Noise comes from a seed, from one person's secret, or from a column of secrets. Give one of them."
            )
        self._is_kept = column in keep
        if self._is_kept and not by:
            self._refuse_kept(column)
        self.generator = None if seed is None else np.random.default_rng(seed)
        if ledger is not None and (column or seed is not None):
            raise InvalidParameterError(
                "A ledger counts the reports of one person, whose noise is fresh or from one secret; it takes neither "
                "a column of secrets nor a seed."
            )
        self._secret, self._column, self._seen, self._ledger = secret, column, set[bytes](), ledger
        # Where the wave of a row stands, and the key of this run.
        self._wave, self._key = list(keep).index(by) if by else None, b""
        self.noise = Noise.SECURE if seed is None else Noise.SEEDED
        if secret is not None or column:
            self.noise = Noise.PERMANENT

    @staticmethod
    def _refuse_kept(column: str) -> None:
        raise InvalidParameterError(
            f"Column {column!r} holds secrets and cannot be kept beside reports: whoever has a person's secret can "
            f"undo their noise."
        )

    @property
    def is_keyed(self) -> bool:
        """Whether secrets come from names and a key of this run."""
        return bool(self._key)

    def split(self, rows: Rows) -> tuple[Rows, list[Permanent]]:
        """Separate rows from their secrets; refuse repeats in a wave."""
        if not self._column:
            return rows, []
        source = rows.account.source
        if rows.counts is not None:
            raise DataFileError(
                f"{source} has a column {COUNT_COLUMN!r}, and a secret is one person's: a row that stands for several "
                f"people cannot have one. Give each person a row."
            )
        texts = ["" if one is None else str(one) for one in rows.kept[-1].tolist()]
        waves = [""] * len(texts) if self._wave is None else rows.kept[self._wave].tolist()
        if self._wave is not None and not self._seen and not all(map(_is_secret, texts)):
            self._key = os.urandom(32)
        if self._is_kept and not self._key:
            self._refuse_kept(self._column)
        secrets = []
        for text, wave in zip(texts, waves, strict=True):
            try:
                one = Permanent(hmac.digest(self._key, text.encode(), "sha256") if self._key and text else text)
            except InvalidParameterError as error:
                raise DataFileError(f"Column {self._column!r} of {source} has a bad secret: {error}") from None
            # Remember a short digest, to bound the memory of a million people.
            mark = hashlib.blake2b(one.secret + wave.encode(), digest_size=16).digest()
            if mark in self._seen:
                cure = (
                    f"Give each person one row in {wave}"
                    if wave
                    else (
                        "Give each person one row and a secret of their own; if the file has several waves, name their "
                        "column: --by week"
                    )
                )
                raise DataFileError(
                    f"A secret stands twice in column {self._column!r} of {source}: two people would share their "
                    f"noise, or one would report twice. {cure}."
                )
            self._seen.add(mark)
            secrets.append(one)
        return replace(rows, kept=rows.kept[:-1]), secrets

    def check(self, account: Account) -> None:
        """Refuse several people if the secret or the ledger is one person's."""
        if self._secret is not None and account.people > 1:
            raise DataFileError(
                f"{account.source} has values of {counted(account.people, 'person')}, and this is one person's secret: "
                f"all who share a value would send the same report. Give each a secret of their own: --secret."
            )
        if self._ledger is not None and account.people > 1:
            raise DataFileError(
                f"{account.source} has values of {counted(account.people, 'person')}, and a ledger is one person's. "
                f"Give one row at a time."
            )

    def blur(self, survey: Survey, values: Values, secrets: list[Permanent]) -> Any:
        """Privatize values, after counting them in the ledger, if any."""
        if self._ledger is not None:
            for value in values.tolist():
                single = tuple(value) if isinstance(value, list) else value
                self._ledger.charge(survey, single, rng=self._secret, taken=True)
        return survey.privatize(values, rng=self._secret or secrets or self.generator, taken=True)


def _is_secret(text: str) -> bool:
    """Whether a text looks like a secret, and not like a name."""
    return len(text) >= 32 and set(text) <= set(string.hexdigits)


def _refuse_crowds(account: Account, rows: Rows, *, is_kept: bool) -> None:
    """Refuse counts of too many people, and counts with a kept order."""
    if account.people > MOST_PEOPLE:
        raise DataFileError(
            f"The counts of {account.source} stand for more than {MOST_PEOPLE:,} people, and every one of them gets a "
            f"report of their own. Correct the counts, or split the file."
        )
    if is_kept and rows.counts is not None:
        raise InvalidParameterError(
            f"{rows.account.source} has a column {COUNT_COLUMN!r}: in the order of its rows the reports of all people "
            f"with one value would stand side by side, and their mean tell the value. Do not keep the order."
        )


class _StoppedError(DataFileError):
    """Most or all rows were rejected or odd, so nothing is written."""


class _Groups:
    """Counts people by kept columns, and tests whether these predict values.

    For each kept column, and for all together, we count pairs of content and value while the content may predict the
    value. Among people with the same content, exceptions do not have the commonest value of their group. A column
    predicts the value if exceptions are few compared with the people who do not have the commonest value of all: if
    everybody has the same value, there is nothing to predict.
    """

    def __init__(self, keep: Sequence[str], survey: Survey) -> None:
        # Refuse kept columns that cannot stand beside reports, before any work.
        for place, name in enumerate(keep):
            if name in keep[:place]:
                raise InvalidParameterError(f"Column {name!r} is to be kept twice. Name it once.")
            if name == COUNT_COLUMN:
                raise InvalidParameterError(
                    f"A column {COUNT_COLUMN!r} cannot be kept: it says how many people a row stands for, and each of "
                    f"them gets a report of their own. Leave it out, or rename it."
                )
            if name in writing.report_columns(survey):
                raise InvalidParameterError(
                    f"A column {name!r} cannot be kept: the reports themselves stand under this name. Rename it."
                )
        self._keep = keep
        self._sizes: Counter[tuple[Any, ...]] | None = Counter()
        places = [(place,) for place in range(len(keep))] + ([tuple(range(len(keep)))] if len(keep) > 1 else [])
        self._telling = {some: Counter[tuple[Any, ...]]() for some in places}

    def add(self, rows: Rows) -> None:
        """Count the people of these rows."""
        if (self._sizes is None and not self._telling) or not rows.kept:
            return
        columns = [column.tolist() for column in rows.kept]
        people = None if rows.counts is None else rows.counts.tolist()
        if self._sizes is not None:
            _add_to(self._sizes, columns, people)
            self._sizes = self._sizes if len(self._sizes) <= LIMITS.most_groups else None
        if self._telling:
            values = [tuple(one) if isinstance(one, list) else one for one in rows.distinct.tolist()]
            truth = [values[number] for number in rows.numbers.tolist()]
            some = slice(None, None, -(-len(truth) // 2**12) or 1)  # spread over the batch
            for places, pairs in list(self._telling.items()):
                parts = [*(columns[place] for place in places), truth]
                # For most columns, a few thousand rows show that they predict nothing.
                trial: Counter[tuple[Any, ...]] = Counter()
                _add_to(trial, [column[some] for column in parts], None)
                exceptions, told, _ = _find_exceptions(trial)
                if exceptions <= 10 * LIMITS.few_exceptions * max(told, 2 * LIMITS.fewest_told):
                    _add_to(pairs, parts, people)
                    if len(pairs) <= 2 * LIMITS.most_groups:
                        continue
                del self._telling[places]

    def summary(self) -> tuple[int | None, int | None, int | None]:
        """Return the numbers of groups, of people alone and in small groups."""
        if not self._sizes:
            return None, None, None
        sizes = self._sizes.values()
        alone, few = (sum(people for people in sizes if people < most) for most in (2, LIMITS.small_group))
        return sum(people > 0 for people in sizes), alone, few

    def refuse_telling(self, source: str) -> None:
        """Refuse columns that predict nearly everybody's value, such as a copy."""
        for places, pairs in self._telling.items():
            exceptions, told, shared = _find_exceptions(pairs)
            if told >= LIMITS.fewest_told and exceptions <= LIMITS.few_exceptions * told:
                names = [repr(self._keep[place]) for place in places]
                raise DataFileError(
                    f"{'Column' if len(names) == 1 else 'Columns'} {listed(names)} of "
                    f"{source} cannot be kept: people with the same there have the same value, "
                    f"{shared - exceptions:,} of {counted(shared, 'person')} who share it. A copy or a code tells the "
                    f"value outright, and of anything else their noise averages out. Leave out what goes with the "
                    f"value, or make it coarser."
                )


def _find_exceptions(pairs: Counter[tuple[Any, ...]]) -> tuple[int, int, int]:
    """Return exceptions, people without the commonest value, and people who share."""
    sizes, commonest, everywhere = Counter[tuple[Any, ...]](), dict[tuple[Any, ...], int](), Counter[Any]()
    for pair, people in pairs.items():
        sizes[pair[:-1]] += people
    for pair, people in pairs.items():
        group = pair[:-1]
        if sizes[group] > 1:
            commonest[group] = max(commonest.get(group, 0), people)
            everywhere[pair[-1]] += people
    shared = everywhere.total()
    return shared - sum(commonest.values()), shared - max(everywhere.values(), default=0), shared


def _add_to(counter: Counter[tuple[Any, ...]], columns: Sequence[list[Any]], people: list[int] | None) -> None:
    """Count rows by the content of columns, weighted with people."""
    # Counter.update counts in C, where every row is one person.
    keys = zip(*columns, strict=True)
    if people is None:
        counter.update(keys)
        return
    for key, number in zip(keys, people, strict=True):
        counter[key] += number


def _parts(rows: Rows) -> Iterator[tuple[Values, *tuple[Any, ...]]]:
    """Yield each person's value and kept columns, in parts of bounded size."""
    if rows.counts is None:
        yield rows.values, *rows.kept
        return
    ends = np.cumsum(rows.counts)
    total = int(ends[-1]) if ends.size else 0
    for start in range(0, total, LIMITS.largest_part):
        people = np.arange(start, min(start + LIMITS.largest_part, total))
        # Person p belongs to the first row whose end lies beyond p, hence the right side.
        places = np.searchsorted(ends, people, side="right")
        yield rows.distinct[rows.numbers[places]], *(column.take(places) for column in rows.kept)


def shuffle(reports: ArrayLike, *, rng: Any = None) -> Values:
    """Return reports in a uniformly random order.

    ``mechanism.privatize`` keeps the order of its values. Shuffle reports before you publish them together, unless
    their order reveals nothing.

    Parameters
    ----------
    reports
        An array or a sequence, one entry per report.
    rng
        None draws from the operating system's cryptographic generator; a seed or a generator makes a simulation.

    Examples
    --------
    >>> sorted(shuffle([3, 1, 2]).tolist())
    [1, 2, 3]
    """
    try:
        array: Values = np.asarray(reports)
    except ValueError:
        array = np.zeros(())
    # A number, a text, or lists of several lengths have no order.
    if array.ndim == 0:
        raise InvalidParameterError(f"reports must be a list of reports, alike in shape; got {kind_of(reports)}.")
    shuffled: Values = array[permutation(len(array), as_bits(rng))]
    mark(shuffled, noise_of(reports))  # the same reports have the same noise
    return shuffled


class Shuffler(contextlib.AbstractContextManager["Shuffler"]):
    """Puts rows into a uniformly random order, on disk if necessary.

    Each row goes into one of 256 random buckets, and each bucket is shuffled when it is read: the total order is then
    exactly uniform (Rao 1961, Sandelius 1962). Rows that do not fit into memory go to one nameless file, which
    disappears however the process ends.

    Parameters
    ----------
    bits
        The source of randomness.
    folder
        Folder of the file; None for the system's temporary folder. It holds reports, never values.
    """

    def __init__(self, bits: Bits, folder: Path | None = None) -> None:
        self._bits, self._folder = bits, folder
        self._waiting, self._coming = list[Columns](), 0.0
        self._buckets: list[list[Columns]] = [[] for _ in range(BUCKETS)]
        self._places: list[list[int]] = [[] for _ in range(BUCKETS)]  # offsets in the file
        self._rows: NDArray[np.int64] = np.zeros(BUCKETS, dtype=np.int64)
        self._bytes: NDArray[np.float64] = np.zeros(BUCKETS)
        self._held = 0.0
        self._file: BinaryIO | None = None

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, columns: Columns) -> None:
        """Add rows."""
        self._waiting.append(tuple(map(_narrow, columns)))
        self._coming += sum(map(_size, self._waiting[-1]))
        if _are_many(self._waiting, self._coming):
            self._scatter()

    def pieces(self) -> Iterator[Columns]:
        """Yield all rows in their new order, many at a time."""
        self._scatter()
        ready, size = list[Columns](), 0.0
        for part in itertools.chain(self._shuffled(), [None]):
            if part is not None:
                ready.append(part)
                size += sum(map(_size, part))
            if ready and (part is None or _are_many(ready, size)):
                # Restore the usual integers, which `_narrow` made smaller.
                yield tuple(
                    one.astype(np.int64) if isinstance(one, np.ndarray) and one.dtype.kind == "i" else one
                    for one in _join(ready)
                )
                ready, size = [], 0.0

    def _scatter(self) -> None:
        if not self._waiting:
            return
        columns = _join(self._waiting)
        count = len(columns[0])
        # Draw many buckets at a time: one by one would be slow in Python.
        order, ends = scatter(count, self._bits)
        columns, sizes = _reorder(columns, order), np.diff(ends, prepend=0)
        for bucket in np.flatnonzero(sizes).tolist():
            end = int(ends[bucket])
            self._buckets[bucket].append(tuple(column[end - int(sizes[bucket]) : end] for column in columns))
        self._rows += sizes
        self._bytes += self._coming * sizes / max(count, 1)
        self._held += self._coming
        self._waiting, self._coming = [], 0.0
        if self._held <= LIMITS.memory:
            return
        with self._opened() as file:
            for bucket, parts in enumerate(self._buckets):
                if parts:
                    self._places[bucket].append(file.seek(0, os.SEEK_END))
                    # A pickled Arrow slice may include the whole array; a copy made by take does not.
                    alone = [_reorder(part, np.arange(len(part[0]))) for part in parts]
                    pickle.dump(alone, file, pickle.HIGHEST_PROTOCOL)
            file.flush()
        self._buckets, self._held = [[] for _ in range(BUCKETS)], 0.0

    def _shuffled(self) -> Iterator[Columns]:
        for bucket in np.flatnonzero(self._rows).tolist():
            if self._bytes[bucket] > LIMITS.memory and self._rows[bucket] >= LIMITS.smallest_split:
                with Shuffler(self._bits, self._folder) as inner:
                    for part in self._bucket(bucket):
                        inner.add(part)
                    yield from inner.pieces()
            else:
                columns = _join(list(self._bucket(bucket)))
                yield _reorder(columns, permutation(len(columns[0]), self._bits))

    def _bucket(self, bucket: int) -> Iterator[Columns]:
        for place in self._places[bucket]:
            with self._opened() as file:
                file.seek(place)
                parts = pickle.load(file)  # noqa: S301 - our own file, which nobody else can open
            yield from parts
        yield from self._buckets[bucket]
        self._buckets[bucket] = []

    @contextlib.contextmanager
    def _opened(self) -> Iterator[BinaryIO]:
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 - open until the end
            yield self._file
        except OSError as error:
            place = str(self._folder or tempfile.gettempdir())
            raise DataFileError(
                f"Reports cannot be set down in {place!r} to be shuffled: {error.strerror or error}. Make room there, "
                f"or write to another folder."
            ) from None


def folder_beside(output: str | Path) -> Path | None:
    """Return the folder of an output, which has room for it.

    Return None for streams and devices.
    """
    return None if writing.has_no_name(output) else resolved(output).parent


def _are_many(parts: Sequence[Columns], size: float) -> bool:
    """Whether waiting rows fill a piece, by their number or their bytes."""
    return size > LIMITS.memory / 4 or sum(len(part[0]) for part in parts) >= LIMITS.piece


def _reorder(columns: Columns, order: NDArray[np.int64]) -> Columns:
    return tuple(column[order] if isinstance(column, np.ndarray) else column.take(order) for column in columns)


def _narrow(column: Any) -> Any:
    """Return whole numbers in the smallest type.

    An age needs one byte, not eight.
    """
    if not isinstance(column, np.ndarray) or column.dtype != np.int64 or not column.size:
        return column
    low, high = int(column.min()), int(column.max())
    kinds = (kind for kind in (np.int8, np.int16, np.int32) if np.iinfo(kind).min <= low <= high <= np.iinfo(kind).max)
    return column.astype(next(kinds, np.int64), copy=False)


def _size(column: Any) -> float:
    """Return the approximate size of a column in bytes."""
    is_objects = isinstance(column, np.ndarray) and column.dtype.kind == "O"
    if is_objects and column.ndim == 1:
        return float(LIMITS.text_bytes * column.size + sum(map(len, column)))
    return float(column.nbytes) * (1 + (LIMITS.text_bytes / 8) * is_objects)


def _join(parts: Sequence[Columns]) -> Columns:
    if len(parts) == 1:
        return parts[0]
    return tuple(
        np.concatenate(some) if isinstance(some[0], np.ndarray) else require("pyarrow").concat_arrays(some)
        for some in zip(*parts, strict=True)
    )
