"""Description of the collector's HTTP interface, OpenAPI 3.1."""

from __future__ import annotations

from typing import Any

from confide import __version__
from confide.collector.service import Settings

FINGERPRINT = {"type": "string", "pattern": "^[0-9a-f]{32}$"}

ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {"code": {"type": "string"}, "message": {"type": "string"}},
        }
    },
}

MEANINGS = {
    400: "No message: not JSON, not sound gzip, a key that is unknown or lacking, or a token in the URL",
    401: "A token, or an invitation, is needed",
    403: "The token does not allow this, the invitation is spent, or the web site is not allowed",
    404: "There is no such survey, or nothing at all",
    405: "Another method is needed",
    408: "The message took too long to arrive",
    409: "The batch id was used for other reports, or there are no reports yet",
    410: "The survey is closed",
    413: "The message has too many bytes or reports",
    415: "The message is not application/json, or packed in another way than gzip",
    422: "The day or the groups are not taken, an invited report is rejected, or there is no answer",
    429: "Too much at a time; Retry-After says when to come again",
    503: "The store cannot be used now, or the day is closed for now; Retry-After says when to come again",
}

WHERE = [{"name": "survey", "in": "path", "required": True, "schema": FINGERPRINT}]


def describe(settings: Settings | None = None) -> dict[str, Any]:
    """Return the description."""
    limits = settings or Settings()
    paths: dict[str, Any] = {
        "/v1/reports": {"post": _upload(limits)},
        "/v1/surveys": {
            "get": _operation("The surveys", {200: "All surveys"}, (401, 403), needs_token=True),
            "post": _operation(
                "Add a survey", {201: "Added, or there already"}, (401, 403, 408, 413, 415, 422), needs_token=True
            )
            | {"requestBody": _json({"type": "object"})},
        },
        "/v1/surveys/{survey}": {"get": _operation("A survey, as a device reads it", {200: "The survey"}, (404,))},
        "/v1/surveys/{survey}/close": {
            "post": _operation("Close a survey", {200: "It is closed"}, (401, 403, 404), needs_token=True)
        },
        "/healthz": {"get": _operation("Whether reports can be counted now", {200: "They can"}, ())},
        "/metrics": {"get": _operation("What this process did, for Prometheus", {200: "Numbers"}, ())},
    }
    for what in ("counts", "estimate", "diagnosis", "fit", "page"):
        known = {200: f"The {what}", 304: "As before"}
        paths[f"/v1/surveys/{{survey}}/{what}"] = {
            "get": _operation(
                f"The {what}, of all reports so far", known, (401, 403, 404, 409, 422, 429), needs_token=True
            )
        }
    for path, methods in paths.items():
        if "{survey}" in path:
            methods["parameters"] = WHERE
    return {
        "openapi": "3.1.0",
        "info": {"title": "confide collector", "version": __version__, "description": "Protocol 1: docs/collector.md"},
        "paths": paths,
        "components": {
            "schemas": {"Error": ERROR},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _upload(limits: Settings) -> dict[str, Any]:
    message = {
        "type": "object",
        "required": ["survey", "batch", "day", "reports"],
        "additionalProperties": False,
        "properties": {
            "survey": FINGERPRINT,
            "batch": FINGERPRINT | {"description": "128 random bits, drawn for each batch"},
            "day": {"type": "string", "format": "date"},
            "reports": {"type": "array", "minItems": 1, "maxItems": limits.most_reports},
            "groups": {"type": "object", "additionalProperties": {"type": "string"}},
        },
    }
    receipt = {
        "type": "object",
        "required": ["survey", "batch", "accepted", "rejected"],
        "properties": {
            "survey": FINGERPRINT,
            "batch": FINGERPRINT,
            "accepted": {"type": "integer", "minimum": 0},
            "rejected": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["position", "reason"],
                    "properties": {"position": {"type": "integer"}, "reason": {"type": "string"}},
                },
            },
        },
    }
    failures = (400, 401, 403, 404, 408, 409, 410, 413, 415, 422, 429, 503)
    found = _operation("Count a batch of reports, once", {200: "The reports are counted and durable"}, failures)
    found["responses"]["200"] |= {"content": {"application/json": {"schema": receipt}}}
    invitation = {"name": "Confide-Invitation", "in": "header", "schema": {"type": "string"}}
    return found | {
        "requestBody": _json(message),
        "security": [{}, {"token": []}],
        "parameters": [invitation],
    }


def _operation(
    summary: str, known: dict[int, str], failures: tuple[int, ...], *, needs_token: bool = False
) -> dict[str, Any]:
    refused = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    responses: dict[str, Any] = {str(status): {"description": meaning} for status, meaning in known.items()}
    for status in sorted({*failures, 400, 405, 503}):
        responses[str(status)] = {"description": MEANINGS[status], "content": refused}
    return {"summary": summary, "responses": responses} | ({"security": [{"token": []}]} if needs_token else {})


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"required": True, "content": {"application/json": {"schema": schema}}}
