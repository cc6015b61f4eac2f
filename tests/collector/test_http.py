"""The protocol over HTTP: what is refused, how, and what is told to whom."""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.collector.asking import TODAY, Served, ages, serving

from confide.collector.stores import Store, UnavailableError, make_invitations, open_store


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    store = open_store(str(tmp_path / "store.db"))
    with serving(store, body_seconds=0.2, most_bytes=20_000, most_reports=100) as found:
        yield found
    store.close()


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"survey": "0" * 32}, 404, "unknown-survey"),
        ({"survey": ["x"]}, 404, "unknown-survey"),
        ({"batch": "xyz"}, 400, "malformed"),
        ({"batch": "A" * 32}, 400, "malformed"),
        ({"batch": 7}, 400, "malformed"),
        ({"day": "2026-11-08"}, 422, "day"),
        ({"day": "2026-11-18"}, 422, "day"),
        ({"day": "2026-02-30"}, 400, "malformed"),
        ({"day": "2026-11-16T10:00"}, 400, "malformed"),
        ({"day": None}, 400, "malformed"),
        ({"reports": []}, 400, "malformed"),
        ({"reports": {"a": 1}}, 400, "malformed"),
        ({"reports": [3] * 101}, 413, "too-large"),
        ({"groups": {"town": "Oslo"}}, 422, "groups"),
        ({"time": "10:00"}, 400, "malformed"),
    ],
)
def test_messages_that_are_refused(served: Served, change: dict[str, Any], status: int, code: str) -> None:
    reply = served.post(served.message([3]) | change)
    assert (reply.status, reply.code) == (status, code)
    assert served.counts() == {}


@pytest.mark.parametrize("lacking", ["survey", "batch", "day", "reports"])
def test_a_field_that_is_lacking_is_named(served: Served, lacking: str) -> None:
    message = served.message([3])
    del message[lacking]
    assert served.post(message).json["error"]["message"].startswith(f"A message needs {lacking}.")


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[1]", b"null", b'"a"', b"\xff\xfe", b"1e999", b"[" * 10_000, b'{"a":NaN}']
)
def test_what_is_no_message_is_refused(served: Served, body: bytes) -> None:
    assert (served.post(body).status, served.counts()) == (400, {})


def test_days_at_the_ends_of_the_window_are_taken(served: Served) -> None:
    for days in (-7, 0, 1):
        assert served.post(served.message([3], day=(TODAY + timedelta(days)).isoformat())).status == 200


def test_a_day_that_was_forgotten_never_comes_back(served: Served) -> None:
    served.post(served.message([3], day="2026-11-10"))
    served.store.forget(TODAY - timedelta(5))
    with served.store.reading() as connection:
        assert served.store.run(connection, "SELECT COUNT(*) FROM batches")[0][0] == 0
    served.app.collector.refresh()
    served.app.collector.days._looked = -1.0
    assert served.post(served.message([3], day="2026-11-10")).code == "clock"  # this one was
    served.store.forget(TODAY - timedelta(6))  # a clock that goes back
    assert served.store.horizon() == (TODAY - timedelta(5)).toordinal()


def test_gzip_is_welcome_and_nothing_broken_in_it(served: Served) -> None:
    body = json.dumps(served.message([3])).encode()
    packed = gzip.compress(body)
    assert served.post(packed, content_encoding="gzip").status == 200
    for broken in (packed[:-5], packed[5:], b"x" * 40, packed + b"more", packed + packed, b""):
        assert served.post(broken, content_encoding="gzip").status == 400
    assert served.post(body, content_encoding="br").status == 415
    assert served.counts() == {"3": 1}


def test_a_bomb_does_not_go_off(served: Served) -> None:
    bomb = zlib.compressobj(9, zlib.DEFLATED, 31)
    packed = bomb.compress(b"[" + b"0," * 500_000) + bomb.flush()
    assert len(packed) < 20_000
    reply = served.post(packed, content_encoding="gzip")
    assert (reply.status, reply.headers["connection"]) == (413, "close")


def test_sizes_are_limited_before_and_while_a_message_comes(served: Served) -> None:
    assert served.post(b"x", content_length="20001").status == 413
    assert served.post(b"x", content_length="many").status == 413
    parts = [b"x" * 9_000] * 3
    assert served.ask("POST", "/v1/reports", parts, content_type="application/json").status == 413


def test_a_slow_message_is_given_up_and_others_go_on(served: Served) -> None:
    async def both() -> list[Any]:
        slow = served.asking("POST", "/v1/reports", [b"..."], content_type="application/json")
        quick = served.asking(
            "POST", "/v1/reports", json.dumps(served.message([3])).encode(), content_type="application/json"
        )
        return list(await asyncio.gather(slow, quick))

    slow, quick = served.run(both())
    assert (slow.status, slow.code, quick.status) == (408, "slow", 200)


def test_a_message_in_parts_is_put_together(served: Served) -> None:
    body = json.dumps(served.message([3])).encode()
    assert served.ask("POST", "/v1/reports", [body[:9], body[9:]], content_type="application/json").status == 200


def test_too_many_at_a_time_are_told_when_to_come_again(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "store.db"))
    with serving(store, most_a_second=1) as served:
        replies = [served.post(served.message([3])) for _ in range(3)]
        assert [one.status for one in replies] == [200, 429, 429]
        assert int(replies[1].headers["retry-after"]) >= 1
    with serving(store, most_waiting=0) as served:
        assert served.post(served.message([3])).status == 429
    store.close()


def test_a_store_that_fails_is_a_503_and_recovers(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    message = served.message([3])

    def fail(_: object) -> None:
        raise UnavailableError("The disk is full, at /secret/path.")

    with monkeypatch.context() as patch:
        patch.setattr(served.store, "commit", fail)
        patch.setattr(served.store, "check", lambda: fail(None))
        reply = served.post(message)
        assert (reply.status, reply.headers["retry-after"], b"/secret" in reply.body) == (503, "2", False)
        assert served.ask("GET", "/healthz").status == 503
    assert served.ask("GET", "/healthz").status == 200
    assert served.post(message).status == 200
    assert served.counts() == {"3": 1}


def test_a_failure_that_nobody_foresaw_says_nothing_of_itself(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr(served.store, "commit", fail)
    reply = served.post(served.message([3]))
    assert (reply.status, b"secret" in reply.body) == (503, False)
    monkeypatch.setattr(served.app.collector, "take", fail)
    reply = served.post(served.message([3]))
    assert (reply.status, b"secret" in reply.body) == (500, False)


def test_a_foreign_page_may_neither_ask_nor_look(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "store.db"))
    with serving(store, origins=("https://good.example",)) as served:
        message = served.message([3])
        for origin in ("https://bad.example", "null", "https://good.example.bad.example"):
            reply = served.post(message, origin=origin, host="collector.example")
            assert (reply.status, "access-control-allow-origin" in reply.headers) == (403, False)
            preflight = served.ask("OPTIONS", "/v1/reports", b"", origin=origin, host="collector.example")
            assert (preflight.status, "access-control-allow-origin" in preflight.headers) == (403, False)
        assert served.counts() == {}
        # What a page may send without a preflight is not taken.
        assert served.post(message, content_type="text/plain").status == 415
        good = served.post(message, origin="https://good.example", host="collector.example")
        assert (good.status, good.headers["access-control-allow-origin"]) == (200, "https://good.example")
        assert "access-control-allow-credentials" not in good.headers
        preflight = served.ask("OPTIONS", "/v1/reports", b"", origin="https://good.example", host="collector.example")
        assert (preflight.status, "content-type" in preflight.headers["access-control-allow-headers"]) == (204, True)
        assert served.post(served.message([4]), origin="http://127.0.0.1:8000", host="127.0.0.1:8000").status == 200
    store.close()


def test_reading_needs_a_token_for_it(served: Served) -> None:
    served.post(served.message([3]))
    assert served.read("counts", "").status == 401
    assert served.read("counts", "upload").status == 403
    assert served.read("counts", "", authorization="Bearer confide-guess").status == 403
    assert served.read("counts", "", authorization=f"Basic {served.tokens['read']}").status == 401
    assert served.read("counts", "read").status == served.read("counts", "administer").status == 200
    assert served.read("", "").json["fingerprint"] == served.survey.fingerprint
    assert served.ask("GET", f"/v1/surveys?token={served.tokens['read']}").code == "token-in-url"


def test_a_token_of_one_survey_opens_no_other_and_a_revoked_one_none(served: Served) -> None:
    from confide.collector.stores import make_token

    own = make_token(served.store, "read", "own", served.survey.fingerprint)[1]
    other = make_token(served.store, "read", "other", "f" * 32)[1]
    served.app.collector.refresh()
    assert served.read("counts", "", authorization=f"Bearer {own}").status == 200
    assert served.read("counts", "", authorization=f"Bearer {other}").status == 403
    served.store.revoke("own")
    served.app.collector.refresh()
    assert served.read("counts", "", authorization=f"Bearer {own}").status == 403


def test_the_store_knows_no_token_and_no_invitation(served: Served, tmp_path: Path) -> None:
    number = served.store.surveys()[0].number
    codes = make_invitations(served.store, number, 3)
    served.store.tidy()
    content = b"".join(path.read_bytes() for path in tmp_path.glob("store.db*"))
    assert len(set(codes)) == 3
    for secret in [*codes, *served.tokens.values()]:
        assert secret.encode() not in content


def test_uploading_may_need_a_token(store: Store) -> None:
    with serving(store, admission="token") as served:
        assert served.post(served.message([3])).status == 401
        assert served.post(served.message([3]), authorization=f"Bearer {served.tokens['read']}").status == 403
        assert served.post(served.message([3]), authorization=f"Bearer {served.tokens['upload']}").status == 200


def test_an_invitation_is_for_one_report_once(file_store: Store) -> None:
    store = file_store
    with serving(store, admission="invited") as served:
        first, second = make_invitations(store, 1, 2)
        message = served.message([3])
        assert served.post(message).code == "no-invitation"
        assert served.post(served.message([3, 4]), confide_invitation=first).code == "one-each"
        assert served.post(message, confide_invitation=first.upper()).status == 200
        assert served.post(message, confide_invitation=first).status == 200  # the same batch again
        assert served.post(served.message([4]), confide_invitation=first).code == "spent"
        assert served.post(served.message([4]), confide_invitation="guess").code == "spent"
        spent = served.message([4])
        assert served.post(spent, confide_invitation=first).code == "spent"
        assert served.post(spent, confide_invitation=second).status == 200  # a batch that was refused was never there
        assert (served.counts(), store.invitations(1)) == ({"3": 1, "4": 1}, 0)


def test_a_bad_invitation_takes_no_good_one_with_it(file_store: Store) -> None:
    store = file_store
    with serving(store, admission="invited") as served:
        (good,), message = make_invitations(store, 1, 1), served.message([3])
        commits, sent = served.app.collector.commits, {"content_type": "application/json"}

        async def together() -> list[int]:
            with commits._changed:  # both in one transaction
                asked = [
                    asyncio.create_task(
                        served.asking("POST", "/v1/reports", json.dumps(one).encode(), confide_invitation=code, **sent)
                    )
                    for code, one in (("guess", message | {"reports": [4]}), (good, message))
                ]
                while len(commits.waiting) < 2:
                    await asyncio.sleep(0)
            return [one.status for one in await asyncio.gather(*asked)]

        assert served.run(together()) == [409, 200]
        assert (served.counts(), store.invitations(1)) == ({"3": 1}, 0)


def test_a_survey_comes_with_who_may_take_part(file_store: Store) -> None:
    store = file_store
    with serving(store, admission="invited") as served:
        assert served.read("", "").headers["confide-admission"] == "invited"
        store.close_survey(served.survey.fingerprint)
        served.app.collector.refresh()
        found = served.read("", "").headers
        assert found["confide-admission"] == "closed"
        assert "confide-simulated" not in found


def test_groups_are_those_of_the_survey(store: Store) -> None:
    with serving(store, ages(groups='[groups]\ntown = ["Oslo", "Bern"]')) as served:
        for groups in (None, {}, {"town": "Rome"}, {"town": ["Oslo"]}, {"town": "Oslo", "sex": "f"}, "Oslo"):
            assert served.post(served.message([3], groups=groups)).code == "groups"
        assert served.post(served.message([3], groups={"town": "Oslo"})).status == 200
        days = served.read("counts").json["days"]
        assert [(one["groups"], one["counts"]) for one in days] == [(["Oslo"], [[3, 1]])]


def test_administering(served: Served) -> None:
    from dataclasses import replace

    document = replace(served.survey, most_reports=2).to_json().encode()
    sent = {"content_type": "application/json"}
    admin = sent | {"authorization": f"Bearer {served.tokens['administer']}"}
    assert served.ask("POST", "/v1/surveys", document, **sent).status == 401
    reader = sent | {"authorization": f"Bearer {served.tokens['read']}"}
    assert served.ask("POST", "/v1/surveys", document, **reader).status == 403
    assert served.ask("POST", "/v1/surveys", b"{}", **admin).status == 422
    assert served.ask("POST", "/v1/surveys", document, **(admin | {"confide_admission": "all"})).status == 422
    added = served.ask("POST", "/v1/surveys", document, **admin)
    assert added.status == 201
    listed = served.ask("GET", "/v1/surveys", b"", **reader).json["surveys"]
    assert {one["survey"] for one in listed} == {served.survey.fingerprint, added.json["survey"]}
    assert served.ask("POST", f"/v1/surveys/{added.json['survey']}/close", b"", **reader).status == 403
    assert served.ask("POST", f"/v1/surveys/{added.json['survey']}/close", b"", **admin).status == 200
    assert served.post(served.message([3], survey=added.json["survey"])).status == 410


@pytest.mark.slow
def test_answers_are_computed_elsewhere_and_kept_as_long_as_no_report_comes(served: Served) -> None:
    assert served.read("estimate").code == "empty"
    served.post(served.message([3, 4, 4, 5] * 20))
    first = served.read("estimate")
    assert abs(sum(first.json["distribution"]) - 1) < 1e-9
    assert served.read("estimate", if_none_match=first.headers["etag"]).status == 304
    pool = served.app.readings._pool
    assert pool is not None
    assert served.read("fit").json["verdict"]
    page = served.read("page")
    assert page.body.startswith(b"<!DOCTYPE html>") or page.body.lower().startswith(b"<!doctype")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert b"<script" not in page.body
    served.post(served.message([9]))
    assert served.read("estimate").json["reports"] == 81
    form = {"content_type": "application/x-www-form-urlencoded"}
    path = f"/v1/surveys/{served.survey.fingerprint}/page"
    assert served.ask("POST", path, b"token=guess", **form).status == 403
    assert served.ask("POST", path, f"token={served.tokens['read']}".encode(), **form).status == 200
    assert served.read("nothing").status == 404


def test_only_so_many_answers_are_computed_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(str(tmp_path / "store.db"))
    with serving(store, most_computing=1) as served:
        served.post(served.message([3]))

        async def compute(*_: object) -> bytes:
            await asyncio.sleep(0.05)
            return b"{}"

        monkeypatch.setattr(served.app.readings, "_compute", compute)
        allowed = {"authorization": f"Bearer {served.tokens['read']}"}

        async def together() -> list[int]:
            path = f"/v1/surveys/{served.survey.fingerprint}"
            asked = [served.asking("GET", f"{path}/{what}", b"", **allowed) for what in ("fit", "fit", "page")]
            return [one.status for one in await asyncio.gather(*asked)]

        # Whichever comes first is computed, for whoever asks the same; another is not, meanwhile.
        assert served.run(together()) in ([200, 200, 429], [429, 429, 200])
    store.close()


def test_health_metrics_home_and_description(served: Served) -> None:
    served.post(served.message([3, 70]))
    assert served.ask("GET", "/healthz").json == {"status": "ok"}
    metrics = served.ask("GET", "/metrics").body.decode()
    assert 'confide_reports_total{outcome="accepted"} 1\n' in metrics
    assert 'confide_reports_total{outcome="rejected"} 1\n' in metrics
    assert 'confide_batches_total{outcome="counted"} 1\n' in metrics
    assert served.survey.fingerprint not in metrics
    home = served.ask("GET", "/")
    assert "content-security-policy" in home.headers
    page = home.body.decode()
    assert "<main>" in page
    assert "--stacked" in page  # the design of all pages
    assert f"/v1/surveys/{served.survey.fingerprint}/page" in page
    assert "Closed" not in page
    assert served.ask("HEAD", "/healthz").body == b""
    assert served.ask("DELETE", "/v1/reports").status == 405
    assert served.ask("GET", "/v1/reports").status == 405
    assert served.ask("GET", "/nothing/here").status == 404


def test_a_title_cannot_put_anything_into_the_home_page(tmp_path: Path) -> None:
    from dataclasses import replace

    store = open_store(str(tmp_path / "store.db"))
    with serving(store, replace(ages(), title="<script>alert(1)</script>")) as served:
        assert b"<script" not in served.ask("GET", "/").body
    store.close()
