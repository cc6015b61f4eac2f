"""Counting on Spark, for data on a cluster.

The same SQL and the same answer.
"""

from __future__ import annotations

import contextlib
import csv
import os
import re
import secrets
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

from confide.data.counting import sources
from confide.data.counting.sources import Tallied, to_group_files
from confide.data.files.counts_files import Key
from confide.data.files.reading import find_fault
from confide.data.files.sheets import ColumnPlaces, Reason, Reject, describe_misfit, format_of, require
from confide.data.files.writing import Traces
from confide.errors import DataFileError, InvalidParameterError


class SparkLedger(Tallied):
    """Reports counted on Spark, in the running or a local session."""

    _dialect = sources.Dialect(
        "`",
        {
            **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), "integer"),
            **dict.fromkeys(("float", "double"), "real"),
            **dict.fromkeys(("string", "boolean", "decimal", "char", "varchar"), "text"),
        },
    )

    def __enter__(self) -> Self:
        self._session = self._closing.enter_context(_session())
        self._strays: list[tuple[str, Reason]] = []
        self._counted: Any = None
        self._relations: Sequence[sources.Relation] = ()
        return self

    def count(self, source: Any) -> None:
        """Count a Spark frame, or files that Spark can reach."""
        with _explained():
            if hasattr(source, "createOrReplaceTempView"):
                self._relations = [self._typed(source, "the frame")]
            else:
                paths = [str(source)] if isinstance(source, str | Path) else [str(path) for path in source]
                # Spark finds remote files itself, such as on HDFS; we list local files one by one.
                local, far = ([path for path in paths if ("://" in path) is is_far] for is_far in (False, True))
                elsewhere = tuple((path, None) for path in far)
                files: Sequence[str] = ()
                if not local:
                    self.traces, self.files = Traces(elsewhere, bool(getattr(self._survey, "simulated", ""))), len(far)
                else:
                    files, titles = self._find(local)
                    if self._survey is not None:
                        self.traces = Traces((*elsewhere, *self.traces.files), self.traces.is_simulated)
                    self._digest(files, titles)
                    self.files = max(1, len(far) + sum(Path(path).stat().st_size > 0 for path in files))
                self._relations = self._files([*far, *files])
            views = self._plan(self._relations)
            # Define reports inside the query, so that the session gets no view of that name.
            text = f"WITH reports AS ({views}), {self.query.text.removeprefix('WITH ')}"
            self._counted = self._session.sql(text).persist()
            self._closing.callback(self._counted.unpersist)
            found = self._counted.groupBy("outcome").agg({"row_total": "sum", "people": "sum"})
            sums = found.select("outcome", "sum(row_total)", "sum(people)").collect()
            self._settle(sums, Counter(reason for _, reason in self._strays))
            table = self._view(self._counted)
            self._refuse_bad_design(table, lambda query: self._session.sql(query).collect())

    def batches(self) -> Any:
        """Return groups, reports and counts as sorted Arrow batches."""
        order, totals = self.query.totals(self._view(self._counted))
        accepted = self._session.sql(totals).orderBy(*order)
        with _explained():
            if hasattr(accepted, "toArrow"):
                return accepted.toArrow().to_reader()
            rows = accepted.collect()
            columns = {name: [row[name] for row in rows] for name in accepted.columns}
            return require("pyarrow").table(columns).to_reader()

    def group_files(self) -> dict[Key, int]:
        with _explained():
            found = sources.count_files(self._relations, len(self._request.by))
            return to_group_files(self._session.sql(found).collect())

    def rejects(self) -> Iterator[Reject]:
        """Yield the rejected rows, each as often as it occurs."""
        refused = self._counted.where(f"outcome <> '{sources.ACCEPTED}'").select(
            "outcome", *self.query.part_columns, "row_total"
        )
        with _explained():
            for outcome, *texts, number in refused.orderBy(*self.query.part_columns).toLocalIterator():
                text = sources.shown_text(texts, Reason(outcome))
                # On a cluster rows have no order, so no line number.
                yield from (Reject("Spark", None, text, Reason(outcome)) for _ in range(number))
        yield from (Reject("Spark", None, text, reason) for text, reason in self._strays)

    def _files(self, paths: Sequence[str]) -> list[sources.Relation]:
        found = []
        for path_format in ("parquet", "json", "csv"):
            chosen = [path for path in paths if format_of(path) == path_format]
            if not chosen:
                continue
            # Escape brackets, braces and stars in local paths; remote paths may be patterns for Spark.
            places = [path if "://" in path else re.sub(r"([\[\]{}*?\\])", r"\\\1", path) for path in chosen]
            read = self._session.read
            frame = read.parquet(*places) if path_format == "parquet" else read.text(places)
            frame = frame.selectExpr("*", f"_metadata.file_path AS {sources.FILE}")
            if path_format == "parquet":
                found.append(self._typed(frame, chosen[0]))
            else:
                found.append(self._json(frame) if path_format == "json" else self._csv(frame, chosen))
        return found

    def _typed(self, frame: Any, name: str) -> sources.Relation:
        places = self._choose(name, [column for column in frame.columns if column != sources.FILE], has_lines=False)
        return sources.typed_relation(self._view(frame), name, places, dict(frame.dtypes), self._dialect)

    def _json(self, lines: Any) -> sources.Relation:
        filled = lines.where("trim(value) <> ''")
        first = filled.selectExpr("json_object_keys(value) AS names").where("names IS NOT NULL").head()
        if first is None:
            raise DataFileError("The files have no line that holds a JSON object.")

        def extract(name: str) -> str:
            path = "$['" + name + "']"
            found = f"get_json_object(value, {_literal(path)})"
            return f"CASE WHEN get_json_object(value, '$') IS NULL THEN {sources.BROKEN_SQL} ELSE {found} END"

        places = self._choose("the JSON lines", list(first.names), has_lines=False)
        return sources.text_relation(self._view(filled), places, extract)

    def _csv(self, lines: Any, paths: Sequence[str]) -> sources.Relation:
        """Split lines at the delimiter.

        Set lines of another width than the header aside.
        """
        head = next((row.value for row in lines.where("trim(value) <> ''").take(1)), None)
        if head is None:
            raise DataFileError(f"{paths[0]} is empty; it should hold a header line and one row a report.")
        delimiter = next((mark for mark in ",;\t" if mark in head), ",")
        header = [name.strip() for name in next(csv.reader([head], delimiter=delimiter))]
        places = self._choose(paths[0], header)
        rows = lines.where("value <> " + _literal(head))
        quotes, heads, files = lines.selectExpr(
            "count_if(contains(value, '\"'))",
            f"count_if(value = {_literal(head)})",
            f"count(DISTINCT CASE WHEN value <> '' THEN {sources.FILE} END)",
        ).head()
        if quotes:
            raise DataFileError(
                f"{quotes:,} lines hold quotation marks, and a cluster cannot tell where such rows end. Write the "
                f"reports as Parquet, or count with --engine duckdb."
            )
        if heads < files:
            raise DataFileError(f"Not all {len(paths):,} files begin with the header {head!r}. Count them separately.")
        # A repeated header inside a file is a row like any other, and rejected.
        text = ",".join(places.header[place] for place in places.entry)
        self._strays += [(text, find_fault(self._request, places.names))] * (heads - files)
        width = f"length(value) - length(replace(value, {_literal(delimiter)}, ''))"
        is_odd = f"(value = '' OR {width} <> {len(header) - 1})"
        texts = [row.value for row in rows.where(is_odd).toLocalIterator()]
        # Blank lines at the end of a file are not rows.
        blanks = sum(not text for text in texts) - sum(map(_blank_end, paths))
        self._strays += [("", Reason.MISSING)] * max(0, blanks)
        self._strays += [
            (describe_misfit(text.count(delimiter) + 1, len(header)), Reason.MISSHAPEN) for text in texts if text
        ]
        sound = self._view(rows.where(f"NOT {is_odd}"))
        fields = {name: f"split_part(value, {_literal(delimiter)}, {header.index(name) + 1})" for name in header}
        return sources.text_relation(sound, places, fields.__getitem__)

    def _choose(self, name: str, header: Sequence[str], *, has_lines: bool = True) -> ColumnPlaces:
        places = self._request.choose(name, header, has_lines=has_lines)
        if self.report_names not in ((), places.names):
            raise DataFileError(
                f"{name} has its reports in {' and '.join(places.names)}, other files in "
                f"{' and '.join(self.report_names)}. Name the column that all files have, with --column."
            )
        self.report_names = places.names
        return places

    def _view(self, frame: Any) -> str:
        name = f"confide_{secrets.token_hex(6)}"
        frame.createOrReplaceTempView(name)
        self._closing.callback(frame.sparkSession.catalog.dropTempView, name)
        return name


@contextlib.contextmanager
def _session() -> Iterator[Any]:
    builder = _require_pyspark().SparkSession
    running = builder.getActiveSession()
    if running is not None:
        yield running
        return
    making = builder.builder.master("local[*]").appName("confide")
    settings = {
        # Our own session listens on this machine only.
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": str(os.cpu_count() or 1),
    }
    for key, value in settings.items():
        making = making.config(key, value)
    try:
        with quiet_start():
            session = making.getOrCreate()
    except Exception as error:  # without Java, errors of several types occur
        raise InvalidParameterError(
            f"Spark could not be started ({str(error).splitlines()[0]}). It needs Java 17; or use --engine duckdb."
        ) from None
    try:
        yield session
    finally:
        session.stop()


@contextlib.contextmanager
def quiet_start() -> Iterator[None]:
    """Start Java with its warnings off the terminal.

    They come before a log level can be set. Errors are still raised.
    """
    with tempfile.TemporaryFile() as aside, warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # about the installed pandas
        sys.stderr.flush()
        # Child processes inherit file descriptor 2 as standard error.
        terminal = os.dup(2)
        try:
            os.dup2(aside.fileno(), 2)
            yield
        finally:
            os.dup2(terminal, 2)
            os.close(terminal)


def _require_pyspark() -> Any:
    with warnings.catch_warnings():
        # It warns about the installed pandas, which counting does not use.
        warnings.simplefilter("ignore")
        return require("pyspark.sql", "Counting on Spark", "spark")


@contextlib.contextmanager
def _explained() -> Iterator[None]:
    """Turn errors of Spark and Java into a sentence."""
    _require_pyspark()
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        # Use the root cause of the error, without Java's class names.
        java, message = getattr(error, "java_exception", None) or getattr(error, "_origin", None), str(error)
        with contextlib.suppress(Exception):  # Java may be gone
            while java is not None and java.getCause() is not None:
                java = java.getCause()
            message = message if java is None else java.getMessage() or message
        reason = message.strip().partition("\n")[0].removesuffix(".")
        raise DataFileError(f"The reports cannot be counted: {reason}. Are the files whole?") from None


def _blank_end(path: str) -> int:
    if "://" in path or path.lower().endswith(".gz") or not Path(path).is_file():
        return 0
    tail = Path(path).read_bytes()[-4096:].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return max(0, len(tail) - len(tail.rstrip(b"\n")) - 1)


def _literal(text: str) -> str:
    """Return a text as a Spark literal, with backslashes escaped."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
