"""Server of a collector: uvicorn, with the limits on headers that it lacks."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from confide.collector.http import Application
from confide.collector.replies import Guest
from confide.collector.service import Collector, Settings
from confide.collector.stores import Store, StoreError, open_store
from confide.errors import InvalidParameterError

MOST_HEADER_BYTES = 32 * 1024
"""Bytes that headers may have together; those of browsers have a few thousand."""

HEADER_SECONDS = 10.0
"""Seconds that headers may take to arrive."""

MOST_CONNECTIONS = 4_096
"""Connections at a time; whoever comes then is told to come again."""

SWITCH = 0.0005
"""Seconds after which Python hands its lock to a thread that waits: at its usual 5 ms, transactions wait long."""

RARELY = 20_000
"""Objects after which Python looks for circles among them."""

TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class GuardedProtocol(HttpToolsProtocol):
    """A connection whose headers end: after so many bytes, and after so many seconds."""

    _size = _chunk = _first = 0
    _since: float | None = None
    """When the wait for headers began; None while there is none."""
    _timer: asyncio.TimerHandle | None = None
    _is_refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for headers."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._stop()
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what came, unless it is too much for headers."""
        if self._is_refused:
            return
        self._chunk = len(data)
        if self._since is not None:
            self._size += self._chunk
        super().data_received(data)
        if self._since is not None and self._size > MOST_HEADER_BYTES:
            self._refuse()

    def on_message_begin(self) -> None:
        """Begin to wait for headers of a further request."""
        super().on_message_begin()
        self._first = self._chunk
        if self._since is None:
            self._wait()

    def on_headers_complete(self) -> None:
        """Answer, unless headers were too large."""
        self._stop()
        # Each header is looked at where they could be too large at all.
        if (
            self._first + self._size > MOST_HEADER_BYTES
            and sum(len(name) + len(value) for name, value in self.headers) + len(self.url) > MOST_HEADER_BYTES
        ):
            self._refuse()
            return
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a part of a message."""
        if not self._is_refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """Take the end of a message."""
        if not self._is_refused:
            super().on_message_complete()

    def _wait(self) -> None:
        # One clock for many requests: it is looked at when it rings, and set anew where there is time left.
        self._size, self._since = 0, self.loop.time()
        if self._timer is None:
            self._timer = self.loop.call_later(HEADER_SECONDS, self._ring)

    def _stop(self) -> None:
        self._since = None

    def _ring(self) -> None:
        self._timer = None
        if self._since is None:
            return
        left = self._since + HEADER_SECONDS - self.loop.time()
        if left > 0.001:
            self._timer = self.loop.call_later(left, self._ring)
        elif not self.transport.is_closing():
            self.transport.close()

    def _refuse(self) -> None:
        self._is_refused = True
        self._stop()
        self._say_refused()

    def on_response_complete(self) -> None:
        """Take the end of an answer."""
        super().on_response_complete()
        if self._is_refused:
            self._say_refused()

    def _say_refused(self) -> None:
        before: RequestResponseCycle | None = self.cycle
        # Requests before this one are answered first: whoever sent them would take this for their answer.
        is_first = before is None or before.response_complete
        if is_first and not self.transport.is_closing():
            self.transport.write(TOO_LARGE)
            self.transport.close()


class Server(uvicorn.Server):
    """Server that says when it is ready, and ends without a traceback."""

    def __init__(self, application: Application, on_ready: Callable[[], None] | None = None) -> None:
        config = uvicorn.Config(
            application,
            log_config=None,  # nobody's address, path or time is written anywhere
            access_log=False,
            log_level="error",  # a warning would be written for each request that asks for another protocol
            server_header=False,
            date_header=False,
            proxy_headers=False,
            http=GuardedProtocol,
            loop="auto",
            ws="none",
            lifespan="on",
            limit_concurrency=MOST_CONNECTIONS,
            timeout_graceful_shutdown=30,
        )
        super().__init__(config)
        self._application, self._on_ready = application, on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say so."""
        await super().startup(sockets)
        # What is there now stays: looking through it again and again cost a twentieth of all the time.
        gc.freeze()
        gc.set_threshold(RARELY, 20, 20)
        if self._on_ready is not None and self.started:
            self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End, without waiting for what is being computed, by a guest too: whoever waits is told."""
        if isinstance(self._application, Application):  # benchmarks serve less
            self._application.readings.close()
            if self._application.guest is not None:
                self._application.guest.close()
        await super().shutdown(sockets)


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that listens; port 0 is any that is free."""
    if not 0 <= port < 2**16:
        raise InvalidParameterError(f"--port takes a number from 0 to {2**16 - 1:,}; got {port:,}.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except (OSError, UnicodeError) as error:
        listening.close()
        # No such name, or none of this machine: no other port helps.
        is_host = isinstance(error, socket.gaierror | UnicodeError) or error.errno == errno.EADDRNOTAVAIL
        cure = "Name another --host, such as 127.0.0.1." if is_host else "Name another --port."
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
) -> None:
    """Serve the surveys of a store, and a guest beside them, until a signal ends it; what was accepted is counted."""
    sys.setswitchinterval(SWITCH)
    opened = open_store(store) if isinstance(store, str) else store
    try:
        opened.hold()
        collector = Collector(opened, settings)
        server = Server(Application(collector, guest=None if guest is None else guest(collector)), on_ready)
        with contextlib.suppress(KeyboardInterrupt), _ending_gently():
            server.run(sockets=[listening])
    finally:
        opened.close()


@contextlib.contextmanager
def _ending_gently() -> Iterator[None]:
    """Let SIGTERM end the server alone: uvicorn raises it once more when all is done, and that would end us at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def address_of(listening: socket.socket) -> str:
    """Return where a socket listens."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
