"""The client in JavaScript: its own tests in Node and Chromium, against Python, and its build rebuilt."""

from __future__ import annotations

import filecmp
import gzip
import json
import os
import random
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.clients.differ import compared, differences, rounds_of
from typer.testing import CliRunner

import confide as cf
from confide.cli.main import app

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "clients" / "javascript"
SHIPPED = ROOT / "src" / "confide" / "studio" / "client"

IS_REQUIRED = bool(os.environ.get("CI"))
"""In CI nothing is skipped."""


def needs(is_there: object, what: str) -> pytest.MarkDecorator:
    """Skip a test where something is not installed, unless all must run."""
    return pytest.mark.skipif(not is_there and not IS_REQUIRED, reason=f"{what} is not installed; CI requires it")


NODE = shutil.which("node")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
IS_BROWSER_REQUIRED = IS_REQUIRED or bool(os.environ.get("REQUIRE_BROWSER"))

needs_node = needs(NODE, "Node")
needs_modules = needs(NODE and (CLIENT / "node_modules").is_dir(), "Node with the client's node_modules (npm ci)")
needs_browser = pytest.mark.skipif(
    not CHROMIUM and not IS_BROWSER_REQUIRED, reason="Chromium is not installed; CI requires it"
)


def node(*arguments: str, given: str = "") -> str:
    """Run Node in the client's folder."""
    done = subprocess.run(
        [NODE or "node", *arguments], cwd=CLIENT, input=given, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


def test_the_page_in_the_documentation_pins_the_survey_made_above_it(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "client.md").read_text(encoding="utf-8")
    assert "$ confide new integers survey.toml\n$ confide export survey.toml -o survey.json\n" in page
    done = CliRunner().invoke(app, ["new", str(tmp_path / "survey.toml")])
    assert done.exit_code == 0, done.output
    pinned = re.findall(r'fingerprint: "(.*?)"', page)
    assert pinned == [cf.load_survey(tmp_path / "survey.toml").pin]


@needs_node
@pytest.mark.slow
def test_its_own_tests_pass() -> None:
    names = sorted(str(path.relative_to(CLIENT)) for path in (CLIENT / "test").glob("*.test.mjs"))
    node("--test", *names)


@needs_modules
@pytest.mark.slow
def test_the_build_is_the_one_that_is_shipped(tmp_path: Path) -> None:
    node("build.mjs", str(tmp_path))
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == sorted(path.name for path in SHIPPED.iterdir() if path.suffix in (".js", ".ts"))
    assert filecmp.cmpfiles(tmp_path, SHIPPED, names, shallow=False)[0] == names, "make client writes it anew"


def test_it_is_small() -> None:
    # With room: a limit that the file just keeps would notice any change, and hide which tests notice none.
    limit = 17_920
    size = len(gzip.compress((SHIPPED / "confide.js").read_bytes(), 9))
    assert size <= limit
    assert f"at most {limit:,} bytes gzipped" in (ROOT / "docs" / "client.md").read_text(encoding="utf-8")


@needs_modules
@pytest.mark.slow
def test_typescript_knows_the_files_that_are_shipped(tmp_path: Path) -> None:
    program = tmp_path / "program.mts"
    program.write_text(
        f"""import {{ loadSurvey, Queue, type Sent }} from "{SHIPPED}/confide.js";
        import {{ fileStorage }} from "{SHIPPED}/node.js";
        const survey = loadSurvey("", {{ epsilon: 1 }});
        export const sent: Promise<Sent> = new Queue(survey, {{ storage: fileStorage("kept.json") }}).send("");
        // @ts-expect-error: a file has a name
        fileStorage(7);
        """,
        encoding="utf-8",
    )
    options = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2022"]
    node("node_modules/typescript/bin/tsc", *options, str(program))


def test_the_package_has_the_license() -> None:
    assert (CLIENT / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_the_lockfile_names_no_host() -> None:
    lock = (CLIENT / "package-lock.json").read_text(encoding="utf-8")
    assert '"resolved"' not in lock
    assert "http" not in lock.replace("https://opencollective.com", "").replace("https://github.com/sponsors", "")


AGES = cf.Integers(0, 99, unit="year")
READ: list[tuple[cf.Alphabet, list[Any]]] = [
    (AGES, ["7", " 7 ", "7.0", "+7", "7.5", "x", "", "100", "-1", "1e1", "9" * 30, "\u0667"]),
    (cf.Categories(["Paris", "Lyon"]), ["Paris", "paris", "", "Nice"]),
    (
        cf.Categories(["Paris", "Lyon", "elsewhere"], fold=True, aliases={"Paris": ["Lutetia"]}, other="elsewhere"),
        [" PARIS", "lutetia", "Nice", "", "\u00a0lyon\u2003", "ELSEWHERE"],
    ),
    (cf.Categories([3, 7, 11], aliases={"7": ["seven"]}), ["7", "07", "7.0", "seven", "8", "x"]),
    (cf.Scale(["never", "rarely", "often"], fold=True), ["Never", "OFTEN ", "always", ""]),
    (
        cf.Bins(edges=[0, 0.1, 0.3, 20, 50], above=True),
        [
            "0",
            "0.1",
            "0.3",
            "0.30000000000000004",
            "-1e-400",
            "1e999999",
            "1,200",
            "EUR 5",
            "nan",
            "x",
            "-0.5",
            "",
            "50",
        ],
    ),
    (cf.Bins(0, 1, 0.1, below=True), ["0.3", "0.7", "1", "0.9999999999999999999", "-3"]),
    (
        cf.Dates("2026-01-01", "2026-12-31"),
        ["2026-03-01", "2026-03-01T22:15+01:00", "2026-02-30", "2025-12-31", "1 March", "", "2026-03", "22:15"],
    ),
    (
        cf.Dates("2026-W01", "2026-W53", every="week"),
        ["2026-W09", "2026-W54", "2026-03-01", "2026", "2025-12-29", "2026-03"],
    ),
    (
        cf.Dates("2026-01", "2026-12", every="month"),
        ["2026-03", "2026-Q1", "2026-03-31", "2026-13", "2026-00", "2026-W01"],
    ),
    (cf.Dates("2020-Q1", "2026-Q4", every="quarter"), ["2026-Q1", "2026-Q5", "2026-05-05", "2026"]),
    (cf.Dates("1990", "2026", every="year"), ["2026", "1989", "1990-01-01", "2026-01-01 24:00"]),
    (cf.Hours(), ["22:15", "2026-03-01T01:20", "7", "24", "25:00", "2026-03-01", "7.5", "", "T23:59:59.5Z"]),
    (cf.Weekdays(), ["2026-03-01", "Mon", "Monday", "mon", "2026-02-29", "8"]),
    (cf.Circle(12, unit="month"), ["11", "12", "-1", "x"]),
]
"""What people have, as texts, in alphabets of every kind."""


def mechanism_for(alphabet: cf.Alphabet) -> cf.Mechanism:
    return cf.RandomizedResponse(alphabet, 1.0)


@needs_node
def test_it_takes_what_python_takes() -> None:
    cases = [
        {"survey": cf.Survey(mechanism_for(alphabet)).to_json(), "raws": raws, "secret": "0123456789abcdef" * 2}
        for alphabet, raws in READ
    ]
    answers = json.loads(node("test/answer.mjs", given=json.dumps(cases)))
    for (alphabet, raws), answer in zip(READ, answers, strict=True):
        for raw, found in zip(raws, answer["taken"], strict=True):
            value = alphabet.read((raw,)) if raw.strip() else None
            is_one = value is not None and bool(alphabet.contains(alphabet.as_array([value])).all())
            assert found.get("value") == (value if is_one else None), (alphabet, raw, found)
            if not is_one and alphabet.fault((raw,)) and raw.strip():
                assert alphabet.fault((raw,)) in found["reason"], (alphabet, raw, found)


@needs_node
@pytest.mark.slow
def test_changed_documents_are_read_as_python_reads_them() -> None:
    # python -m tests.clients.differ 4000 1 tries more
    assert differences(300, seed=5) == []


@needs_node
def test_one_report_of_two_rounds_promises_what_python_says() -> None:
    pick = random.Random(7)  # noqa: S311 (no secret)
    texts = [rounds_of(pick).to_json() for _ in range(200)]
    kinds = {tuple(json.loads(text)["mechanism"][one]["kind"] for one in ("permanent", "fresh")) for text in texts}
    assert len(kinds) > 40
    assert {("matrix", "truncated-geometric"), ("product", "product")} <= kinds
    assert compared(texts) == []


@needs_node
def test_permanent_noise_is_python_s() -> None:
    mechanisms: list[cf.Mechanism] = [
        cf.TruncatedGeometric(AGES, 0.05),
        cf.Rappor(cf.Integers(0, 40), 1.0),
        cf.RandomizedResponse(cf.Categories(["é", "b", "\U0001f600"]), 1.0),
        cf.PlanarLaplace(cf.Grid(3, 4), 0.5),
        cf.TruncatedTaxicab(cf.Grid(3, 4), 0.5),
        cf.Product(a=cf.TruncatedGeometric(AGES, 0.2), b=cf.RandomizedResponse(cf.Categories(["f", "m"]), 1.0)),
    ]
    secret = "0123456789abcdef" * 2
    surveys = [cf.Survey(mechanism) for mechanism in mechanisms]
    values = [survey.alphabet.decode(range(min(12, survey.alphabet.size))) for survey in surveys]
    cases = [
        {"survey": survey.to_json(), "values": own.tolist(), "secret": secret}
        for survey, own in zip(surveys, values, strict=True)
    ]
    answers = json.loads(node("test/answer.mjs", given=json.dumps(cases)))
    for survey, own, answer in zip(surveys, values, answers, strict=True):
        reports = survey.privatize(own, rng=cf.Permanent(secret), taken=True)
        if isinstance(survey.mechanism, cf.Rappor):
            bits = survey.mechanism.report_alphabet.unpack(reports).astype(int).tolist()
            assert answer["reports"] == ["".join(map(str, row)) for row in bits]
        else:
            assert answer["reports"] == reports.tolist()


class _Handler(SimpleHTTPRequestHandler):
    """Serves the repository, folders as lists of JSON files, and hears what the page says."""

    said: Any = None
    heard = threading.Event()

    def do_GET(self) -> None:
        folder = ROOT / self.path.lstrip("/")
        if folder.is_dir():
            self._answer([path.name for path in folder.glob("*.json")])
        else:
            super().do_GET()

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path == "/said":
            type(self).said = body
            type(self).heard.set()
        self._answer({"survey": body.get("survey"), "batch": body.get("batch"), "accepted": 1, "rejected": []})

    def _answer(self, content: object) -> None:
        text = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


@contextmanager
def serving() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, directory=str(ROOT))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@needs_browser
@pytest.mark.slow
def test_the_same_in_chromium(tmp_path: Path) -> None:
    with serving() as address:
        browser = subprocess.Popen(
            [
                *(CHROMIUM or "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"),
                *(f"--user-data-dir={tmp_path}", f"{address}/clients/javascript/test/browser.html"),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            assert _Handler.heard.wait(180), "the page said nothing"
        finally:
            browser.terminate()
            browser.wait(30)
    assert "error" not in _Handler.said, _Handler.said
    assert _Handler.said["IndexedDB"] == 10


STEPS = """
import fs from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { basename } from "node:path";
const [folder, client] = process.argv.slice(1);
const steps = [];
const usual = { ...fs };
const shown = (path) => basename(path).replace(/[.][0-9a-f-]{36}/g, ".ID");
fs.open = async (path, flags, mode) => {
  const name = path === folder ? "folder" : shown(path);
  steps.push(`open ${name} ${flags} ${mode === undefined ? "" : mode.toString(8)}`.trim());
  const file = await usual.open(path, flags, mode);
  for (const one of ["writeFile", "sync", "close"]) {
    const own = file[one].bind(file);
    file[one] = (...given) => (steps.push(`${one} ${name}`), own(...given));
  }
  return file;
};
for (const [one, paths] of [["rename", 2], ["link", 2], ["rm", 1], ["writeFile", 1]]) {
  fs[one] = (...given) => {
    steps.push([one, ...given.slice(0, paths).map(shown)].join(" "));
    return usual[one](...given);
  };
}
syncBuiltinESMExports();
const { fileStorage } = await import(client);
const path = `${folder}/kept.json`;
const storage = fileStorage(path);
const took = async (change) => {
  steps.length = 0;
  await storage.update(change).catch((error) => steps.push(`failed ${error.message}`));
  return [...steps];
};
const found = {
  first: await took((text) => JSON.stringify([text])),
  mode: (await usual.stat(path)).mode & 0o777,
  again: await took((text) => text + "!"),
  nothing: await took(() => null),
  thrown: await took(() => { throw new Error("no"); }),
  text: await usual.readFile(path, "utf8"),
  left: (await usual.readdir(folder)).sort(),
};
console.log(JSON.stringify(found));
"""


@needs_node
def test_a_file_is_written_beside_synchronised_and_renamed_by_whoever_holds_the_lock(tmp_path: Path) -> None:
    """Every step of the storage, in its order: the order is what a crash or another process meets."""
    found = json.loads(node("--input-type=module", "-e", STEPS, str(tmp_path), (SHIPPED / "node.js").as_uri()))
    lock = ["writeFile kept.json.lock.ID.new", "link kept.json.lock.ID.new kept.json.lock", "rm kept.json.lock.ID.new"]
    written = ["rm kept.json.new", "open kept.json.new wx 600", "writeFile kept.json.new", "sync kept.json.new"]
    written += ["close kept.json.new", "rename kept.json.new kept.json", "open folder r", "sync folder", "close folder"]
    assert found["first"] == found["again"] == [*lock, *written, "rm kept.json.lock"]
    assert found["nothing"] == [*lock, "rm kept.json.lock"]
    assert found["thrown"] == [*lock, "rm kept.json.lock", "failed no"]
    assert (found["mode"], found["text"], found["left"]) == (0o600, "[null]!", ["kept.json"])
