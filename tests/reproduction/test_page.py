"""The index of a reproduction: complete, self-contained, and honest about what was not run."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from tests.pages.test_design import LABEL, outside_of_folds
from tests.pages.test_estimate_page import Reader
from tests.reproduction.tiny import run_tiny, shrink, tiny_tables

from reproduction import EXPERIMENTS, Comparison, Experiment, Folder, Run
from reproduction.page import reproduction_page
from reproduction.runner import draw_pictures

NAMES = ("start-examples", "mechanisms", "manhattan-map", "likely-subsets")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """Return a folder into which a few small experiments were run."""
    made = Folder(tmp_path_factory.mktemp("reproduction"))
    made.prepare()
    for name in NAMES:
        experiment = EXPERIMENTS[name]
        made.write_tables(experiment, tiny_tables(name))
        made.write_run(Run(name, "0.1.0", 1 if isinstance(experiment, Comparison) else 0, 10, 10, 0, 1.5, 2.0, ""))
        draw_pictures(experiment, made.path)
    return made


@pytest.fixture(scope="module")
def page(folder: Folder) -> str:
    return reproduction_page(list(EXPERIMENTS.values()), folder)


@pytest.mark.slow
def test_every_experiment_has_its_figures_caption_command_and_tables(page: str) -> None:
    reader = Reader(page)
    for name in NAMES:
        experiment = EXPERIMENTS[name]
        assert name in reader.ids
        assert experiment.title in reader.text
        assert all(picture.caption in reader.text for picture in experiment.pictures)
        assert f"python -m reproduction {name}" in reader.text
        assert f"tables/{name}.csv" in reader.links
        assert f"tables/{name}.parquet" in reader.links
        assert all(label in reader.text for label in experiment.paper)
    assert f"the first is {_first_seed(EXPERIMENTS['start-examples'])}" in reader.text
    assert "1.5 s of processor time" in reader.text


def _first_seed(experiment: Experiment) -> int:
    assert isinstance(experiment, Comparison)
    return experiment.draws(1)[0].seed


@pytest.mark.slow
def test_figures_are_files_that_wait_until_they_are_scrolled_to(page: str, folder: Folder) -> None:
    reader = Reader(page)
    pictures = [picture.name for name in NAMES for picture in EXPERIMENTS[name].pictures]
    for name in pictures:
        assert f'<img src="figures/{name}.svg"' in page
        assert f'<source media="(max-width: 960px)" srcset="figures/{name}-narrow.svg"' in page
        assert (folder.path / "figures" / f"{name}-narrow.svg").exists()
    assert page.count('loading="lazy"') == len(pictures)
    assert not re.search(r'<(img|source)[^>]* width="0"', page)
    assert "data:image" not in page
    assert len(page) < 100_000  # it opens at once
    assert not [link for link in reader.links if link.startswith(("http", "//"))]
    targets = [link[1:] for link in reader.links if link.startswith("#")]
    assert set(targets) <= set(reader.ids)


@pytest.mark.slow
def test_pictures_say_what_was_found(page: str) -> None:
    told = re.findall(r'<img [^>]*alt="([^"]*)"', page)
    assert len(told) == sum(len(EXPERIMENTS[name].pictures) for name in NAMES)
    assert any("Likely subset on a plane: the discretization error" in words for words in told)
    assert "<strong>IBU" in page
    assert not LABEL.search(outside_of_folds(page))
    assert not re.search(r"\\bd_max\\b|delta'|theta_", outside_of_folds(page))


def test_files_that_are_linked_exist(page: str, folder: Folder) -> None:
    files = [link for link in Reader(page).links if link.startswith(("tables/", "figures/"))]
    assert files
    assert all((folder.path / file).exists() for file in files)


def test_the_paper_stands_against_ours(page: str) -> None:
    text = Reader(page).text
    assert "Every statement of the paper against ours" in text
    assert "98,060" in text
    assert "98,061" in text
    assert "1.87" in text
    assert "differ" in text


def test_what_was_not_run_is_named(page: str) -> None:
    text = Reader(page).text
    assert "Not run yet" in text
    assert all(name in text for name in EXPERIMENTS)


@pytest.mark.slow
def test_figures_are_drawn_once(folder: Folder) -> None:
    experiment = EXPERIMENTS["likely-subsets"]
    drawn = folder.figure("likely-subsets")
    before = drawn.read_bytes()
    assert draw_pictures(experiment, folder.path) == 0
    drawn.unlink()
    assert draw_pictures(experiment, folder.path) == 1
    assert drawn.read_bytes() == before


@pytest.mark.slow
def test_incompatible_pairs_do_not_stop_the_page(tmp_path: Path) -> None:
    made = Folder(tmp_path)
    made.prepare()
    declared = EXPERIMENTS["rappor-levels"]
    assert isinstance(declared, Comparison)
    experiment = replace(shrink(declared), pictures=(), claims=None)
    made.write_tables(experiment, run_tiny(experiment))
    made.write_run(Run(experiment.name, "0.1.0", 1, 14, 14, 0, 1.0, 1.0, ""))
    assert "does not apply" in reproduction_page([experiment], made)
