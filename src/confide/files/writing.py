"""Files written whole or not at all: texts, values, rejected rows."""

from __future__ import annotations

import contextlib
import csv
import errno
import gzip
import io
import os
import secrets
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from confide.alphabets import Alphabet, Values
from confide.alphabets.numerals import parse_real
from confide.errors import DataFileError, SimulatedReportsWarning
from confide.files.metadata import drop_companions
from confide.files.rows import Reject
from confide.files.sheets import COUNT_COLUMN, REPORT_COLUMN, STANDARD_STREAM, resolved
from confide.surveys import Survey

REJECT_COLUMNS = ("file", "line", "text", "reason")

PRIVATE = 0o600
"""The mode of a new file that holds true values: nobody but its owner reads it."""

FORMULA_MARKS = ("=", "+", "-", "@", "\t", "\r")
"""Spreadsheets take a text that begins with one of these for a formula, which may run commands or send data away
(OWASP, "CSV injection")."""


def warn_simulated(path: str | Path, stacklevel: int = 3) -> None:
    """Warn that simulated reports are about to leave for a file, on behalf of the function that was called."""
    warnings.warn(
        f"The reports for {path} are simulated: their noise comes from a seed, and whoever knows it can undo it. They "
        f"protect nobody. Leave out rng= for people's own values.",
        SimulatedReportsWarning,
        stacklevel=stacklevel,
    )


def report_columns(survey: Survey) -> tuple[str, ...]:
    """Return what the columns of a file of reports are called."""
    return column_names(survey.mechanism.report_alphabet, REPORT_COLUMN)


def write_values(path: str | Path, alphabet: Alphabet, histogram: NDArray[np.int64], *, counted: bool = False) -> None:
    """Write a histogram as CSV: one row a person or, if `counted`, one row a value and its count."""
    values = as_lists(alphabet.decode(np.arange(alphabet.size)))
    counts: list[int] = histogram.tolist()
    if counted:
        rows: Iterable[list[Any]] = ([*value, count] for value, count in zip(values, counts, strict=True))
        write_text(path, csv_text((*alphabet.field_names, COUNT_COLUMN), rows))
    else:
        rows = (value for value, count in zip(values, counts, strict=True) for _ in range(count))
        write_text(path, csv_text(alphabet.field_names, rows))


def write_rejects(path: str | Path, rejects: Iterable[Reject]) -> None:
    """Write rejected rows as CSV: file, line, text and reason."""
    with reject_file(path) as keep:
        keep(rejects)


@contextlib.contextmanager
def reject_file(path: str | Path) -> Iterator[Callable[[Iterable[Reject]], None]]:
    """Open a file of rejected rows. They may be true values: a new file is the owner's alone."""
    with whole_file(path, mode=PRIVATE) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(REJECT_COLUMNS)
        yield lambda rejects: writer.writerows(
            map(as_shown, (one.file, one.line, one.text, one.reason)) for one in rejects
        )
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
                _copy_to_standard_output(stream)
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


def _copy_to_standard_output(stream: BinaryIO) -> None:
    stream.seek(0)
    sys.stdout.flush()
    target = getattr(sys.stdout, "buffer", None)
    while block := stream.read(2**20):
        # A test may have put a stream of text in its place.
        sys.stdout.write(block.decode()) if target is None else target.write(block)
    sys.stdout.flush()  # so that a full disk is noticed here and not at the end


@contextlib.contextmanager
def _written_aside(path: Path, mode: int) -> Iterator[BinaryIO]:
    if path.exists() and not path.is_file():  # a device or a pipe cannot be renamed over
        with path.open("wb") as stream:
            yield stream
        return
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
    try:
        with _nameless(beside, mode) as stream:
            # Before a word is written, so that what nobody else could read never becomes readable.
            if path.exists():
                os.fchmod(stream.fileno(), path.stat().st_mode & 0o777)
            yield stream
            stream.flush()
            if not beside.exists():
                _give_name(stream, beside)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def _give_name(stream: BinaryIO, path: Path) -> None:
    folder = os.open("/proc/self/fd", os.O_RDONLY)
    try:  # with a folder given, Python follows the link to the nameless file; without, it does not
        os.link(str(stream.fileno()), path, src_dir_fd=folder, follow_symlinks=True)
    finally:
        os.close(folder)


def _nameless(beside: Path, mode: int) -> BinaryIO:
    """Open a file without a name in the same folder, of which a kill leaves nothing; or one beside, if need be."""
    try:
        return os.fdopen(os.open(beside.parent, os.O_TMPFILE | os.O_RDWR, mode), "w+b")
    except (AttributeError, OSError):
        return os.fdopen(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode), "w+b")


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
