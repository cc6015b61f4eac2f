"""The wire form of reports: whatever a mechanism reports comes back, and what a file would refuse is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import confide as cf
from confide.collector.wire import LIMITS, Wire
from confide.data.files import Reason, read_report_rows

TOWNS = cf.Categories(["Oslo", "Bern", "17"])
MECHANISMS = [
    cf.RandomizedResponse(TOWNS, 1.0),
    cf.RandomizedResponse(cf.Categories([1, 2, 5]), 1.0),
    cf.TruncatedGeometric(cf.Integers(-5, 99), 0.1),
    cf.Geometric(cf.Integers(0, 9), 0.1),
    cf.Laplace(cf.Integers(0, 9), 1.0),
    cf.TruncatedPlanarGeometric(cf.Grid(4, 5), 1.0),
    cf.PlanarLaplace(cf.Grid(4, 5), 1.0),
    cf.Rappor(TOWNS, 1.0),
    cf.Rappor(cf.Integers(0, 99), 1.0),
    cf.WrappedGeometric(cf.Hours(), 1.0),
    cf.Product(
        age=cf.TruncatedGeometric(cf.Integers(0, 9), 1.0),
        home=cf.TruncatedPlanarGeometric(cf.Grid(2, 2), 1.0),
        town=cf.RandomizedResponse(TOWNS, 1.0),
    ),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda one: type(one).__name__)
def test_every_report_comes_back_as_it_was(mechanism: cf.Mechanism) -> None:
    wire = Wire.of(cf.Survey(mechanism))
    values = mechanism.alphabet.decode(np.arange(300) % mechanism.alphabet.size)
    reports = mechanism.privatize(values, rng=7, taken=True)
    sent = json.loads(json.dumps(wire.to_lists(reports)))
    judged = wire.judge(sent)
    assert judged.rejected == []
    assert wire.to_counts(wire.add_up([judged.counts])) == cf.tally(reports)
    again = wire.judge(sent[:5])  # few reports go another way than many
    assert wire.to_counts(wire.add_up([again.counts, again.counts])) == cf.tally(np.concatenate([reports[:5]] * 2))


@pytest.mark.parametrize("number", [1, 100])
def test_what_looks_like_a_number_and_is_none_is_refused(number: int) -> None:
    wire = Wire.of(cf.Survey(cf.TruncatedGeometric(cf.Integers(0, 9), 1.0)))
    bad = [True, None, "x", 2.5, 10, -1, [3, 4], {"a": 3}, 1e300, 2**63 - 1, -(2**63), ""]
    for report in bad:
        judged = wire.judge([3] * number + [report])
        assert [place for place, _ in judged.rejected] == [number], report
        assert wire.add_up([judged.counts]) == {"3": number}


@pytest.mark.parametrize(("low", "high"), [(0, 255), (5, 255), (5, 99), (0, 256), (-3, 9)])
def test_many_numbers_are_counted_to_the_ends_of_the_alphabet_and_not_past_them(low: int, high: int) -> None:
    wire = Wire.of(cf.Survey(cf.TruncatedGeometric(cf.Integers(low, high), 1.0)))
    inside = [low, low, low + 1, high, high - 1] * 20
    for outside in (low - 1, high + 1, high + 256, 2**63 - 1):
        judged = wire.judge([*inside, outside])
        assert judged.rejected == [(100, Reason.OUTSIDE)]
        assert wire.add_up([judged.counts])[str(low)] == 40
    found = wire.judge(inside)
    assert not isinstance(found.counts, dict)
    assert wire.add_up([found.counts, {str(high): 2}]) == {
        str(low): 40, str(low + 1): 20, str(high - 1): 20, str(high): 22,
    }  # fmt: skip


def test_positions_and_reasons_are_those_of_the_batch() -> None:
    wire = Wire.of(cf.Survey(cf.RandomizedResponse(TOWNS, 1.0)))
    judged = wire.judge(["Oslo", "Rome", 17, "Rome", None])
    assert judged.rejected == [(1, Reason.OUTSIDE), (3, Reason.OUTSIDE), (4, Reason.MISSING)]
    assert judged.counts == {'"Oslo"': 1, '"17"': 1}


def test_bits_are_a_text_of_the_right_length() -> None:
    wire = Wire.of(cf.Survey(cf.Rappor(TOWNS, 1.0)))
    judged = wire.judge(["011", "11", "0110", "01x", 3, 11, None, ["0", "1", "1"]])
    assert judged.counts == {'"011"': 1}
    assert {reason for _, reason in judged.rejected} == {Reason.NOT_BITS}
    assert len(judged.rejected) == 7


@given(st.lists(st.one_of(st.integers(-2, 12), st.text("0123456789 .-", max_size=3), st.floats(0, 12)), min_size=1))
def test_a_collector_and_a_file_refuse_alike(reports: list[Any]) -> None:
    import tempfile

    survey = cf.Survey(cf.TruncatedGeometric(cf.Integers(0, 9), 1.0))
    judged = Wire.of(survey).judge(reports)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "reports.csv"
        path.write_text(
            "report\n" + "".join(f'"{one!r}"\n' if isinstance(one, float) else f'"{one}"\n' for one in reports)
        )
        rows = read_report_rows(path, survey)
    assert sum(Wire.of(survey).add_up([judged.counts]).values()) == rows.account.accepted
    assert [place + 2 for place, _ in judged.rejected] == [one.line for one in rows.rejected]


def test_what_is_remembered_is_bounded() -> None:
    wire = Wire.of(cf.Survey(cf.Geometric(cf.Integers(0, 9), 0.1)))
    wire.judge([" " * LIMITS.longest_known + "3"])
    assert wire._known == {}
    wire._known.update({f"{number}": "3" for number in range(LIMITS.most_known)})
    wire.judge([12345])
    assert len(wire._known) <= 1
