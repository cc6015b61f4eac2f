"""HTTP of a collector, as raw ASGI.

A framework would double the cost of a request.
"""

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
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any, Protocol
from urllib.parse import parse_qs, urlsplit

import orjson

from confide.collector.service import Collector, Entry, Readings, Refusal, Room, count_parts, shown, too_many_parts
from confide.collector.stores import ADMISSIONS, StoreError
from confide.collector.wire import LIMITS

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Headers = Mapping[bytes, bytes]
Reply = tuple[int, bytes, list[tuple[bytes, bytes]]]

UNKEPT = [(b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff")]
JSON = [(b"content-type", b"application/json"), *UNKEPT]

# Pages contain their styles and pictures; they load no scripts and nothing from elsewhere.
HTML = [
    (b"content-type", b"text/html; charset=utf-8"),
    *UNKEPT,
    (
        b"content-security-policy",
        (
            b"default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'self'; "
            b"frame-ancestors 'none'; base-uri 'none'"
        ),
    ),
    (b"referrer-policy", b"no-referrer"),
]
TEXT = [(b"content-type", b"text/plain; version=0.0.4; charset=utf-8"), (b"cache-control", b"no-store")]


@dataclass(slots=True)
class Call:
    """A request.

    Attributes
    ----------
    path, method, headers
        The request line and headers.
    address
        The client's address.
    receive
        Receives the body, part by part.
    held
        Bytes of room that it holds.
    """

    path: str
    method: str
    headers: Headers
    address: str
    receive: Receive
    held: int = 0

    def header(self, name: bytes) -> str | None:
        """Return a header as text; None if missing."""
        value = self.headers.get(name)
        return None if value is None else value.decode("latin-1")

    @property
    def secret(self) -> str | None:
        """The token of the request."""
        kind, _, secret = (self.header(b"authorization") or "").partition(" ")
        return secret.strip() if kind.lower() == "bearer" and secret else None


class Guest(Protocol):
    """An application on the collector's server, such as the studio."""

    async def answer(self, call: Call, body: Callable[[], Awaitable[bytes]]) -> Reply:
        """Answer or refuse a request; `body` receives its message within the limits."""

    def start(self) -> None:
        """Start with the server."""

    def close(self) -> None:
        """End with the server."""


def refuse(refusal: Refusal) -> Reply:
    """Return a refusal as a reply."""
    body = orjson.dumps({"error": {"code": refusal.code, "message": refusal.message}})
    extra = [] if refusal.retry_after is None else [(b"retry-after", b"%d" % refusal.retry_after)]
    extra += [(b"www-authenticate", b"Bearer")] if refusal.status == 401 else []
    extra += [(b"allow", ", ".join(refusal.allow).encode())] if refusal.allow else []
    # The unread rest of a message would be parsed as the next request.
    extra += [(b"connection", b"close")] if refusal.status in (408, 413) else []
    return refusal.status, body, [*JSON, *extra]


def not_found() -> Refusal:
    """Return the refusal of an unknown path."""
    return Refusal(404, "not-found", "There is nothing here. See docs/collector.md for what there is.")


def require_method(method: str, *known: str) -> None:
    """Refuse all methods but these."""
    if method not in known and not (method == "HEAD" and "GET" in known):
        refusal = Refusal(405, "method", f"This takes {' and '.join(known)}; got {method[:20]}.")
        refusal.allow = ("GET", "HEAD", *known[1:]) if known[0] == "GET" else known
        raise refusal


@cache
def _design() -> str:
    """Return the shared styles, plus those of the start page."""
    styles = files("confide.present.pages") / "design.css", files("confide.collector") / "home.css"
    return "\n".join(one.read_text(encoding="utf-8") for one in styles)


def home(entries: Iterable[Entry], *, has_studio: bool = False) -> str:
    """Return the start page.

    The surveys, with links to take part and forms.
    """
    surveys = ""
    for entry in entries:
        fingerprint, title = entry.stored.fingerprint, escape(entry.survey.title)
        take = f'<p><a href="/take/{fingerprint}">Take part</a></p>' if has_studio else ""
        surveys += (
            f"<li><h3><bdi>{title}</bdi></h3>"
            f"{'<p class=note>Answered by simulated people.</p>' if entry.stored.is_simulated else ''}"
            f"{'<p class=note>Closed: no more reports are taken.</p>' if entry.stored.is_closed else take}"
            f'<form method="post" action="/v1/surveys/{fingerprint}/page"><label>Token, to see its page'
            '<input type="password" name="token" autocomplete="off"></label>'
            f'<button aria-label="Show the page of {title}">Show</button></form></li>'
        )
    listed = f"<h2>Surveys</h2><ul>{surveys}</ul>" if surveys else "<p>No survey has been added yet.</p>"
    studio = '<p><a href="/studio">The studio, for curators: design surveys and look</a></p>' if has_studio else ""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>confide collector</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_design()}</style></head>'
        "<body><main><h1>A confide collector</h1>"
        "<p>Devices send blurred reports here. No address, no time finer than the day and no order is kept.</p>"
        f"{studio}{listed}</main></body></html>"
    )


LOG = logging.getLogger("confide.collector")


class Application:
    """Collector as an ASGI application."""

    def __init__(self, collector: Collector, guest: Guest | None = None) -> None:
        self.collector = collector
        self.readings = Readings(collector)
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
            # Treat a batch without an accepted report as refused too; "accepted" precedes the list of rejects.
            is_refused = call.path == "/v1/reports" and b'"accepted":0,' in body[:200]
        except Refusal as refusal:
            status, body, sent = refuse(refusal)
            is_refused = True
        except StoreError as error:
            self.collector.commits.fault = str(error)
            said = "The store cannot be used now. Send the same again later: it is counted once."
            status, body, sent = refuse(Refusal(503, "unavailable", said, retry_after=2))
        except Exception as error:  # show no traceback to anybody: it may contain a message
            LOG.error("A request failed: %s", type(error).__name__)  # noqa: TRY400 - a traceback may hold a message
            status, body, sent = refuse(Refusal(500, "failed", "This failed here. Nothing of it was counted."))
        if is_refused:  # not in the handler above, whose traceback would keep the message in memory
            await self._slow_down(call)
        origin = call.headers.get(b"origin")
        if origin is not None and origin.decode("latin-1") in self.collector.settings.origins:
            # Pages of a known web site may read the answer.
            headers = b"content-type, content-encoding, authorization, confide-invitation"
            sent = [
                *sent,
                (b"access-control-allow-origin", origin),
                (b"access-control-allow-methods", b"GET, POST"),
                (b"access-control-allow-headers", headers),
                (b"access-control-expose-headers", b"retry-after"),
                (b"access-control-max-age", b"600"),
            ]
        sent = [*sent, *([] if origin is None else [(b"vary", b"origin")]), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": status, "headers": sent})
        body = b"" if call.method == "HEAD" else body
        if len(body) > LIMITS.free:  # hold the room until the client has read this: the second call waits for it
            await send({"type": "http.response.body", "body": body, "more_body": True})
            body = b""
        await send({"type": "http.response.body", "body": body})

    async def _answer(self, scope: Scope, call: Call) -> Reply:
        if len(call.headers) < len(scope["headers"]):
            # Refuse repeated headers: we would read the last one, and a proxy in front of us may have read the first.
            names = Counter(name for name, _ in scope["headers"])
            single = (b"authorization", b"confide-invitation", b"content-encoding", b"content-type", b"host", b"origin")
            twice = next((name for name in single if names[name] > 1), None)
            if twice is not None:
                raise Refusal(400, "malformed", f"The header {twice.decode()} came twice. Send it once.")

        self._require_known_site(call)
        if scope["query_string"] and b"token" in scope["query_string"].lower():
            raise Refusal(400, "token-in-url", "A token belongs into the header Authorization, never into a URL.")
        if call.path == "/v1/reports" and call.method == "POST":
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
                if self._looking is None or self._looking.done():  # one check for all who ask meanwhile
                    self._looking = asyncio.create_task(asyncio.to_thread(self._look))
                if not await asyncio.shield(self._looking):
                    raise Refusal(503, "unavailable", "The store cannot be used now.", retry_after=2)
                strange = sorted(self.collector.unreadable)
                return 200, orjson.dumps({"status": "ok"} | ({"unreadable": strange} if strange else {})), JSON
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
        return await self.guest.answer(call, lambda: self._body(call))

    async def _surveys(self, call: Call) -> Reply:
        if call.method == "POST":
            self.collector.require("administer", call.secret)
            document = (await self._body(call)).decode("utf-8", "replace")
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
            # Say who may take part, so that a device does not ask a person in vain.
            admission = "closed" if entry.stored.is_closed else entry.stored.admission
            simulated = [(b"confide-simulated", b"true")] if stored.is_simulated else []
            return 200, stored.document.encode(), [*JSON, (b"confide-admission", admission.encode()), *simulated]
        if what == "close":
            require_method(call.method, "POST")
            self.collector.require("administer", call.secret)
            await asyncio.to_thread(self.collector.store.close_survey, fingerprint)
            await asyncio.to_thread(self.collector.refresh)
            return 200, orjson.dumps({"survey": fingerprint, "is_closed": True}), JSON
        if what == "page" and call.method == "POST":  # a browser's form, which keeps the token out of the URL
            form_type = b"application/x-www-form-urlencoded"
            if call.headers.get(b"content-type", b"").partition(b";")[0].strip() != form_type:
                raise Refusal(415, "type", "A form is sent as application/x-www-form-urlencoded.")
            text = await self._body(call, 2**12, is_json=False)  # 4 KiB, for one field
            try:
                form = parse_qs(text.decode("utf-8", "replace"), max_num_fields=4)
            except ValueError:
                raise Refusal(400, "malformed", "A form has one field, token.") from None
            secret = form.get("token", [None])[0]
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

    def _look(self) -> bool:
        """Whether the store is writable now.

        After a failure, whether it has room too.
        """
        commits, store = self.collector.commits, self.collector.store
        try:
            (store.check if commits.fault else store.look)()
        except StoreError as error:
            commits.fault = str(error)
        else:
            commits.fault = ""
        return not commits.fault

    # Messages.

    async def _body(self, call: Call, most: int = 0, most_parts: int = 0, *, is_json: bool = True) -> bytes:
        """Receive and unpack a message.

        Refuse it early if it is slow or too large.

        Only JSON is allowed: a foreign page could send other types without a preflight request.
        """
        kind = call.headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        if is_json and kind != b"application/json":
            raise Refusal(415, "type", "A message is sent with Content-Type: application/json.")
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
        # Unpack only small messages on the event loop: 4 MiB of empty gzip blocks take most of a second.
        if stated_size <= LIMITS.light and len(body) <= 2**13:
            return _unzip(body, most, stated_size)
        await self._hold(call, min(stated_size, most))
        return await self.collector.do_in_turn(call.address, _unzip, body, most, stated_size, most_parts)

    async def _hold(self, call: Call, size: int) -> None:
        """Wait for room for a large message, and hold it."""
        if call.held:
            return
        size = max(size, 2**20)  # the parsed message needs room too
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
        """Delay an address that we refuse again and again."""
        self._refused[call.address] += 1
        if call.address and self._refused[call.address] > LIMITS.most_refused:
            self._leave(call)
            await asyncio.sleep(1)

    async def _receive(self, call: Call, most: int) -> bytes:
        """Receive a message; `_watch` cancels the task if it takes too long."""
        task = asyncio.current_task()
        self._receiving[task] = time.monotonic()
        parts, size = [], 0
        try:
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
                if size > LIMITS.free and not call.held:  # the client did not state the length
                    del self._receiving[task]  # the wait for room does not count against the client
                    await self._hold(call, 2 * most)
                    self._receiving[task] = time.monotonic()
        except asyncio.CancelledError:
            if task is None or task not in self._late:
                raise
            task.uncancel()
            seconds = self.collector.settings.body_seconds
            raise Refusal(408, "slow", f"The message took longer than {seconds:g} seconds.") from None
        finally:
            self._receiving.pop(task, None)

    # Web sites.

    def _require_known_site(self, call: Call) -> None:
        """Refuse pages of other web sites and foreign host names.

        The host name matters for DNS rebinding: such a page reads without an Origin header, but needs one to send.
        """
        origin, host = call.header(b"origin"), call.header(b"host") or ""
        known = self.collector.settings.origins
        if origin is not None:
            # Our own page is at an IP address or localhost. A name proves nothing: its owner may point it here.
            if origin not in known and not (origin.partition("://")[2] == host and _is_address(host)):
                raise Refusal(403, "origin", "Pages of this web site may not ask this collector.")
        elif call.method == "POST" or call.path == "/healthz" or not host or _is_address(host):
            return
        elif host not in {site.partition("://")[2] for site in known}:
            cure = "If that is its name, start it with --allow-origin and that name, such as http://collector.lan:8000."
            raise Refusal(403, "host", f"This collector does not answer under the name {shown(host)}. {cure}")

    # Beside requests.

    async def _live(self, receive: Receive, send: Send) -> None:
        """Start and end with the server.

        At the end, count all queued batches first.
        """
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
                self.collector.thread.shutdown(wait=False)
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _keep(self) -> None:
        """Reload every second, and forget closed days every ten minutes."""
        looks = 0
        while True:
            # Go on after any failure: without this task, revoked tokens would stay valid.
            await self._try(self.collector.refresh)
            if looks % 600 == 0:
                await self._try(self.collector.forget)
            looks += 1
            await asyncio.sleep(LIMITS.refresh_seconds)

    async def _try(self, work: Callable[[], None]) -> None:
        try:
            with contextlib.suppress(StoreError):  # busy or gone for now; clients get that answer
                await asyncio.to_thread(work)
        except Exception as error:
            said = f"{work.__name__}: {type(error).__name__}"
            if said not in self._failures:
                self._failures.add(said)
                LOG.error("The collector's keeper failed, and goes on: %s", said)  # noqa: TRY400 - as above

    async def _watch(self) -> None:
        """Cancel slow messages.

        One loop over all is cheaper than a timer each.
        """
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
    """Unpack gzip, but no more bytes than allowed or stated."""
    unpacker, limit = zlib.decompressobj(31), min(most, stated) + 1
    first = 2**19  # bytes after which we check the number of parts
    try:
        whole = unpacker.decompress(body, min(limit, first))
        if len(whole) == first < limit:
            if most_parts and count_parts(whole, most_parts) > most_parts:
                raise too_many_parts(most_parts)
            whole += unpacker.decompress(unpacker.unconsumed_tail, limit - first)
    except zlib.error:
        raise Refusal(400, "malformed", "The message is not sound gzip.") from None
    if len(whole) > most:
        raise _too_large(most)
    if not unpacker.eof or unpacker.unused_data:
        raise Refusal(400, "malformed", "The message is not one whole piece of gzip.")
    return whole
