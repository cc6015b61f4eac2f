"""Kinds of one's own: a mechanism, a method and an alphabet from this file in survey files, counts and commands."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import pytest
from tests.cli.conftest import Ending
from typer.testing import CliRunner

import confide as cf
from confide.cli.main import app
from confide.data.files.counts_files import read_heading
from confide.errors import InvalidParameterError, SurveyError
from confide.mechanisms import MECHANISMS
from confide.mechanisms.sampling import ratio_above
from confide.solve.methods import METHODS
from confide.values import ALPHABETS
from confide.values.base import Example, Kinds


@dataclass(frozen=True, repr=False)
class Neighbourly(cf.Mechanism):
    """Report the value or one of the two beside it, each with e^epsilon times the weight of any other."""

    kind = "neighbourly"
    title = "the neighbourly mechanism of a test"
    about = "the value or one beside it, rarely any other"
    alphabet: cf.Alphabet
    epsilon: float
    reach: int = 1

    @property
    def guarantee(self) -> cf.mechanisms.LocalDP:
        return cf.mechanisms.LocalDP(self.epsilon)

    def weights(self, index: int) -> list[int]:
        ratio = ratio_above(Fraction(self.epsilon))
        near = {(index + step) % self.alphabet.size for step in range(-self.reach, self.reach + 1)}
        return [ratio.denominator if place in near else ratio.numerator for place in range(self.alphabet.size)]


@dataclass(frozen=True, init=False)
class Notes(cf.Categories):
    """Notes of a piece, from the lowest on: C4, D4 and so on."""

    kind = "notes"
    about = "notes without sharps and flats"
    example = Example("note", "Which note do you hum?", "count = 7\n")
    count: int = 0
    lowest: int = 4

    def __init__(self, count: int, lowest: int = 4) -> None:
        super().__init__([f"{'CDEFGAB'[place % 7]}{lowest + place // 7}" for place in range(count)])
        object.__setattr__(self, "count", count)
        object.__setattr__(self, "lowest", lowest)

    @property
    def declared(self) -> dict[str, Any]:
        return {"count": self.count} | ({} if self.lowest == 4 else {"lowest": self.lowest})


@dataclass(frozen=True)
class LeastSquares(cf.Method):
    """Fit the shares of the outputs by non-negative least squares."""

    name: ClassVar[str] = "Least squares"

    def solve(self, evidence: cf.evidence.Evidence, monitor: object = None) -> cf.Solution:  # noqa: ARG002 (there are no steps)
        from scipy.optimize import nnls

        found, _ = nnls(evidence.channel.dense().T, evidence.frequencies)
        return cf.Solution(found / found.sum(), 0, cf.Status.CLOSED_FORM, "non-negative least squares")


@pytest.fixture
def _registered(own_kinds: None) -> None:
    for own in (Neighbourly, Notes, LeastSquares):
        assert cf.register(own) is own


SURVEY = """
name = "note"
title = "Notes that people hum"
[alphabet]
kind = "notes"
count = 9
[mechanism]
kind = "neighbourly"
epsilon = 2.0
reach = 2
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("survey.toml").write_text(SURVEY)
    names = Notes(9).values
    Path("values.csv").write_text("note\n" + "".join(f"{names[i % 4]}\n" for i in range(4000)))
    return tmp_path


def run(*arguments: str) -> Ending:
    result = CliRunner().invoke(app, list(arguments))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Ending(result.exit_code, result.stdout, result.stderr)


@pytest.mark.usefixtures("_registered")
def test_a_survey_of_own_kinds_is_read_as_it_was_written() -> None:
    survey = cf.parse_survey(SURVEY)
    assert survey.mechanism == Neighbourly(Notes(9), 2.0, 2)
    assert cf.parse_survey(survey.text()) == survey
    assert cf.Survey.from_json(survey.to_json()) == survey
    assert json.loads(survey.to_json())["mechanism"] == {"kind": "neighbourly", "epsilon": 2, "reach": 2}
    assert "count = 9" in survey.text()
    assert "lowest" not in survey.text()


@pytest.mark.usefixtures("_registered", "folder")
def test_own_kinds_on_the_command_line() -> None:
    shown = run("show", "survey.toml")
    assert shown.code == 0
    assert "the neighbourly mechanism of a test" in shown.out
    assert run("privatize", "survey.toml", "values.csv", "-o", "reports.csv", "--seed", "1").code == 0
    assert run("count", "survey.toml", "reports.csv", "-o", "counts.parquet").code == 0
    counted = cf.load_counts("counts.parquet")
    assert isinstance(counted, cf.data.files.CountedReports)
    assert counted.total == 4000
    assert read_heading("counts.parquet").surveys == (cf.load_survey("survey.toml"),)
    made = run("estimate", "survey.toml", "counts.parquet", "--method", "least-squares", "--json")
    assert made.code == 0, made.err
    found = made.record
    assert found["alphabet"]["kind"] == "notes"
    assert found["mechanism"]["kind"] == "neighbourly"
    assert sum(found["distribution"][:4]) > 0.8
    assert run("audit", "survey.toml").code == 0
    assert run("diagnose", "survey.toml").code == 0
    assert run("estimate", "survey.toml", "counts.parquet", "-o", "page.html").code == 0
    assert "hum" in Path("page.html").read_text()


@pytest.mark.usefixtures("_registered", "folder")
def test_an_example_of_own_kinds() -> None:
    text = run("new", "-", "notes").out
    assert cf.parse_survey(text).mechanism == cf.RandomizedResponse(Notes(7), 2.0)
    assert re.search("#   neighbourly +the value or one beside it, rarely any other\n", text)
    other = run("new", "-", "neighbourly").out
    assert cf.parse_survey(other).mechanism == Neighbourly(cf.Integers(0, 99, unit="year"), 2.0)
    assert "notes" in other
    assert cf.parse_survey(run("new", "-", "neighbourly", "notes").out).alphabet == Notes(7)


@pytest.mark.usefixtures("_registered")
def test_mechanisms_within_an_own_one() -> None:
    @cf.register
    @dataclass(frozen=True, repr=False)
    class Wrapping(cf.Mechanism):
        kind = "wrapping"
        inside: cf.Mechanism
        shown: cf.Alphabet

        @property
        def alphabet(self) -> cf.Alphabet:  # type: ignore[override]
            return self.inside.alphabet

        @property
        def guarantee(self) -> cf.mechanisms.guarantees.Guarantee:
            return self.inside.guarantee

        def weights(self, index: int) -> Sequence[int]:
            return self.inside.weights(index)

    made = Wrapping(Neighbourly(Notes(3), 1.0), Notes(4))
    survey = cf.Survey(made)
    assert cf.parse_survey(survey.text()) == survey
    assert cf.Survey.from_json(survey.to_json()) == survey


def test_what_is_not_registered_is_unknown() -> None:
    assert "neighbourly" not in MECHANISMS
    assert "notes" not in ALPHABETS
    assert "least-squares" not in METHODS
    with pytest.raises(SurveyError, match="unknown kind 'notes'"):
        cf.parse_survey(SURVEY)


@pytest.mark.usefixtures("own_kinds")
def test_what_cannot_be_registered_is_told_why() -> None:
    class Nameless(cf.RandomizedResponse):
        """The kind of the class above it is not its own."""

    class Plain(cf.Mechanism):
        kind = "plain"

    @dataclass(frozen=True, repr=False)
    class Taken(cf.RandomizedResponse):
        kind = "rappor"

    @dataclass(frozen=True, repr=False)
    class Again(cf.RandomizedResponse):
        kind = "neighbourly"

    cf.register(Neighbourly)
    cf.register(Neighbourly)  # as a notebook does
    for own, words in (
        (Nameless, "Nameless needs a kind"),
        (Plain, "Plain must be a dataclass"),
        (Taken, "a kind 'rappor' already, confide.mechanisms.randomized_response.Rappor"),
        (Again, r"a kind 'neighbourly' already.*Give .*Again another name"),
        (int, "takes a class under Alphabet or Mechanism, or a method"),
        (Neighbourly(Notes(3), 1.0), "takes a class under Alphabet or Mechanism, or a method"),
    ):
        with pytest.raises(InvalidParameterError, match=words):
            cf.register(own)


@pytest.mark.usefixtures("own_kinds")
def test_a_method_with_settings() -> None:
    @dataclass(frozen=True)
    class Slow(cf.IBU):
        kind: ClassVar[str] = "slow-ibu"

    slow = Slow(delta=1e-6)
    assert cf.register(slow) is slow
    assert METHODS["slow-ibu"] == slow


PACKAGE = """
from dataclasses import dataclass
import confide as cf

@dataclass(frozen=True, repr=False)
class Coin(cf.RandomizedResponse):
    kind = "coin"
    about = "as a package has it"
"""

COIN = '[alphabet]\nkind = "categories"\nvalues = ["yes", "no"]\n[mechanism]\nkind = "coin"\nepsilon = 1.0\n'


def offer(folder: Path, **entries: str) -> dict[str, str]:
    """Return the environment of a process in which a package is installed that has these entry points."""
    (folder / "mine.py").write_text(PACKAGE)
    installed = folder / "mine-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    lines = "".join(f"{name} = {place}\n" for name, place in entries.items())
    (installed / "entry_points.txt").write_text(f"[confide.kinds]\n{lines}")
    (folder / "survey.toml").write_text(COIN)
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])}


def confide(folder: Path, environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "confide", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_a_package_offers_kinds_to_the_command_line(tmp_path: Path) -> None:
    environment = offer(tmp_path, coin="mine:Coin", broken="mine:Nothing")
    ending = confide(tmp_path, environment, "show", "survey.toml", "--json")
    assert ending.returncode == 0, ending.stderr
    assert json.loads(ending.stdout)["mechanism"]["kind"] == "coin"
    # What is broken is left out with a warning, and nothing else is.
    assert "'broken'" in ending.stderr
    assert "mine:Nothing" in ending.stderr


@pytest.fixture
def _nothing_loaded(monkeypatch: pytest.MonkeyPatch, own_kinds: None) -> Iterator[None]:
    monkeypatch.setattr(Kinds, "_are_all_here", False)
    yield
    Kinds._are_all_here = True


@pytest.mark.usefixtures("_nothing_loaded")
def test_packages_are_asked_once_and_when_kinds_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    class Entry:
        name, value = "neighbourly", "tests:Neighbourly"

        @staticmethod
        def load() -> type[cf.Mechanism]:
            assert "neighbourly" not in MECHANISMS  # what a package asks while it is imported has an answer
            return Neighbourly

    def entry_points(*, group: str) -> list[type[Entry]]:
        asked.append(group)
        return [Entry]

    monkeypatch.setattr("importlib.metadata.entry_points", entry_points)
    assert MECHANISMS["neighbourly"] is Neighbourly
    assert "notes" not in ALPHABETS
    assert len(METHODS) == 10
    assert asked == ["confide.kinds"]
