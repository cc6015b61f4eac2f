"""The site: its checker finds what it should, its notebooks run, and its gallery has every figure of the paper."""

from __future__ import annotations

import json
import re
import runpy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pytest
from tests.cases import each

from reproduction.catalogue import EXPERIMENTS
from reproduction.experiments import NUMBERS

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
FIGURES = sorted((ROOT / "examples" / "paper").glob("plot_*.py"))
WITHOUT_DATA = {2, 3, 23}  # a drawing of the setting, of the properties, and a matrix


def code_of(notebook: Path) -> list[str]:
    """Return the code cells of a notebook, in order."""
    cells: list[dict[str, Any]] = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def test_there_are_three_notebooks_without_stored_outputs() -> None:
    assert len(NOTEBOOKS) == 3
    for notebook in NOTEBOOKS:
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        assert [cell for cell in cells if cell.get("outputs")] == []


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run(notebook: Path) -> None:
    namespace: dict[str, object] = {"__name__": "__main__"}
    for number, cell in enumerate(code_of(notebook), start=1):
        exec(compile(cell, f"{notebook.name}, cell {number}", "exec"), namespace)  # noqa: S102  our own text
    plt.close("all")


def numbers_in(title: str) -> list[int]:
    """Return the figures of the paper that a title names."""
    return [int(number) for number in re.findall(r"\d+", title.partition(":")[0])]


def test_the_gallery_has_every_figure_of_the_paper() -> None:
    titles = [path.read_text(encoding="utf-8").splitlines()[1] for path in FIGURES]
    shown = [number for title in titles for number in numbers_in(title)]
    declared = [int(words.removeprefix("Figure ")) for words in NUMBERS.values() if words.startswith("Figure ")]
    assert sorted(shown) == sorted([*declared, *WITHOUT_DATA]) == list(range(1, 33))


def test_the_gallery_has_sixteen_examples_of_its_own() -> None:
    assert len(EXAMPLES) >= 16


@each("path", FIGURES, ids=lambda path: path.stem)
def test_figures_name_their_experiment_as_the_paper_numbers_it(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    sketched = re.search(r'sketch\("([a-z-]+)"\)', text)
    if sketched:
        labels = EXPERIMENTS[sketched[1]].paper
        assert [f"Figure {number}" for number in numbers_in(text.splitlines()[1])] == [NUMBERS[one] for one in labels]


@pytest.mark.slow
@pytest.mark.parametrize("path", [*EXAMPLES, *FIGURES], ids=lambda path: path.stem)
def test_the_examples_of_the_gallery_draw(path: Path) -> None:
    made = runpy.run_path(str(path)).get("figures", [])
    assert len(made) + len(plt.get_fignums()) > 0
    plt.close("all")


@pytest.fixture
def faults() -> Callable[[Path], Iterator[str]]:
    """The checker of a built site, which stands beside the pages and is no part of the package."""
    found: Callable[[Path], Iterator[str]] = runpy.run_path(str(ROOT / "docs" / "offline.py"))["faults"]
    return found


@pytest.mark.parametrize(
    ("page", "style", "fault"),
    [
        ('<a href="other.html#here">x</a><img src="data:,">', "", None),
        ('<a href="https://doi.org/1">x</a>', "", None),
        ('<a href="gone.html">x</a>', "", "index.html links to gone.html, which is not there"),
        ('<a href="other.html#gone">x</a>', "", "index.html links to other.html#gone, but there is no such anchor"),
        ('<a href="#gone">x</a>', "", "index.html links to #gone, but there is no such anchor"),
        ('<script src="https://a.org/b.js"></script>', "", "index.html fetches https://a.org/b.js"),
        ('<link href="//a.org/b.css">', "", "index.html fetches //a.org/b.css"),
        ('<img src="gone.png">', "", "index.html fetches gone.png, which is not there"),
        ("<iframe srcdoc=\"<img src='//a.org/b'>\"></iframe>", "", "index.html fetches //a.org/b"),
        ("", "a { background: url('https://a.org/b.png') }", "a.css fetches https://a.org/b.png"),
    ],
)
def test_the_checker_finds_dead_links_and_foreign_requests(
    faults: Callable[[Path], Iterator[str]], tmp_path: Path, page: str, style: str, fault: str | None
) -> None:
    (tmp_path / "index.html").write_text(page, encoding="utf-8")
    (tmp_path / "other.html").write_text('<h1 id="here">x</h1>', encoding="utf-8")
    (tmp_path / "a.css").write_text(style, encoding="utf-8")
    assert list(faults(tmp_path)) == ([] if fault is None else [fault])
