"""Metadata of a file of reports: its survey, its noise, its order, and a digest by which a changed file is noticed.

A Parquet file carries them under a key of its own. Beside CSV and JSON lines they stand in a companion,
``reports.csv-metadata.json``, which is where the W3C's "CSV on the Web" looks for them.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import quote

from confide.data.files.rows import fields_of, name_columns
from confide.data.files.sheets import JSON_LINES, PARQUET, explained, parquet_explained, require, resolved
from confide.errors import ConfideError, DataFileError, InvalidParameterError
from confide.evidence.origins import Noise, Origin
from confide.mechanisms import Mechanism
from confide.surveys.survey import Survey, parse_survey
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
