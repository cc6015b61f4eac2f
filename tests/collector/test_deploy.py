"""What stands in deploy/ starts the collector that we have, and watches numbers that it tells."""

from __future__ import annotations

import configparser
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from tests.collector.killing import SURVEY, Nursery, Running, free_port

from confide.cli.main import app
from confide.surveys.survey import parse_survey

yaml = pytest.importorskip("yaml", reason="needs PyYAML")

DEPLOY = Path(__file__).parents[2] / "deploy"


@pytest.fixture
def running(born: Nursery, tmp_path: Path) -> Iterator[Running]:
    found = Running(born, tmp_path, parse_survey(SURVEY))
    yield found
    born.kill(found.pid)
    found.store.close()


def served(words: list[str]) -> dict[str, Any]:
    """Return what `confide serve` is given by these words, as the command line reads them."""
    assert words[:2] == ["confide", "serve"]
    group: Any = typer.main.get_command(app)
    found: dict[str, Any] = group.get_command(None, "serve").make_context("serve", words[2:]).params
    return found


def documents(name: str) -> list[dict[str, Any]]:
    return [one for one in yaml.safe_load_all((DEPLOY / name).read_text(encoding="utf-8")) if one]


def image() -> tuple[list[str], list[str], str]:
    """Return entry point, command and health check of the image."""
    text = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
    entry, words = (json.loads(re.search(rf"^{name} (\[.*\])$", text, re.M)[1]) for name in ("ENTRYPOINT", "CMD"))  # type: ignore[index]
    return entry, words, json.loads(re.search(r"HEALTHCHECK .* CMD (\[.*\])$", text, re.M)[1])[2]  # type: ignore[index]


def test_every_file_starts_the_collector_that_there_is() -> None:
    entry, words, _ = image()
    assert served(entry + words)["store"] == "/data/confide.db"
    assert tuple(served(entry + words)["bind"]) == ("0.0.0.0", 8000)  # noqa: S104 - in a container
    services = documents("compose.yaml")[0]["services"]
    assert served(entry + services["collector"]["command"])["store"] == "postgresql://confide@database/confide"
    (container,) = documents("kubernetes/collector.yaml")[0]["spec"]["template"]["spec"]["containers"]
    assert served(entry + container["args"])["allow_origin"] == ["https://collector.example.org"]
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(DEPLOY / "confide.service")
    program, *rest = shlex.split(unit["Service"]["ExecStart"])
    assert served([Path(program).name, *rest])["store"] == "/var/lib/confide/confide.db"


def test_nothing_runs_as_root_or_writes_where_it_need_not() -> None:
    assert re.search(r"^USER 10001$", (DEPLOY / "Containerfile").read_text(encoding="utf-8"), re.M)
    collector = documents("compose.yaml")[0]["services"]["collector"]
    assert collector["read_only"]
    assert collector["cap_drop"] == ["ALL"]
    pod = documents("kubernetes/collector.yaml")[0]["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["containers"][0]["securityContext"]["readOnlyRootFilesystem"]
    unit = (DEPLOY / "confide.service").read_text(encoding="utf-8")
    assert {"DynamicUser=yes", "ProtectSystem=strict", "NoNewPrivileges=yes", "CapabilityBoundingSet="} <= set(
        unit.split("\n")
    )


def test_no_password_stands_in_a_command_line() -> None:
    for path in DEPLOY.rglob("*"):
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            assert not re.search(r"postgresql://[^@\s]*:[^@\s]*@", text), path


@pytest.mark.slow
def test_the_health_check_of_the_image_passes_and_fails(running: Running) -> None:
    _, _, check = image()
    here = check.replace("http://127.0.0.1:8000", running.address)
    assert here != check
    assert subprocess.run([sys.executable, "-c", here], check=False).returncode == 0
    nobody = check.replace("127.0.0.1:8000", f"127.0.0.1:{free_port()}")
    assert subprocess.run([sys.executable, "-c", nobody], check=False, stderr=subprocess.DEVNULL).returncode != 0


@pytest.mark.slow
def test_alerts_and_panels_ask_for_numbers_that_the_collector_tells(running: Running) -> None:
    import urllib.request

    with urllib.request.urlopen(f"{running.address}/metrics") as answer:  # noqa: S310 - our own
        told = set(re.findall(r"^# TYPE (confide_\w+)", answer.read().decode(), re.M))
    rules = [
        rule["expr"] for one in documents("prometheus-rules.yaml") for group in one["groups"] for rule in group["rules"]
    ]
    panels = json.loads((DEPLOY / "grafana-dashboard.json").read_text(encoding="utf-8"))["panels"]
    asked = [target["expr"] for panel in panels for target in panel["targets"]]
    for expression in rules + asked:
        names = set(re.findall(r"confide_\w+", expression))
        assert names, expression
        assert names <= told, expression


def test_the_proxy_hides_numbers_and_addresses() -> None:
    text = (DEPLOY / "Caddyfile").read_text(encoding="utf-8")
    assert "@inside path /metrics" in text
    assert "header_up -X-Forwarded-For" in text
    assert not re.search(r"^\s*log\b", text, re.M)
