"""confide new: a survey from a look at a file; what it writes takes the file, and tells nothing of the few."""

from __future__ import annotations

import contextlib
import csv
import gzip
import random
import re
import shlex
from collections.abc import Callable, Iterable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.cases import each
from tests.cli.conftest import Call, assert_refused

import confide as cf
from confide.data.files import profiles
from confide.data.files.profiles import Profile, profile_file, profile_texts
from confide.errors import ConfideError, DataFileError, InvalidParameterError
from confide.plans.proposals import look_at, propose

PEOPLE = 1200


def seeded(number: int) -> random.Random:
    return random.Random(number)  # noqa: S311 - people are made up


def salaries(draw: random.Random) -> list[str]:
    rows = []
    for number in range(PEOPLE):
        amount = int(draw.lognormvariate(10.9, 0.4))
        text = f'"${amount:,}"' if draw.random() < 0.62 else str(amount)
        rows.append(f"{number},{text if number % 50 else ''},{draw.choice(['Oslo', 'Bern'])}")
    return ["id,salary,town", *rows, '9999,"$98,765,432",Oslo']


def districts(draw: random.Random) -> list[str]:
    return ["lat;lon", *(f"{40.7 + draw.random() / 10:.5f};{-74.02 + draw.random() / 10:.5f}" for _ in range(PEOPLE))]


def weekly_poll(draw: random.Random) -> list[str]:
    rows = []
    for week in range(4):
        for person in range(PEOPLE // 4):
            day = date(2026, 3, 2) + timedelta(weeks=week, days=draw.randrange(5))
            rows.append(f"{day},{person},{'yes' if draw.random() < 0.4 else 'No '}")
    return ["date,person,answer", *rows]


def satisfaction(draw: random.Random) -> list[str]:
    return ["How happy are you?", *(draw.choice("22334445") for _ in range(PEOPLE))]


def words(draw: random.Random) -> list[str]:
    rare = [f"Village {number}" for number in range(20)]
    return ["city", *(draw.choice(["Paris", "paris ", "Lyon", "Nice"]) for _ in range(PEOPLE)), *rare]


FILES: dict[str, tuple[Callable[[random.Random], list[str]], dict[str, Any], str]] = {
    "salaries": (salaries, {"kind": "bins", "low": 0, "unit": "dollar", "above": True}, "salary"),
    "districts": (districts, {"kind": "places"}, "place"),
    "weekly poll": (weekly_poll, {"kind": "categories", "values": ["yes", "No"], "fold": True}, "answer"),
    "satisfaction": (satisfaction, {"kind": "integers", "low": 1, "high": 5}, "How_happy_are_you"),
    "words": (words, {"kind": "categories", "values": ["Lyon", "Nice", "Paris", "other"], "other": "other"}, "city"),
}


@each("what", FILES)
def test_what_it_writes_and_says_next_works_as_it_stands(call: Call, folder: Path, what: str) -> None:
    make, wanted, name = FILES[what]
    (folder / "my.toml").unlink(missing_ok=True)
    (folder / "my file.csv").write_text("\n".join(make(seeded(1))) + "\n")
    ending = call("new", "my file.csv", "my.toml", "--yes")
    assert (ending.code, ending.err) == (0, "")
    survey = cf.load_survey("my.toml")
    assert survey.name == name
    assert wanted.items() <= survey.record()["alphabet"].items()
    commands = [shlex.split(line) for line in ending.out.partition("Next:\n")[2].splitlines()]
    assert [one[:2] for one in commands] == [["confide", "privatize"], ["confide", "estimate"]]
    for one in commands:
        done = call(*one[1:])
        assert done.code == 0, done.err
    assert (survey.every, survey.is_permanent) == (("week", True) if what == "weekly poll" else ("", False))
    # A survey is public: neither the highest salary nor a word of one person stands in it.
    text = (folder / "my.toml").read_text() + ending.out
    assert "98,765,432" not in text
    assert "Village" not in text
    assert "# balanced*" in text


def test_json_says_the_same_to_programs(call: Call, folder: Path) -> None:
    (folder / "s.csv").write_text("\n".join(salaries(seeded(2))) + "\n")
    record = call("new", "s.csv", "a.toml", "--json").record
    assert (record["columns"], record["kind"], record["unit"]) == (["salary"], "amounts", "dollar")
    assert re.fullmatch(r"6\d% carry a \$ sign", record["unit_words"])
    assert record["misfits"] == 24
    assert "--rejects rejects.csv" in record["next"][0]
    assert record["left_out"]["id"].startswith("it names people")
    assert [one["name"] for one in record["levels"]] == ["strong", "balanced", "light"]
    assert cf.parse_survey(record["survey"]) == cf.load_survey("a.toml")


def test_five_questions_each_with_a_default(call: Call, folder: Path) -> None:
    (folder / "s.csv").write_text("\n".join(salaries(seeded(2))) + "\n")
    by_default = call("new", "s.csv", "a.toml", stdin="\n\n\n\n\n")
    assert by_default.code == 0
    asked = re.findall(r"^.*\[.*\]: $", by_default.out, re.MULTILINE)
    assert 2 <= len(asked) <= 5
    call("new", "s.csv", "b.toml", "--yes")
    assert cf.load_survey("a.toml") == cf.load_survey("b.toml")
    told = call("new", "s.csv", "c.toml", stdin="salary\neuro\n0 200000 10000\nstrong\n")
    assert told.code == 0
    survey = cf.load_survey("c.toml")
    assert survey.alphabet == cf.Bins(0, 200_000, 10_000, above=True, unit="euro", format="$1,234.56")
    assert survey.mechanism.epsilon < cf.load_survey("a.toml").mechanism.epsilon  # type: ignore[attr-defined]
    wrong = call("new", "s.csv", "d.toml", stdin="salary\neuro\nmany\n")
    assert (wrong.code, "Three numbers are needed" in wrong.err) == (2, True)
    assert not (folder / "d.toml").exists()
    words_of = call("new", "s.csv", "town", "e.toml", stdin="Oslo, Bern, Rome\n\n")
    assert words_of.code == 0
    assert cf.load_survey("e.toml").alphabet.labels() == ["Oslo", "Bern", "Rome"]


def column(name: str, texts: Iterable[object]) -> bytes:
    return "\n".join([name, *map(str, texts)]).encode()


HOSTILE = {
    "empty": (b"", "is empty"),
    "only a header": (b"age,town\n", "no rows"),
    "no header": (column("7", range(100)), "needs a header line"),
    "binary": (bytes(range(256)) * 40, "not UTF-8 text"),
    "UTF-16": ("age\n3\n4\n".encode("utf-16"), "Save it as CSV in UTF-8"),
    "a broken quote": (b'age\n"3\n' + b"4\n" * 300, "quotation mark"),
    "all missing": (b"age,b\n" + b",\n" * 100, "it is empty"),
    "one value": (column("answer", ["yes"] * 40), "everybody has the same"),
    "commas without quotes": (column("pay", ["$1,500"] * 50), "as many fields as its header"),
    "free text": (
        column("remark", (f"I think {'x' * n}; {n} so" for n in range(90))),
        "text",
    ),
    "names": (
        column("name", (f"{'abcdefghij'[n // 10]}{'klmnopqrst'[n % 10]}" for n in range(99))),
        "names or free text",
    ),
    "numbered rows": (column("number", range(1000, 2000)), "numbers the rows"),
    "mixed": (column("x", (n if n % 2 else f"{'abcdefg'[n % 7]}{'hijklmnop'[n % 9]}" for n in range(300))), "mixes"),
    "dates of a spreadsheet": (
        column("born", (f"{n % 28 + 1}.{n % 12 + 1}.19{n % 90 + 10}" for n in range(300))),
        "ISO",
    ),
}


@each("what", HOSTILE)
def test_a_hostile_file_is_refused_with_its_cure(call: Call, folder: Path, what: str) -> None:
    content, said = HOSTILE[what]
    (folder / "h.csv").write_bytes(content)
    ending = call("new", "h.csv", "h.toml", "--yes")
    assert_refused(ending, 4, said)
    assert not (folder / "h.toml").exists()


def test_columns_that_cannot_be_asked_for_are_named_with_the_reason(call: Call, folder: Path) -> None:
    lines = ["pay,pay,,mood,who", *(f"{n},{n},{n},{'good' if n % 3 else 'bad'},p{n}" for n in range(100))]
    (folder / "d.csv").write_text("\n".join(lines))
    record = call("new", "d.csv", "d.toml", "--json").record
    assert record["columns"] == ["mood"]
    assert "several columns have this name" in record["left_out"]["pay"]
    assert "no name" in record["left_out"][""]
    assert_refused(call("new", "d.csv", "pay", "e.toml", "--yes"), 4, "several columns have this name")
    assert_refused(call("new", "d.csv", "moods", "e.toml", "--yes"), 4, "no column 'moods'", "'mood'")


def test_ten_thousand_columns(call: Call, folder: Path) -> None:
    header = ",".join(f"c{n}" for n in range(10_000))
    rows = "\n".join(",".join(["yes" if row % 3 else "no"] * 10_000) for row in range(40))
    (folder / "w.csv").write_text(f"{header}\n{rows}\n")
    ending = call("new", "w.csv", "w.toml", "--yes")
    assert ending.code == 0
    assert "10,000 columns, the first 200 of them" in ending.out


def test_a_large_file_is_sampled_from_end_to_end(call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiles, "PIECE", 2_000)
    # Sorted: whoever read the beginning alone would see the low half.
    lines = [f"{2000 + 40 * n},\u00e9t\u00e9" for n in range(20_000)]
    (folder / "big.csv").write_text("\n".join(["pay,season", *lines]) + "\n")
    profile = profile_file("big.csv")
    assert profile.is_sample
    assert 32 * 100 < profile.rows < 32 * 200
    assert profile.columns[0].numbers_at[2] == pytest.approx(402_000, rel=0.05)
    ending = call("new", "big.csv", "big.toml", "--yes")
    assert "spread evenly" in ending.out
    assert "--rejects rejects.csv" in ending.out
    with gzip.open(folder / "big.csv.gz", "wt") as stream:
        stream.write((folder / "big.csv").read_text())
    assert profile_file("big.csv.gz").is_sample


def test_parquet_is_looked_at_too(call: Call, folder: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = arrow.table({"day": [date(2026, 1 + n % 12, 1 + n % 28) for n in range(400)]})
    parquet.write_table(table, folder / "d.parquet")
    assert call("new", "d.parquet", "d.toml", "--yes").code == 0
    assert cf.load_survey("d.toml").alphabet == cf.Dates("2026-01", "2026-12", every="month")
    assert call("privatize", "d.toml", "d.parquet", "-o", "r.csv").code == 0


MONTHS = cf.Dates("2026-01", "2026-12", every="month")
EUROS = cf.Bins(1100, 2000, 100, below=True, above=True, unit="euro", format="1.234,56 \u20ac")


@each(
    ("texts", "alphabet"),
    [
        ([f"2026-03-{1 + n % 28:02d}T{n % 24:02d}:15+01:00" for n in range(300)], MONTHS),
        ([f"{1940 + n % 60}-05-01" for n in range(600)], cf.Dates("1930", "2009", every="year")),
        ([f"{n % 24:02d}:30" for n in range(300)], cf.Hours()),
        ([f"1.{n % 900 + 100},50 \u20ac" for n in range(900)], EUROS),
        ([str(n % 11) for n in range(400)], cf.Integers(0, 10, unit="point")),
        (["Agree", "disagree", "neutral"] * 50, cf.Scale(["disagree", "neutral", "Agree"], fold=True)),
        (["1", "0"] * 60, cf.Categories([0, 1])),
        ([str(-(n % 41)) for n in range(820)], cf.Bins(-40, 0, 5, above=True, below=True)),
        ([f"{n % 50 + 18}" for n in range(500)], cf.Bins(0, 70, 10, above=True)),
    ],
)  # fmt: skip
def test_kinds_are_told_by_how_values_are_written(texts: list[str], alphabet: cf.Alphabet) -> None:
    counts = {one: texts.count(one) for one in set(texts)}
    look = look_at(Profile(len(texts), False, 1, (profile_texts("x", counts),)))
    proposal = propose(look, look.candidates[0])
    assert proposal.survey.alphabet == alphabet
    assert None not in {alphabet.read((text,)) for text in texts}


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(
        st.lists(
            st.one_of(
                st.sampled_from(
                    ["", "yes", "No", "3", "58,000", "$4.5", "2026-01-02", "12:30", "-7", "NA", "1e9", "\u0663"]
                ),
                st.text(max_size=12),
            ),
            min_size=1,
            max_size=4,
        ),
        min_size=1,
        max_size=60,
    ),
    st.integers(1, 30),
)
def test_no_file_is_met_with_anything_but_words(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]], times: int
) -> None:
    path = tmp_path_factory.mktemp("any") / "any.csv"
    with path.open("w", newline="", encoding="utf-8", errors="replace") as stream:
        csv.writer(stream).writerows([[f"c{n}" for n in range(4)], *rows * times])
    with contextlib.suppress(ConfideError):
        look = look_at(profile_file(path))
        for one in look.candidates:
            assert propose(look, one).survey.text()


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=9), st.integers(1, 30), max_size=40))
def test_a_profile_has_no_text_of_fewer_than_ten(texts: dict[str, int]) -> None:
    column = profile_texts("x", texts)
    stripped = {text.strip(): 0 for text in texts}
    for text, number in texts.items():
        stripped[text.strip()] += number
    for text, number in column.words.items():
        assert number >= 10
        assert any(number >= 10 and (text == one or not text.isascii()) for one, number in stripped.items())
    assert all(number >= 10 for number in column.shapes.values())
    assert Profile.from_record(Profile(1, False, 1, (column,)).record()).columns[0].words == column.words


def test_the_numbers_of_a_profile_have_ten_people_beyond_them() -> None:
    few = profile_texts("x", {str(10**n): 1 for n in range(15)})
    assert list(few.numbers_at) == [None] * 5
    many = profile_texts("x", {str(n): 1 for n in range(150)})
    assert [one is None for one in many.numbers_at] == [True, False, False, False, True]


@each("wrong", [None, {}, {"rows": 3}, {"rows": 1, "is_sample": False, "width": 1, "columns": [{"name": "x"}]}, [1]])
def test_a_profile_of_a_stranger_is_read_with_suspicion(wrong: Any) -> None:
    with pytest.raises(InvalidParameterError, match="no profile of a file"):
        Profile.from_record(wrong)


def test_what_cannot_be_read_twice_or_written_is_refused(call: Call, folder: Path) -> None:
    with pytest.raises(InvalidParameterError, match="can be read once"):
        profile_file("-")
    with pytest.raises(DataFileError, match="no file"):
        profile_file("none.csv")
    assert_refused(call("new", "values.csv", "--yes"), 2, "survey.toml exists already")
    assert_refused(call("new", "values.csv", "a.toml", "b.toml"), 2, "One survey is written")
    assert_refused(call("new", "values.csv", "-", "--json"), 2, "cannot share standard output")
    assert_refused(call("new", "places", "grid", "a.toml"), 2, "one kind of values")
    assert_refused(call("init", "a.toml"), 2, "confide init went in 0.3", "confide new")
    assert_refused(call("new", "a.toml", "--alphabet", "grid"), 2, "--alphabet went in 0.3")
