"""Files of every kind beside each other, under any name of a column, from a path or a pipe, against plain loops."""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import json
import random
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import pytest
from tests.counting.conftest import rows_of
from typer.testing import CliRunner

import confide as cf
from confide.cli.main import app
from confide.collector.wire import Wire
from confide.data.files.reading import read_value_batches
from confide.data.files.sheets import Reason
from confide.errors import DataFileError

pyarrow = pytest.importorskip("pyarrow", reason="counting needs the extra confide[counting]")
parquet = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("duckdb", reason="counting needs the extra confide[counting]")

SURVEY = cf.Survey(cf.TruncatedGeometric(cf.Integers(-3, 12), epsilon=1.0), "age", "Ages")
Rows = list[tuple[str, int, int]]
"""Group, report and how often."""

Write = Callable[[Path, Rows, str, bool], Path]


def _table(rows: Rows, name: str, has_count: bool) -> tuple[list[str], list[list[Any]]]:
    """Return the header and the rows of a file; without counts each row as often as it counts."""
    if has_count:
        return ["town", name, "count"], [[town, report, count] for town, report, count in rows]
    return ["town", name], [[town, report] for town, report, count in rows for _ in range(count)]


def write_csv(
    path: Path, rows: Rows, name: str, has_count: bool, *, quotes: Literal[0, 1] = csv.QUOTE_MINIMAL, mark: str = ","
) -> Path:
    header, lines = _table(rows, name, has_count)
    with path.with_suffix(".csv").open("w", newline="") as stream:
        csv.writer(stream, delimiter=mark, quoting=quotes).writerows([header, *lines])
    return path.with_suffix(".csv")


def write_quoted(path: Path, rows: Rows, name: str, has_count: bool) -> Path:
    return write_csv(path, rows, name, has_count, quotes=csv.QUOTE_ALL)


def write_semicolons(path: Path, rows: Rows, name: str, has_count: bool) -> Path:
    return write_csv(path, rows, name, has_count, mark=";")


def write_tabs(path: Path, rows: Rows, name: str, has_count: bool) -> Path:
    return write_csv(path, rows, name, has_count, quotes=csv.QUOTE_ALL, mark="\t")


def write_packed(path: Path, rows: Rows, name: str, has_count: bool) -> Path:
    plain = write_csv(path, rows, name, has_count)
    packed = path.with_suffix(".csv.gz")
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    plain.unlink()
    return packed


def write_lines(path: Path, rows: Rows, name: str, has_count: bool) -> Path:
    header, lines = _table(rows, name, has_count)
    text = "".join(json.dumps(dict(zip(header, line, strict=True))) + "\n" for line in lines)
    path.with_suffix(".jsonl").write_text(text)
    return path.with_suffix(".jsonl")


def write_parquet(path: Path, rows: Rows, name: str, has_count: bool, *, as_text: bool = False) -> Path:
    header, lines = _table(rows, name, has_count)
    columns = dict(zip(header, map(list, zip(*lines, strict=True)), strict=True))
    if as_text:
        columns = {key: list(map(str, column)) for key, column in columns.items()}
    parquet.write_table(pyarrow.table(columns), path.with_suffix(".parquet"))
    return path.with_suffix(".parquet")


def write_texts(path: Path, rows: Rows, name: str, has_count: bool) -> Path:
    return write_parquet(path, rows, name, has_count, as_text=True)


WRITERS: dict[str, Write] = {
    "csv": write_csv,
    "quoted csv": write_quoted,
    "csv with semicolons": write_semicolons,
    "quoted csv with tabs": write_tabs,
    "packed csv": write_packed,
    "lines of json": write_lines,
    "parquet": write_parquet,
    "parquet of texts": write_texts,
}
NAMES = ["report", 'a "b" c', "it's", "x.y", "$[0]", "two words", "back\\slash", "count of it", "ünï", "`tick`"]


def some_rows(seed: int) -> Rows:
    draw = random.Random(seed)  # noqa: S311
    return [(draw.choice(["Oslo", "Rome", ""]), draw.randint(-3, 12), draw.randint(1, 3)) for _ in range(12)]


def added(rows: Rows) -> dict[str, Counter[int]]:
    found: dict[str, Counter[int]] = {}
    for town, report, count in rows:
        found.setdefault(town, Counter())[report] += count
    return found


def in_plain(counts: cf.Counts) -> dict[int, int]:
    return dict(zip(counts.reports.tolist(), counts.counts.tolist(), strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_a_column_is_found_by_its_name_in_every_kind_of_file(name: str, tmp_path: Path) -> None:
    for number, (kind, write) in enumerate(WRITERS.items()):
        rows = some_rows(number)
        path = write(tmp_path / f"f{number}", rows, name, (number + len(name)) % 2 == 0)
        assert in_plain(cf.count(path, SURVEY, columns=name)) == sum(added(rows).values(), Counter()), kind


def test_files_of_all_kinds_are_counted_together_with_counts_or_without(tmp_path: Path) -> None:
    """All of them, of which every other one has a column of counts, or all, or none; and each beside itself."""
    mixtures = [(dict.fromkeys(WRITERS, False), "none"), (dict.fromkeys(WRITERS, True), "all")]
    mixtures += [({kind: place % 2 == odd for place, kind in enumerate(WRITERS)}, f"half {odd}") for odd in (0, 1)]
    cases = [(list(mixture.items()), name) for mixture, name in mixtures]
    cases += [([(kind, True), (kind, False)], kind) for kind in WRITERS]
    for number, (files, name) in enumerate(cases):
        everything: Rows = []
        paths = []
        for place, (kind, has_count) in enumerate(files):
            rows = some_rows(100 * number + place)
            everything += rows
            paths.append(WRITERS[kind](tmp_path / f"f{number}_{place}", rows, "report", has_count))
        found = cf.count(paths, SURVEY, by="town")
        assert {town: in_plain(counts) for (town,), counts in found.items()} == added(everything), name


TYPED: dict[str, tuple[cf.Alphabet, list[Any], list[str]]] = {
    "yes or no": (cf.Categories(["true", "false"]), [True, False, True, None], ["true", "false", "true", ""]),
    "names that are numbers": (cf.Categories(["3", "40"]), [3, 40, 40, None], ["3", "40", "40", ""]),
    "names that are fractions": (cf.Categories(["2.5", "0.1"]), [2.5, 0.1, 0.1, None], ["2.5", "0.1", "0.1", ""]),
    "whole numbers": (cf.Integers(-2, 9), [-2, 9, 9, None], ["-2", "9", "9", ""]),
    "whole numbers with a point": (cf.Integers(-2, 9), [-2.0, 9.0, 9.0, None], ["-2", "9", "9", ""]),
    "texts": (cf.Categories(["True", "ünï"]), ["True", "ünï", "ünï", None], ["True", "ünï", "ünï", ""]),
}


@pytest.mark.parametrize("kind", TYPED)
def test_a_value_of_any_type_is_the_same_in_every_kind_of_file(kind: str, tmp_path: Path) -> None:
    """As a report and as a person's own value, in files and on the wire: what it says as a text."""
    alphabet, values, texts = TYPED[kind]
    survey = cf.Survey(cf.RandomizedResponse(alphabet, 1.0), "value")
    expected = Counter(text for text in texts if text)
    for name, column in (("r", "report"), ("v", "value")):
        (tmp_path / f"{name}.csv").write_text("\n".join([column, *(text or '""' for text in texts)]) + "\n")
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps({column: value}) + "\n" for value in values))
        parquet.write_table(pyarrow.table({column: values}), tmp_path / f"{name}.parquet")

    def told(counts: cf.Counts) -> dict[str, float]:
        return dict(zip(map(str, counts.reports.tolist()), counts.counts.tolist(), strict=True))

    for ending in ("csv", "jsonl", "parquet"):
        assert told(cf.count(tmp_path / f"r.{ending}", survey)) == expected, ending
    for ending in ("csv", "parquet"):
        (rows,) = read_value_batches(tmp_path / f"v.{ending}", survey)
        assert told(rows.tally()) == expected, ending
        assert rows.account.rejected == {Reason.MISSING: 1}
    judged = Wire.of(survey).judge(values)
    assert isinstance(judged.counts, dict)
    assert {text.strip('"'): number for text, number in judged.counts.items()} == expected
    assert judged.rejected == [(3, Reason.MISSING)]


COLUMNS: dict[str, tuple[Any, Any]] = {
    "small": (pyarrow.array([3, 4], pyarrow.int8()), pyarrow.array([2, 1], pyarrow.int16())),
    "whole": (pyarrow.array([3, 5]), pyarrow.array([2, 1])),
    "unsigned": (pyarrow.array([3, 6], pyarrow.uint64()), pyarrow.array([2, 1], pyarrow.uint32())),
    "reals": (pyarrow.array([3.0, 4.5]), pyarrow.array([2.0, 1.0])),
    "narrow": (pyarrow.array([3.0, 0.5], pyarrow.float32()), pyarrow.array([2.0, -1.0], pyarrow.float32())),
    "texts": (pyarrow.array(["3", "x"]), pyarrow.array(["2", "y"])),
    "decimals": (pyarrow.array([Decimal("7.0"), Decimal("8.5")]), pyarrow.array([2, 1])),
    "bytes": (pyarrow.array([b"9", b"z"]), pyarrow.array([b"2", b"y"])),
}


@pytest.mark.parametrize("has_count", [True, False])
def test_parquet_files_of_any_types_are_counted_together_as_each_by_itself(has_count: bool, tmp_path: Path) -> None:
    alone: dict[str, cf.Counts] = {}
    for kind, (reports, counts) in COLUMNS.items():
        table = {"town": ["Oslo", "Rome"], "report": reports} | ({"count": counts} if has_count else {})
        parquet.write_table(pyarrow.table(table), tmp_path / f"{kind}.parquet")
        alone[kind] = cf.count(tmp_path / f"{kind}.parquet", SURVEY)
    for one, other in itertools.permutations(COLUMNS, 2):
        both = cf.count([tmp_path / f"{one}.parquet", tmp_path / f"{other}.parquet"], SURVEY)
        assert in_plain(both) == Counter(in_plain(alone[one])) + Counter(in_plain(alone[other])), (one, other)
        parts = [alone[kind].rows.rejected for kind in (one, other)]  # type: ignore[attr-defined]
        assert both.rows.rejected == dict(sum(map(Counter, parts), Counter())), (one, other)


def test_a_fraction_for_a_count_is_refused_beside_files_of_any_type(tmp_path: Path) -> None:
    parquet.write_table(pyarrow.table({"report": [3, 4], "count": [2.0, 2.5]}), tmp_path / "weights.parquet")
    for kind, (_, counts) in COLUMNS.items():
        parquet.write_table(pyarrow.table({"report": [3, 5], "count": counts}), tmp_path / f"{kind}.parquet")
        paths = [tmp_path / f"{kind}.parquet", tmp_path / "weights.parquet"]
        for order in (1, -1):
            with pytest.raises(DataFileError, match="fraction for a count"):
                cf.count(paths[::order], SURVEY)


@pytest.mark.parametrize("order", [1, -1])
def test_a_file_with_another_column_is_named_with_it(order: int, tmp_path: Path) -> None:
    paths = [tmp_path / "usual.csv", tmp_path / "other.csv"]
    for path, name in zip(paths, ("report", "years"), strict=True):
        path.write_text(f"{name}\n3\n")
    said = r"of \S*usual.csv stand in column 'report', but \S*other.csv has no such column; its column 'years' may"
    with pytest.raises(DataFileError, match=said):
        cf.count(paths[::order], SURVEY)


BAD = [
    ("Oslo,3", ""),
    ("Rome,x", "not a number"),
    ("Rome,", "missing"),
    ("Oslo,99", "outside the alphabet"),
    ("Oslo,3,4", "misshapen"),
    ("Oslo", "misshapen"),
    ("", "missing"),
    ("Oslo,4", ""),
]


@pytest.mark.parametrize("is_quoted", [True, False], ids=["quoted", "plain"])
def test_every_row_that_cannot_be_used_has_its_own_reason(is_quoted: bool, tmp_path: Path) -> None:
    lines = [*[line for line, _ in BAD], '"Oslo",5' if is_quoted else "Oslo,5"]
    (tmp_path / "r.csv").write_text("town,report\n" + "\n".join(lines) + "\n")
    (tmp_path / "s.toml").write_text(SURVEY.text())
    said = ["count", str(tmp_path / "s.toml"), str(tmp_path / "r.csv"), "--rejects", str(tmp_path / "no.csv"), "--json"]
    ending = CliRunner().invoke(app, [*said, "-o", str(tmp_path / "c.parquet")])
    assert ending.exit_code == 0, ending.output
    with (tmp_path / "no.csv").open(newline="") as stream:
        listed = Counter(row["reason"] for row in csv.DictReader(stream))
    _, accepted, counted = rows_of(cf.count(tmp_path / "r.csv", SURVEY))
    assert (accepted, counted) == (3, listed), "the account and the list of rejected rows tell the same reasons"
    told = {word: sum(number for reason, number in listed.items() if word in reason) for word in ("missing", "outside")}
    assert told == {"missing": 2, "outside": 1}
    assert sum(listed.values()) == sum(bool(reason) for _, reason in BAD)
    told_rows = json.loads(next(line for line in ending.output.splitlines() if line.startswith("{")))["rows"]
    assert told_rows == {"read": len(lines), "accepted": 3, "rejected": len(lines) - 3, "reasons": listed}


def packed(text: str) -> bytes:
    return gzip.compress(text.encode())


def as_parquet(reports: list[int]) -> bytes:
    stream = io.BytesIO()
    parquet.write_table(pyarrow.table({"report": reports}), stream)
    return stream.getvalue()


PIPED = {
    "csv": b"report\n3\n4\n4\n",
    "csv with a mark": b"\xef\xbb\xbfreport\n3\n4\n4\n",
    "packed csv": packed("report\n3\n4\n4\n"),
    "lines of json": b'{"report": 3}\n{"report": 4}\n{"report": 4}\n',
    "lines of json with a mark": b'\xef\xbb\xbf{"report": 3}\n{"report": 4}\n  \n{"report": 4}\n',
    "parquet": as_parquet([3, 4, 4]),
}


@pytest.mark.parametrize("kind", PIPED)
def test_what_comes_through_a_pipe_is_known_by_its_first_bytes(kind: str, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(SURVEY.text())
    target = tmp_path / "c.parquet"
    said = ["count", str(tmp_path / "s.toml"), "-", "-o", str(target), "--json"]
    ending = CliRunner().invoke(app, said, input=PIPED[kind])
    assert ending.exit_code == 0, ending.output
    assert cf.load_counts(target, SURVEY) == cf.tally([3, 4, 4])


BAD_PIPES: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "standard input is empty"),
    "an array of json": (b'[{"report": 3}, {"report": 4}]', "JSON array"),
    "no column": (b"town,week\nOslo,1\n", "has no column 'report'"),
    "no header": (b"3\n4\n", "needs a header line"),
    "no text": (b"report\n\xff\xfe\n", "is not UTF-8"),
    "an open quote": (b'report\n"3\n', "is not valid CSV"),
    "half a gzip file": (gzip.compress(b"report\n" + b"3\n" * 999)[:20], "is not a whole gzip file"),
    "half a parquet file": (as_parquet([3, 4])[:-9], "is not a whole Parquet file"),
    "no report": (b"report\nx\ny\n", "None of the 2 rows of standard input"),
}


@pytest.mark.parametrize("kind", BAD_PIPES)
def test_what_is_wrong_with_a_pipe_is_said_of_standard_input_and_of_no_other_file(kind: str, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(SURVEY.text())
    content, told = BAD_PIPES[kind]
    target = tmp_path / "c.parquet"
    ending = CliRunner().invoke(app, ["count", str(tmp_path / "s.toml"), "-", "-o", str(target)], input=content)
    said = " ".join(ending.output.split())
    assert ending.exit_code == 4, said
    assert told in said
    assert "standard input" in said
    assert "confide-" not in said.replace(str(tmp_path), "")
    assert not target.exists()
