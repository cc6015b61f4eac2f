"""Several reports of one person: what is promised adds up, and is said wherever reports come together."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import pytest
from tests.cli.conftest import SURVEY, Call, assert_refused

import confide as cf
from confide.cli.usage import repetition_record
from confide.data.files import read_heading
from confide.errors import DataFileError, InvalidParameterError, SurveyError
from confide.estimates.explanations import describe_repetition
from confide.mechanisms.guarantees import Guarantee, ProductGuarantee
from confide.present.pages import render
from confide.present.summary import state_promise
from confide.values import Alphabet

YEARS = cf.TruncatedGeometric(cf.Integers(0, 9, unit="year"), epsilon=0.05)


@dataclass(frozen=True, repr=False)
class Repeated(cf.Mechanism):
    """Several reports of one value at once, each with noise of its own: the channel's product with itself."""

    one: cf.Mechanism
    reports: int
    promise: Guarantee

    @property
    def alphabet(self) -> Alphabet:  # type: ignore[override]
        return self.one.alphabet

    @property
    def guarantee(self) -> Guarantee:
        return self.promise

    @property
    def report_alphabet(self) -> Alphabet:
        return cf.Integers(0, self.one.report_alphabet.size**self.reports - 1)

    def weights(self, index: int) -> Sequence[int]:
        return [math.prod(each) for each in itertools.product(self.one.weights(index), repeat=self.reports)]


SMALL = [
    cf.RandomizedResponse(cf.Categories(["a", "b", "c"]), 1.0),
    cf.TruncatedGeometric(cf.Integers(0, 3), 0.1),
    cf.FromMatrix(cf.Integers(1, 2), [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]]),
    cf.Product(
        first=cf.RandomizedResponse(cf.Categories(["f", "m"]), 0.3),
        second=cf.TruncatedGeometric(cf.Integers(0, 2), 0.7),
    ),
]


@pytest.mark.parametrize("reports", [2, 3])
@pytest.mark.parametrize("mechanism", SMALL, ids=lambda one: one.kind)
def test_promises_add_up_and_to_no_less(mechanism: cf.Mechanism, reports: int) -> None:
    """Audited on exact integers: times(n) is kept by n reports, and a thousandth less is not."""
    composed = mechanism.guarantee.times(reports)
    assert cf.audit(Repeated(mechanism, reports, composed), reports=100).holds
    slightly_less = _scaled(composed, 0.999)
    assert not cf.audit(Repeated(mechanism, reports, slightly_less), reports=100).holds
    assert not cf.audit(Repeated(mechanism, reports, mechanism.guarantee), reports=100).holds


def _scaled(guarantee: Guarantee, factor: float) -> Guarantee:
    if isinstance(guarantee, ProductGuarantee):
        return replace(guarantee, parts=tuple(_scaled(part, factor) for part in guarantee.parts))
    if isinstance(guarantee, cf.mechanisms.LocalDP):
        return cf.mechanisms.LocalDP(guarantee.epsilon * factor)
    assert isinstance(guarantee, cf.mechanisms.MetricPrivacy)
    return cf.mechanisms.MetricPrivacy(guarantee.epsilon * factor, guarantee.metric, guarantee.unit)


def test_a_composed_promise_is_never_rounded_down() -> None:
    for epsilon, reports in itertools.product((0.1, 0.7, 0.05, 1 / 3, 1e-9), (1, 2, 3, 7, 30, 365, 10**6)):
        composed = cf.mechanisms.LocalDP(epsilon).times(reports)
        assert isinstance(composed, cf.mechanisms.LocalDP)
        assert Fraction(epsilon) * reports <= Fraction(composed.epsilon) <= Fraction(epsilon) * reports * (1 + 2**-52)


def test_composed_promises_keep_their_kind() -> None:
    assert YEARS.guarantee.times(30).terms == "1.5 per year"
    assert YEARS.guarantee.times(1) == YEARS.guarantee
    assert cf.mechanisms.LocalDP(math.inf).times(3) == cf.mechanisms.LocalDP(math.inf)
    assert cf.mechanisms.LocalDP(0).times(3).terms == "epsilon 0"
    both = ProductGuarantee(("sex", "age"), (cf.mechanisms.LocalDP(1.0), YEARS.guarantee), (1, 1)).times(2)
    assert both.terms == "epsilon 2 for sex and 0.1 per year for age"
    assert both.bound(("f", 3), ("m", 5)) == pytest.approx(2.2)
    for wrong in (0, -1, 1.5, True, "2"):
        with pytest.raises(InvalidParameterError, match="reports must be a whole number of at least 1"):
            YEARS.guarantee.times(wrong)  # type: ignore[arg-type]


LIMITED = SURVEY + "[limits]\nreports = 30\n"


def test_limits_are_part_of_a_survey() -> None:
    free, limited = cf.parse_survey(SURVEY), cf.parse_survey(LIMITED)
    assert (free.most_reports, limited.most_reports) == (None, 30)
    assert cf.parse_survey(limited.text()) == limited
    assert cf.Survey.from_json(limited.to_json()) == limited
    assert json.loads(limited.to_json())["limits"] == {"reports": 30}
    assert "limits" not in free.text() + free.to_json()
    others = [cf.parse_survey(LIMITED.replace("30", number)) for number in ("1", "31")]
    assert len({one.fingerprint for one in (free, limited, *others)}) == 4


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[limits]\n", "needs reports, a whole number of at least 1.*got None"),
        ("[limits]\nreports = 0\n", "got 0"),
        ("[limits]\nreports = 1.0\n", "got 1.0"),
        ("[limits]\nreports = true\n", "got True"),
        ('[limits]\nreports = "one"\n', "got 'one'"),
        ("[limits]\nreport = 1\n", r"unknown key 'report' \(did you mean 'reports'\?\)"),
        ("[limit]\nreports = 1\n", r"unknown key 'limit' \(did you mean 'limits'\?\)"),
    ],
)
def test_bad_limits(text: str, words: str) -> None:
    with pytest.raises(SurveyError, match=words):
        cf.parse_survey(SURVEY + text)


def test_a_bad_limit_in_python() -> None:
    with pytest.raises(InvalidParameterError, match="most_reports must be a whole number of at least 1; got 0"):
        cf.Survey(YEARS, most_reports=0)


def test_repetition_in_words() -> None:
    assert describe_repetition(cf.Survey(YEARS)) == (
        "one report: 0.05 per year. Each further report of the same person adds as much: 0.1 per year after 2, 1.5 per "
        "year after 30. [limits] in the survey can state how many one person may make."
    )
    once = describe_repetition(cf.Survey(YEARS, most_reports=1))
    assert once.startswith("one report: 0.05 per year; the survey allows no second one")
    assert once.endswith("0.1 per year")


@pytest.mark.parametrize(("most", "is_broken"), [(None, False), (3, False), (2, True)])
def test_pages_say_what_several_files_cost(most: int | None, is_broken: bool) -> None:
    page = render(state_promise(cf.Survey(YEARS, most_reports=most), cf.evidence.Origin(secure=5), 3))
    assert "in each of the 3 files, the promise to that person is 0.15 per year" in page
    assert ("The survey allows 2: the limit is broken" in page) is is_broken


def test_pages_say_what_repetition_costs() -> None:
    page = render(state_promise(cf.Survey(YEARS, most_reports=30), cf.evidence.Origin(secure=5)))
    assert "Repetition: one report: 0.05 per year; 30 reports of one person" in page
    assert "adds as much" in render(state_promise(cf.Survey(YEARS), cf.evidence.Origin(secure=5)))


def test_init_writes_limits_and_show_says_what_they_promise(call: Call) -> None:
    assert call("new", "new.toml").code == 0
    text = Path("new.toml").read_text().replace("# [limits]\n# reports = 1", "[limits]\nreports = 30")
    Path("new.toml").write_text(text)
    assert cf.load_survey("new.toml").most_reports == 30
    assert (
        "30 reports of one person, the most that the survey allows: 1.5 per year" in call("show", "new.toml", "-v").out
    )
    record = call("show", "new.toml", "--json").record
    assert record["limits"] == record["survey"]["limits"] == {"reports": 30}
    assert record["guarantee_of_all_reports"].startswith("metric privacy, 1.5 per year")
    assert call("new", "free.toml").code == 0
    free = Path("free.toml").read_text()
    assert cf.parse_survey(free).most_reports is None
    assert cf.parse_survey(free.replace("# [limits]\n# ", "[limits]\n")).most_reports == 1
    assert "Each further report of the same person adds as much" in call("show", "free.toml", "-v").out
    assert call("show", "free.toml", "--json").record["limits"] is None


@pytest.fixture
def counted(call: Call, folder: Path) -> Call:
    """A command line in a folder of three files of counts, under a survey that allows two reports."""
    pytest.importorskip("duckdb", reason="counting needs the extra confide[counting]")
    (folder / "two.toml").write_text(SURVEY.replace("1.0", "0.05") + "[limits]\nreports = 2\n")
    for number, name in enumerate("abc"):
        (folder / f"{name}.csv").write_text(f"report\n3\n{number}\n")
        assert call("count", "two.toml", f"{name}.csv", "-o", f"{name}.parquet").code == 0
    return call


def test_merge_states_the_composed_promise(counted: Call) -> None:
    ending = counted("merge", "a.parquet", "b.parquet", "-o", "ab.parquet")
    assert "in each of the 2 files, the promise to that person is 0.1 per year" in ending.out
    assert "limit" not in ending.err
    record = repetition_record(read_heading("ab.parquet"))
    assert record["files"] == 2
    assert record["guarantee_if_in_each_file"].startswith("metric privacy, 0.1 per year")
    assert (record["limit"], record["is_over_limit"]) == (2, False)
    alone = counted("merge", "a.parquet", "-o", "only.parquet").out
    assert "0.05 per year, for one report of each person" in alone


def test_reports_under_two_rounds_are_not_added_up_one_by_one(call: Call, folder: Path) -> None:
    """They share the permanent round's output: 0.15 of one report each, and not 0.3 but up to 1 of two."""
    survey = SURVEY.split("[mechanism]")[0] + (
        '[mechanism]\nkind = "two-rounds"\n[mechanism.permanent]\nkind = "randomized-response"\nepsilon = 1.0\n'
        '[mechanism.fresh]\nkind = "randomized-response"\nepsilon = 1.0\n'
    )
    (folder / "rounds.toml").write_text(survey)
    (folder / "others.toml").write_text(survey.replace("epsilon = 1.0", "epsilon = 1.5"))
    for number, name in enumerate(("rounds", "rounds2", "others")):
        (folder / f"{name}.csv").write_text(f"report\n3\n{number}\n")
        assert call("count", f"{name.removesuffix('2')}.toml", f"{name}.csv", "-o", f"{name}.parquet").code == 0
    ending = call("merge", "rounds.parquet", "rounds2.parquet", "-o", "both.parquet")
    assert ending.code == 0, ending.err
    record = repetition_record(read_heading("both.parquet"))
    told = "is epsilon 1 for the same value in all of them, up to epsilon 2 for another in each, and such"
    assert told in record["words"]
    assert record["guarantee_if_in_each_file"].startswith("local differential privacy, epsilon 2:")
    assert told in " ".join(ending.out.split())
    pooled = call("merge", "rounds.parquet", "others.parquet", "-o", "pool.parquet", "--pool")
    assert pooled.code == 0, pooled.err
    assert repetition_record(read_heading("pool.parquet"))["words"].startswith(
        "epsilon 1 and epsilon 1.5; to a person who"
    )


def test_merge_beyond_the_limit_says_so(counted: Call) -> None:
    """A sum of sums counts all the files behind it."""
    assert counted("merge", "a.parquet", "b.parquet", "-o", "ab.parquet").code == 0
    ending = counted("merge", "ab.parquet", "c.parquet", "-o", "abc.parquet")
    assert ending.code == 0
    assert "the promise to that person is 0.15 per year" in ending.out
    told = "3 files may hold as many reports of one person, and the survey allows 2. The limit is broken unless"
    assert told in " ".join(ending.err.split())
    assert repetition_record(read_heading("abc.parquet"))["is_over_limit"] is True


@pytest.mark.slow
def test_count_of_several_files_says_what_merge_says_and_counts_remember_it(counted: Call, folder: Path) -> None:
    ending = counted("count", "two.toml", "a.csv", "b.csv", "c.csv", "-o", "abc.parquet")
    assert "in each of the 3 files, the promise to that person is 0.15 per year" in ending.out
    assert "3 files may hold as many reports of one person, and the survey allows 2" in " ".join(ending.err.split())
    assert "the survey allows 2" in " ".join(counted("merge", "abc.parquet", "-o", "out.parquet").err.split())
    within = counted("count", "two.toml", "a.csv", "b.csv", "-o", "ab.parquet", "--json")
    assert (within.err, within.record["repetition"]["files"]) == ("", 2)
    ending = counted("merge", "ab.parquet", "c.parquet", "-o", "sum.parquet")
    assert "in each of the 3 files, the promise to that person is 0.15 per year" in ending.out
    assert "promise" not in counted("count", "two.toml", "a.csv", "-o", "a.parquet").out.lower()


@pytest.mark.parametrize("by", [(), ("--by", "town")])
@pytest.mark.slow
def test_an_estimate_repeats_the_composed_promise(counted: Call, folder: Path, by: tuple[str, ...]) -> None:
    for number, name in enumerate("abc"):
        lines = "".join(f"{report % 10},{'xy'[report % 2]}\n" for report in range(40 + number))
        (folder / f"{name}.csv").write_text(f"report,town\n{lines}")
    assert counted("count", "two.toml", "a.csv", "b.csv", "c.csv", *by, "-o", "abc.parquet").code == 0
    outputs = ("-o", "e.html", "-o", "e.json")
    ending = counted("estimate", "two.toml", "abc.parquet", "--method", "ibu", "-v", *outputs)
    told = "in each of the 3 files, the promise to that person is 0.15 per year"
    assert told in ending.out
    assert "3 files may hold as many reports of one person, and the survey allows 2" in " ".join(ending.err.split())
    page = (folder / "e.html").read_text()
    assert told in page
    assert "The survey allows 2: the limit is broken unless the files are of different people" in page
    machine = counted("estimate", "two.toml", "abc.parquet", "--method", "ibu", "--json").record["repetition"]
    assert machine == json.loads((folder / "e.json").read_text())["repetition"]
    assert (machine["files"], machine["limit"], machine["is_over_limit"]) == (3, 2, True)


def test_a_diagnosis_states_the_composed_promise_of_the_limits(counted: Call, folder: Path) -> None:
    text = (folder / "two.toml").read_text()
    told = describe_repetition(cf.parse_survey(text))
    assert "2 reports of one person, the most that the survey allows: 0.1 per year" in told
    assert told in counted("diagnose", "two.toml", "-v").out
    assert counted("diagnose", "two.toml", "--json").record["repetition"] == told


def test_an_estimate_from_one_file_promises_as_the_survey_does(counted: Call, folder: Path) -> None:
    for name in ("a.csv", "a.parquet"):
        ending = counted("estimate", "two.toml", name, "--method", "ibu", "--json")
        assert ending.record["repetition"]["files"] == 1
        assert "limit" not in ending.err


@pytest.mark.slow
def test_counts_are_not_added_to_a_sum_that_has_them(counted: Call, folder: Path) -> None:
    for names in (("a", "b"), ("b", "c")):
        files = [f"{name}.parquet" for name in names]
        assert counted("merge", *files, "-o", f"{''.join(names)}.parquet").code == 0
    for one, other in (("a", "ab"), ("ab", "a"), ("ab", "bc")):
        ending = counted("merge", f"{one}.parquet", f"{other}.parquet", "-o", "out.parquet")
        assert_refused(ending, 4, f"{other}.parquet and {one}.parquet have counts in common", "--allow-copies")
        assert not (folder / "out.parquet").exists()
    assert counted("merge", "ab.parquet", "c.parquet", "-o", "abc.parquet").code == 0
    ending = counted("merge", "ab.parquet", "bc.parquet", "--allow-copies", "-o", "twice.parquet")
    assert "in each of the 4 files" in ending.out
    assert counted("merge", "a.parquet", "-o", "only.parquet").code == 0
    assert_refused(counted("merge", "only.parquet", "a.parquet", "-o", "out.parquet"), 4, "counts in common")
    (folder / "copy.parquet").write_bytes((folder / "ab.parquet").read_bytes())
    assert_refused(counted("merge", "ab.parquet", "copy.parquet", "-o", "out.parquet"), 4, "counts in common")


def test_surveys_that_differ_in_limits_alone_are_told_apart(counted: Call, folder: Path) -> None:
    (folder / "free.toml").write_text(SURVEY.replace("1.0", "0.05"))
    assert counted("count", "free.toml", "a.csv", "-o", "free.parquet").code == 0
    ending = counted("merge", "a.parquet", "free.parquet", "-o", "out.parquet")
    assert_refused(
        ending, 4, "different surveys", "epsilon=0.05), at most 2 reports of one person; TruncatedGeometric("
    )
    assert_refused(counted("estimate", "free.toml", "a.parquet"), 4, "at most 2 reports of one person; this one has")


@pytest.mark.slow
def test_a_pool_is_over_its_limit_only_by_files_of_one_survey(counted: Call, folder: Path) -> None:
    (folder / "once.toml").write_text(SURVEY + "[limits]\nreports = 1\n")
    assert counted("count", "once.toml", "a.csv", "-o", "other.parquet").code == 0
    ending = counted("merge", "a.parquet", "other.parquet", "--pool", "-o", "pool.parquet")
    assert (ending.code, "limit" in ending.err) == (0, False)
    assert "0.05 per year and 1 per year; to a person who reported in several of the 2 files, their sum" in ending.out
    ending = counted("merge", "a.parquet", "b.parquet", "other.parquet", "--pool", "-o", "pool.parquet")
    assert "allows 1" in ending.err


def test_a_file_is_counted_once_by_whatever_name(tmp_path: Path) -> None:
    pytest.importorskip("duckdb", reason="counting needs the extra confide[counting]")
    survey = cf.Survey(YEARS)
    (tmp_path / "in").mkdir()
    one = tmp_path / "in" / "r.csv"
    one.write_text("report\n3\n")
    (tmp_path / "soft.csv").symlink_to(one)
    (tmp_path / "hard.csv").hardlink_to(one)
    for other in (one, one.parent, tmp_path / "soft.csv", tmp_path / "hard.csv", tmp_path / "in" / "*.csv"):
        with pytest.raises(DataFileError, match=r"r\.csv is named 2 times.*Name it once"):
            cf.count([one, other], survey)
    (tmp_path / "other.csv").write_text("report\n4\n")
    assert cf.count([one, tmp_path / "other.csv"], survey).total == 2


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl", "csv.gz"])
@pytest.mark.parametrize("has_metadata", [True, False])
def test_a_copy_of_reports_is_refused(call: Call, folder: Path, ending: str, has_metadata: bool) -> None:
    pytest.importorskip("duckdb", reason="counting needs the extra confide[counting]")
    for name in ("a", "b"):
        assert call("privatize", "survey.toml", "values.csv", "-o", f"{name}.{ending}").code == 0
    files = ("count", "survey.toml", f"a.{ending}", f"b.{ending}", "-o", "c.parquet")
    assert call(*files).err == ""
    (folder / "c.parquet").unlink()
    (folder / f"b.{ending}").write_bytes((folder / f"a.{ending}").read_bytes())
    if ending != "parquet":
        companion, other = folder / f"b.{ending}-metadata.json", folder / f"a.{ending}-metadata.json"
        companion.write_bytes(other.read_bytes()) if has_metadata else companion.unlink()
    told = (f"b.{ending} is byte for byte the same as a.{ending}", "counted twice", "--allow-copies")
    assert_refused(call(*files), 4, *told)
    assert not (folder / "c.parquet").exists()
    assert "Counted 400 reports" in call(*files, "--allow-copies").out


def test_files_of_no_row_or_a_few_are_no_copies(tmp_path: Path) -> None:
    pytest.importorskip("duckdb", reason="counting needs the extra confide[counting]")
    for name, text in (("a", "report\n"), ("b", "report\n"), ("c", "report\n3\n"), ("d", ""), ("e", "")):
        (tmp_path / f"{name}.csv").write_text(text)
    assert cf.count(tmp_path, cf.Survey(YEARS)).total == 1
    (tmp_path / "a.csv").write_text("report\n3\n")  # two people may well say the same
    assert cf.count(tmp_path, cf.Survey(YEARS)).total == 2
    for name in "ac":
        (tmp_path / f"{name}.csv").write_text("report\n" + "3\n" * 60)  # 127 bytes
    assert cf.count(tmp_path, cf.Survey(YEARS)).total == 120
    for name in "ac":
        (tmp_path / f"{name}.csv").write_text("report\n" + "3\n" * 60 + "3")  # 128 bytes
    with pytest.raises(DataFileError, match=r"c\.csv is byte for byte the same as .*a\.csv"):
        cf.count(tmp_path, cf.Survey(YEARS))
    assert cf.count(tmp_path, cf.Survey(YEARS), allow_copies=True).total == 122


@pytest.mark.slow
def test_reports_are_not_merged_twice_by_way_of_other_counts(call: Call, folder: Path) -> None:
    """Counts of a copy hold the same rows; counts of one file and of two have a report file in common."""
    pytest.importorskip("duckdb", reason="counting needs the extra confide[counting]")
    for name in ("s", "p"):
        assert call("privatize", "survey.toml", "values.csv", "-o", f"{name}.csv").code == 0
    (folder / "copy.csv").write_bytes((folder / "s.csv").read_bytes())
    for target, files in (("s", ["s.csv"]), ("copy", ["copy.csv"]), ("sp", ["s.csv", "p.csv"]), ("p", ["p.csv"])):
        assert call("count", "survey.toml", *files, "-o", f"{target}.parquet").code == 0
    ending = call("merge", "s.parquet", "copy.parquet", "-o", "out.parquet")
    assert_refused(ending, 4, "copy.parquet holds the same counts as s.parquet", "--allow-copies")
    assert call("merge", "s.parquet", "p.parquet", "-o", "sum.parquet").code == 0
    for one, other in (("sp", "s"), ("s", "sp"), ("sp", "sum")):
        ending = call("merge", f"{one}.parquet", f"{other}.parquet", "-o", "out.parquet")
        assert_refused(ending, 4, f"{other}.parquet and {one}.parquet have reports in common", "counted twice")
    assert not (folder / "out.parquet").exists()
    assert call("merge", "sp.parquet", "s.parquet", "--allow-copies", "-o", "out.parquet").code == 0
