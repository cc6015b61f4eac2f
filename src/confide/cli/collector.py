"""confide serve, send and pull: reports over the network, into counts."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from confide.cli.terminal import progress_bar, say, say_exactly, show_pairs, warn
from confide.cli.usage import (
    Columns,
    Force,
    SurveyPath,
    argument,
    as_count,
    check_outputs,
    option,
    refusal,
    split_names,
)
from confide.data.files import CountsFile
from confide.data.files.counts_files import write_counts_file
from confide.errors import InvalidParameterError, MissingExtraError
from confide.surveys.survey import Survey, load_survey
from confide.values.checks import check_choice
from confide.values.wording import counted

if TYPE_CHECKING:
    from confide.collector.client import Client
    from confide.collector.service import Settings

EXAMPLES = {
    "serve": (
        "confide serve survey.toml",
        "confide serve --simulate 10000",
        "confide serve survey.toml --store postgresql://localhost/confide",
        "confide serve survey.toml --allow-origin https://example.org",
    ),
    "send": (
        "confide send survey.toml values.csv http://127.0.0.1:8000",
        "confide send survey.toml values.csv http://host --invitation codes.txt",
        "confide send survey.toml people.csv http://host --secret key",
    ),
    "pull": (
        "confide pull http://127.0.0.1:8000 -o counts.parquet",
        "confide pull http://host survey.toml --by town,day -o counts.parquet",
    ),
}

STORE = "confide.db"
TOKEN = "CONFIDE_TOKEN"  # noqa: S105 - the name of a variable


class Place(NamedTuple):
    """Where to listen; without a port at the usual one."""

    host: str = "127.0.0.1"
    port: int | None = None


def as_place(typed: str) -> Place:
    """Return a typed address: a host, a port, or both.

    >>> as_place("0.0.0.0:8080"), as_place("8080")
    (Place(host='0.0.0.0', port=8080), Place(host='127.0.0.1', port=8080))
    """
    text = typed.strip()
    # A host of IPv6 has colons of its own: before a port it stands in brackets.
    found = re.fullmatch(r"(?:\[(.+)\]|([^:]*)):(\d{1,5})|(\d{1,5})", text)
    if found is not None:
        bracketed, host, port, alone = found.groups()
        return Place(bracketed or host or Place().host, int(port or alone))
    if not text.strip("[]"):  # which would listen everywhere
        raise refusal(typed, "an address is needed, such as 127.0.0.1:8080, 0.0.0.0 or 8080")
    return Place(text.strip("[]"))


ServedSurveys = Annotated[list[Path] | None, argument("Surveys to add to those in the store.", "SURVEY...")]
StorePath = Annotated[
    str, option("A file, for SQLite, or postgresql://... for PostgreSQL.", "STORE", "--store", show_default=True)
]


def serve(
    surveys: ServedSurveys = None,
    *,
    store: StorePath = STORE,
    bind: Annotated[
        Place | None,
        option("Where to listen; port 0 is any free one. [default: 127.0.0.1:8000]", "HOST:PORT", parser=as_place),
    ] = None,
    upload: Annotated[
        str, option("Who may send reports of new surveys.", "open|token|invited", show_default=True)
    ] = "open",
    allow_origin: Annotated[
        list[str] | None, option("A web site whose pages may send, such as https://example.org.", "ORIGIN")
    ] = None,
    simulate: Annotated[
        int | None, option("Let this many simulated devices answer, into a temporary store.", "N", parser=as_count)
    ] = None,
) -> None:
    """Collect reports over the network; each counts exactly once.

    The collector keeps no address, no order, and no time finer than the day. It prints the curator's token once; that
    token reads the counts. Put an https server in front of it before other people's devices send (docs/collector.md).
    """
    from confide.collector.stores import ADMISSIONS

    check_choice("--upload", upload, ADMISSIONS)
    with needs_server(), contextlib.ExitStack() as closing:
        from confide.collector.service import Settings

        if simulate is not None:
            folder = closing.enter_context(tempfile.TemporaryDirectory(prefix="confide-"))
            store = str(Path(folder) / STORE) if store == STORE else store
        for origin in allow_origin or ():
            if "://" not in origin or origin.rstrip("/") != origin or "*" in origin:
                raise InvalidParameterError(f"--allow-origin takes a site such as https://example.org; got {origin!r}.")
        settings = Settings(origins=tuple(allow_origin or ()))
        _serve(surveys or [], store, bind or Place(), settings, upload, simulate)


def _serve(paths: list[Path], url: str, place: Place, settings: Settings, upload: str, people: int | None) -> None:
    from confide.collector.client import simulate, simulated_survey
    from confide.collector.serving import address_of, bind, run
    from confide.collector.stores import first_token, open_store
    from confide.studio.serving import Studio
    from confide.studio.sharing import Links

    contracts = [load_survey(path) for path in paths] or ([] if people is None else [simulated_survey()])
    if not contracts and not url.startswith("postgres") and not Path(url).is_file():
        raise InvalidParameterError("Name a survey to serve, or try: confide serve --simulate 10000")
    # First: a token that is made and never shown would be lost for good.
    listening = bind(place.host, 8000 if place.port is None else place.port)
    opened = open_store(url)
    # Before anything is written: one process alone may serve a SQLite file.
    opened.hold()
    for contract in contracts:
        opened.add_survey(contract, upload, is_simulated=people is not None)
    # Those of the store are served in any case.
    contracts = contracts or [one.survey for one in opened.surveys()]
    token = first_token(opened)
    address = address_of(listening)

    def ready() -> None:
        pairs = [("Devices send to", f"{address}/v1/reports"), ("Studio", f"{address}/studio")]
        pairs += [("Survey", f"{one.fingerprint}  {one.title}") for one in contracts]
        pairs += [("Store", "one that goes when you stop" if people is not None else without_password(url))]
        pairs += [] if token is None else [("Curator's token", f"{token}  (shown this once)")]
        show_pairs(pairs)
        say_exactly(f"Then: CONFIDE_TOKEN=... confide pull {address} -o counts.parquet")
        if people is not None:
            threading.Thread(target=devices, daemon=True).start()

    def devices() -> None:
        with progress_bar("Simulated devices", people or 0) as tell:
            done = simulate(address, contracts[0], people or 0, tell)
        say(f"{counted(done.accepted, 'simulated report')} counted. Look at {address}/ or pull them; end with Ctrl-C.")

    run(opened, listening, settings, ready, lambda collector: Studio(collector, links=Links.of(listening)))
    say("Ended; all that was accepted is counted.")


def without_password(url: str) -> str:
    """Return a store's address as it may be shown.

    >>> without_password("postgresql://me:secret@host/db?password=secret&x=1")
    'postgresql://me:***@host/db?password=***&x=1'
    """
    shown = re.sub(r"(://[^:/@]*):.*@", r"\1:***@", url)
    return re.sub(r"([?&]password=)[^&]*", r"\1***", shown)


def send(  # noqa: PLR0913 - one argument an option
    survey: SurveyPath,
    values: Annotated[Path, argument("A file of values, as for privatize.", "VALUES")],
    to: Annotated[str, argument("The collector.", "URL")],
    *,
    column: Columns = None,
    force: Force = False,
    invitation: Annotated[
        str | None, option("An invitation, or a file with one a line: one for each report.", "CODE|FILE")
    ] = None,
    secret: Annotated[
        str, option("Permanent noise: the column with each person's secret. Secrets are not sent.", "COLUMN")
    ] = "",
) -> None:
    """Blur values here, and send the reports to a collector.

    Values are blurred once. If sending is interrupted, the same command resumes; a batch that arrives twice counts
    once. VALUES.sent records what was sent, and it is not sent again. Columns that the survey declares as groups are
    sent along, not blurred. With permanent noise the same values may be sent again on another day. A collector that
    asks for a token finds it in the variable CONFIDE_TOKEN.
    """
    from confide.collector.client import Outbox, receipts_of, require_unsent
    from confide.collector.wire import LIMITS

    contract, codes = load_survey(survey), [] if invitation is None else _invitations(invitation)
    _require_secrets(contract, secret)
    # Beside the values, so that the same command finds what it left behind.
    place = values.with_name(values.name + ".outbox")
    check_outputs([place], [survey, values])
    # Held first: sent from two processes at once, everybody would be counted twice.
    with Outbox.held(place.resolve()), _reaching(to) as client:
        _require_admission(client.admission(contract.fingerprint), codes)  # refused before anything is blurred
        waiting = Outbox.open(place, contract, to)
        if waiting is not None:
            already = f"{waiting.sent:,} of {counted(waiting.messages, 'batch')}"
            say(f"Going on with {place}: {already} were sent. {values} is not read again.", stderr=True)
        else:
            require_unsent(values, contract)
            # An invitation is for one report, so each goes alone.
            size = 1 if codes else LIMITS.batch_size
            options: dict[str, Any] = {"force": force, "secret_column": secret}
            waiting, done = Outbox.fill(place, contract, values, column or (), to=to, batch_size=size, **options)
            say(f"Blurred {done.account.description}.", stderr=True)
        with progress_bar("Sending batches", waiting.messages) as tell:
            found = waiting.send(client, tell, receipts_of(values), codes)
    say(f"Sent {counted(found.accepted, 'report')} to {to}; all are counted there.")
    if found.rejected:
        warn(f"{counted(len(found.rejected), 'report')} were rejected: {found.rejected[0][1]}.")


def _invitations(named: str) -> list[str]:
    """Return the invitations that were named: one, or those of a file."""
    invitation = "([0-9a-zA-Z]{5}-?){4}"
    if re.fullmatch(invitation, named) and not Path(named).is_file():
        return [named]
    try:
        found = Path(named).read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError):
        raise InvalidParameterError(
            f"--invitation takes an invitation such as abcde-fghij-klmno-pqrst, or a file of them; {named!r} is "
            f"neither."
        ) from None
    # All are looked at before the first is spent.
    strange = next((one for one in found if not re.fullmatch(invitation, one)), None)
    if strange is not None:
        raise InvalidParameterError(f"{named} holds {strange!r}, which is no invitation.")
    if not found or len(set(found)) < len(found):
        raise InvalidParameterError(f"{named} holds {'an invitation twice' if found else 'no invitation'}.")
    return found


def _require_secrets(survey: Survey, column: str) -> None:
    if survey.needs_secret and not column:
        raise InvalidParameterError(
            "This survey's noise is permanent, and comes from a secret of each person. Name the column that holds "
            "them: --secret COLUMN; or let each device send by itself (docs/client.md)."
        )
    if column and not survey.needs_secret:
        raise InvalidParameterError(
            "--secret is for surveys with permanent noise; this one draws fresh noise for every report."
        )


def _require_admission(admission: str, codes: list[str]) -> None:
    if admission == "invited" and not codes:
        raise InvalidParameterError(
            "This survey takes one report for each invitation. Name them: --invitation CODE, or a file of them."
        )
    # A code that is not asked for would be sent for nothing, beside a report that it could be linked to.
    if codes and admission != "invited":
        raise InvalidParameterError("This survey takes no invitations: leave out --invitation.")


def pull(
    url: Annotated[str, argument("The collector.", "URL")],
    survey: Annotated[Path | None, argument("Which survey, where there are several.", "SURVEY")] = None,
    *,
    output: Annotated[Path, option("A .parquet file of counts, or .csv.", "FILE", "--output", "-o", show_default=True)],
    by: Annotated[list[str] | None, option("Count groups by themselves: those of the survey, day.", "NAMES")] = None,
) -> None:
    """Get a collector's counts as a file for estimate and merge.

    The variable CONFIDE_TOKEN has the token, which confide serve printed or confide curate made.
    """
    check_outputs([output], [survey])
    counts = pull_counts(url, None if survey is None else load_survey(survey), split_names("--by", by))
    write_counts_file(output, counts)
    rows = counts.heading.rows
    say(f"Wrote the counts of {counted(rows.accepted, 'report')} to {output}.")
    show_pairs([("Survey", counts.heading.survey.title), ("Came", str(rows).replace("rows", "reports"))])


def pull_counts(url: str, survey: Survey | None, by: tuple[str, ...] = ()) -> CountsFile:
    """Return the counts of a collector's survey, or of its only one."""
    from confide.collector.client import CollectorError

    with _reaching(url) as client:
        if survey is not None:
            return client.counts(survey.fingerprint, by)
        try:
            known = client.surveys()
        except CollectorError as error:
            if error.code != "bad-token":
                raise
            said = f"{error} If the token is for one survey alone, name it behind the URL."
            raise CollectorError(said, error.status, error.code) from None
        if len(known) == 1:
            return client.counts(known[0]["survey"], by)
    titles = ", ".join(repr(one["title"]) for one in known[:5])
    raise InvalidParameterError(
        f"The collector has {counted(len(known), 'survey')}: {titles}. Name one behind the URL."
    )


@contextlib.contextmanager
def _reaching(url: str) -> Iterator[Client]:
    """Reach a collector; say when that takes long or needs a token."""
    from confide.collector.client import Client, CollectorError

    token = os.environ.get(TOKEN, "").strip() or None
    with Client(url, token, tell=lambda text: say(text, stderr=True)) as client:
        try:
            yield client
        except CollectorError as error:
            if error.code != "no-token":
                raise
            said = f"This needs a token. Set the variable {TOKEN} to it."
            raise CollectorError(said, error.status, error.code) from None


@contextlib.contextmanager
def needs_server() -> Iterator[None]:
    """Say which extra to install where a collector's packages are not there."""
    try:
        import orjson  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(str(error.name), "A collector", "collector") from None
    yield
