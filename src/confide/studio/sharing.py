"""The page to take part, alone on the local network."""

from __future__ import annotations

import contextlib
import ipaddress
import re
import shutil
import socket
import ssl
import subprocess
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from confide.collector.http import Application, Receive, Scope, Send, not_found, refuse
from confide.collector.serving import address_of, bind
from confide.collector.stores import StoreError

PORT = 8443
"""First port that we try for phones."""

PEOPLE = re.compile(r"/take/[0-9a-z.-]{1,64}(/crowd)?|/client/confide\.js|/v1/surveys/[0-9a-f]{32}")
"""What a person's browser reads; with the reports that it sends, all that we share."""


@dataclass(frozen=True)
class Links:
    """Addresses under which people reach a studio.

    Attributes
    ----------
    shared
        Where the page to take part is shared; empty if it is not.
    network
        Where the whole server is reached from the local network; empty if it listens on this machine alone.
    machine
        This machine's address on the local network; empty if it is on none.
    """

    shared: str = ""
    network: str = ""
    machine: str = ""

    @classmethod
    def of(cls, listening: socket.socket, shared: str = "") -> Links:
        """Return the addresses of a server, given its socket."""
        host, port = listening.getsockname()[:2]
        machine, place = network_address(), ipaddress.ip_address(host)
        reached = machine if place.is_unspecified else "" if place.is_loopback else host
        return cls(shared, f"http://{_bracketed(reached)}:{port}" if reached else "", machine)

    @property
    def record(self) -> dict[str, Any]:
        """The same for the studio's page."""
        is_alone = "://127." in self.shared
        return {"shared": self.shared, "network": self.network, "machine": self.machine, "is_alone": is_alone}


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def network_address() -> str:
    """Return this machine's address on the local network, if any.

    No packet is sent: connecting a datagram socket only chooses the route.
    """
    places = (socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")  # addresses reserved for documentation
    for family, place in places:
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((place, 9))
            found = str(probe.getsockname()[0])
            if not ipaddress.ip_address(found).is_loopback:
                return found
    return ""


@dataclass(frozen=True)
class Certificate:
    """A certificate for one run, and its SHA-256."""

    path: Path
    digest: str


def make_certificate(host: str, folder: Path) -> Certificate | None:
    """Make a certificate with the program openssl, if it is there."""
    program = shutil.which("openssl")
    if program is None:
        return None
    key, signed, both = (folder / name for name in ("key.pem", "certificate.pem", "both.pem"))
    command = [program, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-days", "30", "-subj", "/CN=confide", "-addext", f"subjectAltName=IP:{host}"]
    made = subprocess.run([*command, "-keyout", key, "-out", signed], capture_output=True, check=False)  # noqa: S603
    if made.returncode:  # an old program, without -addext
        return None
    text = signed.read_text(encoding="ascii")
    both.touch(0o600)
    both.write_text(key.read_text(encoding="ascii") + text, encoding="ascii")
    key.unlink()
    digest = sha256(ssl.PEM_cert_to_DER_cert(text)).hexdigest().upper()
    return Certificate(both, ":".join(re.findall("..", digest)))


@dataclass(frozen=True)
class Door:
    """A socket for those who take part, perhaps with https."""

    listening: socket.socket
    certificate: Certificate | None

    @classmethod
    def open(cls, folder: Path) -> Door:
        """Open a free port on the local network, if any."""
        host = network_address() or "127.0.0.1"
        certificate = make_certificate(host, folder)
        for port in range(PORT, PORT + 20):
            with contextlib.suppress(StoreError):
                return cls(bind(host, port), certificate)
        return cls(bind(host, 0), certificate)

    @property
    def address(self) -> str:
        """What people open, but for the survey."""
        plain = address_of(self.listening)
        return plain if self.certificate is None else plain.replace("http://", "https://")


class TakePart:
    """The part of a collector that people need to take part."""

    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; 404 to all that is not public."""
        if scope["type"] == "http" and not _is_for_people(scope["method"], scope["path"]):
            status, body, sent = refuse(not_found())
            sent = [*sent, (b"content-length", b"%d" % len(body))]
            await send({"type": "http.response.start", "status": status, "headers": sent})
            await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})
            return
        await self._application(scope, receive, send)


def _is_for_people(method: str, path: str) -> bool:
    if path == "/v1/reports":
        return method == "POST"
    return method in ("GET", "HEAD") and PEOPLE.fullmatch(path) is not None
