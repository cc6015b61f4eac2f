"""HTTP of a collector: raw ASGI, for a framework's layers would cost as much as all the rest."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import time
import weakref
import zlib
from collections import Counter
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import orjson

from confide.collector.lanes import Room
from confide.collector.limits import LIMITS
from confide.collector.readings import Readings
from confide.collector.replies import (
    HTML,
    JSON,
    TEXT,
    Call,
    Guest,
    Headers,
    Receive,
    Reply,
    Scope,
    Send,
    home,
    not_found,
    refuse,
    require_method,
)
from confide.collector.service import Collector, Entry, Refusal, count_parts, shown, too_many_parts
from confide.collector.stores import ADMISSIONS, StoreError

LOG = logging.getLogger("confide.collector")

FIRST = 2**19
"""Bytes that are unpacked before it is looked whether there are too many parts already."""


class Application:
    """Collector as an ASGI application."""

    def __init__(self, collector: Collector, readings: Readings | None = None, guest: Guest | None = None) -> None:
        self.collector = collector
        self.readings = readings or Readings(collector)
        self.guest = guest
        self._keepers: list[asyncio.Task[None]] = []
        self._receiving: dict[asyncio.Task[Any] | None, float] = {}
        self._failures: set[str] = set()
        self._looking: asyncio.Task[bool] | None = None
        self._late: weakref.WeakSet[asyncio.Task[Any]] = weakref.WeakSet()
        self._refused: Counter[str] = Counter()
        self.room = Room(collector.settings.most_held, collector.settings.most_held_each)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1003})
            return
        address = scope["client"][0] if scope.get("client") else ""
        call = Call(scope["path"], scope["method"], dict(scope["headers"]), address, receive)
        try:
            await self._reply(scope, call, send)
        finally:
            self._leave(call)

    async def _reply(self, scope: Scope, call: Call, send: Send) -> None:
        is_refused = False
        try:
            status, body, sent = await self._answer(scope, call)
            # A batch of which no report counts is refused as well; looked for before the list of what is rejected.
            is_refused = call.path == "/v1/reports" and b'"accepted":0,' in body[:200]
        except Refusal as refusal:
            status, body, sent = refuse(refusal)
            is_refused = True
        except StoreError as error:
            self.collector.commits.fault = str(error)
            said = "The store cannot be used now. Send the same again later: it is counted once."
            status, body, sent = refuse(Refusal(503, "unavailable", said, retry_after=2))
        except Exception as error:  # whatever it is: nobody is shown a traceback, and no message may be in one
            LOG.error("A request failed: %s", type(error).__name__)  # noqa: TRY400 - a traceback may hold a message
            status, body, sent = refuse(Refusal(500, "failed", "This failed here. Nothing of it was counted."))
        if is_refused:  # here, and not where the refusal is known: it knows the message, which would stay in memory
            await self._slow_down(call)
        origin = call.headers.get(b"origin")
        sent = [*sent, *([] if origin is None else self._cross(origin)), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": status, "headers": sent})
        body = b"" if call.method == "HEAD" else body
        if len(body) > LIMITS.free:  # what was held is held until this is read: the second call waits for it
            await send({"type": "http.response.body", "body": body, "more_body": True})
            body = b""
        await send({"type": "http.response.body", "body": body})

    async def _answer(self, scope: Scope, call: Call) -> Reply:
        if len(call.headers) < len(scope["headers"]):
            # Refuse a header that came twice: the last would win, and whoever is in front of us may have read the
            # other.
            names = Counter(name for name, _ in scope["headers"])
            single = (b"authorization", b"confide-invitation", b"content-encoding", b"content-type", b"host", b"origin")
            twice = next((name for name in single if names[name] > 1), None)
            if twice is not None:
                raise Refusal(400, "malformed", f"The header {twice.decode()} came twice. Send it once.")

        self._require_known_site(call)
        if scope["query_string"] and b"token" in scope["query_string"].lower():
            raise Refusal(400, "token-in-url", "A token belongs into the header Authorization, never into a URL.")
        if call.path == "/v1/reports" and call.method == "POST":
            _require_json(call.headers)
            invitation, take = call.header(b"confide-invitation"), self.collector.take
            body = await self._body(call, most_parts=self.collector.settings.most_parts)
            return 200, await take(body, call.secret, invitation, call.address), JSON
        if call.method == "OPTIONS":
            return 204, b"", [(b"allow", b"GET, HEAD, POST, OPTIONS")]
        require_method(call.method, *(("POST",) if call.path == "/v1/reports" else ("GET", "POST")))
        return await self._read_or_change(call)

    async def _read_or_change(self, call: Call) -> Reply:
        parts = call.path.strip("/").split("/")
        if call.path in ("/", "/healthz", "/metrics"):
            require_method(call.method, "GET")
            if call.path == "/healthz":
                return await self._health()
            if call.path == "/metrics":
                return 200, self.readings.metrics().encode(), TEXT
            return 200, home(self.collector.entries.values(), has_studio=self.guest is not None).encode(), HTML
        if parts[:2] == ["v1", "surveys"] and len(parts) == 2:
            return await self._surveys(call)
        if parts[:2] == ["v1", "surveys"] and len(parts) in (3, 4):
            entry = await self.collector.find(parts[2])
            return await self._survey(entry, parts[3] if len(parts) == 4 else "", call)
        if self.guest is None:
            raise not_found()
        return await self.guest.answer(call, lambda: self._json_body(call))

    async def _json_body(self, call: Call) -> bytes:
        _require_json(call.headers)
        return await self._body(call)

    async def _surveys(self, call: Call) -> Reply:
        if call.method == "POST":
            self.collector.require("administer", call.secret)
            document = (await self._json_body(call)).decode("utf-8", "replace")
            admission = call.header(b"confide-admission") or "open"
            if admission not in ADMISSIONS:
                raise Refusal(422, "admission", f"Confide-Admission is one of {', '.join(ADMISSIONS)}.")
            fingerprint = await asyncio.to_thread(self.collector.add, document, admission)
            return 201, orjson.dumps({"survey": fingerprint}), JSON
        require_method(call.method, "GET", "POST")
        self.collector.require("read", call.secret)
        listed = [
            {
                "survey": entry.stored.fingerprint,
                "name": entry.survey.name,
                "title": entry.survey.title,
                "admission": entry.stored.admission,
                "is_closed": entry.stored.is_closed,
                "is_simulated": entry.stored.is_simulated,
            }
            for entry in self.collector.entries.values()
        ]
        return 200, orjson.dumps({"surveys": listed}), JSON

    async def _survey(self, entry: Entry, what: str, call: Call) -> Reply:
        fingerprint, stored = entry.stored.fingerprint, entry.stored
        if what == "":
            require_method(call.method, "GET")
            # Who may take part stands beside the survey, so that a person is not asked in vain.
            admission = "closed" if entry.stored.is_closed else entry.stored.admission
            simulated = [(b"confide-simulated", b"true")] if stored.is_simulated else []
            return 200, stored.document.encode(), [*JSON, (b"confide-admission", admission.encode()), *simulated]
        if what == "close":
            require_method(call.method, "POST")
            self.collector.require("administer", call.secret)
            await asyncio.to_thread(self.collector.store.close_survey, fingerprint)
            await asyncio.to_thread(self.collector.refresh)
            return 200, orjson.dumps({"survey": fingerprint, "is_closed": True}), JSON
        if what == "page" and call.method == "POST":  # a browser's form: a token in a body stays out of URLs
            secret = await self._form_token(call)
        else:
            require_method(call.method, "GET")
            secret = call.secret
        self.collector.require("read", secret, fingerprint)
        version, body = await self.readings.get(entry, what)
        tag = b'"%d"' % version
        sent = [*(HTML if what == "page" else JSON), (b"etag", tag)]
        if call.headers.get(b"if-none-match") == tag:
            return 304, b"", sent
        return 200, body, sent

    async def _form_token(self, call: Call) -> str | None:
        if call.headers.get(b"content-type", b"").partition(b";")[0].strip() != b"application/x-www-form-urlencoded":
            raise Refusal(415, "type", "A form is sent as application/x-www-form-urlencoded.")
        body = await self._body(call, 2**12)  # bytes: it has one field
        try:
            form = parse_qs(body.decode("utf-8", "replace"), max_num_fields=4)
        except ValueError:
            raise Refusal(400, "malformed", "A form has one field, token.") from None
        return form.get("token", [None])[0]

    async def _health(self) -> Reply:
        if self._looking is None or self._looking.done():  # one look for all who ask meanwhile
            self._looking = asyncio.create_task(asyncio.to_thread(self._look))
        if not await asyncio.shield(self._looking):
            raise Refusal(503, "unavailable", "The store cannot be used now.", retry_after=2)
        strange = sorted(self.collector.unreadable)
        return 200, orjson.dumps({"status": "ok"} | ({"unreadable": strange} if strange else {})), JSON

    def _look(self) -> bool:
        """Whether the store can be written to now; after a failure, whether it has room as well."""
        commits, store = self.collector.commits, self.collector.store
        try:
            (store.check if commits.fault else store.look)()
        except StoreError as error:
            commits.fault = str(error)
        else:
            commits.fault = ""
        return not commits.fault

    # Messages.

    async def _body(self, call: Call, most: int = 0, most_parts: int = 0) -> bytes:
        """Receive a whole message in time, and unpack it; refuse it as soon as it is known to be too large."""
        most = min(most or self.collector.settings.most_bytes, self.collector.settings.most_bytes)
        stated = call.headers.get(b"content-length", b"0")
        encoding = call.headers.get(b"content-encoding", b"identity").strip().lower()
        if not stated.isdigit() or int(stated) > most:
            raise _too_large(most)
        if int(stated) > LIMITS.free:
            await self._hold(call, int(stated) + (most if encoding == b"gzip" else 0))
        body = await self._receive(call, most)
        if encoding == b"identity":
            return body
        if encoding != b"gzip":
            raise Refusal(415, "encoding", "A message is sent as it is, or with Content-Encoding: gzip.")
        stated_size = int.from_bytes(body[-4:], "little")  # gzip ends with it
        # Few bytes are unpacked on the event loop: 4 MiB of gzip that hold nothing at all take most of a second.
        if stated_size <= LIMITS.light and len(body) <= 2**13:
            return _unzip(body, most, stated_size)
        await self._hold(call, min(stated_size, most))
        return await self.collector.do_in_turn(call.address, _unzip, body, most, stated_size, most_parts)

    async def _hold(self, call: Call, size: int) -> None:
        """Wait for room for a large message; it is held until the answer is read."""
        if call.held:
            return
        size = max(size, 2**20)  # what it is parsed into has to find room as well
        try:
            await self.room.enter(call.address, size, self.collector.settings.body_seconds)
        except TimeoutError:
            said = "Too many large messages come at a time. Send this one again later."
            raise Refusal(429, "busy", said, retry_after=1) from None
        call.held = size

    def _leave(self, call: Call) -> None:
        if call.held:
            self.room.leave(call.address, call.held)
            call.held = 0

    async def _slow_down(self, call: Call) -> None:
        """Let whoever is refused again and again wait: 200 connections would leave nobody else a turn."""
        self._refused[call.address] += 1
        if call.address and self._refused[call.address] > LIMITS.most_refused:
            self._leave(call)
            await asyncio.sleep(1)

    async def _receive(self, call: Call, most: int) -> bytes:
        """Receive a message, and refuse it where it takes too long: `_watch` cancels the task then."""
        task = asyncio.current_task()
        self._receiving[task] = time.monotonic()
        try:
            return await self._parts(call, most, task)
        except asyncio.CancelledError:
            if task is None or task not in self._late:
                raise
            task.uncancel()
            seconds = self.collector.settings.body_seconds
            raise Refusal(408, "slow", f"The message took longer than {seconds:g} seconds.") from None
        finally:
            self._receiving.pop(task, None)

    async def _parts(self, call: Call, most: int, task: asyncio.Task[Any] | None) -> bytes:
        parts, size = [], 0
        while True:
            message = await call.receive()
            if message["type"] == "http.disconnect":
                raise Refusal(400, "malformed", "The message ended before it was whole.")
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > most:
                raise _too_large(most)
            if not message.get("more_body", False):
                return parts[0] if len(parts) == 1 else b"".join(parts)
            if size > LIMITS.free and not call.held:  # nobody said how long it would be
                del self._receiving[task]  # the wait for room is not the sender's
                await self._hold(call, 2 * most)
                self._receiving[task] = time.monotonic()

    # Web sites.

    def _require_known_site(self, call: Call) -> None:
        """Refuse pages of other web sites, and a name that is not ours.

        A page whose name points here for a moment reads without saying where it is from; to send, it has to say it.
        """
        origin, host = call.header(b"origin"), call.header(b"host") or ""
        known = self.collector.settings.origins
        if origin is not None:
            # Our own page is at an address or at localhost. A name says nothing: its owner may let it point here.
            if origin not in known and not (origin.partition("://")[2] == host and _is_address(host)):
                raise Refusal(403, "origin", "Pages of this web site may not ask this collector.")
        elif call.method == "POST" or call.path == "/healthz" or not host or _is_address(host):
            return
        elif host not in {site.partition("://")[2] for site in known}:
            cure = "If that is its name, start it with --allow-origin and that name, such as http://collector.lan:8000."
            raise Refusal(403, "host", f"This collector does not answer under the name {shown(host)}. {cure}")

    def _cross(self, origin: bytes) -> list[tuple[bytes, bytes]]:
        """Return the headers that let a page of a known web site read the answer."""
        if origin.decode("latin-1") not in self.collector.settings.origins:
            return [(b"vary", b"origin")]
        headers = b"content-type, content-encoding, authorization, confide-invitation"
        return [
            (b"access-control-allow-origin", origin),
            (b"access-control-allow-methods", b"GET, POST"),
            (b"access-control-allow-headers", headers),
            (b"access-control-expose-headers", b"retry-after"),
            (b"access-control-max-age", b"600"),
            (b"vary", b"origin"),
        ]

    # Beside requests.

    async def _live(self, receive: Receive, send: Send) -> None:
        """Start and end with the server: when it ends, all that was handed over is counted first."""
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                self.collector.refresh()
                self.collector.commits.start()
                self._keepers = [asyncio.create_task(self._keep()), asyncio.create_task(self._watch())]
                if self.guest is not None:
                    self.guest.start()
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                for keeper in self._keepers:
                    keeper.cancel()
                if self.guest is not None:
                    self.guest.close()
                await asyncio.to_thread(self.collector.commits.finish)
                self.readings.close()
                self.collector.lane.close()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _keep(self) -> None:
        """Look at what changed, every second, and forget what is past, every ten minutes."""
        looks = 0
        while True:
            # Whatever fails, go on: a keeper that ends would leave revoked tokens good for ever.
            await self._try(self.collector.refresh)
            if looks % 600 == 0:
                await self._try(self.collector.forget)
            looks += 1
            await asyncio.sleep(LIMITS.refresh_seconds)

    async def _try(self, work: Callable[[], None]) -> None:
        try:
            with contextlib.suppress(StoreError):  # busy or gone for now, as whoever sends is told
                await asyncio.to_thread(work)
        except Exception as error:
            said = f"{work.__name__}: {type(error).__name__}"
            if said not in self._failures:
                self._failures.add(said)
                LOG.error("The collector's keeper failed, and goes on: %s", said)  # noqa: TRY400 - as above

    async def _watch(self) -> None:
        """End the wait for messages that do not come: one look at all of them costs less than a clock for each."""
        while True:
            before = time.monotonic() - self.collector.settings.body_seconds
            for task in [task for task, began in self._receiving.items() if began < before]:
                if task is not None:
                    self._late.add(task)
                    task.cancel()
            self._refused.clear()
            await asyncio.sleep(min(1.0, self.collector.settings.body_seconds / 2))


def _is_address(host: str) -> bool:
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name == "localhost" or bool(ipaddress.ip_address(name))
    except ValueError:
        return False


def _too_large(most: int) -> Refusal:
    return Refusal(413, "too-large", f"A message has at most {most:,} bytes. Send fewer reports at a time.")


def _unzip(body: bytes, most: int, stated: int, most_parts: int = 0) -> bytes:
    """Unpack gzip, no more than is allowed or was stated: a bomb is noticed before it goes off."""
    unpacker, limit = zlib.decompressobj(31), min(most, stated) + 1
    try:
        whole = unpacker.decompress(body, min(limit, FIRST))
        if len(whole) == FIRST < limit:
            if most_parts and count_parts(whole, most_parts) > most_parts:
                raise too_many_parts(most_parts)
            whole += unpacker.decompress(unpacker.unconsumed_tail, limit - FIRST)
    except zlib.error:
        raise Refusal(400, "malformed", "The message is not sound gzip.") from None
    if len(whole) > most:
        raise _too_large(most)
    if not unpacker.eof or unpacker.unused_data:
        raise Refusal(400, "malformed", "The message is not one whole piece of gzip.")
    return whole


def _require_json(headers: Headers) -> None:
    """Refuse other types: a foreign page could send those without the browser asking us first."""
    stated = headers.get(b"content-type", b"")
    if stated != b"application/json" and stated.partition(b";")[0].strip().lower() != b"application/json":
        raise Refusal(415, "type", "A message is sent with Content-Type: application/json.")
