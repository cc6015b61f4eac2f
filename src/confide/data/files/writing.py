"""Files written whole or not at all.

Texts, values, rejected rows, and reports with their metadata.
"""

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
from typing import Any, BinaryIO, ClassVar, Literal, get_args
from urllib.parse import quote

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.data.files import sheets
from confide.data.files.sheets import JSON_LINES, LIMITS, PARQUET, STANDARD_STREAM, Reject, require, resolved
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

Order = Literal["shuffled", "kept"]


@dataclass(frozen=True)
class Metadata:
    """Facts about a file of reports, known when it was written.

    Attributes
    ----------
    survey, fingerprint, mechanism
        The text of the survey, its fingerprint, and its mechanism in words.
    columns
        The columns of a report and their datatypes.
    noise
        Where the noise came from.
    order
        Whether the rows were shuffled or keep their order.
    kept
        Columns that were copied. They carry no noise.
    reports
        Number of reports.
    by, repeats
        The column that names a report's wave, and the number of waves: one person may have a report in each. Where
        nobody is in two waves, it is left out.
    size, sha256
        Size in bytes and SHA-256; for Parquet, of the bytes before the footer, which contains these facts.
    """

    # Version of the format. A file of a later one is refused, for what it says may mean something else.
    _version: ClassVar[int] = 1

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
    by: str = ""
    repeats: int = 1

    def __post_init__(self) -> None:
        if self.order not in get_args(Order):
            raise InvalidParameterError(f"order must be one of {', '.join(get_args(Order))}; got {self.order!r}.")
        # These may come from a file that somebody edited.
        if self.reports < 0 or self.size < 0 or self.repeats < 1:
            raise InvalidParameterError(
                f"{self.reports} reports in {self.size} bytes and {self.repeats} waves cannot be."
            )

    @classmethod
    def of(
        cls,
        survey: Survey,
        columns: Sequence[str],
        *,
        noise: Noise,
        order: Order = "kept",
        kept: Sequence[str] = (),
        by: str = "",
    ) -> Metadata:
        """Return the facts about a file that is about to be written."""
        try:
            # The W3C's names of datatypes.
            known = {"whole": "integer", "real": "double", "text": "string"}
            kinds = [known[field.kind] for field in sheets.fields_of(survey.mechanism.report_alphabet)]
        except InvalidParameterError:  # a user's own alphabet, which SQL cannot express
            kinds = ["string"] * len(columns)
        named = tuple(zip(columns, kinds, strict=True))
        fingerprint, mechanism = survey.fingerprint, repr(survey.mechanism)
        return cls(survey.text(), fingerprint, mechanism, named, Noise(noise), order, tuple(kept), by=by)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns of a report."""
        return tuple(name for name, _ in self.columns)

    def require(self, survey: Survey | Mechanism, path: str, name: str) -> None:
        """Refuse reports of another survey, or of another mechanism.

        A bare mechanism has no limits, so any survey with that mechanism fits.
        """
        is_bare = isinstance(survey, Mechanism)
        contract = Survey(survey) if isinstance(survey, Mechanism) else survey
        if not is_bare and self.fingerprint == contract.fingerprint:
            return
        try:
            is_alike = parse_survey(self.survey).mechanism == contract.mechanism
        except ConfideError:  # a user's own mechanism, which a survey's text cannot restore
            is_alike = self.mechanism == repr(contract.mechanism)
        if is_bare and is_alike:
            return
        self.check(path, name)  # first rule out metadata of another file, which say nothing about this one
        alike = " The mechanisms are the same; other settings, such as [limits] or shape, differ."
        raise DataFileError(
            f"{name} was made under another survey: {self.fingerprint}, with {self.mechanism}. This one is "
            f"{contract.fingerprint}, with {contract.mechanism!r}."
            f"{alike if is_alike else ''} Use the survey that the reports were made with."
        )

    def check(self, path: str, name: str) -> None:
        """Refuse a file that changed after these facts were written."""
        with sheets.explained(name):
            # The size first: it reveals most accidents without reading the file.
            size = Path(path).stat().st_size
            if path.lower().endswith(PARQUET):  # whose content ends where its footer begins
                with Path(path).open("rb") as stream:
                    stream.seek(max(0, size - 8))
                    size -= 8 + int.from_bytes(stream.read(4), "little")
            if size != self.size:
                fault = f"it has {size:,} bytes, and {self.size:,} were written"
            elif content_digest(path, size) != self.sha256:
                fault = "its bytes are other ones, by their SHA-256"
            else:
                return
        what, cure = "its metadata", f"leave out the key {PARQUET_KEY.decode()}"
        if not path.lower().endswith(PARQUET):
            what = str(companion_of(path))
            cure = f"delete {what}"
        raise DataFileError(
            f"{name} is not the file that {what} describes: {fault}. Was it cut off, edited or swapped? Copy it again "
            f"from where it was made, with its metadata. If the change was meant, {cure}: nothing is then known of how "
            f"these reports were made."
        )

    def to_json(self) -> str:
        """Return the facts as one JSON object with its digest."""
        written = {"columns": dict(self.columns), "noise": str(self.noise), "kept": list(self.kept)}
        record = {"version": self._version} | vars(self) | written
        if not self.by:  # as files had it before there were waves
            record = {name: value for name, value in record.items() if name not in ("by", "repeats")}
        return json.dumps(record | {"digest": record_digest(record)}, ensure_ascii=False)

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Metadata:
        """Read the object that :meth:`to_json` wrote, and check all of it."""
        facts = dict(record)
        if facts.get("version") != cls._version:
            raise ValueError(f"it is of version {facts.get('version')!r}, and this confide knows {cls._version}")
        if facts.pop("digest", None) != record_digest(facts):
            raise ValueError("its digest is another one")
        del facts["version"]
        lacking = [field.name for field in fields(cls) if field.name not in (*facts, "by", "repeats")]
        if lacking:
            raise ValueError(f"it has no {lacking[0]!r}")
        facts["columns"] = tuple(facts["columns"].items())
        return cls(**facts | {"noise": Noise(facts["noise"]), "kept": tuple(facts["kept"])})

    def companion(self, name: str) -> str:
        """Return the companion of a file: the W3C's description and our facts."""
        named = [*self.columns, *((one, "string") for one in self.kept)]
        # The W3C's names are parts of URLs; the text in the header is a title.
        columns = [{"name": quote(one, safe=""), "titles": one, "datatype": kind} for one, kind in named]
        form = {"delimiter": ",", "header": True, "encoding": "utf-8", "lineTerminators": ["\n"], "quoteChar": '"'}
        dialect = {} if name.lower().removesuffix(".gz").endswith(JSON_LINES) else {"dialect": form}
        facts = {KEY: json.loads(self.to_json())}
        context = "http://www.w3.org/ns/csvw"
        record = {"@context": context, "url": name, **dialect, "tableSchema": {"columns": columns}, **facts}
        return json.dumps(record, ensure_ascii=False, indent=2) + "\n"


def record_digest(record: dict[str, Any]) -> str:
    """Return a checksum against accidents and careless edits, not against attackers."""
    return digest(json.dumps(record, sort_keys=True))


def companion_of(path: str | Path) -> Path:
    """Return the path of a file's companion.

    Beside a link, or beside its target.

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
    """Remove our companions of a file that was replaced.

    They describe the old one.

    Where the companion `is_new`, it replaces the old one anyway, and we only remove one beside a link.
    """
    # A link and its target may each have one.
    own = companion_of(resolved(path))
    for place in {companion_of(path), own} - ({own} if is_new else set()):
        with contextlib.suppress(OSError, ValueError, RecursionError):
            if KEY in json.loads(place.read_bytes()):
                place.unlink()


def is_companion(path: str | Path) -> bool:
    """Whether a file's name is that of a companion.

    >>> is_companion("reports.csv.gz-metadata.json"), is_companion("metadata.json")
    (True, False)
    """
    name = Path(path).name.lower()
    described = name.removesuffix(SUFFIX).removesuffix(".gz")
    return name.endswith(SUFFIX) and described.endswith((".csv", ".tsv", ".txt", *JSON_LINES))


def read_metadata(path: str | Path) -> Metadata | None:
    """Read the metadata of a file of reports, if any.

    :meth:`Metadata.check` tests whether the file still matches them. :func:`write_reports` writes them.

    >>> read_metadata("reports-of-another-program.csv") is None
    True
    """
    require_kinds(read_metadata, locals())
    name = str(path)
    if not Path(name).name:
        raise InvalidParameterError(f"path must name a file; got {name!r}.")
    if name.lower().endswith(PARQUET):
        if Path(name).is_file() and not Path(name).stat().st_size:
            return None  # reading it will raise that it is empty
        with sheets.parquet_explained(name):
            stored = require("pyarrow.parquet").read_metadata(name).metadata or {}
        return _parse(stored[PARQUET_KEY], name) if PARQUET_KEY in stored else None
    place = companion_of(name)
    if not place.exists():
        return None
    with sheets.explained(str(place)):
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
        fault = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        # Python's message about a list or a number instead of an object would not help the user.
        if isinstance(error, TypeError) and not content.lstrip().startswith(b"{"):
            fault = "it is not made of names and what they stand for"
        reason = fault.partition("\n")[0].removesuffix(".")
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
    """Metadata of files of reports, by the files' names in messages.

    Return None if missing.
    """

    files: tuple[tuple[str, Metadata | None], ...] = ()
    is_simulated: bool = False
    """Whether the survey is a simulation, so that all its reports are simulated."""

    @classmethod
    def of(cls, paths: Iterable[str], survey: Survey | Mechanism, titles: dict[str, str] | None = None) -> Traces:
        """Read the metadata of files; refuse other surveys and changed files."""
        found = [((titles or {}).get(path, path), path, read_metadata(path)) for path in paths]
        for name, path, known in found:
            if known is not None:
                known.require(survey, path, name)
        for name, path, known in found:
            if known is not None:
                known.check(path, name)
        return cls(tuple((name, known) for name, _, known in found), bool(getattr(survey, "simulated", "")))

    @property
    def further(self) -> int:
        """Further reports that a person may have in later waves."""
        return sum(known.repeats - 1 for _, known in self.files if known is not None)

    def is_once_by(self, by: Sequence[str]) -> bool:
        """Whether a person has one report in each group."""
        return all(known is None or not known.by or known.by in by for _, known in self.files)

    def origin(self, people: float, columns: Sequence[str]) -> Origin:
        """Return the origin of these reports, as far as metadata prove it."""
        if self.is_simulated:
            return Origin(simulated=people)
        known = [one for _, one in self.files if one is not None and one.names == tuple(columns)]
        proven = sum((Origin.of(one.noise, one.reports) for one in known), Origin())
        # Rejected rows leave fewer reports than the metadata prove, and we cannot know which were lost.
        secure = min(proven.secure, people)
        permanent = min(proven.permanent, people - secure)
        simulated = min(proven.simulated, people - secure - permanent)
        return Origin(secure, simulated, people - secure - permanent - simulated, permanent)

    def notes(self, columns: Sequence[str]) -> list[str]:
        """Say which files have no metadata, and which describe other columns."""
        bare = [name for name, known in self.files if known is None]
        others = [(name, one) for name, one in self.files if one is not None and one.names != tuple(columns)]
        notes = [
            f"{name} says how {sheets.name_columns(one.names)} came about, not {sheets.name_columns(columns)}"
            for name, one in others
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
"""First characters that make a spreadsheet run a text as a formula (OWASP, "CSV injection")."""


def warn_simulated(path: str | Path) -> None:
    """Warn the caller's caller that the reports in a file are simulated."""
    warnings.warn(
        f"The reports for {path} are simulated and protect nobody: anyone who knows the seed can undo the noise. "
        f"Leave out rng= for people's own values.",
        SimulatedReportsWarning,
        stacklevel=3,
    )


def refuse_outside(reports: Values, survey: Survey) -> None:
    """Refuse reports that the survey's mechanism cannot produce."""
    alphabet = survey.mechanism.report_alphabet
    if reports.size and not alphabet.contains(alphabet.as_array(reports)).all():
        raise InvalidParameterError(f"Some of these reports lie outside {alphabet!r}. Are they of another survey?")


def require_ending(path: str | Path, endings: Sequence[str], *, may_lack_one: bool = False) -> None:
    """Refuse a file ending of another format.

    Streams have no ending and are CSV.
    """
    name = Path(path).name.lower()
    if not (may_lack_one and not Path(name).suffix) and not name.endswith(tuple(endings)):
        raise InvalidParameterError(f"{path} should end in {', '.join(endings)}: the ending names the format.")


def report_columns(survey: Survey) -> tuple[str, ...]:
    """Return the columns of a file of reports."""
    return column_names(survey.mechanism.report_alphabet, sheets.REPORT_COLUMN)


def write_values(
    path: str | Path,
    alphabet: Alphabet,
    histogram: NDArray[np.int64],
    places: Alphabet | None = None,
    name: str = "value",
) -> None:
    """Write a histogram as CSV, one row per person.

    For a city with coordinates.
    """
    names, rows = column_names(alphabet, name), as_lists(alphabet.decode(np.arange(alphabet.size)))
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
    """Open a file of rejected rows, readable by its owner alone.

    It may hold true values.
    """
    with whole_file(path, mode=0o600) as stream, csv_writer(stream) as writer:
        writer.writerow(("file", "line", "text", "reason"))
        yield lambda rejects: writer.writerows(
            map(as_shown, (one.file, one.line, one.text, one.reason)) for one in rejects
        )


@contextlib.contextmanager
def csv_writer(stream: Any) -> Iterator[Any]:
    """Write CSV into a stream of bytes, and leave it open."""
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
    yield csv.writer(text, lineterminator="\n")
    text.flush()
    text.detach()


def write_text(path: str | Path, text: str) -> None:
    """Write a text, whole or not at all.

    ``.gz`` is compressed, ``-`` is standard output.
    """
    with whole_file(path) as stream:
        content = text.encode("utf-8")
        # mtime=0, so that the same text makes the same file.
        stream.write(gzip.compress(content, mtime=0) if Path(path).suffix.lower() == ".gz" else content)


@contextlib.contextmanager
def whole_file(path: str | Path, mode: int = 0o666, *, has_companion: bool = False) -> Iterator[BinaryIO]:
    """Open a file that gets its name only when it is complete.

    After a full disk or a kill there is the old file or none. Standard output, ``-``, gets everything at the end or
    nothing. An existing file keeps its mode; a new one has `mode`, less the umask. The companion of the old file is
    removed, unless the new file `has_companion` that replaces it.
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
        raise  # the reader closed the pipe, which is no fault of the file: the command line ends quietly
    except OSError as error:
        name = "The output" if str(path) == STANDARD_STREAM else repr(str(path))
        raise DataFileError(f"{name} cannot be written: {error.strerror or error}.") from None


def check_writable(path: str | Path) -> None:
    """Refuse an output that is a folder or is in none."""
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
        try:  # a nameless file in the same folder, so that a kill leaves nothing; else a file beside it
            number = os.open(beside.parent, os.O_TMPFILE | os.O_RDWR, mode)
        except (AttributeError, OSError):
            number = os.open(beside, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode)
        with os.fdopen(number, "w+b") as stream:
            # Set the mode before writing, so that private content is never readable by others.
            if path.exists():
                os.fchmod(stream.fileno(), path.stat().st_mode & 0o777)
            yield stream
            stream.flush()
            if not beside.exists():
                folder = os.open("/proc/self/fd", os.O_RDONLY)
                try:  # Python follows the link to the nameless file only if src_dir_fd is given
                    os.link(str(stream.fileno()), beside, src_dir_fd=folder, follow_symlinks=True)
                finally:
                    os.close(folder)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def csv_text(header: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """Return a header and rows as exact CSV, for machines."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


def as_shown(value: Any) -> Any:
    """Return a value for a spreadsheet.

    A formula gets an apostrophe in front.

    Numbers stay numbers, also as texts. A text that already has apostrophes before a formula gets another, so that
    :func:`as_meant` restores it.

    >>> as_shown("=1+1"), as_shown("-5"), as_shown("'=1"), as_shown(-5)
    ("'=1+1", '-5', "''=1", -5)
    """
    if not isinstance(value, str) or not value.lstrip("'").startswith(FORMULA_MARKS) or parse_real(value) is not None:
        return value
    return f"'{value}"


def as_meant(text: str) -> str:
    """Undo :func:`as_shown`.

    >>> as_meant("'=1+1"), as_meant("it's")
    ('=1+1', "it's")
    """
    return text[1:] if text.startswith("'") and text.lstrip("'").startswith(FORMULA_MARKS) else text


def column_names(alphabet: Alphabet, name: str) -> tuple[str, ...]:
    """Return the columns of a value.

    This name, or the names of its parts.
    """
    return (name,) if len(alphabet.field_names) == 1 else alphabet.field_names


def as_lists(values: Values) -> list[list[Any]]:
    """Return one list of parts per value."""
    lists: list[list[Any]] = values.reshape(values.shape[0], -1).tolist() if values.size else []
    return lists


def write_reports(
    path: str | Path, reports: ArrayLike, survey: Survey, *, noise: Noise | None = None, keep_order: bool = False
) -> None:
    """Write reports with their metadata as CSV, JSON lines or Parquet.

    The file's ending chooses the format. Reports are shuffled by the operating system's secure generator.

    Parameters
    ----------
    path
        The file; ``-`` for standard output, which has no metadata.
    reports
        One report per entry.
    survey
        The survey of the reports.
    noise
        Where the noise came from. By default, what we know of an array that :meth:`Mechanism.privatize` returned; for
        any other array or list the metadata say that it is unknown.
    keep_order
        Whether to keep the order. An order that is sorted by value or known from elsewhere reveals values.

    Warns
    -----
    SimulatedReportsWarning
        If the reports are simulated.

    Examples
    --------
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
    """A file of reports that grows: CSV, JSON lines or Parquet."""

    def __init__(self, stream: _Watched, facts: Metadata, form: Literal["csv", "json", "parquet"]) -> None:
        self._stream, self._facts, self._form, self._reports = stream, facts, form, 0
        self._names = [*facts.names, *facts.kept]
        self._waves = set[str]()
        self._writer: Any = None  # of Parquet
        if form == "csv":
            stream.put(csv_text(self._names, []))

    @property
    def facts(self) -> Metadata:
        """The metadata of the reports written so far."""
        return replace(
            self._facts,
            reports=self._reports,
            size=self._stream.size,
            sha256=self._stream.sha256.hexdigest(),
            repeats=max(1, len(self._waves)),
        )

    def write(self, reports: Values, kept: Sequence[Any] = ()) -> None:
        """Add reports and their kept columns.

        Lists, or arrays of numpy or Arrow.
        """
        if not reports.shape[0]:
            return
        self._reports += reports.shape[0]
        if self._facts.by:
            self._waves.update(kept[self._facts.kept.index(self._facts.by)].tolist())
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
        # Arrays of objects, such as parts of mixed pairs, get the type of their content.
        plain = [np.array(one.tolist()) if one.dtype.kind == "O" else one for one in columns]
        arrays = [arrow.array(np.ascontiguousarray(one)) for one in plain]
        # As texts, not as numpy's, which cut zero characters off the end; Arrow's own arrays keep their type.
        arrays += [arrow.array(one.tolist(), arrow.string()) if isinstance(one, np.ndarray) else one for one in kept]
        table = arrow.table(arrays, names=self._names)
        if self._writer is None:
            self._writer = require("pyarrow.parquet").ParquetWriter(self._stream, table.schema)
        self._writer.write_table(table)  # it buffers nothing, so the digest in the footer covers all rows above it

    def close(self) -> None:
        """Write the footer of a Parquet file."""
        if self._writer is not None:
            self._writer.add_key_value_metadata({PARQUET_KEY: self.facts.to_json().encode()})
            self._writer.close()


@contextlib.contextmanager
def report_sink(
    path: str | Path, survey: Survey, *, noise: Noise, order: Order = "kept", kept: Sequence[str] = (), by: str = ""
) -> Iterator[ReportSink]:
    """Open a file of reports that gets its name when complete.

    The ending chooses Parquet, JSON lines or CSV, and ``.gz`` compresses. Parquet contains its metadata; other files
    get a companion; streams and devices get none.
    """
    facts = Metadata.of(survey, report_columns(survey), noise=noise, order=order, kept=kept, by=by)
    with contextlib.ExitStack() as closing:
        # The companion is entered first, so it gets its name last, just after its file. If we are killed in between,
        # the digest shows that the old companion does not belong to the new file.
        has_companion = not has_no_name(path) and not str(path).lower().endswith(PARQUET)
        beside = closing.enter_context(whole_file(companion_of(resolved(path)))) if has_companion else None
        stream = _Watched(closing.enter_context(whole_file(path, has_companion=has_companion)))
        name = str(path).lower()
        form: Literal["csv", "json", "parquet"] = "csv"
        if name.endswith(PARQUET) or name.removesuffix(".gz").endswith(JSON_LINES):
            form = "parquet" if name.endswith(PARQUET) else "json"
        with contextlib.ExitStack() as packing:
            if name.endswith(".gz"):
                # Level 6 is the usual compromise: level 9 would take most of the run time.
                packed = gzip.GzipFile(fileobj=stream, mode="wb", compresslevel=6, mtime=0)
                stream.packed = packing.enter_context(packed)
            sink = packing.enter_context(contextlib.closing(ReportSink(stream, facts, form)))
            yield sink
        if beside is not None:
            beside.write(sink.facts.companion(resolved(path).name).encode())
            beside.flush()  # notice a full disk here, before either file has its name


def has_no_name(path: str | Path) -> bool:
    """Whether an output is standard output, a pipe or a device."""
    return str(path) == STANDARD_STREAM or (Path(path).exists() and not Path(path).is_file())


def where_metadata_stand(path: str | Path) -> str | None:
    """Return the file with the metadata of reports.

    Return None for streams and devices.
    """
    if has_no_name(path):
        return None
    return str(path) if str(path).lower().endswith(PARQUET) else str(companion_of(path))


class _Watched:
    """A stream that counts and digests the bytes it writes."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self.sha256, self.size = stream, hashlib.sha256(), 0
        self.packed: Any = None
        """The compressor that writes into this stream, if any."""

    def write(self, content: bytes) -> int:
        self.sha256.update(content)
        self.size += len(content)
        return self._stream.write(content)

    def put(self, text: str | bytes) -> None:
        """Write a text through the compressor, if any."""
        (self.packed or self).write(text.encode() if isinstance(text, str) else text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def as_lines(columns: Sequence[Values]) -> str:
    r"""Return columns as lines of CSV.

    >>> as_lines([np.array(["yes", "no, never"])])
    'yes\n"no, never"\n'
    """
    # An empty text in a single column would be a blank line, so it is quoted there.
    alone = '""' if len(columns) == 1 else ""
    texts = [_as_texts(column, lambda value: _as_field(value) or alone) for column in columns]
    lines = texts[0] if len(texts) == 1 else map(",".join, zip(*texts, strict=True))
    return "\n".join(lines) + "\n"


def _integer_lines(columns: Sequence[Values]) -> bytes | None:
    r"""Return columns of whole numbers as CSV, five times as fast.

    Return None for other columns.

    >>> _integer_lines([np.array([7, 10]), np.array([-1, 0])])
    b'7,-1\n10,0\n'
    """
    fields = []
    for place, column in enumerate(columns, start=1):
        if column.dtype.kind not in "iu" or int(column.max()) - int(column.min()) > LIMITS.small_range:
            return None
        low, end = int(column.min()), "\n" if place == len(columns) else ","
        # numpy pads shorter texts with zero bytes, which we remove below.
        texts = np.array([f"{number}{end}".encode() for number in range(low, int(column.max()) + 1)])
        fields.append(texts[column - low].view(np.uint8).reshape(column.size, -1))
    return np.hstack(fields).tobytes().replace(b"\0", b"")


def _as_texts(column: Values, as_text: Callable[[Any], str]) -> list[str]:
    """Return a column as texts, formatting each distinct value once."""
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
    """Return a number, text or time as JSON.

    Nan and infinity are null.
    """
    is_number = not isinstance(value, float) or math.isfinite(value)
    return json.dumps(value if is_number else None, ensure_ascii=False, default=str)


def _as_field(value: Any) -> str:
    text = io.StringIO()
    # With this line terminator, the writer quotes both \r and \n inside a field.
    csv.writer(text, lineterminator="\r\n").writerow([str(value).lower() if isinstance(value, bool) else value])
    return text.getvalue().removesuffix("\r\n") if value not in ("", None) else ""
