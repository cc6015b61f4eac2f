"""Scales: words in an order, whose numbers stand in reports and whose words people read everywhere."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import Call, call, folder  # noqa: F401 (fixtures)

import confide as cf
from confide.data.counting import count
from confide.data.files import read_report_rows, read_values
from confide.estimates.explanations import describe_alphabet, describe_value
from confide.plans import as_guess
from confide.values.queries import as_weights

WORDS = ["never", "rarely", "now and then", "often"]
SCALE = cf.Scale(WORDS, fold=True, aliases={"often": ["always"]}, unit="step")
SURVEY = """
name = "answer"
title = "How often?"
[alphabet]
kind = "scale"
values = ["never", "rarely", "now and then", "often"]
fold = true
unit = "step"
[alphabet.aliases]
often = ["always"]
[mechanism]
kind = "truncated-geometric"
epsilon = 1.0
"""


def test_words_become_numbers() -> None:
    assert SCALE.take(["NEVER ", "Always", "now  and then"]).tolist() == [0, 3, 2]
    assert SCALE.encode(["often", "rarely"]).tolist() == [3, 1] == SCALE.encode([3, 1]).tolist()
    assert SCALE.distance("never", "often") == 3.0 == SCALE.distance(0, 3)
    assert cf.Scale(WORDS, spacing=0.5).distance("never", "often") == 1.5
    assert SCALE.labels([3, 0]) == ["often", "never"]
    with pytest.raises(cf.ConfideError, match=r"1 of 2 values are no words of Scale.*'sometimes' at position 1"):
        SCALE.take(["never", "sometimes"])
    with pytest.raises(cf.ConfideError, match='it is "never" under fold = true'):
        cf.Scale(WORDS).take(["Never"])
    with pytest.raises(cf.ConfideError, match=r"takes words such as 'never'; got .*0"):
        SCALE.take([0, 1])
    with pytest.raises(cf.ConfideError, match="outside"):
        SCALE.encode([4])


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"values": "never"}, "needs a list of words"),
        ({"values": []}, "needs a list of words; got none"),
        ({"values": [1, 2]}, "Whole numbers are Integers"),
        ({"values": ["a", " "]}, "needs a list of words"),
        ({"values": ["a", "a"]}, "'a' stands more than once"),
        ({"values": ["a", "b\0"]}, "NUL"),
        ({"values": ["a", "A "], "fold": True}, "two values"),
        ({"values": ["a", "b"], "other": "c"}, "other must be one of the values"),
        ({"values": ["a", "b"], "spacing": 0}, "spacing"),
    ],
)
def test_what_is_no_scale_is_refused(settings: dict[str, object], words: str) -> None:
    with pytest.raises(cf.ConfideError, match=words):
        cf.Scale(**settings)  # type: ignore[arg-type]


def test_the_survey() -> None:
    survey = cf.parse_survey(SURVEY)
    assert survey.alphabet == SCALE
    assert cf.parse_survey(survey.text()) == survey
    assert cf.Survey.from_json(survey.to_json()) == survey
    assert survey.fingerprint != cf.parse_survey(SURVEY.replace("fold = true\n", "")).fingerprint
    assert survey.fingerprint != cf.parse_survey(SURVEY.replace('"never", "rarely"', '"rarely", "never"')).fingerprint


def test_metric_mechanisms_use_the_order() -> None:
    """On a scale they are what they are on whole numbers, to the last bit; randomized response does not care."""
    numbers = cf.Integers(0, 3, unit="step")
    for kind in (cf.TruncatedGeometric, cf.Exponential, cf.TruncatedLaplace, cf.RandomizedResponse):
        own, plain = kind(SCALE, 1.0), kind(numbers, 1.0)
        assert [own.weights(value) for value in range(4)] == [plain.weights(value) for value in range(4)]
        assert own.guarantee == plain.guarantee
    for unbounded in (cf.Geometric, cf.Laplace):
        people = np.array(["never", "often"] * 50)
        own_reports = unbounded(SCALE, 1.0).privatize(people, rng=3)
        assert own_reports.tolist() == unbounded(numbers, 1.0).privatize([0, 3] * 50, rng=3).tolist()
    assert cf.Geometric(SCALE, 1.0).report_alphabet == cf.Integers(unit="step")


def test_words_at_positions_lie_as_far_apart_as_these() -> None:
    scale = cf.Scale(["never", "rarely", "often", "always"], positions=[0, 0.5, 4, 5], unit="hour")
    assert scale.distance("rarely", "often") == 3.5
    assert scale.gaps.tolist() == [0.5, 3.5, 1.0]
    assert scale.amounts.tolist() == [0, 0.5, 4, 5]
    assert cf.emd([0, 1, 0, 0], [0, 0, 0, 1], scale) == 4.5
    for kind in (cf.TruncatedGeometric, cf.TruncatedLaplace, cf.Exponential):
        mechanism = kind(scale, 0.7)
        matrix = np.log(mechanism.channel.dense())
        ratios = np.abs(matrix[:, None, :] - matrix[None, :, :]).max(axis=2)
        assert (ratios <= 0.7 * scale.distances() + 1e-9).all()
        assert cf.audit(mechanism).holds
        survey = cf.Survey(mechanism)
        assert cf.parse_survey(survey.text()) == survey
        assert "positions = [0, 0.5, 4, 5]" in survey.text()
    for refused in (cf.Geometric, cf.Laplace):
        with pytest.raises(cf.ConfideError, match="would report places"):
            refused(scale, 0.7)
    # Equal steps are a spacing, however they were given, so that equal surveys have one fingerprint.
    assert cf.Scale(WORDS, positions=[10, 12, 14, 16]) == cf.Scale(WORDS, spacing=2)
    assert "positions=[0, 0.5, 4, 5]" in repr(scale)
    assert describe_alphabet(scale) == "4 values in order: never, rarely, often, always, spacing 0.5 to 3.5 hours"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"positions": [0, 1]}, "one position for each of 4 words; got 2"),
        ({"positions": [0, 1, 1, 2]}, "must rise"),
        ({"positions": [3, 2, 1, 0]}, "must rise"),
        ({"positions": [0, 1, 2, float("inf")]}, "finite"),
        ({"positions": [0, 1, 2, "x"]}, "must be a number"),
        ({"positions": "0123"}, "list of numbers"),
        ({"positions": [0, 1, 3, 4], "spacing": 2.0}, "not both"),
    ],
)
def test_positions_that_are_none_are_refused(settings: dict[str, object], words: str) -> None:
    with pytest.raises(cf.ConfideError, match=words):
        cf.Scale(WORDS, **settings)  # type: ignore[arg-type]


def test_queries_speak_words() -> None:
    assert as_weights("answer >= often", SCALE).tolist() == [0, 0, 0, 1]
    assert as_weights("answer < 'now and then'", SCALE).tolist() == [1, 1, 0, 0]
    assert as_weights("answer in rarely..ALWAYS", SCALE, "answer").tolist() == [0, 1, 1, 1]
    assert as_weights("'rarely' <= answer", SCALE, "answer").tolist() == [0, 1, 1, 1]
    assert as_weights("answer != never", SCALE).tolist() == [0, 1, 1, 1]
    assert as_weights("grade >= 2", cf.Scale(["1", "2", "3"])).tolist() == [0, 1, 1]
    for query in ("answer >= 2", "answer == oftn"):
        with pytest.raises(cf.ConfideError, match="is none of the words"):
            as_weights(query, SCALE)
    with pytest.raises(cf.ConfideError, match="'oftn' is none of the words"):
        as_weights("answer == oftn", cf.Scale(WORDS, other="never"))
    both = cf.Attributes(age=cf.Integers(0, 1), answer=SCALE)
    assert as_weights("answer >= often and age == 1", both).sum() == 1


def test_every_question_of_a_window_can_be_asked() -> None:
    from confide.estimates.inference.division import windows_over

    scale = cf.Scale(["never", "now and then", "it's rare", 'a "few"', "in", "ärger", "18-24"])
    kind = windows_over(scale, "answer")
    for low in range(scale.size):
        for high in range(low, scale.size):
            one = kind.join(np.arange(low, high + 1))
            np.testing.assert_array_equal(as_weights(one.question, scale, "answer"), one.weights)
            assert one.weights.sum() == high - low + 1
    assert kind.label(np.array([1, 2])) == "now and then to it's rare"


@pytest.mark.slow
def test_quantiles_are_words() -> None:
    survey = cf.parse_survey(SURVEY)
    answer = cf.estimate(cf.tally([0, 1, 2, 3], [400, 300, 200, 100]), survey.mechanism, cf.IBU())
    median = answer.quantile(0.5)
    assert set(median.labels) <= set(WORDS)
    assert median.labels[0] == WORDS[int(median.estimate)]
    assert str(median).startswith(f"{median.labels[0]}, between ")
    assert answer.interval().at("often").estimate == answer.distribution[3]
    assert float(answer.mean().texts()[0]) == pytest.approx(answer.mean().estimate, rel=1e-3)
    assert answer.mean().remark.startswith("words count as their distance from the first: never as 0, rarely as 1")
    other = median.hull(
        [cf.estimates.Interval("median", 2.0, 0.0, 3.0, 0.95, "", labels=("b", "never", "often"))], "so"
    )
    assert other.labels == (median.labels[0], "never", "often")


def test_it_is_described_in_words() -> None:
    assert describe_alphabet(SCALE) == (
        "4 values in order: never, rarely, now and then, often, spacing 1 step; case and blanks of a text do "
        "not matter, 1 other name is known"
    )
    assert describe_value(SCALE, 2, "answer") == 'answer "now and then"'
    assert repr(SCALE) == "Scale(['never', 'rarely', 'now and then', 'often'], unit='step', fold=True, 1 alias)"


@pytest.mark.slow
def test_damaged_texts_and_reports(tmp_path: Path) -> None:
    path, survey = tmp_path / "people.csv", cf.parse_survey(SURVEY)
    texts = [
        "never",
        "Never\u00a0",
        "2",
        "",
        " ",
        "never\0",
        "\ufeffnever",
        "n\u0435ver",
        "always",
        "now\tand then",
        "x" * 9999,
    ]
    path.write_text("answer,n\n" + "".join(f"{text},1\n" for text in texts))
    rows = read_values(path, survey)
    assert rows.values.tolist() == [0, 0, 3, 2]
    assert dict(rows.account.rejected) == {"missing": 2, "outside the alphabet": 5}
    assert rows.account.remarks == {"folded": 2, "known by another name": 1}
    other = cf.Survey(cf.RandomizedResponse(cf.Scale(WORDS, other="never"), 1.0), "answer")
    assert read_values(path, other).account.remarks == {"counted as never": 8}
    # Reports hold numbers, which Python and SQL read alike.
    reports = tmp_path / "reports.csv"
    reports.write_text("report\n0\n3\n 2 \n3.0\n4\n-1\nnever\n\n1.5\n")
    python, sql = read_report_rows(reports, survey).account, count(reports, survey).rows
    assert python.accepted == 4
    assert (python.accepted, dict(python.rejected)) == (sql.accepted, dict(sql.rejected))


@pytest.mark.slow
def test_from_file_to_page(call: Call, folder: Path) -> None:  # noqa: F811
    (folder / "scale.toml").write_text(SURVEY)
    people = [WORDS[place % 4 if place % 3 else 0] for place in range(600)]
    (folder / "people.csv").write_text(
        "answer,city\n" + "".join(f"{one.upper()},{'AB'[at % 2]}\n" for at, one in enumerate(people))
    )
    assert call("privatize", "scale.toml", "people.csv", "-o", "out.csv", "--keep", "city").code == 0
    asked = ("--truth", "people.csv", "--query", "median", "--query", "answer >= often")
    done = call("estimate", "scale.toml", "out.csv", *asked, "-o", "e.csv", "-o", "e.html", "-o", "e.json")
    assert done.code == 0, done.err
    assert "now and then" in done.out
    header, *rows = csv.reader((folder / "e.csv").read_text().splitlines())
    assert header == ["answer", "label", "probability"]
    assert [row[:2] for row in rows] == [[str(place), word] for place, word in enumerate(WORDS)]
    assert json.loads((folder / "e.json").read_text())["statistics"][0]["labels"][0] in WORDS
    assert "now and then" in (folder / "e.html").read_text()
    assert as_guess("e.csv", cf.load_survey("scale.toml").mechanism).name == "e.csv"
    assert "answer >= often" in call("diagnose", "scale.toml", "out.csv", "--query", "answer >= often").out
    assert "one of the same values, by its number from 0" in call("show", "scale.toml", "-v").out
