"""Reports, rejected rows and estimates as files: whole, or not at all."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import math
import os
import secrets
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from confide.alphabets import Alphabet, Values
from confide.comparisons import Outcome
from confide.errors import DataFileError
from confide.estimates import Estimate
from confide.intervals import Band, Interval
from confide.reports import Counts
from confide.surveys import ALPHABETS, Survey
from confide.tables.reading import REPORT_COLUMN, Rows
from confide.tables.sheets import COUNT_COLUMN, STANDARD_STREAM
from confide.theory.likely_subsets import LikelySubset
from confide.theory.verdicts import Finding

REJECTION_COLUMNS = ("line", "text", "reason")


def write_reports(path: str | Path, reports: Values, survey: Survey) -> None:
    """Write reports as CSV, one row a report, and nothing but the reports."""
    write_text(path, csv_text(report_columns(survey), _as_lists(reports)))


def report_columns(survey: Survey) -> tuple[str, ...]:
    """Return what the columns of a file of reports are called."""
    return _column_names(survey.mechanism.report_alphabet, REPORT_COLUMN)


def write_values(path: str | Path, alphabet: Alphabet, histogram: NDArray[np.int64], *, counted: bool = False) -> None:
    """Write a histogram as CSV: one row a person or, if `counted`, one row a value and its count."""
    values = _as_lists(alphabet.decode(np.arange(alphabet.size)))
    counts: list[int] = histogram.tolist()
    if counted:
        rows: Iterable[list[Any]] = ([*value, count] for value, count in zip(values, counts, strict=True))
        write_text(path, csv_text((*alphabet.field_names, COUNT_COLUMN), rows))
    else:
        rows = (value for value, count in zip(values, counts, strict=True) for _ in range(count))
        write_text(path, csv_text(alphabet.field_names, rows))


def write_rejections(path: str | Path, rows: Rows) -> None:
    """Write the rejected rows as CSV: line, text and reason."""
    write_text(path, csv_text(REJECTION_COLUMNS, ([one.line, one.text, one.reason] for one in rows.rejected)))


def estimate_csv(survey: Survey, estimate: Estimate, band: Band | None = None) -> str:
    """Return an estimate as CSV: each value, its probability and, with a band, its low and high end."""
    values = _as_lists(estimate.alphabet.decode(np.arange(estimate.alphabet.size)))
    columns = {"probability": estimate.distribution} | ({} if band is None else {"low": band.low, "high": band.high})
    header = (*value_columns(survey, ("low", "high")), *columns)
    numbers = np.column_stack(list(columns.values())).tolist()
    return csv_text(header, ([*value, *row] for value, row in zip(values, numbers, strict=True)))


def value_columns(survey: Survey, taken: Iterable[str] = ()) -> tuple[str, ...]:
    """Return what the columns of a value are called beside its probability and other columns."""
    return _column_names(
        survey.alphabet, survey.name if survey.name not in ("probability", "reports", *taken) else "value"
    )


def estimate_record(
    survey: Survey, counts: Counts, outcome: Outcome, band: Band | None = None, answers: Sequence[Interval] = ()
) -> dict[str, Any]:
    """Return everything that is known about an estimate, ready for :func:`to_json`."""
    answer = outcome.estimate
    return {
        "survey": {"name": survey.name, "title": survey.title},
        "alphabet": alphabet_record(answer.alphabet)
        | {"values": answer.alphabet.decode(np.arange(answer.alphabet.size)).tolist()},
        "mechanism": {"kind": survey.mechanism.kind, "description": repr(survey.mechanism)},
        "guarantee": str(survey.mechanism.guarantee),
        "reports": counts.total,
        "method": answer.method.name,
        "settings": repr(answer.method),
        "status": str(answer.status),
        "explanation": answer.explanation,
        "choices": [asdict(choice) for choice in answer.choices],
        "iterations": answer.iterations,
        "seconds": answer.seconds,
        "log_likelihood": answer.log_likelihood,
        "certificate": answer.certificate,
        "identification": finding_record(answer.identification),
        "emd": outcome.emd,
        "total_variation": outcome.total_variation,
        "distribution": answer.distribution.tolist(),
        "considered": None if answer.considered is None else _considered_record(answer.considered),
        "interval": None if band is None else _band_record(band),
        "queries": [_answer_record(one) for one in answers],
    }


def finding_record(finding: Finding) -> dict[str, Any]:
    """Return a verdict, its reason and what it rests on, ready for :func:`to_json`."""
    return {
        "verdict": str(finding.verdict),
        "reason": finding.reason,
        "source": finding.source,
        "numbers": dict(finding.numbers),
    }


def _band_record(band: Band) -> dict[str, Any]:
    return {
        "level": band.level,
        "low": band.low.tolist(),
        "high": band.high.tolist(),
        "rests_on": band.rests_on,
        "undetermined": None if band.undetermined is None else [ends.tolist() for ends in band.undetermined],
    }


def _answer_record(answer: Interval) -> dict[str, Any]:
    return {
        "query": answer.question,
        "estimate": answer.estimate,
        "low": answer.low,
        "high": answer.high,
        "level": answer.level,
        "rests_on": answer.rests_on,
        "undetermined": None if answer.undetermined is None else list(answer.undetermined),
    }


def _considered_record(subset: LikelySubset) -> dict[str, Any]:
    return {
        "values": subset.alphabet.size,
        "of": repr(subset.whole),
        "proof": subset.proof,
        "reason": subset.reason,
    }


def alphabet_record(alphabet: Alphabet) -> dict[str, Any]:
    """Return what an alphabet is, ready for :func:`to_json`."""
    kinds = [name for name, kind in ALPHABETS.items() if kind is type(alphabet)]
    return {
        "kind": kinds[0] if kinds else _hyphenated(type(alphabet).__name__),
        "size": alphabet.size if alphabet.is_finite and alphabet.size < 2**63 else None,
        "unit": alphabet.unit or None,
        "fields": list(alphabet.field_names),
        "description": repr(alphabet),
    }


def to_json(record: dict[str, Any]) -> str:
    """Return a record as strict JSON, where what is not a finite number is null.

    >>> to_json({"certificate": float("inf")})
    '{"certificate": null}'
    """
    return json.dumps(_finite(record), allow_nan=False, ensure_ascii=False)


def write_text(path: str | Path, text: str) -> None:
    """Write a whole file or none of it; compressed if the name ends in ``.gz``, to standard output if it is ``-``."""
    with whole_file(path) as stream:
        stream.write(_encoded(Path(path), text))


@contextlib.contextmanager
def whole_file(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file for writing that stands under its name when it is complete, and not before.

    Whatever ends the work early, a full disk or a kill, there is either the old file or none. Standard output, ``-``,
    gets everything at the end or nothing.
    """
    check_writable(path)
    try:
        if str(path) == STANDARD_STREAM:
            with tempfile.TemporaryFile() as stream:
                yield stream
                _copy_to_standard_output(stream)
        else:
            with _written_aside(Path(path).resolve()) as stream:
                yield stream
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
    if not place.resolve().parent.is_dir():
        raise DataFileError(f"There is no folder {str(place.parent)!r} to write {place.name!r} into. Make it first.")


def _encoded(path: Path, text: str) -> bytes:
    if path.suffix.lower() != ".gz":
        return text.encode("utf-8")
    import gzip

    return gzip.compress(text.encode("utf-8"), mtime=0)  # the same text makes the same file


def _copy_to_standard_output(stream: BinaryIO) -> None:
    stream.seek(0)
    sys.stdout.flush()
    target = getattr(sys.stdout, "buffer", None)
    while block := stream.read(2**20):
        # A test may have put a stream of text in its place.
        sys.stdout.write(block.decode()) if target is None else target.write(block)
    sys.stdout.flush()  # so that a full disk is noticed here and not at the end


@contextlib.contextmanager
def _written_aside(path: Path) -> Iterator[BinaryIO]:
    if path.exists() and not path.is_file():  # a device or a pipe cannot be renamed over
        with path.open("wb") as stream:
            yield stream
        return
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
    try:
        with _nameless(beside) as stream:
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


def _nameless(beside: Path) -> BinaryIO:
    """Open a file without a name in the same folder, of which a kill leaves nothing; or one beside, if need be."""
    try:
        descriptor = os.open(beside.parent, os.O_TMPFILE | os.O_RDWR, 0o666)
    except (AttributeError, OSError):
        return beside.open("x+b")
    return os.fdopen(descriptor, "w+b")


def csv_text(header: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """Return a header and rows as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


def _column_names(alphabet: Alphabet, name: str) -> tuple[str, ...]:
    return (name,) if len(alphabet.field_names) == 1 else alphabet.field_names


def _as_lists(values: Values) -> list[list[Any]]:
    """Return one list of parts a value."""
    lists: list[list[Any]] = values.reshape(values.shape[0], -1).tolist()
    return lists


def _hyphenated(name: str) -> str:
    """Return the name of a class as names are written in a survey.

    >>> _hyphenated("BitVectors")
    'bit-vectors'
    """
    return "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("-")


def _finite(thing: Any) -> Any:
    if isinstance(thing, dict):
        return {key: _finite(value) for key, value in thing.items()}
    if isinstance(thing, list):
        return [_finite(value) for value in thing]
    return None if isinstance(thing, float) and not math.isfinite(thing) else thing
