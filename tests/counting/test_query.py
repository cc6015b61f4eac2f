"""The SQL text keeps to what engines have in common."""

from __future__ import annotations

import re

from tests.cases import each
from tests.cli.surveys import FINITE, survey

import confide as cf
from confide.data.counting.sources import Query
from confide.data.files.sheets import fields_of


@each("name", FINITE)
@each("kind", ["text", "integer", "real"])
def test_the_dialect_is_common(name: str, kind: str) -> None:
    alphabet = survey(FINITE[name]).mechanism.report_alphabet
    text = Query(alphabet, (kind,) * len(fields_of(alphabet)), kind, 2).text  # type: ignore[arg-type]
    outside_of_texts = re.sub(r"'[^']*'", "", text)
    assert "\\" not in text
    assert '"' not in outside_of_texts
    assert "`" not in outside_of_texts
    assert "::" not in outside_of_texts
    assert text.isprintable() or not [mark for mark in text if ord(mark) < 32 and mark != "\n"]


def test_marks_in_categories_are_told_by_number() -> None:
    text = Query(cf.Categories(["it's", "a\\b", "tab\there"]), ("text",)).text
    assert "'it' || CHR(39) || 's'" in text
    assert "'a' || CHR(92) || 'b'" in text
    assert "'tab' || CHR(9) || 'here'" in text


def test_the_query_says_what_it_reads() -> None:
    text = Query(cf.Grid(2, 2), ("integer", "integer"), "integer", 1).explained_text
    assert text.startswith("-- reports is a table or a view with the columns\n-- by0: ")
    assert "-- part0: row (integer)\n-- part1: column (integer)\n-- weight: " in text
    two = Query(cf.Integers(0, 9), ("text",), None, 2).explained_text.splitlines()
    assert [line.partition(":")[0] for line in two if line.startswith("--")][1:] == ["-- by0", "-- by1", "-- part0"]
    assert ["column 1 of --by" in two[1], "column 2 of --by" in two[2]] == [True, True]
    assert two[3] == "-- part0: report (text)"
