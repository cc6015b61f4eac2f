"""Numbers as people type them: every text is one number, or is refused with itself and a cure in the message."""

from __future__ import annotations

import pytest
import typer
from tests.cases import each
from tests.cli.conftest import Call, assert_refused

from confide.cli.usage import as_amount, as_count


@each(
    ("typed", "count"),
    [
        ("0", 0),
        ("7", 7),
        (24, 24),
        (" 50000 ", 50_000),
        ("007", 7),
        ("50,000", 50_000),
        ("1,234,567", 1_234_567),
        ("50_000", 50_000),
        ("50 000", 50_000),
        ("50'000", 50_000),
        ("50\u202f000", 50_000),
        ("50\u2019000", 50_000),
        ("5e4", 50_000),
        ("5E+4", 50_000),
        ("1.5e3", 1500),
        ("1.1e3", 1100),
        ("50.0", 50),
        ("50.", 50),
        ("50k", 50_000),
        ("1.5K", 1500),
        ("2M", 2_000_000),
        ("1000000000000000000000", 10**21),
    ],
)
def test_counts(typed: str, count: int) -> None:
    assert as_count(typed) == count


@each(
    ("typed", "cure"),
    [
        ("50.000", "Write 50 or 50000"),
        ("1.234.567", "Write 1 or 1234567"),
        ("1.500k", "Write 1 or 1500k"),
        ("50,00", "such as 50000"),
        ("5,0000", "such as 50000"),
        ("0,050", "such as 50000"),
        ("50,000.5", "such as 50000"),
        ("1,234 567", "such as 50000"),
        ("10.5", "whole number is needed, such as 10"),
        ("5e-1", "whole number"),
        ("0.25", "whole number is needed, such as 1"),
        ("-5", "whole number"),
        ("fifty", "whole number"),
        ("5m", "whole number"),
        ("", "whole number"),
        ("nan", "whole number"),
        ("0x10", "whole number"),
        ("\u0665\u0660", "whole number"),
        ("1e1000000000", "whole number"),
        ("1e999", "Give a smaller number"),
    ],
)
def test_what_is_no_count(typed: str, cure: str) -> None:
    with pytest.raises(typer.BadParameter) as refusal:
        as_count(typed)
    assert repr(typed) in refusal.value.message
    assert cure in refusal.value.message


@pytest.mark.parametrize(
    ("typed", "amount"),
    [
        ("0.05", 0.05),
        (0.05, 0.05),
        ("5e-2", 0.05),
        (".5", 0.5),
        ("1.", 1.0),
        (" 2 ", 2.0),
        ("-1", -1.0),
        ("1.000", 1.0),
    ],
)
def test_amounts(typed: str, amount: float) -> None:
    assert as_amount(typed) == amount


@each(
    ("typed", "cure"),
    [
        ("0,05", "Write 0.05, with a point"),
        (",5", "Write .5, with a point"),
        ("1,000", "Write 1.000 or 1000"),
        ("0,125", "Write 0.125, with a point"),
        ("12,5", "Write 12.5, with a point"),
        ("95%", "Write 0.95"),
        ("2,5 %", "Write 0.025"),
        ("1_000", "a number is needed"),
        ("nan", "a number is needed"),
        ("inf", "a number is needed"),
        ("1/20", "a number is needed"),
        ("", "a number is needed"),
        ("1,2,3", "a number is needed"),
    ],
)
def test_what_is_no_amount(typed: str, cure: str) -> None:
    with pytest.raises(typer.BadParameter) as refusal:
        as_amount(typed)
    assert repr(typed) in refusal.value.message
    assert cure in refusal.value.message


@pytest.mark.parametrize(
    ("command", "option", "typed", "cure"),
    [
        (("plan", "survey.toml"), "--people", "50.000", "Write 50 or 50000"),
        (("plan", "survey.toml", "--people", "9"), "--epsilon", "0,05", "Write 0.05"),
        (("plan", "survey.toml", "--people", "9"), "--target", "0,5", "Write 0.5"),
        (("plan", "survey.toml", "--people", "9"), "--target", "1%", "Write 0.01"),
        (("estimate", "survey.toml", "reports.csv"), "--interval", "95,5%", "Write 0.955"),
        (("privatize", "survey.toml", "values.csv"), "--seed", "7.5", "whole number"),
    ],
)
def test_every_option_says_what_was_typed(
    call: Call, command: tuple[str, ...], option: str, typed: str, cure: str
) -> None:
    assert_refused(call(*command, option, typed), 2, option, repr(typed), cure)


def test_separators_mean_nothing(call: Call) -> None:
    command = ("plan", "survey.toml", "--guess", "uniform")
    assert call(*command, "--people", "1,000").out == call(*command, "--people", "1000").out
