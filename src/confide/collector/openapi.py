"""Description of the collector's HTTP interface, OpenAPI 3.1."""

from __future__ import annotations

from typing import Any

from confide import __version__
from confide.collector.service import Settings

PROTOCOL = "1"


def describe(settings: Settings | None = None) -> dict[str, Any]:
    """Return the description."""
    return {"openapi": "3.1.0"}
