"""confide studio: design a survey and see its results in a browser."""

from __future__ import annotations

import contextlib
import html
import os
import re
import tempfile
import webbrowser
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from confide.cli.collector import STORE, Place, ServedSurveys, StorePath, as_place, needs_server, without_password
from confide.cli.terminal import say, say_exactly, show_pairs
from confide.cli.usage import option
from confide.errors import InvalidParameterError
from confide.surveys.survey import Survey, load_survey

if TYPE_CHECKING:
    import socket

    from confide.collector.service import Collector
    from confide.collector.stores import Store
    from confide.studio.sharing import Door

EXAMPLES = (
    "confide studio",
    "confide studio survey.toml --store answers.db",
    "confide studio --share",
    "confide studio --no-browser --bind 8080",
)

PORT = 8000


def studio(
    surveys: ServedSurveys = None,
    *,
    store: StorePath = STORE,
    bind: Annotated[
        Place | None,
        option(
            f"Where to listen. [default: {Place().host}, at {PORT} or the next port that is free]",
            "HOST:PORT",
            parser=as_place,
        ),
    ] = None,
    browser: Annotated[bool, option("Open it in the browser.", "", "--browser/--no-browser")] = True,
    share: Annotated[
        bool, option("Let phones on this network take part: that page alone, at a port of its own.", "", "--share")
    ] = False,
) -> None:
    """Open the studio: design a survey, take part, see the results.

    It serves what `confide serve` does, from the same store. A store that is new begins with a survey of ages, which
    made-up people answer. The address that it prints holds a token for as long as it runs: keep it to yourself.
    """
    from confide.studio.workers import prepare

    with needs_server():
        prepare()  # first: it loads beside all that follows
        _run([load_survey(path) for path in surveys or []], store, bind or Place(), is_shown=browser, is_shared=share)


def _listen(host: str, port: int | None) -> socket.socket:
    """Return a socket at the named port, or the first free one."""
    from confide.collector.serving import bind
    from confide.collector.stores import StoreError

    if port is not None:
        return bind(host, port)
    # 20: ports that are tried, from the usual one on, where no other is named.
    for place in range(PORT, PORT + 20):
        with contextlib.suppress(StoreError):
            return bind(host, place)
    return bind(host, 0)


def _run(contracts: list[Survey], url: str, place: Place, *, is_shown: bool, is_shared: bool) -> None:
    from confide.collector.client import simulated_survey
    from confide.collector.serving import SideDoor, address_of, run
    from confide.studio.serving import Studio
    from confide.studio.sharing import Door, Links, TakePart

    opened = _take(url)
    # Taken before a token is made: with no free port, none is left behind.
    listening = _listen(*place)
    is_new = not contracts and not opened.surveys()
    for contract in contracts:
        opened.add_survey(contract)
    if is_new:
        opened.add_survey(simulated_survey(), is_simulated=True)
    name, token = _make_token(opened, is_alone="://" not in url)
    address = f"{address_of(listening)}/studio"

    def ready() -> None:
        say_exactly(f"{address}#token={token}")
        pairs = [("Store", without_password(url)), ("Ends with", "Ctrl-C; what was accepted is counted")]
        show_pairs([*pairs, *([] if door is None else _shared(door))])
        if is_shown:
            closing.enter_context(_opened(f"{address}#token={token}"))

    with contextlib.ExitStack() as closing:
        closing.callback(_revoke, url, name)
        # Opened last: without a way out of here its certificate would stay.
        door = Door.open(Path(closing.enter_context(tempfile.TemporaryDirectory()))) if is_shared else None
        certificate = None if door is None or door.certificate is None else door.certificate.path
        if door is not None:
            closing.callback(door.listening.close)
        side = None if door is None else SideDoor(door.listening, certificate, TakePart)

        def studio_of(collector: Collector) -> Studio:
            links = Links.of(listening, "" if door is None else door.address)
            # 10_000: made-up people who answer the survey of a store that is new.
            return Studio(collector, is_warm=True, people=10_000 * is_new, links=links)

        run(opened, listening, None, ready, studio_of, side)
    say("Ended; all that was accepted is counted.")


def _shared(door: Door) -> list[tuple[str, str]]:
    """Return what we say of the address for phones."""
    pairs = [("Phones", f"{door.address}/take/...  (Start and Look show the whole address, and a QR code)")]
    if "://127." in door.address:
        pairs.append(("Warning", "This machine is on no network: the address works here alone."))
    if door.certificate is None:
        said = "openssl is not installed, so this is plain http: others on the network can read and change the page."
        return [*pairs, ("Warning", said)]
    said = f"made for this run. Phones warn of it once; its SHA-256 is {door.certificate.digest}"
    return [*pairs, ("Certificate", said)]


def _take(url: str) -> Store:
    """Return a store that no other process serves."""
    from confide.collector.stores import StoreError, open_store

    opened = open_store(url)
    try:
        opened.hold()
    except StoreError as error:
        opened.close()
        raise InvalidParameterError(
            f"{error} If that is a studio, use it at its address; or name another file: --store other.db"
        ) from None
    return opened


def _make_token(opened: Store, *, is_alone: bool) -> tuple[str, str]:
    """Return a token for this run and its name.

    Tokens of studios that were killed are removed.
    """
    from confide.collector.stores import make_token

    # Only one process serves a SQLite file, so other tokens of studios are of dead ones; a database may have
    # several.
    for one in opened.tokens() if is_alone else ():
        # Nobody else gives such a name by chance: the process, and random digits.
        if re.fullmatch(r"studio-\d+-[0-9a-f]{12}", one.name):
            opened.revoke(one.name)
    return make_token(opened, "administer", f"studio-{os.getpid()}-{os.urandom(6).hex()}")


def _revoke(url: str, name: str) -> None:
    from confide.collector.stores import StoreError, open_store

    with contextlib.suppress(StoreError, InvalidParameterError), contextlib.closing(open_store(url)) as opened:
        opened.revoke(name)


@contextlib.contextmanager
def _opened(address: str) -> Iterator[None]:
    """Open a browser without showing the token in process lists.

    The address goes through a file that only its owner can read.
    """
    handle, path = tempfile.mkstemp(prefix="confide-studio-", suffix=".html")  # mode 0600
    link = html.escape(address, quote=True)
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        stream.write(
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>confide studio</title>'
            f'<meta http-equiv="refresh" content="0; url={link}"><p><a href="{link}">Open the studio</a></p></html>\n'
        )
    try:
        if not webbrowser.open(Path(path).as_uri()):
            say("There is no browser here. Open the address above in one.")
        yield
    finally:
        Path(path).unlink(missing_ok=True)
