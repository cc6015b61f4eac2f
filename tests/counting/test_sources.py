"""Files are taken by their names, pipes are read, and an interruption ends at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from tests.counting.conftest import AGES, Save

import confide as cf
from confide.data.counting import duck, merge_files
from confide.data.files import load_counts, read_counts, read_heading, save_counts
from confide.errors import DataFileError

pyarrow = pytest.importorskip("pyarrow", reason="counting needs the extra confide[counting]")
parquet = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("duckdb", reason="counting needs the extra confide[counting]")

NAMES = {"day[1].parquet": "day1.parquet", "glob*.parquet": "globe.parquet", "what?.parquet": "whatx.parquet"}


@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_is_named_is_merged_and_no_other(tmp_path: Path, name: str) -> None:
    save_counts(tmp_path / name, cf.tally([3]), AGES)
    save_counts(tmp_path / NAMES[name], cf.tally([7, 7]), AGES)
    save_counts(tmp_path / "other.parquet", cf.tally([5]), AGES)
    heading = merge_files([tmp_path / name, tmp_path / "other.parquet"], tmp_path / "out.parquet")
    assert load_counts(tmp_path / "out.parquet") == cf.tally([3, 5])
    assert heading.rows.accepted == 2


@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_is_named_is_counted_and_no_other(save: Save, tmp_path: Path, name: str) -> None:
    for ending in ("csv", "parquet", "jsonl"):
        one, other = (tmp_path / text.replace("parquet", ending) for text in (name, NAMES[name]))
        for path, report in ((one, 3), (other, 7)):
            if ending == "parquet":
                parquet.write_table(pyarrow.table({"report": [report]}), path)
            else:
                path.write_text(f"report\n{report}\n" if ending == "csv" else f'{{"report": {report}}}\n')
        assert cf.count(one, AGES) == cf.tally([3])


def test_a_name_that_is_no_file_is_a_pattern(tmp_path: Path) -> None:
    for number in (1, 2):
        save_counts(tmp_path / f"day{number}.parquet", cf.tally([number]), AGES)
    merge_files([tmp_path / "day[12].parquet"], tmp_path / "out.parquet")
    assert load_counts(tmp_path / "out.parquet") == cf.tally([1, 2])
    with pytest.raises(DataFileError, match="No file matches"):
        merge_files([tmp_path / "week*.parquet"], tmp_path / "out.parquet")
    with pytest.raises(DataFileError, match="named 2 times"):
        merge_files([tmp_path / "day*.parquet", tmp_path / "day1.parquet"], tmp_path / "sum.parquet")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names are for POSIX")
@pytest.mark.parametrize("form", ["csv", "gz", "jsonl", "parquet"])
def test_a_pipe_is_counted(tmp_path: Path, form: str) -> None:
    import gzip

    parquet.write_table(pyarrow.table({"report": [3, 4, 3]}), tmp_path / "r.parquet")
    content = {
        "csv": b"report\n3\n4\n3\n",
        "gz": gzip.compress(b"report\n3\n4\n3\n", mtime=0),
        "jsonl": b'{"report": 3}\n{"report": 4}\n{"report": 3}\n',
        "parquet": (tmp_path / "r.parquet").read_bytes(),
    }[form]
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(content,))
    writer.start()
    assert cf.count(pipe, AGES) == cf.tally([3, 4, 3])
    writer.join()


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="process substitution is for POSIX")
@pytest.mark.slow
def test_process_substitution(save: Save, tmp_path: Path) -> None:
    (tmp_path / "survey.toml").write_text(AGES.text())
    save("report\n3\nx\n", "a.csv")
    save("report\n4\n", "b.csv")
    command = "python -m confide count survey.toml <(cat a.csv) <(cat b.csv) -o c.csv --rejects x.csv"
    done = subprocess.run(
        ["bash", "-c", command.replace("python", sys.executable)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "c.csv").read_text() == "report,count\n3,1\n4,1\n"
    assert ",3,x,not a number" in (tmp_path / "x.csv").read_text()
    assert "/dev/fd/" in (tmp_path / "x.csv").read_text()


@pytest.mark.skipif(os.name != "posix", reason="signals are for POSIX")
@pytest.mark.parametrize("command", ["count", "merge"])
@pytest.mark.slow
def test_an_interruption_inside_duckdb_ends_quietly(tmp_path: Path, command: str) -> None:
    """As Ctrl-C has it: exit code 130, no traceback and no output. The query is one that would not end."""
    code = (
        "import sys, duckdb\n"
        "from confide.data.counting import duck\n"
        "unbounded = 'SELECT SUM(hash(range) % 7) FROM range(100000000000)'\n"
        "def count(self, found):\n"
        "    with duck._explained('The reports cannot be counted'):\n"
        "        print('begun', flush=True); duck._execute(self._connection, unbounded)\n"
        "def refuse(file, heading, connection):\n"
        "    print('begun', flush=True); duck._execute(connection, unbounded)\n"
        "duck.DuckLedger._count, duck._refuse_unsound = count, refuse\n"
        "from confide.__main__ import main\n"
        "main()\n"
    )
    (tmp_path / "survey.toml").write_text(AGES.text())
    (tmp_path / "r.csv").write_text("report\n3\n")
    save_counts(tmp_path / "c.parquet", cf.tally([3]), AGES)
    arguments = {"count": ["survey.toml", "r.csv"], "merge": ["c.parquet"]}[command]
    with subprocess.Popen(
        [sys.executable, "-c", code, command, *arguments, "-o", "out.parquet"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "begun\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        try:
            assert process.wait(30) == 130
        finally:
            process.kill()
        assert "Traceback" not in process.stderr.read()
    assert not (tmp_path / "out.parquet").exists()


def test_merging_keeps_the_rejected_rows_of_all_files(save: Save, tmp_path: Path) -> None:
    from tests.cli.conftest import SURVEY

    (tmp_path / "survey.toml").write_text(SURVEY)
    survey = cf.load_survey(tmp_path / "survey.toml")
    for number, text in enumerate(("3\nx\n", "4\n70\n70\n", "5\ny\n\n")):
        counts = cf.count(save(f"report\n{text}6\n", f"{number}.csv"), survey)
        save_counts(tmp_path / f"{number}.parquet", counts, survey)
    merge_files([tmp_path / f"{number}.parquet" for number in range(3)], tmp_path / "all.parquet")
    rows = read_heading(tmp_path / "all.parquet").rows
    assert (rows.accepted, {str(why): number for why, number in rows.rejected.items()}) == (
        6,
        {"not a number": 2, "outside the alphabet": 2, "missing": 1},
    )


@pytest.mark.slow
def test_pooled_counts_stay_with_their_survey_in_any_order(tmp_path: Path) -> None:
    """Three surveys, merged twice in orders that are not that of their fingerprints."""
    surveys = [
        cf.Survey(cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=epsilon), name="age") for epsilon in (1.0, 0.2, 3.0)
    ]
    counts = [cf.tally([1], [10]), cf.tally([2, 3], [20, 1]), cf.tally([4], [40])]
    paths = []
    for number, (survey, one) in enumerate(zip(surveys, counts, strict=True)):
        paths.append(tmp_path / f"{number}.parquet")
        save_counts(paths[-1], one, survey)
    from itertools import permutations

    for order in permutations(range(3)):
        first = tmp_path / f"first{order}.parquet"
        merge_files([paths[order[0]], paths[order[1]]], first, is_pool=True)
        # The second of the two comes first this time: the numbers of the surveys in the pool change places.
        again = tmp_path / f"again{order}.parquet"
        save_counts(again, cf.tally([0], [5]), surveys[order[1]])
        merge_files([again, paths[order[2]], first], tmp_path / f"all{order}.parquet", is_pool=True)
        pool = read_counts(tmp_path / f"all{order}.parquet").pools[()]
        found = {mechanism.guarantee: one for one, mechanism in pool}
        expected = {survey.mechanism.guarantee: one for survey, one in zip(surveys, counts, strict=True)}
        expected[surveys[order[1]].mechanism.guarantee] += cf.tally([0], [5])
        assert found == expected, order


def test_an_empty_group_and_a_group_without_a_name_are_one(save: Save, tmp_path: Path) -> None:
    parquet.write_table(pyarrow.table({"town": ["", None, "Oslo"], "report": [3, 3, 4]}), tmp_path / "r.parquet")
    quoted = save('town,report\n"",3\nOslo,4\n', "q.csv")
    plain = save("town,report\n,3\nOslo,4\n", "p.csv")
    groups = cf.count([tmp_path / "r.parquet", quoted, plain], AGES, by="town")
    assert dict(groups) == {("",): cf.tally([3], [4]), ("Oslo",): cf.tally([4], [3])}
    save_counts(tmp_path / "c.parquet", groups, AGES)
    assert dict(load_counts(tmp_path / "c.parquet")) == dict(groups)  # type: ignore[arg-type]


def test_real_reports_are_rounded_half_to_even_as_python_does(tmp_path: Path) -> None:
    """A report that lies between two that the mechanism can make goes to the even one, whichever reads it."""
    from confide.data.files import read_report_rows

    survey = cf.Survey(cf.Laplace(cf.Integers(0, 9), epsilon=1.0))
    resolution = survey.mechanism.report_alphabet.RESOLUTION  # type: ignore[attr-defined]
    halves = [(number + 0.5) / resolution for number in (-4, -3, -2, -1, 0, 1, 2, 3)]
    path = tmp_path / "r.csv"
    path.write_text("report\n" + "".join(f"{half!r}\n" for half in halves))
    expected = [round(half * resolution) for half in halves]
    assert expected == [-4, -2, -2, 0, 0, 2, 2, 4]
    for counts in (cf.count(path, survey), read_report_rows(path, survey).tally()):
        assert (counts.reports * resolution).tolist() == sorted(set(expected))
        assert counts.counts.tolist() == [1, 2, 2, 2, 1]
    parquet.write_table(pyarrow.table({"report": halves}), tmp_path / "r.parquet")
    assert cf.count(tmp_path / "r.parquet", survey) == cf.count(path, survey)


def test_the_same_file_is_counted_once(save: Save, tmp_path: Path) -> None:
    path = save("report\n3\n")
    (tmp_path / "link.csv").symlink_to(path)
    with pytest.raises(DataFileError, match="named 2 times"):
        cf.count([path, tmp_path / "link.csv"], AGES)


def test_sums_that_no_file_can_hold_are_refused(save: Save, tmp_path: Path) -> None:
    big = 2**53 - 1
    path = save(f"report,count\n3,{big}\n3,{big}\n")
    counts = cf.count(path, AGES)
    with pytest.raises(DataFileError, match=r"add up to 2\*\*53 or more"):
        save_counts(tmp_path / "c.parquet", counts, AGES)
    for name in ("a", "b"):
        save_counts(tmp_path / f"{name}.parquet", cf.tally([3, 4], [big - 200, ord(name)]), AGES)
    with pytest.raises(DataFileError, match=r"add up to 2\*\*53 or more"):
        merge_files([tmp_path / "a.parquet", tmp_path / "b.parquet"], tmp_path / "out.parquet")
    assert not (tmp_path / "out.parquet").exists()


def lose_rows(monkeypatch: pytest.MonkeyPatch, times: int) -> list[int]:
    """Let DuckDB lose a row each of the first `times` times that it counts, and return what notes each count."""
    counted: list[int] = []
    execute = duck._execute

    def lose(connection: Any, query: str) -> Any:
        done = execute(connection, query)
        if "TABLE counted" in query:
            counted.append(len(counted))
            if len(counted) <= times:
                connection.execute("DELETE FROM counted WHERE rowid = 0")
        return done

    monkeypatch.setattr(duck, "_execute", lose)
    return counted


def test_a_read_that_loses_rows_is_made_again_with_care(save: Save, monkeypatch: pytest.MonkeyPatch) -> None:
    path, counted = save("report\n3\n5\n7\n"), lose_rows(monkeypatch, times=1)
    assert cf.count(path, AGES) == cf.tally([3, 5, 7])
    assert len(counted) == 2


@pytest.mark.parametrize("name", ["reports.csv", "reports.parquet"])
def test_a_read_that_loses_rows_every_time_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path, table = tmp_path / name, pyarrow.table({"report": [3, 5, 7]})
    if name.endswith(".csv"):
        path.write_text("report\n3\n5\n7\n")
    else:
        parquet.write_table(table, path)
    lose_rows(monkeypatch, times=2)
    with pytest.raises(DataFileError, match="2 rows were read, which is not how many there are"):
        cf.count(path, AGES)
