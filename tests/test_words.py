"""Words as people write them: what is folded, known by another name or counted as other, and that it is told."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from tests.cases import each
from tests.cli.conftest import Call, assert_refused, call, folder  # noqa: F401 (fixtures)

import confide as cf
from confide.data.files import read_report_rows, read_values
from confide.values.categories import fold_word
from confide.values.queries import as_weights

CITIES = cf.Categories(
    ["Paris", "Lyon", "Saint-Étienne", "elsewhere"],
    fold=True,
    aliases={"Paris": ["Paname", "Lutetia"], "Saint-Étienne": ["St Etienne"]},
    other="elsewhere",
)
PLAIN = cf.Categories(["Paris", "Lyon"])

SURVEY = """
name = "city"
title = "Where do you live?"
[alphabet]
kind = "categories"
values = ["Paris", "Lyon", "Saint-Étienne", "elsewhere"]
fold = true
other = "elsewhere"
aliases = { Paris = ["Paname", "Lutetia"], "Saint-Étienne" = ["St Etienne"] }
[mechanism]
kind = "randomized-response"
epsilon = 20.0
"""

FOLDS = [
    ("PARIS ", "paris"),
    ("\u00a0Paris\u2003", "paris"),
    ("saint  \t denis", "saint denis"),
    ("E\u0301tienne", "\u00e9tienne"),
    ("STRASSE", "strasse"),
    ("Stra\u00dfe", "strasse"),
    ("STRA\u1e9eE", "strasse"),
    ("ΟΔΟΣ", "οδοσ"),
    ("οδος", "οδοσ"),
    ("\u0130zmir", "i\u0307zmir"),  # a dotted capital keeps its dot, and a dotless i its lack of one
    ("\u0131", "\u0131"),
    ("\ufeffParis", "\ufeffparis"),  # no blank: a byte order mark inside a file is seen, not guessed away
    ("\u200bParis", "\u200bparis"),
    (" \t ", ""),
]


@each(("text", "folded"), FOLDS)
def test_fold(text: str, folded: str) -> None:
    assert fold_word(text) == folded
    assert fold_word(folded) == folded


JAVASCRIPT = r"""
const blanks = /[\t-\r\x1c- \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/g
const fold = (text) => text.replace(blanks, " ").replace(/^ | $/g, "")
    .toLowerCase().replaceAll("\u03c2", "\u03c3").replaceAll("\u00df", "ss").normalize("NFC")
console.log(JSON.stringify(JSON.parse(require("fs").readFileSync(0, "utf8")).map(fold)))
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_javascript_folds_alike() -> None:
    """Every letter with a case up to U+1FFFF and its neighbours, the blanks, and the table above."""
    cased = [chr(code) for code in range(0x20000) if chr(code).lower() != chr(code) or chr(code).isspace()]
    texts = [text for text, _ in FOLDS] + [
        one for letter in cased for one in (letter, f"a{letter} b", f"{letter}\u0301")
    ]
    found = subprocess.run(
        ["node", "-e", JAVASCRIPT], input=json.dumps(texts), capture_output=True, text=True, check=True
    )
    assert json.loads(found.stdout) == [fold_word(text) for text in texts]


def test_take_reads_words_as_files_do() -> None:
    texts = ["paris", "PARIS ", "Paris", "lutetia", "Lutetia", "saint-e\u0301tienne", "Nice"]
    wanted = ["Paris"] * 5 + ["Saint-Étienne", "elsewhere"]
    assert CITIES.take(texts).tolist() == wanted
    assert [CITIES.read((text,)) for text in texts] == wanted
    folded, named = "folded", "known by another name"
    assert [CITIES.remark((text,)) for text in texts] == [
        folded, folded, "", named, named, folded, "counted as elsewhere"
    ]  # fmt: skip
    mechanism = cf.RandomizedResponse(CITIES, 30.0)
    assert mechanism.privatize(["lyon", "Nice"], rng=1).tolist() == ["Lyon", "elsewhere"]
    with pytest.raises(cf.ConfideError, match="outside"):
        mechanism.privatize(["lyon"], rng=1, taken=True)
    with pytest.raises(cf.ConfideError, match="outside"):
        CITIES.encode(CITIES.take(["Lyon", "  "]))  # missing is not other
    with pytest.raises(cf.ConfideError, match="outside"):
        CITIES.encode(CITIES.take([1, 2]))
    assert PLAIN.take(["Lyon", "paris"]).tolist() == ["Lyon", "paris"]


def test_without_fold_aliases_are_exact() -> None:
    alphabet = cf.Categories(["Paris", "Lyon"], aliases={"Paris": ["Paname"]})
    assert alphabet.read(("Paname",)) == "Paris"
    assert alphabet.read(("paname",)) == "paname"  # which lies outside
    assert alphabet.hint(("paname",)) == 'it is "Paris" under fold = true'
    assert alphabet.hint(("Nice",)) == ""
    assert cf.Categories(["Paris", "paris"]).hint(("PARIS",)) == ""  # which of the two, nobody knows


def test_whole_numbers_have_other_names_too() -> None:
    alphabet = cf.Categories([1, 2, 0], fold=True, aliases={"1": ["one"]}, other=0)
    assert alphabet.take(["one", " 02", "2.0", "7", "x"]).tolist() == [1, 2, 2, 0, 0]
    assert alphabet.take(np.array([1, 5])).tolist() == [1, 0]
    assert alphabet.remark((" 02",)) == ""
    assert alphabet.remark(("7",)) == "counted as 0"
    survey = cf.Survey(cf.RandomizedResponse(alphabet, 1.0))
    assert cf.parse_survey(survey.text()) == survey
    assert "other = 0" in survey.text()


@each(
    ("settings", "words"),
    [
        ({"values": ["Paris", "PARIS"], "fold": True}, "two values"),
        ({"values": ["a", "b"], "aliases": {"a": ["x"], "b": ["x"]}}, "'x' stands for two values, 'a' and 'b'"),
        ({"values": ["a", "b"], "aliases": {"a": ["b"]}}, "two values"),
        ({"values": ["a", "b"], "aliases": {"a": ["B "]}, "fold": True}, "when folded stands for two"),
        ({"values": ["a", "b"], "aliases": {"c": ["x"]}}, "'c', which is none of the values"),
        ({"values": ["a", "b"], "aliases": {"a": "x"}}, "must be a list of texts"),
        ({"values": ["a", "b"], "aliases": {"a": ["x", " "]}}, "must be a list of texts"),
        ({"values": ["a", "b"], "aliases": {"a": [3]}}, "must be a list of texts"),
        ({"values": ["a", "b"], "aliases": {"a": ["x\0"]}}, "NUL"),
        ({"values": ["a", "b"], "aliases": ["x"]}, "must be a table of lists"),
        ({"values": ["a", "b"], "other": "c"}, "other must be one of the values"),
        ({"values": ["a", "\u00a0"], "fold": True}, "nothing left"),
        ({"values": ["a", "b"], "fold": "yes"}, "fold must be true or false"),
    ],
)
def test_what_is_ambiguous_is_refused_when_the_survey_is_made(settings: dict[str, object], words: str) -> None:
    with pytest.raises(cf.ConfideError, match=words):
        cf.Categories(**settings)  # type: ignore[arg-type]


def test_the_survey_and_its_fingerprint() -> None:
    survey = cf.parse_survey(SURVEY)
    assert survey.alphabet == CITIES
    assert cf.parse_survey(survey.text()) == survey
    assert cf.Survey.from_json(survey.to_json()) == survey
    assert '"Saint-Étienne" = ["St Etienne"]' in survey.text()
    swapped = SURVEY.replace('["Paname", "Lutetia"]', '["Lutetia", "Paname"]')
    assert cf.parse_survey(swapped).fingerprint == survey.fingerprint
    for line in ("fold = true\n", 'other = "elsewhere"\n', ', "Saint-Étienne" = ["St Etienne"]'):
        assert cf.parse_survey(SURVEY.replace(line, "")).fingerprint != survey.fingerprint
    # That of a survey without such settings has none of them.
    plain = cf.Survey(cf.RandomizedResponse(cf.Categories(["yes", "no"]), 1.0), "answer")
    assert plain.fingerprint == "8fce5e0af4331921df5f4da142c0db7b"


def test_queries_know_other_names_but_no_other() -> None:
    assert as_weights("city == PANAME", CITIES, "city").tolist() == [1, 0, 0, 0]
    assert as_weights("city in {lyon, 'st etienne'}", CITIES).tolist() == [0, 1, 1, 0]
    assert as_weights("city == paname", cf.Attributes(age=cf.Integers(0, 1), city=CITIES)).sum() == 2
    with pytest.raises(cf.ConfideError, match="'Nice' is none of the values"):
        as_weights("city == Nice", CITIES)


DAMAGED = {
    "paris": "folded",
    "Paris\u00a0": "folded",
    "\u3000lyon": "folded",
    "SAINT-E\u0301TIENNE": "folded",
    "lutetia": "known by another name",
    "\ufeffParis": "counted as elsewhere",
    "Par\u200bis": "counted as elsewhere",
    "Paris\0": "counted as elsewhere",
    "P\0aris": "counted as elsewhere",
    "L\u0131on": "counted as elsewhere",
    "x" * 100_000: "counted as elsewhere",
    "=1+1": "counted as elsewhere",
    "Paris;Lyon": "counted as elsewhere",
    "Paris": "",
    "": "missing",
    "\u00a0\t": "missing",
}


def test_damaged_texts_are_accepted_or_rejected_and_told(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("city,n\n" + "".join(f"{text},1\n" for text in DAMAGED))
    rows = read_values(path, cf.Survey(cf.RandomizedResponse(CITIES, 1.0), "city"))
    assert rows.account.read == len(DAMAGED) == rows.account.accepted + rows.account.total_rejected
    told = {remark: list(DAMAGED.values()).count(remark) for remark in set(DAMAGED.values()) - {"", "missing"}}
    assert rows.account.remarks == told
    assert dict(rows.account.rejected) == {"missing": 2}
    strict = read_values(path, cf.Survey(cf.RandomizedResponse(PLAIN, 1.0), "city"))
    assert strict.account.accepted == 1
    assert dict(strict.account.rejected) == {"missing": 2, "outside the alphabet": len(DAMAGED) - 3}
    assert str(strict.rejected[0]).endswith("'paris' (outside the alphabet; it is \"Paris\" under fold = true)")
    assert strict.account.remarks == {}


def test_words_beside_other_attributes(tmp_path: Path) -> None:
    path, people = tmp_path / "people.csv", cf.Attributes(age=cf.Integers(0, 9), city=CITIES)
    path.write_text("age,city\n3,paris\n4,Nice\n5,Lyon\n6,\n")
    rows = read_values(path, cf.Survey(cf.RandomizedResponse(people, 1.0)))
    assert rows.values.tolist() == [[3, "Paris"], [4, "elsewhere"], [5, "Lyon"]]
    assert rows.account.remarks == {"city folded": 1, "city counted as elsewhere": 1}
    assert people.take(np.array([[3, "paris"]], dtype=object)).tolist() == [[3, "Paris"]]
    strict = read_values(path, cf.Survey(cf.RandomizedResponse(cf.Attributes(age=cf.Integers(0, 9), city=PLAIN), 1.0)))
    assert 'city: it is "Paris" under fold = true' in str(strict.rejected[0])


@pytest.mark.slow
def test_reports_are_read_letter_by_letter_in_python_and_in_sql(tmp_path: Path) -> None:
    """A report is written by a program: folding there would hide a broken one. A NUL at its end was once cut off."""
    path = tmp_path / "reports.csv"
    texts = [text for text in DAMAGED if len(text) < 100]
    path.write_text("report,n\n" + "".join(f"{text},1\n" for text in texts))
    survey = cf.Survey(cf.RandomizedResponse(CITIES, 1.0), "city")
    rows = read_report_rows(path, survey)
    assert rows.account.accepted == 1
    assert rows.account.remarks == {}
    from confide.data.counting import count

    assert count(path, survey).rows.rejected == rows.account.rejected


@pytest.mark.slow
def test_the_terminal_and_json_tell(call: Call, folder: Path) -> None:  # noqa: F811
    (folder / "cities.toml").write_text(SURVEY)
    (folder / "people.csv").write_text("city\nparis\nLYON \nNice\nMars\nParis\nPaname\n")
    ending = call("privatize", "cities.toml", "people.csv", "-o", "out.csv")
    assert "6 rows, all accepted; 2 counted as elsewhere, 2 folded, 1 known by another name" in " ".join(
        ending.out.split()
    )
    assert "2 rows of 6 have an unlisted value and are counted as elsewhere" in " ".join(ending.err.split())
    ending = call("privatize", "cities.toml", "people.csv", "-o", "out.csv", "--json")
    assert ending.record["rows"]["remarks"] == {"folded": 2, "counted as elsewhere": 2, "known by another name": 1}
    shown = " ".join(call("show", "cities.toml", "-v").out.split())
    assert (
        "case and blanks of a text do not matter, 3 other names are known, what is not listed counts as elsewhere"
        in shown
    )
    (folder / "strict.toml").write_text(
        "\n".join(line for line in SURVEY.split("\n") if not line.startswith(("fold", "alia", "othe")))
    )
    assert_refused(
        call("privatize", "strict.toml", "people.csv", "-o", "out.csv"),
        4,
        "'paris' (outside the alphabet; it is \"Paris\" under fold = true)",
    )


def test_an_empty_text_is_no_category() -> None:
    """Whoever has it could not say so: it is read as a missing value, and no client takes such a survey."""
    with pytest.raises(cf.ConfideError, match="must not be empty"):
        cf.Categories(["a", ""])
