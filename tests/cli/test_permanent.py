"""confide privatize with secrets: permanent noise, on one device and for a file of many people."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from tests.cli.conftest import Call, assert_refused

from confide import load_survey
from confide.data.files import load_counts, read_metadata
from confide.evidence import Noise

SECRET = "0123456789abcdef0123456789abcdef"  # noqa: S105 - one for tests


def write_people(path: Path, count: int = 40, value: int = 3) -> None:
    secrets = (hashlib.sha256(f"person {number}".encode()).hexdigest() for number in range(count))
    path.write_text("age,own\n" + "".join(f"{value},{secret}\n" for secret in secrets))


def test_one_device_reports_the_same_every_day(call: Call, folder: Path) -> None:
    (folder / "today.csv").write_text("age\n3\n")
    (folder / "secret.txt").write_text(f"{SECRET}\n")
    for day in ("monday", "tuesday"):
        ending = call("privatize", "survey.toml", "today.csv", "--secret", "secret.txt", "-o", f"{day}.csv")
        assert ending.code == 0
        assert ending.err == ""
        assert "permanent, from the secret" in " ".join(ending.out.split())
        known = read_metadata(folder / f"{day}.csv")
        assert known is not None
        assert known.noise is Noise.PERMANENT
    assert (folder / "monday.csv").read_text() == (folder / "tuesday.csv").read_text()
    everything = "".join(path.read_text() for path in folder.glob("*day.csv*"))
    assert SECRET not in everything + ending.out


def test_many_people_have_a_secret_each(call: Call, folder: Path) -> None:
    write_people(folder / "people.csv")
    options = ("privatize", "survey.toml", "people.csv", "--secret", "own", "--json")
    first, again = (call(*options, "-o", f"{name}.csv") for name in "ab")
    assert (first.code, first.record["noise"]) == (0, "permanent")
    assert again.record["guarantee"].startswith("metric privacy")
    a, b = (sorted((folder / f"{name}.csv").read_text().split()) for name in "ab")
    assert a == b
    assert len(set(a)) > 3  # people of one value have noise of their own
    assert hashlib.sha256(b"person 0").hexdigest() not in (folder / "a.csv").read_text() + first.out
    header = (folder / "a.csv").read_text().split()[0]
    assert header == "report"


@pytest.mark.slow
def test_counts_say_that_noise_is_permanent(call: Call, folder: Path) -> None:
    write_people(folder / "people.csv")
    call("privatize", "survey.toml", "people.csv", "--secret", "own", "-o", "r.csv")
    counted = call("count", "survey.toml", "r.csv", "-o", "c.parquet")
    assert "permanent: it comes from each person's secret" in " ".join(counted.out.split())
    assert load_counts(folder / "c.parquet", load_survey(folder / "survey.toml")).origin.permanent == 40
    estimated = call("estimate", "survey.toml", "c.parquet", "--json")
    assert (estimated.record["origin"]["noise"], estimated.record["origin"]["permanent"]) == ("permanent", 40)
    call("estimate", "survey.toml", "c.parquet", "-o", "page.html")
    page = (folder / "page.html").read_text()
    assert "with permanent noise" in page
    assert "What each person was promised" in page


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("tooshort", "at least 16 bytes"),
        ("", "at least 16 bytes"),
        ("0" * 31, "come in pairs"),
        (b"\xff\xfe" * 20, "is no text"),
        (None, "Make a secret with"),
    ],
)
def test_bad_secret_files_are_refused(call: Call, folder: Path, content: str | bytes | None, words: str) -> None:
    (folder / "today.csv").write_text("age\n3\n")
    if content is not None:
        (folder / "secret.txt").write_bytes(content.encode() if isinstance(content, str) else content)
    ending = call("privatize", "survey.toml", "today.csv", "--secret", "secret.txt", "-o", "out.csv")
    assert ending.code != 0
    assert words in " ".join(ending.err.split())
    assert not (folder / "out.csv").exists()


def test_one_secret_is_not_for_many_people(call: Call, folder: Path) -> None:
    (folder / "secret.txt").write_text(SECRET)
    (folder / "counted.csv").write_text("age,count\n3,2\n")
    for name in ("values.csv", "counted.csv"):
        ending = call("privatize", "survey.toml", name, "--secret", "secret.txt", "-o", "out.csv")
        assert_refused(ending, 4, "one person's secret", "--secret")
        assert not (folder / "out.csv").exists()


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (f"3,{SECRET}\n4,{SECRET}\n", "stands twice"),
        (f"3,{SECRET}\n4,\n", "has a bad secret"),
        ("3,short\n", "has a bad secret"),
    ],
)
def test_bad_columns_of_secrets_are_refused(call: Call, folder: Path, rows: str, words: str) -> None:
    (folder / "people.csv").write_text(f"age,own\n{rows}")
    ending = call("privatize", "survey.toml", "people.csv", "--secret", "own", "-o", "out.csv")
    assert_refused(ending, 4, words)
    assert SECRET not in ending.err
    assert not (folder / "out.csv").exists()


def test_a_row_of_several_people_has_no_secret(call: Call, folder: Path) -> None:
    (folder / "people.csv").write_text(f"age,count,own\n3,2,{SECRET}\n")
    ending = call("privatize", "survey.toml", "people.csv", "--secret", "own", "-o", "out.csv")
    assert_refused(ending, 4, "Give each person a row")


def test_secrets_are_neither_kept_nor_values(call: Call, folder: Path) -> None:
    write_people(folder / "people.csv")
    kept = call("privatize", "survey.toml", "people.csv", "--secret", "own", "--keep", "own", "-o", "out.csv")
    assert_refused(kept, 2, "cannot be kept")
    value = call("privatize", "survey.toml", "people.csv", "--secret", "age", "-o", "out.csv")
    assert_refused(value, 4, "says the values")
    both = call("privatize", "survey.toml", "people.csv", "--secret", "own", "--seed", "1", "-o", "out.csv")
    assert_refused(both, 2, "Give one of them")


def test_rejected_rows_show_no_secret(call: Call, folder: Path) -> None:
    (folder / "people.csv").write_text(f"age,own\n3,{SECRET[::-1]}\n99,{SECRET}\n3,{SECRET},more\n")
    options = ("privatize", "survey.toml", "people.csv", "--secret", "own", "-o", "out.csv")
    refused = call(*options)
    assert refused.code != 0
    done = call(*options, "--rejects", "bad.csv")
    assert done.code == 0
    assert SECRET not in refused.err + refused.out + done.out + done.err + (folder / "bad.csv").read_text()


@pytest.mark.usefixtures("few_draws")
def test_an_audit_names_no_pair_that_it_did_not_compute(call: Call, folder: Path) -> None:
    noise = 'kind = "truncated-geometric"\nepsilon = 0.05\n'
    rounds = f"[mechanism.permanent]\n{noise}[mechanism.fresh]\n{noise}"
    head = '[alphabet]\nkind = "integers"\nlow = 0\nhigh = 2499\n[mechanism]\nkind = "two-rounds"\n'
    (folder / "many.toml").write_text(head + rounds)
    shown = " ".join(call("audit", "many.toml", "-v").out.split())
    assert "Log-ratio at most as promised, by a theorem: 0.05" in shown
    assert "Distinguished by" not in shown
    assert "Promise used" not in shown
    record = call("audit", "many.toml", "--json").record
    assert (record["holds"], record["is_measured"]) == (True, False)
    assert [record[name] for name in ("left", "right", "output", "log_ratio", "used")] == [None] * 5


@pytest.mark.usefixtures("few_draws")
def test_an_audit_of_two_rounds_tells_both_promises(call: Call, folder: Path) -> None:
    assert call("new", "rounds.toml", "two-rounds").code == 0
    shown = " ".join(call("audit", "rounds.toml", "-v").out.split())
    assert "Any number of reports the promise holds" in shown
    record = call("audit", "rounds.toml", "--json").record
    assert record["holds"]
    assert record["any_number_of_reports"]["holds"]
    assert record["any_number_of_reports"]["bound"] > record["bound"]
    told = " ".join(call("show", "rounds.toml", "-v").out.split())
    assert "Any number of them local differential privacy, epsilon 2.197" in told
