"""Requests and replies of a collector's server, as its application and its guests have them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, Protocol

import orjson

from confide.collector.service import Refusal

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Headers = Mapping[bytes, bytes]
Reply = tuple[int, bytes, list[tuple[bytes, bytes]]]

JSON = [
    (b"content-type", b"application/json"),
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
]
HTML = [
    (b"content-type", b"text/html; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    # Pages hold styles and pictures of their own, and neither scripts nor anything from elsewhere.
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


@dataclass(frozen=True)
class Call:
    """A request for a path that the collector itself does not know.

    Attributes
    ----------
    path, method, headers
        What was asked.
    secret
        The token that came with it.
    body
        Receives the message, within the collector's limits.
    """

    path: str
    method: str
    headers: Headers
    secret: str | None
    body: Callable[[], Awaitable[bytes]]


class Guest(Protocol):
    """What is served beside a collector, by its server and with its tokens, such as the studio."""

    async def answer(self, request: Call) -> Reply:
        """Answer a request, or refuse it."""

    def start(self) -> None:
        """Begin, when the server does."""

    def close(self) -> None:
        """End, when the server does."""


def refuse(refusal: Refusal) -> Reply:
    """Return a refusal as it is answered."""
    body = orjson.dumps({"error": {"code": refusal.code, "message": refusal.message}})
    extra = [] if refusal.retry_after is None else [(b"retry-after", b"%d" % refusal.retry_after)]
    extra += [(b"www-authenticate", b"Bearer")] if refusal.status == 401 else []
    extra += [(b"allow", ", ".join(refusal.allow).encode())] if refusal.allow else []
    # What is left of a message that nobody reads would be taken for the next request.
    extra += [(b"connection", b"close")] if refusal.status in (408, 413) else []
    return refusal.status, body, [*JSON, *extra]


def not_found() -> Refusal:
    """Return the refusal of a path that nobody knows."""
    return Refusal(404, "not-found", "There is nothing here. See /openapi.json for what there is.")


def require_method(method: str, *known: str) -> None:
    """Refuse other methods than these."""
    if method not in known and not (method == "HEAD" and "GET" in known):
        refusal = Refusal(405, "method", f"This takes {' and '.join(known)}; got {method[:20]}.")
        refusal.allow = ("GET", "HEAD", *known[1:]) if known[0] == "GET" else known
        raise refusal
