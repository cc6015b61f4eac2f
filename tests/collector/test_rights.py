"""Who may do what: every role, every survey, every request; and settings that are promises."""

from __future__ import annotations

import itertools
import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from tests.collector.asking import Reply, Served, ages, serving

from confide.collector import stores
from confide.collector.client import Outbox
from confide.collector.service import Settings
from confide.collector.stores import Batch, Store, open_store
from confide.collector.wire import LIMITS, Wire
from confide.studio.serving import Crew, Job, Studio
from confide.surveys.survey import Survey

SURVEYS = ("A", "B")
ASKED = {"queries": [], "methods": ["mle"]}

MAY: dict[str, dict[str, str]] = {
    # role: what it may do, and on which surveys ("*" for all, and for what belongs to none)
    "nobody": {},
    "stranger": {},
    "revoked": {},
    "upload": {"upload": "*"},
    "upload A": {"upload": "A"},
    "upload B": {"upload": "B"},
    "read": {"read": "*"},
    "read A": {"read": "A"},
    "read B": {"read": "B"},
    "administer": {"upload": "*", "read": "*", "administer": "*"},
    "administer A": {"upload": "A", "read": "A", "administer": "A"},
}
"""Written by hand: what the code says of roles is not asked."""


@dataclass(frozen=True)
class Asked:
    """A request: what it needs, of which survey ("*" where it belongs to none), and the answer to whoever may."""

    name: str
    method: str
    path: str
    needs: str
    survey: str = "*"
    good: int = 200
    body: bytes = b""


def may(role: str, asked: Asked) -> bool:
    """Whether a role may: for what belongs to no survey, a token of one survey is not enough."""
    if not asked.needs:
        return True
    on = MAY[role].get(asked.needs)
    return on == "*" or (on is not None and on == asked.survey)


def requests(name: str, survey: Survey, other: Survey) -> Iterator[Asked]:
    """Every request that there is, of one survey."""
    place, mark = f"/v1/surveys/{survey.fingerprint}", survey.fingerprint
    yield Asked("survey", "GET", place, "")
    yield Asked("take", "GET", f"/take/{mark}", "")
    for path in ("/", "/healthz", "/metrics", "/studio"):
        yield Asked(path, "GET", path, "")
    for what in ("counts", "estimate", "diagnosis", "fit", "page"):
        yield Asked(what, "GET", f"{place}/{what}", "read", name)
        yield Asked(f"head of {what}", "HEAD", f"{place}/{what}", "read", name)
    for what in ("watch", "counts"):
        yield Asked(f"studio {what}", "GET", f"/studio/v1/{what}/{mark}", "read", name)
    look = json.dumps({"kind": "look", "survey": mark} | ASKED).encode()
    yield Asked("look", "POST", "/studio/v1/jobs", "read", name, 202, look)
    yield Asked("list", "GET", "/v1/surveys", "read")
    yield Asked("add", "POST", "/v1/surveys", "administer", good=201, body=other.to_json().encode())
    plan = json.dumps({"kind": "plan"}).encode()
    yield Asked("plan", "POST", "/studio/v1/jobs", "administer", good=202, body=plan)
    yield Asked("preview", "POST", "/studio/v1/preview", "administer", body=b"{}")
    simulate = json.dumps({"kind": "simulate", "survey": mark, "people": 3}).encode()
    yield Asked("simulate", "POST", "/studio/v1/jobs", "administer", good=409, body=simulate)  # a real survey
    yield Asked("close", "POST", f"{place}/close", "administer")


@dataclass
class House:
    """A collector of two surveys, each with tokens and invitations of its own, and the studio beside it."""

    served: Served
    surveys: dict[str, Survey]
    secrets: dict[str, str]
    invitations: dict[str, list[str]]

    def ask(self, role: str, asked: Asked) -> Reply:
        return self.served.ask(asked.method, asked.path, asked.body, content_type="application/json", **self.key(role))

    def key(self, role: str) -> dict[str, str]:
        return {} if role == "nobody" else {"authorization": f"Bearer {self.secrets[role]}"}

    def send(self, survey: str, **headers: str) -> Reply:
        message = self.served.message([3], survey=self.surveys[survey].fingerprint)
        return self.served.post(message, **headers)

    def admit(self, admission: str) -> None:
        for survey in self.surveys.values():
            self.served.store.admit(survey.fingerprint, admission)
        self.served.app.collector.refresh()


@pytest.fixture
def house(file_store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    async def answer(*_: object) -> bytes:
        return b"{}"

    monkeypatch.setattr(Crew, "do", answer)
    surveys = {"A": ages(), "B": replace(ages(), most_reports=3)}
    with serving(file_store, surveys["A"]) as served:
        file_store.add_survey(surveys["B"])
        numbers = {one.fingerprint: one.number for one in file_store.surveys()}
        codes = {
            name: stores.make_invitations(file_store, numbers[survey.fingerprint], 2)
            for name, survey in surveys.items()
        }
        keys = {"stranger": "confide-" + secrets.token_urlsafe(32), "revoked": ""}
        for role in [*MAY][3:]:
            what, _, of = role.partition(" ")
            keys[role] = stores.make_token(file_store, what, role, surveys[of].fingerprint if of else "")[1]
        keys["revoked"] = stores.make_token(file_store, "administer", "revoked")[1]
        file_store.revoke("revoked")
        served.app.guest = Studio(served.app.collector)
        monkeypatch.setattr(served.app.readings, "_compute", answer)
        served.app.collector.refresh()
        found = House(served, surveys, keys, codes)
        for name in SURVEYS:
            assert found.send(name).status == 200
        yield found
        served.app.guest.close()


def test_every_role_asks_everything_of_every_survey(house: House) -> None:
    tried = 0
    new = replace(ages(), most_reports=9)
    for name, survey in house.surveys.items():
        for asked in requests(name, survey, new):
            for role in MAY:  # whoever may do most comes last: what they change stays
                if asked.name == "look":
                    house.served.app.guest.jobs = type(house.served.app.guest.jobs)()  # type: ignore[union-attr]
                expected = asked.good if may(role, asked) else 401 if role == "nobody" else 403
                assert (role, name, asked.name, house.ask(role, asked).status) == (role, name, asked.name, expected)
                tried += 1
    assert tried == 2 * 25 * 11


def test_a_form_needs_what_the_page_needs(house: House) -> None:
    form = {"content_type": "application/x-www-form-urlencoded"}
    for (name, survey), role in itertools.product(house.surveys.items(), MAY):
        asked = Asked("form", "POST", f"/v1/surveys/{survey.fingerprint}/page", "read", name)
        token = f"token={house.secrets.get(role, '')}".encode()
        expected = 200 if may(role, asked) else 401 if role == "nobody" else 403
        assert (role, name, house.served.ask("POST", asked.path, token, **form).status) == (role, name, expected)
        # A token in the header is no token in the form.
        assert house.served.ask("POST", asked.path, b"", **form, **house.key(role)).status == 401


def test_uploads_need_a_token_of_the_survey(house: House) -> None:
    house.admit("token")
    for name, role in itertools.product(SURVEYS, MAY):
        asked = Asked("send", "POST", "/v1/reports", "upload", name)
        expected = 200 if may(role, asked) else 401 if role == "nobody" else 403
        assert (role, name, house.send(name, **house.key(role)).status) == (role, name, expected)


def test_an_invitation_opens_its_survey_once_and_no_other(house: House) -> None:
    house.admit("invited")
    for name, other in (SURVEYS, SURVEYS[::-1]):
        first, second = house.invitations[name]
        assert house.send(name).code == "no-invitation"
        assert house.send(name, **house.key("administer")).code == "no-invitation"  # no token is an invitation
        assert house.send(name, confide_invitation="abcde-fghij-klmno-pqrst").code == "spent"
        assert house.send(other, confide_invitation=first).code == "spent"  # and it stays good where it belongs
        assert house.send(name, confide_invitation=first).status == 200
        assert house.send(name, confide_invitation=first).code == "spent"
        assert house.send(other, confide_invitation=first).code == "spent"
        assert house.send(name, confide_invitation=second).status == 200
    left = [house.served.store.invitations(one.number) for one in house.served.store.surveys()]
    assert left == [0, 0]


def test_a_job_is_seen_and_stopped_by_whoever_may_ask_for_it(house: House) -> None:
    for name, survey in house.surveys.items():
        look = json.dumps({"kind": "look", "survey": survey.fingerprint} | ASKED).encode()
        begun = house.ask(f"read {name}", Asked("look", "POST", "/studio/v1/jobs", "read", name, 202, look))
        for role, (method, ending) in itertools.product(MAY, [("GET", ""), ("POST", "/stop")]):
            asked = Asked("job", method, f"/studio/v1/jobs/{begun.json['job']}{ending}", "read", name)
            expected = 200 if may(role, asked) else 401 if role == "nobody" else 403
            assert (role, name, house.ask(role, asked).status) == (role, name, expected)


def test_a_job_of_whoever_administers_is_nobody_elses(house: House) -> None:
    """Of each kind, and also of what the server itself began."""
    studio = house.served.app.guest
    assert isinstance(studio, Studio)
    plan = json.dumps({"kind": "plan"}).encode()
    begun = house.ask("administer", Asked("plan", "POST", "/studio/v1/jobs", "administer", good=202, body=plan))
    own = Job("administer", "")
    studio.jobs._jobs[own.number] = own
    for number in (begun.json["job"], own.number):
        for role, (method, ending) in itertools.product(MAY, [("GET", ""), ("POST", "/stop")]):
            asked = Asked("job", method, f"/studio/v1/jobs/{number}{ending}", "administer")
            expected = 200 if may(role, asked) else 401 if role == "nobody" else 403
            assert (role, house.ask(role, asked).status) == (role, expected)


def test_the_studio_shows_the_surveys_that_a_token_may_read(house: House) -> None:
    for role, rights in MAY.items():
        reply = house.ask(role, Asked("start", "GET", "/studio/v1/start", "read"))
        names = [name for name in SURVEYS if may(role, Asked("", "GET", "", "read", name))]
        if not names:
            assert reply.status == (401 if role == "nobody" else 403)
            continue
        assert [one["survey"] for one in reply.json["surveys"]] == [house.surveys[name].fingerprint for name in names]
        assert reply.json["may_administer"] is (rights.get("administer") == "*")


def test_other_methods_are_refused_with_those_that_are_taken(house: House) -> None:
    taken: dict[str, set[str]] = {"/v1/reports": {"POST"}}
    for asked in requests("A", house.surveys["A"], house.surveys["B"]):
        taken.setdefault(asked.path, set()).add(asked.method)
    taken[f"/v1/surveys/{house.surveys['A'].fingerprint}/page"].add("POST")
    for path, methods in taken.items():
        allowed = methods | ({"HEAD"} if "GET" in methods else set())
        for method in {"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "TRACE"} - allowed:
            reply = house.served.ask(method, path, b"{}", content_type="application/json", **house.key("administer"))
            assert (path, method, reply.status) == (path, method, 405)
            assert method not in reply.headers["allow"].split(", ")
            assert allowed & set(reply.headers["allow"].split(", "))


# Settings that are promises.


@pytest.mark.parametrize(
    ("name", "value"),
    [("synchronous", 2), ("secure_delete", 1), ("journal_mode", "wal"), ("page_size", 1024)],
)
def test_what_sqlite_is_told(file_store: stores.SqliteStore, name: str, value: int | str) -> None:
    for way in (file_store.reading, file_store.writing, file_store.counting):
        with way() as connection:
            assert connection.execute(f"PRAGMA {name}").fetchone()[0] == value


def test_bits_of_secrets(file_store: Store) -> None:
    codes = stores.make_invitations(file_store, 1, 200)
    for place in range(20):  # 100 bits: each of 20 letters is one of 32
        letters = {code.replace("-", "")[place] for code in codes}
        assert len(letters) > 20, place
    made = [stores.make_token(file_store, "read", f"{one}")[1] for one in range(2)]
    assert all(len(one.removeprefix("confide-")) == 43 for one in made)  # 256 bits
    assert len({len(one.digest) for one in file_store.tokens()}) == 1
    assert len(file_store.tokens()[0].digest) == 64


def test_limits_are_as_documented() -> None:
    from confide.studio import serving

    assert Settings() == Settings(
        most_bytes=4_194_304, most_reports=10_000, most_waiting=10_000, most_a_second=0, window=7, body_seconds=10.0,
        most_held=33_554_432, most_held_each=16_777_216, most_connections=4_096, most_computing=4, origins=(),
    )  # fmt: skip
    assert Settings().most_parts == 100_000
    assert (LIMITS.most_header_bytes, LIMITS.most_pipelined) == (32_768, 16)
    assert (LIMITS.header_seconds, LIMITS.answer_seconds, LIMITS.most_refused) == (10.0, 60.0, 100)
    assert (serving.MOST_JOBS, serving.MOST_EACH) == (16, 8)


@pytest.mark.parametrize("number", [1, 500, 501, 1001])
def test_any_number_of_keys_is_looked_up(file_store: Store, number: int) -> None:
    file_store.add_survey(ages())
    wire = Wire.of(ages())

    def batch(one: int, content: str) -> Batch:
        return Batch(f"{one:032x}", content * 32, 1, 739_000, "", {"3": 1}, 1, {}, wire, None)

    first = file_store.commit([batch(one, "a") for one in range(number)])
    again = file_store.commit([batch(one, "b" if one == number - 1 else "a") for one in range(number)])
    assert {str(fate.value) for fate in first} == {"counted"}
    assert [fate.value for fate in again] == ["repeated"] * (number - 1) + ["conflict"]


@pytest.mark.parametrize(("people", "sizes"), [(1, [1]), (1_000, [1000]), (1_001, [1000, 1]), (2_000, [1000, 1000])])
def test_an_outbox_sends_everybody(tmp_path: Path, people: int, sizes: list[int]) -> None:
    (tmp_path / "values.csv").write_text("age\n" + "3\n" * people)
    box, _ = Outbox.fill(tmp_path / "box", ages(), tmp_path / "values.csv")
    lines: list[Any] = [json.loads(line) for line in (tmp_path / "box").read_text().splitlines()]
    assert [len(one["reports"]) for one in lines[1:]] == sizes
    assert (box.messages, box.reports) == (len(sizes), people)


def test_a_store_is_read_by_its_owner_alone(tmp_path: Path) -> None:
    open_store(str(tmp_path / "store.db")).close()
    assert (tmp_path / "store.db").stat().st_mode & 0o077 == 0
