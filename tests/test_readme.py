"""What the README and the documentation show is run, and what they name is there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from tests.cases import each
from typer.testing import CliRunner

import confide as cf
from confide.cli.main import COMMANDS, app
from confide.mechanisms import MECHANISMS
from confide.solve.methods import METHODS
from reproduction.__main__ import app as reproduce

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
WRITTEN = ("commands.md", "gallery/index", "api/index")  # by the build of the site
DOCUMENTS = [
    README,
    ROOT / "reproduction" / "README.md",
    *(one for one in sorted((ROOT / "docs").glob("*.md")) if one.name not in WRITTEN),
    *sorted((ROOT / "docs" / "guides").glob("*.md")),
]
LINKED = [*DOCUMENTS, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]


def blocks(document: Path, language: str) -> list[str]:
    """Return the blocks of a language, in order."""
    text = document.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def name(document: Path) -> str:
    return str(document.relative_to(ROOT))


@pytest.mark.usefixtures("own_kinds")
@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_python_runs(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "__main__"}
    for number, block in enumerate(blocks(document, "python"), start=1):
        exec(compile(block, f"{document.name}, block {number}", "exec"), namespace)  # noqa: S102  our own text


def test_the_readme_shows_ten_lines_of_python() -> None:
    (block,) = blocks(README, "python")
    assert len([line for line in block.splitlines() if line]) == 10


def test_the_readme_is_read_to_the_end() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 100


def test_links_of_the_readme_work_on_a_package_index() -> None:
    # An index shows the README without the repository, so a relative link leads nowhere there.
    links = re.findall(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)", README.read_text(encoding="utf-8"))
    assert links
    assert [link for link in links if not link.startswith(("https://", "#"))] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_commands_run(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("REPEATS", "SHAPE_REPEATS"):  # plans of few simulated surveys: what is run is the command
        monkeypatch.setattr(f"confide.plans.planning.{name}", 4)
    lines = [line for block in blocks(document, "console") for line in block.splitlines()]
    for line in lines:
        for prompt, command in (("$ confide ", app), ("$ python -m reproduction ", reproduce)):
            if line.startswith(prompt):
                ending = CliRunner().invoke(command, shlex.split(line.removeprefix(prompt), comments=True))
                assert ending.exit_code == 0, f"{line}\n{ending.output}"


def test_the_readme_shows_every_command_of_a_survey() -> None:
    shown = " ".join(blocks(README, "console"))
    # Those that serve, or talk to a server, stand in docs/collector.md and docs/studio.md, and are run in their tests.
    elsewhere = ("demo", "serve", "send", "pull", "curate", "studio")
    assert [command for command in COMMANDS if command not in elsewhere and f"$ confide {command} " not in shown] == []


@each("document", DOCUMENTS, ids=name)
def test_surveys_can_be_read(document: Path) -> None:
    surveys = [block for block in blocks(document, "toml") if "[alphabet]" in block and "[mechanism]" in block]
    for survey in surveys:
        alphabet = cf.parse_survey(survey).alphabet
        assert alphabet.is_finite or isinstance(alphabet, cf.Coordinates)
    assert len(surveys) >= 3 * (document.name == "mechanisms.md")


@each("document", LINKED, ids=name)
def test_links_lead_somewhere(document: Path) -> None:
    targets = re.findall(r"\]\(([^)\s]+)\)", document.read_text(encoding="utf-8"))
    local = [target.partition("#")[0] for target in targets if not re.match(r"[a-z]+:", target)]
    there = [target for target in local if target and not target.endswith(WRITTEN)]
    assert [target for target in there if not (document.parent / target).exists()] == []


def test_make_targets_that_are_named_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = {
        target
        for document in LINKED
        for target in re.findall(r"(?:^|`)make ([a-z-]+)", document.read_text(encoding="utf-8"), flags=re.MULTILINE)
    }
    assert named >= {"demo", "test", "help"}
    assert [target for target in sorted(named) if not re.search(rf"^{target}:.*##", makefile, flags=re.MULTILINE)] == []


@each(
    ("document", "kind"),
    [*(("mechanisms.md", kind) for kind in MECHANISMS), *(("methods.md", kind) for kind in METHODS)],
)
def test_every_mechanism_and_method_stands_in_its_document(document: str, kind: str) -> None:
    assert f"`{kind}`" in (ROOT / "docs" / document).read_text(encoding="utf-8"), (
        f"give {kind} a row in docs/{document}"
    )


def test_files_that_the_readme_names_exist() -> None:
    named = re.findall(r"`([A-Za-z_/-]+\.(?:md|cff))`", README.read_text(encoding="utf-8"))
    assert "docs/start.md" in named
    assert [place for place in named if not (ROOT / place).exists()] == []
