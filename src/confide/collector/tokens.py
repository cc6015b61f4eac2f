"""Tokens and invitations: made here, shown once, kept as digests."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Iterable

from confide.checks import check_choice
from confide.collector.rows import StoredToken
from confide.collector.stores import Store
from confide.errors import ConfideError

ROLES = {"upload": ("upload",), "read": ("read",), "administer": ("upload", "read", "administer")}
"""What each role allows."""


def make_token(store: Store, role: str, name: str = "", survey: str = "") -> tuple[str, str]:
    """Make a token, keep its digest, and return its name and the token itself, which nobody can find again."""
    check_choice("role", role, tuple(ROLES))
    secret = f"confide-{secrets.token_urlsafe(32)}"
    named = name or f"{role}-{secrets.token_hex(3)}"
    store.add_token(StoredToken(named, role, survey, digest_secret(secret)))
    return named, secret


def first_token(store: Store) -> str | None:
    """Make the curator's token where nobody can administer the store yet; None where somebody can."""
    if any(token.role == "administer" for token in store.tokens()):
        return None
    try:
        return make_token(store, "administer", "curator")[1]
    except ConfideError:  # two collectors may start at once on one store, and the other was first
        if any(token.role == "administer" for token in store.tokens()):
            return None
        raise


def make_invitations(store: Store, number: int, people: int) -> list[str]:
    """Make invitations to a survey, one for each person."""
    codes = [_code() for _ in range(people)]
    store.invite(number, map(digest_invitation, codes))
    return codes


def _code() -> str:
    """Return 100 random bits in letters and digits that nobody confuses: four groups of five."""
    text = base64.b32encode(secrets.token_bytes(13)).decode().lower()
    return "-".join(text[start : start + 5] for start in range(0, 20, 5))


def digest_secret(secret: str) -> str:
    """Return what is kept of a secret of 256 random bits: no guess is worth the while, so that one SHA-256 will do."""
    return hashlib.sha256(secret.encode()).hexdigest()


def digest_invitation(code: str) -> str:
    """Return what is kept of an invitation, however it is written."""
    return digest_secret(f"invitation {code.strip().lower().replace('-', '')}")


def is_allowed(secret: str, role: str, tokens: Iterable[StoredToken], survey: str = "") -> bool:
    """Whether a token allows this; all are compared, each in constant time, whichever fits."""
    given, found = digest_secret(secret), False
    for token in tokens:
        is_same = hmac.compare_digest(given, token.digest)
        found |= is_same and role in ROLES.get(token.role, ()) and token.survey in ("", survey)
    return found
