"""Requests and replies of a collector's server, as its application and its guests have them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any, Protocol

import orjson

from confide.collector.service import Entry, Refusal

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Headers = Mapping[bytes, bytes]
Reply = tuple[int, bytes, list[tuple[bytes, bytes]]]

UNKEPT = [(b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff")]
JSON = [(b"content-type", b"application/json"), *UNKEPT]
# Pages hold styles and pictures of their own, and neither scripts nor anything from elsewhere.
POLICY = (
    b"default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'self'; "
    b"frame-ancestors 'none'; base-uri 'none'"
)
HTML = [
    (b"content-type", b"text/html; charset=utf-8"),
    *UNKEPT,
    (b"content-security-policy", POLICY),
    (b"referrer-policy", b"no-referrer"),
]
TEXT = [(b"content-type", b"text/plain; version=0.0.4; charset=utf-8"), (b"cache-control", b"no-store")]


@dataclass(slots=True)
class Call:
    """A request.

    Attributes
    ----------
    path, method, headers
        What was asked.
    address
        Where it is from.
    receive
        Receives the message that comes with it, part by part.
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
        """Return a header as text; None where it did not come."""
        value = self.headers.get(name)
        return None if value is None else value.decode("latin-1")

    @property
    def secret(self) -> str | None:
        """The token that came with it."""
        kind, _, secret = (self.header(b"authorization") or "").partition(" ")
        return secret.strip() if kind.lower() == "bearer" and secret else None


class Guest(Protocol):
    """What is served beside a collector, by its server and with its tokens, such as the studio."""

    async def answer(self, call: Call, body: Callable[[], Awaitable[bytes]]) -> Reply:
        """Answer a request, or refuse it; `body` receives its message, within the collector's limits."""

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
    return Refusal(404, "not-found", "There is nothing here. See docs/collector.md for what there is.")


def require_method(method: str, *known: str) -> None:
    """Refuse other methods than these."""
    if method not in known and not (method == "HEAD" and "GET" in known):
        refusal = Refusal(405, "method", f"This takes {' and '.join(known)}; got {method[:20]}.")
        refusal.allow = ("GET", "HEAD", *known[1:]) if known[0] == "GET" else known
        raise refusal


# What the design of all pages does not have: one narrow column, and a row for each survey.
STYLE = """
body { margin: 0 auto; max-width: 44rem; padding: var(--space-6) var(--space-4) var(--space-12);
  background: var(--page); color: var(--ink); font: var(--text)/var(--leading) var(--font); overflow-wrap: anywhere; }
h1 { font-size: var(--text-title); line-height: 1.2; margin: 0 0 var(--space-3); }
h2 { font-size: var(--text-heading); margin: var(--space-8) 0 var(--space-3); }
ul { list-style: none; margin: 0; padding: 0; display: grid; gap: var(--space-3); }
li { background: var(--card); border: 1px solid var(--rule); border-radius: var(--radius); padding: var(--space-4); }
li h3 { font-size: var(--text-lead); margin: 0; }
p { margin: var(--space-2) 0; }
p.note, label { color: var(--faint); font-size: var(--text-small); }
a { color: var(--stacked); display: inline-block; padding: var(--space-2) 0; }
form { display: flex; flex-wrap: wrap; gap: var(--space-2); align-items: end; }
label { flex: 1 1 12em; display: grid; gap: var(--space-1); }
input, button { font: inherit; color: var(--ink); background: var(--card); border: 1px solid var(--truth);
  border-radius: var(--radius-small); padding: var(--space-2) var(--space-3);
  min-height: 44px; box-sizing: border-box; }
button { font-weight: 600; cursor: pointer; }
"""


@cache
def _design() -> str:
    return (files("confide.present.pages") / "design.css").read_text(encoding="utf-8")


def home(entries: Iterable[Entry], *, has_studio: bool = False) -> str:
    """Return the page at the root: what this is, where people take part, and a form that shows a survey's page."""
    surveys = "".join(_survey(one, has_studio=has_studio) for one in entries)
    listed = f"<h2>Surveys</h2><ul>{surveys}</ul>" if surveys else "<p>No survey has been added yet.</p>"
    studio = '<p><a href="/studio">The studio, for curators: design surveys and look</a></p>' if has_studio else ""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>confide collector</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_design()}{STYLE}</style></head>'
        "<body><main><h1>A confide collector</h1>"
        "<p>Devices send blurred reports here. No address, no time finer than the day and no order is kept.</p>"
        f"{studio}{listed}</main></body></html>"
    )


def _survey(entry: Entry, *, has_studio: bool) -> str:
    fingerprint, title = entry.stored.fingerprint, escape(entry.survey.title)
    take = f'<p><a href="/take/{fingerprint}">Take part</a></p>' if has_studio else ""
    return (
        f"<li><h3><bdi>{title}</bdi></h3>"
        f"{'<p class=note>Answered by simulated people.</p>' if entry.stored.is_simulated else ''}"
        f"{'<p class=note>Closed: no more reports are taken.</p>' if entry.stored.is_closed else take}"
        f'<form method="post" action="/v1/surveys/{fingerprint}/page"><label>Token, to see its page'
        '<input type="password" name="token" autocomplete="off"></label>'
        f'<button aria-label="Show the page of {title}">Show</button></form></li>'
    )
