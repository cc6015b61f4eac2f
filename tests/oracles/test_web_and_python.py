"""What the studio's pages compute, against Python: labels, values, questions, keys and tables, for every alphabet.

A label is what Python calls a value. What a field hands over is taken as that value. A question made of a picture is
answered by Python with exactly what was chosen. Sources are bundled, so that nothing but Node runs; no browser.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import confide as cf
from confide.data.files.writing import as_meant, as_shown
from confide.studio.drafts import templates, values_record
from confide.surveys.survey import build_survey, declaration_of, json_of
from confide.values.queries import as_weights

ROOT = Path(__file__).parents[2]
WEB = ROOT / "web"
NODE = shutil.which("node")

pytestmark = pytest.mark.skipif(
    not (NODE and (WEB / "node_modules").is_dir()) and not os.environ.get("CI"),
    reason="Node with web/node_modules (npm ci) is not installed; CI requires it",
)

ENTRY = """
export * from "./src/shared/tables.ts";
export * from "./src/charts/questions.ts";
export { csvOf } from "./src/charts/exports.ts";
export { keyFor, keyOf, planOf, queryOf } from "./src/design/drafts.ts";
export { fileName } from "./src/look/shown.ts";
export { counted } from "./src/look/takealong.ts";
"""

Call = tuple[Any, ...]
Ask = Callable[[list[Call]], list[Any]]


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Ask:
    """Return a function that calls functions of the pages by name."""
    bundle = tmp_path_factory.mktemp("web") / "web.mjs"
    client = ROOT / "src" / "confide" / "studio" / "client" / "confide.js"
    script = str(Path(__file__).with_name("web_functions.mjs"))

    def node(given: str, *words: object) -> str:
        command = [str(NODE), script, str(bundle), *map(str, words)]
        done = subprocess.run(command, input=given, text=True, check=False, capture_output=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    node(ENTRY, WEB, client)

    def call(cases: list[Call]) -> list[Any]:
        found: list[Any] = json.loads(node(json.dumps(cases)))
        return found

    return call


ALPHABETS: dict[str, cf.Alphabet] = {
    "integers": cf.Integers(3, 12, unit="year"),
    "far": cf.Integers(-4, 3),
    "circle": cf.Circle(9),
    "hours": cf.Hours(),
    "weekdays": cf.Weekdays(),
    "categories": cf.Categories(["red", "it's", 'so "blue"', "=1+1"]),
    "numbers": cf.Categories([7, 30, 365]),
    "scale": cf.Scale(["bad", "so so", "good"]),
    "bins": cf.Bins(edges=(10.0, 20.0, 50.0), below=True, above=True, unit="euro"),
    "equal": cf.Bins(0.0, 1.0, 0.25),
    "closed": cf.Bins(edges=(-10.0, 0.0, 2.5), above=True),
    "years": cf.Dates("1950", "1962", every="year"),
    "quarters": cf.Dates("2024-Q3", "2026-Q2", every="quarter"),
}
every_row = pytest.mark.parametrize("name", ALPHABETS)


def table_of(alphabet: cf.Alphabet) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(json_of(declaration_of(alphabet))))
    return found


def test_rows_have_the_labels_and_values_of_python(ask: Ask) -> None:
    rows = ask([("row", table_of(one)) for one in ALPHABETS.values()])
    for (name, alphabet), row in zip(ALPHABETS.items(), rows, strict=True):
        assert row["size"] == alphabet.size, name
        labels = list(map(str, alphabet.labels()))
        if name == "weekdays":  # in full
            assert [one[:3] for one in row["labels"]] == labels
        else:
            plain = [one.removesuffix("s").removesuffix(" year").replace(",", "") for one in row["labels"]]
            assert plain == [one.removesuffix("s").replace(",", "") for one in labels], name
        assert alphabet.encode(alphabet.take(row["raws"])).tolist() == list(range(alphabet.size)), name
        values = alphabet.decode(np.arange(alphabet.size)).tolist()
        if isinstance(values[0], int) and name not in ("numbers",):
            assert values == [row["low"] + place for place in range(alphabet.size)], name
        if row["typed"] is not None:
            assert row["typed"] == list(range(alphabet.size)), name


def test_a_report_in_words_is_the_label_of_its_value(ask: Ask) -> None:
    cases: list[Call] = []
    for alphabet in ALPHABETS.values():
        values = alphabet.decode(np.arange(alphabet.size)).tolist()
        cases += [("inWords", table_of(alphabet), value) for value in values]
        cases.append(("row", table_of(alphabet)))
    told = iter(ask(cases))
    for name, alphabet in ALPHABETS.items():
        said = [next(told) for _ in range(alphabet.size)]
        assert said == next(told)["labels"], name


def test_bits_and_lists_in_words_name_what_is_set(ask: Ask) -> None:
    words, ages = ALPHABETS["scale"], ALPHABETS["integers"]
    both = cf.Attributes(mood=words, home=cf.Grid(3, 4), age=ages)
    cases: list[Call] = [
        ("inWords", table_of(words), "101"),
        ("inWords", table_of(words), "000"),
        ("inWords", table_of(ages), 40),
        ("inWords", table_of(both), [1, 2, 3, 7]),
        ("placeOf", table_of(ages), 3),
        ("placeOf", table_of(ages), 12),
        ("placeOf", table_of(ages), 99),
        ("placeOf", table_of(cf.Grid(4, 5, first_row=2, first_column=3)), [2, 3]),
    ]
    found = ask(cases)
    assert found[:3] == ["yes to bad, good; no to all others", "no to everything", "40 years"]
    assert found[3].startswith("mood: so so; home: ")
    assert found[3].endswith("; age: 7 years")
    assert found[4:7] == [[0, 0.5], [1, 0.5], [1, 0.5]]
    assert found[7] == pytest.approx([0.1, 0.875])


def choices(alphabet: cf.Alphabet) -> list[list[int]]:
    """Return what a person may brush: runs of values in order, and any values of others."""
    size = alphabet.size
    runs = [list(range(low, high)) for low in range(size) for high in range(low + 1, size + 1)]
    if isinstance(alphabet, cf.Categories | cf.Scale | cf.Weekdays):
        return [*runs, [size - 1, 0]]
    return [*runs[:: max(1, len(runs) // 25)], list(range(size)), [0], [size - 1]]


@every_row
def test_a_question_of_a_picture_asks_for_what_was_chosen(name: str, ask: Ask) -> None:
    alphabet = ALPHABETS[name]
    chosen = choices(alphabet)
    asked = ask([("questionOf", values_record(alphabet), "mark", indices) for indices in chosen])
    assert any(asked)
    for indices, query in zip(chosen, asked, strict=True):
        if query is None:
            continue
        expected = np.zeros(alphabet.size)
        expected[indices] = 1
        assert as_weights(query, alphabet, "mark").tolist() == expected.tolist(), (indices, query)


def test_a_box_of_a_map_asks_for_its_cells_and_says_where_they_lie(ask: Ask) -> None:
    grid = cf.Grid(4, 5, first_row=2, first_column=-3)
    places = cf.Places(40.70, -74.02, 40.79, -73.93, rows=4, columns=3)
    for alphabet, width in ((grid, 5), (places, 3)):
        boxes = [[0], [0, 1, width, width + 1], [alphabet.size - 1], [width - 1, 2 * width - 1]]
        asked = ask([("questionOf", values_record(alphabet), "home", indices) for indices in boxes])
        for indices, query in zip(boxes, asked, strict=True):
            expected = np.zeros(alphabet.size)
            expected[indices] = 1
            assert as_weights(query, alphabet, "home").tolist() == expected.tolist(), query
    asked_words = ask([("boxWords", values_record(places), query) for query in asked])
    for indices, words in zip(boxes, asked_words, strict=True):
        corners = places.corners(np.array(indices)).reshape(-1, 2)
        numbers = [float(one) for one in re.findall(r"\d+\.\d+", words)]
        south, west, north, east = numbers
        assert [south, north] == pytest.approx([corners[:, 0].min(), corners[:, 0].max()], abs=6e-4)
        assert [-west, -east] == pytest.approx([corners[:, 1].min(), corners[:, 1].max()], abs=6e-4)
    (around,) = ask([("circleOf", values_record(places))])
    assert 0 < as_weights(around, places, "home").sum() < places.size


def test_every_template_begins_with_a_question_about_some(ask: Ask) -> None:
    tables = [(one["draft"]["survey"]["name"], one["draft"]["survey"]["alphabet"]) for one in templates()]
    tables += [("mark", table_of(one)) for one in ALPHABETS.values()]
    for (name, table), query in zip(tables, ask([("queryOf", *one) for one in tables]), strict=True):
        if not query:
            assert table["kind"] not in ("integers", "categories"), name
            assert "edges" not in table, name
            continue
        draft = {"name": name, "title": "T", "alphabet": table, "mechanism": {"kind": "exponential", "epsilon": 1.0}}
        try:
            alphabet = build_survey(draft).alphabet
        except cf.errors.ConfideError:
            continue  # a template whose mechanism is another one
        weights = as_weights(query, alphabet, name)
        assert 0 < weights.sum() < alphabet.size, query


STATE = {
    "template": "ages",
    "draft": {
        "epsilon": 1.0, "people": 1000, "guess": "peaked", "mechanism": "geometric",
        "survey": {"name": "age", "title": "Ages", "alphabet": {"kind": "integers", "low": 0, "high": 9}},
    },
    "target": {"by": "width", "emd": 0.5, "width": 0.02, "query": "age >= 5"},
    "left": {},
}  # fmt: skip

CHANGES: list[tuple[tuple[str, ...], Any, bool, bool]] = [
    (("draft", "people"), 2000, True, True),
    (("draft", "guess"), "rough", True, True),
    (("draft", "mechanism"), "exponential", True, True),
    (("draft", "survey", "alphabet", "high"), 19, True, True),
    (("draft", "survey", "title"), "Other", False, False),
    (("draft", "survey", "name"), "years", False, True),
    (("draft", "epsilon"), 2.0, False, False),
    (("target", "emd"), 0.25, True, False),
    (("target", "width"), 0.01, False, True),
    (("target", "query"), "age >= 6", False, True),
]
"""A part of a draft, another value, and whether a plan for the whole picture, and one for a question, depends on it."""


def test_the_key_of_a_plan_has_what_it_depends_on_and_nothing_else(ask: Ask) -> None:
    for by, at in (("emd", 2), ("width", 3)):
        states = [deepcopy(STATE) for _ in range(len(CHANGES) + 1)]
        for state in states:
            state["target"]["by"] = by  # type: ignore[index]
        for state, (path, value, *_) in zip(states[1:], CHANGES, strict=True):
            inner: Any = state
            for name in path[:-1]:
                inner = inner[name]
            inner[path[-1]] = value
        first, *others = ask([("keyOf", one) for one in states])
        for change, key in zip(CHANGES, others, strict=True):
            assert (key != first) is change[at], (by, change[0])
        solved = ask([("keyFor", one, what) for one in (states[0], states[7]) for what in ("people", "epsilon")])
        assert solved[0] != solved[2], "people depend on epsilon"
        assert solved[1] == solved[3]
        target = ask([("planOf", states[0], "epsilon")])[0]["target"]
        assert target == ({"emd": 0.5} if by == "emd" else {"width": 0.02, "query": "age >= 5"})


def test_a_table_of_shares_is_read_back_and_runs_no_formula(ask: Ask) -> None:
    labels = ["plain", "=1+1", "@cmd", "+x", "-5", "-x", "\tt", 'so "said"', "a,b", "two\nlines", "", "1e3"]
    shares = [[place / 100, place / 7] for place in range(len(labels))]
    series = [{"name": f"s{n}, =", "shares": [row[n] for row in shares]} for n in range(2)]
    (text,) = ask([("csvOf", {"name": "mark", "series": series, "values": {"labels": labels}})])
    header, *rows = list(csv.reader(io.StringIO(text, newline="")))
    assert [as_meant(one) for one in header] == ["mark", "s0, =", "s1, ="]
    assert [as_meant(row[0]) for row in rows] == labels
    assert [row[0] for row in rows] == [str(as_shown(one)) for one in labels]
    assert [[float(one) for one in row[1:]] for row in rows] == shares


def test_names_of_files_and_numbers_in_words(ask: Ask) -> None:
    cases: list[Call] = [
        ("fileName", "How old are you?"),
        ("fileName", "Größe & mehr"),
        ("fileName", "???"),
        ("counted", 1, "person"),
        ("counted", 2000, "person"),
        ("counted", 1, "report"),
        ("counted", 0, "report"),
    ]
    assert ask(cases) == [
        "how-old-are-you",
        "größe-mehr",
        "survey",
        "1 person",
        "2,000 people",
        "1 report",
        "0 reports",
    ]
