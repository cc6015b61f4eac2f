"""Whatever a command is given reaches the library: every option at once, each with a value that nothing else has.

The function that a command calls is replaced by one that writes down what it gets. Each value has to be among that,
alone under its own name; an option that is dropped, or handed over in another one's place, is missed.
"""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer
from tests.cli.test_every_option import AGES, LIMITED, PERMANENT, SECRET, Nowhere, lines
from typer.testing import CliRunner

import confide as cf
from confide.cli.main import COMMANDS, app
from confide.data.files import save_counts
from confide.evidence.shapes import Shape

pytest.importorskip("pyarrow", reason="counting needs the extra confide[counting]")
pytest.importorskip("uvicorn", reason="the collector needs the extra confide[collector]")

CALLS: list[tuple[str, str, dict[str, Any]]] = [
    (
        "plan s.toml --people 77 --epsilon 0.75 --query age>=2 --guess peaked",
        "confide.cli.plan.make_plan",
        {"people": 77, "epsilon": 0.75, "query": "age>=2", "guess": "peaked"},
    ),
    (
        "plan s.toml --people 77 --target 0.125 --query age>=2",
        "confide.cli.plan.make_plan",
        {"people": 77, "target_width": 0.125, "target_emd": None, "epsilon": None},
    ),
    (
        "plan s.toml --people 77 --epsilon 0.75 --query age>=2 --guess peaked --mechanisms exponential",
        "confide.cli.plan.rank_like",
        {"people": 77, "epsilon": 0.75, "query": "age>=2", "guess": "peaked", "only": "exponential"},
    ),
    (
        "privatize s.toml v.csv -o out.csv --column years --keep town,week --seed 5 --rejects x.csv --force --by w",
        "confide.cli.privatize.privatize_file",
        {
            "values": Path("v.csv"), "output": Path("out.csv"), "columns": ["years"], "keep": ("town", "week"),
            "seed": 5, "secret": None, "secret_column": "", "ledger": None, "rejects": Path("x.csv"), "force": True,
            "by": "w",
        },
    ),
    (
        "privatize permanent.toml v.csv -o out.csv --secret key --ledger l.json",
        "confide.cli.privatize.privatize_file",
        {"secret_column": "key", "ledger": cf.Ledger(Path("l.json")), "force": False, "rejects": None, "keep": ()},
    ),
    (
        "privatize permanent.toml v.csv -o out.csv --secret secret.txt",
        "confide.cli.privatize.privatize_file",
        {"secret": cf.Permanent(SECRET), "secret_column": "", "seed": None},
    ),
    (
        "count s.toml r.csv -o o.parquet --column y --by a,b --weights w --strata h --clusters v --allow-copies",
        "confide.cli.count.open_ledger",
        {
            "source": ["r.csv"], "columns": ("y",), "by": ("a", "b"), "weights": "w", "strata": "h",
            "clusters": "v", "allow_copies": True, "engine": "duckdb", "fingerprint": AGES.fingerprint,
        },
    ),
    (
        "merge one.parquet two.parquet -o out.parquet --pool --allow-copies",
        "confide.cli.count.merge_files",
        {
            "paths": ["one.parquet", "two.parquet"], "output": Path("out.parquet"), "is_pool": True,
            "allow_copies": True,
        },
    ),
    (
        "unbias s.toml r.csv -o out.csv --query age>=2 --query mean --column years",
        "confide.cli.unbias.unbias_file",
        {
            "reports": Path("r.csv"), "output": Path("out.csv"), "queries": ["mean", "age>=2"], "columns": ["years"],
            "fingerprint": AGES.fingerprint,
        },
    ),
    (
        "regress s.toml r.csv 'a~x' --model normal --weights w --clusters v --interval 0.625",
        "confide.cli.regress.fit",
        {
            "formula": "a~x", "data": Path("r.csv"), "model": "normal", "weights": "w", "clusters": "v",
            "level": 0.625, "columns": (), "fingerprint": AGES.fingerprint,
        },
    ),
    ("regress s.toml r.csv 'a ~ x' --column years", "confide.cli.regress.fit", {"columns": ["years"], "level": 0.95}),
    (
        "estimate s.toml r.csv --method mle --shape falling",
        "confide.cli.estimate.assess_pool",
        {"method": cf.MLE(), "shape": Shape.of("falling"), "truth": None},
    ),
    (
        "estimate s.toml r.csv --over week --person who",
        "confide.cli.estimate.read_waves",
        {"path": Path("r.csv"), "over": "week", "person": "who", "fingerprint": AGES.fingerprint},
    ),
    (
        "estimate s.toml towns.parquet --method mle --interval 0.625 --query age>=2 --query 'quantile 90%'",
        "confide.data.files.ask_groups",
        {"queries": ["age>=2"], "level": 0.625, "quantiles": [0.9]},
    ),
    (
        "diagnose s.toml r.csv",
        "confide.cli.diagnose.ask",
        {"name": "age", "mechanism": AGES.mechanism},
    ),
    (
        "send limited.toml v.csv http://localhost:1 --column years --force --invitation abcde-fghij-klmno-pqrst",
        "confide.collector.client.Outbox.fill",
        {"values": Path("v.csv"), "columns": ["years"], "to": "http://localhost:1", "force": True, "batch_size": 1},
    ),
    (
        "send permanent.toml v.csv http://localhost:1 --secret key",
        "confide.collector.client.Outbox.fill",
        {"secret_column": "key", "force": False, "batch_size": 1000},
    ),
]  # fmt: skip
"""A call, the function that it ends at, and what this is to be given; a fingerprint stands for a survey."""

SHOWN = {"--output", "--json", "--verbose", "--show"}
"""Options of what becomes of an answer: test_every_option."""


class Reached(Exception):  # noqa: N818 - how a call ends here
    """The function was called."""


def bound(function: Any, given: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a function is called with, by name."""
    return dict(inspect.signature(function).bind(*given, **named).arguments)


def named_in(thing: Any, name: str) -> Iterator[Any]:
    """Return all that stands under a name in some arguments, or in things that are among them."""
    if isinstance(thing, Mapping):
        if name in thing:
            yield thing[name]
        for one in thing.values():
            yield from named_in(one, name)
    elif isinstance(thing, cf.Survey):
        if name == "fingerprint":
            yield thing.fingerprint
    elif is_dataclass(thing) and not isinstance(thing, cf.Mechanism | cf.Ledger):
        yield from named_in({one.name: getattr(thing, one.name) for one in fields(thing)}, name)


@pytest.mark.parametrize(("call", "place", "expected"), CALLS, ids=[call for call, _, _ in CALLS])
def test_what_a_command_is_given_reaches_the_library(
    call: str, place: str, expected: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("confide.collector.client.Client", Nowhere)
    for name, survey in (("s", AGES), ("permanent", PERMANENT), ("limited", LIMITED)):
        Path(f"{name}.toml").write_text(survey.text())
    Path("secret.txt").write_text(SECRET)
    Path("r.csv").write_text(lines("report,week,who", [f"{at % 3},W{at % 2},p{at}" for at in range(40)]))
    for name, reports in (("one", [0, 1, 2]), ("two", [2, 0])):
        save_counts(f"{name}.parquet", cf.tally(reports), AGES)
    towns: dict[tuple[str, ...], cf.Counts] = {("Oslo",): cf.tally([0, 1, 2] * 20), ("Rome",): cf.tally([2, 1] * 20)}
    save_counts("towns.parquet", cf.data.files.GroupedCounts(("town",), towns, cf.data.files.Account(100)), AGES)
    owner, _, attribute = place.rpartition(".")
    real = getattr(_resolve(owner), attribute)
    got: list[dict[str, Any]] = []

    def write_down(*given: Any, **named: Any) -> Any:
        got.append(bound(real, given, named))
        raise Reached

    monkeypatch.setattr(place, write_down)
    ending = CliRunner().invoke(app, shlex.split(call))
    assert isinstance(ending.exception, Reached), ending.output
    for name, value in expected.items():
        found = list(named_in(got[0], name)) or [None]
        assert found[0] == value, (name, found)


def _resolve(path: str) -> Any:
    """Return a module, or a class in one."""
    try:
        return import_module(path)
    except ModuleNotFoundError:
        owner, _, name = path.rpartition(".")
        return getattr(import_module(owner), name)


def test_every_option_that_is_handed_over_is_among_the_calls() -> None:
    group: Any = typer.main.get_command(app)
    seen: dict[str, set[str]] = {}
    for call, _, _ in CALLS:
        words = shlex.split(call.replace(" -o ", " --output "))
        seen.setdefault(words[0], set()).update(one for one in words if one.startswith("--"))
    elsewhere = {
        "count": {"--engine", "--rejects", "--strict", "--totals"},
        "merge": {"--totals"},
        "estimate": {"--cell", "--truth", "--different-people"},
        "diagnose": {"--query", "--cell", "--different-people", "--strict"},
    }
    for name, options in seen.items():
        assert name in COMMANDS
        known = {max(one.opts, key=len) for one in group.get_command(None, name).params if one.opts[0].startswith("-")}
        assert known - options - SHOWN == elsewhere.get(name, set()), name


UNCOUNTED = "nothing counted it here"


@pytest.mark.parametrize("most_reports", [None, 2])
@pytest.mark.parametrize("most_epsilon", [None, 5.0])
def test_every_limit_of_a_survey_is_told_wherever_it_is_not_kept(
    most_reports: int | None, most_epsilon: float | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The survey of age promises epsilon 2 a report, so that two are within both limits, and three within none."""
    monkeypatch.chdir(tmp_path)
    survey = cf.Survey(AGES.mechanism, "age", "Ages", most_reports=most_reports, most_epsilon=most_epsilon)
    Path("s.toml").write_text(survey.text())
    Path("v.csv").write_text("age\n1\n")
    has_limit = not (most_reports is None and most_epsilon is None)

    def call(*words: str) -> tuple[int, str]:
        ending = CliRunner().invoke(app, list(words))
        return ending.exit_code, " ".join(ending.output.split())

    for option, is_told in (("--force", has_limit), ("--seed 1", False), ("--ledger l.json", False)):
        code, told = call("privatize", "s.toml", "v.csv", "-o", "r.csv", *option.split())
        assert (code, UNCOUNTED in told) == (0, is_told), option
    codes = [call("privatize", "s.toml", "v.csv", "-o", "r.csv", "--ledger", "l.json")[0] for _ in range(2)]
    assert codes == ([0, 5] if has_limit else [0, 0])
    _, shown = call("show", "s.toml", "-v")
    assert ("the most that the survey allows" in shown) is has_limit
    assert ("5" in survey.contract) is (most_epsilon is not None)
    assert ("at most 2 reports" in survey.contract) is (most_reports is not None)
    record = survey.record().get("limits", {})
    assert (record.get("reports"), record.get("epsilon")) == (most_reports, most_epsilon)
