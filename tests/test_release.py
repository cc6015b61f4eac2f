"""One version, one repository and one set of dependencies, wherever a release names them."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

import confide

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
REPOSITORY = PROJECT["project"]["urls"]["Homepage"]


def text(place: str) -> str:
    return (ROOT / place).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("place", "pattern"),
    [
        ("CITATION.cff", r"^version: (.*)$"),
        ("codemeta.json", r'"version": "(.*)"'),
        ("clients/javascript/package.json", r'"version": "(.*)"'),
        ("clients/javascript/package-lock.json", r'"version": "(.*)"'),
        ("web/package.json", r'"version": "(.*)"'),
        ("release/recipe.yaml", r'version: "(.*)"'),
        ("CHANGELOG.md", r"^## ([\d.]+)"),
    ],
)
def test_every_file_names_this_version(place: str, pattern: str) -> None:
    found = re.search(pattern, text(place), re.MULTILINE)
    assert found
    assert found[1] == confide.__version__


@pytest.mark.parametrize(
    "place",
    [
        "CITATION.cff",
        "codemeta.json",
        "clients/javascript/package.json",
        "release/recipe.yaml",
        ".github/ISSUE_TEMPLATE/config.yml",
        "pyproject.toml",
    ],
)
def test_every_file_names_this_repository(place: str) -> None:
    named = set(re.findall(r"https://(?:github|raw\.githubusercontent)\.com/[\w-]+/[\w-]+", text(place)))
    assert {one.replace("raw.githubusercontent.com", "github.com") for one in named} == {REPOSITORY}


def test_every_python_that_is_promised_is_tried() -> None:
    promised = {
        one.rsplit(" ", 1)[1]
        for one in PROJECT["project"]["classifiers"]
        if re.fullmatch(r"Programming Language :: Python :: 3\.\d+", one)
    }
    tried = set(
        re.findall(
            r'"(3\.\d+)"', next(one for one in text("release/dist.py").splitlines() if one.startswith("PYTHONS"))
        )
    )
    hosted = set(
        re.findall(
            r'"(3\.\d+)"', next(one for one in text(".github/workflows/ci.yml").splitlines() if "python: [" in one)
        )
    )
    assert promised == tried == hosted


def test_the_library_depends_on_what_the_recipe_and_codemeta_list() -> None:
    needed = {re.split(r"[^\w-]", one)[0] for one in PROJECT["project"]["dependencies"]}
    run = text("release/recipe.yaml").split("  run:\n")[1].split("tests:")[0]
    assert {one for one in re.findall(r"- ([\w-]+)", run) if one != "python"} == needed
    assert set(json.loads(text("codemeta.json"))["softwareRequirements"]) == needed


def test_links_of_the_readme_work_on_a_package_index() -> None:
    made = text("README.md")
    for rule in PROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]:
        made = re.sub(rule["pattern"], rule["replacement"].replace("$HFPR_VERSION", confide.__version__), made)
    targets = re.findall(r"\]\(([^)]+)\)", made)
    assert targets
    for target in targets:
        assert target.startswith("https://"), target
        at_this_version = re.match(r"https://[\w.]+/confide-privacy/confide/(?:blob/)?v[\d.]+/(.*)", target)
        assert not at_this_version or (ROOT / at_this_version[1]).exists(), target


def test_workflows_name_actions_by_commit_and_hold_no_secret() -> None:
    for place in (ROOT / ".github" / "workflows").glob("*.yml"):
        words = place.read_text(encoding="utf-8")
        for action in re.findall(r"uses: (\S+)", words):
            assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action), f"{place.name}: {action}"
        assert "secrets." not in words
        assert re.search(r"^permissions: \{\}$", words, re.MULTILINE), place.name


def test_the_sdist_has_everything_that_tests_and_builds_read() -> None:
    included = set(PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"])
    assert {"tests", "docs", "vectors", "README.md", "CHANGELOG.md", "SECURITY.md", "LICENSE", "Makefile"} <= included
