"""Requests to a collector without a network, and stores for tests."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from tests.collector.killing import SURVEY

from confide.collector.http import Application
from confide.collector.service import Collector, Settings
from confide.collector.stores import Store, make_token
from confide.surveys.survey import Survey, parse_survey

TODAY = date(2026, 11, 16)


def ages(**more: str) -> Survey:
    return parse_survey(SURVEY + "".join(f"\n{text}" for text in more.values()))


@dataclass
class Reply:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        return str(self.json["error"]["code"])


@dataclass
class Served:
    """A collector with its loop, asked as a server asks it."""

    store: Store
    survey: Survey
    app: Application
    loop: asyncio.AbstractEventLoop
    day: date = TODAY
    tokens: dict[str, str] = field(default_factory=dict)

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(work)

    def ask(self, method: str, path: str, body: bytes | list[bytes] = b"", **headers: str) -> Reply:
        found: Reply = self.run(self.asking(method, path, body, **headers))
        return found

    async def asking(self, method: str, path: str, body: bytes | list[bytes] = b"", **headers: str) -> Reply:
        parts, sent, given = ([body] if isinstance(body, bytes) else list(body)), [], []

        async def receive() -> dict[str, Any]:
            if not parts:
                await asyncio.sleep(5)  # the rest never comes; then whoever sent it has gone
                return {"type": "http.disconnect"}
            part = parts.pop(0)
            return {"type": "http.request", "body": part, "more_body": bool(parts) or part == b"..."}

        async def send(message: Any) -> None:
            sent.append(message)

        path, _, query = path.partition("?")
        for name, value in headers.items():
            given.append((name.replace("_", "-").encode(), value.encode("latin-1")))
        scope = {"type": "http", "method": method, "path": path, "query_string": query.encode(), "headers": given}
        await self.app(scope, receive, send)
        answered = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        return Reply(sent[0]["status"], answered, b"".join(one.get("body", b"") for one in sent[1:]))

    def message(self, reports: list[Any], **more: Any) -> dict[str, Any]:
        found = {"survey": self.survey.fingerprint, "batch": secrets.token_hex(16), "day": self.day.isoformat()}
        return found | {"reports": reports} | more

    def post(self, message: Any, **headers: str) -> Reply:
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        return self.ask("POST", "/v1/reports", body, **({"content_type": "application/json"} | headers))

    def read(self, what: str, role: str = "read", **headers: str) -> Reply:
        allowed = {"authorization": f"Bearer {self.tokens[role]}"} if role else {}
        path = f"/v1/surveys/{self.survey.fingerprint}/{what}".rstrip("/")
        return self.ask("GET", path, b"", **(allowed | headers))

    def counts(self) -> dict[str, int]:
        number = next(one.number for one in self.store.surveys() if one.fingerprint == self.survey.fingerprint)
        found: dict[str, int] = {}
        for row in self.store.balance(number)[0]:
            found[row.report] = found.get(row.report, 0) + row.number
        return found


@contextmanager
def serving(
    store: Store, survey: Survey | None = None, admission: str = "open", day: date = TODAY, **settings: Any
) -> Iterator[Served]:
    """Serve a survey from a store for a while."""
    contract = ages() if survey is None else survey
    store.add_survey(contract, admission)
    collector = Collector(store, Settings(**settings), lambda: day)
    app, loop = Application(collector), asyncio.new_event_loop()
    found = Served(store, contract, app, loop, day)
    known = {token.name for token in store.tokens()}
    for role in ("upload", "read", "administer"):
        if f"test-{role}" not in known:
            found.tokens[role] = make_token(store, role, f"test-{role}")[1]
    inbox: asyncio.Queue[dict[str, str]] = asyncio.Queue()
    outbox: asyncio.Queue[Any] = asyncio.Queue()
    inbox.put_nowait({"type": "lifespan.startup"})
    life = loop.create_task(app({"type": "lifespan"}, inbox.get, outbox.put))
    loop.run_until_complete(outbox.get())
    try:
        yield found
    finally:
        inbox.put_nowait({"type": "lifespan.shutdown"})
        loop.run_until_complete(life)
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()
