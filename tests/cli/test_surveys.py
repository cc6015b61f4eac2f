"""confide new without a file, confide show, and surveys that are no surveys."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cases import each
from tests.cli.conftest import SURVEY, Call, assert_refused
from tests.cli.surveys import some_values

from confide import Categories, Grid, Integers, Survey, load_survey, parse_survey
from confide.cli.new import example_survey, exemplary, mechanism_tables
from confide.mechanisms import MECHANISMS
from confide.values import ALPHABETS


@pytest.mark.parametrize(
    ("kind", "alphabet"),
    [
        ("integers", Integers(0, 99, unit="year")),
        ("categories", Categories(["never", "sometimes", "often"])),
        ("grid", Grid(20, 14, spacing=0.5, unit="km")),
    ],
)
def test_init_writes_a_survey_that_can_be_shown(call: Call, kind: str, alphabet: object) -> None:
    assert call("new", "new.toml", kind).code == 0
    assert load_survey("new.toml").alphabet == alphabet
    assert call("show", "new.toml").code == 0


def test_the_example_is_the_ages_of_the_demo(call: Call) -> None:
    call("new", "new.toml")
    survey = load_survey("new.toml")
    assert (survey.name, survey.mechanism.kind) == ("age", "truncated-geometric")
    assert survey.mechanism.guarantee.bound(30, 31) == pytest.approx(0.05)


FITTING = [(kind, alphabet) for kind in MECHANISMS for alphabet in mechanism_tables(kind)]


def test_there_is_an_example_of_every_mechanism_and_every_alphabet() -> None:
    assert {kind for kind, _ in FITTING} == set(MECHANISMS)
    assert {alphabet for _, alphabet in FITTING} == set(ALPHABETS) == set(exemplary())
    assert len(FITTING) == 165
    for kind, alphabet in ALPHABETS.items():
        assert (alphabet.usual, kind) in FITTING
        assert alphabet.about
    assert all(one.about for one in MECHANISMS.values())


@pytest.mark.parametrize("kind", MECHANISMS)
def test_init_for_every_mechanism(call: Call, kind: str) -> None:
    assert call("new", "new.toml", kind).code == 0
    assert load_survey("new.toml").mechanism.kind == kind
    assert call("show", "new.toml").code == 0


@each(("kind", "alphabet"), FITTING)
def test_every_example_is_a_survey_that_blurs(kind: str, alphabet: str) -> None:
    survey = parse_survey(example_survey(alphabet, kind, Path("survey.toml")))
    values = some_values(survey.alphabet, 20)
    assert len(survey.mechanism.privatize(values, rng=1, taken=True)) == 20


@each(("kind", "alphabet"), FITTING)
def test_examples_of_one_alphabet_name_all_others(kind: str, alphabet: str) -> None:
    comments = example_survey(alphabet, kind, Path("survey.toml")).partition("# Others that fit")[2]
    named = {line.split()[1] for line in comments.splitlines()[1:]}
    assert named == {other for other, where in FITTING if where == alphabet and other != kind}


@each("alphabet", list(ALPHABETS))
def test_settings_in_comments_can_be_taken_in(alphabet: str) -> None:
    text = example_survey(alphabet, ALPHABETS[alphabet].usual, Path("survey.toml"))
    parse_survey(text.replace("# spacing = ", "spacing = ").replace("# holes = [", "holes = ["))


def test_an_alphabet_that_does_not_fit_the_mechanism(call: Call) -> None:
    ending = call("new", "new.toml", "taxicab", "integers")
    assert_refused(ending, 2, "no example of taxicab on integers", "Give grid or lattice")
    assert_refused(call("new", "new.toml", "magic"), 2, "no file 'magic', and no such kind")


def test_new_does_not_overwrite(call: Call, folder: Path) -> None:
    assert_refused(call("new"), 2, "survey.toml exists already", "remove it first")
    assert (folder / "survey.toml").read_text() == SURVEY


def test_new_to_standard_output(call: Call) -> None:
    parse_survey(call("new", "-").out)


def test_new_into_no_folder(call: Call) -> None:
    assert_refused(call("new", "nowhere/survey.toml"), 4, "no folder 'nowhere'")


def test_show_explains_in_words(call: Call) -> None:
    call("new", "new.toml")
    text = call("show", "new.toml", "-v").out
    for words in ("Ages in years", "100 whole numbers, 0 to 99", "0.05 per year", "56:44"):
        assert words in text


def test_show_as_json(call: Call) -> None:
    record = call("show", "survey.toml", "--json").record
    assert record["alphabet"]["size"] == 10
    assert (record["mechanism"]["kind"], record["mechanism"]["epsilon"]) == ("truncated-geometric", 1.0)
    assert 1 <= len(record["examples"]) <= 3


def test_show_of_a_matrix_that_rules_values_out_is_strict_json(call: Call, folder: Path) -> None:
    matrix = '[mechanism]\nkind = "matrix"\nmatrix = [[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]]\n'
    (folder / "m.toml").write_text('[alphabet]\nkind = "integers"\nlow = 1\nhigh = 2\n' + matrix)
    record = call("show", "m.toml", "--json").record
    assert record["mechanism"]["epsilon"] is None
    assert record["reports"]["size"] == 3
    assert call("show", "m.toml").code == 0


BAD_SURVEYS = {
    "unknown key": (SURVEY.replace("epsilon", "epsilom"), ["'epsilom'", "did you mean 'epsilon'?"]),
    "unknown key at the top": ("nane = 'x'\n" + SURVEY, ["'nane'", "did you mean 'name'?"]),
    "epsilon 0": (SURVEY.replace("epsilon = 1.0", "epsilon = 0"), ["epsilon must be a finite number above 0", "got 0"]),
    "epsilon -1": (SURVEY.replace("epsilon = 1.0", "epsilon = -1"), ["epsilon", "got -1"]),
    "epsilon a text": (SURVEY.replace("epsilon = 1.0", 'epsilon = "abc"'), ["epsilon", "got 'abc'"]),
    "epsilon nan": (SURVEY.replace("epsilon = 1.0", "epsilon = nan"), ["epsilon", "got nan"]),
    "unknown mechanism": (
        SURVEY.replace("truncated-geometric", "truncated-geometrik"),
        ["unknown kind 'truncated-geometrik'", "did you mean"],
    ),
    "no alphabet": (SURVEY.replace("[alphabet]", "[alphabets]"), ["'alphabets'", "did you mean 'alphabet'?"]),
    "not TOML": ("name = ", ["not valid TOML"]),
    "rows do not sum to one": (
        '[alphabet]\nkind="integers"\nlow=0\nhigh=1\n[mechanism]\nkind="matrix"\nmatrix=[[0.5, 0.4], [0.5, 0.5]]\n',
        ["sum to", "0.9"],
    ),
}


@pytest.mark.parametrize("name", BAD_SURVEYS)
@pytest.mark.parametrize("command", ["show", "privatize", "estimate"])
def test_a_bad_survey_ends_with_three(call: Call, folder: Path, name: str, command: str) -> None:
    text, words = BAD_SURVEYS[name]
    (folder / "bad.toml").write_text(text)
    files = {"show": [], "privatize": ["values.csv", "-o", "out.csv"], "estimate": ["reports.csv", "-o", "out.csv"]}
    assert_refused(call(command, "bad.toml", *files[command]), 3, "bad.toml", *words)
    assert not (folder / "out.csv").exists()


def test_a_survey_that_is_not_there(call: Call) -> None:
    assert_refused(call("show", "none.toml"), 3, "no survey file 'none.toml'", "confide new none.toml")


def test_a_folder_is_no_survey(call: Call, folder: Path) -> None:
    assert_refused(call("show", str(folder)), 3, "cannot be read")


def test_show_has_the_survey_as_canonical_json(call: Call) -> None:
    shown = call("show", "survey.toml", "--json").record["survey"]
    assert Survey.from_json(json.dumps(shown)) == load_survey("survey.toml")
    assert shown["fingerprint"] == load_survey("survey.toml").fingerprint


def test_a_design_by_hand_says_what_respondents_read(call: Call, folder: Path) -> None:
    call("new", "paper.toml", "dice")
    shown = call("show", "paper.toml").out
    assert "What respondents read" in shown
    assert '2, 3 or 4: say "yes", whatever is true.' in shown
    assert "epsilon 2.303" in shown
    assert "Where somebody else sees the outcome, nothing is promised." in shown
    record = call("show", "paper.toml", "--json").record
    assert len(record["instructions"]) == 4
    text = (folder / "paper.toml").read_text()
    broken = text.replace('values = ["yes", "no"]', 'values = ["yes", "no", "always no"]')
    (folder / "paper.toml").write_text(broken.replace("dice = 2 ", 'breakers = "no"\ndice = 2 '))
    shown = call("show", "paper.toml").out
    assert "no local differential privacy" in shown
    assert "Who follows the rules has epsilon 2.303 between any two answers." in shown
    call("new", "phone.toml", "rappor")
    assert "respondents" not in call("show", "phone.toml").out
