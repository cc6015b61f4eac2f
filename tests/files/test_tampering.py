"""Files of counts that were damaged or edited on their way: our error, or the right answer, and never anything else."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.counting.conftest import AGES

import confide as cf
from confide.data.counting import merge_files, read_reports
from confide.data.files import Account, GroupedCounts, load_counts, read_counts, save_counts
from confide.data.files.counts_files import METADATA, SUMS, Sums
from confide.errors import ConfideError, DataFileError, InvalidParameterError

pyarrow = pytest.importorskip("pyarrow", reason="counting needs the extra confide[counting]")
parquet = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("duckdb", reason="counting needs the extra confide[counting]")

COUNTS = cf.tally([0, 2, 3, 5, 9], [4, 1, 30, 7, 2])
TOWNS = GroupedCounts(("town",), {("Oslo",): cf.tally([3, 5], [2, 1]), ("Rome",): cf.tally([3], [9])}, Account(12))

Tampering = tuple[str, Callable[[Path], None]]


def edit(change: Callable[[Any], Any], *, is_kept: bool = True) -> Callable[[Path], None]:
    """Return what rewrites a file with its table changed and its metadata kept."""

    def tamper(path: Path) -> None:
        table = parquet.read_table(path)
        changed = change(table)
        parquet.write_table(changed.replace_schema_metadata(table.schema.metadata) if is_kept else changed, path)

    return tamper


def _without_sums(table: Any) -> dict[bytes, bytes]:
    return {key: value for key, value in table.schema.metadata.items() if key != SUMS}


def column(name: str, values: list[Any], kind: Any) -> Callable[[Path], None]:
    def change(table: Any) -> Any:
        place = table.column_names.index(name)
        return table.set_column(place, name, pyarrow.array(values, kind))

    return edit(change)


def heading(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    """Return what changes a file's metadata, and keeps its digest as it was."""

    def tamper(path: Path) -> None:
        table = parquet.read_table(path)
        record = json.loads(table.schema.metadata[METADATA])
        changed = change(record)
        text = changed if isinstance(changed, bytes) else json.dumps(changed).encode()
        parquet.write_table(table.replace_schema_metadata(table.schema.metadata | {METADATA: text}), path)

    return tamper


def signed(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[Path], None]:
    """Return what changes a file's metadata, and makes the digest fit."""
    from confide.data.files.writing import record_digest

    def resign(record: dict[str, Any]) -> dict[str, Any]:
        record.pop("digest")
        changed = change(record)
        return changed | {"digest": record_digest(changed)}

    return heading(resign)


def put(content: bytes) -> Callable[[Path], None]:
    def tamper(path: Path) -> None:
        path.write_bytes(content)

    return tamper


def set_survey(**changes: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda record: record | {"surveys": [record["surveys"][0] | changes]}


INT, FLOAT, TEXT = pyarrow.int64(), pyarrow.float64(), pyarrow.string()

BY_HAND: dict[str, Callable[[Path], None]] = {
    "a negative count": column("count", [4, 1, -5, 7, 2], INT),
    "a huge count": column("count", [4, 1, 2**53, 7, 2], INT),
    "the largest count": column("count", [4, 1, 2**63 - 1, 7, 2], INT),
    "no count": column("count", [4, None, 30, 7, 2], INT),
    "counts as floats": column("count", [4.0, 1.0, 30.5, 7.0, 2.0], FLOAT),
    "counts as texts": column("count", ["4", "1", "x", "7", "2"], TEXT),
    "narrow counts": column("count", [4, 1, 30, 7, 2], pyarrow.int16()),
    "counts as lists": column("count", [[4], [1], [30], [7], [2]], pyarrow.list_(INT)),
    "counts as yes and no": column("count", [True] * 5, pyarrow.bool_()),
    "counts as times": column("count", [4, 1, 30, 7, 2], pyarrow.timestamp("s")),
    "no report": column("report", [0, 2, None, 5, 9], INT),
    "a report outside": column("report", [0, 2, 3, 5, 10], INT),
    "a report below": column("report", [-1, 2, 3, 5, 9], INT),
    "a report far out": column("report", [0, 2, 3, 5, 2**63 - 1], INT),
    "a report twice": column("report", [0, 2, 3, 3, 9], INT),
    "a report twice, apart": column("report", [0, 2, 3, 5, 0], INT),
    "reports as texts": column("report", ["0", "2", "3", "5", "9"], TEXT),
    "reports as floats": column("report", [0, 2, 3, 5, 9], FLOAT),
    "another name": edit(lambda table: table.rename_columns(["reports", "count"])),
    "another order": edit(lambda table: table.select(["count", "report"])),
    "one column less": edit(lambda table: table.select(["report"])),
    "one column more": edit(lambda table: table.append_column("town", pyarrow.array(["x"] * 5))),
    "other counts of the same sum": column("count", [2, 7, 30, 1, 4], INT),
    "more counts than were counted": column("count", [4, 1, 1030, 7, 2], INT),
    "other reports": column("report", [0, 2, 3, 5, 8], INT),
    "no sums": edit(lambda table: table.replace_schema_metadata(_without_sums(table)), is_kept=False),
    "put behind itself": edit(lambda table: pyarrow.concat_tables([table, table])),
    "a fingerprint of nothing": heading(set_survey(fingerprint="0" * 16)),
    "another epsilon": heading(
        lambda record: set_survey(text=record["surveys"][0]["text"].replace("1.0", "0.5"))(record)
    ),
    "no survey": heading(lambda record: record | {"surveys": []}),
    "no digest": heading(lambda record: {key: value for key, value in record.items() if key != "digest"}),
    "no JSON": heading(lambda _: b"{"),
    "no UTF-8": heading(lambda _: b"\xff\xfe"),
    "nested without end": heading(lambda _: b"[" * 100_000),
    "a list": heading(lambda record: [record]),
    "a number": heading(lambda _: 5),
    "rows below zero": signed(lambda record: record | {"accepted": -44}),
    "rows as a text": signed(lambda record: record | {"accepted": "44"}),
    "rows that are half": signed(lambda record: record | {"accepted": 4.5}),
    "rows that are yes": signed(lambda record: record | {"accepted": True}),
    "an unknown reason": signed(lambda record: record | {"rejected": {"bad luck": 1}}),
    "reasons below zero": signed(lambda record: record | {"rejected": {"missing": -1}}),
    "reasons as a list": signed(lambda record: record | {"rejected": ["missing"]}),
    "groups by a number": signed(lambda record: record | {"by": [1]}),
    "groups by the report": signed(lambda record: record | {"by": ["report"]}),
    "groups that are not there": signed(lambda record: record | {"by": ["town"]}),
    "a wrong fingerprint, signed": signed(set_survey(fingerprint="0" * 16)),
    "a survey of nothing, signed": signed(set_survey(text="")),
    "a survey of words, signed": signed(set_survey(text="name = 5")),
    "a survey that is no text, signed": signed(set_survey(text=5)),
    "another epsilon, signed": signed(
        lambda record: set_survey(text=record["surveys"][0]["text"].replace("1.0", "0.5"))(record)
    ),
    "the same survey twice, signed": signed(lambda record: record | {"surveys": record["surveys"] * 2}),
    "nothing at all": put(b""),
    "a text": put(b"report,count\n3,2\n"),
}

HARMLESS: dict[str, Callable[[Path], None]] = {
    "written again": edit(lambda table: table),
    "rows in another order": edit(lambda table: table.take([4, 0, 3, 1, 2])),
}


def at_random() -> Iterator[Tampering]:
    """Bytes changed, lost, added and swapped, wherever they stand."""
    chance = random.Random(20261115)  # noqa: S311 - damage need not be secret
    for number in range(160):
        place, value, length = chance.random(), chance.randrange(256), chance.choice([1, 1, 1, 2, 5, 40])
        kind = chance.choice(["change", "change", "change", "cut", "drop", "insert", "swap"])

        def tamper(
            path: Path, kind: str = kind, place: float = place, value: int = value, length: int = length
        ) -> None:
            content = bytearray(path.read_bytes())
            start = int(place * len(content))
            if kind == "change":
                content[start : start + length] = bytes([value]) * len(content[start : start + length])
            elif kind == "cut":
                del content[start:]
            elif kind == "drop":
                del content[start : start + length]
            elif kind == "insert":
                content[start:start] = bytes([value]) * length
            else:
                content[start : start + length] = reversed(content[start : start + length])
            path.write_bytes(content)

        yield f"{number}: {kind} {length} at {place:.3f}", tamper


def sound(path: Path, target: Path) -> None:
    """Read in all four ways: each gives our error and no output, or what was saved."""
    readings: list[Callable[[], cf.Counts]] = [
        lambda: read_counts(path).groups[()][0],
        lambda: load_counts(path, AGES),  # type: ignore[return-value, list-item]  # there are no groups
        lambda: read_reports(path, AGES).counts,
        lambda: (merge_files([path], target), read_counts(target).groups[()][0])[1],
    ]
    for read in readings:
        found, told = outcome(read)
        assert found is None or sorted_counts(found) == COUNTS
        assert found is not None or (str(path) in told and not target.exists())
        target.unlink(missing_ok=True)


def outcome(read: Callable[[], cf.Counts]) -> tuple[cf.Counts | None, str]:
    """Return what was read, or what we said instead; anything else that is raised is a fault."""
    try:
        return read(), ""
    except ConfideError as error:
        return None, str(error)


def sorted_counts(counts: cf.Counts) -> cf.Counts:
    return cf.tally(counts.reports, counts.counts)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    save_counts(tmp_path / "c.parquet", COUNTS, AGES)
    return tmp_path / "c.parquet"


@pytest.mark.parametrize("name", BY_HAND)
def test_an_edited_file_is_refused(path: Path, tmp_path: Path, name: str) -> None:
    BY_HAND[name](path)
    with pytest.raises(DataFileError, match=r"c\.parquet"):
        read_counts(path)
    with pytest.raises(DataFileError, match=r"c\.parquet"):
        merge_files([path], tmp_path / "out.parquet")
    assert [one.name for one in tmp_path.iterdir()] == ["c.parquet"]


def test_rows_that_got_lost_in_another_program_are_missed(path: Path) -> None:
    parquet.write_table(parquet.read_table(path).slice(0, 1), path)
    with pytest.raises(DataFileError, match="its counts are not those that it says were counted"):
        read_counts(path)


@pytest.mark.parametrize("name", HARMLESS)
def test_a_harmless_edit_changes_nothing(path: Path, tmp_path: Path, name: str) -> None:
    HARMLESS[name](path)
    sound(path, tmp_path / "out.parquet")
    assert sorted_counts(read_counts(path).groups[()][0]) == COUNTS


@pytest.mark.slow
def test_damaged_bytes_are_noticed(tmp_path: Path) -> None:
    for name, tamper in at_random():
        path = tmp_path / "c.parquet"
        save_counts(path, COUNTS, AGES)
        tamper(path)
        try:
            sound(path, tmp_path / "out.parquet")
        except Exception as error:
            raise AssertionError(name) from error


@pytest.mark.slow
def test_no_single_bit_changes_the_answer(path: Path) -> None:
    """In every byte of the file: what is not noticed by one check is noticed by another."""
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 2]) + whole[place + 1 :])
        found, told = outcome(lambda: read_counts(path).groups.get((), {}).get(0, cf.tally([])))
        assert found == COUNTS or (found is None and str(path) in told), place


def test_the_digest_is_of_the_rows_and_not_of_their_order_or_batches() -> None:
    """A report swapped between two groups, or with its count, changes it."""

    def text(*batches: tuple[list[str | None], list[int], list[int]]) -> bytes:
        sums = Sums()
        for towns, reports, counts in batches:
            columns = [pyarrow.array(towns, TEXT), pyarrow.array(reports, INT), pyarrow.array(counts, INT)]
            sums.add(pyarrow.record_batch(columns, names=["town", "report", "count"]))
        return sums.text

    whole = text((["Oslo", "Rome", None], [3, 5, 7], [5, 3, 9]))
    assert whole == text((["", "Oslo"], [7, 3], [9, 5]), (["Rome"], [5], [3]))
    for towns, reports, counts in (
        (["Rome", "Oslo", None], [3, 5, 7], [5, 3, 9]),
        (["Oslo", "Rome", None], [5, 3, 7], [5, 3, 9]),
        (["Oslo", "Rome", None], [5, 3, 7], [3, 5, 9]),
        (["Oslo", "Rome", None], [3, 5, 7], [9, 3, 5]),
    ):
        assert whole != text((towns, reports, counts))


def test_sums_of_large_counts_are_exact() -> None:
    sums = Sums()
    for _ in range(3):
        sums.add(pyarrow.record_batch([[1, 2, 3, 4], [2**52, 2**52 + 1, 2**40, 5]], names=["report", "count"]))
    assert (sums.rows, sums.people) == (12, 3 * (2**53 + 2**40 + 6))


@pytest.mark.slow
def test_a_tampered_file_of_counts_as_csv(tmp_path: Path) -> None:
    """CSV carries no survey and no checksum: an edit that leaves it sound is taken, anything else is rejected."""
    path = tmp_path / "c.csv"
    for content, answer in {
        "report,count\n0,4\n3,30\n": cf.tally([0, 3], [4, 30]),
        "report,count\n3,4\n3,30\n": cf.tally([3], [34]),
        "report,count\n3,4\n3,-5\n": None,
        "report,count\n3,4\n,5\n": None,
        "report,count\n3,4\n5,\n": None,
        "report,count\n3,4\n10,5\n": None,
        f"report,count\n3,{2**53}\n": None,
        f"report,count\n3,{2**53 + 1}\n": None,
        f"report,count\n3,{2**53 - 1}\n": cf.tally([3], [2**53 - 1]),
        "report,count\n3,4.5\n": None,
        "report,count\n3,4\nreport,count\n3,5\n": None,
        "report,count\n3\n": None,
        'report,count\n"3,4\n': None,
        "report,count\n": None,
        "count\n4\n": None,
    }.items():
        path.write_text(content)
        for found, told in (
            outcome(lambda: read_reports(path, AGES).counts),
            outcome(lambda: cf.count(path, AGES, strict=True)),
        ):
            assert found == answer, content
            assert found is not None or "c.csv" in told


@pytest.mark.slow
def test_random_damage_to_csv_is_an_error_or_rows(tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    for number, (name, tamper) in enumerate(at_random()):
        path.write_text("report,count\n" + "".join(f"{place % 10},{place}\n" for place in range(30)))
        tamper(path)
        found, told = outcome(lambda: read_reports(path, AGES, rejects=tmp_path / "rejects.csv").counts)
        assert found is not None or "c.csv" in told, name
        if number % 5 == 0:  # the engine takes longer to start than to count; that it reads alike is tested elsewhere
            assert outcome(lambda: cf.count(path, AGES))[0] == found, name


def test_groups_and_pools_are_checked_too(tmp_path: Path) -> None:
    path = tmp_path / "towns.parquet"
    save_counts(path, TOWNS, AGES)
    assert dict(load_counts(path, AGES)) == dict(TOWNS)  # type: ignore[arg-type]
    edit(lambda table: table.take([2, 0, 1]))(path)
    assert dict(load_counts(path, AGES)) == dict(TOWNS)  # type: ignore[arg-type]
    edit(lambda table: table.take([0, 1, 2, 0]))(path)
    with pytest.raises(DataFileError, match=r"not those that it says were counted.*put behind one another"):
        load_counts(path)
    careful = cf.Survey(cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=0.2), name="age")
    for name, contract in (("a", AGES), ("b", careful)):
        save_counts(tmp_path / f"{name}.parquet", COUNTS, contract)
    pool = tmp_path / "pool.parquet"
    merge_files([tmp_path / "a.parquet", tmp_path / "b.parquet"], pool, is_pool=True)
    with pytest.raises(DataFileError, match="2 surveys"):
        load_counts(pool)
    column("survey", [0] * 5 + [2] * 5, INT)(pool)
    with pytest.raises(DataFileError, match="survey number 2, and 2 surveys"):
        read_counts(pool)


def test_what_cannot_be_saved(tmp_path: Path) -> None:
    path = tmp_path / "c.parquet"
    for counts, message in (
        (cf.tally([3, 4]).with_repeats(2).independent, "whole numbers"),
        (cf.tally([10]), "outside"),
        (cf.tally(["x"]), "outside"),
    ):
        with pytest.raises(InvalidParameterError, match=message):
            save_counts(path, counts, AGES)
    with pytest.raises(DataFileError, match=r"add up to 2\*\*53 or more"):
        save_counts(path, cf.tally([3], [2.0**53]), AGES)
    save_counts(path, COUNTS, AGES)
    with pytest.raises(DataFileError, match="another survey"):
        load_counts(path, cf.Survey(cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=0.2)))


def test_every_kind_of_report_is_saved_and_loaded(tmp_path: Path) -> None:
    from tests.cli.surveys import FINITE, some_values, survey

    for name, text in FINITE.items():
        contract = survey(text)
        counts = cf.tally(contract.mechanism.privatize(some_values(contract.alphabet), rng=1))
        save_counts(tmp_path / "c.parquet", counts, contract)
        assert load_counts(tmp_path / "c.parquet", contract) == counts, name


def test_a_copy_is_not_merged_without_a_word(path: Path, tmp_path: Path) -> None:
    copy, target = tmp_path / "copy.parquet", tmp_path / "out.parquet"
    copy.write_bytes(path.read_bytes())
    with pytest.raises(DataFileError, match=r"copy\.parquet holds the same counts as .*c\.parquet"):
        merge_files([path, copy], target)
    (tmp_path / "link.parquet").symlink_to(path)
    with pytest.raises(DataFileError, match="named 2 times"):
        merge_files([path, tmp_path / "link.parquet"], target)
    assert not target.exists()
    merge_files([path, copy], target, allow_copies=True)
    assert load_counts(target) == cf.merge([COUNTS, COUNTS])
