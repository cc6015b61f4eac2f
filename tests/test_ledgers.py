"""Ledgers: limits are enforced before a report leaves, whatever happens to the process."""

from __future__ import annotations

import decimal
import itertools
import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from fractions import Fraction
from operator import mul
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import confide as cf
from confide.errors import InvalidParameterError
from confide.surveys.ledgers import Page

YES = cf.RandomizedResponse(cf.Categories(["yes", "no"]), 1.0)
AGES = cf.TruncatedGeometric(cf.Integers(0, 99, unit="year"), 0.05)
SECRET = cf.Permanent(bytes(range(16)))


@pytest.fixture
def ledger(tmp_path: Path) -> cf.Ledger:
    return cf.Ledger(tmp_path / "ledger.json")


def test_reports_are_limited_by_number_across_restarts(ledger: cf.Ledger) -> None:
    survey = cf.Survey(YES, most_reports=3)
    for _ in range(3):
        assert cf.Ledger(ledger.path).privatize(survey, "yes") in ("yes", "no")
    with pytest.raises(cf.errors.LimitError, match="3 reports of one person, and this ledger has as many"):
        ledger.privatize(survey, "no")
    assert ledger.page(survey).reports == 3
    ledger.privatize(cf.Survey(YES, most_reports=2), "yes")  # another survey has a page of its own


def test_a_survey_that_is_issued_again_counts_against_one_limit_of_all(tmp_path: Path) -> None:
    """Each re-issue has permanent noise of its own, so that a year of them would give the value away."""
    path = tmp_path / "ledger.json"
    issued = [cf.Survey(AGES, most_reports=limit, is_permanent=True) for limit in range(1, 40)]
    assert len({one.privatize(40, rng=SECRET) for one in issued}) > 10
    for survey in issued[:3]:
        for _ in range(2):  # the same value again is the same report
            cf.Ledger(path, most_reports=3).privatize(survey, 40, rng=SECRET)
    before = path.read_text()
    with pytest.raises(cf.errors.LimitError, match="allows 3 reports of all surveys together, and has as many"):
        cf.Ledger(path, most_reports=3).privatize(issued[3], 40, rng=SECRET)
    with pytest.raises(cf.errors.LimitError):
        cf.Ledger(path, most_reports=3).privatize(cf.Survey(YES), "yes")
    assert path.read_text() == before
    cf.Ledger(path, most_reports=3).privatize(issued[0], 40, rng=SECRET)
    cf.Ledger(path, most_reports=4).privatize(cf.Survey(YES), "yes")
    with pytest.raises(InvalidParameterError, match="most_reports"):
        cf.Ledger(path, most_reports=0)


def test_a_link_to_a_ledger_is_that_ledger(tmp_path: Path) -> None:
    survey, link = cf.Survey(YES, most_reports=3), tmp_path / "link.json"
    link.symlink_to(tmp_path / "ledger.json")  # which is made with the first report
    for path in (link, tmp_path / "ledger.json", link):
        cf.Ledger(path).privatize(survey, "yes")
    assert link.is_symlink()
    for path in (link, tmp_path / "ledger.json"):
        with pytest.raises(cf.errors.LimitError):
            cf.Ledger(path).privatize(survey, "yes")


def test_a_total_epsilon_allows_just_as_many_as_its_decimals_say(ledger: cf.Ledger) -> None:
    """30 times 0.05 is 1.5: as float64 numbers it is more."""
    survey = cf.Survey(AGES, most_epsilon=1.5)
    assert survey.cost == Fraction(1, 20)
    for _ in range(30):
        ledger.privatize(survey, 40)
    with pytest.raises(cf.errors.LimitError, match=r"total epsilon of 1.5 .* makes it 1.55"):
        ledger.privatize(survey, 40)


def test_a_value_with_permanent_noise_costs_once(ledger: cf.Ledger) -> None:
    survey = cf.Survey(AGES, most_reports=2, is_permanent=True)
    assert len({ledger.privatize(survey, 40, rng=SECRET) for _ in range(10)}) == 1
    ledger.privatize(survey, 41, rng=SECRET)
    with pytest.raises(cf.errors.LimitError):
        ledger.privatize(survey, 42, rng=SECRET)
    ledger.privatize(survey, 41, rng=SECRET)
    text = Path(ledger.path).read_text(encoding="utf-8")
    assert "40" not in [name for page in json.loads(text)["pages"].values() for name in page["values"]]


def test_a_value_is_remembered_by_128_bits_that_depend_on_secret_survey_and_value(ledger: cf.Ledger) -> None:
    surveys = [cf.Survey(AGES, is_permanent=True), cf.Survey(AGES, is_permanent=True, most_reports=500)]
    secrets = [cf.Permanent(bytes(range(number, number + 16))) for number in range(3)]
    for survey, secret, value in itertools.product(surveys, secrets, range(12)):
        ledger.charge(survey, value, rng=secret)
    pages = json.loads(Path(ledger.path).read_text(encoding="utf-8"))["pages"]
    tags = [tag for page in pages.values() for tag in page["values"]]
    assert len(set(tags)) == len(tags) == 2 * 3 * 12
    assert {len(tag) for tag in tags} == {32}
    for place in range(32):  # each digit is any of sixteen
        assert len({tag[place] for tag in tags}) > 8


def test_two_rounds_cost_what_they_last_from_the_first_report_on(ledger: cf.Ledger) -> None:
    survey = cf.Survey(cf.TwoRounds(YES, YES), most_epsilon=2.0)  # 0.43 a report, 1 for any number of a value
    for _ in range(20):
        ledger.privatize(survey, "yes", rng=SECRET)
        assert ledger.page(survey).spent(survey) == 1
    assert ledger.page(survey).total(survey) == 20
    ledger.privatize(survey, "no", rng=SECRET)
    ledger.privatize(survey, "no", rng=SECRET)
    strict = cf.Survey(cf.TwoRounds(YES, YES), most_epsilon=1.0)
    ledger.privatize(strict, "yes", rng=SECRET)
    ledger.privatize(strict, "yes", rng=SECRET)
    with pytest.raises(cf.errors.LimitError):
        ledger.privatize(strict, "no", rng=SECRET)
    with pytest.raises(InvalidParameterError, match=r"0\.9 does not allow one report, which takes 1"):
        cf.Survey(cf.TwoRounds(YES, YES), most_epsilon=0.9)


def test_reports_of_one_value_never_tell_more_than_the_ledger_counted() -> None:
    """All reports of two rounds share one permanent output, so that what each promises by itself does not add up."""
    beyond_sum = set()
    for name, rounds in _two_rounds():
        survey = cf.Survey(rounds)
        permanent, fresh = _shares(rounds)
        for number in (1, 2, 3, 8, 40):
            told = _most_told(permanent, fresh, number)
            page = Page(0, {"a value": number})
            assert told <= _exp(page.spent(survey)), (name, number)
            if told > _exp(number * Fraction(repr(rounds.guarantee.epsilon))):  # type: ignore[attr-defined]
                beyond_sum.add(name)
    assert {"alike", "rare bits", "a matrix"} <= beyond_sum  # a ledger that added single reports up would be found out


def _two_rounds() -> Iterator[tuple[str, cf.TwoRounds]]:
    dozen, colours = cf.Integers(0, 11), cf.Categories(["red", "green", "blue"])
    yield "alike", cf.TwoRounds(cf.RandomizedResponse(dozen, 1.0), cf.RandomizedResponse(dozen, 1.0))
    yield "bits", cf.TwoRounds(cf.Unary(colours, keep=0.75, flip=0.25), cf.Unary(colours, keep=0.75, flip=0.5))
    yield "rare bits", cf.TwoRounds(cf.Unary(colours, keep=0.1, flip=0.001), cf.Unary(colours, keep=0.9, flip=0.3))
    hidden = [[0.451, 0.1, 0.449], [0.1, 0.8, 0.1], [0.1, 0.8, 0.1]]  # 0.0016 of one report, 2.08 of many
    fresh = cf.FromMatrix(colours, [[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]], outputs=cf.Categories(["warm", "cold"]))
    yield "a matrix", cf.TwoRounds(cf.FromMatrix(colours, hidden), fresh)
    numbers = np.random.default_rng(17)
    for case in range(20):
        rows = numbers.choice([1, 2, 9, 60], (2, 3, 3)) + 0.0
        first, second = (cf.FromMatrix(colours, each / each.sum(axis=1, keepdims=True)) for each in rows)
        yield f"matrices {case}", cf.TwoRounds(first, second)
    yield "mixed", cf.TwoRounds(cf.RandomizedResponse(colours, 1.0), fresh)


def _shares(rounds: cf.TwoRounds) -> list[list[list[Fraction]]]:
    """Return the probabilities of both rounds, exactly; of bits, for every vector of them."""
    if (first := rounds.permanent.facts.bits) is None:
        sizes = [(one, one.alphabet.size) for one in (rounds.permanent, rounds.fresh)]
        rows = [[one.weights(number) for number in range(size)] for one, size in sizes]
        return [[[Fraction(weight, sum(row)) for weight in row] for row in each] for each in rows]
    size = rounds.alphabet.size
    vectors = list(itertools.product((0, 1), repeat=size))

    def chance(bits: tuple[Fraction, Fraction], from_: Sequence[int], to: Sequence[int]) -> Fraction:
        ones = [bits[0] if bit else bits[1] for bit in from_]
        return math.prod((one if bit else 1 - one for one, bit in zip(ones, to, strict=True)), start=Fraction(1))

    own = [[int(place == number) for place in range(size)] for number in range(size)]
    second = rounds.fresh.facts.bits
    assert second is not None
    return [
        [[chance(first, one, to) for to in vectors] for one in own],
        [[chance(second, one, to) for to in vectors] for one in vectors],
    ]


def _most_told(permanent: list[list[Fraction]], fresh: list[list[Fraction]], number: int) -> Fraction:
    """Return the largest ratio of so many reports between two values: of all of them together, or of the same again."""
    outputs = range(len(fresh[0]))
    together = number <= 3 and len(outputs) ** number <= 64
    seen = (
        itertools.combinations_with_replacement(outputs, number) if together else ((one,) * number for one in outputs)
    )
    largest = Fraction(0)
    for reports in seen:
        times = [math.prod((row[one] for one in reports), start=Fraction(1)) for row in fresh]
        joint = [sum(map(mul, own, times), start=Fraction(0)) for own in permanent]
        largest = max(largest, max(joint) / min(joint))
    return largest


def _exp(epsilon: Fraction | None) -> Fraction:
    """Return e^epsilon, too large by less than its 10^45th part."""
    assert epsilon is not None
    with decimal.localcontext(prec=60):
        power = (decimal.Decimal(epsilon.numerator) / epsilon.denominator).exp()
    return Fraction(power) * (1 + Fraction(1, 10**45))


@pytest.mark.parametrize(("value", "rng"), [("maybe", None), (["yes"], None), ("yes", 7)])
def test_what_is_refused_is_not_counted(ledger: cf.Ledger, value: Any, rng: Any) -> None:
    with pytest.raises(cf.ConfideError):
        ledger.privatize(cf.Survey(YES, most_reports=1), value, rng=rng)
    assert not Path(ledger.path).exists()
    with pytest.raises(InvalidParameterError, match="a secret of the person"):
        ledger.privatize(cf.Survey(YES, is_permanent=True), "yes")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"version": 2, "pages": {}}', '{"version": 1}'])
def test_a_damaged_ledger_lets_nothing_out(ledger: cf.Ledger, content: str) -> None:
    Path(ledger.path).write_text(content)
    with pytest.raises(cf.errors.LimitError, match="nothing is"):
        ledger.privatize(cf.Survey(YES), "yes")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"version": 1, "pages": []}, "a table of pages"),
        ({"pages": {}}, "a version"),
        ({"version": 1, "pages": {}, "more": 1}, "nothing else"),
        ({"version": True, "pages": {}}, "its version is True"),
        ({"version": "1", "pages": {}}, "its version is '1'"),
        ({"version": 1, "pages": {"a": []}}, "the page of survey a"),
        ({"version": 1, "pages": {"a": {"reports": 1}}}, "the page of survey a"),
        ({"version": 1, "pages": {"a": {"reports": 1, "values": []}}}, "the page of survey a"),
        ({"version": 1, "pages": {"a": {"reports": [], "values": {}}}}, r"a count of survey a is \[\]"),
        ({"version": 1, "pages": {"a": {"reports": "3", "values": {}}}}, "a count of survey a is '3'"),
        ({"version": 1, "pages": {"a": {"reports": -1, "values": {}}}}, "a count of survey a is -1"),
        ({"version": 1, "pages": {"a": {"reports": 1.5, "values": {}}}}, "a count of survey a is 1.5"),
        ({"version": 1, "pages": {"a": {"reports": 0, "values": {"x": "b"}}}}, "a count of survey a is 'b'"),
        ({"version": 1, "pages": {"a": {"reports": 0, "values": {"x": -2}}}}, "a count of survey a is -2"),
    ],
)
def test_what_is_no_ledger_is_never_an_empty_one(ledger: cf.Ledger, content: Any, words: str) -> None:
    Path(ledger.path).write_text(json.dumps(content))
    for act in (ledger.page, lambda survey: ledger.privatize(survey, "yes")):
        with pytest.raises(cf.errors.LimitError, match=words):
            act(cf.Survey(YES))
    assert json.loads(Path(ledger.path).read_text()) == content


def test_a_ledger_is_its_owners_alone(ledger: cf.Ledger) -> None:
    for _ in range(2):
        ledger.privatize(cf.Survey(YES), "yes")
        assert Path(ledger.path).stat().st_mode & 0o777 == 0o600


def test_a_ledger_that_cannot_be_written_lets_nothing_out(tmp_path: Path) -> None:
    with pytest.raises(cf.errors.LimitError, match="cannot be opened"):
        cf.Ledger(tmp_path / "none" / "ledger.json").privatize(cf.Survey(YES), "yes")


def test_a_report_is_on_the_disk_before_it_exists(ledger: cf.Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def synced(number: int) -> None:
        steps.append("fsync")
        fsync(number)

    def renamed(path: Path, target: Path) -> Path:
        steps.append("rename")
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", renamed)
    monkeypatch.setattr(cf.Survey, "privatize", lambda *_, **__: steps.append("report"))
    ledger.privatize(cf.Survey(YES), "yes")
    assert steps == ["fsync", "rename", "fsync", "report"]


def test_a_report_waits_for_who_holds_the_lock(ledger: cf.Ledger) -> None:
    waiting = threading.Thread(target=ledger.privatize, args=(cf.Survey(YES), "yes"))
    with ledger._locked():
        waiting.start()
        waiting.join(0.2)
        assert waiting.is_alive()
        assert not Path(ledger.path).exists()
    waiting.join(10)
    assert ledger.page(cf.Survey(YES)).reports == 1


LOOP = """
import sys, confide as cf
survey = cf.Survey(cf.RandomizedResponse(cf.Categories(["yes", "no"]), 1.0), most_reports=int(sys.argv[2]))
while True:
    try:
        cf.Ledger(sys.argv[1]).privatize(survey, "yes")
    except cf.errors.LimitError:
        break
    print("report", flush=True)
"""


@pytest.mark.slow
def test_two_processes_share_the_limit(ledger: cf.Ledger) -> None:
    run = [sys.executable, "-c", LOOP, str(ledger.path), "40"]
    both = [subprocess.Popen(run, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    made = [len(one.communicate()[0].split()) for one in both]
    assert sum(made) == 40
    assert ledger.page(cf.Survey(YES, most_reports=40)).reports == 40


@pytest.mark.slow
def test_a_kill_loses_a_report_at_most_and_never_its_price(ledger: cf.Ledger) -> None:
    run = [sys.executable, "-c", LOOP, str(ledger.path), "1000000"]
    process = subprocess.Popen(run, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for _ in range(20):
        process.stdout.readline()
    time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    made = 20 + len(process.communicate()[0].split())
    survey = cf.Survey(YES, most_reports=1_000_000)
    assert made <= ledger.page(survey).reports <= made + 1
    ledger.privatize(survey, "yes")  # the lock went with its process


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ("epsilon = 0.5", "does not allow one report"),
        ("epsilon = -1", "must be a finite number above 0"),
        ('noise = "fresh"', "leave it out for fresh noise"),
        ("reports = 0", "at least 1"),
        ("", "needs reports"),
    ],
)
def test_bad_limits_are_refused(limits: str, words: str) -> None:
    text = '[alphabet]\nkind = "categories"\nvalues = ["yes", "no"]\n[mechanism]\nkind = "randomized-response"\n'
    with pytest.raises(cf.ConfideError, match=words):
        cf.parse_survey(f"{text}epsilon = 1.0\n[limits]\n{limits}\n")


def test_limits_stand_in_the_survey_and_its_fingerprint() -> None:
    plain, full = cf.Survey(YES), cf.Survey(YES, most_reports=3, most_epsilon=2.0, is_permanent=True)
    assert full.record()["limits"] == {"reports": 3, "epsilon": 2.0, "noise": "permanent"}
    assert cf.parse_survey(full.text()) == cf.Survey.from_json(full.to_json()) == full
    assert plain.fingerprint != full.fingerprint
    with pytest.raises(InvalidParameterError, match="asks for permanent noise"):
        full.privatize("yes")
    assert full.privatize("yes", rng=1) in ("yes", "no")
    both = cf.Product(one=YES, other=AGES)
    with pytest.raises(InvalidParameterError, match="Limit the number of reports"):
        cf.Survey(both, most_epsilon=2.0)


def test_a_ledger_that_cannot_be_replaced_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    path.mkdir()  # a folder cannot be replaced by a file
    with pytest.raises(cf.errors.LimitError, match="cannot be"):
        cf.Ledger(path)._write({})
    assert [one.name for one in tmp_path.iterdir()] == ["ledger.json"]


def test_a_total_that_is_hardly_too_small_is_named_to_its_last_digit() -> None:
    with pytest.raises(InvalidParameterError, match=r"0\.099999999 does not allow one report, which takes 0\.1\."):
        cf.Survey(cf.RandomizedResponse(cf.Integers(0, 3), epsilon=0.1), "age", most_epsilon=0.099999999)
