"""confide curate: surveys, tokens and invitations of a collector's store."""

from __future__ import annotations

import contextlib
import re
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from confide.cli.collector import STORE, needs_server
from confide.cli.terminal import say, show_pairs, warn
from confide.cli.usage import argument, as_count, check_outputs, option
from confide.data.files import whole_file
from confide.errors import InvalidParameterError
from confide.surveys.survey import load_survey
from confide.values.checks import check_choice
from confide.values.wording import counted

if TYPE_CHECKING:
    from confide.collector.stores import Store

EXAMPLES = (
    "confide curate confide.db",
    "confide curate confide.db --token read:alice",
    "confide curate confide.db --revoke alice",
    "confide curate confide.db survey.toml --invite 500 -o codes.txt",
    "confide curate confide.db survey.toml --upload closed",
    "confide curate confide.db --window 30",
    "confide curate confide.db --window 2026-11-16",
)


def curate(  # noqa: C901, PLR0913 - one argument an option
    store: Annotated[str, argument("The collector's store, as for serve.", "STORE")] = STORE,
    survey: Annotated[
        str | None, argument("The survey that is meant, or its fingerprint; a token is then for it alone.", "SURVEY")
    ] = None,
    *,
    token: Annotated[
        str | None,
        option("Make a token, and show it once; what it is called may follow.", "upload|read|administer[:NAME]"),
    ] = None,
    revoke: Annotated[str | None, option("Revoke the token of this name.", "NAME")] = None,
    invite: Annotated[
        int | None, option("Make invitations for one report each, into -o.", "N", parser=as_count)
    ] = None,
    output: Annotated[Path | None, option("Where invitations go, one a line.", "FILE", "--output", "-o")] = None,
    upload: Annotated[
        str | None, option("Who may send from now on; closed is nobody, for good.", "open|token|invited|closed")
    ] = None,
    window: Annotated[
        str | None,
        option(
            "How many days back a report may be of, such as 30; or the first day accepted, such as 2026-11-16.",
            "DAYS|DAY",
        ),
    ] = None,
) -> None:
    """Manage a collector's store: surveys, tokens, invitations, days.

    Without an option it lists them; the store has only digests of tokens and invitations. A running collector notices
    changes within two seconds. A --window that reaches further back than before reopens days whose batch ids are gone:
    a batch of them that is sent twice counts twice.
    """
    from confide.collector.stores import ADMISSIONS, make_invitations, make_token, open_store

    if (invite is not None and (output is None or survey is None)) or (upload and survey is None):
        raise InvalidParameterError("--invite and --upload need a SURVEY behind STORE, and --invite a file with -o.")
    if upload is not None:
        check_choice("--upload", upload, (*ADMISSIONS, "closed"))
    if invite is not None and invite < 1:
        raise InvalidParameterError(f"--invite takes a number from 1; got {invite:,}.")
    # SQLite makes a file that is not there: a mistyped name would begin an empty store.
    _require_store(store)
    meant = survey
    if survey is not None and (Path(survey).exists() or re.fullmatch("[0-9a-f]{32}", survey) is None):
        meant = load_survey(Path(survey)).fingerprint  # a survey goes by its fingerprint, or by its file
    with needs_server(), contextlib.closing(open_store(store)) as opened:
        # Looked up in the store and not taken as it was typed: nobody closes a survey that is none.
        found = next((one for one in opened.surveys() if one.fingerprint == meant), None)
        if found is None and meant is not None:
            raise InvalidParameterError(f"The store has no survey {meant}. Serve it first.")
        fingerprint = "" if found is None else found.fingerprint
        if token is not None:
            role, _, name = token.partition(":")
            called, secret = make_token(opened, role, name, fingerprint)
            show_pairs([("Token", secret), ("Name", called), ("Allows", role)])
        if revoke is not None:
            opened.revoke(revoke)
            say(f"Revoked {revoke}.")
        if invite is not None and output is not None and found is not None:
            check_outputs([output], [Path(store), None if survey is None else Path(survey)])
            with whole_file(output, mode=0o600) as stream:
                stream.write("".join(f"{code}\n" for code in make_invitations(opened, found.number, invite)).encode())
            say(f"Wrote {counted(invite, 'invitation')} to {output}; each is for one report.")
        if upload == "closed":
            opened.close_survey(fingerprint)
            say(f"Closed {fingerprint}.")
        elif upload is not None:
            opened.admit(fingerprint, upload)
            say(f"Uploads to {fingerprint}: {upload}.")
        if window is not None:
            _set_days(opened, window)
        if not any((token, revoke, invite, upload, window is not None)):
            _list_store(opened)


def _require_store(store: str) -> None:
    """Refuse a file that is missing or is no store."""
    if store.startswith(("postgresql://", "postgres://")):
        return
    if not Path(store).is_file():
        raise InvalidParameterError(f"There is no store {store!r}. Name the one that confide serve was given.")
    with Path(store).open("rb") as stream:
        if stream.read(16) != b"SQLite format 3\0":
            raise InvalidParameterError(
                f"{store} is no store of a collector. Name the one that confide serve was given, such as {STORE}; a "
                f"survey is named behind it."
            )


def _set_days(opened: Store, window: str) -> None:
    """Set which days are accepted, and say which they are."""
    if re.fullmatch(r"\s*[+-]?\d+\s*", window):
        opened.set_window(int(window))
    else:
        try:
            first = date.fromisoformat(window)
        except ValueError:
            raise InvalidParameterError(
                f"--window takes a number of days, or a day such as 2026-11-16; got {window!r}."
            ) from None
        if first > _today():
            raise InvalidParameterError(f"--window takes a day up to today, {_today()}; got {first}.")
        # The day is read before it moves: whatever lay before it has no batch ids any more.
        before = opened.horizon()
        opened.forget(first)
        if first.toordinal() < before:
            opened.reopen(first)
            warn(
                f"batch ids of days before {date.fromordinal(before)} are gone: a batch of such a day that was counted "
                f"and is sent again counts twice."
            )
    say(f"Days are taken {_describe_days(opened)}.")


def _describe_days(opened: Store) -> str:
    from confide.collector.wire import LIMITS

    days, horizon = opened.window() or LIMITS.window, opened.horizon()
    start = _today().toordinal() - days
    back = counted(days, "day")
    if horizon > start:
        return f"from {date.fromordinal(horizon)} on: of the window of {back}, batch ids before it are gone"
    return f"from {date.fromordinal(start)} on: a window of {back}"


def _today() -> date:
    return datetime.now(UTC).date()


def _list_store(opened: Store) -> None:
    pairs = []
    for one in opened.surveys():
        account = opened.account(one.number)
        state = "closed" if one.is_closed else f"uploads: {one.admission}"
        left = (
            f", {counted(opened.invitations(one.number), 'invitation')} not spent" if one.admission == "invited" else ""
        )
        came = f"{account.pop('', 0):,} accepted + {sum(account.values()):,} rejected"
        pairs.append(("Survey", f"{one.fingerprint}  {one.survey.title}: {came}, {state}{left}"))
    pairs += [
        ("Token", f"{one.name}: {one.role}{f', for {one.survey} alone' if one.survey else ''}")
        for one in opened.tokens()
    ]
    show_pairs([*pairs, ("Days", _describe_days(opened))])
