"""Server of a collector: uvicorn with limits on connections."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import signal
import socket
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import httptools
import uvicorn
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from confide.collector.http import Application, Guest, Receive, Scope, Send, refuse
from confide.collector.service import Collector, Refusal, Settings
from confide.collector.stores import Store, StoreError, open_store
from confide.collector.wire import LIMITS
from confide.errors import InvalidParameterError

FULL = Refusal(503, "unavailable", "Too many connections. Send the same again later: it is counted once.", 2)


async def refuse_full(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request when there are too many connections."""
    del scope, receive
    status, body, headers = refuse(FULL)
    headers = [*headers, (b"content-length", b"%d" % len(body)), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class GuardedProtocol(HttpToolsProtocol):
    """A connection with limits on headers, messages, pipelining and unread answers.

    The server calls :meth:`check` every second, which is cheaper than a timer per connection.
    """

    most_connections = Settings.most_connections
    _too_large = Refusal(431, "too-large", f"Headers have at most {LIMITS.most_header_bytes:,} bytes together.")
    _no_http = Refusal(400, "malformed", "This is no request of HTTP/1.1.")
    _is_ending = False
    _size = _chunk = _first = _beside = 0
    _is_inside = False
    """Whether we are between the headers and the end of a message."""
    _since: float | None = None
    """Start of the wait for headers, or for the rest of an answered message; None if not waiting."""
    _unread: float | None = None
    """When the client stopped reading an answer."""
    _closing: float | None = None
    _answering: RequestResponseCycle | None = None
    _refused: Refusal | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        # When even file descriptors are scarce, refuse at once, before a request comes.
        super().connection_made(transport)
        self._size, self._since = 0, self.loop.time()
        if len(self.connections) > self.most_connections + LIMITS.spare_files // 2:
            self._refuse(FULL)

    def connection_lost(self, exc: Exception | None) -> None:
        # Tell the request that we are answering, too: uvicorn tells only the last one, which may still wait.
        super().connection_lost(exc)
        if self._answering is not None:
            self._answering.disconnected = True

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._answering = cycle
        super()._start_asgi_task(cycle, app)

    def data_received(self, data: bytes) -> None:
        if self._refused is not None:
            return
        self._chunk = len(data)
        if self._is_inside:
            self._beside += self._chunk  # on_body resets it if this holds a part of the message
        elif self._since is not None:
            self._size += self._chunk
        self._unset_keepalive_if_required()
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._ignore_upgrade(data[upgrade.args[0] :])
        except httptools.HttpParserError:
            self._refuse(self._no_http)
        came = self._beside if self._is_inside else self._size
        if (self._is_inside or self._since is not None) and came > LIMITS.most_header_bytes:
            self._refuse(self._too_large)

    def _ignore_upgrade(self, rest: bytes) -> None:
        """Parse an upgrade request again as a plain one."""
        if self._refused is not None:
            return
        if self.scope["method"] == "CONNECT":
            self._refuse(self._no_http)
            return
        lines = [b"%b %b HTTP/1.1" % (self.scope["method"].encode(), self.url)]
        for name, value in self.headers:
            if name == b"connection":
                left = [one for one in value.split(b",") if one.strip().lower() not in (b"upgrade", b"http2-settings")]
                value = b",".join(left)  # noqa: PLW2901
            if name != b"upgrade":
                lines.append(b"%b: %b" % (name, value))
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self.data_received(b"\r\n".join([*lines, b"", b""]) + rest)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._first, self._is_inside = self._chunk, False
        if self._since is None:
            self._size, self._since = 0, self.loop.time()

    def on_headers_complete(self) -> None:
        if self._refused is not None:
            return
        # Add up the headers only if they could be too large at all.
        most = LIMITS.most_header_bytes
        if (
            self._first + self._size > most
            and sum(len(name) + len(value) for name, value in self.headers) + len(self.url) > most
        ):
            self._refuse(self._too_large)
        elif len(self.pipeline) >= LIMITS.most_pipelined:
            said = f"At most {LIMITS.most_pipelined} requests wait on one connection."
            self._refuse(Refusal(429, "busy", said, retry_after=1))
        elif self.parser.should_upgrade():
            self.scope["method"] = self.parser.get_method().decode("ascii")
        else:
            self._since = None
            self.app = refuse_full if len(self.connections) > self.most_connections else self.config.loaded_app
            super().on_headers_complete()
            # Drop trailers, which arrive in the form of headers.
            self.headers, self._is_inside, self._beside = [], True, 0

    def on_body(self, body: bytes) -> None:
        self._beside = 0
        if self._refused is None:
            super().on_body(body)

    def on_message_complete(self) -> None:
        self._is_inside = False
        if self._refused is None and not self.parser.should_upgrade():
            super().on_message_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self.loop.time()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._unread = None

    def shutdown(self) -> None:
        self._is_ending = True
        super().shutdown()

    def check(self, now: float) -> None:
        """End the connection if the client took too long."""
        patience = LIMITS.ending_seconds if self._is_ending else LIMITS.answer_seconds
        if self.transport.is_closing():  # closing waits until the client has read all
            self._closing = self._closing or now
            if now - self._closing > 5.0:
                self.transport.abort()
        elif self._unread is not None and now - self._unread > patience:
            self.transport.abort()
        elif self._since is not None and now - self._since > LIMITS.header_seconds and self._is_answered:
            self.transport.close()

    @property
    def _is_answered(self) -> bool:
        """Whether all earlier requests are answered."""
        before: RequestResponseCycle | None = self.cycle
        return before is None or before.response_complete

    def _refuse(self, why: Refusal) -> None:
        if self._refused is None:
            self._refused, self._since = why, None
            self._say_refused()

    def on_response_complete(self) -> None:
        # The next request, or the rest of this message, must arrive in time.
        super().on_response_complete()
        if self._is_answered and self._since is None:
            self._size, self._since = 0, self.loop.time()
        self._say_refused()

    def _say_refused(self) -> None:
        # Answer earlier requests first: the client would take this for their answer.
        if self._refused is not None and self._is_answered and not self.transport.is_closing():
            status, body, headers = refuse(self._refused)
            lines = [(b"content-length", b"%d" % len(body)), (b"connection", b"close"), *headers]
            head = STATUS_LINE[status] + b"".join(b"%b: %b\r\n" % line for line in lines)
            self.transport.write(head + b"\r\n" + body)
            self.transport.close()


def _settings(application: Any, lifespan: Literal["on", "off"], certificate: Path | None) -> uvicorn.Config:
    return uvicorn.Config(
        application,
        log_config=None,  # log no address, path or time
        access_log=False,
        log_level="error",  # uvicorn warns about each upgrade request
        server_header=False,
        date_header=False,
        proxy_headers=False,
        http=GuardedProtocol,
        loop="auto",
        ws="none",
        lifespan=lifespan,
        timeout_graceful_shutdown=30,
        ssl_certfile=certificate,
    )


@dataclass(frozen=True)
class SideDoor:
    """A second socket of a server, for a part of its application.

    Attributes
    ----------
    listening
        The socket.
    certificate
        A file with certificate and key for https; None for http.
    part
        Returns the part, given the application.
    """

    listening: socket.socket
    certificate: Path | None
    part: Callable[[Application], Any]


class Server(uvicorn.Server):
    """Server that says when it is ready, and ends without a traceback."""

    def __init__(
        self, application: Application, on_ready: Callable[[], None] | None = None, door: SideDoor | None = None
    ) -> None:
        super().__init__(_settings(application, "on", None))
        self._checking: asyncio.Task[None] | None = None
        self._application, self._on_ready, self._door = application, on_ready, door
        self._beside: uvicorn.Server | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        settings = Settings()
        if isinstance(self._application, Application):  # benchmarks serve less
            settings = self._application.collector.settings
        connections = settings.most_connections
        with contextlib.suppress(ImportError):  # Windows has no such limit
            import resource

            # Raise the limit on open files as far as is allowed; fewer files leave room for fewer connections.
            soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
            wanted = connections + LIMITS.spare_files
            if soft not in (resource.RLIM_INFINITY, wanted) and soft < wanted:
                soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            if soft != resource.RLIM_INFINITY:
                connections = min(connections, soft - LIMITS.spare_files)
        GuardedProtocol.most_connections = connections
        await super().startup(sockets)
        if self._door is not None:
            own = _settings(self._door.part(self._application), "off", self._door.certificate)
            own.load()
            self._beside = uvicorn.Server(own)
            self._beside.lifespan = own.lifespan_class(own)
            await self._beside.startup([self._door.listening])
        self._checking = asyncio.create_task(self._check())
        # Objects that exist now stay: without this, garbage collection took 5% of the time.
        gc.freeze()
        gc.set_threshold(20_000, 20, 20)
        if self._on_ready is not None and self.started:
            self._on_ready()

    async def _check(self) -> None:
        """End connections of slow clients."""
        while True:
            now = asyncio.get_running_loop().time()
            beside = () if self._beside is None else self._beside.server_state.connections
            for connection in [*self.server_state.connections, *beside]:
                if isinstance(connection, GuardedProtocol):
                    connection.check(now)
            await asyncio.sleep(min(1.0, LIMITS.header_seconds / 2))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # Do not wait for computations, of a guest either: clients that wait get a refusal.
        if isinstance(self._application, Application):
            self._application.readings.close()
            if self._application.guest is not None:
                self._application.guest.close()
        if self._beside is not None and self._door is not None:
            await self._beside.shutdown([self._door.listening])
        await super().shutdown(sockets)
        if self._checking is not None:
            self._checking.cancel()


def bind(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 is any free one."""
    if not 0 <= port < 2**16:
        raise InvalidParameterError(f"A port is a number from 0 to {2**16 - 1:,}; got {port:,}.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except (OSError, UnicodeError) as error:
        listening.close()
        # No such name, or none of this machine: no other port helps.
        is_host = isinstance(error, socket.gaierror | UnicodeError) or error.errno == errno.EADDRNOTAVAIL
        cure = "Name another host, such as --bind 127.0.0.1." if is_host else "Name another port, such as --bind 8080."
        why = getattr(error, "strerror", None) or error
        raise StoreError(f"Nothing can be served at {host}:{port}: {why}. {cure}") from None
    listening.listen(2048)
    return listening


def run(
    store: Store | str,
    listening: socket.socket,
    settings: Settings | None = None,
    on_ready: Callable[[], None] | None = None,
    guest: Callable[[Collector], Guest] | None = None,
    door: SideDoor | None = None,
) -> None:
    """Serve a store, and a guest, until a signal.

    All accepted reports are counted.
    """
    sys.setswitchinterval(0.0005)  # at Python's usual 5 ms, transactions wait long for its lock
    opened = open_store(store) if isinstance(store, str) else store
    try:
        opened.hold()
        collector = Collector(opened, settings)
        application = Application(collector, guest=None if guest is None else guest(collector))
        server = Server(application, on_ready, door)
        # Ignore SIGTERM here: uvicorn raises it again after shutdown, which would kill us before we close the store.
        is_main = threading.current_thread() is threading.main_thread()
        before = signal.signal(signal.SIGTERM, lambda *_: None) if is_main else None
        try:
            with contextlib.suppress(KeyboardInterrupt):
                server.run(sockets=[listening])
        finally:
            if is_main:
                signal.signal(signal.SIGTERM, before)
    finally:
        opened.close()


def address_of(listening: socket.socket) -> str:
    """Return the URL of a listening socket."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
