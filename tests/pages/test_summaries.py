"""One summary, several renderers: terminal and page say the same of one answer."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console
from tests.pages.test_estimate_page import Reader

import confide as cf
from confide.present.estimates import Findings, summarise_estimate
from confide.present.pages import show_page
from confide.present.summary import Bullets, Cell, Lines, Listing, Note, Part, Row, Section, Summary
from confide.present.surveys import summarise_audit
from confide.present.terminal import show_summary


def on_a_terminal(summary: Summary, *, everything: bool = False) -> str:
    out = StringIO()
    show_summary(summary, Console(file=out, width=200), everything=everything)
    return " ".join(out.getvalue().split())


@pytest.mark.filterwarnings("ignore::confide.errors.PoorFitWarning")
def test_what_speaks_against_an_answer_is_said_everywhere_in_the_same_words() -> None:
    survey = cf.Survey(cf.TruncatedGeometric(cf.Integers(0, 19), 0.1), "age", "Ages")
    counts = cf.tally([10], counts=[5000])
    found = Findings(survey, counts, (cf.assess(counts, survey.mechanism, cf.IBU()),))
    page, words = (
        Reader(show_page(summarise_estimate(found, is_page=True))).text,
        on_a_terminal(summarise_estimate(found)),
    )
    cautions = summarise_estimate(found).cautions
    assert [one.title for one in cautions] == ["Poor fit"]
    for sentence in cautions[0].words:
        assert sentence in page
        assert sentence in words


def test_every_part_is_shown_by_both() -> None:
    rows: list[Row] = [["a", Cell("1", "(0 to 2)")], ["b", Cell("3", is_strong=True)]]
    parts: list[Part] = [
        "Said plainly.",
        Note("Said softly."),
        Bullets(["First point."]),
        Listing(["value", "share"], rows),
    ]
    summary = Summary("A title", sections=[Section("A heading", parts), Section("Nothing below it", [])])
    page, words = Reader(show_page(summary)).text, on_a_terminal(summary)
    for said in ("A heading", "Said plainly.", "Said softly.", "First point.", "value", "(0 to 2)", "3"):
        assert said in page
        assert said in words
    assert "Nothing below it" not in page + words


def test_a_terminal_leaves_out_rows_and_says_so_unless_all_are_asked_for() -> None:
    table = Listing(["value"], [["a"], ["b"], ["c"]], most=2, rest="Two of three.")
    summary = Summary("A title", sections=[Section("", [table, Lines([("Word", "what it stands for")])])])
    few, every = on_a_terminal(summary), on_a_terminal(summary, everything=True)
    assert ("Two of three." in few, " c " in few) == (True, False)
    assert ("Two of three." in every, " c " in every) == (False, True)
    assert "Word what it stands for" in few


def test_an_audit_begins_with_its_verdict() -> None:
    survey = cf.Survey(cf.RandomizedResponse(cf.Categories(["yes", "no"]), 1.0), "answer", "A question")
    words = on_a_terminal(summarise_audit(survey, cf.audit(survey.mechanism)))
    assert words.startswith("A question The promise holds (")
