"""Bar charts in the terminal: which lines are shown, with what labels, shares and intervals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import Call, assert_refused

import confide as cf
from confide.estimates.inference import Windows
from confide.present.summary import caution_identification, digits
from confide.present.terminal import choose_bars, window_bars
from confide.theory.verdicts import Finding, Verdict


@pytest.mark.parametrize(
    ("alphabet", "first", "last"),
    [
        (cf.Integers(0, 100), "0-9", "100"),
        (cf.Integers(3, 98), "3-4", "95-98"),
        (cf.Integers(-7, 91), "-7 to -6", "90-91"),
        (cf.Integers(10, 41), "10-11", "40-41"),
    ],
)
def test_ranges_begin_and_end_with_the_alphabet(alphabet: cf.Integers, first: str, last: str) -> None:
    shares = np.arange(1, alphabet.size + 1) / np.arange(1, alphabet.size + 1).sum()
    bars, note = choose_bars(alphabet, shares, shares[::-1].copy())
    assert (bars[0].label, bars[-1].label) == (first, last)
    assert sum(bar.share for bar in bars) == pytest.approx(1)
    assert sum(bar.truth or 0 for bar in bars) == pytest.approx(1)
    assert bars[0].share < bars[-2].share
    assert f"--show all shows all {alphabet.size:,} values" in note


def test_the_likeliest_are_shown_and_the_rest_is_told() -> None:
    shares = np.full(100, 0.4 / 80)
    shares[:20] = 0.03
    bars, note = choose_bars(cf.Categories([f"v{place}" for place in range(100)]), shares, None)
    assert [bar.label for bar in bars] == [f"v{place}" for place in range(20)]
    assert note == "The 20 most likely of 100 values; the others hold 40.0%. --show all shows every value."


def test_few_values_are_shown_one_by_one() -> None:
    bars, note = choose_bars(cf.Integers(0, 29), np.full(30, 1 / 30), None)
    assert (len(bars), bars[3].label, note) == (30, "3", "")


def test_windows_have_a_line_each_with_their_intervals_and_the_fullest_alone_where_there_are_many() -> None:
    answers = tuple(cf.estimates.Interval(f"w{place}", 0.02, 0.01, 0.03, 0.9, "") for place in range(50))
    answers = (*answers[:-1], cf.estimates.Interval("w49", 0.5, 0.4, 0.6, 0.9, ""))
    members = tuple(np.array([2 * place, 2 * place + 1]) for place in range(50))
    found = Windows(cf.Integers(0, 99), members, tuple(one.question for one in answers), answers, 0.5, 0.9)
    truth = np.arange(100) / 4950
    bars, note = window_bars(found, truth)
    assert len(bars) == 30
    assert (bars[-1].label, bars[-1].share, bars[-1].ends) == ("w49", 0.5, (0.4, 0.6))
    assert bars[-1].truth == pytest.approx((98 + 99) / 4950)
    assert note == "The 30 largest of 50; --show all shows all 100 values."
    few, _ = window_bars(found, None)
    assert few[0].truth is None


@pytest.mark.slow
def test_answers_are_printed_from_low_to_high(call: Call) -> None:
    options = ("estimate", "survey.toml", "reports.csv", "--method", "ibu", "--query", "age >= 5")
    answer = call(*options, "--json").record["queries"][0]
    decimals = digits(answer["high"] - answer["low"], answer["estimate"])
    ends = f"{answer['low']:.{decimals}%} to {answer['high']:.{decimals}%}"
    assert f"are 5 or older (95% confidence: {ends})" in call(*options).out


@pytest.mark.parametrize(("verdict", "is_noted"), [(Verdict.YES, False), (Verdict.NO, True), (None, False)])
def test_only_a_plain_no_is_noted_loudly(verdict: Verdict | None, is_noted: bool) -> None:
    open_verdict = next(one for one in Verdict if one not in (Verdict.YES, Verdict.NO))
    found = caution_identification(Finding(verdict or open_verdict, "Some reason.", "theorem identification"))
    assert [one.title for one in found] == ["Not identified"] * is_noted


def test_a_diagnosis_lists_the_least_certain_values_first(call: Call, folder: Path) -> None:
    matrix = np.full((20, 19), 0.02)
    matrix[np.arange(19), np.arange(19)] = 0.64
    matrix[19] = matrix[18]  # the last two values are told apart by no report
    alphabet = '[alphabet]\nkind = "integers"\nlow = 0\nhigh = 19\n'
    outputs = '[mechanism.outputs]\nkind = "integers"\nlow = 0\nhigh = 18\n'
    text = f'{alphabet}[mechanism]\nkind = "matrix"\nmatrix = {matrix.tolist()}\n{outputs}'
    (folder / "twins.toml").write_text(text)
    (folder / "twins.csv").write_text("report\n" + "".join(f"{place % 19}\n" for place in range(1900)))
    lines = call("diagnose", "twins.toml", "twins.csv").out.partition("lowest")[2].splitlines()
    listed = [line.split()[0] for line in lines if line.split()[:1] and line.split()[0].isdigit()]
    assert listed[:2] == ["18", "19"]
    assert "15 of 20 values, the least certain first" in "".join(lines)


def test_an_output_is_named_once_and_is_no_input(call: Call) -> None:
    twice = call("estimate", "survey.toml", "reports.csv", "-o", "e.csv", "-o", "./e.csv")
    assert_refused(twice, 2, "e.csv is named twice", "Name another output")
    assert_refused(call("estimate", "survey.toml", "reports.csv", "-o", "reports.csv"), 2, "also an input")
