"""Files written whole or not at all: texts, values, rejected rows, and reports with their metadata."""

from __future__ import annotations

import contextlib
import csv
import errno
import gzip
import hashlib
import io
import json
import math
import os
import secrets
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, BinaryIO, Literal, get_args
from urllib.parse import quote

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.data.files.sheets import (
    JSON_LINES,
    LIMITS,
    PARQUET,
    REPORT_COLUMN,
    STANDARD_STREAM,
    Reject,
    explained,
    fields_of,
    name_columns,
    parquet_explained,
    require,
    resolved,
)
from confide.errors import ConfideError, DataFileError, InvalidParameterError, SimulatedReportsWarning
from confide.evidence.counts import Noise, Origin, noise_of
from confide.mechanisms import Mechanism
from confide.mechanisms.sampling import SecureBits, permutation
from confide.surveys.survey import Survey, parse_survey
from confide.values import Alphabet, Values
from confide.values.checks import parse_real, require_kinds
from confide.values.wording import digest, name_some

SUFFIX = "-metadata.json"
"""Suffix of a companion, behind the whole name of the file that it describes."""


KEY = "urn:confide:reports"
"""Name of our facts in a companion: a common property by the W3C's rules, which other programs pass over."""

PARQUET_KEY = b"confide.reports"
"""Name of our facts among the key-value metadata of a Parquet file."""

VERSION = 1
"""Version of the format. A file of a later one is refused, for what it says may mean something else."""


Order = Literal["shuffled", "kept"]


@dataclass(frozen=True)
class Metadata:
    """Facts about a file of reports, as whoever wrote it knew them.

    Attributes
    ----------
    survey, fingerprint, mechanism
        The text of the survey that the reports were made under, its fingerprint, and its mechanism in words.
    columns
        The columns of a report and their datatypes.
    noise
        What the reports were drawn with.
    order
        Whether the rows were shuffled, or stand in the order that they came in.
    kept
        Columns that were carried along. These are not blurred.
    reports
        How many reports there are.
    size, sha256
        How many bytes the file has, and their SHA-256; of Parquet the bytes in front of its footer, which holds these.
    """

    survey: str
    fingerprint: str
    mechanism: str
    columns: tuple[tuple[str, str], ...]
    noise: Noise
    order: Order
    kept: tuple[str, ...] = ()
    reports: int = 0
    size: int = 0
    sha256: str = ""

    def __post_init__(self) -> None:
        if self.order not in get_args(Order):
            raise InvalidParameterError(f"order must be one of {', '.join(get_args(Order))}; got {self.order!r}.")
        # Read from a file, which anybody may have edited.
        if self.reports < 0 or self.size < 0:
            raise InvalidParameterError(f"{self.reports} reports in {self.size} bytes cannot be.")

    @classmethod
    def of(
        cls, survey: Survey, columns: Sequence[str], *, noise: Noise, order: Order = "kept", kept: Sequence[str] = ()
    ) -> Metadata:
        """Return the facts about a file that is yet to be written."""
        try:
            # As the W3C calls the kinds of a report's parts.
            known = {"whole": "integer", "real": "double", "text": "string"}
            kinds = [known[field.kind] for field in fields_of(survey.mechanism.report_alphabet)]
        except InvalidParameterError:  # an alphabet of one's own, which SQL knows nothing of
            kinds = ["string"] * len(columns)
        named = tuple(zip(columns, kinds, strict=True))
        fingerprint, mechanism = survey.fingerprint, repr(survey.mechanism)
        return cls(survey.text(), fingerprint, mechanism, named, Noise(noise), order, tuple(kept))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns of a report."""
        return tuple(name for name, _ in self.columns)

    def require(self, survey: Survey | Mechanism, path: str, name: str) -> None:
        """Refuse reports that were made under another survey than this one, or by another mechanism.

        A mechanism knows nothing of limits, so that any survey with it will do.
        """
        is_bare = isinstance(survey, Mechanism)
        contract = Survey(survey) if isinstance(survey, Mechanism) else survey
        if not is_bare and self.fingerprint == contract.fingerprint:
            return
        try:
            is_alike = parse_survey(self.survey).mechanism == contract.mechanism
        except ConfideError:  # a mechanism of one's own, which a survey's text cannot bring back
            is_alike = self.mechanism == repr(contract.mechanism)
        if is_bare and is_alike:
            return
        self.check(path, name)  # another file's metadata say nothing of the survey of this one
        alike = " The mechanisms are the same; other settings, such as [limits] or shape, differ."
        raise DataFileError(
            f"{name} was made under another survey: {self.fingerprint}, with {self.mechanism}. This one is "
            f"{contract.fingerprint}, with {contract.mechanism!r}."
            f"{alike if is_alike else ''} Use the survey that the reports were made with."
        )

    def check(self, path: str, name: str) -> None:
        """Refuse a file whose content is no longer what these facts are about."""
        with explained(name):
            # The size first: it tells most accidents without reading the file.
            size = Path(path).stat().st_size
            if path.lower().endswith(PARQUET):  # whose content ends where its footer begins
                with Path(path).open("rb") as stream:
                    stream.seek(max(0, size - 8))
                    size -= 8 + int.from_bytes(stream.read(4), "little")
            if size != self.size:
                told = f"it has {size:,} bytes, and {self.size:,} were written"
            elif content_digest(path, size) != self.sha256:
                told = "its bytes are other ones, by their SHA-256"
            else:
                return
        what, cure = "its metadata", f"leave out the key {PARQUET_KEY.decode()}"
        if not path.lower().endswith(PARQUET):
            what = str(companion_of(path))
            cure = f"delete {what}"
        raise DataFileError(
            f"{name} is not the file that {what} describes: {told}. Was it cut off, edited or swapped? Copy it again "
            f"from where it was made, with its metadata. If the change was meant, {cure}: nothing is then known of how "
            f"these reports were made."
        )

    def to_json(self) -> str:
        """Return the facts as one JSON object with a digest of its own."""
        record = {
            "version": VERSION,
            "survey": self.survey,
            "fingerprint": self.fingerprint,
            "mechanism": self.mechanism,
            "columns": dict(self.columns),
            "noise": str(self.noise),
            "order": self.order,
            "kept": list(self.kept),
            "reports": self.reports,
            "size": self.size,
            "sha256": self.sha256,
        }
        return json.dumps(record | {"digest": record_digest(record)}, ensure_ascii=False)

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Metadata:
        """Read the object that :meth:`to_json` wrote, and check all of it."""
        facts = dict(record)
        if facts.get("version") != VERSION:
            raise ValueError(f"it is of version {facts.get('version')!r}, and this confide knows {VERSION}")
        if facts.pop("digest", None) != record_digest(facts):
            raise ValueError("its digest is another one")
        del facts["version"]
        lacking = [field.name for field in fields(cls) if field.name not in facts]
        if lacking:
            raise ValueError(f"it has no {lacking[0]!r}")
        facts["columns"] = tuple(facts["columns"].items())
        return cls(**facts | {"noise": Noise(facts["noise"]), "kept": tuple(facts["kept"])})

    def companion(self, name: str) -> str:
        """Return the companion of a file of this name: what the W3C defines, and our facts under a key of their own."""
        named = [*self.columns, *((one, "string") for one in self.kept)]
        # The W3C's names are parts of addresses; what the header says is a title.
        columns = [{"name": quote(one, safe=""), "titles": one, "datatype": kind} for one, kind in named]
        form = {"delimiter": ",", "header": True, "encoding": "utf-8", "lineTerminators": ["\n"], "quoteChar": '"'}
        dialect = {} if name.lower().removesuffix(".gz").endswith(JSON_LINES) else {"dialect": form}
        facts = {KEY: json.loads(self.to_json())}
        context = "http://www.w3.org/ns/csvw"
        record = {"@context": context, "url": name, **dialect, "tableSchema": {"columns": columns}, **facts}
        return json.dumps(record, ensure_ascii=False, indent=2) + "\n"


def record_digest(record: dict[str, Any]) -> str:
    """Return a checksum: a guard against accidents and careless edits, not against anybody who means harm."""
    return digest(json.dumps(record, sort_keys=True))


def companion_of(path: str | Path) -> Path:
    """Return where the companion of a file stands; that of a link beside the link, or else beside the file itself.

    >>> companion_of("reports.csv").name
    'reports.csv-metadata.json'
    """
    place = Path(path)
    beside = place.with_name(place.name + SUFFIX)
    if place.is_symlink() and not beside.exists():
        real = resolved(place)
        return real.with_name(real.name + SUFFIX)
    return beside


def drop_companions(path: str | Path, *, is_new: bool = False) -> None:
    """Remove the companions of a file that was replaced, for they describe the old one; another program's are kept.

    Where the new one `is_new` too, it takes the place of the old one by itself, and only one beside a link is removed.
    """
    # A link and its file may each have one.
    own = companion_of(resolved(path))
    for place in {companion_of(path), own} - ({own} if is_new else set()):
        with contextlib.suppress(OSError, ValueError, RecursionError):
            if KEY in json.loads(place.read_bytes()):
                place.unlink()


def is_companion(path: str | Path) -> bool:
    """Whether a file is a companion, by its name.

    >>> is_companion("reports.csv.gz-metadata.json"), is_companion("metadata.json")
    (True, False)
    """
    name = Path(path).name.lower()
    described = name.removesuffix(SUFFIX).removesuffix(".gz")
    return name.endswith(SUFFIX) and described.endswith((".csv", ".tsv", ".txt", *JSON_LINES))


def read_metadata(path: str | Path) -> Metadata | None:
    """Read the metadata of a file of reports; None where it carries none, or another program's.

    Whether the file is still the one that they describe, :meth:`Metadata.check` says.
    """
    name = str(path)
    if not Path(name).name:
        raise InvalidParameterError(f"path must name a file; got {name!r}.")
    if name.lower().endswith(PARQUET):
        if Path(name).is_file() and not Path(name).stat().st_size:
            return None  # whoever reads it will say that it is empty
        with parquet_explained(name):
            stored = require("pyarrow.parquet").read_metadata(name).metadata or {}
        return _parse(stored[PARQUET_KEY], name) if PARQUET_KEY in stored else None
    place = companion_of(name)
    if not place.exists():
        return None
    with explained(str(place)):
        return _parse(place.read_bytes(), str(place), KEY)


def _parse(content: bytes, place: str, key: str | None = None) -> Metadata | None:
    try:
        record = json.loads(content.decode())
        if key is not None:
            # Another program may describe the same file by the same rules.
            if "@context" in record and key not in record:
                return None
            record = record[key]
        return Metadata.from_record(record)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        told = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        # Python's words for a list or a number where names are looked for say nothing to whoever reads a file.
        is_other = isinstance(error, TypeError) and not content.lstrip().startswith(b"{")
        told = "it is not made of names and what they stand for" if is_other else told
        reason = told.partition("\n")[0].removesuffix(".")
        cure = "" if key is None else " Or delete it: nothing is then known of how the reports were made."
        raise DataFileError(
            f"The metadata in {place} are damaged: {reason}. Copy them again from where they were made.{cure}"
        ) from None


def content_digest(path: str, size: int) -> str:
    """Return the SHA-256 of the first bytes of a file."""
    found, left = hashlib.sha256(), size
    with Path(path).open("rb") as stream:
        while left and (block := stream.read(min(left, 2**20))):
            found.update(block)
            left -= len(block)
    return found.hexdigest()


@dataclass(frozen=True)
class Traces:
    """Metadata of files of reports by what the files are called in messages; None for those that carry none."""

    files: tuple[tuple[str, Metadata | None], ...] = ()
    is_simulated: bool = False
    """Whether the survey is one that made-up people answer, so that all its reports are simulated."""

    @classmethod
    def of(cls, paths: Iterable[str], survey: Survey | Mechanism, titles: dict[str, str] | None = None) -> Traces:
        """Read the metadata of files, and refuse those of another survey and those that were changed since."""
        found = [((titles or {}).get(path, path), path, read_metadata(path)) for path in paths]
        for name, path, known in found:
            if known is not None:
                known.require(survey, path, name)
        for name, path, known in found:
            if known is not None:
                known.check(path, name)
        return cls(tuple((name, known) for name, _, known in found), bool(getattr(survey, "simulated", "")))

    def origin(self, people: float, columns: Sequence[str]) -> Origin:
        """Return the origin of this many reports, read from these columns: what metadata do not prove is not known."""
        if self.is_simulated:
            return Origin(simulated=people)
        known = [one for _, one in self.files if one is not None and one.names == tuple(columns)]
        proven = sum((Origin.of(one.noise, one.reports) for one in known), Origin())
        # Rows may have been rejected, so that fewer are counted than were proven; which, nobody knows.
        secure = min(proven.secure, people)
        permanent = min(proven.permanent, people - secure)
        simulated = min(proven.simulated, people - secure - permanent)
        return Origin(secure, simulated, people - secure - permanent - simulated, permanent)

    def notes(self, columns: Sequence[str]) -> list[str]:
        """Return in a sentence which files carry no metadata, and which speak of other columns."""
        bare = [name for name, known in self.files if known is None]
        others = [(name, one) for name, one in self.files if one is not None and one.names != tuple(columns)]
        notes = [
            f"{name} says how {name_columns(one.names)} came about, not {name_columns(columns)}" for name, one in others
        ]
        if len(self.files) == 1 and bare:
            unknown = "which survey it was made under, and with which noise, is not known"
            notes.append(f"{bare[0]} carries no metadata: {unknown}")
        elif bare:
            files = f"{len(bare):,} of {len(self.files):,} files {'carries' if len(bare) == 1 else 'carry'}"
            unknown = "which survey they were made under, and with which noise, is not known"
            notes.append(f"{files} no metadata ({name_some(bare)}): {unknown}")
        return notes


FORMULA_MARKS = ("=", "+", "-", "@", "\t", "\r")
"""Spreadsheets take a text that begins with one of these for a formula, which may run commands or send data away
(OWASP, "CSV injection")."""


def warn_simulated(path: str | Path) -> None:
    """Warn that simulated reports are about to leave for a file, on behalf of the function that was called."""
    warnings.warn(
        f"The reports for {path} are simulated: their noise comes from a seed, and whoever knows it can undo it. They "
        f"protect nobody. Leave out rng= for people's own values.",
        SimulatedReportsWarning,
        stacklevel=3,
    )


def refuse_outside(reports: Values, survey: Survey) -> None:
    """Refuse reports that the mechanism of a survey cannot have made."""
    alphabet = survey.mechanism.report_alphabet
    if reports.size and not alphabet.contains(alphabet.as_array(reports)).all():
        raise InvalidParameterError(f"Some of these reports lie outside {alphabet!r}. Are they of another survey?")


def require_ending(path: str | Path, endings: Sequence[str], *, may_lack_one: bool = False) -> None:
    """Refuse a name that promises another format. Streams and devices have no ending, and are CSV."""
    name = Path(path).name.lower()
    if not (may_lack_one and not Path(name).suffix) and not name.endswith(tuple(endings)):
        raise InvalidParameterError(f"{path} should end in {', '.join(endings)}: the ending names the format.")


def report_columns(survey: Survey) -> tuple[str, ...]:
    """Return what the columns of a file of reports are called."""
    return column_names(survey.mechanism.report_alphabet, REPORT_COLUMN)


def write_values(
    path: str | Path, alphabet: Alphabet, histogram: NDArray[np.int64], places: Alphabet | None = None
) -> None:
    """Write a histogram as CSV, one row a person; with latitude and longitude of the middle of each cell of a city."""
    names, rows = alphabet.field_names, as_lists(alphabet.decode(np.arange(alphabet.size)))
    if places is not None:
        centres = places.centres(np.arange(places.size)).round(6).tolist()
        names = (*names, "latitude", "longitude")
        rows = [[*row, *centre] for row, centre in zip(rows, centres, strict=True)]
    people = zip(rows, histogram.tolist(), strict=True)
    write_text(path, csv_text(names, (row for row, count in people for _ in range(count))))


def write_rejects(path: str | Path, rejects: Iterable[Reject]) -> None:
    """Write rejected rows as CSV: file, line, text and reason."""
    with reject_file(path) as keep:
        keep(rejects)


@contextlib.contextmanager
def reject_file(path: str | Path) -> Iterator[Callable[[Iterable[Reject]], None]]:
    """Open a file of rejected rows. They may be true values: nobody but its owner reads a new file."""
    with whole_file(path, mode=0o600) as stream, csv_writer(stream) as writer:
        writer.writerow(("file", "line", "text", "reason"))
        yield lambda rejects: writer.writerows(
            map(as_shown, (one.file, one.line, one.text, one.reason)) for one in rejects
        )


@contextlib.contextmanager
def csv_writer(stream: Any) -> Iterator[Any]:
    """Write rows of CSV into a stream of bytes, which stays open."""
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
    yield csv.writer(text, lineterminator="\n")
    text.flush()
    text.detach()


def write_text(path: str | Path, text: str) -> None:
    """Write a whole file or none of it; compressed if the name ends in ``.gz``, to standard output if it is ``-``."""
    with whole_file(path) as stream:
        content = text.encode("utf-8")
        # Without a time in it, the same text makes the same file.
        stream.write(gzip.compress(content, mtime=0) if Path(path).suffix.lower() == ".gz" else content)


@contextlib.contextmanager
def whole_file(path: str | Path, mode: int = 0o666, *, has_companion: bool = False) -> Iterator[BinaryIO]:
    """Open a file for writing that stands under its name when it is complete, and not before.

    Whatever ends the work early, a full disk or a kill, there is either the old file or none. Standard output, ``-``,
    gets everything at the end or nothing. A file that is there keeps its mode; a new one has `mode`, less the umask.
    A companion that described the old file goes, unless the new one `has_companion` that takes its place.
    """
    check_writable(path)
    try:
        if str(path) == STANDARD_STREAM:
            with tempfile.TemporaryFile() as stream:
                yield stream
                stream.seek(0)
                sys.stdout.flush()
                target = getattr(sys.stdout, "buffer", None)
                while block := stream.read(2**20):
                    # A test may have put a stream of text in its place.
                    sys.stdout.write(block.decode()) if target is None else target.write(block)
                sys.stdout.flush()  # so that a full disk is noticed here and not at the end
        else:
            with _written_aside(resolved(path), mode) as stream:
                yield stream
            drop_companions(path, is_new=has_companion)
    except BrokenPipeError:
        raise  # whoever read it has seen enough: that is no fault of the file, and the command line ends it quietly
    except OSError as error:
        name = "The output" if str(path) == STANDARD_STREAM else repr(str(path))
        raise DataFileError(f"{name} cannot be written: {error.strerror or error}.") from None


def check_writable(path: str | Path) -> None:
    """Refuse an output that is a folder or lies in none, before any work is done for it."""
    place = Path(path)
    if str(path) == STANDARD_STREAM:
        return
    if place.is_dir():
        raise DataFileError(f"{str(path)!r} is a folder; name a file in it, such as {str(place / 'output.csv')!r}.")
    try:
        place.stat()
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise DataFileError(f"{str(path)!r} cannot be written: it is a link that leads in a circle.") from None
    if not resolved(place).parent.is_dir():
        raise DataFileError(f"There is no folder {str(place.parent)!r} to write {place.name!r} into. Make it first.")


@contextlib.contextmanager
def _written_aside(path: Path, mode: int) -> Iterator[BinaryIO]:
    if path.exists() and not path.is_file():  # a device or a pipe cannot be renamed over
        with path.open("wb") as stream:
            yield stream
        return
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
    try:
        try:  # without a name in the same folder, so that a kill leaves nothing; or beside, if need be
            number = os.open(beside.parent, os.O_TMPFILE | os.O_RDWR, mode)
        except (AttributeError, OSError):
            number = os.open(beside, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode)
        with os.fdopen(number, "w+b") as stream:
            # Before a word is written, so that what nobody else could read never becomes readable.
            if path.exists():
                os.fchmod(stream.fileno(), path.stat().st_mode & 0o777)
            yield stream
            stream.flush()
            if not beside.exists():
                folder = os.open("/proc/self/fd", os.O_RDONLY)
                try:  # with a folder given, Python follows the link to the nameless file; without, it does not
                    os.link(str(stream.fileno()), beside, src_dir_fd=folder, follow_symlinks=True)
                finally:
                    os.close(folder)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def csv_text(header: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """Return a header and rows as CSV, to the letter: for machines."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


def as_shown(value: Any) -> Any:
    """Return a value for a spreadsheet: a text that would be run as a formula gets an apostrophe in front.

    Numbers stay numbers, also where they are texts. A text that begins with an apostrophe of its own before such a mark
    gets another, so that :func:`as_meant` always gives back what was there.

    >>> as_shown("=1+1"), as_shown("-5"), as_shown("'=1"), as_shown(-5)
    ("'=1+1", '-5', "''=1", -5)
    """
    if not isinstance(value, str) or not value.lstrip("'").startswith(FORMULA_MARKS) or parse_real(value) is not None:
        return value
    return f"'{value}"


def as_meant(text: str) -> str:
    """Return the text that :func:`as_shown` was given.

    >>> as_meant("'=1+1"), as_meant("it's")
    ('=1+1', "it's")
    """
    return text[1:] if text.startswith("'") and text.lstrip("'").startswith(FORMULA_MARKS) else text


def column_names(alphabet: Alphabet, name: str) -> tuple[str, ...]:
    """Return what the columns of a value are called; its parts have names of their own."""
    return (name,) if len(alphabet.field_names) == 1 else alphabet.field_names


def as_lists(values: Values) -> list[list[Any]]:
    """Return one list of parts a value."""
    lists: list[list[Any]] = values.reshape(values.shape[0], -1).tolist() if values.size else []
    return lists


def write_reports(
    path: str | Path, reports: ArrayLike, survey: Survey, *, noise: Noise | None = None, keep_order: bool = False
) -> None:
    """Write reports as CSV, JSON lines or Parquet, as the name says, one row a report, with their metadata.

    They are shuffled, by the operating system's secure generator.

    Parameters
    ----------
    path
        The file; ``-`` for standard output, which carries no metadata.
    reports
        One report an entry.
    survey
        What they were made under.
    noise
        What they were drawn with. If left out, what is remembered of the array that :meth:`Mechanism.privatize`
        returned; of any other array or list it is not known, and the metadata say so.
    keep_order
        Whether to leave the order as it is. Where it is sorted by value, or known from elsewhere, it gives values away.

    Simulated reports give a :class:`SimulatedReportsWarning`.

    >>> import tempfile
    >>> from confide import Integers, TruncatedGeometric
    >>> from confide.data.files.writing import read_metadata
    >>> survey = Survey(TruncatedGeometric(Integers(0, 9), epsilon=1.0))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_reports(f"{folder}/reports.csv", survey.mechanism.privatize([3, 4, 4]), survey)
    ...     known = read_metadata(f"{folder}/reports.csv")
    >>> known.noise.value, known.reports
    ('secure generator', 3)
    """
    require_kinds(write_reports, locals())
    drawn = noise_of(reports) if noise is None else Noise(noise)
    alphabet = survey.mechanism.report_alphabet
    array = reports if isinstance(reports, np.ndarray) else alphabet.as_array(reports)
    refuse_outside(array, survey)
    if drawn is Noise.SEEDED:
        warn_simulated(path)
    with report_sink(path, survey, noise=drawn, order="kept" if keep_order else "shuffled") as sink:
        sink.write(array if keep_order else array[permutation(len(array), SecureBits())])


class ReportSink:
    """A file of reports that grows, column by column as its metadata say: CSV, JSON lines or Parquet."""

    def __init__(self, stream: _Watched, facts: Metadata, form: Literal["csv", "json", "parquet"]) -> None:
        self._stream, self._facts, self._form, self._reports = stream, facts, form, 0
        self._names = [*facts.names, *facts.kept]
        self._writer: Any = None  # of Parquet
        if form == "csv":
            stream.put(csv_text(self._names, []))

    @property
    def facts(self) -> Metadata:
        """The metadata of what was written so far."""
        return replace(
            self._facts, reports=self._reports, size=self._stream.size, sha256=self._stream.sha256.hexdigest()
        )

    def write(self, reports: Values, kept: Sequence[Any] = ()) -> None:
        """Add reports, and of each what stands in the kept columns: lists, or arrays of numpy or Arrow."""
        if not reports.shape[0]:
            return
        self._reports += reports.shape[0]
        columns = list(reports.reshape(reports.shape[0], -1).T)
        if self._form == "parquet":
            self._write_table(columns, kept)
            return
        for one in kept:
            values = one.to_pylist() if hasattr(one, "to_pylist") else list(one)
            columns.append(np.empty(len(values), dtype=object))
            columns[-1][:] = values
        if self._form == "csv":
            self._stream.put(_integer_lines(columns) or as_lines(columns))
        else:
            names = (json.dumps(name, ensure_ascii=False).replace("%", "%%") for name in self._names)
            form = "{" + ", ".join(f"{name}: %s" for name in names) + "}"
            texts = [_as_texts(column, _as_json) for column in columns]
            self._stream.put("\n".join(map(form.__mod__, zip(*texts, strict=True))) + "\n")

    def _write_table(self, columns: list[Values], kept: Sequence[Any]) -> None:
        arrow = require("pyarrow")
        # Objects, as pairs of a number and a text have them, become what they hold.
        plain = [np.array(one.tolist()) if one.dtype.kind == "O" else one for one in columns]
        arrays = [arrow.array(np.ascontiguousarray(one)) for one in plain]
        # As texts, and not by way of numpy's, which have no zero at their end; the type of Arrow's own survives.
        arrays += [arrow.array(one.tolist(), arrow.string()) if isinstance(one, np.ndarray) else one for one in kept]
        table = arrow.table(arrays, names=self._names)
        if self._writer is None:
            self._writer = require("pyarrow.parquet").ParquetWriter(self._stream, table.schema)
        self._writer.write_table(table)  # which holds nothing back: the digest in the footer is of all that is above it

    def close(self) -> None:
        """Write what stands at the end."""
        if self._writer is not None:
            self._writer.add_key_value_metadata({PARQUET_KEY: self.facts.to_json().encode()})
            self._writer.close()


@contextlib.contextmanager
def report_sink(
    path: str | Path, survey: Survey, *, noise: Noise, order: Order = "kept", kept: Sequence[str] = ()
) -> Iterator[ReportSink]:
    """Open a file of reports that stands under its name, with its metadata, when it is complete, and not before.

    It is Parquet or JSON lines where the name says so, else CSV, compressed if the name ends in ``.gz``. Parquet
    carries its metadata; beside other files stands a companion, and beside streams and devices nothing.
    """
    facts = Metadata.of(survey, report_columns(survey), noise=noise, order=order, kept=kept)
    with contextlib.ExitStack() as closing:
        # The companion is entered first and so gets its name last, a moment after the file that it describes. Whatever
        # comes between, the digest says that an old companion and a new file do not belong together.
        has_companion = not has_no_name(path) and not str(path).lower().endswith(PARQUET)
        beside = closing.enter_context(whole_file(companion_of(resolved(path)))) if has_companion else None
        stream = _Watched(closing.enter_context(whole_file(path, has_companion=has_companion)))
        name = str(path).lower()
        form: Literal["csv", "json", "parquet"] = "csv"
        if name.endswith(PARQUET) or name.removesuffix(".gz").endswith(JSON_LINES):
            form = "parquet" if name.endswith(PARQUET) else "json"
        with contextlib.ExitStack() as packing:
            if name.endswith(".gz"):
                # Level 6 is the usual compromise: at 9 it takes most of the time of all.
                packed = gzip.GzipFile(fileobj=stream, mode="wb", compresslevel=6, mtime=0)
                stream.packed = packing.enter_context(packed)
            sink = packing.enter_context(contextlib.closing(ReportSink(stream, facts, form)))
            yield sink
        if beside is not None:
            beside.write(sink.facts.companion(resolved(path).name).encode())
            beside.flush()  # a full disk is noticed here, before either has its name


def has_no_name(path: str | Path) -> bool:
    """Whether an output is standard output, a pipe or a device, beside which nothing can stand."""
    return str(path) == STANDARD_STREAM or (Path(path).exists() and not Path(path).is_file())


def where_metadata_stand(path: str | Path) -> str | None:
    """Return which file has the metadata of a file of reports; None of streams and devices."""
    if has_no_name(path):
        return None
    return str(path) if str(path).lower().endswith(PARQUET) else str(companion_of(path))


class _Watched:
    """A stream whose bytes are counted and digested on their way into a file."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self.sha256, self.size = stream, hashlib.sha256(), 0
        self.packed: Any = None
        """What compresses, if anything does, and writes into this."""

    def write(self, content: bytes) -> int:
        self.sha256.update(content)
        self.size += len(content)
        return self._stream.write(content)

    def put(self, text: str | bytes) -> None:
        """Write a text, compressed if need be."""
        (self.packed or self).write(text.encode() if isinstance(text, str) else text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def as_lines(columns: Sequence[Values]) -> str:
    r"""Return columns as lines of CSV.

    >>> as_lines([np.array(["yes", "no, never"])])
    'yes\n"no, never"\n'
    """
    # An empty text alone would be a blank line, and among others needs no quotation marks.
    alone = '""' if len(columns) == 1 else ""
    texts = [_as_texts(column, lambda value: _as_field(value) or alone) for column in columns]
    lines = texts[0] if len(texts) == 1 else map(",".join, zip(*texts, strict=True))
    return "\n".join(lines) + "\n"


def _integer_lines(columns: Sequence[Values]) -> bytes | None:
    r"""Return columns of whole numbers as lines of CSV, five times as fast as others; None where a column is no such.

    >>> _integer_lines([np.array([7, 10]), np.array([-1, 0])])
    b'7,-1\n10,0\n'
    """
    fields = []
    for place, column in enumerate(columns, start=1):
        if column.dtype.kind not in "iu" or int(column.max()) - int(column.min()) > LIMITS.small_range:
            return None
        low, end = int(column.min()), "\n" if place == len(columns) else ","
        # numpy fills the shorter ones up with zeros, and the zeros are taken out again below.
        texts = np.array([f"{number}{end}".encode() for number in range(low, int(column.max()) + 1)])
        fields.append(texts[column - low].view(np.uint8).reshape(column.size, -1))
    return np.hstack(fields).tobytes().replace(b"\0", b"")


def _as_texts(column: Values, as_text: Callable[[Any], str]) -> list[str]:
    """Return a column as a format writes it. Most values occur often, so that each is looked at once."""
    if column.dtype.kind in "iu":
        low, high = int(column.min()), int(column.max())
        if high - low > LIMITS.small_range:
            return list(map(str, column.tolist()))
        texts = list(map(str, range(low, high + 1)))
        return list(map(texts.__getitem__, (column - low).tolist()))
    values = column.tolist()
    if column.dtype.kind == "f":
        return list(map(repr, values))
    written = {value: as_text(value) for value in set(values)}
    return list(map(written.__getitem__, values))


def _as_json(value: Any) -> str:
    """Return a number or a text as JSON, and a time as the text that it is written as; what is no number is null."""
    is_number = not isinstance(value, float) or math.isfinite(value)
    return json.dumps(value if is_number else None, ensure_ascii=False, default=str)


def _as_field(value: Any) -> str:
    text = io.StringIO()
    # What ends a line is quoted only if the writer is told that it does.
    csv.writer(text, lineterminator="\r\n").writerow([str(value).lower() if isinstance(value, bool) else value])
    return text.getvalue().removesuffix("\r\n") if value not in ("", None) else ""
