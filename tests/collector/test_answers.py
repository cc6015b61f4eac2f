"""Answers that are not about what was asked, addresses where nobody is, and two that send one file."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.collector.asking import ages
from tests.collector.killing import SURVEY, free_port
from typer.testing import CliRunner

from confide.cli.collector import pull_counts
from confide.cli.main import app
from confide.collector import Client, CollectorError, Receipt, write_message
from confide.collector.client import Outbox
from confide.collector.serving import bind
from confide.collector.stores import StoreError, open_store
from confide.errors import ConfideError, DataFileError, InvalidParameterError
from confide.surveys.ledgers import lock_file

Answer = tuple[int, Any]


@dataclass
class Liar:
    """A server that answers from a list, and goes on with the last of it; what was posted, and by which connection."""

    answers: list[Callable[[dict[str, Any]], Answer]]
    posted: list[tuple[bytes, int]] = field(default_factory=list)
    address: str = ""


@contextmanager
def lying(*answers: Callable[[dict[str, Any]], Answer], gets: dict[str, Any] | None = None) -> Iterator[Liar]:
    found = Liar(list(answers))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            pass

        def give(self, status: int, body: Any) -> None:
            text = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.send_header("Confide-Admission", "open")
            self.end_headers()
            self.wfile.write(text)

        def do_GET(self) -> None:
            self.give(200, (gets or {}).get(self.path, json.loads(ages().to_json())))

        def do_POST(self) -> None:
            message = self.rfile.read(int(self.headers["content-length"]))
            found.posted.append((message, self.client_address[1]))
            answer = found.answers.pop(0) if len(found.answers) > 1 else found.answers[0]
            self.give(*answer(json.loads(message)))

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()


def right(message: dict[str, Any]) -> Answer:
    rejected = [{"position": 1, "reason": "missing"}]
    return 200, {"survey": message["survey"], "batch": message["batch"], "accepted": 2, "rejected": rejected}


def but(**other: Any) -> Callable[[dict[str, Any]], Answer]:
    return lambda message: (200, right(message)[1] | other)


WRONG: dict[str, Callable[[dict[str, Any]], Answer]] = {
    "another batch": but(batch="0" * 32),
    "another survey": but(survey="0" * 32),
    "too few": but(accepted=1),
    "too many": but(accepted=3),
    "below none": but(accepted=-1, rejected=[{"position": n, "reason": "x"} for n in (0, 1, 2, 3)]),
    "a truth": but(accepted=True, rejected=[{"position": n, "reason": "x"} for n in (0, 1)]),
    "a text": but(accepted="2"),
    "a number": but(rejected=5),
    "no position": but(rejected=[{}]),
    "no reason": but(rejected=[{"position": 1, "reason": None}]),
    "a position twice": but(accepted=1, rejected=[{"position": 1, "reason": "x"}] * 2),
    "a position outside": but(rejected=[{"position": 3, "reason": "x"}]),
    "a list": lambda _: (200, []),
    "a hotel": lambda _: (200, b"<html>Welcome</html>"),
    "nothing": lambda _: (204, b""),
    "a stranger's 404": lambda _: (404, b"<html>"),
    "a stranger's 403": lambda _: (403, {"error": 5}),
}


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Waits of the client, each over at once, on a clock of their own."""
    found: list[float] = []
    monkeypatch.setattr(time, "sleep", found.append)
    monkeypatch.setattr(time, "monotonic", lambda: 1000.0 + sum(found))
    return found


@pytest.mark.parametrize("wrong", WRONG)
def test_an_answer_that_is_not_about_the_batch_is_none(wrong: str, waits: list[float]) -> None:
    message = write_message(ages(), [3, None, 4])
    with lying(WRONG[wrong], WRONG[wrong], right) as liar, Client(liar.address) as client:
        assert client.post(message) == Receipt(2, ((1, "missing"),))
    assert [one for one, _ in liar.posted] == [message] * 3
    assert len({connection for _, connection in liar.posted}) == 3  # each on a new one
    assert len(waits) == 2


def test_after_some_strange_answers_sending_ends_and_the_outbox_stays(waits: list[float], tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text("age\n" + "3\n" * 1500)
    with lying(WRONG["another batch"]) as liar:
        (tmp_path / "s.json").write_text(ages().to_json())
        command = ["send", str(tmp_path / "s.json"), str(tmp_path / "v.csv"), liar.address]
        ended = CliRunner().invoke(app, command)
        said = " ".join(ended.output.split())
        assert (ended.exit_code, "about another batch" in said, "waits in" in said) == (1, True, True)
        assert sum(waits) < 5
        assert (tmp_path / "v.csv.outbox").exists()
        assert not (tmp_path / "v.csv.sent").exists()
        taken = [lambda one: (200, right(one)[1] | {"accepted": len(one["reports"]), "rejected": []})]
        liar.answers, liar.posted = taken, []
        assert CliRunner().invoke(app, command).exit_code == 0
        assert len(liar.posted) == 2
        assert not list(tmp_path.glob("*.outbox*"))


def test_what_is_no_message_is_not_sent() -> None:
    for message in (b"x", b"[]", b"{}", b'{"survey":"a","batch":"b","reports":5}'):
        with pytest.raises(InvalidParameterError, match="write_message"):
            Client("http://127.0.0.1:9").post(message)
    with pytest.raises(InvalidParameterError, match="no invitation"):
        Client("http://127.0.0.1:9").post(write_message(ages(), [3]), "a\nb")


@pytest.mark.parametrize(
    "counts",
    [
        {"days": 5},
        {"days": [5]},
        {"days": [{"day": "2026-11-16", "groups": [], "counts": [[3]]}]},
        {"rejected": {"x": 5}},
        {"by": 5},
    ],
)
def test_counts_of_another_shape_are_one_plain_error(counts: dict[str, Any], waits: list[float]) -> None:
    good = {"survey": ages().fingerprint, "by": [], "days": [], "accepted": 0, "rejected": {}, "is_simulated": False}
    known = {"/v1/surveys": {"surveys": [{"survey": ages().fingerprint, "title": "Ages"}]}}
    path = f"/v1/surveys/{ages().fingerprint}/counts"
    with lying(right, gets=known | {path: good}) as liar:
        assert pull_counts(liar.address, None).heading.rows.accepted == 0
    with lying(right, gets=known | {path: good | counts}) as liar, pytest.raises(CollectorError, match="Is it a"):
        pull_counts(liar.address, None)
    assert not waits


@pytest.mark.parametrize("surveys", [5, [5], [{}], [{"survey": "x", "title": 1}], [{"survey": 1, "title": "x"}]])
def test_surveys_of_another_shape_are_one_plain_error(surveys: Any, waits: list[float]) -> None:
    known = {"/v1/surveys": {"surveys": surveys}}
    with lying(right, gets=known) as liar, pytest.raises(CollectorError, match="Is it one"):
        pull_counts(liar.address, None)
    assert len(waits) == 5


def test_another_survey_than_was_asked_for_is_none(waits: list[float]) -> None:
    with lying(right) as liar, Client(liar.address) as client, pytest.raises(CollectorError, match="another survey"):
        client.survey("f" * 32)
    assert waits


URLS = ["[::1", "127.0.0.1:abc", "127.0.0.1:99999", "127.0.0.1:-1", "127.0.0.1:0", "a..b", "a" * 70, "a/ø", "a/b c", ""]


@pytest.mark.parametrize("rest", URLS)
def test_an_address_that_is_none_is_an_error_at_once(rest: str, waits: list[float]) -> None:
    with pytest.raises(InvalidParameterError, match="A collector is at a URL"):
        Client(f"http://{rest}")
    assert not waits


def test_where_nobody_ever_answered_it_says_so_and_gives_up_soon(waits: list[float]) -> None:
    told: list[str] = []
    address = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(CollectorError, match="no answer"):
        Client(address, tell=told.append).surveys()
    assert 4 < sum(waits) <= 15
    assert len(told) == 1
    assert address in told[0]
    assert re.search(r"Trying again until \d\d:\d\d:\d\d\.$", told[0])


def test_whoever_answered_once_is_waited_for(waits: list[float]) -> None:
    told: list[str] = []
    with lying(right) as liar:
        client = Client(liar.address, tell=told.append)
        client.survey(ages().fingerprint)
    client.hang_up()
    with pytest.raises(CollectorError, match="no answer"):
        client.survey(ages().fingerprint)
    assert 20 < sum(waits) <= 60
    assert len(told) == 1


def test_to_be_told_to_come_later_is_no_trouble(waits: list[float]) -> None:
    told: list[str] = []
    error = {"error": {"code": "busy", "message": "Too many."}}
    with lying(*[lambda _: (429, error)] * 8, right) as liar, Client(liar.address, tell=told.append) as client:
        client.post(write_message(ages(), [3, None, 4]))
    assert sum(waits) > 2
    assert not told


# Two that send one file.


def test_an_outbox_is_held_by_one(tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text("age\n3\n")
    (tmp_path / "s.json").write_text(ages().to_json())
    with Outbox.held(tmp_path / "v.csv.outbox"):
        with pytest.raises(DataFileError, match=r"Process [0-9]+ is sending"), Outbox.held(tmp_path / "v.csv.outbox"):
            pass
        command = ["send", str(tmp_path / "s.json"), str(tmp_path / "v.csv"), "http://127.0.0.1:9"]
        second = CliRunner().invoke(app, command)
        assert (second.exit_code, "is sending" in " ".join(second.output.split())) == (4, True)
    assert not [*tmp_path.glob("*.outbox*")]
    with Outbox.held(tmp_path / "v.csv.outbox"):
        pass


def test_a_lock_that_was_taken_away_in_this_moment_is_taken_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside, tries = tmp_path / "box.lock", []

    def late(number: int, *, waits: bool = True) -> bool:
        tries.append(number)
        if len(tries) == 1:
            beside.unlink()  # as the one before does when it is done
        return lock_file(number, waits=waits)

    monkeypatch.setattr("confide.collector.client.lock_file", late)
    with Outbox.held(tmp_path / "box"):
        assert len(tries) == 2
        assert beside.exists()


@pytest.mark.slow
def test_a_dead_process_lets_go_of_its_outbox(tmp_path: Path) -> None:
    held = "from confide.collector.client import Outbox; from pathlib import Path; import sys, time\n"
    held += "with Outbox.held(Path(sys.argv[1])):\n    print('held', flush=True); time.sleep(60)"
    command = [sys.executable, "-c", held, str(tmp_path / "box")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        with pytest.raises(DataFileError, match=f"Process {process.pid} is"), Outbox.held(tmp_path / "box"):
            pass
        process.send_signal(signal.SIGKILL)
    assert (tmp_path / "box.lock").exists()
    with Outbox.held(tmp_path / "box"):
        pass
    assert not list(tmp_path.iterdir())


# What a person types wrongly.


@pytest.mark.parametrize("token", ["", "a b", "a\nb", "tøken", "a\0"])
def test_a_token_that_is_none_is_refused_and_not_shown(token: str) -> None:
    with pytest.raises(InvalidParameterError, match="The token is empty, or") as error:
        Client("http://127.0.0.1:9", token)
    assert not token or token not in str(error.value)


def test_a_token_of_the_variable_is_read_without_the_end_of_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    good = {"survey": ages().fingerprint, "by": [], "days": [], "accepted": 0, "rejected": {}, "is_simulated": False}
    for kept in ("confide-x\n", ""):  # a line's end is no part of it, and an empty one is none
        monkeypatch.setenv("CONFIDE_TOKEN", kept)
        with lying(right, gets={f"/v1/surveys/{ages().fingerprint}/counts": good}) as liar:
            assert pull_counts(liar.address, ages()).heading.rows.accepted == 0


def test_a_token_that_is_needed_is_asked_for_by_the_name_of_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Client) -> None:
        raise CollectorError("In the header Authorization.", 401, "no-token")

    monkeypatch.setattr(Client, "surveys", refuse)
    with pytest.raises(CollectorError, match="CONFIDE_TOKEN"):
        pull_counts("http://127.0.0.1:9", None)


def test_an_address_with_a_path_too_much_is_named() -> None:
    error = {"error": {"code": "not-found", "message": "There is nothing here."}}
    for path, words in (("/v1", "without /v1"), ("", "nothing here")):
        with (
            lying(lambda _: (404, error)) as liar,
            Client(liar.address + path) as client,
            pytest.raises(CollectorError, match=words),
        ):
            client.add(ages())


@pytest.mark.parametrize(
    ("host", "port", "words"),
    [
        ("127.0.0.1", 99999, "A port is"),
        ("127.0.0.1", -1, "A port is"),
        ("nope.invalid", 0, "another host, such as --bind"),
        ("192.0.2.1", 0, "another host, such as --bind"),  # kept for documents: nobody's
        ("a..b", 0, "another host, such as --bind"),
    ],
)
def test_a_place_that_is_none_is_refused_by_its_name(host: str, port: int, words: str) -> None:
    with pytest.raises(ConfideError, match=words):
        bind(host, port)


def test_a_port_that_is_taken_is_said_to_be() -> None:
    with bind("127.0.0.1", 0) as first, pytest.raises(StoreError, match="Name another port, such as --bind"):
        bind("127.0.0.1", first.getsockname()[1])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["survey.toml"], "named behind it"),
        (["empty.db"], "no store"),
        (["store.db", "--upload", "closed"], "SURVEY behind STORE"),
        (["store.db", "survey.toml", "--invite", "0", "-o", "codes.txt"], "from 1"),
    ],
)
def test_curate_says_what_it_needs(
    options: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("survey.toml").write_text(SURVEY)
    Path("empty.db").touch()
    store = open_store("store.db")
    store.add_survey(ages())
    refused = CliRunner().invoke(app, ["curate", *options])
    assert (refused.exit_code, words in " ".join(refused.output.split())) == (2, True), refused.output
    assert not Path("codes.txt").exists()
    store.close()


def test_a_file_of_codes_that_are_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text("age\n3\n")
    (tmp_path / "s.json").write_text(ages().to_json())
    (tmp_path / "codes").write_text("abcde-fghij-klmno-pqrst\nzażółć\n")
    options = ["http://127.0.0.1:9", "--invitation", str(tmp_path / "codes")]
    refused = CliRunner().invoke(app, ["send", str(tmp_path / "s.json"), str(tmp_path / "v.csv"), *options])
    assert (refused.exit_code, "is no invitation" in " ".join(refused.output.split())) == (2, True)


# The client for a device that the documentation shows.

JAVASCRIPT = """
const wrong = [{}, [], 5, {error: {}}, {survey: "s", batch: "0", accepted: 1, rejected: []}], bodies = [];
globalThis.setTimeout = (call) => queueMicrotask(call);
globalThis.fetch = async (url, {body}) => {
  bodies.push(body);
  const {survey, batch} = JSON.parse(body), last = {survey, batch, accepted: 0, rejected: [{position: 0, reason: "x"}]};
  if (bodies.length === 1) throw new Error("offline");
  const about = [{...last, survey: "t"}, {...last, accepted: 1}, {...last, rejected: 1}];
  const said = [...wrong, ...about, last][bodies.length - 2];
  return {status: 200, headers: new Headers(), json: async () => said};
};
const said = await send("http://x", "s", 5);
console.log(JSON.stringify([bodies.length, new Set(bodies).size, said.accepted, said.rejected.length]));
globalThis.fetch = async () => ({status: 410, headers: new Headers(), json: async () => ({error: {code: "closed"}})});
console.log((await send("http://x", "s", 5)).error.code);
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node, which CI has")
def test_the_client_of_the_documentation_takes_answers_about_its_report_alone() -> None:
    text = (Path(__file__).parents[2] / "docs" / "collector.md").read_text(encoding="utf-8")
    (sample,) = re.findall(r"^```js\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    found = subprocess.run(
        ["node", "--input-type=module", "-e", sample + JAVASCRIPT],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert found.stdout.split() == ["[10,1,0,1]", "closed"], found.stderr
