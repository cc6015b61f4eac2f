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
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

import orjson

from confide.collector.home import home
from confide.collector.lanes import Room
from confide.collector.openapi import describe
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
    not_found,
    refuse,
    require_method,
)
from confide.collector.service import LIGHT, Collector, Entry, Refusal, count_parts, shown, too_many_parts
from confide.collector.stores import ADMISSIONS, StoreError

CROSS_HEADERS = b"content-type, content-encoding, authorization, confide-invitation"

LOG = logging.getLogger("confide.collector")

UNAVAILABLE = "The store cannot be used now. Send the same again later: it is counted once."

REFRESH = 1.0
"""Seconds between two looks at what other processes changed."""

FREE = 2**16
"""Bytes of a message that come in before there is room for it: the server reads as many at once in any case."""

LEAST_HELD = 2**20
"""Bytes that a large message counts for at least: what it is parsed into has to find room as well."""

LIGHT_PACKED = 2**13
"""Bytes of gzip that are unpacked on the event loop: 4 MiB of it that hold nothing at all take most of a second."""

FIRST = 2**19
"""Bytes that are unpacked before it is looked whether there are too many parts already."""

NONE_ACCEPTED = b'"accepted":0,'
"""Stands in the answer to a batch of which no report counts; looked for before the list of reports that are refused."""

MOST_REFUSED = 100
"""Refusals that one address gets in a second without having to wait for the next: who is refused often is no device."""

FORM = 2**12
"""Bytes of a browser's form: it has one field."""

SINGLE = (b"authorization", b"confide-invitation", b"content-encoding", b"content-type", b"host", b"origin")
"""Headers of which the last would win, if there were two."""

FORGET_EVERY = 600
"""Looks between two rounds of forgetting marks that are past."""


@dataclass(slots=True)
class Incoming:
    """A request: its headers, the message that comes with it, where it is from, and how much room it holds."""

    headers: Headers
    receive: Receive
    address: str
    held: int = 0


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
        headers: Headers = dict(scope["headers"])
        request = Incoming(headers, receive, scope["client"][0] if scope.get("client") else "")
        try:
            await self._reply(scope, request, send)
        finally:
            self._leave(request)

    async def _reply(self, scope: Scope, request: Incoming, send: Send) -> None:
        is_refused = False
        try:
            status, body, sent = await self._answer(scope, request)
            is_refused = scope["path"] == "/v1/reports" and NONE_ACCEPTED in body[:200]
        except Refusal as refusal:
            status, body, sent = refuse(refusal)
            is_refused = True
        except StoreError as error:
            self.collector.commits.fault = str(error)
            status, body, sent = refuse(Refusal(503, "unavailable", UNAVAILABLE, retry_after=2))
        except Exception as error:  # whatever it is: nobody is shown a traceback, and no message may be in one
            LOG.error("A request failed: %s", type(error).__name__)  # noqa: TRY400 - a traceback may hold a message
            status, body, sent = refuse(Refusal(500, "failed", "This failed here. Nothing of it was counted."))
        if is_refused:  # here, and not where the refusal is known: it knows the message, which would stay in memory
            await self._slow_down(request)
        origin = request.headers.get(b"origin")
        if origin is not None:
            sent = [*sent, *self._cross(origin)]
        sent = [*sent, (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": status, "headers": sent})
        body = b"" if scope["method"] == "HEAD" else body
        if len(body) > FREE:  # what was held is held until this is read: the second call waits for it
            await send({"type": "http.response.body", "body": body, "more_body": True})
            body = b""
        await send({"type": "http.response.body", "body": body})

    async def _answer(self, scope: Scope, request: Incoming) -> Reply:
        path, method, headers = scope["path"], scope["method"], request.headers
        if len(headers) < len(scope["headers"]):
            _require_single(scope["headers"])
        self._require_known_site(path, method, headers)
        if scope["query_string"] and b"token" in scope["query_string"].lower():
            raise Refusal(400, "token-in-url", "A token belongs into the header Authorization, never into a URL.")
        if path == "/v1/reports" and method == "POST":
            _require_json(headers)
            invitation = _text(headers, b"confide-invitation")
            take = self.collector.take
            body = await self._body(request, most_parts=self.collector.settings.most_parts)
            return 200, await take(body, _secret(headers), invitation, request.address), JSON
        if method == "OPTIONS":
            return 204, b"", [(b"allow", b"GET, HEAD, POST, OPTIONS")]
        require_method(method, *(("POST",) if path == "/v1/reports" else ("GET", "POST")))
        return await self._read_or_change(path, method, request)

    async def _read_or_change(self, path: str, method: str, request: Incoming) -> Reply:
        parts = path.strip("/").split("/")
        if path in self._plain:
            require_method(method, "GET")
            return await self._plain[path](self)
        if parts[:2] == ["v1", "surveys"] and len(parts) == 2:
            return await self._surveys(method, request)
        if parts[:2] == ["v1", "surveys"] and len(parts) in (3, 4):
            entry = await self.collector.find(parts[2])
            return await self._survey(entry, parts[3] if len(parts) == 4 else "", method, request)
        if self.guest is None:
            raise not_found()
        headers = request.headers
        return await self.guest.answer(Call(path, method, headers, _secret(headers), lambda: self._json_body(request)))

    async def _json_body(self, request: Incoming) -> bytes:
        _require_json(request.headers)
        return await self._body(request)

    async def _surveys(self, method: str, request: Incoming) -> Reply:
        headers = request.headers
        if method == "POST":
            self.collector.require("administer", _secret(headers))
            document = (await self._json_body(request)).decode("utf-8", "replace")
            admission = _text(headers, b"confide-admission") or "open"
            if admission not in ADMISSIONS:
                raise Refusal(422, "admission", f"Confide-Admission is one of {', '.join(ADMISSIONS)}.")
            fingerprint = await asyncio.to_thread(self.collector.add, document, admission)
            return 201, orjson.dumps({"survey": fingerprint}), JSON
        require_method(method, "GET", "POST")
        self.collector.require("read", _secret(headers))
        listed = [_summary(one) for one in self.collector.entries.values()]
        return 200, orjson.dumps({"surveys": listed}), JSON

    async def _survey(self, entry: Entry, what: str, method: str, request: Incoming) -> Reply:
        fingerprint, headers = entry.stored.fingerprint, request.headers
        if what == "":
            require_method(method, "GET")
            return 200, entry.stored.document.encode(), [*JSON, *_standing(entry)]
        if what == "close":
            require_method(method, "POST")
            self.collector.require("administer", _secret(headers))
            await asyncio.to_thread(self.collector.store.close_survey, fingerprint)
            await asyncio.to_thread(self.collector.refresh)
            return 200, orjson.dumps({"survey": fingerprint, "is_closed": True}), JSON
        if what == "page" and method == "POST":  # a browser's form: a token in a body stays out of URLs and histories
            secret = await self._form_token(request)
            self.collector.require("read", secret, fingerprint)
            return await self._reading(entry, what, headers)
        require_method(method, "GET")
        self.collector.require("read", _secret(headers), fingerprint)
        return await self._reading(entry, what, headers)

    async def _reading(self, entry: Entry, what: str, headers: Headers) -> Reply:
        version, body = await self.readings.get(entry, what)
        tag = b'"%d"' % version
        sent = [*(HTML if what == "page" else JSON), (b"etag", tag)]
        if headers.get(b"if-none-match") == tag:
            return 304, b"", sent
        return 200, body, sent

    async def _form_token(self, request: Incoming) -> str | None:
        if request.headers.get(b"content-type", b"").partition(b";")[0].strip() != b"application/x-www-form-urlencoded":
            raise Refusal(415, "type", "A form is sent as application/x-www-form-urlencoded.")
        body = await self._body(request, FORM)
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

    async def _metrics(self) -> Reply:
        return 200, self.readings.metrics().encode(), TEXT

    async def _openapi(self) -> Reply:
        return 200, orjson.dumps(describe(self.collector.settings)), JSON

    async def _home(self) -> Reply:
        return 200, home(self.collector.entries.values(), has_studio=self.guest is not None).encode(), HTML

    _plain: Mapping[str, Callable[[Application], Awaitable[Reply]]] = {
        "/": _home,
        "/healthz": _health,
        "/metrics": _metrics,
        "/openapi.json": _openapi,
    }

    async def _body(self, request: Incoming, most: int = 0, most_parts: int = 0) -> bytes:
        """Receive a whole message in time, and unpack it; refuse it as soon as it is known to be too large."""
        most = min(most or self.collector.settings.most_bytes, self.collector.settings.most_bytes)
        stated, encoding = request.headers.get(b"content-length", b"0"), _encoding(request.headers)
        if not stated.isdigit() or int(stated) > most:
            raise _too_large(most)
        if int(stated) > FREE:
            await self._hold(request, int(stated) + (most if encoding == b"gzip" else 0))
        body = await self._receive(request, most)
        if encoding == b"identity":
            return body
        if encoding != b"gzip":
            raise Refusal(415, "encoding", "A message is sent as it is, or with Content-Encoding: gzip.")
        stated_size = int.from_bytes(body[-4:], "little")  # gzip ends with it
        if stated_size <= LIGHT and len(body) <= LIGHT_PACKED:
            return _unzip(body, most, stated_size)
        await self._hold(request, min(stated_size, most))
        return await self.collector.do_in_turn(request.address, _unzip, body, most, stated_size, most_parts)

    async def _hold(self, request: Incoming, size: int) -> None:
        """Wait for room for a large message; it is held until the answer is read."""
        if request.held:
            return
        size = max(size, LEAST_HELD)
        try:
            await self.room.enter(request.address, size, self.collector.settings.body_seconds)
        except TimeoutError:
            said = "Too many large messages come at a time. Send this one again later."
            raise Refusal(429, "busy", said, retry_after=1) from None
        request.held = size

    def _leave(self, request: Incoming) -> None:
        if request.held:
            self.room.leave(request.address, request.held)
            request.held = 0

    async def _slow_down(self, request: Incoming) -> None:
        """Let whoever is refused again and again wait: 200 connections would leave nobody else a turn."""
        self._refused[request.address] += 1
        if request.address and self._refused[request.address] > MOST_REFUSED:
            self._leave(request)
            await asyncio.sleep(1)

    async def _receive(self, request: Incoming, most: int) -> bytes:
        task = asyncio.current_task()
        self._receiving[task] = time.monotonic()
        try:
            message = await request.receive()
            if message["type"] == "http.request" and not message.get("more_body", False):
                body: bytes = message["body"]
            else:
                body = await self._rest(message, request, most)
        except asyncio.CancelledError:
            if task is None or task not in self._late:
                raise
            task.uncancel()
            seconds = self.collector.settings.body_seconds
            raise Refusal(408, "slow", f"The message took longer than {seconds:g} seconds.") from None
        finally:
            self._receiving.pop(task, None)
        if len(body) > most:
            raise _too_large(most)
        return body

    async def _rest(self, message: MutableMapping[str, Any], request: Incoming, most: int) -> bytes:
        """Receive what comes in several parts."""
        parts, size, task = [], 0, asyncio.current_task()
        while True:
            if message["type"] == "http.disconnect":
                raise Refusal(400, "malformed", "The message ended before it was whole.")
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > most:
                raise _too_large(most)
            if not message.get("more_body", False):
                return b"".join(parts)
            if size > FREE and not request.held:  # nobody said how long it would be
                del self._receiving[task]  # the wait for room is not the sender's
                await self._hold(request, 2 * most)
                self._receiving[task] = time.monotonic()
            message = await request.receive()

    def _hurry(self) -> None:
        """End the wait for messages that do not come: one look at all of them costs less than a clock for each."""
        before = time.monotonic() - self.collector.settings.body_seconds
        for task in [task for task, began in self._receiving.items() if began < before]:
            if task is not None:
                self._late.add(task)
                task.cancel()

    def _require_known_site(self, path: str, method: str, headers: Headers) -> None:
        """Refuse pages of other web sites, and a name that is not ours.

        A page whose name points here for a moment reads without saying where it is from; to send, it has to say it.
        """
        origin = headers.get(b"origin")
        if origin is not None:
            if not self._is_allowed(origin, headers):
                raise Refusal(403, "origin", "Pages of this web site may not ask this collector.")
            return
        if method == "POST" or path == "/healthz":
            return
        host = headers.get(b"host", b"").decode("latin-1")
        if not host or _is_address(host):
            return
        if host not in {site.partition("://")[2] for site in self.collector.settings.origins}:
            cure = "If that is its name, start it with --allow-origin and that name, such as http://collector.lan:8000."
            raise Refusal(403, "host", f"This collector does not answer under the name {shown(host)}. {cure}")

    def _is_allowed(self, origin: bytes, headers: Headers) -> bool:
        """Whether a page of this origin may ask: its web site was named, or it is our own.

        Our own is at an address or at localhost. A name says nothing: its owner may let it point here for a moment.
        """
        text, host = origin.decode("latin-1"), headers.get(b"host", b"").decode("latin-1")
        if text in self.collector.settings.origins:
            return True
        return text.partition("://")[2] == host and _is_address(host)

    def _cross(self, origin: bytes) -> list[tuple[bytes, bytes]]:
        if origin.decode("latin-1") not in self.collector.settings.origins:
            return [(b"vary", b"origin")]
        return [
            (b"access-control-allow-origin", origin),
            (b"access-control-allow-methods", b"GET, POST"),
            (b"access-control-allow-headers", CROSS_HEADERS),
            (b"access-control-expose-headers", b"retry-after"),
            (b"access-control-max-age", b"600"),
            (b"vary", b"origin"),
        ]

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
        """Look at what changed, every second, and forget what is past."""
        looks = 0
        while True:
            # Whatever fails, go on: a keeper that ends would leave revoked tokens good for ever.
            await self._try(self.collector.refresh)
            if looks % FORGET_EVERY == 0:
                await self._try(self.collector.forget)
            looks += 1
            await asyncio.sleep(REFRESH)

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
        while True:
            self._hurry()
            self._refused.clear()
            await asyncio.sleep(min(1.0, self.collector.settings.body_seconds / 2))


def _summary(entry: Entry) -> dict[str, Any]:
    stored, survey = entry.stored, entry.survey
    return {
        "survey": stored.fingerprint,
        "name": survey.name,
        "title": survey.title,
        "admission": stored.admission,
        "is_closed": stored.is_closed,
        "is_simulated": stored.is_simulated,
    }


def _standing(entry: Entry) -> list[tuple[bytes, bytes]]:
    """Say beside a survey who may take part, so that a person is not asked in vain."""
    admission = "closed" if entry.stored.is_closed else entry.stored.admission
    simulated = [(b"confide-simulated", b"true")] if entry.stored.is_simulated else []
    return [(b"confide-admission", admission.encode()), *simulated]


def _is_address(host: str) -> bool:
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name == "localhost" or bool(ipaddress.ip_address(name))
    except ValueError:
        return False


def _too_large(most: int) -> Refusal:
    return Refusal(413, "too-large", f"A message has at most {most:,} bytes. Send fewer reports at a time.")


def _encoding(headers: Headers) -> bytes:
    return headers.get(b"content-encoding", b"identity").strip().lower()


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


def _require_single(headers: Iterable[tuple[bytes, bytes]]) -> None:
    """Refuse a header that came twice: whoever is in front of us may have looked at the other one."""
    names = Counter(name for name, _ in headers)
    twice = next((name for name in SINGLE if names[name] > 1), None)
    if twice is not None:
        raise Refusal(400, "malformed", f"The header {twice.decode()} came twice. Send it once.")


def _require_json(headers: Headers) -> None:
    """Refuse other types: a foreign page could send those without the browser asking us first."""
    stated = headers.get(b"content-type", b"")
    if stated != b"application/json" and stated.partition(b";")[0].strip().lower() != b"application/json":
        raise Refusal(415, "type", "A message is sent with Content-Type: application/json.")


def _secret(headers: Headers) -> str | None:
    text = _text(headers, b"authorization")
    if text is None:
        return None
    kind, _, secret = text.partition(" ")
    return secret.strip() if kind.lower() == "bearer" and secret else None


def _text(headers: Headers, name: bytes) -> str | None:
    value = headers.get(name)
    return None if value is None else value.decode("latin-1")
