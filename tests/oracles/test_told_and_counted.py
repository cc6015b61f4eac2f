"""What is told on the way, and what is counted at the edges: progress that reaches its end and never passes it, limits
that hold to the last digit, and people who are people whether they stand in rows or in counts.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.collector.asking import ages
from tests.collector.test_against_a_dictionary import Deaf
from tests.oracles.test_caches import asked

import confide as cf
from confide.collector.client import Outbox, receipts_of
from confide.data.files import ask_groups, estimate_file
from confide.data.files.counts_files import CountsFile, Heading
from confide.data.files.sheets import Account
from confide.errors import LimitError
from confide.studio import answers
from confide.studio.looks import look
from confide.values.order import natural_order

AGES = cf.Survey(cf.TruncatedGeometric(cf.Integers(2, 6, unit="year"), 1.0), "age", "Ages", groups={"town": ("A", "B")})
TOWNS = {("A",): {0: cf.tally([2, 3, 3, 5])}, ("B",): {0: cf.tally([4, 4])}, ("C",): {0: cf.tally([6])}}


def groups() -> Any:
    heading = Heading((AGES,), ("town",), Account(7))
    return estimate_file(CountsFile(heading, {key: dict(one) for key, one in TOWNS.items()}), AGES, cf.MLE())


def reaches_its_end(told: list[tuple[int, int]]) -> None:
    """Check that progress goes up, step by step, and that the last one is about the last of all."""
    done, of = [one[0] for one in told], {one[1] for one in told}
    assert len(of) == 1
    assert done == sorted(done)
    assert set(done) <= set(range(of.pop() + 1))


@pytest.mark.parametrize(
    ("more", "queries", "methods"),
    [
        ((), [], []),
        (("band",), ["age >= 5"], []),
        (("groups",), [], ["mle"]),
        (("diagnosis",), ["age >= 5", "age <= 3"], ["mle", "inversion-raw"]),
        (("band", "groups", "diagnosis"), ["age >= 5"], ["mle"]),
    ],
)
def test_a_look_has_as_many_steps_as_it_says(more: tuple[str, ...], queries: list[str], methods: list[str]) -> None:
    told: list[tuple[int, int]] = []
    work = asked(AGES, [2, 3, 3, 5] * 20, 1, ("A", "B")) | dict.fromkeys(more, True)
    look(work | {"queries": queries, "methods": methods}, lambda done, of, *_: told.append((done, of)))
    reaches_its_end(told)
    assert [one[0] for one in told] == list(range(told[0][1]))


@pytest.mark.parametrize("kind", ["estimate", "questions", "intervals"])
def test_progress_of_groups_ends_with_the_last_group(kind: str) -> None:
    told: list[tuple[int, int]] = []

    def advance(done: int, of: int = 3) -> None:
        told.append((done, of))

    found = groups()
    calls: dict[str, Callable[[], Any]] = {
        "estimate": lambda: estimate_file(
            CountsFile(Heading((AGES,), ("town",), Account(7)), {key: dict(one) for key, one in TOWNS.items()}),
            AGES,
            cf.MLE(),
            progress=advance,
        ),
        "questions": lambda: ask_groups(found, ["age >= 4"], 0.9, quantiles=[0.25], progress=advance),
        "intervals": lambda: found.interval(0.9, progress=advance),
    }
    calls[kind]()
    reaches_its_end(told)
    assert told[-1][0] == 3


def test_groups_are_asked_every_quantile() -> None:
    asked_of = ask_groups(groups(), ["age >= 4"], 0.9, quantiles=[0.25, 0.5, 0.9])
    assert list(asked_of) == ["mean", "median", "quantile 0.25", "quantile 0.9", "age >= 4"]
    alone = {key: cf.estimate(one[0], AGES.mechanism, cf.MLE()) for key, one in TOWNS.items()}
    for key, one in alone.items():
        assert asked_of["quantile 0.9"][key].estimate == one.quantile(0.9, 0.9).estimate
        assert asked_of["median"][key].estimate == one.quantile(0.5, 0.9).estimate
        assert asked_of["mean"][key].estimate == pytest.approx(one.mean(0.9).estimate, abs=1e-4)


@pytest.mark.parametrize("epsilon", ["0.1", "0.2", "0.3", "0.7", "1.1"])
def test_a_limit_in_epsilon_allows_as_many_reports_as_it_has_room_for(epsilon: str, tmp_path: Path) -> None:
    """As people reckon: three times 0.1 is 0.3, whatever floats make of it."""
    pair = cf.Categories(["yes", "no"])
    for number in range(1, 8):
        for more in (0, 1):
            total = Decimal(epsilon) * number - more * Decimal("1e-9")
            if number == more:
                continue
            mechanism = cf.RandomizedResponse(pair, float(epsilon))
            survey = cf.Survey(mechanism, most_epsilon=float(total))
            ledger = cf.Ledger(tmp_path / f"{epsilon}-{number}-{more}.json")
            for _ in range(number - more):
                ledger.charge(survey, "yes")
            with pytest.raises(LimitError, match="allows a total epsilon"):
                ledger.charge(survey, "yes")
            assert ledger.page(survey).reports == number - more


@pytest.mark.parametrize("size", [1, 4, 10])
def test_an_outbox_holds_people_whether_they_stand_in_rows_or_in_counts(size: int, tmp_path: Path) -> None:
    contents = {"rows.csv": "age\n" + "3\n" * 5 + "4\n" * 2, "counts.csv": "age,count\n3,5\n4,2\n5,0\n"}
    for name, content in contents.items():
        values = tmp_path / name
        values.write_text(content)
        box, done = Outbox.fill(tmp_path / f"{name}.box", ages(), values, batch_size=size)
        assert (box.reports, box.messages, done.account.people) == (7, -(-7 // size), 7), name
        told: list[int] = []
        collector = Deaf()
        assert box.send(collector, told.append, receipts_of(values)).accepted == 7
        assert told == list(range(1, box.messages + 1))
        assert sum(len(one["reports"]) for one in collector.asked) == 7
        (line,) = receipts_of(values).read_text().splitlines()
        receipt = json.loads(line)
        assert (receipt["reports"], receipt["survey"], receipt["to"]) == (7, ages().fingerprint, ""), name


@pytest.mark.parametrize("size", [1, 3, 4, 50])
def test_every_message_of_an_outbox_has_the_reports_of_one_group(size: int, tmp_path: Path) -> None:
    sharp = replace(AGES, mechanism=cf.TruncatedGeometric(cf.Integers(2, 6, unit="year"), 90.0))  # nothing moves
    people = [(str(2 + place % 5), "AB"[place % 3 == 0]) for place in range(23)]
    (tmp_path / "v.csv").write_text("age,town\n" + "".join(f"{age},{town}\n" for age, town in people))
    box, _ = Outbox.fill(tmp_path / "box", sharp, tmp_path / "v.csv", batch_size=size)
    messages = [json.loads(line) for line in (tmp_path / "box").read_text().splitlines()[1:]]
    assert len(messages) == box.messages
    sent = Counter((str(report), one["groups"]["town"]) for one in messages for report in one["reports"])
    assert sent == Counter(people)
    assert len({one["batch"] for one in messages}) == len(messages)
    assert max(len(one["reports"]) for one in messages) <= size
    assert {one["survey"] for one in messages} == {sharp.fingerprint}


@pytest.mark.parametrize(
    "ordered",
    [
        ["9", "10"],
        ["week 9", "week 10"],
        ["2026-W02", "2026-W10"],
        ["Q4 2025", "Q1 2026"],
        ["Monday", "Friday"],
        ["A", "b"],
    ],
)
def test_a_group_without_a_name_comes_first_whatever_the_others_are(ordered: list[str]) -> None:
    expected = [("",), *((one,) for one in ordered)]
    assert natural_order(expected) == natural_order(expected[::-1]) == expected
    assert natural_order([("x", *one) for one in expected[::-1]]) == [("x", *one) for one in expected]


DAYS = [date(2024, month, day) for month in (1, 2, 11, 12) for day in (1, 2, 11, 12)] + [date(2025, 1, 1)]


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%d %B %Y", "%m/%d/%Y", "%b %d %Y"])
def test_dates_written_in_any_way_are_in_their_order(form: str) -> None:
    """Every pair of them; a day after the twelfth tells that months come first, and a month never does."""
    late = [] if form.startswith(("%d", "%Y")) else [date(2024, 1, 13)]
    for one, other in itertools.combinations(DAYS, 2):
        days = sorted([one, other, *late])
        expected = [(day.strftime(form),) for day in days]
        assert natural_order(expected[::-1]) == natural_order(expected) == expected


def test_made_up_people_are_as_many_as_were_asked_for() -> None:
    for people in (1, 7, 100):
        found = answers.simulate({"document": AGES.to_json(), "people": people, "of": people}, lambda *_: None)
        assert sum(len(one["reports"]) for one in found) <= people
        assert {tuple(one["groups"]) for one in found} == {("town",)}
        assert all(np.isin(one["reports"], range(2, 7)).all() for one in found)
