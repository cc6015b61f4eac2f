"""What all tests share: one hypothesis profile, imports between test modules, and a cache of their own."""

import asyncio
import gc
import importlib.util
import os
import sys
import zlib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

# One thread for BLAS, here and in every process that a test starts: two threads on two busy cores are many times slower
# than one. Numpy looks when it is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest
import typer.testing
from hypothesis import HealthCheck, settings

# Under --import-mode=importlib nothing puts the root on the path; tests import shared material as tests.laws.examples.
ROOT = str(Path(__file__).parent.parent)
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)

# The same examples on every run and every machine: a red test is a bug, never bad luck.
settings.register_profile(
    "suite",
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=25,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
# For a hunt: CONFIDE_HYPOTHESIS=hunt pytest tests/laws
settings.register_profile("hunt", deadline=None, max_examples=1000, suppress_health_check=list(HealthCheck))
settings.load_profile(os.environ.get("CONFIDE_HYPOTHESIS", "suite"))


@pytest.fixture(autouse=True)
def _no_loop_of_a_browser(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let a test run a loop of its own in a process whose browser, which stays, has one running in the same thread."""
    running = None if "browser" in request.fixturenames else asyncio._get_running_loop()
    if running is not None:
        asyncio._set_running_loop(None)
    yield
    if running is not None:
        asyncio._set_running_loop(running)


@pytest.fixture
def own_kinds() -> Iterator[None]:
    """Forget the kinds that a test registers."""
    from confide.values.base import Kinds

    known = [dict(table) for table in Kinds.tables]
    yield
    for table, before in zip(Kinds.tables, known, strict=True):
        table._known = before


# Fourteen thousand tests are made and stay: to look for garbage among them again and again took a third of collecting.
gc.disable()


def pytest_configure(config: pytest.Config) -> None:
    """Let laws whose cases stand in one test try the first of them, if a sample is asked for."""
    from tests.cases import Extent

    Extent.is_first_enough = bool(config.getoption("--quick"))


def pytest_collection_finish() -> None:
    """Look for garbage from here on."""
    gc.enable()


CASES_OF_A_QUICK_RUN = 1


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="a sample for the inner loop: see make quick")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With --quick, leave out what is marked slow, docstrings, and all but the first case of every test.

    The laws run over every mechanism, channel and method: eleven thousand cases in all. A fault in shared code shows
    in the first of them; the rest is for `make test`.
    """
    if not config.getoption("--quick"):
        return
    seen: Counter[str] = Counter()
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        name = item.nodeid.partition("[")[0]
        seen[name] += 1
        is_quick = item.get_closest_marker("slow") is None and not isinstance(item, pytest.DoctestItem)
        is_kept = is_quick and seen[name] <= CASES_OF_A_QUICK_RUN
        (kept if is_kept else left_out).append(item)
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep plans out of the user's cache, and the user's cache out of the tests.

    All workers share one, for README and docs plan the same survey in several places, ten seconds each.
    """
    base = tmp_path_factory.getbasetemp()
    cache = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "cache"
    cache.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CONFIDE_CACHE", str(cache))
        yield


@pytest.fixture(autouse=True, scope="session")
def _commands_built_once() -> Iterator[None]:
    """Build each command of a program once: typer's runner builds them for every call, 50 ms each time."""
    from confide.cli.main import ExplainingGroup

    build = ExplainingGroup.get_command

    @cache
    def built(name: str) -> Any:
        return build(None, None, name)  # type: ignore[arg-type]  # it looks at neither

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("typer.testing._get_command", cache(typer.main.get_command))
        patch.setattr(ExplainingGroup, "get_command", lambda _, __, name: built(name))
        yield


@pytest.fixture(autouse=True)
def _same_entropy(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the operating system's generator give each test the same bytes on every run: a red test is never bad luck.

    A command that is told no seed draws from it. tests/sampling/test_bits.py holds that a device's bytes are its.
    """
    words = np.random.default_rng(zlib.crc32(request.node.nodeid.encode()))
    monkeypatch.setattr(os, "urandom", words.bytes)


WITHOUT_FIT = ("laws/test_methods.py", "methods/", "intervals/", "test_em.py", "test_pooling.py", "solvers/")


@pytest.fixture(autouse=True, scope="module")
def _without_fit(request: pytest.FixtureRequest) -> Iterator[None]:
    """Leave out the screening of the fit where methods and intervals are tried on thousands of surveys.

    It costs as much again as a maximum of the likelihood, and has tests of its own (theory/test_fit.py and
    test_poor_fits.py), in which `estimate` is as users have it.
    """
    with pytest.MonkeyPatch.context() as patch:
        if request.path.relative_to(Path(__file__).parent).as_posix().startswith(WITHOUT_FIT):
            patch.setattr("confide.estimates.estimate.warn_if_poor_fit", lambda _: None)
        yield


LAID_OUT = (
    *("figures/", "pages/test_in_a_browser.py", "pages/test_design.py", "studio/", "reproduction/test_command.py"),
    *("reproduction/test_page.py", "reproduction/test_readme_figure.py", "reproduction/test_runner.py"),
)


@pytest.fixture(autouse=True, scope="module")
def _without_layout(request: pytest.FixtureRequest) -> Iterator[None]:
    """Leave out where exactly the parts of a drawing stand, and ticks: two thirds of the time of a page.

    Tests of figures, and those that measure a page in a browser, have pages as users have them.
    """
    with pytest.MonkeyPatch.context() as patch:
        place = request.path.relative_to(ROOT).as_posix().removeprefix("tests/")
        if not place.startswith(LAID_OUT) and importlib.util.find_spec("matplotlib"):
            # Not an engine that does nothing: a figure that has any is drawn twice, the first time to place its parts.
            from matplotlib.figure import Figure

            save = Figure.savefig

            def save_as_it_stands(figure: Figure, *arguments: Any, **options: Any) -> None:
                with pytest.MonkeyPatch.context() as once:
                    once.setattr(figure, "_layout_engine", None)
                    save(figure, *arguments, **options)

            patch.setattr(Figure, "savefig", save_as_it_stands)
            patch.setattr("matplotlib.axis.Axis._update_ticks", lambda _: [])
        yield
